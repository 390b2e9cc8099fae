"""MPI between hosts over Ethernet, in a lab: C programs that check all their data, by every port, on good and on bad networks."""

import re

import pytest
from harness import GRACE_OF_LABS_S, eventually
from test_hosts import mpiexec, programs

PORTS = ["", "packet", "udp", "stream"]


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


@pytest.mark.parametrize("fault", ["loss", "corrupt", "duplicate", "reorder"])
def test_a_bad_network_changes_nothing_but_speed(make, build, fault):
    lab = make(hosts=2, **{fault: 0.01})
    finished(lab, "-ppn", "1", build("random.c"), "3", "40")


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
