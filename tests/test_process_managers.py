"""Programs on Hawser that other launchers start: MPICH's and Intel's Hydra (from PyPI) by PMI, MPICH's by PMI 2 too, Open
MPI's prterun by PMIx, and servers that go wrong."""

import contextlib
import re
import socket
import sys
import threading

import pytest
from harness import LONG, ROOT

HYDRA = {"mpich": ROOT / "build/mpich/bin/mpiexec", "impi": ROOT / "build/imb/bin/mpiexec.hydra"}
PRTERUN = ROOT / "build/openmpi/bin/prterun"
# The words of a launcher's command line before `-n`: as root, and with more ranks than cores; or with the other version of
# PMI. Intel's Hydra replies that it has version 2, and its proxy ends at the first message behind that.
WORDS = {"prterun": ["--allow-run-as-root", "--map-by", ":OVERSUBSCRIBE"], "mpich-pmi2": ["-genv", "HAWSER_PMI", "2"]}
IMB = ROOT / "build/imb/bin/IMB-MPI1"
SOURCE = ROOT / "build/mpi4py-source"
# Communicators, as the issues of other launchers have them.
MODULES = ["comm", "comm_inter", "comm_topo", "cco_obj", "group"]


def installed(program):
    if not program.exists():
        pytest.skip(f"{program} is not there: scripts/e2e-tools.sh installs it")
    return program


@pytest.fixture(params=HYDRA)
def hydra(request):
    return installed(HYDRA[request.param])


@pytest.fixture(params=[*HYDRA, "mpich-pmi2", "prterun"])
def launcher(request):
    """The command line of a launcher, up to the number of ranks."""
    program = PRTERUN if request.param == "prterun" else HYDRA[request.param.removesuffix("-pmi2")]
    return [installed(program), *WORDS.get(request.param, [])]


def environment(session):
    """A launcher that is not ours does not say where the library is."""
    return {"LD_LIBRARY_PATH": str(session.prefix / "lib")}


@pytest.fixture
def start(session, launcher):
    """start(n, program, ...): the job under that launcher."""
    def start(n, *words, timeout=60, **env):
        return session.call([*launcher, "-n", n, *words], environment(session) | env, timeout)
    return start


def ranks(text):
    return sorted((line for line in text.splitlines() if re.fullmatch(r"\d+ of \d+", line)), key=lambda line: int(line.split()[0]))


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8])
def test_each_process_has_its_rank(start, build, n):
    result = start(n, build("hello.c"), "say")
    assert result.code == 0 and result.err == "" and ranks(result.out) == [f"{rank} of {n}" for rank in range(n)], result


def test_both_abis(start, build):
    result = start(3, build("hello.c", "std"), "say")
    assert result.code == 0 and ranks(result.out) == ["0 of 3", "1 of 3", "2 of 3"], result


def test_several_programs(start, build):
    program = build("hello.c")
    result = start(1, program, "say", ":", "-n", "2", program, "say")
    assert result.code == 0 and ranks(result.out) == ["0 of 3", "1 of 3", "2 of 3"], result


def test_imb(start):
    result = start(2, IMB, "PingPong", "-msglog", "0:12", "-iter", "20")
    assert result.code == 0 and re.search(r"^ +4096 ", result.out, re.MULTILINE), result
    # The library is Hawser: Intel's own lies beside the program.
    result = start(2, IMB, "PingPong", "-msglog", "0:1", "-iter", "20", HAWSER_PACKET="large")
    assert result.code != 0 and "HAWSER_PACKET" in result.err, result


def mpi4pys_own(name):
    """The words of mpi4py's tests of a module, each rank of which prints a line at the end."""
    if not (SOURCE / "test").exists():
        pytest.skip("not tested, mpi4py's source package is not here (scripts/mpi4py-source.sh)")
    return [sys.executable, ROOT / "tests/mpi4py_suite.py", SOURCE, f"test_{name}"]


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8] if LONG else [3])
@pytest.mark.parametrize("name", MODULES)
def test_mpi4pys_own(start, tmp_path, name, n):
    result = start(n, *mpi4pys_own(name), timeout=100, TMPDIR=str(tmp_path))
    assert result.code == 0 and result.out.count('{"ran"') == n, result


@pytest.mark.parametrize("n", [2, 4, 8])
def test_imb_of_more_ranks(start, n):
    """Pairs of ranks at the same time."""
    result = start(n, IMB, "PingPong", "-multi", "0", "-npmin", n, "-msglog", "0:12", "-iter", "20")
    assert result.code == 0 and re.search(r"^ +4096 ", result.out, re.MULTILINE), result


def test_the_code_of_mpi_abort_ends_the_job(start, build):
    result = start(3, build("ending.c"), "abort", "barrier")
    assert result.code == 5, result
    assert result.err.count("hawser: rank 1 on host") == 1 and "aborts with code 5" in result.err, result


