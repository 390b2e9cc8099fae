"""Programs on Hawser that Slurm starts (Debian's, with daemons of this test's own): by its plugins pmi2 and pmix, by sbatch,
as arrays, as several programs and as components of heterogeneous jobs; jobs that are cancelled, and ranks that are killed."""

import os
import re
import shlex
import signal
import socket
import subprocess
import time
from contextlib import contextmanager

import pytest
from harness import LONG, ROOT
from test_process_managers import IMB, environment, mpi4pys_own, ranks

SLURM = ROOT / "build/slurm"
STEPD = SLURM / "usr/sbin/slurmstepd-wlm"
CONFIG = """ClusterName=hawser
SlurmctldHost={host}({address})
SlurmctldPort={controller_port}
SlurmUser=root
AuthType=auth/none
CredType=cred/none
PluginDir={plugins}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
JobAcctGatherType=jobacct_gather/none
ReturnToService=2
KillWait=2
SchedulerParameters=sched_interval=1,bf_interval=1
SelectType=select/linear
SlurmdParameters=config_overrides
{nodes}
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def configured(folder, addresses, controller_port, node_port):
    """Writes the configuration of a cluster in `folder`: `addresses` are those of its hosts by name, the first of which
    controls it. Returns the variables of the cluster's programs."""
    (folder / "state").mkdir()
    libraries = next(SLURM.glob("usr/lib/*/slurm-wlm")).parent
    node = f"NodeName={{}} NodeAddr={{}} Port={node_port} CPUs=8 State=UNKNOWN"
    nodes = "\n".join(node.format(*pair) for pair in addresses.items())
    for name in addresses:
        (folder / f"spool.{name}").mkdir()
    host, address = next(iter(addresses.items()))
    config = folder / "slurm.conf"
    config.write_text(CONFIG.format(host=host, address=address, controller_port=controller_port, nodes=nodes, folder=folder,
                                    plugins=libraries / "slurm-wlm"))
    return {"SLURM_CONF": str(config), "LD_LIBRARY_PATH": f"{libraries}:{libraries / 'slurm-wlm'}"}


def overlay(folder):
    """The words that mount Slurm's libraries into the system's folder, where the plugin pmix loads libpmix.so from: a name
    that Debian has for developers alone."""
    libraries = next(SLURM.glob("usr/lib/*/slurm-wlm")).parent
    names = folder / "names/pmix2/lib"
    names.mkdir(parents=True)
    (names / "libpmix.so").symlink_to("libpmix.so.2")
    place = f"/usr/lib/{libraries.name}"
    return ["mount", "-t", "overlay", "-o", f"lowerdir={names.parent.parent}:{libraries}:{place}", "overlay", place]


class Slurm:
    """A cluster of this host alone."""

    def __init__(self, folder):
        self.folder = folder
        host = socket.gethostname().split(".")[0]
        self.env = configured(folder, {host: "127.0.0.1"}, free_port(), free_port())
        self.enter = self.mounts()
        self.daemons = [self.daemon("slurmctld-wlm", "-D"), self.daemon("slurmd-wlm", "-D", "-d", STEPD)]

    def mounts(self):
        """The words that start a program where the plugin pmix finds its library, without a change of the system's folder."""
        script = f"{shlex.join(overlay(self.folder))} && echo yes && exec sleep 1000000"
        self.holder = subprocess.Popen(["unshare", "--mount", "sh", "-c", script], stdout=subprocess.PIPE, text=True)
        self.has_pmix = self.holder.stdout.readline() == "yes\n"
        return ["nsenter", "--target", str(self.holder.pid), "--mount"] if self.has_pmix else []

    def daemon(self, name, *words):
        with open(self.folder / f"{name}.out", "w") as out:
            line = [*self.enter, SLURM / "usr/sbin" / name, *words]
            return subprocess.Popen(line, env=os.environ | self.env, stdout=out, stderr=out)

    def command(self, name):
        return [*self.enter, SLURM / "usr/bin" / name]

    def is_up(self):
        state = subprocess.run([*self.command("sinfo"), "-h", "-o", "%t"], env=os.environ | self.env, capture_output=True, text=True)
        return state.stdout.strip() == "idle"

    def stop(self):
        for daemon in self.daemons:
            daemon.terminate()
        for daemon in self.daemons:
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        self.holder.kill()
        self.holder.wait()


