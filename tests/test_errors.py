"""What the library and mpiexec say when something goes wrong, in real MPI programs."""

import collections
import os
import random
import re
import signal
import socket
import time

import pytest
from harness import END_S, LONG, SOURCES, line_of

HOST = socket.gethostname()
KILLS = 200 if LONG else 30

# A misuse of tests/c/misuse.c: function, communicator or none, error class.
FATAL = {
    "send_rank_too_large": ("MPI_Send", "MPI_COMM_WORLD", "MPI_ERR_RANK"),
    "send_tag_negative": ("MPI_Send", "MPI_COMM_WORLD", "MPI_ERR_TAG"),
    "recv_count_negative": ("MPI_Recv", "MPI_COMM_WORLD", "MPI_ERR_COUNT"),
    "send_type_uncommitted": ("MPI_Send", "MPI_COMM_WORLD", "MPI_ERR_TYPE"),
    "send_buffer_null": ("MPI_Send", "MPI_COMM_WORLD", "MPI_ERR_BUFFER"),
    "truncation": ("MPI_Wait", "MPI_COMM_WORLD", "MPI_ERR_TRUNCATE"),
    "send_comm_null": ("MPI_Send", None, "MPI_ERR_COMM"),
    "size_of_freed": ("MPI_Comm_size", None, "MPI_ERR_COMM"),
    "bcast_root_too_large": ("MPI_Bcast", "MPI_COMM_WORLD", "MPI_ERR_ROOT"),
    "allreduce_sum_of_bytes": ("MPI_Allreduce", "MPI_COMM_WORLD", "MPI_ERR_OP"),
    "wait_completed_request": ("MPI_Wait", None, "MPI_ERR_REQUEST"),
    "type_free_predefined": ("MPI_Type_free", None, "MPI_ERR_TYPE"),
    "info_freed": ("MPI_Info_set", None, "MPI_ERR_INFO"),
    "init_twice": ("MPI_Init", None, "MPI_ERR_OTHER"),
}


def one_line(result):
    lines = result.err.splitlines()
    assert result.code != 0 and result.out == "" and len(lines) == 1, result
    return lines[0]


@pytest.mark.parametrize("case", FATAL)
def test_a_fatal_error_is_one_line_with_rank_function_communicator_class_and_cause(run, build, abi, case):
    function, comm, error = FATAL[case]
    line = one_line(run(1, build("misuse.c", abi), [case]))
    on = f" on {comm}" if comm else "(?: on MPI_COMM_SELF| on MPI_COMM_WORLD)?"
    assert re.search(rf"rank 0\b.*\b{HOST}\b.*{function} failed{on}: {error}: .{{8,}}", line), line


def test_a_fatal_error_without_mpiexec_is_the_same_line(session, build, abi):
    line = one_line(session.call([build("misuse.c", abi), "send_rank_too_large"]))
    assert re.search(r"rank 0\b.*MPI_Send failed on MPI_COMM_WORLD: MPI_ERR_RANK: ", line), line


def test_a_fatal_error_of_all_ranks_at_once_ends_the_job_with_one_message(run, build, abi):
    line = one_line(run(4, build("misuse.c", abi), ["send_tag_negative"]))
    assert "MPI_ERR_TAG" in line


@pytest.mark.parametrize("when, function", [("before", "MPI_Comm_rank"), ("after", "MPI_Send")])
def test_a_call_outside_of_mpi_is_named(session, run, build, abi, when, function):
    """mpiexec, which such a process does not speak to, adds a line about its exit code."""
    for result in (run(1, build("misuse.c", abi), [when]), session.call([build("misuse.c", abi), when])):
        line = result.err.splitlines()[0]
        assert result.code != 0 and len(result.err.splitlines()) <= 2, result
        assert function in line and {"before": "MPI_Init", "after": "MPI_Finalize"}[when] in line, line


def test_a_call_before_mpi_init_ends_the_job_with_one_line(run, build, abi):
    line = one_line(run(3, build("misuse.c", abi), ["before"]))
    assert re.search(rf"rank \d on host {HOST} .*called before MPI_Init", line), line