@pytest.mark.parametrize("how", ["kill", "segv", "exit7", "exit0"])
def test_a_rank_that_ends_badly_ends_the_job(start, build, how):
    """The launcher sees most of these ends itself; a rank that leaves with code 0 is seen by the others."""
    result = start(3, build("ending.c"), how, "barrier", timeout=30)
    assert result.code != 0 and result.err.count("hawser:") <= 1, result


def test_sessions_before_the_world(start, build):
    """A rank may leave MPI and come back: what ends it then is a failure all the same."""
    result = start(3, build("leaving.c"))
    assert result.code == 0 and result.err == "", result
    result = start(3, build("leaving.c"), "exit", timeout=30)
    assert result.code != 0, result


REMOTE = {
    "prterun": ["--prefix", PRTERUN.parent.parent, "--prtemca", "plm_ssh_agent", "lab-rsh", "-x", "LD_LIBRARY_PATH", "--host"],
    "hydra": ["-launcher", "ssh", "-launcher-exec", "lab-rsh", "-iface", "eth0", "-hosts"]}


def test_two_hosts(make, session, launcher, build):
    """Each host's ranks share memory, and those of different hosts meet by the launcher's keys."""
    lab = make(hosts=2)
    names = ",".join(f"{host.name}:2" for host in lab.hosts)
    is_prte = launcher[0] == PRTERUN
    words = [PRTERUN, "--allow-run-as-root", *REMOTE["prterun"]] if is_prte else [*launcher, *REMOTE["hydra"]]
    words += [names, "-n", "4"]
    env = environment(session)
    done = lab.hosts[0].run([*words, build("hello.c"), "say"], env=env)
    assert done.returncode == 0 and ranks(done.stdout) == [f"{rank} of 4" for rank in range(4)], done
    done = lab.hosts[0].run([*words, *mpi4pys_own("comm")], env=env | {"TMPDIR": str(session.tmp)})
    assert done.returncode == 0 and done.stdout.count('{"ran"') == 4, done
    done = lab.hosts[0].run([*words, IMB, "PingPong", "-multi", "0", "-npmin", "4", "-msglog", "0:12", "-iter", "20"], env=env)
    assert done.returncode == 0 and re.search(r"^ +4096 ", done.stdout, re.MULTILINE), done
    # A rank that has left MPI and is back ends badly: the ranks of the other host end too.
    done = lab.hosts[0].run([*words, build("leaving.c")], env=env, timeout=30)
    assert done.returncode == 0, done
    done = lab.hosts[0].run([*words, build("leaving.c"), "exit"], env=env, timeout=30)
    assert done.returncode != 0, done
    # Other variables on one of the hosts: refused, in one line.
    shell = ["sh", "-c", 'case $(hostname) in node1) export HAWSER_PACKET=8k;; esac; exec "$0" say']
    done = lab.hosts[0].run([*words, *shell, build("hello.c")], env=env)
    assert done.returncode != 0 and "HAWSER_PACKET" in done.stderr, done
    # A rank that does not get as far as the server's fence: the others do not wait for it.
    shell[-1] = shell[-1].replace("HAWSER_PACKET=8k", "HAWSER_PORT=none")
    done = lab.hosts[0].run([*words, *shell, build("hello.c")], env=env, timeout=20)
    assert done.returncode != 0 and "HAWSER_PORT=none" in done.stderr, done


def test_pmi2_on_hosts_without_mpiexec(make, session, build):
    """There, Hydra's server takes processes of two hosts for one, and never finds that all have sent a fence of PMI 2."""
    lab = make(hosts=3)
    names = ",".join(f"{host.name}:2" for host in lab.hosts[1:])
    words = [installed(HYDRA["mpich"]), *WORDS["mpich-pmi2"], *REMOTE["hydra"], names, "-n", "4"]
    done = lab.hosts[0].run([*words, build("hello.c"), "say"], env=environment(session), timeout=30)
    assert done.returncode == 0 and ranks(done.stdout) == [f"{rank} of 4" for rank in range(4)], done


class Server:
    """PMI for one process of a job of two, up to the command at which it does `wrong`."""

    REPLIES = {
        "init": "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0",
        "get_maxes": "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024",
        "get_appnum": "cmd=appnum appnum=0", "get_universe_size": "cmd=universe_size size=2",
        "get_my_kvsname": "cmd=my_kvsname kvsname=kvs_test",
        "get": "cmd=get_result rc=0 value=(vector,(0,2,1))", "put": "cmd=put_result rc=0"}

    def __init__(self, at, wrong):
        self.at, self.wrong = at, wrong
        self.ours, self.theirs = socket.socketpair()
        self.theirs.set_inheritable(True)
        threading.Thread(target=self.serve, daemon=True).start()

    def close(self):
        self.ours.close()
        self.theirs.close()

    def serve(self):
        with contextlib.suppress(OSError):
            self.answer()

    def answer(self):
        for line in self.ours.makefile():
            name = re.match(r"cmd=(\w+)", line)[1]
            if name == self.at:
                if self.wrong is None:
                    self.ours.shutdown(socket.SHUT_RDWR)
                    return
                self.ours.sendall(self.wrong.encode())
            else:
                # There is no reply to a request that ends the job.
                self.ours.sendall((self.REPLIES[name] + "\n").encode() if name != "abort" else b"")


