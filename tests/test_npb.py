"""`hawser-bench npb`, with a folder that looks like NPB-MPI (tests/npb_like): programs that are built of a copy and run on
each library in turns, their messages by length, the variants with and without RTRs, and jobs without a result.

The real NPB-MPI is fetched by its users; docs/applications.md has what it gave."""

import json
import os
import shutil
import signal
import subprocess

import pytest
from harness import MARK, ROOT, eventually, prefix

BENCH = prefix() / "bin/hawser-bench"
LIKE = ROOT / "tests/npb_like"
FORTRAN = pytest.mark.skipif(not shutil.which("gfortran"),
                             reason="NO FORTRAN PROGRAM IS RUN BY hawser-bench npb, there is no gfortran: scripts/setup.sh installs it")


def npb(session, tmp_path, *options, start=subprocess.run, sources=LIKE, out="out", rounds=2, **more):
    words = [BENCH, "npb", sources, "--rounds", rounds, "--class", "S", "--out", tmp_path / out, *options]
    return start([str(word) for word in words], env=session.environment(), text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)


def jobs(tmp_path):
    record = json.loads((tmp_path / "out/npb.json").read_text())
    return record, {(job["library"], job["program"], job["ranks"]): job for job in record["jobs"]}


def only_results(tmp_path):
    """Nothing that was built is left, and nothing was written to the sources."""
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == ["npb.json", "npb.md"]
    assert not (LIKE / "bin").exists() and not (LIKE / "config/make.def").exists()


@FORTRAN
def test_messages_are_shown_by_length_and_times_with_speed_ups(session, tmp_path):
    ran = npb(session, tmp_path, "--program", "mg", "-n", "1,2,3")
    assert ran.returncode == 0 and ran.stderr == "", ran
    record, ended = jobs(tmp_path)
    assert record["complete"] and len(record["jobs"]) == 4 and set(ended) == {("hawser", "mg", 1), ("hawser", "mg", 2)}
    # Each of two ranks sends ten messages of each length.
    counters = dict(ended["hawser", "mg", 2]["counters"])
    of_lengths = {name: count for name, count in counters.items() if "messages of " in name and "unexpected" not in name}
    assert of_lengths == {
        "messages of 65 B to 1 KiB": 20, "bytes in messages of 65 B to 1 KiB": 20_000,
        "messages of 1 to 8 KiB": 20, "bytes in messages of 1 to 8 KiB": 20 * 8192,
        "messages of 64 KiB to 1 MiB": 20, "bytes in messages of 64 KiB to 1 MiB": 2_000_000}, counters
    assert counters["bytes sent"] == 20 * (8 + 1000 + 8192 + 100_000)
    assert "| MG | hawser | 2.00 [1.00] | 1.00 [2.00] |" in ran.stdout.splitlines(), ran.stdout
    assert ran.stdout.count("| 9.68 | 4670 | 0.01 |") == 1, ran.stdout
    assert (tmp_path / "out/npb.md").read_text().endswith(ran.stdout.split("wrote ")[0])
    only_results(tmp_path)


@FORTRAN
def test_offers_are_measured_as_the_paper_does(session, tmp_path):
    ran = npb(session, tmp_path, "--program", "mg", "-n", "2", "--offers", "--lib", f"std={prefix()},HAWSER_RTR=on")
    assert ran.returncode == 0, ran
    _, ended = jobs(tmp_path)
    sent = {library: dict(job["counters"]).get("RTRs sent", 0) for (library, _, _), job in ended.items()}
    assert set(sent) == {"std", "std-sr", "std-nsr"} and sent["std"] == sent["std-nsr"] == 0 < sent["std-sr"], sent