def test_an_unsupported_function_is_named(run, build, abi):
    line = one_line(run(1, build("unsupported.c", abi), ["fatal"]))
    assert "MPI_Win_create" in line and "MPI_ERR_UNSUPPORTED_OPERATION" in line and "Hawser" in line, line


ENDS = {
    # how: exit code, words of the message
    "kill": (137, ["rank 1", HOST, "signal 9"]),
    "segv": (139, ["rank 1", HOST, "signal 11"]),
    "exit0": (None, ["rank 1", HOST, "MPI_Finalize"]),
    "exit7": (7, ["rank 1", HOST, "7"]),
    "_exit3": (3, ["rank 1", HOST, "3"]),
    "abort": (5, ["rank 1", HOST, "MPI_Abort", "5"]),
    "abort0": (None, ["rank 1", HOST, "MPI_Abort"]),
}
SCENES = ["receive", "barrier", "sleep", "finalize", "traffic", "reading", "writing", "collective"]


@pytest.mark.parametrize("scene", SCENES)
@pytest.mark.parametrize("how", ENDS)
def test_a_rank_that_ends_badly_ends_the_job_with_one_message(run, build, how, scene):
    """Without a wait for anything else; the others say nothing of their own. No exit code of such a job is 0, but
    MPI_Abort's own."""
    result = run(3, build("ending.c"), [how, scene], timeout=30)
    code, words = ENDS[how]
    assert result.seconds < END_S, result
    if code is None:
        assert result.code != 0 or how == "abort0", result
    else:
        assert result.code == code, result
    lines = result.err.splitlines()
    assert len(lines) == 1 and all(word in lines[0] for word in words), result


@pytest.mark.parametrize("script", ['"$0" segv sleep & p=$!; sleep 1; wait $p', '"$0" segv sleep; true'])
def test_a_crash_behind_a_script_is_no_success(run, build, script):
    """Whether the script passes the end on, or returns 0."""
    result = run(3, "sh", ["-c", script, build("ending.c")], timeout=30)
    # Shells say something of their own.
    (line,) = [line for line in result.err.splitlines() if line.startswith("mpiexec: ")]
    assert result.code != 0 and "rank 1" in line and ("signal 11" in line or "its exit code is not known" in line), line


@pytest.mark.parametrize("step", ["barrier", "bcast", "reduce", "allreduce", "allgather", "scatter"])
@pytest.mark.parametrize("n", [2, 3, 8])
@pytest.mark.parametrize("how", ["kill", "segv"])
def test_a_rank_that_dies_within_a_step_through_flags_ends_the_job(run, build, how, n, step):
    """It has come to the step, and others wait in it or come later."""
    by_flags = {"HAWSER_COLL_ALLGATHER": "host", "HAWSER_COLL_SCATTER": "host"}
    result = run(n, build("ending.c"), [how, f"inside-{step}"], env=by_flags, timeout=30)
    code, words = ENDS[how]
    assert result.code == code and result.seconds < END_S, result
    lines = result.err.splitlines()
    assert len(lines) == 1 and all(word in lines[0] for word in words), result


@pytest.mark.parametrize("how", ["kill", "exit7", "abort"])
def test_a_rank_that_ends_badly_among_many(run, build, abi, how):
    result = run(16, build("ending.c", abi), [how, "barrier"], timeout=30)
    assert len(result.err.splitlines()) == 1 and "rank 1" in result.err, result
    assert result.code == ENDS[how][0] and result.seconds < END_S, result


@pytest.mark.parametrize("call", ["MPI_Abort", "MPI_Finalize", "MPI_Send", "MPI_Irecv", "MPI_Allreduce"])
def test_a_forked_child_that_calls_mpi_ends_the_job_with_one_message(run, build, abi, call):
    """It is no rank: nothing of it reaches the peers but the word of the end."""
    result = run(3, build("forked.c", abi), [call], timeout=30)
    line = one_line(result)
    assert re.search(rf"rank 1 on host {HOST} .*{call}\b.* \(in process \d+, a forked child\)", line), line
    assert result.code == 5 if call == "MPI_Abort" else "called in a child of fork, which is not a rank" in line, result