WRONG = {
    "a server that ends in a fence": ("barrier_in", None, "barrier_in: the connection has ended"),
    "a server that ends at once": ("init", None, "init: the connection has ended"),
    "an unknown reply": ("get_maxes", "cmd=what\n", 'replies "what" instead of "maxes"'),
    "no message": ("get_appnum", "hello\n", "no message of PMI"),
    "no end of a line": ("get_maxes", "x" * 100_000, "its reply has no end"),
    "a put that is refused": ("put", "cmd=put_result rc=-1 msg=no space left\n", "no space left"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_server_that_goes_wrong(session, build, case):
    at, wrong, named = WRONG[case]
    server = Server(at, wrong)
    env = {"PMI_FD": str(server.theirs.fileno()), "PMI_RANK": "0", "PMI_SIZE": "2"}
    result = session.call([build("hello.c")], env, timeout=10, pass_fds=[server.theirs.fileno()])
    server.close()
    assert result.code != 0 and named in result.err and result.err.count("hawser:") == 1, result


@pytest.mark.parametrize("env, named", [
    ({"PMI_ID": "0", "PMI_PORT": "here:1"}, "mpiexec without -pmi-port"),
    ({"PMIX_NAMESPACE": "job", "PMIX_RANK": "0", "HAWSER_PMIX_LIBRARY": "/no/libpmix.so"}, "HAWSER_PMIX_LIBRARY=/no/libpmix.so"),
    ({"PMIX_RANK": "0"}, "PMIX_NAMESPACE is not set"),
    ({"PMI_FD": "77", "PMI_RANK": "0", "PMI_SIZE": "2"}, "Bad file descriptor"),
    ({"PMI_FD": "1", "PMI_SIZE": "2"}, "PMI_RANK is not set"),
    ({"PMI_FD": "1", "PMI_RANK": "5", "PMI_SIZE": "2"}, 'PMI_RANK is "5"'),
    ({"PMI_RANK": "0", "PMI_SIZE": "2"}, "PMI_SIZE=2"),
    ({"PMI_FD": "1", "PMI_RANK": "0", "PMI_SIZE": "1", "HAWSER_PMI": "3"}, 'HAWSER_PMI is "3"'),
])
def test_half_an_environment_is_refused(session, build, env, named):
    result = session.call([build("hello.c")], env, timeout=10)
    assert result.code != 0 and named in result.err and result.err.count("\n") == 1, result
    assert "unset PMI" in result.err or any(name.startswith("HAWSER_") for name in env), result


def test_a_job_of_one_needs_no_server(session, build):
    """Another program of a script that Hydra has started has used the connection."""
    result = session.call([build("hello.c"), "say"], {"PMI_FD": "77", "PMI_RANK": "0", "PMI_SIZE": "1"})
    assert result.code == 0 and ranks(result.out) == ["0 of 1"], result


def test_another_launcher_below_ours(session, launcher, build):
    """A rank of ours that starts a job by another launcher does not hide that job's own server."""
    words = [*launcher, "-n", "3", build("hello.c"), "say"]
    result = session.call([session.prefix / "bin/mpiexec", "-n", "1", *words], environment(session))
    assert result.code == 0 and ranks(result.out) == ["0 of 3", "1 of 3", "2 of 3"], result


def test_a_server_of_pmix_that_is_gone(session, build, tmp_path):
    """The variables of a job that has ended."""
    script = f'{installed(PRTERUN)} {" ".join(WORDS["prterun"])} -n 1 env | grep ^PMIX_ >{tmp_path}/job; env $(cat {tmp_path}/job) "$0"'
    env = environment(session) | {"HAWSER_PMIX_LIBRARY": str(PRTERUN.parent.parent / "lib/openmpi/libpmix.so.2")}
    result = session.call(["sh", "-c", script, build("hello.c")], env, timeout=30)
    assert result.code != 0 and "does not answer by PMIx" in result.err, result


def test_our_mpiexec_below_another_launcher(session, launcher, build):
    """A script that the other launcher has started may start jobs of its own by our mpiexec."""
    result = session.call([*launcher, "-n", "1", session.prefix / "bin/mpiexec", "-n", "3", build("hello.c"), "say"])
    assert result.code == 0 and ranks(result.out) == ["0 of 3", "1 of 3", "2 of 3"], result


@pytest.mark.skipif(not LONG, reason="takes minutes: scripts/check-long.sh")
@pytest.mark.timeout(900)
def test_a_thousand_starts(session, launcher, build):
    for _ in range(1000):
        result = session.call([*launcher, "-n", "2", build("hello.c"), "say"], environment(session))
        assert result.code == 0 and ranks(result.out) == ["0 of 2", "1 of 2"], result
