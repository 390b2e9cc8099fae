"""The C programs of tests/c, each under both ABIs with every number of ranks that it asks for.

Collectives (coll_*.c) that ask for none run with 1, 2, 3, 4, 5 and 8 ranks.
"""

import os
import re

import pytest
from harness import LONG, SOURCES, directives

COLLECTIVE_RANKS = [1, 2, 3, 4, 5, 8]


def runs():
    for source in sorted(SOURCES.glob("*.c")):
        ranks, cases = directives(source)
        if source.name.startswith("coll_"):
            ranks = ranks or COLLECTIVE_RANKS
        for n in ranks:
            for case in cases or [None]:
                yield pytest.param(source.name, n, case, id="-".join([source.stem, *([case] if case else []), str(n)]))


@pytest.mark.parametrize("source, n, case", list(runs()))
def test_program(build, run, abi, source, n, case):
    result = run(n, build(source, abi), [case] if case else [], timeout=90)
    assert result.code == 0 and result.out == "" and result.err == "", result


WAYS = {"nonblocking": "-DWAY=1", "persistent": "-DWAY=2"}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("source, n, case", [run for run in runs() if "coll_" in run.id])
def test_program_of_collectives_in_another_form(build, run, abi, source, n, case, way):
    """The same, each collective as a nonblocking call or a persistent one (tests/c/ways.h)."""
    result = run(n, build(source, abi, WAYS[way]), [case] if case else [], timeout=90)
    assert result.code == 0 and result.out == "" and result.err == "", result


TOLD = {"coll_gather.c": ["HAWSER_COLL_GATHER=binomial", "HAWSER_COLL_SCATTER=binomial"],
        "coll_alltoall.c": ["HAWSER_COLL_ALLTOALL=bruck"], "coll_truncate.c": ["HAWSER_COLL_ALLTOALL=bruck"]}


@pytest.mark.parametrize("way", ["", *WAYS])
@pytest.mark.parametrize("source", TOLD)
def test_lengths_are_told_to_those_who_pass_blocks_on(build, run, abi, source, way):
    """Where only the two ends of a block know how long it is: MPI_Gatherv, MPI_Scatterv, MPI_Alltoallv, -w. (coll_truncate.c: they do not
    agree on it.)"""
    program = build(source, abi, *WAYS.get(way, "").split())
    result = run(4 if "truncate" in source else 8, program, env=dict(word.split("=") for word in TOLD[source]), timeout=90)
    assert result.code == 0 and result.out == "" and result.err == "", result


@pytest.mark.parametrize("join", ["", "0"])
def test_sends_that_a_full_ring_had_no_space_for_leave_with_later_ones(build, run, abi, tmp_path, join):
    """Rank 0 makes no other call of MPI. (Between hosts: tests/test_ethernet.py.)"""
    result = run(2, build("computing_sender.c", abi), ["4000", "burst", str(tmp_path / "all")], env={"HAWSER_JOIN": join}, timeout=90)
    assert result.code == 0 and result.out == "" and result.err == "", result


def contended(result):
    assert result.code == 0 and "all ranks: messages sent" in result.err, result
    found = re.search(r"all ranks:.* contended lane locks (\d+)", result.err)
    return int(found[1]) if found else 0


def test_two_threads_on_two_communicators_never_contend_for_a_lock(build, run, abi):
    """But where one stayed away for 20 ms, on a loaded machine, and comes back while the other looks after its lane:
    one run of three has none. Four on one communicator contend sooner or later, and that is counted."""
    apart = build("threads_apart.c", abi)
    assert any(contended(run(2, apart, options=["--stats"])) == 0 for _ in range(3))
    shared = build("threads.c", abi)
    assert any(contended(run(2, shared, ["shared"], options=["--stats"])) for _ in range(20))


def test_communicators_that_were_freed_without_a_collective_give_their_flags_back(run, build, abi):
    result = run(2, build("comm_flags.c", abi), options=["--stats"])
    steps = re.search(r"all ranks:.* collective steps by flags (\d+)", result.err)
    assert result.code == 0 and steps and int(steps[1]) >= 2 * 20000, result


def test_ranks_that_poll_give_their_cores_to_each_other(run, build, abi):
    """Otherwise it takes minutes."""
    result = run(min(4 * (os.cpu_count() or 1), 16), build("test_loops.c", abi), timeout=90)
    assert (result.code, result.out, result.err) == (0, "", ""), result


def test_communicators_freed_with_collectives_under_way_give_their_flags_back(run, build, abi):
    """Of the 1,400 collectives, on 700 communicators, most have one step by flags, on more blocks than there are."""
    result = run(2, build("nb_flags.c", abi), ["freed"], options=["--stats"])
    steps = re.search(r"all ranks:.* collective steps by flags (\d+)", result.err)
    assert result.code == 0 and steps and int(steps[1]) >= 2 * 1400, result


@pytest.mark.parametrize("case", ["mapped", "unmapped"])
def test_memory_of_alloc_mem_is_copied_once(build, run, abi, case):
    """As many messages as the program sends from such memory are read, all others into it are written."""
    result = run(2, build("alloc_mem.c", abi), [case], options=["--stats"], timeout=90)
    assert result.code == 0, result
    counts = {}
    for rank, line in re.findall(r"rank (\d): (.*)", result.out + result.err):
        counts[int(rank)] = [int((re.search(rf"messages {method} (\d+)", line) or [0, 0])[1])
                             for method in ("read from the sender's memory", "written to the receive buffer")]
    assert sorted(counts) == [0, 1], result
    for rank, (read, _) in counts.items():
        # The receiver counts what it reads, the sender what it writes: these two are the messages to `rank`.
        written = counts[1 - rank][1]
        # Private memory may be read too, where process_vm_readv is faster than copies.
        if case == "mapped":
            assert read >= 106 and written > 0 and read + written >= 155, result
        else:
            assert written == 0, result


@pytest.mark.parametrize("n", [2, 3, 5, 8])
def test_reductions_have_the_same_bits_from_run_to_run(build, run, abi, n):
    """Whoever comes first, and whatever else is under way."""
    program = build("bits.c", abi)
    runs = [run(n, program, [seed]) for seed in ("1", "2", "3")]
    assert all(result.code == 0 and result.err == "" for result in runs), runs
    assert runs[0].out.count("\n") == 40 and len({result.out for result in runs}) == 1, runs


OF_LARGE_MEMORY = ["messages", "sendrecv", "gaps", "bcast", "allreduce", "allgather", "pack", "reduce_local", "buffered",
                   "partitioned"]


@pytest.mark.timeout(300)
@pytest.mark.skipif(not LONG, reason="takes minutes and 9 GB: make check-long")
@pytest.mark.parametrize("case", OF_LARGE_MEMORY)
def test_more_than_2_31_elements(build, run, abi, case):
    result = run(2, build("large_memory.c", abi), [case], timeout=280)
    assert result.code == 0 and result.out == "" and result.err == "", result
