"""Jobs in sandboxes: without privileges, /sys, /dev/shm, other processes, a network, and system calls. Two to eight
ranks just run, and say nothing."""

import re
import signal
import subprocess

import pytest
import sandbox
from harness import GRACE_OF_LABS_S, command_line, eventually

if reason := sandbox.lacking():
    pytest.skip(f"NO SANDBOX IS TESTED, {reason}", allow_module_level=True)

TOKEN = "0123456789abcdef0123456789abcdef"
STREAMS = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
PROGRAMS = ["hello.c 1", "hello.c 2", "hello.c 8", "p2p_sizes.c private 3", "p2p_sizes.c shared 3", "alloc_mem.c mapped 2",
            "coll_alltoall.c 5", "coll_reduce.c 8", "threads.c any 3", "random.c 1 6", "sessions.c several 3"]


@pytest.fixture
def folder():
    made = sandbox.folder()
    yield made.name
    made.cleanup()


def test_the_sandboxes_are_what_they_say(session, folder):
    """Without this, the tests below could pass in no sandbox at all."""
    look = "id -u; grep CapEff /proc/self/status; ls /sys /dev/shm 2>&1 | wc -l; touch /x 2>&1; ls /sys/class/net; ls /proc | grep -c '^[0-9]'"
    done = session.call(sandbox.NO_SHM.command(["sh", "-c", look], folder))
    assert re.search(r"^1000\n.*0000000000000000\n", done.out) and "Read-only file system" in done.out + done.err, done
    assert "cannot access '/dev/shm'" in done.out + done.err or int(done.out.splitlines()[2]) <= 3, done
    refused = "import ctypes, os; libc = ctypes.CDLL(None, use_errno=True); libc.syscall({}, 0, 0, 0, 0, 0, 0); print(ctypes.get_errno())"
    calls = [(310, sandbox.EPERM), (434, sandbox.ENOSYS)]
    for number, error in calls:
        done = session.call(sandbox.STRICT.command(["python3", "-c", refused.format(number)], folder))
        assert done.out == f"{error}\n", done
    done = session.call(sandbox.CONTAINER.command(["python3", "-c", "import socket; socket.create_connection(('127.0.0.1', 1))"], folder))
    assert "unreachable" in done.err, done


@pytest.mark.parametrize("kind", sandbox.ALL, ids=lambda kind: kind.name)
@pytest.mark.parametrize("line", PROGRAMS)
def test_programs_run(session, build, folder, kind, line):
    source, *case, size = line.split()
    abi = "std" if kind is sandbox.STRICT else "mpich"
    command = [session.prefix / "bin/mpiexec", "-n", size, build(source, abi), *case]
    done = session.call(kind.command(command, folder), timeout=90)
    assert (done.code, done.out, done.err) == (0, "", ""), done


@pytest.mark.parametrize("kind", sandbox.ALL, ids=lambda kind: kind.name)
def test_ends_are_told_and_nothing_is_left(session, build, folder, kind):
    mpiexec = session.prefix / "bin/mpiexec"
    done = session.call(kind.command([mpiexec, "-n", "3", "sh", "-c", "[ $HAWSER_RANK = 1 ] && exit 7; sleep 1000"], folder))
    assert done.code == 7 and "rank 1" in done.err and done.err.count("\n") == 1, done
    done = session.call(kind.command([mpiexec, "-n", "3", "sh", "-c", "[ $HAWSER_RANK = 1 ] && kill -9 $$; sleep 1000"], folder))
    assert done.code == 137 and "rank 1" in done.err and "signal 9" in done.err, done
    job = session.start(kind.command([mpiexec, "-n", "3", "sh", "-c", "setsid sleep 1000 & sleep 1000"], folder, first=True))
    eventually(lambda: sum("sleep 1000" == words(pid) for pid in session.processes()) == 6)
    pid = next(pid for pid in session.processes() if words(pid).startswith(f"{mpiexec} "))
    subprocess.run(["kill", "-TERM", str(pid)], check=True)
    _, err = job.communicate(timeout=GRACE_OF_LABS_S)
    assert job.returncode == 128 + signal.SIGTERM, err


