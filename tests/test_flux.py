"""Hawser under Flux: programs that `flux run` starts, mpiexec in an instance, and agents that `flux exec` starts.

The real Flux is the `flux` in PATH, or that of the installation in HAWSER_FLUX; a command that prints what the real one
has printed is there always."""

import os
import re
import shutil
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from test_process_managers import environment, ranks
from test_slurm import wait_for

FLUX = Path(os.environ["HAWSER_FLUX"]) / "bin/flux" if "HAWSER_FLUX" in os.environ else Path(shutil.which("flux") or "/")
# Eight cores for each of two brokers on one host, however many cores there are.
RESOURCES = """{"version":1,"execution":{"R_lite":[{"rank":"0-1","children":{"core":"0-7"}}],"starttime":0.0,\
"expiration":0.0,"nodelist":["%s"]}}"""
CONFIG = """[resource]
path = "{folder}/R"
noverify = true
"""
BOOTSTRAP = """[bootstrap]
curve_cert = "{folder}/cert"
hosts = [{hosts}]
"""
# A task must not be bound to cores that are not there.
RUN = "flux run -o cpu-affinity=off"


# The real Flux.

@pytest.fixture(scope="module")
def flux():
    if not FLUX.is_file():
        pytest.skip("not tested, there is no flux (PATH, HAWSER_FLUX)")
    return FLUX


def configured(folder, nodes, more=""):
    (folder / "R").write_text(RESOURCES % nodes)
    (folder / "flux.toml").write_text(CONFIG.format(folder=folder) + more)
    return folder / "flux.toml"


def with_flux(session):
    """A launcher that is not ours does not say where the library is."""
    return environment(session) | {"PATH": f"{FLUX.parent}:{session.prefix / 'bin'}:{os.environ['PATH']}"}


@pytest.fixture
def script(session, flux, tmp_path):
    """script(text, ...): a script of sh in an instance of two brokers on this host, $1 and so on being the words."""
    name = os.uname().nodename
    config = configured(tmp_path, f"{name},{name}")

    def script(text, *words, timeout=60):
        line = [flux, "start", "--test-size=2", f"--config-path={config}", "sh", "-c", text, "sh", *words]
        return session.call(line, with_flux(session), timeout)
    return script


def test_each_task_has_its_rank(script, build):
    result = script(f'for n in 1 2 3 5 8; do {RUN} -n $n "$1" say || exit; done', build("hello.c"))
    assert result.code == 0, result
    assert sorted(ranks(result.out)) == sorted(f"{rank} of {n}" for n in (1, 2, 3, 5, 8) for rank in range(n)), result


def test_tasks_of_two_brokers(script, build):
    result = script(f'{RUN} -N2 -n4 "$1" say', build("hello.c"))
    assert result.code == 0 and ranks(result.out) == [f"{rank} of 4" for rank in range(4)], result


def test_the_way_is_shown(script, session):
    result = script(f'{RUN} -n2 "$1" -v', session.prefix / "bin/hawser-info")
    taken = sorted(re.sub(" +", " ", line).strip() for line in result.out.splitlines() if line.endswith("<- taken"))
    assert result.code == 0 and len(taken) == 2, result
    assert all(line.startswith(f"a server of PMI (PMI_FD) rank {rank} of 2 by") for rank, line in enumerate(taken)), taken


@pytest.mark.parametrize("how", ["kill", "exit7", "exit0", "abort"])
def test_a_rank_that_ends_badly_ends_the_job(script, build, how):
    result = script(f'{RUN} -n3 "$1" {how} barrier', build("ending.c"), timeout=40)
    assert result.code != 0 and result.err.count("hawser:") == 1, result
    assert how != "abort" or "aborts with code 5" in result.err, result


