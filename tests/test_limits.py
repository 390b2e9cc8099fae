"""Real MPI programs where resources are short or forbidden: survived, or explained in one line."""

import errno
import os
import re
import subprocess

import pytest
from harness import SOURCES

# System calls by their numbers on x86-64 and on AArch64.
NUMBERS = {
    "x86_64": {"process_vm_readv": 310, "process_vm_writev": 311, "membarrier": 324, "memfd_create": 319,
               "pidfd_open": 434, "close_range": 436, "set_subreaper": "157/36", "set_pdeathsig": "157/1", "getrandom": 318,
               "prlimit64": 302},
    "aarch64": {"process_vm_readv": 270, "process_vm_writev": 271, "membarrier": 283, "memfd_create": 279,
                "pidfd_open": 434, "close_range": 436, "set_subreaper": "167/36", "set_pdeathsig": "167/1", "getrandom": 278,
                "prlimit64": 261},
}[os.uname().machine]


def under(session, wrapper, n, program, args=(), timeout=60):
    """mpiexec under a wrapping command."""
    return session.call([*wrapper, session.prefix / "bin/mpiexec", "-n", n, program, *args],
                        {"MPIEXEC_TIMEOUT": str(timeout - 5)}, timeout)


def limited(session, limit, n, program, **more):
    return under(session, ["sh", "-c", f'ulimit {limit} && exec "$@"', "sh"], n, program, **more)


def works(result):
    assert result.code == 0 and result.out == "" and result.err == "", result


def works_or_is_explained(result, *words):
    """No program may just vanish: one line of ours says what is short."""
    if result.code != 0:
        lines = [line for line in result.err.splitlines() if line.strip()]
        assert 1 <= len(lines) <= 2 and any(word in result.err for word in words), result
    else:
        works(result)


@pytest.fixture(scope="session")
def forbid(session):
    program = session.scratch / "forbid"
    subprocess.run(["cc", "-Wall", "-Werror", SOURCES / "forbid.c", "-o", program], check=True)

    def wrapper(*calls, error=errno.EPERM):
        return [program, "-e", error, *(NUMBERS[call] for call in calls), "--"]

    done = session.call([*wrapper("process_vm_readv"), "true"])
    if done.code == 125:
        pytest.skip(f"system calls cannot be forbidden here: {done.err}")
    return wrapper


def test_a_small_dev_shm(session, build, abi):
    """1 MB of /dev/shm, as in many containers, and none of it free."""
    inside = ["unshare", "-m", "sh", "-c",
              'mount -t tmpfs -o size=1m tmpfs /dev/shm && head -c 1048576 /dev/zero >/dev/shm/full; exec "$@"', "sh"]
    if session.call([*inside[:4], "mount -t tmpfs -o size=1m tmpfs /dev/shm"]).code:
        pytest.skip("a small /dev/shm needs the right to mount: run as root")
    works(under(session, inside, 4, build("traffic.c", abi)))


def pulled(result):
    """How many messages were read from their senders' memory, where `--stats` was asked for."""
    assert result.code == 0 and result.out == "", result
    found = re.search(r"all ranks: .*messages read from the sender's memory (\d+)", result.err)
    return int(found[1]) if found else 0


def test_process_vm_is_used_where_it_is_chosen(session, run, build, abi, forbid):
    """The same program, by process_vm_readv and without it, forbidden to all and to the reader or the read one alone."""
    if "no process_vm_readv" in session.call([session.prefix / "bin/mpiexec", "--info"]).out:
        pytest.skip("process_vm_readv is forbidden here")
    env = {"HAWSER_PROCESS_VM_FROM": "8k"}
    program = build("p2p_sizes.c", abi)
    mpiexec = [session.prefix / "bin/mpiexec", "--stats"]
    without = forbid("process_vm_readv", "process_vm_writev")
    every = pulled(run(2, program, options=["--stats"], env=env))
    assert every >= 2 * 8  # the unexpected messages of more than 64 KiB, of each rank
    assert pulled(run(2, program, options=["--stats"], env={"HAWSER_PROCESS_VM_FROM": "1g"})) == 0
    assert pulled(session.call([*without, *mpiexec, "-n", 2, program], env)) == 0
    assert 0 < pulled(session.call([*mpiexec, "-n", 1, program, ":", "-n", 1, *without, program], env)) < every


def test_a_receive_is_posted_without_reading_its_message(run, build, abi):
    """MPI_Irecv returns before the message is read: a long copy there would keep the program from its next call."""
    result = run(2, build("p2p_late_read.c", abi), options=["--stats"], env={"HAWSER_PROCESS_VM_FROM": "8k"})
    assert pulled(result) == 2 * 8


