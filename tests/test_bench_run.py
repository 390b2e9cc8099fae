"""`hawser-bench run`: libraries and raw layers in turns, what is left of a run that is cut off, and bad input."""

import json
import os
import re
import signal
import subprocess
import time

import pytest
from harness import GRACE_OF_LABS_S, prefix

BENCH = prefix() / "bin/hawser-bench"
QUICK = ["--perturbation", "0", "--rounds", "2", "--ms", "1"]
SHORT = ["--max", "256", *QUICK]


def bench(session, *options, start=subprocess.run, **more):
    return start([str(BENCH), *map(str, options)], env=session.environment(), text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)


def record(folder):
    return json.loads((folder / "report.json").read_text())


def curves(folder):
    return {(curve["system"], curve["pattern"]): curve for curve in record(folder)["curves"]}


def test_the_library_and_every_raw_layer_of_a_machine_are_measured_at_every_size(session, tmp_path):
    ran = bench(session, "run", *SHORT, "--verify", "--out", tmp_path / "report")
    assert ran.returncode == 0, ran.stderr
    assert record(tmp_path / "report")["complete"] and not record(tmp_path / "report")["notes"]
    got = curves(tmp_path / "report")
    assert set(got) == {(name, "pingpong") for name in ("line", "memcpy", "ring", "transport", "hawser")}
    sizes = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256]
    for (name, _), curve in got.items():
        assert [point["bytes"] for point in curve["points"]] == [size for size in sizes if name != "line" or size <= 64]
        assert all(0 < point["min_us"] <= point["median_us"] and point["rounds"] >= 2 for point in curve["points"])
    assert "hawser" in ran.stdout and "report.html" in ran.stdout


@pytest.mark.parametrize("pattern", ["stream", "bidirectional", "rate", "overlap", "bcast", "reduce", "allreduce", "allgather", "alltoall"])
def test_every_byte_of_every_pattern_is_checked(session, tmp_path, pattern):
    ran = bench(session, "run", "--min", "8", *SHORT, "--verify", "--pattern", f"{pattern},barrier", "-n", "3", "--layers", "none",
                "--out", tmp_path)
    assert ran.returncode == 0, ran.stderr
    got = curves(tmp_path)
    assert set(got) == {("hawser", pattern), ("hawser", "barrier")}
    assert got["hawser", "barrier"]["ranks"] == 3
    assert all(point["hidden"] is not None for point in got["hawser", pattern]["points"]) == (pattern == "overlap")


def test_one_library_may_stand_twice_with_other_variables(session, tmp_path):
    libraries = ["--lib", f"one={prefix()}", "--lib", f"two={prefix()},HAWSER_SPIN=1"]
    assert bench(session, "run", *SHORT, *libraries, "--layers", "none", "--out", tmp_path).returncode == 0
    assert {name for name, _ in curves(tmp_path)} == {"one", "two"}


def test_over_a_cable_ports_and_the_library_are_measured(session, tmp_path):
    ran = bench(session, "run", "--max", "5000", *QUICK, "--verify", "--cable", "--out", tmp_path)
    if "ermission" in ran.stderr:
        pytest.skip(f"no network namespaces here: {ran.stderr}")
    assert ran.returncode == 0, ran.stderr
    assert {name for name, _ in curves(tmp_path)} == {"tcp", "packet", "udp", "stream", "link", "transport", "hawser"}
    assert "MTU 1500" in record(tmp_path)["machine"]["between"]


def begun(session, tmp_path):
    """A long run of which some sizes are done."""
    job = bench(session, "run", "--rounds", "50", "--ms", "5", "--layers", "memcpy", "--out", tmp_path, start=subprocess.Popen)
    worker = None
    deadline = time.monotonic() + GRACE_OF_LABS_S
    while worker is None and time.monotonic() < deadline:
        found = subprocess.run(["pgrep", "-f", "-n", str(prefix() / "libexec/hawser/bench-mpich") + "$"], text=True, stdout=subprocess.PIPE)
        worker = int(found.stdout) if found.stdout else None
        time.sleep(0.1)
    time.sleep(2)  # the first sizes take half a second each
    return job, worker


