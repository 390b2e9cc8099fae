"""Links that were open and die while ranks talk, in a lab: the job ends and names peer, NIC and error, and a report
says so before; and what does not end it.

Which seconds count towards the limit is tested with the launcher (Rust), what the lines say of a port with the device.
test_hosts.py shows that a true cycle over healthy links is told as one.
"""

import re
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from harness import GRACE_OF_LABS_S, eventually, line_of
from test_hosts import programs
from test_unreached import mpiexec

LIMIT_S = 4
# Between two reports that are asked for.
ASK_S = 0.25


def remove(lab, nic):
    nic.remove()


def readdress(lab, nic):
    nic.readdress("10.77.200.9", "fd77::9009")


def other_mac(lab, nic):
    nic.set_mac("02:00:00:00:77:77")


def pull(lab, nic):
    nic.unplug()


RANKS = ("rank 0 on host node0", "rank 1 on host node1")
GONE = (f"mpiexec: {RANKS[1]} has permanently lost all ports through which others reached it, and {RANKS[0]} cannot "
        "reach it any more; ")
CUT = (rf"mpiexec: (?:{RANKS[0]} cannot be reached from {RANKS[1]}|{RANKS[1]} cannot be reached from {RANKS[0]})"
       rf" any more: no answer in {LIMIT_S} s \(HAWSER_UNREACHED_S\) with both ranks in MPI; ")
NO_NIC = r"eth0 {kind} \S+: the interface is gone: No such device \(os error 19\), for \d+ s"
NO_ADDRESS = (r"eth0 {kind} \S+: the host has lost this address: Cannot assign requested address \(os error 99\), "
              r"for \d+ s")
OTHER_MAC = r"eth0 {kind} \S+: the interface has another MAC address now, 02:00:00:00:77:77, for \d+ s"
CLOSED = r"eth0 {kind} \S+: the program has closed its descriptor: Bad file descriptor \(os error 9\), for \d+ s"
SILENT = r"  eth0 {kind} \S+ -> \S+: no answer for \d+ s"


def severed(lab, build, port, sever, shown, how="talk"):
    """What mpiexec says of a job whose link is severed while ranks talk: the first report that shows all that it is to
    show, asked for again and again, and the error."""
    words = ["-ppn", "1", "-genv", "HAWSER_PORT", port, "-timeout", "60", build("severed.c"), how, "0"]
    with mpiexec(lab, *words, limit_s=LIMIT_S) as job:
        assert line_of(job.stdout) == "they talk\n", job.communicate()
        sever(lab, lab.hosts[1].nics[0]) if sever else None
        said, report = Said(job), None
        while job.poll() is None and not report:
            job.send_signal(signal.SIGQUIT)
            time.sleep(ASK_S)
            report = said.report(shown)
        code, out, err = job.wait(timeout=GRACE_OF_LABS_S + 40), job.stdout.read(), said.all()
    assert (code, out) == (1, ""), (code, out, err)
    eventually(lambda: programs(lab) == {})
    error = r"(?=^mpiexec: rank \d on host node\d (?:cannot be reached from|has permanently lost))"
    _, last = re.split(error, err, flags=re.MULTILINE)
    assert report, f"no report shows {shown}: {err}"
    return report, last


class Said:
    """What mpiexec says on its standard error, read while it runs."""

    def __init__(self, job):
        self.text = ""
        self.reader = threading.Thread(target=self.read, args=(job.stderr,))
        self.reader.start()

    def read(self, stream):
        for line in stream:
            self.text += line

    def report(self, shown):
        """The first whole report with all of these patterns."""
        _, *reports = re.split(r"^(?=mpiexec: .*; state of each rank:$)", self.text, flags=re.MULTILINE)
        return next((one for one in reports if all(re.search(each, one) for each in shown)), None)

    def all(self):
        self.reader.join()
        return self.text


def side_by_side(make, build, cases, judge):
    """Each case in a lab of its own, all at the same time: they mostly wait."""
    build("severed.c")
    labs = [make(hosts=2) for _ in cases]
    with ThreadPoolExecutor(len(cases)) as threads:
        for done in [threads.submit(judge, lab, *case) for lab, case in zip(labs, cases)]:
            done.result()


PORTS = ["packet", "udp", "packet-udp", "stream"]


@pytest.mark.parametrize("cases", [
    [(port, remove, GONE, NO_NIC) for port in ["", *PORTS]],
    [*((port, readdress, CUT, NO_ADDRESS) for port in ["udp", "stream"]), ("packet", other_mac, CUT, OTHER_MAC)],
    [(port, None, GONE, CLOSED) for port in ["", *PORTS]],
], ids=["the interface is gone", "its address is another one", "the program has closed its descriptors"])
def test_a_link_that_dies_ends_the_job_and_is_named(make, build, cases):
    def judge(lab, port, sever, end, fault):
        kinds = [port] if port else ["packet", "udp"]
        faults = [line.format(kind=kind) for kind in kinds for line in (fault, SILENT)]
        held_up = r"(?m)^    rank \d on node\d does not acknowledge data sent to it:$"
        report, last = severed(lab, build, port, sever, [*faults, held_up], "talk" if sever else "close")
        assert re.match(end, last) and all(re.search(each, last) for each in faults), (port, last)
        assert "cycle" not in report + last, (port, report, last)

    side_by_side(make, build, cases, judge)


def test_a_cable_that_is_pulled_for_longer_than_the_limit_ends_the_job(make, build):
    silent = SILENT.format(kind="udp")
    report, last = severed(make(hosts=2), build, "udp", pull, [silent])
    assert re.match(CUT, last) and re.search(silent, last), last
    assert "cycle" not in report + last, report + last


def test_a_cable_that_is_pushed_back_in_time_ends_nothing(make, build):
    def judge(lab, port):
        words = ["-ppn", "1", "-genv", "HAWSER_PORT", port, "-timeout", "60", build("severed.c"), "talk", "7"]
        with mpiexec(lab, *words, limit_s=30) as job:
            assert line_of(job.stdout) == "they talk\n", job.communicate()
            lab.hosts[1].nics[0].unplug()
            time.sleep(3)
            lab.hosts[1].nics[0].plug()
            out, err = job.communicate(timeout=GRACE_OF_LABS_S + 40)
        assert (job.returncode, out) == (0, "") and "cannot be reached" not in err, (port, err)

    side_by_side(make, build, [[port] for port in ["", "packet", "udp", "stream"]], judge)


def test_one_rail_of_two_may_go(make, build):
    lab = make(hosts=2, nics=2)
    with mpiexec(lab, "-ppn", "1", "-timeout", "60", build("severed.c"), "talk", "6", limit_s=2) as job:
        assert line_of(job.stdout) == "they talk\n", job.communicate()
        lab.hosts[1].nics[0].remove()
        out, err = job.communicate(timeout=GRACE_OF_LABS_S + 40)
    assert (job.returncode, out, err) == (0, "", "")


def test_a_rank_that_computes_with_data_under_way_is_waited_for(make, build):
    lab = make(hosts=2)
    with mpiexec(lab, "-ppn", "1", "-timeout", "60", build("severed.c"), "compute", "7", limit_s=2) as job:
        out, err = job.communicate(timeout=GRACE_OF_LABS_S + 40)
    assert (job.returncode, out, err) == (0, "they talk\n", "")