def test_memory_of_mpi_alloc_mem_is_read_where_it_lies(session, build, abi, forbid):
    """One copy, with no right but to the job's own memory."""
    command = [session.prefix / "bin/mpiexec", "--stats", "-n", 2, build("p2p_sizes.c", abi)]
    without = forbid("process_vm_readv", "process_vm_writev")
    assert pulled(session.call([*without, *command, "shared"])) >= 2 * 8
    assert pulled(session.call([*without, *command, "private"])) == 0


def test_ranks_in_pid_namespaces_of_their_own_read_nobody_elses_memory(session, build, abi):
    """There a number means another process than to the peers."""
    apart = ["unshare", "--pid", "--fork"]
    if session.call([*apart, "true"]).code:
        pytest.skip("a PID namespace needs the right to make one: run as root")
    command = [session.prefix / "bin/mpiexec", "--stats", "-n", 2, *apart, build("p2p_sizes.c", abi)]
    assert pulled(session.call(command, {"HAWSER_PROCESS_VM_FROM": "8k"})) == 0


def test_a_forbidden_process_vm(session, build, abi, forbid):
    works(under(session, forbid("process_vm_readv", "process_vm_writev"), 4, build("traffic.c", abi)))


def test_process_vm_forbidden_to_one_rank_alone(session, build, abi, forbid):
    """mpiexec may, the rank may not: the transfer goes another way."""
    program = build("traffic.c", abi)
    wrapped = [word for word in forbid("process_vm_readv", "process_vm_writev")]
    result = session.call([session.prefix / "bin/mpiexec", "-n", 1, program, ":", "-n", 1, *wrapped, program])
    works(result)


@pytest.mark.parametrize("error", [errno.EPERM, errno.ENOSYS])
@pytest.mark.parametrize("call", ["memfd_create", "set_subreaper", "set_pdeathsig", "close_range", "pidfd_open", "membarrier",
                                  "getrandom", "prlimit64"])
def test_a_system_call_that_is_forbidden_or_unknown(session, build, abi, forbid, call, error):
    works(under(session, forbid(call, error=error), 2, build("traffic.c", abi)))


def test_memory_without_memfd_is_nobody_elses_file(session, build, abi, forbid):
    """A process alone has it too, and a /dev/shm that is full is not taken."""
    works(session.call([*forbid("memfd_create"), build("hello.c", abi)]))
    works(under(session, forbid("memfd_create"), 4, build("alloc_mem.c", abi), ["mapped"], timeout=90))
    inside = ["unshare", "-m", "sh", "-c", 'mount -t tmpfs -o size=1m tmpfs /dev/shm && exec "$@"', "sh"]
    if session.call([*inside, "true"]).code:
        pytest.skip("a small /dev/shm needs the right to mount: run as root")
    works(under(session, [*inside, *forbid("memfd_create")], 4, build("traffic.c", abi)))


def test_without_a_subreaper_what_ranks_leave_behind_is_ended(session, forbid):
    """By its process group: nothing comes back to the agent. `nothing_is_left` looks for it."""
    script = "sleep 1001 & (sleep 1002 &) ; exit 0"
    works(under(session, forbid("set_subreaper"), 2, "sh", ["-c", script]))


def test_a_rank_that_ends_badly_without_a_subreaper(session, build, forbid):
    result = under(session, forbid("set_subreaper"), 3, build("ending.c"), ["kill", "barrier"])
    assert result.code == 137 and result.err.count("\n") == 1 and "rank 1" in result.err, result


def test_few_descriptors_and_many_ranks(session, build, abi):
    works(limited(session, "-S -n 64", 32, build("hello.c", abi)))
    works_or_is_explained(limited(session, "-n 64", 32, build("hello.c", abi)), "open files")


def test_few_descriptors_and_few_ranks(session, build, abi):
    works(limited(session, "-n 64", 4, build("traffic.c", abi)))


def test_no_locked_memory(session, build, abi):
    works(limited(session, "-l 0", 4, build("traffic.c", abi)))


@pytest.mark.parametrize("megabytes", [64, 256, 1024, 4096])
def test_little_address_space(session, build, megabytes):
    result = limited(session, f"-v {megabytes * 1024}", 4, build("traffic.c"))
    if megabytes >= 1024:
        works(result)
    else:
        works_or_is_explained(result, "memory", "address space", "ulimit -v", "MPI_ERR_NO_MEM")


