"""Terms that all ranks of a job must share, on one host and between hosts, and parameters in which ranks may differ."""

import re
import shutil
import socket

import pytest
from harness import GRACE_OF_LABS_S
from test_ethernet import finished
from test_hosts import mpiexec, programs

HOST = socket.gethostname()

# A parameter in which two ranks must not differ, how one of them sets it, and what is said of the two.
UNLIKE = [
    ("HAWSER_WINDOW", "2m", "2097152", "not set"),
    ("HAWSER_EAGER", "32k", "32768", "not set"),
    ("HAWSER_PACKET", "8k", "8192", "16384"),
    ("HAWSER_CHECK", "on", "1", "0"),
    ("HAWSER_COLL_BARRIER", "dissemination", "dissemination", "auto"),
]
# Parameters in which they may, with values for four ranks.
MIXED = {
    "HAWSER_DEVICES": ["shm,ether", "", "ether,shm", ""],
    "HAWSER_PORT": ["udp", "packet,udp", "", "udp,stream"],
    "HAWSER_RAILS": ["", "eth0", "eth0,eth1", ""],
    "HAWSER_PORT_RANGE": ["40000-40099", "", "", "41000-41099"],
    "HAWSER_CRC": ["on", "off", "auto", "on"],
    "HAWSER_TCP_CONGESTION": ["reno", "system", "auto", ""],
    "HAWSER_PROGRESS": ["on", "off", "auto", "on"],
    "HAWSER_SPIN": ["0", "1", "1000", "5"],
    "HAWSER_YIELD": ["0", "", "3", "256"],
    "HAWSER_FIRST": ["1k", "8k", "2k", "16k"],
    "HAWSER_RTR": ["on", "off", "off", "on"],
    "HAWSER_OFFER_FROM": ["0", "1k", "100k", "0"],
    "HAWSER_JOIN": ["0", "", "1k", "0"],
    "HAWSER_PIECE": ["2k", "32k", "", "8k"],
    "HAWSER_STRING_COPIES": ["auto", "on", "off", ""],
    "HAWSER_PROCESS_VM_FROM": ["", "0", "1m", "64k"],
}


def told(name, first, second, places):
    """The one line about two ranks, the lower one first."""
    return f"mpiexec: {name} is {first} for {places[0]} and {second} for {places[1]}; set it to the same value " \
           f"on all ranks (mpiexec -genv {name} VALUE)\n"


@pytest.mark.parametrize("name, value, said, default", UNLIKE)
def test_two_ranks_of_a_host_are_told_which_term_they_do_not_share(session, build, abi, name, value, said, default):
    program = build("hello.c", abi)
    ran = session.call([session.prefix / "bin/mpiexec", "-n", 1, "-env", name, value, program, ":", "-n", 1, program])
    places = [f"rank {rank} on host {HOST}" for rank in (0, 1)]
    assert (ran.code, ran.out, ran.err) == (1, "", told(name, said, default, places)), ran


@pytest.mark.parametrize("name, value, said, default", UNLIKE)
def test_two_hosts_are_told_which_term_they_do_not_share(make, build, name, value, said, default):
    """The ranks of each host share it; one of them, which computes before MPI_Init, is not waited for."""
    lab, program = make(hosts=2), build("hello.c")
    late = ["sh", "-c", f"[ $HAWSER_RANK = 3 ] && sleep 1000; exec {program}"]
    with mpiexec(lab, "-ppn", "2", "-n", "2", program, ":", "-n", "2", "-env", name, value, *late) as job:
        out, err = job.communicate(timeout=GRACE_OF_LABS_S)
    first, second = (re.escape(text) for text in (default, said))
    places = "for rank [01] on host node0", "for rank 2 on host node1"
    pattern = rf"mpiexec: {name} is {first} {places[0]} and {second} {places[1]}; set it to the same value on all ranks"
    assert (job.returncode, out, err.count("\n")) == (1, "", 1) and re.match(pattern, err), err
    assert programs(lab) == {}


