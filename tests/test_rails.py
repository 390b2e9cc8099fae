"""Several rails: of unlike rates, pulled and pushed back, one-way, and all of them bad; between hosts with unlike NICs; which of
them short messages take; and bulk by several flows. Every byte is checked."""

import re
import signal
import subprocess
import time
from contextlib import contextmanager
from itertools import permutations

import pytest
from harness import GRACE_OF_LABS_S, LONG, eventually, line_of
from test_ends import ranks, state
from test_ethernet import finished
from test_hosts import mpiexec, programs

MIB = 1 << 20
# A GiB takes 21 s over the two rails that it is tried with.
PULLED_BYTES = 1024 * MIB if LONG else 64 * MIB
# Number of messages: as many as fit until the test has seen what it waits for, however slow the machine is.
UNTIL_SEEN = 0
# What HELLOs, questions and the traffic of a small job are at most.
LITTLE_BYTES = MIB // 2


def sent(host):
    """Bytes that each NIC of a host has sent."""
    return [nic.counters()["tx_bytes"] for nic in host.nics]


@contextmanager
def begun(lab, build, size, times=1, port="", hosts=None):
    """A job that sends messages of a size from the first host to the second one: a number of times, or UNTIL_SEEN."""
    words = ["-ppn", "1", "-genv", "HAWSER_PORT", port, "-timeout", "100", build("bulk.c"), str(size), str(times)]
    with mpiexec(lab, *words, hosts=hosts, stdin=subprocess.PIPE) as job:
        assert line_of(job.stdout) == "all are there\n", job.communicate()
        yield job


def ended(lab, job):
    """The job ends well. Its standard input ends first, which ends a job of UNTIL_SEEN."""
    _, err = job.communicate(timeout=GRACE_OF_LABS_S + 100)
    assert (job.returncode, err) == (0, ""), err
    eventually(lambda: programs(lab) == {})


def limited(lab, *rates):
    for nic in lab.nics():
        nic.limit(rates[nic.network.number])
    return lab


def moved(host, at, size):
    """Waits until a NIC of a host has sent so much more."""
    goal = sent(host)[at] + size
    eventually(lambda: sent(host)[at] >= goal)


@pytest.mark.parametrize("port", ["", "packet", "udp"])
@pytest.mark.parametrize("rates", [(200, 200), (200, 40)], ids=repr)
def test_each_rail_carries_its_part(make, build, rates, port):
    """The wires' bytes are what each rail had time for; 2.5 is far from 1 and 5. Two messages pass first; of the three others one may
    pass before a loaded machine lets us look."""
    lab = limited(make(hosts=2, nics=2), *rates)
    with begun(lab, build, 16 * MIB, 5, port) as job:
        [line_of(job.stdout) for _ in range(2)]
        before = sent(lab.hosts[0])
        ended(lab, job)
    first, second = (now - was for now, was in zip(sent(lab.hosts[0]), before))
    assert first + second >= 32 * MIB
    assert (first > 2.5 * second) == (rates[0] > rates[1]) and second > LITTLE_BYTES, (first, second)


@pytest.mark.parametrize("port", ["", "packet", "udp", "stream"])
def test_a_rail_is_pulled_and_pushed_back_during_a_long_message(make, build, port):
    lab = limited(make(hosts=2, nics=2), 200, 200)
    source = lab.hosts[0]
    with begun(lab, build, PULLED_BYTES, UNTIL_SEEN, port) as job:
        moved(source, 0, 4 * MIB)
        source.nics[0].unplug()
        moved(source, 1, 16 * MIB)
        source.nics[0].plug()
        moved(source, 0, 4 * MIB)
        ended(lab, job)


@pytest.mark.parametrize("port", ["", "packet", "packet-udp", "udp", "stream"])
def test_a_rail_that_is_pulled_when_a_job_begins_serves_when_it_is_pushed_back(make, build, port):
    lab = limited(make(hosts=2, nics=2), 200, 200)
    source, far = lab.hosts
    source.nics[0].unplug(), far.nics[0].unplug()
    assert re.search(r"^  eth0: a rail that has no carrier now \(", source.run(["mpiexec", "--info"]).stdout, re.MULTILINE)
    with begun(lab, build, 32 * MIB, UNTIL_SEEN, port) as job:
        moved(source, 1, 4 * MIB)
        source.nics[0].plug(), far.nics[0].plug()
        moved(source, 0, 4 * MIB)
        ended(lab, job)