def test_tasks_without_a_server_are_refused(script, build):
    """They would be several jobs of one rank."""
    result = script(f'{RUN} -o pmi=off -n2 "$1" say', build("hello.c"))
    assert result.code != 0 and "FLUX_JOB_SIZE=2" in result.err and "flux run -o pmi=simple" in result.err, result
    assert "of" not in result.out, result
    # Flux passes on at once what it has read: no line is mixed with that of another task.
    result = script(f'{RUN} -o pmi=off -n16 "$1" say', build("hello.c"))
    lines = [line for line in result.err.splitlines() if "hawser" in line and not re.match(r"\S+ \S+ \S+ UTC|flux", line)]
    assert len(lines) == 16 and len(set(lines)) == 1, result
    result = script(f'{RUN} -o pmi=off -n1 "$1" say', build("hello.c"))
    assert result.code == 0 and ranks(result.out) == ["0 of 1"], result


def test_several_jobs_at_once_and_a_job_of_several_programs(script, build):
    result = script('flux submit -o cpu-affinity=off --quiet --cc=1-3 --watch -n2 "$1" say', build("hello.c"))
    assert result.code == 0 and ranks(result.out) == ["0 of 2"] * 3 + ["1 of 2"] * 3, result
    text = 'flux bulksubmit -o cpu-affinity=off --quiet --watch -n {} "$1" say ::: 1 2 3'
    result = script(text, build("hello.c"))
    assert result.code == 0 and sorted(ranks(result.out)) == sorted(f"{r} of {n}" for n in (1, 2, 3) for r in range(n)), result
    text = f'printf "0 $1 say\\n1-2 $1 say\\n" >$2/programs; {RUN} -n3 flux multi-prog $2/programs'
    result = script(text, build("hello.c"), build("hello.c").parent)
    assert result.code == 0 and ranks(result.out) == ["0 of 3", "1 of 3", "2 of 3"], result


def test_a_cancelled_job_leaves_nothing(script, build):
    text = 'id=$(flux submit -o cpu-affinity=off -n3 "$1" polling); until pgrep -f "^$1 polling" >/dev/null; do sleep 0.1; done; flux cancel $id; ' \
           'flux job wait-event -t 20 $id clean && ! pgrep -f "^$1 polling"'
    result = script(text, build("stuck.c"))
    assert result.code == 0, result


def test_mpiexec_takes_the_cores_of_an_instance(script, build):
    result = script('mpiexec -v "$1" say', build("hello.c"))
    assert result.code == 0 and ranks(result.out) == [f"{rank} of 16" for rank in range(16)], result
    assert "the hosts are those of FLUX_URI" in result.err, result
    result = script("mpiexec -n 17 true; echo $?; mpiexec -oversubscribe -n 17 true && unset FLUX_URI && mpiexec -n 17 true")
    assert result.code == 0 and result.out == "1\n", result
    assert "17 ranks are more than the 16 slots of this allocation (FLUX_URI)" in result.err, result
    # The cores of a host that is down do not count.
    result = script('flux resource drain 1; flux resource list; mpiexec "$1" say', build("hello.c"))
    assert result.code == 0 and ranks(result.out) == [f"{rank} of 8" for rank in range(8)], result


def test_mpiexec_in_a_job_takes_the_cores_of_the_job(script, build):
    """Within the instance's own script it is the instance's; in one of several tasks the number of ranks is the user's."""
    result = script(f'{RUN} -n1 -c3 mpiexec "$1" say', build("hello.c"))
    assert result.code == 0 and ranks(result.out) == ["0 of 3", "1 of 3", "2 of 3"], result
    result = script('flux alloc -N2 -n4 -o cpu-affinity=off mpiexec "$1" say', build("hello.c"))
    assert result.code == 0 and ranks(result.out) == [f"{rank} of 4" for rank in range(4)], result
    result = script(f'{RUN} -n2 mpiexec -n 2 "$1" say', build("hello.c"))
    assert result.code == 0 and ranks(result.out) == ["0 of 2", "0 of 2", "1 of 2", "1 of 2"], result