def test_little_stack(session, build, abi):
    works(limited(session, "-s 256", 4, build("traffic.c", abi)))


def test_no_room_for_files(session, build, abi):
    works_or_is_explained(limited(session, "-f 0", 4, build("traffic.c", abi)), "RLIMIT_FSIZE")


ORDINARY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]


@pytest.mark.parametrize("kilobytes, program, arguments", [
    (4 << 20, "traffic.c", []), (4 << 20, "alloc_mem.c", ["mapped"]), (256 << 10, "traffic.c", []), (60 << 10, "traffic.c", []),
    (60 << 10, "coll_comms.c", []), (60 << 10, "hello.c", []),
])
def test_little_room_for_a_file(session, build, abi, kilobytes, program, arguments):
    """Less than the segment would take: with shorter arenas, without them, with few blocks of flags. An ordinary user cannot
    raise the limit."""
    session.scratch.chmod(0o755)
    wrapper = ["sh", "-c", f'ulimit -f {2 * kilobytes} && exec "$@"', "sh"]
    wrapper = wrapper if os.getuid() else [*wrapper, *ORDINARY]
    built = build(program, abi)
    if session.call([*wrapper, "test", "-x", session.prefix / "bin/mpiexec"]).code:
        pytest.skip(f"{session.prefix} cannot be read by other users")
    if arguments:
        result = under(session, wrapper, 2, built, arguments)
        assert result.code == 0 and result.err == "", result
    else:
        works(under(session, wrapper, 2, built, timeout=90))
    works(session.call([*wrapper, build("hello.c", abi)]))


def test_too_little_room_for_a_file_is_told(session, build, abi):
    session.scratch.chmod(0o755)
    wrapper = ["sh", "-c", 'ulimit -f 100 && exec "$@"', "sh", *([] if os.getuid() else ORDINARY)]
    for command in ([session.prefix / "bin/mpiexec", "-n", 2, build("hello.c", abi)], [build("hello.c", abi)]):
        result = session.call([*wrapper, *command])
        assert result.code not in (0, 126) and result.err.count("\n") == 1 and "ulimit -f unlimited" in result.err, result


def hidden(session, folder):
    wrapper = ["unshare", "-m", "sh", "-c", f'mount -t tmpfs none /{folder} && exec "$@"', "sh"]
    if session.call([*wrapper, "true"]).code:
        pytest.skip(f"hiding /{folder} needs the right to mount: run as root")
    return wrapper


def test_a_host_without_dev(session, build):
    result = under(session, hidden(session, "dev"), 2, build("hello.c"))
    assert result.code != 0 and "its standard input, /dev/null: No such file" in result.err, result
    assert len(result.err.splitlines()) == 1, result


def test_a_host_without_proc(session, build, abi):
    wrapper = hidden(session, "proc")
    works(under(session, wrapper, 4, build("traffic.c", abi)))
    works(session.call([*wrapper, build("hello.c", abi)]))
    result = under(session, wrapper, 3, build("ending.c", abi), ["exit7", "barrier"])
    assert result.code == 7 and result.err.count("\n") == 1 and "rank 1" in result.err, result


def test_what_ranks_leave_behind_without_proc_is_ended(session):
    """`nothing_is_left` looks for it."""
    works(under(session, hidden(session, "proc"), 2, "sh", ["-c", "sleep 1001 & (sleep 1002 &) ; exit 0"]))


def test_another_user_without_home_or_tmp(session, build, abi):
    env = {"HOME": "/nonexistent", "TMPDIR": "/nonexistent", "XDG_RUNTIME_DIR": "/nonexistent"}
    result = session.call([session.prefix / "bin/mpiexec", "-n", 2, build("traffic.c", abi)], env)
    works(result)


def test_an_ordinary_user(session, build, abi):
    if os.getuid():
        pytest.skip("this is an ordinary user; the other tests have shown it")
    program = build("traffic.c", abi)
    session.scratch.chmod(0o755)
    wrapper = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    if session.call([*wrapper, "test", "-x", session.prefix / "bin/mpiexec"]).code:
        pytest.skip(f"{session.prefix} cannot be read by other users")
    works(under(session, wrapper, 4, program))


def test_one_core_for_all_ranks(session, build, abi):
    """They wait by sleeping, not by spinning."""
    works(under(session, ["taskset", "-c", "0"], 8, build("traffic.c", abi)))


def test_sixty_four_ranks(run, build, abi):
    works(run(64, build("hello.c", abi), timeout=60))


def test_sixty_four_ranks_with_traffic(run, build, abi):
    works(run(64, build("traffic.c", abi), timeout=100))