@pytest.mark.parametrize("port", ["", "packet", "packet-udp", "udp", "stream"])
def test_a_job_that_begins_while_all_rails_are_pulled_waits_for_them(make, build, port):
    lab = make(hosts=2, nics=2)
    [nic.unplug() for nic in lab.nics()]
    with mpiexec(lab, "-ppn", "1", "-genv", "HAWSER_PORT", port, "-timeout", "60", build("random.c"), "8", "20") as job:
        eventually(lambda: [state(pid) for host in lab.hosts for pid in ranks(host, build("random.c"))] == ["S", "S"])
        [nic.plug() for nic in lab.nics()]
        ended(lab, job)


@pytest.mark.parametrize("port", ["", "packet,udp"])
def test_all_rails_but_the_slowest_are_pulled(make, build, port):
    lab = limited(make(hosts=2, nics=3), 200, 200, 40)
    source = lab.hosts[0]
    with begun(lab, build, 24 * MIB, UNTIL_SEEN, port) as job:
        moved(source, 0, 4 * MIB)
        [nic.unplug() for nic in source.nics[:2]]
        moved(source, 2, 4 * MIB)
        ended(lab, job)


@pytest.mark.parametrize("deaf", [0, 1], ids=["the receiver hears nothing by it", "nor does the sender"])
def test_a_rail_that_passes_one_way_only_loses_nothing_and_comes_back(make, build, deaf):
    lab = limited(make(hosts=2, nics=2), 200, 200)
    source, victim = lab.hosts[0], lab.hosts[1 - deaf].nics[0]
    with begun(lab, build, 32 * MIB, UNTIL_SEEN, "packet,udp") as job:
        moved(source, 0, 4 * MIB)
        victim.faults(loss=1.0)
        moved(source, 1, 16 * MIB)
        victim.faults(loss=0.0)
        moved(source, 0, 4 * MIB)
        ended(lab, job)


@pytest.mark.parametrize("port", ["", "packet", "udp"])
def test_every_rail_loses_and_reorders(make, build, port):
    lab = make(hosts=2, nics=3, loss=0.01, reorder=0.01)
    finished(lab, "-ppn", "1", build("bulk.c"), str(8 * MIB), "3", env={"HAWSER_PORT": port})


def test_an_mtu_that_shrinks_on_the_way_during_a_long_message(make, build):
    """Nobody is told: frames that are too long for the switch are dropped."""
    lab = limited(make(hosts=2, nics=2, mtu=9000), 200, 200)
    source = lab.hosts[0]
    with begun(lab, build, 32 * MIB, UNTIL_SEEN, "packet,udp") as job:
        moved(source, 0, 4 * MIB)
        [nic.set_mtu(9000, switch=1500) for nic in lab.nics()]
        time.sleep(1)
        moved(source, 0, 4 * MIB)
        ended(lab, job)


# No two have a NIC of one name and number on one switch, and nobody else is on the first one.
UNLIKE = [{"eth0": 0, "eth1": 1, "eth2": 2}, {"enp3s0": 1}, {"fabric": 2, "eth0": 1}]


@pytest.mark.parametrize("port", ["", "packet", "packet-udp", "udp", "stream"])
def test_hosts_with_nics_of_unlike_numbers_and_names_use_those_that_reach_each_other(make, build, port):
    lab = make(hosts=3, nics=UNLIKE)
    finished(lab, "-ppn", "2", build("random.c"), "6", "40", env={"HAWSER_PORT": port})
    for nic in lab.nics():
        nic.limit(200)
    for one, other in permutations(lab.hosts, 2):
        before = sent(one)
        with begun(lab, build, 8 * MIB, 2, port, [one, other]) as job:
            ended(lab, job)
        moved = [now - was for now, was in zip(sent(one), before)]
        there = {nic.network for nic in other.nics}
        reach = [nic.network in there for nic in one.nics]
        assert [count > LITTLE_BYTES for count in moved] == reach, (one.name, other.name, moved)