def masked(text):
    text = re.sub(r"for \d+\.\d s", "for T s", text)
    text = re.sub(r"\(pid \d+\)", "(pid P)", text)
    return text.replace(f"on {HOST}", "on HOST")


def test_a_deadlock_of_three_ranks_is_explained(run, build, abi):
    """By itself after HAWSER_HANG_S (60 s by default), while the job goes on; then the timeout ends it."""
    result = run(3, build("deadlock.c", abi), options=["--timeout", "4"], env={"HAWSER_HANG_S": "2"}, timeout=20)
    assert result.code == 124, result
    ranks = """\
  rank 0 on HOST (pid P): MPI_Recv, waiting for rank 1, tag 7, MPI_COMM_WORLD, for T s
  rank 1 on HOST (pid P): MPI_Wait, waiting for rank 2, any tag, weather, for T s
  rank 2 on HOST (pid P): MPI_Ssend, waiting for rank 0, tag 9, weather, for T s
mpiexec: these ranks wait for each other in a cycle: 0 (MPI_Recv) -> 1 (MPI_Wait) -> 2 (MPI_Ssend) -> 0
"""
    first = "mpiexec: no rank has made progress for 2 s; state of each rank:\n" + ranks
    text = masked(result.err)
    assert text.startswith(first), result
    assert ranks in text[len(first):], result


STUCK = {
    "collective": tuple(f"MPI_Bcast, waiting for rank {peer}, MPI_COMM_WORLD" for peer in (1, 0)),
    "nonblocking": (
        "MPI_Wait of MPI_Ibcast, waiting for rank 1, MPI_COMM_WORLD",
        "MPI_Wait of MPI_Isendrecv, waiting for rank 0, MPI_COMM_WORLD",
    ),
    "several": tuple(
        f"{call}, waiting for rank {peer}, any tag, MPI_COMM_WORLD, 2 requests open"
        for call, peer in (("MPI_Waitany", 1), ("MPI_Waitsome", 0))
    ),
    "flags": (
        "MPI_Allreduce, waiting for rank 1, MPI_COMM_WORLD",
        "MPI_Recv, waiting for rank 0, tag 3, MPI_COMM_WORLD",
    ),
    "rounds": (
        "MPI_Barrier, waiting for rank 1, MPI_COMM_WORLD",
        "MPI_Probe, waiting for rank 0, tag 3, MPI_COMM_WORLD",
    ),
    "buffered": (
        "MPI_Buffer_detach, 2 messages in the buffer",
        "MPI_Recv, waiting for rank 0, tag 7, MPI_COMM_WORLD",
    ),
    "polling": (
        "polling with MPI_Test, waiting for rank 1, tag 3, MPI_COMM_WORLD",
        "polling with MPI_Iprobe, waiting for any rank, tag 5, MPI_COMM_WORLD",
    ),
    "polling several": tuple(
        f"polling with {call}, waiting for rank {peer}, any tag, MPI_COMM_WORLD, 2 requests open"
        for call, peer in (("MPI_Testany", 1), ("MPI_Testsome", 0))
    ),
}


@pytest.mark.parametrize("how", STUCK)
def test_ranks_that_wait_in_any_way_say_for_whom(run, build, abi, how):
    """In a collective, for several requests, by polling: unasked, and when the time is over."""
    result = run(2, build("stuck.c", abi), [how], options=["--timeout", "3"], env={"HAWSER_HANG_S": "1"}, timeout=20)
    lines = "".join(f"  rank {rank} on HOST (pid P): {what}, for T s\n" for rank, what in enumerate(STUCK[how]))
    # A rank that polls may look elsewhere next, and one whose buffered messages are not taken waits for no rank alone.
    if "polling" not in how and how != "buffered":
        calls = [what.split(",")[0] for what in STUCK[how]]
        lines += f"mpiexec: these ranks wait for each other in a cycle: 0 ({calls[0]}) -> 1 ({calls[1]}) -> 0\n"
    head = "mpiexec: no rank has made progress for 1 s; state of each rank:\n"
    assert result.code == 124, result
    assert masked(result.err).startswith(head + lines) and masked(result.err).endswith(lines), result


