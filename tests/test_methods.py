"""A receive that comes first announces itself, and the send replies, from HAWSER_OFFER_FROM bytes on."""

import re

import pytest

# As in tests/c/precedence.c: the lengths are 4^0 to 4^9 bytes.
LENGTHS = [4 ** power for power in range(10)]
TURNS = 20
REPLIES = "messages sent in reply to an RTR"


def counted(err, name):
    """The number in the line of all ranks; 0 if it is not there."""
    found = re.search(rf"all ranks: .*{name} (\d+)", err)
    return int(found[1]) if found else 0


@pytest.mark.parametrize("setting, offered_from", [
    ({}, 1 << 17 | 1), ({"HAWSER_OFFER_FROM": "0"}, 0), ({"HAWSER_OFFER_FROM": "1000"}, 1000),
    ({"HAWSER_RTR": "off"}, None), ({"HAWSER_RTR": "off", "HAWSER_OFFER_FROM": "0"}, None),
])
def test_a_receive_that_comes_first_is_replied_to(session, build, abi, setting, offered_from):
    # The longest messages would be read from the sender's memory on a machine where that measures faster.
    env = setting | {"HAWSER_PROCESS_VM_FROM": "1g"}
    ran = session.mpiexec(2, build("precedence.c", abi), [], ["--stats"], env=env, timeout=60)
    assert ran.code == 0, ran
    replied = [] if offered_from is None else [length for length in LENGTHS if length >= offered_from]
    assert counted(ran.err, REPLIES) == counted(ran.err, "RTRs sent") == 2 * TURNS * len(replied), ran
    assert counted(ran.err, "bytes sent in reply to an RTR") == 2 * TURNS * sum(replied), ran
    methods = ["streamed eagerly", "sent in reply to an RTR", "sent by rendezvous"]
    beyond_one_packet = sum(counted(ran.err, f"bytes {method}") for method in methods)
    assert beyond_one_packet <= counted(ran.err, "bytes sent") == 2 * TURNS * sum(LENGTHS), ran