def wait_for(condition, timeout_s=30):
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.1)
    return False


def check_installed():
    if os.getuid() != 0:
        pytest.skip("not tested, Slurm's daemons need root")
    if not (SLURM / "usr/sbin/slurmctld-wlm").exists():
        pytest.skip("not tested, Slurm is not here (scripts/e2e-tools.sh)")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    check_installed()
    cluster = Slurm(tmp_path_factory.mktemp("slurm"))
    try:
        if not wait_for(cluster.is_up):
            logs = "\n".join(path.read_text()[-2000:] for path in cluster.folder.glob("*.log"))
            pytest.fail(f"Slurm does not come up:\n{logs}")
        yield cluster
    finally:
        cluster.stop()


def with_library(session, env):
    """The variables of a cluster's programs, for those on Hawser too."""
    return env | {"LD_LIBRARY_PATH": f"{environment(session)['LD_LIBRARY_PATH']}:{env['LD_LIBRARY_PATH']}"}


@pytest.fixture
def env(session, cluster):
    return with_library(session, cluster.env)


@pytest.fixture(params=["pmi2", "pmix"])
def srun(request, session, cluster, env):
    """srun(n, word, ...): a step of n tasks by that plugin."""
    if request.param == "pmix" and not cluster.has_pmix:
        pytest.skip("not tested, the plugin pmix needs a mount of an overlay")

    def srun(n, *words, timeout=60):
        line = [*cluster.command("srun"), f"--mpi={request.param}", "--overcommit", "-n", n, *words]
        return session.call(line, env, timeout)
    return srun


@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_each_task_has_its_rank(srun, build, n):
    result = srun(n, build("hello.c"), "say")
    assert result.code == 0 and ranks(result.out) == [f"{rank} of {n}" for rank in range(n)], result


@pytest.mark.parametrize("n", [1, 3, 8])
def test_mpi4pys_own(srun, n):
    result = srun(n, *mpi4pys_own("comm"), timeout=100)
    assert result.code == 0 and result.out.count('{"ran"') == n, result


def test_imb(srun):
    result = srun(2, IMB, "PingPong", "-msglog", "0:12", "-iter", "20")
    assert result.code == 0 and re.search(r"^ +4096 ", result.out, re.MULTILINE), result


def test_several_programs(srun, build, tmp_path):
    hello = build("hello.c")
    (tmp_path / "programs").write_text(f"0 {hello} say\n1-2 {hello} say\n")
    result = srun(3, "--multi-prog", tmp_path / "programs")
    assert result.code == 0 and ranks(result.out) == ["0 of 3", "1 of 3", "2 of 3"], result


def test_the_way_is_told(srun, session, request):
    """`hawser-info -v` in the program's place: the way that is taken, and others that are there too."""
    result = srun(2, session.prefix / "bin/hawser-info", "-v")
    taken = sorted(re.sub(" +", " ", line).strip() for line in result.out.splitlines() if line.endswith("<- taken"))
    is_pmix = "pmix]" in request.node.name
    expected = "a server of PMIx (PMIX_NAMESPACE, PMIX_RANK) rank {} of job" if is_pmix else "a server of PMI (PMI_FD) rank {} of 2 by"
    assert result.code == 0 and len(taken) == 2, result
    assert all(line.startswith(expected.format(rank)) for rank, line in enumerate(taken)), taken


