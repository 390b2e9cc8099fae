"""Links that were open and die while ranks talk, in a lab: the job ends and names peer, NIC and error, and a report
says so before; and what does not end it.

Which seconds count towards the limit is tested with the launcher (Rust), what the lines say of a port with the device.
test_hosts.py shows that a true cycle over healthy links is told as one.
"""

import re
import signal
import time

import pytest
from harness import GRACE_OF_LABS_S, eventually
from test_hosts import programs
from test_unreached import mpiexec

LIMIT_S = 4
# What is silent or lost for so long stands in the pages of ranks, and the job has not ended yet (dev-ether: LOOK_NS of
# unanswered.rs and of health.rs).
SHOWN_S = 2.5


def remove(lab, nic):
    nic.remove()


def readdress(lab, nic):
    nic.readdress("10.77.200.9", "fd77::9009")


def other_mac(lab, nic):
    nic.set_mac("02:00:00:00:77:77")


def pull(lab, nic):
    nic.unplug()


RANKS = ("rank 0 on host node0", "rank 1 on host node1")
GONE = (f"mpiexec: {RANKS[1]} has lost for good all ports by which others reached it, and {RANKS[0]} does not reach it "
        "any more; ")
CUT = (rf"mpiexec: (?:{RANKS[0]} is reached by nothing from {RANKS[1]}|{RANKS[1]} is reached by nothing from {RANKS[0]})"
       rf" any more: in {LIMIT_S} s \(HAWSER_UNREACHED_S\) with both in MPI nothing was answered; ")
NO_NIC = r"eth0 {kind} \S+: the interface is gone: No such device \(os error 19\), for \d+ s"
NO_ADDRESS = (r"eth0 {kind} \S+: the host has lost this address: Cannot assign requested address \(os error 99\), "
              r"for \d+ s")
OTHER_MAC = r"eth0 {kind} \S+: the interface has another MAC address now, 02:00:00:00:77:77, for \d+ s"
CLOSED = r"eth0 {kind} \S+: the program has closed its descriptor: Bad file descriptor \(os error 9\), for \d+ s"
SILENT = r"  eth0 {kind} \S+ -> \S+: no answer for \d+ s"


def severed(lab, build, port, sever, how="talk"):
    """What mpiexec says of a job whose link is severed while ranks talk: a report that was asked for and the error."""
    words = ["-ppn", "1", "-genv", "HAWSER_PORT", port, "-timeout", "60", build("severed.c"), how, "0"]
    with mpiexec(lab, *words, limit_s=LIMIT_S) as job:
        assert job.stdout.readline() == "they talk\n", job.communicate()
        sever(lab, lab.hosts[1].nics[0]) if sever else None
        time.sleep(SHOWN_S)
        job.send_signal(signal.SIGQUIT)
        out, err = job.communicate(timeout=GRACE_OF_LABS_S + 40)
    assert (job.returncode, out) == (1, ""), (job.returncode, out, err)
    eventually(lambda: programs(lab) == {})
    error = r"(?=^mpiexec: rank \d on host node\d (?:is reached by nothing|has lost for good))"
    report, last = re.split(error, err, flags=re.MULTILINE)
    return report, last


PORTS = ["packet", "udp", "packet-udp", "stream"]


@pytest.mark.parametrize("port, sever, end, fault", [
    *((port, remove, GONE, NO_NIC) for port in ["", *PORTS]),
    *((port, readdress, CUT, NO_ADDRESS) for port in ["udp", "stream"]),
    ("packet", other_mac, CUT, OTHER_MAC),
    *((port, None, GONE, CLOSED) for port in ["", *PORTS]),
])
def test_a_link_that_dies_ends_the_job_and_is_named(make, build, port, sever, end, fault):
    lab = make(hosts=2)
    report, last = severed(lab, build, port, sever, "talk" if sever else "close")
    kinds = [port] if port else ["packet", "udp"]
    assert re.match(end, last), last
    for kind in kinds:
        assert re.search(SILENT.format(kind=kind), last) and re.search(fault.format(kind=kind), last), last
        assert re.search(fault.format(kind=kind), report) and re.search(SILENT.format(kind=kind), report), report
    assert re.search(r"^    rank \d on node\d does not acknowledge what was sent to it:$", report, re.MULTILINE), report
    assert "cycle" not in report + last, report + last


def test_a_cable_that_is_pulled_for_longer_than_the_limit_ends_the_job(make, build):
    report, last = severed(make(hosts=2), build, "udp", pull)
    assert re.match(CUT, last) and re.search(SILENT.format(kind="udp"), last), last
    assert "cycle" not in report + last, report + last


@pytest.mark.parametrize("port", ["", "packet", "udp", "stream"])
def test_a_cable_that_is_pushed_back_in_time_ends_nothing(make, build, port):
    lab = make(hosts=2)
    words = ["-ppn", "1", "-genv", "HAWSER_PORT", port, "-timeout", "60", build("severed.c"), "talk", "9"]
    with mpiexec(lab, *words, limit_s=30) as job:
        assert job.stdout.readline() == "they talk\n", job.communicate()
        lab.hosts[1].nics[0].unplug()
        time.sleep(3)
        lab.hosts[1].nics[0].plug()
        out, err = job.communicate(timeout=GRACE_OF_LABS_S + 40)
    assert (job.returncode, out) == (0, "") and "by nothing" not in err, err


def test_one_rail_of_two_may_go(make, build):
    lab = make(hosts=2, nics=2)
    with mpiexec(lab, "-ppn", "1", "-timeout", "60", build("severed.c"), "talk", "8", limit_s=2) as job:
        assert job.stdout.readline() == "they talk\n", job.communicate()
        lab.hosts[1].nics[0].remove()
        out, err = job.communicate(timeout=GRACE_OF_LABS_S + 40)
    assert (job.returncode, out, err) == (0, "", "")


def test_a_rank_that_computes_with_data_under_way_is_waited_for(make, build):
    lab = make(hosts=2)
    with mpiexec(lab, "-ppn", "1", "-timeout", "60", build("severed.c"), "compute", "9", limit_s=2) as job:
        out, err = job.communicate(timeout=GRACE_OF_LABS_S + 40)
    assert (job.returncode, out, err) == (0, "they talk\n", "")
