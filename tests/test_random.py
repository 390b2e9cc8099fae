"""The random tester (tests/random_tester): programs drawn by seeds, on one host and between hosts by every port, under
both ABIs; faults that are planted are found; a program that fails is made short.

HAWSER_RANDOM_SEEDS=100000: so many more (`make check-long`), from HAWSER_RANDOM_FIRST on. By hand: `mpiexec -n 4
random-tester --seeds FIRST COUNT`."""

import os
import re
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from harness import GRACE_OF_LABS_S, HERE
from random_tester.shorten import Program, printed, shorten
from test_ethernet import ALL_PORTS, without_xdp_nothing_is_tested_of_it  # noqa: F401: a fixture
from test_hosts import mpiexec

FOLDER = HERE / "random_tester"
RANKS = [2, 3, 4, 5]
# Each of the eight runs of one host has seeds of its own, 512 together.
SEEDS = 64
# Of the long run: all of them, the first one, those of one job.
MORE_SEEDS = int(os.environ.get("HAWSER_RANDOM_SEEDS", 0))
MORE_FIRST = int(os.environ.get("HAWSER_RANDOM_FIRST", 10_001))
PART = 500
# Of each number of ranks.
LAB_SEEDS = 5
FAULT_SEEDS = 200
# What the tester itself finds wrong; not that a call returns an error, or has no end.
BYTES, COUNTS = r"byte -?\d+ behind", r"the count of a message|a message has -?\d+ elements|a probe said"
ONE_TOO_MANY = r"a message too many|a receive of source \S+, tag \S+ got"
FAULTS = {
    "extent": r"the (true )?(lower bound|extent) of t\d+ is",
    "hidden": BYTES,
    "offset": BYTES,
    "order": f"{BYTES}|{COUNTS}",
    "truncation": f"{BYTES}|{COUNTS}",
    "lost": None,
    "doubled": f"{BYTES}|{COUNTS}|{ONE_TOO_MANY}",
}


@pytest.fixture
def tester(build):
    """tester(abi): the program."""
    others = [str(path) for path in sorted(FOLDER.glob("*.c")) if path.name != "main.c"]
    return lambda abi: build("../random_tester/main.c", abi, *others, name=f"random-tester.{abi}")


def explained(command, said, ranks, env, budget_s=180):
    """What failed, and the shortest program that still does. The command runs it on {n} ranks."""
    found = re.search(r"^seed (\d+), ", said, re.MULTILINE)
    if not found:
        return said
    shorter = Program(command, int(found[1]), ranks, timeout=30, budget=budget_s, env=env)
    return f"{said}\n{printed(shorter) if shorten(shorter) else 'It did not fail again.'}"


def explained_here(session, program, said, ranks):
    return explained([session.prefix / "bin/mpiexec", "-n", "{n}", program], said, ranks, session.environment())


def first_of(abi, n, seeds):
    return 1 + (["mpich", "std"].index(abi) * len(RANKS) + RANKS.index(n)) * seeds


@pytest.mark.timeout(600)
@pytest.mark.parametrize("n", RANKS)
def test_seeds_of_one_host(session, run, tester, abi, n):
    program = tester(abi)
    result = run(n, program, ["--seeds", first_of(abi, n, SEEDS), SEEDS], timeout=120)
    assert (result.code, result.out, result.err) == (0, "", ""), explained_here(session, program, result.err, n)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("port", ALL_PORTS)