def test_of_a_run_that_is_interrupted_what_there_is_is_kept(session, tmp_path):
    job, _ = begun(session, tmp_path)
    job.send_signal(signal.SIGINT)
    out, err = job.communicate(timeout=GRACE_OF_LABS_S)
    assert job.returncode == 130, err
    assert not record(tmp_path)["complete"]
    assert len(curves(tmp_path)["hawser", "pingpong"]["points"]) >= 1
    assert "hawser" in out


def test_when_a_rank_dies_the_others_go_on_and_it_is_noted(session, tmp_path):
    job, worker = begun(session, tmp_path)
    os.kill(worker, signal.SIGKILL)
    deadline = time.monotonic() + GRACE_OF_LABS_S
    said = job.stderr.readline()
    assert "hawser, pingpong" in said and "left out from here on" in said and time.monotonic() < deadline
    job.send_signal(signal.SIGINT)
    job.communicate(timeout=GRACE_OF_LABS_S)
    assert said.strip().removeprefix("hawser-bench: ") in record(tmp_path)["notes"]


@pytest.mark.parametrize("options, code, cause", [
    (["--layers", "nosuch"], 2, "possible values: line, memcpy"),
    (["--pattern", "nosuch"], 2, "possible values: pingpong"),
    (["--lib", "mpich"], 2, "it is NAME=PREFIX"),
    (["--lib", "x=/nowhere", "--layers", "none"], 1, "there is no /nowhere/bin/mpiexec"),
    (["--min", "10", "--max", "5"], 1, "--min 10 is more than --max 5"),
    (["--hosts", "here,no-such-host.invalid", "--layers", "tcp", *SHORT], 1, "no-such-host.invalid"),
    (["--layers", "memcpy", "--lib", "x=/nowhere", *SHORT, "--out", "/proc/report"], 1, "/proc/report"),
])
def test_bad_input_is_named(session, tmp_path, options, code, cause):
    out = [] if "--out" in options else ["--out", tmp_path]
    ran = bench(session, "run", *options, *out, timeout=60)
    assert ran.returncode == code and cause in ran.stderr, ran.stderr


def test_a_library_without_an_abi_that_it_has_a_program_for_is_left_out(session, tmp_path):
    for part in ("bin", "lib"):
        (tmp_path / part).mkdir()
    (tmp_path / "bin/mpiexec").symlink_to(prefix() / "bin/mpiexec")
    (tmp_path / "bin/hawser-info").touch()
    ran = bench(session, "run", "--lib", f"empty={tmp_path}", "--layers", "memcpy", *SHORT, "--out", tmp_path / "report")
    assert ran.returncode == 1
    assert "empty is left out" in ran.stderr and "no libmpi.so.12" in ran.stderr
    assert {name for name, _ in curves(tmp_path / "report")} == {"memcpy"}


def test_a_layer_that_is_slower_by_two_microseconds_is_explained(session, tmp_path):
    """By name, size and amount."""
    slow = session.build("slow_send.c", "mpich", "-shared", "-fPIC", name="slow_send.so")
    libraries = ["--lib", f"hawser={prefix()}", "--lib", f"slow={prefix()},LD_PRELOAD={slow}"]
    measured = ["--max", "65536", "--perturbation", "0", "--rounds", "5", "--ms", "3", "--out", tmp_path]
    ran = bench(session, "explain", "slow", "hawser", *libraries, *measured)
    assert ran.returncode == 0, ran.stderr
    step = re.search(r"between 3 KiB and 4 KiB: slow takes (\S+) us more at once, which hawser does not", ran.stdout)
    assert step, ran.stdout
    assert 1.5 < float(step[1]) < 2.5, ran.stdout
    again = bench(session, "explain", "slow", "hawser", "--from", tmp_path / "report.json")
    assert again.returncode == 0 and again.stdout in ran.stdout, again


@pytest.mark.parametrize("words, cause", [
    (["slow", "ring"], "no --lib slow=PREFIX"),
    (["hawser", "ring", "--from", "/nowhere.json"], "/nowhere.json"),
])
def test_what_cannot_be_explained_is_named(session, words, cause):
    ran = bench(session, "explain", *words)
    assert ran.returncode == 1 and cause in ran.stderr, ran.stderr