def test_a_collective_in_its_later_rounds_counts_no_requests(run, build, abi):
    """Rank 4 has had three of four messages of the ring when it waits for the last one."""
    env = {"HAWSER_HANG_S": "1", "HAWSER_COLL_ALLGATHER": "ring"}
    result = run(5, build("stuck.c", abi), ["absent"], options=["--timeout", "3"], env=env, timeout=20)
    lines = [line for line in masked(result.err).splitlines() if line.startswith("  rank")]
    assert result.code == 124 and len(lines) == 10, result
    waits = "MPI_Allgather, waiting for rank %d, MPI_COMM_WORLD, for T s"
    assert all(line.endswith(waits % (rank - 1)) for rank, line in enumerate(lines[:5]) if rank > 0), result


INTER = {
    "rank": (3, "MPI_Send", "MPI_ERR_RANK", "rank 3 is outside 0..=1 of the remote group of intercommunicator #"),
    "lengths": (2, "MPI_Bcast", "MPI_ERR_TRUNCATE",
                "rank 0 of the remote group sent more than the 8 bytes that this rank expects"),
    "in_place": (3, "MPI_Allreduce", "MPI_ERR_BUFFER", "MPI_IN_PLACE is not allowed as the send buffer"),
}


@pytest.mark.parametrize("case", INTER)
def test_misuse_of_an_intercommunicator_names_the_remote_group(run, build, abi, case):
    n, function, error, cause = INTER[case]
    line = one_line(run(n, build("inter_misuse.c", abi), [case]))
    assert re.search(rf"{function} failed on intercommunicator #\d+: {error}: {re.escape(cause)}", line), line


def test_a_deadlock_on_an_intercommunicator_names_ranks_of_the_remote_group(run, build, abi):
    options, env = ["--timeout", "3"], {"HAWSER_HANG_S": "1"}
    result = run(2, build("inter_misuse.c", abi), ["stuck"], options=options, env=env, timeout=20)
    lines = "".join(
        f"  rank {rank} on HOST (pid P): MPI_Recv, waiting for rank {1 - rank} (rank 0 of the remote group), tag 3, "
        "intercommunicator #4, for T s\n"
        for rank in range(2)
    )
    lines += "mpiexec: these ranks wait for each other in a cycle: 0 (MPI_Recv) -> 1 (MPI_Recv) -> 0\n"
    assert result.code == 124 and masked(result.err).endswith(lines), result


@pytest.mark.skipif(not LONG, reason="takes more than a minute: make check-long")
def test_a_deadlock_is_explained_after_a_minute(session, build):
    """As it comes, without parameters; the job goes on until it is ended."""
    job = session.start([session.prefix / "bin/mpiexec", "-n", 3, build("deadlock.c")])
    begin = time.monotonic()
    report = [line_of(job.stderr) for _ in range(5)]
    took = time.monotonic() - begin
    assert report[0] == "mpiexec: no rank has made progress for 60 s; state of each rank:\n"
    assert report[4] == "mpiexec: these ranks wait for each other in a cycle: 0 (MPI_Recv) -> 1 (MPI_Wait) -> 2 (MPI_Ssend) -> 0\n"
    assert took > 59 and job.poll() is None, took
    job.send_signal(signal.SIGTERM)
    job.communicate(timeout=10)


def test_a_stuck_job_tells_when_it_is_asked(session, build):
    """SIGQUIT to mpiexec: a report, and the job goes on."""
    process = session.start([session.prefix / "bin/mpiexec", "-n", 3, build("deadlock.c")])
    time.sleep(1.5)
    process.send_signal(signal.SIGQUIT)
    time.sleep(0.5)
    assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=10)
    assert "these ranks wait for each other in a cycle: 0 (MPI_Recv) -> 1 (MPI_Wait) -> 2 (MPI_Ssend) -> 0" in err, err


def test_a_running_job_shows_its_counters(session, build):
    process = session.start([session.prefix / "bin/mpiexec", "-n", 3, build("deadlock.c")])
    time.sleep(1)
    told = session.call([session.prefix / "bin/hawser-info", "--stats"])
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=10)
    # The duplicate of MPI_COMM_WORLD was agreed on, and rank 2 has sent.
    assert told.code == 0 and re.search(r"rank 2: .*messages sent by rendezvous 1\b", told.out), told