def test_a_rank_that_differs_from_the_others_of_its_host_and_from_other_hosts_is_told_once(make, build):
    """By the agent or by mpiexec: whoever hears of it first."""
    lab, program = make(hosts=3), build("hello.c")
    with mpiexec(lab, "-ppn", "2", "-n", "5", program, ":", "-n", "1", "-env", "HAWSER_EAGER", "32k", program) as job:
        out, err = job.communicate(timeout=GRACE_OF_LABS_S)
    pattern = r"mpiexec: HAWSER_EAGER is not set for rank [0-4] on host node[0-2] and 32768 for rank 5 on host node2; "
    assert (job.returncode, out, err.count("\n")) == (1, "", 1) and re.match(pattern, err), err
    assert programs(lab) == {}


def test_all_terms_that_two_ranks_do_not_share_are_told_in_one_line(session, build):
    program = build("hello.c")
    apart = ["-n", 1, "-env", "HAWSER_WINDOW", "2m", "-env", "HAWSER_CHECK", "1", program, ":", "-n", 1, program]
    ran = session.call([session.prefix / "bin/mpiexec", *apart])
    assert ran.code == 1 and ran.err.count("\n") == 1, ran
    assert "HAWSER_CHECK is 1 for rank 0" in ran.err, ran
    assert ", HAWSER_WINDOW is 2097152 and not set; set each to the same value on all ranks" in ran.err, ran


def test_terms_that_are_written_in_other_ways_are_the_same(session, build):
    values = [("2m", "on"), ("2097152", "1")]
    words = [["-env", "HAWSER_WINDOW", window, "-env", "HAWSER_CHECK", check] for window, check in values]
    program = build("hello.c")
    ran = session.call([session.prefix / "bin/mpiexec", "-n", 1, *words[0], program, ":", "-n", 1, *words[1], program])
    assert (ran.code, ran.err) == (0, ""), ran


def another_build(session, folder):
    """The libraries of another build: all is the same but the number that names it."""
    for library in (session.prefix / "lib").glob("lib*.so*"):
        if library.is_symlink():
            (folder / library.name).symlink_to(library.readlink())
            continue
        bytes_ = shutil.copy(library, folder / library.name).read_bytes()
        # The libraries for Fortran call these, and name no build of their own.
        if library.name.startswith("libmpifort"):
            continue
        changed, count = re.subn(rb"(\d\.\d+\.\d+) \(build [0-9a-f]{8}\)", rb"\1 (build 0badcafe)", bytes_)
        assert count == 1, f"{library} names its build {count} times"
        (folder / library.name).write_bytes(changed)


@pytest.mark.parametrize("abi", ["mpich", "std"])
def test_a_library_of_another_build_is_refused_with_both_builds(session, make, build, tmp_path, abi):
    """On the same host and on another one."""
    another_build(session, tmp_path)
    program = build("hello.c", abi)
    there = ["env", f"LD_LIBRARY_PATH={tmp_path}", program]
    told = r"mpiexec: rank 0 on host {} runs Hawser \S+ \(build \w{{8}}\), and rank 1 on host {} runs Hawser \S+ " \
           r"\(build 0badcafe\); all ranks must load the same library \(install it on all hosts, and check " \
           r"LD_LIBRARY_PATH\)\n$"
    ran = session.call([session.prefix / "bin/mpiexec", "-n", 1, program, ":", "-n", 1, *there])
    assert ran.code == 1 and ran.out == "" and re.match(told.format(HOST, HOST), ran.err), ran
    lab = make(hosts=2)
    with mpiexec(lab, "-n", "1", program, ":", "-n", "1", *there) as job:
        _, err = job.communicate(timeout=GRACE_OF_LABS_S)
    assert job.returncode == 1 and re.match(told.format("node0", "node1"), err), err
    assert programs(lab) == {}


def test_ranks_may_differ_in_all_other_parameters(make, build):
    """Two hosts of two ranks, in all of them at once."""
    lab, words = make(hosts=2, nics=2), []
    for rank in range(4):
        settings = [word for name, values in MIXED.items() if values[rank] for word in ("-env", name, values[rank])]
        words += [":"] * bool(rank) + ["-n", "1", *settings, build("random.c"), "11", "40"]
    finished(lab, "-ppn", "2", *words)


def test_programs_of_both_abis_share_their_terms(session, build):
    """One build of Hawser has two libraries."""
    programs = [["-n", 1, build("hello.c", abi)] for abi in ("mpich", "std")]
    ran = session.call([session.prefix / "bin/mpiexec", *programs[0], ":", *programs[1]])
    assert (ran.code, ran.err) == (0, ""), ran