def words(pid):
    return command_line(pid).decode()


def test_mpi4py(session, folder):
    """As an agent tries it first."""
    python = sandbox.UNPACKED.parent / "e2e/bin/python"
    command = [session.prefix / "bin/mpiexec", "-n", "4", python, "-m", "mpi4py.bench", "helloworld"]
    variables = {"LD_LIBRARY_PATH": str(session.prefix / "lib")}
    done = session.call(sandbox.STRICT.command(command, folder), variables)
    assert done.code == 0 and [f"process {rank} of 4" in done.out for rank in range(4)] == [True] * 4, done


IN_PODS = pytest.mark.skipif(not sandbox.privileged(), reason="not tested, pods in a lab want to be root")


@IN_PODS
@pytest.mark.parametrize("kind", [sandbox.POD, sandbox.POD_WITH_RAW_FRAMES], ids=lambda kind: kind.name)
def test_pods_of_an_indexed_job(make, build, abi, kind):
    """What packaging/kubernetes/job.yaml starts: the first pod runs mpiexec, the others are its workers; each is the first
    process of its container."""
    lab = make(hosts=3)
    folders = [sandbox.folder() for _ in lab.hosts]
    first = lab.hosts[0].nics[0].v4
    program = build("random.c", abi)
    script = f'[ "$JOB_COMPLETION_INDEX" = 0 ] && exec mpiexec --stats -workers 2 -n 6 -ppn 2 {program} 1 6; exec mpiexec -worker {first}'
    pods = []
    for number, host in enumerate(lab.hosts):
        command = kind.command(["sh", "-c", script], folders[number].name, hostname=host.name, first=True)
        variables = {"HAWSER_TOKEN": TOKEN, "JOB_COMPLETION_INDEX": str(number)}
        pods.append(host.start(command, env=variables, **STREAMS))
    ended = [pod.communicate(timeout=60) for pod in pods]
    assert [pod.returncode for pod in pods] == [0, 0, 0], ended
    assert [err for _, err in ended[1:]] == ["", ""], ended
    is_raw = re.search(r"eth0: .*\bpacket [1-9]", ended[0][1]) is not None
    assert is_raw == (kind is sandbox.POD_WITH_RAW_FRAMES), ended[0]
    assert re.search(r"\budp [1-9]", ended[0][1]), ended[0]
    eventually(lambda: lab.processes() == {})


@IN_PODS
@pytest.mark.parametrize("victim", [0, 1], ids=["mpiexec", "worker"])
def test_a_pod_that_is_deleted_ends_the_job(make, session, victim):
    """Kubernetes sends SIGTERM to the first process, for which the kernel has no default then."""
    lab = make(hosts=2)
    folders = [sandbox.folder() for _ in lab.hosts]
    first = lab.hosts[0].nics[0].v4
    commands = [["mpiexec", "-workers", "1", "-n", "4", "-ppn", "2", "sleep", "1000"], ["mpiexec", "-worker", first]]
    pods = [host.start(sandbox.POD.command(command, folder.name, hostname=host.name, first=True),
                       env={"HAWSER_TOKEN": TOKEN}, **STREAMS)
            for host, command, folder in zip(lab.hosts, commands, folders)]
    eventually(lambda: sum(words(pid) == "sleep 1000" for pid in session.processes()) == 4)
    [target] = [pid for pid in session.processes() if words(pid) == " ".join(commands[victim])]
    subprocess.run(["kill", "-TERM", str(target)], check=True)
    ended = [pod.communicate(timeout=GRACE_OF_LABS_S) for pod in pods]
    codes = [pod.returncode for pod in pods]
    assert codes[victim] == 128 + signal.SIGTERM and codes[1 - victim] != 0, ended
    if victim == 1:
        assert "host node1 is lost: its worker at" in ended[0][1], ended
    eventually(lambda: not any(words(pid) == "sleep 1000" for pid in session.processes()))
