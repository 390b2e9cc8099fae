"""Progress while a program computes (HAWSER_PROGRESS, tests/c/progress.c): on one host and between hosts, under both ABIs; and that
programs of all kinds are right beside the thread that makes it."""

import re

import pytest
from harness import SOURCES, directives
from test_ethernet import PORTS, finished

ON = {"HAWSER_PROGRESS": "on"}
# How many ranks a case is run with.
CASES = {"send": [2], "persistent": [2], "exchange": [2, 4], "bcast": [4, 5], "allreduce": [2, 3], "beside": [2], "threads": [2, 3],
         "function": [3]}


@pytest.fixture
def word(tmp_path):
    """A file that all ranks map."""
    file = tmp_path / "word"
    file.write_bytes(bytes(4096))
    return file


@pytest.mark.parametrize("case, n", [(case, n) for case, all in CASES.items() for n in all])
def test_what_is_under_way_arrives_while_all_compute(run, build, abi, word, case, n):
    result = run(n, build("progress.c", abi), [word, case], env=ON, timeout=90)
    assert (result.code, result.out, result.err) == (0, "", ""), result


def test_what_goes_on_without_a_word_from_others_goes_on_while_all_compute(run, build, word):
    """One of 60 runs stood still: what the call itself had moved last made more ready, for which nobody rings."""
    for _ in range(60):
        word.write_bytes(bytes(4096))
        result = run(4, build("progress.c"), [word, "bcast"], env=ON, timeout=30)
        assert (result.code, result.out, result.err) == (0, "", ""), result


@pytest.mark.parametrize("port", ["", *PORTS])
@pytest.mark.parametrize("case", CASES)
def test_the_same_between_hosts(make, build, word, case, port):
    lab = make(hosts=2)
    ppn = "1" if case in ("send", "persistent", "beside") else "2"
    finished(lab, "-ppn", ppn, build("progress.c"), word, case, env=ON | ({"HAWSER_PORT": port} if port else {}))


def test_the_same_while_frames_are_lost(make, build, word):
    """What was lost goes again by timers, which nobody but the helper looks at."""
    lab = make(hosts=2, loss=0.02)
    finished(lab, "-ppn", "1", build("progress.c"), word, "send", env=ON)


@pytest.mark.parametrize("value", [None, "off", "auto"])
def test_without_it_there_is_no_thread(run, build, abi, word, value):
    """Two ranks on the cores of one have no core to spare: auto is off there."""
    env = {} if value is None else {"HAWSER_PROGRESS": value}
    n = 2 if value != "auto" else 64
    result = run(n, build("progress.c", abi), [word, "off"], env=env)
    assert (result.code, result.out, result.err) == (0, "", ""), result


def test_a_wrong_value_is_refused(run, build, word):
    result = run(1, build("progress.c"), [word, "off"], env={"HAWSER_PROGRESS": "perhaps"})
    assert result.code != 0 and "HAWSER_PROGRESS=perhaps is not one of off, auto, on" in result.err, result


def test_wake_ups_of_the_progress_thread_are_counted(run, build, word):
    result = run(2, build("progress.c"), [word, "send"], options=["--stats"], env=ON)
    found = re.search(r"all ranks:.* wake-ups of the progress thread (\d+)", result.err)
    assert result.code == 0 and found and int(found[1]) >= 2, result


BESIDE = ["p2p_completion.c", "p2p_many.c", "p2p_cancel.c", "p2p_bsend.c", "p2p_partitioned.c", "p2p_isendrecv.c",
          "nb_flags.c", "nb_many.c", "nb_order.c", "nb_persistent.c", "nb_threads.c", "comm_idup.c", "grequest.c", "coll_threads.c"]


# Asks that a receive is still under way when everything has come but nobody has called MPI.
NOT_BESIDE = [("p2p_partitioned.c", "early")]


def runs():
    for name in BESIDE:
        ranks, cases = directives(SOURCES / name)
        for case in cases or [None]:
            if (name, case) not in NOT_BESIDE:
                yield pytest.param(name, max(ranks), case, id=f"{name[:-2]}-{case}")


@pytest.mark.parametrize("source, n, case", list(runs()))
def test_programs_are_right_beside_it(build, run, abi, source, n, case):
    result = run(n, build(source, abi), [case] if case else [], env=ON, timeout=90)
    assert (result.code, result.out, result.err) == (0, "", ""), result


@pytest.mark.parametrize("source", ["coll_reduce.c", "coll_gather.c", "coll_alltoall.c"])
def test_nonblocking_collectives_are_right_beside_it(build, run, abi, source):
    result = run(4, build(source, abi, "-DWAY=1"), env=ON, timeout=90)
    assert (result.code, result.out, result.err) == (0, "", ""), result


@pytest.mark.parametrize("case", ["alone", "again", "beside", "threads", "subsets"])
def test_sessions_begin_and_end_it(build, run, abi, case):
    result = run(4, build("sessions.c", abi), [case], env=ON)
    assert (result.code, result.out, result.err) == (0, "", ""), result