def delayable(make, features):
    """Two hosts with two rails."""
    if error := features["packet"][0]:
        pytest.skip(f"not tested, no frame can be held: {error}")
    return make(hosts=2, nics=2)


def held(lab, rail):
    """Each frame over one of two rails is held for a while, and over the other none."""
    for nic in lab.nics():
        nic.faults(delay_s=0.003 if nic.network.number == rail else 0)


@pytest.mark.parametrize("slow", [0, 1])
@pytest.mark.parametrize("port", ["", "packet", "packet-udp", "udp", "stream"])
def test_short_messages_take_the_quickest_rail(make, features, build, port, slow):
    """Whichever is the first one. What goes by the other, where each frame is held, says HELLO, and once how long it takes."""
    lab = delayable(make, features)
    held(lab, slow)
    finished(lab, "-ppn", "1", build("volume.c"), "200", "30000", "one by one", env={"HAWSER_PORT": port})
    for host in lab.hosts:
        by = sent(host)
        assert by[slow] * 10 < by[1 - slow] and by[1 - slow] > 2 * MIB, by


def test_short_messages_move_when_another_rail_is_the_quickest(make, features, build):
    lab = delayable(make, features)
    source = lab.hosts[0]
    held(lab, 0)
    with mpiexec(lab, "-ppn", "1", build("volume.c"), "200", "100000000", "one by one") as job:
        moved(source, 1, MIB)
        held(lab, 1)
        moved(source, 0, MIB)
        job.send_signal(signal.SIGTERM)
        job.communicate(timeout=GRACE_OF_LABS_S)
    eventually(lambda: programs(lab) == {})


def capped(make, features, **faults):
    """Two hosts whose network gives each flow 200 Mbit/s, and passes IP alone, as clouds do."""
    if error := features["htb"][0]:
        pytest.skip(f"not tested, htb is missing: {error}")
    return make(hosts=2, ip_only=True, flow_rate_mbit=200, **faults)


def bulk(build, size):
    """So much, eight times, from the first host to the second one."""
    return "-ppn", "1", build("bulk.c"), str(size), "8"


def largest_part(nic):
    """Of all bytes of flows to a NIC."""
    flows = nic.flows().values()
    return max(flows) / sum(flows)


def tried(nic):
    """Whether bulk left by several flows, if only for a trial of the ways."""
    return len([count for count in nic.flows().values() if count > MIB // 4]) >= 3


@pytest.mark.parametrize("port, family", [("udp", "v4"), ("udp", "v6")])
def test_where_each_flow_is_held_bulk_leaves_from_several_source_ports(make, build, features, port, family):
    """By one flow 0.8 of all and more would be in it, which other ways have left; two of four may share a class of the switch."""
    lab = capped(make, features)
    if family == "v6":
        [nic.drop_addresses("v4") for nic in lab.nics()]
    finished(lab, *bulk(build, 16 * MIB), env={"HAWSER_PORT": port})
    nic = lab.hosts[1].nics[0]
    assert largest_part(nic) < 0.65 and sum(nic.flows().values()) >= 128 * MIB, nic.flows()
    # Nobody sends bulk back.
    assert sum(lab.hosts[0].nics[0].flows().values()) < 8 * MIB


def test_several_flows_are_tried_beside_other_ways(make, build, features):
    """Which way wins is found with the traffic, on whatever else this machine does meanwhile."""
    lab = capped(make, features)
    finished(lab, *bulk(build, 16 * MIB))
    nic = lab.hosts[1].nics[0]
    assert tried(nic), nic.flows()


def test_flows_that_are_held_lose_and_reorder(make, build, features):
    """faulty_port.py carries less than four flows may: they are tried, whichever way wins."""
    lab = capped(make, features, loss=0.01, reorder=0.01)
    finished(lab, *bulk(build, 8 * MIB), env={"HAWSER_PORT": "udp"})
    nic = lab.hosts[1].nics[0]
    assert tried(nic), nic.flows()