def in_all(result):
    """The counters of all ranks together, as --stats prints them."""
    return next(line for line in result.err.splitlines() if line.startswith("  all ranks: "))


def test_every_message_is_counted_with_its_method(run, build, abi):
    """By whichever way it went, the leanest one included."""
    lengths = re.search(r"lengths\[\] = \{(.*?)\}", (SOURCES / "p2p_sizes.c").read_text(), re.DOTALL)[1]
    lengths = eval(f"[{lengths}]", {"KI": 1 << 10, "MI": 1 << 20, "LARGEST": 9 << 20})
    result = run(2, build("p2p_sizes.c", abi), options=["--stats"])
    assert result.code == 0, result
    total = in_all(result)

    def counted(what):
        found = re.search(rf"\b{re.escape(what)} (\d+)", total)
        return int(found[1]) if found else 0

    # Each rank sends each length three times, and three empty messages beside them.
    assert counted("bytes sent") == 2 * 3 * sum(lengths), total
    methods = ["sent eagerly", "streamed eagerly", "sent in reply to an RTR", "sent by rendezvous"]
    assert sum(counted(f"messages {method}") for method in methods) == 2 * 6 * len(lengths), total


def test_a_former_name_of_a_counter_is_found_and_reported_once(run, build, abi):
    result = run(1, build("tool_former_names.c", abi))
    assert result.code == 0 and result.out == "", result
    [line] = result.err.splitlines()
    assert "messages_pushed_in_pieces is now called messages_streamed_eagerly" in line, result


def test_nobody_asks_for_a_receive_that_was_offered(run, build, abi):
    """The offer lies in the sender's ring, though nothing has made it look there."""
    result = run(2, build("p2p_offered.c", abi), options=["--stats"], env={"HAWSER_PROCESS_VM_FROM": "1g"})
    total = in_all(result)
    assert result.code == 0 and "messages sent in reply to an RTR 50," in total, result
    assert "rendezvous" not in total, total


@pytest.mark.parametrize("case", ["posted", "unexpected"])
def test_nobody_asks_for_want_of_room(run, build, abi, case):
    """With credit for all of them, messages that find their ring full wait for their turn and stay one packet each."""
    result = run(2, build("p2p_outstanding.c", abi), [case], options=["--stats"], env={"HAWSER_WINDOW": "16m"})
    total = in_all(result)
    assert result.code == 0 and "messages that waited for the device" in total and "rendezvous" not in total, result


def test_kills_at_random_moments_leave_nothing(session, build, abi):
    """Ranks, the agent and mpiexec in turn, from their start on. Whatever dies, the job ends by itself."""
    program = build("endless.c", abi)
    seed = os.environ.get("HAWSER_TEST_SEED", "20261122")
    dice = random.Random(f"{seed} {abi}")
    before = session.snapshot()
    ends = collections.Counter()
    for turn in range(KILLS):
        started = session.start([session.prefix / "bin/mpiexec", "-n", 3, program])
        if turn % 2:
            assert line_of(started.stdout) == "all are there\n", started.communicate()
        time.sleep(dice.random() * 0.08)
        agent = session.children(started.pid)
        ranks = [rank for pid in agent for rank in session.children(pid, program)]
        victims = {"mpiexec": [started.pid], "agent": agent, "rank": ranks}
        who = ["rank", "mpiexec", "agent"][turn % 3]
        # Before there is an agent or a rank it is mpiexec's turn.
        victim, who = (dice.choice(victims[who]), who) if victims[who] else (started.pid, "mpiexec")
        how = dice.choice([signal.SIGKILL, signal.SIGHUP, signal.SIGTERM])
        if who == "rank" and how == signal.SIGHUP:
            how = signal.SIGKILL  # they ignore it
        try:
            os.kill(victim, how)
        except ProcessLookupError:
            started.send_signal(signal.SIGTERM)
        begin = time.monotonic()
        _, err = started.communicate(timeout=20)
        what = f"turn {turn} of seed {seed}: {who} by {how.name}: {err}"
        assert started.returncode != 0 and time.monotonic() - begin < END_S, what
        # Who dies of it itself, by SIGKILL or before there is a handler, says nothing.
        assert len(err.splitlines()) == (0 if started.returncode == -how else 1), what
        session.check_clean(before)
        ends[who, how.name] += 1
    assert {who for who, _ in ends} == {"rank", "mpiexec", "agent"}, ends


