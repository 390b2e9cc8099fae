"""Ranks that nothing reaches, in a lab: the one error that lists what was tried; and those that are waited for all the same.

Which seconds count towards the limit is tested with the launcher (Rust), what the lines say of a port with the device.
"""

import os
import re
import signal
import subprocess
import time
from contextlib import contextmanager

import pytest
from harness import GRACE_OF_LABS_S, eventually, line_of
from test_ends import ranks, state
from test_hosts import programs

LIMIT_S = 2
# A computing or stopped rank is silent for several times the limit.
SILENCE_S = 8


@contextmanager
def mpiexec(lab, *words, limit_s=60, hosts="node0,node1"):
    """mpiexec on the first host; a job that a test leaves behind is ended."""
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    command = ["mpiexec", "-launcher-exec", "lab-rsh", "-hosts", hosts, *words]
    with lab.hosts[0].start(command, env={"HAWSER_UNREACHED_S": str(limit_s)}, **streams) as job:
        try:
            yield job
        except BaseException:
            job.kill()
            raise


def failed(lab, job):
    """The job ends by itself with an error, and nothing is left: the error's first line, and those below it."""
    out, err = job.communicate(timeout=GRACE_OF_LABS_S + 40)
    assert (job.returncode, out) == (1, ""), (out, err)
    first, *pairs = err.splitlines()
    assert pairs and all(pair.startswith("  ") for pair in pairs), err
    eventually(lambda: programs(lab) == {})
    return first, [pair.strip() for pair in pairs]


def cut(lab, *ways):
    """Nothing passes to the NICs of these hosts, by their numbers."""
    for number in ways:
        for nic in lab.hosts[number].nics:
            nic.faults(loss=1.0)


def mend(lab):
    for nic in lab.nics():
        nic.faults(loss=0.0)


# A way, and what is said of it.
PACKET = r"eth0 packet 02:00:00:00:00:0\d#\d -> 02:00:00:00:00:0\d#\d: \d+ tries, "
UDP = r"eth0 udp 10.77.0.\d:\d+ -> 10.77.0.\d:\d+: \d+ tries, "
STREAM = UDP.replace("udp", "stream")


@pytest.mark.parametrize("port, ways, tried", [("", (0, 1), [PACKET, UDP]), ("udp", (1,), [UDP]), ("stream", (0,), [STREAM])])
def test_a_rank_that_nothing_reaches_is_one_error_that_lists_what_was_tried(make, build, port, ways, tried):
    """A firewall between the hosts drops everything, or what goes one way."""
    lab = make(hosts=2)
    cut(lab, *ways)
    with mpiexec(lab, "-ppn", "2", "-genv", "HAWSER_PORT", port, build("hello.c"), limit_s=LIMIT_S) as job:
        first, pairs = failed(lab, job)
    told = (r"mpiexec: rank \d on host node(\d) cannot be reached from rank \d on host node(\d): no answer in 2 s "
            r"\(HAWSER_UNREACHED_S\) with both ranks in MPI; .*HAWSER_RAILS, HAWSER_PORT.* Paths tried:")
    assert sorted(re.fullmatch(told, first).groups()) == ["0", "1"], first
    for way in tried:
        assert any(re.match(way, pair) for pair in pairs), (way, pairs)
    assert all(re.search(r": \d+ tries, (no answer|the last one was refused: .*os error \d+.)$", pair) for pair in pairs), pairs


# What is set for the rank of each host, and a pair of ports with the reason why it is none.
@pytest.mark.parametrize("settings, pair", [
    ([("HAWSER_PORT", "packet"), ("HAWSER_PORT", "udp")], r"eth0 .*: ports of different kinds cannot reach each other"),
    ([("HAWSER_PORT", "stream"), ("HAWSER_PORT", "udp")], r"eth0 .*: ports of different kinds cannot reach each other"),
    ([("HAWSER_RAILS", "10.77.0.0/16"), ("HAWSER_RAILS", "fd77::/16")],
     r"eth0 udp \S*\d+ -> udp \S*\d+: IPv4 and IPv6 addresses cannot reach each other"),
])
def test_ports_that_do_not_go_together_are_an_error_at_once(make, build, settings, pair):
    """However long the limit is, and whatever HAWSER_RAILS leaves of raw Ethernet."""
    lab = make(hosts=2)
    by_udp = ["-genv", "HAWSER_PORT", "udp"] if settings[0][0] == "HAWSER_RAILS" else []
    words = [["-n", "1", "-env", name, value, build("hello.c")] for name, value in settings]
    with mpiexec(lab, *by_udp, *words[0], ":", *words[1], limit_s=0) as job:
        first, pairs = failed(lab, job)
    assert re.search(r"cannot be reached from rank \d on host node\d: they have no compatible ports; give both", first), first
    assert all(re.match(r"\S+ \w+ \S+ -> \w+ \S+: ", line) for line in pairs) and re.search(pair, "\n".join(pairs)), pairs


@pytest.mark.parametrize("how", ["compute", "stop"])
def test_a_rank_that_never_answered_and_is_not_in_mpi_is_waited_for(make, build, how):
    """Nothing passes meanwhile, so that nobody has heard of it, and for longer than the limit."""
    lab, program = make(hosts=2), build("silence.c")
    cut(lab, 0, 1)
    with mpiexec(lab, "-ppn", "1", program, how, str(SILENCE_S + 2), limit_s=LIMIT_S) as job:
        silent = eventually(lambda: ranks(lab.hosts[1], program))
        eventually(lambda: how == "compute" or state(silent[0]) == "T")
        time.sleep(SILENCE_S)
        mend(lab)
        if how == "stop":
            os.kill(silent[0], signal.SIGCONT)
        out, err = job.communicate(timeout=SILENCE_S + GRACE_OF_LABS_S)
    assert (job.returncode, out, err) == (0, "", "")


def test_a_network_that_comes_late_is_warned_of_and_waited_for(make, build):
    lab = make(hosts=2)
    cut(lab, 0, 1)
    with mpiexec(lab, "-ppn", "2", build("hello.c"), "hello") as job:
        warning = line_of(job.stderr)
        assert re.match(r"mpiexec: rank \d on host node\d has never answered rank \d on host node\d "
                        r"\(5 s with both ranks in MPI\); the job is ended after 60 s of that \(HAWSER_UNREACHED_S\)\. "
                        r"Paths tried:$", warning), warning
        mend(lab)
        err, out = job.stderr.read(), job.stdout.read()
        job.wait(GRACE_OF_LABS_S)
    assert (job.returncode, sorted(out.split("\n"))) == (0, ["", *(f"{rank} of 4" for rank in range(4))]), (out, err)
    # Others of the four pairs may be warned of before they answer too.
    one, other = re.findall(r"rank (\d) on host", warning)
    assert err.startswith("  "), err
    assert re.search(rf"^mpiexec: rank {one} on host node\d answers rank {other} on host node\d now$", err, re.MULTILINE), err
