"""Jobs on several hosts, started with remote shells in a lab: what users see, and that nothing is left on any host
whatever fails.

How ranks are placed, the words for each failure and what a shell may print are tested with the launcher (Rust).
"""

import os
import random
import re
import shutil
import signal
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from harness import GRACE_OF_LABS_S, LONG, MARK, command_line, environment_of, eventually, line_of
from lab import sshd

SLEEP = ["sleep", "1000"]
KILLS = 60 if LONG else 15


@contextmanager
def mpiexec(lab, *words, shell="lab-rsh", hosts=None, stdin=subprocess.DEVNULL, env=None):
    """mpiexec on the first host; a job that a test leaves behind is ended."""
    names = ",".join(host.name for host in (hosts or lab.hosts))
    streams = {"stdin": stdin, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    command = ["mpiexec", "-launcher-exec", shell, "-hosts", names, *words]
    with lab.hosts[0].start(command, env=env, **streams) as job:
        try:
            yield job
        except BaseException:
            job.kill()
            raise


def programs(lab):
    """What runs on the lab's hosts, without sshd."""
    return {pid: words for pid, words in lab.processes().items() if words and "sshd" not in words[0]}


def running(lab, words, count):
    return [*programs(lab).values()].count(words) == count


def ended(lab, job, code, *parts):
    """The job ends, with one line that has these parts, and nothing is left on any host that lives."""
    _, err = job.communicate(timeout=GRACE_OF_LABS_S)
    assert job.returncode == code and err.count("\n") == 1 and all(part in err for part in parts), err
    eventually(lambda: programs(lab) == {})


def part(host, words):
    """A process on a host, by what is in its command."""
    return next(pid for pid, line in host.processes().items() if words in " ".join(line))


def remote_shell(lab, name):
    """That of mpiexec to a host; the lab does not count it among the host's programs. Other runs of these tests may have
    some of their own, with another mark."""
    mark = f"{MARK}={lab.environment[MARK]}".encode()
    pids = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    shells = [pid for pid in pids if f"bin/lab-rsh {name} exec".encode() in command_line(pid)]
    return next(pid for pid in shells if mark in environment_of(pid))


def with_sshd(make, tmp_path, **lab):
    if os.geteuid() != 0:
        pytest.skip("not tested, sshd wants to be root")
    if sshd.program() is None:
        pytest.skip("not tested, there is no sshd (scripts/e2e.sh)")
    lab = make(**lab)
    return lab, sshd.serve(lab, tmp_path)


def test_a_job_of_four_hosts(make):
    lab = make(hosts=4)
    with mpiexec(lab, "-l", "-ppn", "2", "sh", "-c", "hostname; pwd") as job:
        out, err = job.communicate(timeout=GRACE_OF_LABS_S)
    lines = [f"[{rank}] {line}" for rank in range(8) for line in (f"node{rank // 2}", os.getcwd())]
    assert (job.returncode, sorted(out.splitlines()), err) == (0, sorted(lines), "")
    assert programs(lab) == {}


def test_localhost_and_others_in_one_job(make):
    lab = make(hosts=2)
    done = lab.hosts[0].run(["mpiexec", "-launcher-exec", "lab-rsh", "-hosts", "localhost:2,node1", "sh", "-c",
                             "echo $HAWSER_RANK $(hostname)"])
    assert sorted(done.stdout.splitlines()) == ["0 node0", "1 node0", "2 node1"], done.stderr


@pytest.mark.parametrize("how, name", [(signal.SIGKILL, "9 (Killed)"), (signal.SIGHUP, "1 (Hangup)")])
@pytest.mark.parametrize("victim, told", [
    (lambda lab: part(lab.hosts[1], "__agent"), ["the agent (pid ", "was killed by signal {}"]),
    (lambda lab: part(lab.hosts[1], "__guard"), ["lab-rsh ended with code 255"]),
    (lambda lab: remote_shell(lab, "node1"), ["lab-rsh was killed by signal {}"]),
], ids=["agent", "guard", "shell"])
def test_what_is_killed_between_hosts_is_named(make, victim, told, how, name):
    lab = make(hosts=3)
    script = ["sh", "-c", "setsid sleep 1000 & sleep 1000"]
    with mpiexec(lab, "-ppn", "2", *script) as job:
        eventually(lambda: running(lab, SLEEP, 12))
        os.kill(victim(lab), how)
        ended(lab, job, 1, "host node1 is lost: ", *[text.format(name) for text in told], "; the job is ended")


def test_a_rank_that_is_killed_is_named(make):
    lab = make(hosts=3)
    with mpiexec(lab, "-ppn", "2", *SLEEP) as job:
        eventually(lambda: running(lab, SLEEP, 6))
        os.kill(part(lab.hosts[2], "sleep 1000"), signal.SIGSEGV)
        ended(lab, job, 139, "on host node2 (pid ", "was killed by signal 11 (Segmentation fault")


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
def test_with_mpiexec_all_hosts_end(make, end):
    lab = make(hosts=3)
    script = ["sh", "-c", "setsid sleep 1000 & sleep 1000"]
    with mpiexec(lab, *script) as job:
        eventually(lambda: running(lab, SLEEP, 6))
        os.kill(part(lab.hosts[0], "mpiexec -launcher-exec"), end)
        assert job.wait(GRACE_OF_LABS_S) == (-end if end == signal.SIGKILL else 128 + end)
        eventually(lambda: programs(lab) == {})


def test_a_host_that_crashes_is_named(make):
    lab = make(hosts=3)
    with mpiexec(lab, *SLEEP) as job:
        eventually(lambda: running(lab, SLEEP, 3))
        lab.hosts[1].crash()
        ended(lab, job, 1, "host node1 is lost: lab-rsh: connection to node1 closed (lab-rsh ended with code 255)")


def test_through_a_real_sshd(make, build, tmp_path):
    lab, ssh = with_sshd(make, tmp_path, hosts=3)
    # the one that knows the lab's keys, by the name that mpiexec looks for
    known = tmp_path / "bin" / "ssh"
    known.parent.mkdir()
    known.write_text(ssh.read_text().replace("exec ssh", f"exec {shutil.which('ssh')}"))
    known.chmod(0o755)
    path = f"{known.parent}:{lab.environment['PATH']}"
    command = ["mpiexec", "-launcher", "ssh", "-hosts", "node0,node1,node2", "-s", "all", "sh", "-c", "hostname; cat"]
    done = lab.hosts[0].run(command, input="through\n", env={"PATH": path})
    assert (done.returncode, sorted(done.stdout.split()), done.stderr) == (
        0, ["node0", "node1", "node2", "through", "through", "through"], "")
    command = ["mpiexec", "-launcher", "ssh", "-hosts", "node0,node1,node2", "-ppn", "2", build("random.c"), "3", "20"]
    done = lab.hosts[0].run(command, env={"PATH": path})
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    done = lab.hosts[0].run(["mpiexec", "-hosts", "node9", "hostname"], env={"PATH": path})
    assert done.returncode == 1 and done.stderr.startswith("mpiexec: host node9 cannot be reached: ssh ended with code 255")
    assert done.stderr.count("\n") == 1, done.stderr
    eventually(lambda: programs(lab) == {})


def test_ranks_of_several_hosts_that_wait_in_a_circle_are_reported_unasked(make, build):
    lab = make(hosts=3)
    with mpiexec(lab, build("deadlock.c"), env={"HAWSER_HANG_S": "1"}) as job:
        told = [line_of(job.stderr)]
        assert "no rank has made progress for 1 s" in told[0], told
        while "cycle" not in told[-1]:
            told.append(line_of(job.stderr))
            assert told[-1], told
        assert job.poll() is None, "a job that stands still is not ended"
        job.send_signal(signal.SIGTERM)
        job.communicate(timeout=GRACE_OF_LABS_S)
    assert all(f"node{number}" in "".join(told) for number in range(3)), told


@pytest.mark.parametrize("host", [0, 1])
def test_a_host_that_falls_silent_is_named_and_ends_its_ranks(make, tmp_path, host):
    """Its cable is pulled: nobody is told, TCP would wait for a quarter of an hour."""
    lab, ssh = with_sshd(make, tmp_path, hosts=3)
    with mpiexec(lab, *SLEEP, shell=ssh, hosts=lab.hosts[1:]) as job:
        eventually(lambda: running(lab, SLEEP, 2))
        lab.hosts[host].nics[0].unplug()
        # The hosts on their side of the cable end by themselves.
        ended(lab, job, 1, "node" if host == 0 else "host node1 has been silent for 7 s", "the job is ended")


def test_mpiexec_and_agents_that_are_stopped_are_waited_for(make, tmp_path):
    lab, ssh = with_sshd(make, tmp_path, hosts=3)
    with mpiexec(lab, "sh", "-c", "sleep 11; hostname", shell=ssh, hosts=lab.hosts[1:]) as job:
        eventually(lambda: running(lab, ["sleep", "11"], 2))
        stopped = [part(lab.hosts[0], "mpiexec -launcher-exec"), part(lab.hosts[1], "__agent")]
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        time.sleep(9)
        for pid in stopped:
            os.kill(pid, signal.SIGCONT)
        out, err = job.communicate(timeout=GRACE_OF_LABS_S)
    assert (job.returncode, sorted(out.split()), err) == (0, ["node1", "node2"], "")


def test_an_agent_that_is_stopped_while_its_guard_is_killed_ends_its_ranks(make):
    """The kernel sends SIGHUP and SIGCONT to a group that is orphaned with a stopped process in it."""
    lab = make(hosts=2)
    with mpiexec(lab, "-ppn", "2", "sh", "-c", "setsid sleep 1000 & sleep 1000", hosts=lab.hosts[1:]) as job:
        eventually(lambda: running(lab, ["sleep", "1000"], 4))
        guard, agent = part(lab.hosts[1], "__guard"), part(lab.hosts[1], "__agent")
        os.kill(agent, signal.SIGSTOP)
        eventually(lambda: Path(f"/proc/{agent}/stat").read_text().rpartition(")")[2].split()[0] == "T")
        os.kill(guard, signal.SIGKILL)
        job.communicate(timeout=GRACE_OF_LABS_S)
    assert job.returncode != 0
    eventually(lambda: programs(lab) == {})


def test_kills_and_stops_at_random_moments_leave_nothing(make):
    lab = make(hosts=3)
    seed = int(os.environ.get("HAWSER_TEST_SEED", time.time_ns()))
    dice = random.Random(seed)
    for turn in range(KILLS):
        with mpiexec(lab, "-ppn", "2", "sh", "-c", "setsid sleep 1000 & sleep 1000") as job:
            time.sleep(dice.uniform(0, 0.5))
            found = eventually(lambda: list(programs(lab)))
            victim, stopped = dice.choice(found), dice.choice(found)
            for pid, sent in ((stopped, signal.SIGSTOP), (victim, signal.SIGKILL), (stopped, signal.SIGCONT)):
                try:
                    os.kill(pid, sent)
                except ProcessLookupError:
                    pass
                time.sleep(dice.uniform(0, 0.05))
            try:
                job.send_signal(signal.SIGTERM)
            except ProcessLookupError:
                pass
            _, err = job.communicate(timeout=GRACE_OF_LABS_S)
            # Another line where a remote shell says what was killed before it could be known.
            assert err.count("\n") <= 2, f"seed {seed}, turn {turn}: {err}"
            eventually(lambda: programs(lab) == {})


@pytest.mark.skipif(not LONG, reason="takes 30 s: scripts/check-long.sh")
def test_a_remote_shell_that_never_answers(make, tmp_path):
    lab, shell = make(hosts=2), tmp_path / "mute"
    shell.write_text("#!/bin/sh\necho connecting >&2\nexec sleep 1000\n")
    shell.chmod(0o755)
    with mpiexec(lab, *SLEEP, shell=shell) as job:
        _, err = job.communicate(timeout=30 + GRACE_OF_LABS_S)
    told = (r"mpiexec: host node0 has not answered for 30 s \(connecting\); "
            rf"check that `{shell} node0 true` works without a prompt\n")
    assert job.returncode == 1 and re.fullmatch(told, err), err
    eventually(lambda: programs(lab) == {})


# The variables that Kubernetes' MPI Operator sets for a job written for MPICH, for Intel MPI, for Open MPI.
OPERATORS = {
    "MPICH": ("HYDRA_HOST_FILE", "HYDRA_LAUNCHER_EXEC", "HYDRA_LAUNCH_EXTRA_ARGS", "{}:2"),
    "Intel": ("I_MPI_HYDRA_HOST_FILE", "I_MPI_HYDRA_BOOTSTRAP_EXEC", "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS", "{}:2"),
    "OpenMPI": ("OMPI_MCA_orte_default_hostfile", "OMPI_MCA_plm_rsh_agent", "OMPI_MCA_plm_rsh_args", "{} slots=2"),
}


@pytest.mark.parametrize("implementation", OPERATORS)
def test_hosts_and_shell_by_the_variables_of_other_launchers(make, build, tmp_path, implementation):
    """A remote shell that checks the options that it was given, then calls the lab's; no option of mpiexec names a host."""
    file, command, arguments, line = OPERATORS[implementation]
    lab = make(hosts=3)
    (tmp_path / "hosts").write_text("".join(line.format(host.name) + "\n" for host in lab.hosts[1:]))
    shell = tmp_path / "kubexec.sh"
    shell.write_text('#!/bin/sh\n[ "$1 $2" = "-o ConnectionAttempts=10" ] || exit 9\nshift 2\nexec lab-rsh "$@"\n')
    shell.chmod(0o755)
    env = {file: str(tmp_path / "hosts"), command: str(shell), arguments: "-o ConnectionAttempts=10"}
    done = lab.hosts[0].run(["mpiexec", "sh", "-c", "echo $(hostname) $HAWSER_RANK"], env=env)
    assert sorted(done.stdout.split("\n")[:-1]) == ["node1 0", "node1 1", "node2 2", "node2 3"], done
    done = lab.hosts[0].run(["mpiexec", build("hello.c"), "say"], env=env)
    assert sorted(line for line in done.stdout.splitlines() if " of " in line) == [f"{rank} of 4" for rank in range(4)], done
    said = lab.hosts[0].run(["mpiexec", "-v", "-n", "1", "true"], env=env).stderr
    assert f"the hosts are those of {file}" in said, said


ALLOCATIONS = {
    "PBS": ("PBS_NODEFILE", "node0\nnode1\nnode0\n"),
    "LSF": ("LSB_DJOB_HOSTFILE", "node0\nnode0\nnode1\n"),
    "GridEngine": ("PE_HOSTFILE", "node0 2 all.q@node0 UNDEFINED\nnode1 1 all.q@node1 UNDEFINED\n"),
}


@pytest.mark.parametrize("manager", ALLOCATIONS)
def test_hosts_of_an_allocation(make, tmp_path, manager):
    """One rank for each slot, and no more."""
    variable, text = ALLOCATIONS[manager]
    (tmp_path / "hosts").write_text(text)
    # The remote shell is found by PATH, under the name that mpiexec takes by default.
    (tmp_path / "ssh").write_text('#!/bin/sh\n[ "$1 $2 $3" = "-x -o BatchMode=yes" ] || exit 9\nshift 3\nexec lab-rsh "$@"\n')
    (tmp_path / "ssh").chmod(0o755)
    lab = make(hosts=2)
    env = {variable: str(tmp_path / "hosts"), "PATH": f"{tmp_path}:{lab.environment['PATH']}"}

    def run(*words):
        return lab.hosts[0].run(["mpiexec", *words], env=env)
    done = run("-v", "sh", "-c", "echo $(hostname) $HAWSER_RANK")
    assert sorted(done.stdout.split("\n")[:-1]) == ["node0 0", "node0 1", "node1 2"], done
    assert f"the hosts are those of {variable}" in done.stderr, done
    done = run("-n", "4", "true")
    assert done.returncode != 0 and done.stderr == ("mpiexec: 4 ranks are more than the 3 slots of this allocation "
                                                    f"({variable}); allocate more, or add -oversubscribe\n"), done
    assert run("-n", "4", "--map-by", ":OVERSUBSCRIBE", "true").returncode == 0
    assert run("-n", "4", "-hosts", "node0,node1", "true").returncode == 0
    (tmp_path / "hosts").unlink()
    done = run("true")
    assert done.returncode == 2 and done.stderr.startswith(f"mpiexec: {variable}: the file {tmp_path}/hosts cannot be read"), done