def test_no_file_is_left_under_any_name(session, build):
    """A user that nobody else is runs jobs which end in all ways; afterwards no file of that user's is there."""
    if os.getuid():
        pytest.skip("a user of one's own needs root")
    user = 1_000_000_000 + os.getpid()
    session.scratch.chmod(0o755)
    wrapper = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]
    mpiexec = session.prefix / "bin/mpiexec"
    if session.call([*wrapper, "test", "-x", mpiexec]).code:
        pytest.skip(f"{session.prefix} cannot be read by other users")
    env = {"TMPDIR": "/tmp", "HOME": "/nonexistent"}
    assert session.call([*wrapper, mpiexec, "-n", 3, build("traffic.c")], env).code == 0
    assert session.call([*wrapper, mpiexec, "-n", 3, build("ending.c"), "kill", "barrier"], env).code == 137
    for how in (signal.SIGKILL, signal.SIGTERM):
        job = session.start([*wrapper, mpiexec, "-n", 3, build("endless.c")], env)
        assert line_of(job.stdout) == "all are there\n"
        job.send_signal(how)
        job.communicate(timeout=10)
    places = ["/tmp", "/var/tmp", "/dev/shm", "/dev/mqueue", "/run"]
    found = session.call(["find", *filter(os.path.isdir, places), "-uid", user]).out
    assert found == "", found


ALIKE = "All members must call the same collectives in the same order, with matching arguments (MPI-5.0 §6.2; checked because " \
        "HAWSER_CHECK is set)"
# A case of tests/c/check.c: the function that fails on some rank, and who called what.
DIFFER = {
    "function": ("MPI_B(arrier|cast)", "ranks 0, 2-3 called MPI_Bcast (root 0, 4 bytes); rank 1 called MPI_Barrier"),
    "root": ("MPI_Bcast", "ranks 0, 2-3 called MPI_Bcast (root 0, 4 bytes); rank 1 called MPI_Bcast (root 1, 4 bytes)"),
    "empty": ("MPI_Bcast", "rank 0 called MPI_Bcast (root 0, 0 bytes); ranks 1-3 called MPI_Bcast (root 0, 4 bytes)"),
    "op": ("MPI_Allreduce", "ranks 0-1 called MPI_Allreduce (1 MPI_INT, MPI_SUM); ranks 2-3 called MPI_Allreduce (1 MPI_INT, MPI_MAX)"),
    "count": ("MPI_Reduce", "ranks 0, 2-3 called MPI_Reduce (root 2, 3 MPI_INT, MPI_SUM); rank 1 called MPI_Reduce (root 2, 4 MPI_INT, MPI_SUM)"),
    "type": ("MPI_Scan", "ranks 0-2 called MPI_Scan (1 MPI_INT, MPI_SUM); rank 3 called MPI_Scan (1 MPI_FLOAT, MPI_SUM)"),
    "block": ("MPI_Gather", "ranks 0-2 called MPI_Gather (root 0, blocks of 8 bytes); rank 3 called MPI_Gather (root 0, blocks of 4 bytes)"),
    "nonblocking": ("MPI_Wait", "rank 0 called MPI_Ibcast (root 1, 4 bytes); ranks 1-3 called MPI_Ibcast (root 0, 4 bytes)"),
    "mixed": ("MPI_(Wait|Barrier)", "rank 0 called MPI_Ibarrier; ranks 1-3 called MPI_Barrier"),
    "persistent": ("MPI_Wait", "ranks 0-2 called MPI_Allreduce_init (1 MPI_INT, MPI_SUM); rank 3 called MPI_Allreduce_init (1 MPI_INT, MPI_PROD)"),
    "alltoallv": ("MPI_Alltoallv", "rank 2 sends 16 bytes to rank 3, which expects 8"),
    "gatherv": ("MPI_Gatherv", "rank 3 sends 4 bytes to rank 1, which expects 16"),
    "scatterv": ("MPI_Wait", "rank 2 sends 4 bytes to rank 0, which expects 8"),
    "allgatherv": ("MPI_Allgatherv", "ranks 0-1, 3 called MPI_Allgatherv (blocks of 4+8+12+16 bytes); rank 2 called MPI_Allgatherv (blocks of 4+8+12+20 bytes)"),
    "inter_root": ("MPI_Bcast", "rank 0 of MPI_COMM_WORLD called MPI_Bcast (root rank 1 of MPI_COMM_WORLD, 8 bytes); rank 2 of MPI_COMM_WORLD "
                   "called MPI_Bcast (root rank 2 of MPI_COMM_WORLD, 8 bytes)"),
    "inter_function": ("MPI_(Allgather|Barrier)", "ranks 0-1, 3 of MPI_COMM_WORLD called MPI_Allgather (blocks of 4 and 4 bytes); rank 2 of "
                       "MPI_COMM_WORLD called MPI_Barrier"),
    "inter_block": ("MPI_Alltoall", "ranks 0-2 of MPI_COMM_WORLD called MPI_Alltoall (blocks of 4 and 8 bytes); rank 3 of MPI_COMM_WORLD called "
                    "MPI_Alltoall (blocks of 8 and 8 bytes)"),
    "inter_v": ("MPI_Alltoallv", "rank 0 of MPI_COMM_WORLD sends 8 bytes to rank 3 of MPI_COMM_WORLD, which expects 4; rank 3 of MPI_COMM_WORLD "
                "sends 4 bytes to rank 0 of MPI_COMM_WORLD, which expects 8"),
    "dup": ("MPI_(Comm_dup|Barrier)", "ranks 0-1, 3 called MPI_Comm_dup; rank 2 called MPI_Barrier"),
    "finalize": ("MPI_(Finalize|Barrier)", "ranks 0, 2-3 called MPI_Finalize; rank 1 called MPI_Barrier"),
}