def test_a_host_that_flux_does_not_have(script):
    result = script("mpiexec -launcher flux -hosts nosuch true")
    named = "mpiexec: host nosuch is none of those of this instance of Flux that are up; name other hosts, or another launcher (-launcher ssh)\n"
    assert result.code != 0 and result.err.startswith(named) and result.err.count("mpiexec:") == 1, result


@contextmanager
def two_hosts(session, lab, flux, folder, env):
    """An instance of the hosts of a lab. Gives the function that runs a command on the first of them."""
    subprocess.run([flux, "keygen", folder / "cert"], check=True, capture_output=True)
    host = '{{host="{0}", bind="tcp://{1}:8050", connect="tcp://{1}:8050"}}'
    hosts = ", ".join(host.format(host_.name, host_.nics[0].v4) for host_ in lab.hosts)
    config = configured(folder, ",".join(host.name for host in lab.hosts), BOOTSTRAP.format(folder=folder, hosts=hosts))
    broker = [flux, "broker", f"--config-path={config}"]
    with open(folder / "brokers.out", "w") as out:
        line = [*broker, "sh", "-c", f"env >{folder}/part && mv {folder}/part {folder}/env && exec sleep 1000000"]
        brokers = [lab.hosts[0].start(line, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=out),
                   lab.hosts[1].start(broker, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=out)]
    try:
        assert wait_for((folder / "env").exists), (folder / "brokers.out").read_text()
        uri = re.search("^FLUX_URI=(.*)$", (folder / "env").read_text(), re.MULTILINE)[1]
        own = env | {"FLUX_URI": uri}

        def run(*words, **options):
            return lab.hosts[0].run(words, env=own, **options)
        yield own, run
    finally:
        # The first one ends the other one, and their folders are removed.
        brokers[0].terminate()
        for one in brokers:
            one.wait(20)
        # A broker that has been killed leaves its folder.
        for left in Path(session.tmp).glob("flux-*"):
            shutil.rmtree(left)


def test_two_hosts(make, session, flux, build, tmp_path):
    lab, hello = make(hosts=2), build("hello.c")
    env = with_flux(session) | {"PATH": f"{FLUX.parent}:{lab.environment['PATH']}"}
    with two_hosts(session, lab, flux, tmp_path, env) as (own, run):
        done = run("flux", "run", "-o", "cpu-affinity=off", "-N2", "-n4", hello, "say")
        assert done.returncode == 0 and ranks(done.stdout) == [f"{rank} of 4" for rank in range(4)], done
        done = run("mpiexec", "-v", hello, "say")
        assert done.returncode == 0 and ranks(done.stdout) == [f"{rank} of 16" for rank in range(16)], done
        assert "the hosts are those of FLUX_URI" in done.stderr, done
        assert "host node1: flux exec --quiet --dir=/ --rank=1 " in done.stderr, done
        done = run("mpiexec", "-n", "16", "hostname")
        assert sorted(done.stdout.split()) == ["node0"] * 8 + ["node1"] * 8, done
        done = run("mpiexec", "-launcher", "flux", "-hosts", "node1", "hostname")
        assert done.returncode == 0 and done.stdout == "node1\n", done
        done = run("mpiexec", "-n", "12", build("ending.c"), "kill", "barrier")
        assert done.returncode != 0 and done.stderr.count("was killed") == 1, done
        # The input of a rank on the other host, and bytes of every value in both directions.
        text = "".join(map(chr, [*range(1, 13), *range(14, 128)])) * 10_000 + "\n"
        done = run("mpiexec", "-s", "15", "cat", input=text)
        assert done.returncode == 0 and done.stdout == text, (done.returncode, len(done.stdout), done.stderr)
        done = run("mpiexec", "-launcher", "flux", "-hosts", "node1", "-n", "1", "sh", "-c", "cat >&2; exit 3", input=text)
        assert done.returncode == 3 and done.stderr.startswith(text), (done.returncode, len(done.stderr))
        # An instance within the instance, whose brokers must not take a network that leads nowhere.
        words = ["-N2", "-n6", "-o", "cpu-affinity=off", "--broker-opts=-Stbon.interface-hint=eth0"]
        done = run("flux", "alloc", *words, "mpiexec", "hostname")
        assert done.returncode == 0 and sorted(done.stdout.split()) == ["node0"] * 3 + ["node1"] * 3, done
        outputs(lab, own)
        failures(lab, run, own)
        a_lost_broker(lab, own, tmp_path)