def test_pmi2_instead_of_1(session, cluster, env, build):
    """The plugin pmi2 speaks both; what the first task of a host begins with is the version of all of them."""
    def srun(n, *words, **more):
        return session.call([*cluster.command("srun"), "--mpi=pmi2", "--overcommit", "-n", n, *words], env | more)
    for n in (1, 3, 8):
        result = srun(n, build("hello.c"), "say", HAWSER_PMI="2")
        assert result.code == 0 and ranks(result.out) == [f"{rank} of {n}" for rank in range(n)], result
    result = srun(3, build("ending.c"), "abort", "barrier", HAWSER_PMI="2")
    assert result.code != 0 and result.err.count("aborts with code 5") == 1, result
    # The server refuses version 1 to those who come after one with 2: they go on by 2.
    script = 'case $PMI_RANK in 0) export HAWSER_PMI=2;; *) sleep 3;; esac; exec "$0" say'
    result = srun(3, "sh", "-c", script, build("hello.c"))
    assert result.code == 0 and ranks(result.out) == ["0 of 3", "1 of 3", "2 of 3"], result
    # It refuses version 2 to one who comes after those with 1, and the job ends.
    script = 'case $PMI_RANK in 0) sleep 3; export HAWSER_PMI=2;; esac; exec "$0" say'
    result = srun(3, "sh", "-c", script, build("hello.c"))
    assert result.code != 0 and "refuses version 2" in result.err and "unset HAWSER_PMI" in result.err, result


def test_a_rank_that_aborts_ends_the_step(srun, build):
    result = srun(3, build("ending.c"), "abort", "barrier")
    assert result.code != 0 and result.err.count("aborts with code 5") == 1, result


def test_a_killed_rank_ends_the_step(srun, build):
    result = srun(3, build("ending.c"), "kill", "barrier", timeout=60)
    assert result.code != 0 and result.err.count("hawser:") <= 1, result


def test_tasks_without_a_server_are_refused(session, cluster, env, build):
    """They would be several jobs of one rank."""
    result = session.call([*cluster.command("srun"), "--mpi=none", "--overcommit", "-n", 2, build("hello.c")], env)
    assert result.code != 0 and "srun --mpi=pmi2" in result.err and "SLURM_STEP_NUM_TASKS=2" in result.err, result


def test_a_batch_script_and_an_array(session, cluster, env, build, tmp_path):
    script = tmp_path / "script"
    script.write_text(f"#!/bin/sh\n{cluster.command('srun')[-1]} --mpi=pmi2 --overcommit -n 3 {build('hello.c')} say\n")
    line = [*cluster.command("sbatch"), "--wait", "--array=1-2", f"--output={tmp_path}/%a.out", "--export=ALL", script]
    result = session.call(line, env, 60)
    assert result.code == 0, result
    for number in (1, 2):
        assert ranks((tmp_path / f"{number}.out").read_text()) == ["0 of 3", "1 of 3", "2 of 3"]