@pytest.mark.parametrize("case", DIFFER)
def test_members_that_call_different_collectives_are_told_who_called_what(run, build, abi, case):
    """In one message, before any of them has begun."""
    function, calls = DIFFER[case]
    line = one_line(run(4, build("check.c", abi), [case], env={"HAWSER_CHECK": "1"}, timeout=30))
    on, name = r" failed(?: on (?:MPI_COMM_WORLD|bridge))?: MPI_ERR_ARG: ", r"(MPI_\w+: )?"
    assert re.search(rf"rank \d on host {HOST} .*: {function}{on}{name}{re.escape(calls)}\. {re.escape(ALIKE)}$", line), line


def test_what_was_not_freed_is_listed(run, build, abi):
    """On each rank, with names where there are some; a program that frees everything is told nothing."""
    result = run(2, build("check.c", abi), ["leaks"], env={"HAWSER_CHECK": "1"}, timeout=30)
    left = "3 requests (a receive from rank {0}, tag 7, MPI_COMM_WORLD; a collective, MPI_COMM_WORLD, complete; a persistent " \
           "send to rank {0}, tag 8, weather), 1 communicator (weather), 3 datatypes (cell; 2 more), 1 group, 1 operation, " \
           "1 info object, 1 error handler"
    lines = [f"hawser: rank {rank} called MPI_Finalize without freeing {left.format(1 - rank)} (HAWSER_CHECK)" for rank in (0, 1)]
    assert result.code == 0 and sorted(result.err.splitlines()) == lines, result
    assert run(2, build("check.c", abi), ["leaks"], timeout=30).err == ""


@pytest.mark.parametrize("program", ["coll_alltoall", "coll_bcast", "coll_comms", "coll_gather", "coll_inter", "coll_reduce"])
def test_a_program_without_misuse_is_told_nothing(run, build, abi, program):
    for n in (1, 3, 4):
        result = run(n, build(f"{program}.c", abi), env={"HAWSER_CHECK": "1"}, timeout=90)
        assert result.code == 0 and result.out == "" and result.err == "", result