def outputs(lab, env):
    """More than all buffers between, and a reader that pauses for longer than heartbeats are apart."""
    line = ["mpiexec", "-hosts", "node0,node1", "-launcher", "flux", "-n", "2", "head", "-c", "30000000", "/dev/zero"]
    with lab.hosts[0].start(line, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as job:
        time.sleep(3)
        out, err = job.communicate(timeout=60)
    assert job.returncode == 0 and len(out) == 2 * 30_000_000 and not out.strip(b"\0"), (job.returncode, len(out), err)


def failures(lab, run, env):
    """An installation that is not there, and a killed mpiexec, `flux exec` or supervisor."""
    remote = ["mpiexec", "-launcher", "flux", "-hosts", "node1"]
    done = run(*remote, "-prefix", "/nosuch", "true")
    assert done.returncode != 0 and "host node1 has no /nosuch/bin/mpiexec" in done.stderr, done

    def running(*words):
        return [pid for host in lab.hosts for pid, line in host.processes().items() if set(words) <= {*line} and line[0] != "sh"]
    for victim in ("mpiexec", "--rank=1", "__flux", "__guard", "__lines"):
        job = lab.hosts[0].start([*remote, "sleep", "12345"], env=env, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
        assert wait_for(lambda: ["sleep", "12345"] in lab.processes().values() and running("__lines")), victim
        os.kill(job.program() if victim == "mpiexec" else running(victim)[0], 9)
        error = job.communicate(timeout=30)[1].decode()
        # The shell of the encoder has a word of its own.
        lines = error.replace("mpiexec: host node1: Killed\n", "").count("\n")
        assert job.returncode != 0 and lines == (victim != "mpiexec"), (victim, error)
        left = ("12345", "__flux", "__guard", "__lines", "--rank=1")
        assert wait_for(lambda: not any(map(running, left))), (victim, lab.processes())


def a_lost_broker(lab, env, folder):
    """It is the parent of the agent on its host. Flux is of no use afterwards, but of the host that is left."""
    job = lab.hosts[0].start(["mpiexec", "sleep", "12345"], env=env, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def sleeping():
        return [words for words in lab.processes().values() if words == ["sleep", "12345"]]
    assert wait_for(lambda: len(sleeping()) == 16)
    [broker] = [pid for pid, words in lab.hosts[1].processes().items() if f"--config-path={folder / 'flux.toml'}" in words]
    begin = time.monotonic()
    os.kill(broker, 9)
    error = job.communicate(timeout=30)[1].decode()
    assert job.returncode != 0 and "host node1 is lost" in error and time.monotonic() - begin < 15, error
    assert wait_for(lambda: not sleeping())


# A command `flux` of this test's own.

PRINTED = {
    "kvs get resource.R": '{"version":1,"execution":{"R_lite":[{"rank":"0-1","children":{"core":"0-1"}}],"starttime":0.0,'
                          '"expiration":0.0,"nodelist":["%s,%s"]}}',
    "resource list --states=up --no-header --format={ranks}": "0-1",
    "job info fJob R": '{"version": 1, "execution": {"R_lite": [{"rank": "0", "children": {"core": "0-2"}}], '
                       '"starttime": 1795994501.723911, "expiration": 0.0, "nslots": 1, "nodelist": ["%s"]}}',
}


@pytest.fixture
def fake(session, tmp_path):
    """fake(changes, word, ...): mpiexec with these words, where a command `flux` prints what the real one has printed, or
    does what `changes` has for the words with which it is called."""
    name = os.uname().nodename

    def fake(changes, *words, **env):
        text = "#!/bin/sh\ncase \"$*\" in\n"
        for line, printed in PRINTED.items():
            text += f"'{line}') " + changes.get(line, f"echo '{printed.replace('%s', name)}'") + ";;\n"
        # The far host is this one.
        text += f'"{EXEC} "*) ' + changes.get(EXEC, "shift 6; exec /bin/sh -c \"$1\"") + ";;\n"
        (tmp_path / "flux").write_text(text + '*) echo "flux: $*: unknown" >&2; exit 1;; esac\n')
        (tmp_path / "flux").chmod(0o755)
        env = {"FLUX_URI": "local:///run/flux", "PATH": f"{tmp_path}:{os.environ['PATH']}"} | env
        return session.call([session.prefix / "bin/mpiexec", *words], env, timeout=30)
    return fake


GET, LIST, JOB = PRINTED
EXEC = "exec --quiet --dir=/ --rank=1 /bin/sh -c"
FAR = {GET: f"echo '{PRINTED[GET]}'" % ("near", "far")}


def test_hosts_and_slots_are_those_that_flux_prints(fake):
    result = fake({}, "-v", "echo", "rank")
    assert result.code == 0 and result.out == "rank\n" * 4 and "the hosts are those of FLUX_URI" in result.err, result
    assert fake({LIST: "echo 1"}, "echo", "rank").out == "rank\n" * 2
    assert fake({LIST: "echo 0; echo; echo 1"}, "echo", "rank").out == "rank\n" * 4
    result = fake({}, "-n", "5", "true")
    assert result.code != 0 and "5 ranks are more than the 4 slots of this allocation (FLUX_URI)" in result.err, result
    # Slurm has allocated the hosts on which Flux runs, and has started one broker on each.
    of_slurm = {"SLURM_JOB_NODELIST": "a,b", "SLURM_STEP_NUM_TASKS": "2", "SLURM_HET_SIZE": "2"}
    assert fake({}, "echo", "rank", **of_slurm).out == "rank\n" * 4
    # Slurm's own launcher, which Slurm names in all that runs in its jobs, does not reach the hosts of this instance.
    in_slurm = {name: "slurm" for name in ("HYDRA_BOOTSTRAP", "I_MPI_HYDRA_BOOTSTRAP")}
    in_slurm |= {"HYDRA_LAUNCHER_EXTRA_ARGS": "--external-launcher"}
    result = fake(FAR | {LIST: "echo 1"}, "-v", "echo", "rank", **in_slurm)
    assert result.out == "rank\n" * 2 and "host far: flux exec --quiet --dir=/ --rank=1 /bin/sh -c " in result.err, result


def test_a_task_has_what_its_job_has(fake):
    task = {"FLUX_JOB_ID": "fJob", "FLUX_JOB_SIZE": "1"}
    assert fake({GET: "exit 1", LIST: "exit 1"}, "echo", "rank", **task).out == "rank\n" * 3
    assert fake({JOB: "exit 1"}, "-n", "5", "echo", "rank", **task | {"FLUX_JOB_SIZE": "2"}).out == "rank\n" * 5
    # A rank of ours stays on its host, and asks nobody.
    assert fake({GET: "exit 1"}, "-n", "5", "echo", "rank", HAWSER_RANK="0").out == "rank\n" * 5


def test_an_agent_of_flux_is_reached_by_the_rank_of_its_broker(fake):
    """Bytes of every value come back from it, and its own messages beside them."""
    result = fake(FAR, "-v", "-hosts", "far", "-launcher", "flux", "-n", "2", "printf", r"\001\002\n\033%s\n", "x")
    assert result.code == 0 and result.out == "\1\2\n\x1bx\n" * 2, result
    assert "host far: flux exec --quiet --dir=/ --rank=1 /bin/sh -c " in result.err, result
    for variable in ("HYDRA_LAUNCHER", "I_MPI_HYDRA_BOOTSTRAP"):
        assert fake(FAR, "-hosts", "far", "echo", "rank", **{variable: "flux"}).out == "rank\n"
    result = fake(FAR, "-launcher", "flux", "-hosts", "far,farther", "true")
    assert result.code != 0 and result.err.startswith("mpiexec: host farther is none of those of this instance of Flux"), result
    result = fake({GET: "exit 1"}, "-launcher", "flux", "-hosts", "far", "true")
    assert result.code != 0 and result.err.startswith("mpiexec: the hosts of Flux are not known: `flux kvs get"), result
    unreached = FAR | {EXEC: "echo 'flux-exec: Error: rank 1: /bin/sh: No route to host' >&2; exit 68"}
    result = fake(unreached, "-launcher", "flux", "-hosts", "far", "true")
    assert result.code != 0 and result.err.count("\n") == 1, result
    assert "host far cannot be reached: flux ended with code 68 (flux-exec: Error: rank 1: /bin/sh: No route to host)" in result.err
    result = fake(FAR, "-launcher", "flux", "-hosts", "far", "-prefix", "/nosuch", "true")
    assert result.code != 0 and "host far has no /nosuch/bin/mpiexec" in result.err, result


@pytest.mark.parametrize("changes, named", [
    ({GET: "sleep 1000"}, f"`flux {GET}` has not ended within 7 s"),
    ({LIST: "sleep 1000 & wait"}, f"`flux {LIST}` has not ended within 7 s"),
    ({GET: "trap '' TERM INT; sleep 1000", LIST: "exit 1"}, f"`flux {GET}` has not ended within 7 s"),
    ({GET: "echo 'flux-kvs: flux_open: No such file or directory' >&2; exit 1"},
     f"`flux {GET}` fails with exit status: 1 (flux-kvs: flux_open: No such file or directory)"),
    ({LIST: "kill -9 $$"}, f"`flux {LIST}` fails with signal: 9 (SIGKILL)"),
    ({GET: "echo nonsense"}, f"`flux {GET}` prints no resources that can be read"),
    ({GET: "head -c 100000 /dev/urandom"}, f"`flux {GET}` prints no text that can be read"),
    ({GET: "true"}, f"`flux {GET}` prints no resources that can be read"),
    ({LIST: "echo many"}, f"`flux {LIST}` prints no ranks that can be read"),
    ({LIST: "true"}, "it names no host"),
])
def test_an_answer_that_is_none_is_refused_with_the_remedy(fake, changes, named):
    result = fake(changes, "true")
    assert result.code != 0 and result.seconds < 10, result
    assert result.err == f"mpiexec: FLUX_URI: {named}; unset FLUX_URI, or name hosts by -hosts or -f\n", result


def test_no_flux(session):
    env = {"FLUX_URI": "local:///run/flux", "PATH": "/nosuch"}
    result = session.call([session.prefix / "bin/mpiexec", "/bin/true"], env, timeout=10)
    assert result.code != 0 and result.err.count("\n") == 1, result
    assert "FLUX_URI: the command flux cannot be started: No such file" in result.err, result
    for words in (["-hosts", "localhost", "/bin/true"], ["-launcher", "flux", "-hosts", "localhost", "/bin/true"], ["--info"]):
        result = session.call([session.prefix / "bin/mpiexec", *words], env, timeout=20)
        assert result.code == 0 and "FLUX" not in result.err, result
    result = session.call([session.prefix / "bin/mpiexec", "--info", "-launcher", "flux", "-hosts", "far"], env, timeout=10)
    assert result.code != 0 and "the hosts of Flux are not known: the command flux cannot be started" in result.err, result
    # Other tasks are left alone, and the end of the command is waited for where its signal is ignored.
    ignoring = ["sh", "-c", 'trap "" CHLD; exec "$@"', "sh", session.prefix / "bin/mpiexec", "/bin/true"]
    result = session.call(["/usr/bin/env", f"PATH={os.environ['PATH']}", "FLUX_URI=x", *ignoring], timeout=20)
    assert "cannot be waited for" not in result.err, result