def test_seeds_between_hosts(make, tester, abi, port):
    """Each number of ranks, of which a half (or one more) are on the first host, with seeds of its own."""
    lab, program = make(hosts=2), tester(abi)
    for n in RANKS:
        words = ["-ppn", str((n + 1) // 2), "-genv", "HAWSER_PORT", port, str(program)]
        first = first_of(abi, n, LAB_SEEDS)
        with mpiexec(lab, "-timeout", "100", "-n", str(n), *words, "--seeds", str(first), str(LAB_SEEDS)) as job:
            out, err = job.communicate(timeout=GRACE_OF_LABS_S + 100)
        if (job.returncode, out, err) != (0, "", ""):
            pytest.fail(f"{port}, {n} ranks: exit code {job.returncode}\n{out}{between_hosts(lab, words, err, n)}")


def between_hosts(lab, words, said, ranks, budget_s=180):
    """What failed in a lab, made short there."""
    names = ",".join(host.name for host in lab.hosts)
    command = lab.hosts[0].words(["mpiexec", "-launcher-exec", "lab-rsh", "-hosts", names, "-n", "{n}", *words])
    return explained(command, said, ranks, lab.environment, budget_s)


def test_a_program_that_fails_between_hosts_is_made_short(make, build, tester):
    lab, library = make(hosts=2), build("random_planted.c", "mpich", "-shared", "-fPIC")
    words = ["-ppn", "2", "-genv", "LD_PRELOAD", str(library), "-genv", "RANDOM_FAULT", "hidden", str(tester("mpich"))]
    told = between_hosts(lab, words, "seed 1, 3 ranks: fails", 3, budget_s=4)
    assert "MPI_Type_commit(" in told and re.search(f"{BYTES}.*It is repeated by: ", told, re.DOTALL), told


def seed_that_fails(run, program, options, first):
    """The first seed from this one on that fails, and what was said of it."""
    seeds = ["--seeds", first, FAULT_SEEDS - first + 1, "--patience", 4]
    result = run(3, program, seeds, options, timeout=100)
    found = re.search(r"^seed (\d+), 3 ranks: operation \d+ (fails|has no end) at rank \d", result.err, re.MULTILINE)
    assert result.code != 0 and found and first <= int(found[1]) <= FAULT_SEEDS, result
    return int(found[1]), result.err


@pytest.mark.timeout(300)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(run, build, tester, abi, fault):
    """By what the tester compares: a program in which the fault makes a call fail or hang first is passed over. A
    message that is lost can only be waited for in vain."""
    library, program = build("random_planted.c", abi, "-shared", "-fPIC"), tester(abi)
    options = ["-genv", "LD_PRELOAD", library, "-genv", "RANDOM_FAULT", fault]
    told = rf"fails at rank \d+: [^\n]*({FAULTS[fault]})" if FAULTS[fault] else r"has no end at rank \d"
    seed, said = 0, ""
    while not (found := re.search(rf"^seed {seed}, 3 ranks: operation \d+ {told}.*", said, re.MULTILINE)):
        seed, said = seed_that_fails(run, program, options, seed + 1)
    print(f"{fault}: by seed {seed}: {found[0]}")


def test_without_a_fault_that_library_changes_nothing(run, build, tester, abi):
    library = build("random_planted.c", abi, "-shared", "-fPIC")
    result = run(3, tester(abi), ["--seeds", 1, 20], ["-genv", "LD_PRELOAD", library], timeout=100)
    assert (result.code, result.out, result.err) == (0, "", ""), result


@pytest.mark.timeout(600)
def test_a_program_that_fails_is_made_short(session, build, tester):
    """Of many operations one is left, of it one message, and what is printed fails when it is run again."""
    library, program = build("random_planted.c", "mpich", "-shared", "-fPIC"), tester("mpich")
    options = ["-genv", "LD_PRELOAD", library, "-genv", "RANDOM_FAULT", "extent"]
    command = [session.prefix / "bin/mpiexec", "-n", "{n}", *options, program]
    one = Program(command, 3, 3, timeout=30, env=session.environment())
    assert shorten(one) and len(one.kept) == 1, one.kept
    told = printed(one)
    assert "MPI_Type_create_resized(" in told, told
    assert re.search(r"the (true )?(lower bound|extent) of t\d+ is -?\d+, expected", told), told
    assert one.words()[0] in told.splitlines()[-1] and one.run()[0] != 0, told


@pytest.mark.timeout(4 * 3600)
@pytest.mark.skipif(not MORE_SEEDS, reason="takes half an hour: make check-long")
def test_many_more_seeds(session, run, tester):
    parts = [(["mpich", "std"][i % 2], RANKS[i // 2 % len(RANKS)], MORE_FIRST + done, min(PART, MORE_SEEDS - done))
             for i, done in enumerate(range(0, MORE_SEEDS, PART))]
    assert sum(count for *_, count in parts) == MORE_SEEDS
    programs = {abi: tester(abi) for abi in ("mpich", "std")}

    def part(of):
        abi, n, first, count = of
        result = run(n, programs[abi], ["--seeds", first, count], timeout=1200)
        return None if (result.code, result.out, result.err) == (0, "", "") else (of, result)

    begin = time.monotonic()
    with ThreadPoolExecutor(os.cpu_count()) as lanes:
        failures = list(filter(None, lanes.map(part, parts)))
    if failures:
        (abi, n, *_), result = failures[0]
        pytest.fail(f"{len(failures)} of {len(parts)} jobs failed; the first, {abi}, {n} ranks:\n"
                    + explained_here(session, programs[abi], result.err, n))
    seconds = time.monotonic() - begin
    print(f"{MORE_SEEDS} seeds from {MORE_FIRST} on, 2 to 5 ranks, both ABIs: all well; {seconds:.0f} s")