@pytest.mark.parametrize("like, cause", [
    ("wrong", "the program found its result wrong (Verification = UNSUCCESSFUL)"),
    ("silent", "the program has printed no result"),
    ("aborted", "it ended with exit status: 3"),
    ("hung", "it did not end within 5 s (--timeout)"),
])
def test_a_job_without_a_result_is_noted_and_the_others_go_on(session, tmp_path, like, cause):
    libraries = ["--lib", f"hawser={prefix()}", "--lib", f"bad={prefix()},NPB_LIKE={like}"]
    timeout_s, rounds = (5, 1) if like == "hung" else (60, 2)
    ran = npb(session, tmp_path, "--program", "is", "-n", "2", "--timeout", timeout_s, *libraries, rounds=rounds)
    assert ran.returncode == 1 and ran.stderr.count(f"hawser-bench: bad, is.S on 2 ranks: {cause}") == rounds, ran
    record, ended = jobs(tmp_path)
    assert not record["complete"] and set(ended) == {("hawser", "is", 2)} and len(record["jobs"]) == rounds
    assert f"note: bad, is.S on 2 ranks: {cause}" in ran.stdout and "| IS | hawser | 0.500 |" in ran.stdout, ran.stdout
    only_results(tmp_path)


def test_a_program_that_cannot_be_built_is_noted(session, tmp_path):
    ran = npb(session, tmp_path, "--program", "cg,is", "-n", "1")
    assert ran.returncode == 1 and "cg.S cannot be built with" in ran.stderr and "cg.f90: no such file" in ran.stderr, ran
    assert set(jobs(tmp_path)[1]) == {("hawser", "is", 1)}


def test_what_was_measured_before_ctrl_c_is_written(session, tmp_path):
    libraries = ["--lib", f"hawser={prefix()}", "--lib", f"hung={prefix()},NPB_LIKE=hung"]
    running = npb(session, tmp_path, "--program", "is", "-n", "2", *libraries, start=subprocess.Popen)
    eventually(lambda: any({"NPB_LIKE=hung", f"{MARK}={session.mark}"} <= environment(pid) for pid in os.listdir("/proc") if pid.isdigit()))
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=60)
    assert running.returncode == 130 and "the command was stopped before its end: jobs are missing" in out, (out, err)
    record, ended = jobs(tmp_path)
    assert not record["complete"] and set(ended) == {("hawser", "is", 2)}
    only_results(tmp_path)


def environment(pid):
    try:
        with open(f"/proc/{pid}/environ", errors="replace") as file:
            return set(file.read().split("\0"))
    except OSError:
        return set()


@pytest.mark.parametrize("words, cause", [
    (["--lib", "x=/nowhere"], "x: there is no /nowhere/bin/mpiexec"),
    (["--lib", f"x={prefix()}", "--lib", f"x={prefix()}"], "two libraries would be called x"),
])
def test_wrong_options_say_what_is_wrong(session, tmp_path, words, cause):
    ran = npb(session, tmp_path, *words)
    assert ran.returncode == 1 and ran.stderr.startswith(f"hawser-bench: npb: {cause}") and ran.stderr.count("\n") == 1, ran


def test_a_folder_of_results_that_cannot_be_made_is_named(session, tmp_path):
    ran = npb(session, tmp_path, out="/dev/null/x")
    assert ran.returncode == 1 and ran.stderr.startswith("hawser-bench: npb: cannot make the folder /dev/null/x: "), ran


def test_results_are_not_written_to_the_sources(session, tmp_path):
    shutil.copytree(LIKE, tmp_path / "sources")
    ran = npb(session, tmp_path, out="sources/new", sources=tmp_path / "sources")
    assert ran.returncode == 1 and "lies in the sources; name another folder by --out" in ran.stderr, ran
    assert not (tmp_path / "sources/new").exists()


def test_another_folder_is_refused(session, tmp_path):
    ran = npb(session, tmp_path, sources=tmp_path)
    assert ran.returncode == 1 and f"{tmp_path} has no sys/setparams.c; give the folder NPB3.4-MPI" in ran.stderr, ran
    assert not (tmp_path / "out").exists()
