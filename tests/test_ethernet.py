"""MPI between hosts over Ethernet, in a lab: C programs that check all their data, by every port, on good and on bad networks."""

import re
import subprocess
import time

import pytest
from harness import GRACE_OF_LABS_S, eventually
from lab.enter import await_links, ip
from test_hosts import mpiexec, programs

PORTS = ["", "packet", "udp", "stream"]
# How long a network is away, and the CPU time of which a rank that waits for it stays below.
OUTAGE_S, OUTAGE_CPU_MS = 1.0, 300


def finished(lab, *words, env=None):
    """A job on all hosts of the lab that ends well within time and leaves nothing; what it printed."""
    options = [word for item in (env or {}).items() for word in ("-genv", *item)]
    with mpiexec(lab, *options, "-timeout", "60", *words) as job:
        out, err = job.communicate(timeout=GRACE_OF_LABS_S + 60)
    assert (job.returncode, err) == (0, ""), (out, err)
    eventually(lambda: programs(lab) == {})
    return out


@pytest.mark.parametrize("port", PORTS)
def test_random_messages_and_collectives_between_hosts(make, build, abi, port):
    """Two ranks a host: some pairs by shared memory, some by the network."""
    lab = make(hosts=2)
    finished(lab, "-ppn", "2", build("random.c", abi), "1", "60", env={"HAWSER_PORT": port})


def test_more_hosts_and_several_nics(make, build):
    lab = make(hosts=3, nics=2)
    finished(lab, "-ppn", "2", build("random.c"), "2", "60")


# Which addresses the NICs of each host lack.
@pytest.mark.parametrize("lacking", [[["v4"], ["v4"]], [["v4", "v6"], ["v4", "v6"]], [["v4"], []]])
@pytest.mark.parametrize("port", ["udp", "stream", "packet,udp"])
def test_hosts_without_ipv4(make, build, port, lacking):
    lab = make(hosts=2)
    for host, families in zip(lab.hosts, lacking):
        host.nics[0].drop_addresses(*families)
    finished(lab, "-ppn", "2", build("random.c"), "4", "30", env={"HAWSER_PORT": port})


@pytest.mark.parametrize("rails, used", [("fd77:0:0:1::/64", 1), ("eth0", 0), ("10.77.1.0/24", 1)])
def test_the_rails_that_are_named_are_used_alone(make, build, rails, used):
    lab = make(hosts=2, nics=2)
    before = [nic.counters()["tx_bytes"] for nic in lab.hosts[0].nics]
    finished(lab, "-ppn", "1", build("random.c"), "5", "30", env={"HAWSER_RAILS": rails})
    sent = [nic.counters()["tx_bytes"] - was for nic, was in zip(lab.hosts[0].nics, before)]
    assert sent[used] > 100_000 and sent[1 - used] < 5_000, sent


@pytest.mark.parametrize("fault", ["loss", "corrupt", "duplicate", "reorder"])
def test_a_bad_network_changes_nothing_but_speed(make, build, fault):
    lab = make(hosts=2, **{fault: 0.01})
    finished(lab, "-ppn", "1", build("random.c"), "3", "40")


def switched(nic, way):
    """The host itself switches its NIC off or on."""
    ip(nic.host.pid, f"link set {nic.name} {way}")
    if way == "up":
        await_links(nic.host.pid, [nic.name])


@pytest.mark.parametrize("port", PORTS)
def test_a_network_that_goes_and_comes_costs_no_cpu_and_nothing_is_lost(make, build, port):
    lab = make(hosts=2)
    nics = lab.nics()
    with mpiexec(lab, "-genv", "HAWSER_PORT", port, build("outage.c"), stdin=subprocess.PIPE) as job:

        def say(line):
            print(line, file=job.stdin, flush=True)

        assert job.stdout.readline() == "all are there\n"
        for number, (off, on, sending) in enumerate((
            (lambda nic: switched(nic, "down"), lambda nic: switched(nic, "up"), False),
            (lambda nic: switched(nic, "down"), lambda nic: switched(nic, "up"), True),
            (lambda nic: nic.unplug(), lambda nic: nic.plug(), True),
        )):
            [off(nic) for nic in nics]
            if sending:
                say(number)
            time.sleep(OUTAGE_S)
            [on(nic) for nic in nics]
            if not sending:
                say(number)
            assert job.stdout.readline() == "there and back\n"
        out, err = job.communicate(timeout=GRACE_OF_LABS_S)
    used = re.findall(r"^cpu ms (\d+)$", out, re.MULTILINE)
    assert (job.returncode, err, len(used)) == (0, "", 2), (out, err)
    assert all(int(ms) < OUTAGE_CPU_MS for ms in used), out


@pytest.mark.parametrize("port", ["", "packet", "udp"])
def test_with_one_of_two_rails_gone_the_job_goes_on(make, build, port):
    lab = make(hosts=2, nics=2)
    with mpiexec(lab, "-genv", "HAWSER_PORT", port, build("outage.c"), stdin=subprocess.PIPE) as job:
        assert job.stdout.readline() == "all are there\n"
        for off, on in (("down", "up"), ("unplug", "plug")):
            for nic in lab.hosts[0].nics:
                switched(nic, off) if off == "down" else nic.unplug()
                for number in range(20):
                    print(number, file=job.stdin, flush=True)
                    assert job.stdout.readline() == "there and back\n"
                switched(nic, on) if on == "up" else nic.plug()
        _, err = job.communicate(timeout=GRACE_OF_LABS_S)
    assert (job.returncode, err) == (0, "")


@pytest.mark.parametrize("mtu", [576, 9000])
def test_every_mtu(make, build, mtu):
    lab = make(hosts=2, mtu=mtu)
    finished(lab, "-ppn", "1", build("p2p_order.c"))


def test_who_has_no_rail_is_told_what_was_tried(make, build):
    lab = make(hosts=2)
    with mpiexec(lab, "-genv", "HAWSER_RAILS", "nosuch0", build("hello.c")) as job:
        _, err = job.communicate(timeout=GRACE_OF_LABS_S)
    assert job.returncode != 0 and err.count("\n") == 1, err
    assert re.search(r"no interface of this host leads to others: .*not named in HAWSER_RAILS", err), err