@pytest.mark.parametrize("what", ["job", "step"])
def test_a_cancelled_job_or_step_leaves_nothing(session, cluster, env, build, what):
    name = f"hawser-{os.getpid()}"
    line = [*cluster.command("srun"), "--mpi=pmi2", "--overcommit", "-J", name, "-n", "3", build("endless.c")]
    step = subprocess.Popen(list(map(str, line)), env=session.environment(env), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        def running():
            words = ["-t", "RUNNING"] if what == "job" else ["-s"]
            return session.call([*cluster.command("squeue"), "-h", "-n", name, "-o", "%i", *words], env).out.split()
        assert wait_for(lambda: [number for number in running() if "." not in number or number.endswith(".0")])
        time.sleep(1)
        session.call([*cluster.command("scancel"), *running()], env)
        assert step.wait(30) != 0
    finally:
        step.send_signal(signal.SIGKILL)


@contextmanager
def two_hosts(lab, folder):
    """A cluster of the hosts of a lab. Gives the function that runs a command of Slurm on the first of them."""
    addresses = {host.name: host.nics[0].v4 for host in lab.hosts}
    # The hosts have network namespaces of their own, where these ports are free.
    env = configured(folder, addresses, 6817, 6818)
    lines = [(lab.hosts[0], ["slurmctld-wlm", "-D"]), *((host, ["slurmd-wlm", "-D", "-d", STEPD]) for host in lab.hosts)]
    with open(folder / "daemons.out", "w") as out:
        daemons = [host.start([SLURM / "usr/sbin" / name, *words], env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
                   for host, (name, *words) in lines]

    def run(name, *words, env=env, **options):
        return lab.hosts[0].run([SLURM / "usr/bin" / name, *words], env=env, **options)
    try:
        assert wait_for(lambda: run("sinfo", "-h", "-o", "%t %D").stdout.strip() == "idle 2"), run("sinfo")
        yield env, run
    finally:
        for daemon in daemons:
            daemon.terminate()
        for daemon in daemons:
            daemon.wait(20)


def test_two_hosts(make, session, build, tmp_path):
    check_installed()
    lab, hello = make(hosts=2), build("hello.c")
    with two_hosts(lab, tmp_path) as (env, run):
        own = with_library(session, env)
        done = run("srun", "--mpi=pmi2", "-N", "2", "-n", "4", hello, "say", env=own)
        assert done.returncode == 0 and ranks(done.stdout) == [f"{rank} of 4" for rank in range(4)], done
        done = run("srun", "--mpi=pmi2", "-N", "2", "-n", "4", hello, "say", env=own | {"HAWSER_PMI": "2"})
        assert done.returncode == 0 and ranks(done.stdout) == [f"{rank} of 4" for rank in range(4)], done
        done = run("srun", "--mpi=pmi2", "-N", "2", "-n", "4", *mpi4pys_own("comm"), env=own)
        assert done.returncode == 0 and done.stdout.count('{"ran"') == 4, done
        multi = ["-multi", "0", "-npmin", "4", "-msglog", "0:12", "-iter", "20"]
        done = run("srun", "--mpi=pmi2", "-N", "2", "-n", "4", IMB, "PingPong", *multi, env=own)
        assert done.returncode == 0 and re.search(r"^ +4096 ", done.stdout, re.MULTILINE), done
        done = run("srun", "--mpi=pmi2", "-N", "2", "-n", "4", build("ending.c"), "kill", "barrier", env=own)
        assert done.returncode != 0, done
        # The environment's tools are those of Slurm, whose libraries are not the system's.
        env["PATH"] = f"{names(tmp_path, env)}:{lab.environment['PATH']}"
        in_allocation(run, lab, env, build)


def names(folder, env):
    """A folder with Slurm's commands under their names and with their libraries, as a system has them."""
    tools = folder / "tools"
    tools.mkdir()
    libraries = f'export LD_LIBRARY_PATH="{env["LD_LIBRARY_PATH"]}${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}"'
    for name in ("srun", "salloc"):
        (tools / name).write_text(f'#!/bin/sh\n{libraries}\nexec {SLURM}/usr/bin/{name} "$@"\n')
        (tools / name).chmod(0o755)
    return tools


def limits_and_ends(mpiexec, build, slots):
    """What holds in every allocation of two hosts: `mpiexec` runs ours in one of so many slots."""
    done = mpiexec("-n", slots + 1, "true")
    assert done.returncode != 0 and f"{slots + 1} ranks are more than the {slots} slots of this allocation" in done.stderr, done
    assert mpiexec("-oversubscribe", "-n", slots + 1, "true").returncode == 0
    done = mpiexec(build("ending.c"), "kill", "barrier")
    assert done.returncode != 0 and done.stderr.count("was killed") == 1, done
    # The input of a rank on the other host goes by srun.
    done = mpiexec("-s", "2", "cat", input="through\n")
    assert done.returncode == 0 and done.stdout == "through\n", done


def in_allocation(run, lab, env, build):
    """Our mpiexec has its hosts and their agents from Slurm, and needs no other shell."""
    words = ["-N", "2", "--ntasks-per-node=2", "mpiexec"]

    def mpiexec(*more, **options):
        return run("salloc", *words, *more, env=env, **options)
    done = mpiexec("-v", build("hello.c"), "say")
    assert done.returncode == 0 and ranks(done.stdout) == [f"{rank} of 4" for rank in range(4)], done
    assert "the hosts are those of SLURM_JOB_NODELIST" in done.stderr and "host node1: srun " in done.stderr, done
    done = mpiexec("-n", "4", "sh", "-c", "hostname; nproc")
    # All processors of each host, whatever a step of one task would get.
    everything = os.cpu_count()
    assert sorted(done.stdout.split()) == [str(everything)] * 4 + ["node0"] * 2 + ["node1"] * 2, done
    limits_and_ends(mpiexec, build, 16)
    # More than all buffers between, and a reader that pauses for longer than heartbeats are apart.
    line = [SLURM / "usr/bin/salloc", *words, "sh", "-c", "head -c 30000000 /dev/zero"]
    with lab.hosts[0].start(line, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as job:
        time.sleep(3)
        out, err = job.communicate(timeout=60)
    assert job.returncode == 0 and len(out) == 4 * 30_000_000 and not out.strip(b"\0"), (job.returncode, len(out), err)
    nothing_runs(run, lab)


def nothing_runs(run, lab):
    """No job is left, nor a process of one."""
    assert wait_for(lambda: run("squeue", "-h").stdout == ""), run("squeue")
    assert wait_for(lambda: not others(lab), 5), others(lab)


def others(lab):
    return [words for host in lab.hosts for words in host.processes().values() if "slurm" not in words[0]]


def prepared_for_pmix(lab, folder):
    """Lets the plugin pmix find its library on each host, and make folders there: those of a step have the same names on all
    hosts. Returns whether that is permitted."""
    mount, place = overlay(folder), folder / "pmix"
    place.mkdir()
    for host in lab.hosts:
        if host.run(mount).returncode != 0:
            return False
        own = folder / f"pmix.{host.name}"
        own.mkdir()
        host.run(["mount", "--bind", own, place], check=True)
    (folder / "mpi.conf").write_text(f"PMIxCliTmpDirBase={place}\n")
    return True


@pytest.fixture
def two(make, session, tmp_path):
    """A cluster of two hosts: the lab, the variables for programs on Hawser, the function that runs a command of Slurm, and
    whether there is the plugin pmix."""
    check_installed()
    lab = make(hosts=2)
    has_pmix = prepared_for_pmix(lab, tmp_path)
    with two_hosts(lab, tmp_path) as (env, run):
        env["PATH"] = f"{names(tmp_path, env)}:{lab.environment['PATH']}"
        yield lab, with_library(session, env), run, has_pmix


# At the end of a step of several components by pmix, srun itself waits for ever at times (Slurm 22.05: for the thread of
# its other component's plugin, in pmixp_abort_agent_stop).
@pytest.fixture(params=["pmi2", "pmix"] if LONG else ["pmi2"])
def plugin(request, two):
    if request.param == "pmix" and not two[-1]:
        pytest.skip("not tested, the plugin pmix needs a mount of an overlay")
    return request.param


def test_components_of_a_heterogeneous_job_are_one_world(two, plugin, build):
    """Slurm gives all components of a step one world, and so do we."""
    lab, env, run, _ = two
    hello, ending, srun = build("hello.c"), build("ending.c"), ["srun", f"--mpi={plugin}"]
    done = run(*srun, "-n", "1", hello, "say", ":", "-n", "2", hello, "say", env=env)
    assert done.returncode == 0 and ranks(done.stdout) == ["0 of 3", "1 of 3", "2 of 3"], done
    job = ["salloc", "-n", "2", ":", "-n", "3"]
    for version in ("1", "2"):
        done = run(*job, *srun, "--het-group=0,1", hello, "say", env=env | {"HAWSER_PMI": version})
        assert done.returncode == 0 and ranks(done.stdout) == [f"{rank} of 5" for rank in range(5)], done
    done = run(*job, *srun, "--het-group=1", hello, "say", env=env)
    assert done.returncode == 0 and ranks(done.stdout) == ["0 of 3", "1 of 3", "2 of 3"], done
    done = run(*job, *srun, "--het-group=0,1", *mpi4pys_own("comm"), env=env)
    assert done.returncode == 0 and done.stdout.count('{"ran"') == 5, done
    done = run(*job, *srun, "--het-group=0,1", ending, "abort", "barrier", env=env)
    assert done.returncode != 0 and done.stderr.count("aborts with code 5") == 1, done
    done = run(*job, *srun, "--het-group=0,1", ending, "kill", "barrier", env=env)
    assert done.returncode != 0 and done.stderr.count("has ended without calling MPI_Finalize") <= 1, done
    done = run(*job, "srun", "--mpi=none", "--het-group=0,1", hello, env=env)
    assert done.returncode != 0 and "SLURM_STEP_NUM_TASKS=5" in done.stderr and "srun --mpi=pmi2" in done.stderr, done
    nothing_runs(run, lab)


def test_components_of_a_step_within_one_job(two, plugin, build):
    """By pmi2 they do not reach each other, in whatever library of MPI: that is refused at once."""
    lab, env, run, _ = two
    hello = build("hello.c")
    step = ["salloc", "-N", "2", "srun", f"--mpi={plugin}", "-n", "1", hello, "say", ":", "-n", "2", hello, "say"]
    begin = time.monotonic()
    done = run(*step, env=env)
    if plugin == "pmix":
        assert done.returncode == 0 and ranks(done.stdout) == ["0 of 3", "1 of 3", "2 of 3"], done
    else:
        assert done.returncode != 0 and "several components within one job" in done.stderr, done
        assert "--mpi=pmix" in done.stderr and time.monotonic() - begin < 30, done
        done = run(*step, env=env | {"HAWSER_PMI": "1", "HAWSER_RENDEZVOUS_S": "2"})
        assert done.returncode != 0 and "not all 3 processes" in done.stderr, done
    nothing_runs(run, lab)


def test_mpiexec_in_a_heterogeneous_job(two, build):
    """Our mpiexec has the hosts of all components, and the step of an agent is in the component of its host."""
    lab, env, run, _ = two

    def mpiexec(*more, **options):
        return run("salloc", "-n", "1", "-c", "2", ":", "-n", "2", "mpiexec", *more, env=env, **options)
    done = mpiexec("-v", build("hello.c"), "say")
    assert done.returncode == 0 and ranks(done.stdout) == ["0 of 3", "1 of 3", "2 of 3"], done
    assert "the hosts are those of SLURM_HET_SIZE" in done.stderr and " --het-group=1 --nodelist=node1 " in done.stderr, done
    done = mpiexec("-n", "12", "sh", "-c", "hostname; nproc")
    # Two processors a task of the first component, and all processors of the machine for the ranks of each host.
    expected = [str(os.cpu_count())] * 12 + ["node0"] * 4 + ["node1"] * 8
    assert done.returncode == 0 and sorted(done.stdout.split()) == expected, done
    # Rank 1 is in the second component, and the others wait for it in both.
    limits_and_ends(mpiexec, build, 12)
    nothing_runs(run, lab)


def test_a_batch_script_of_two_components(two, build, tmp_path):
    lab, env, run, _ = two
    script, out = tmp_path / "script", tmp_path / "out"
    head = "#!/bin/sh\n#SBATCH -n 2\n#SBATCH hetjob\n#SBATCH --ntasks-per-node=2\n"
    script.write_text(f"{head}mpiexec {build('hello.c')} say\nsrun --het-group=1 -n 1 mpiexec hostname\n")
    done = run("sbatch", "--wait", "-o", out, script, env=env)
    assert done.returncode == 0 and ranks(out.read_text()) == [f"{rank} of 4" for rank in range(4)], (done, out.read_text())
    assert out.read_text().splitlines()[-1] == "node1", out.read_text()
    # scancel ends all components.
    script.write_text(f"{head}exec mpiexec {build('endless.c')}\n")
    out.unlink()
    number = run("sbatch", "--parsable", "-o", out, script, env=env).stdout.strip()
    assert wait_for(lambda: out.exists() and "all are there" in out.read_text()), run("squeue")
    assert run("scancel", number).returncode == 0
    nothing_runs(run, lab)
