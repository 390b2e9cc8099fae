"""The methods by which messages go: which length takes which one, and how many bytes of them are counted."""

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


def bytes_of_rank(err, rank):
    """The counters of bytes in the line of a rank, those of rails and of lengths left out, and the lines of its shares."""
    line, shares = re.search(rf"^  rank {rank}: (.*)\n((?:    .*\n)*)", err, re.MULTILINE).groups()
    counted = (item.rsplit(" ", 1) for item in line.split(", "))
    left_out = (" on rail ", " in messages ")
    counters = {name: int(count) for name, count in counted
                if name.startswith("bytes ") and not any(words in name for words in left_out)}
    return counters, re.findall(r"    of the (bytes .*)", shares)


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


# As in tests/c/one_way.c.
ONE_WAY_TURNS = 10
PACKET, STREAM, LONG_ONE = 1000, 100_000, 1_000_000
# Without reading from private memory, which a machine may do where it measures faster.
IN_PACKETS = {"HAWSER_PROCESS_VM_FROM": "1g"}
COPIED = {"bytes copied once": LONG_ONE}
EXPOSED = {"bytes sent by rendezvous": LONG_ONE, "bytes exposed to the receiver": LONG_ONE}


def percent(part, whole):
    return f"{100 * part / whole:.2f} %"


@pytest.mark.parametrize("late_turns, when", [(0, "posted"), (5, "half"), (10, "late")])
@pytest.mark.parametrize("length, memory, env, sent, received", [
    (PACKET, "private", IN_PACKETS, {}, {}),
    (STREAM, "private", IN_PACKETS, {"bytes streamed eagerly": STREAM}, {}),
    (LONG_ONE, "private", IN_PACKETS | {"HAWSER_RTR": "off"}, {"bytes sent by rendezvous": LONG_ONE}, {}),
    (LONG_ONE, "from_shared", IN_PACKETS, EXPOSED, COPIED | {"bytes read from the sender's memory": LONG_ONE}),
])
def test_the_bytes_of_each_method_are_counted(run, build, abi, late_turns, when, length, memory, env, sent, received):
    ran = run(2, build("one_way.c", abi), [length, when, memory], ["--stats"], env=env)
    assert ran.code == 0, ran
    times = {name: ONE_WAY_TURNS * count for name, count in (sent | {"bytes sent": length}).items()}
    assert bytes_of_rank(ran.err, 0)[0] == times, ran
    times = {name: ONE_WAY_TURNS * count for name, count in (received | {"bytes received": length}).items()}
    late = {"bytes of unexpected messages": late_turns * length} if late_turns else {}
    counters, shares = bytes_of_rank(ran.err, 1)
    assert counters == times | late, ran
    direct = percent(times.get("bytes copied once", 0), ONE_WAY_TURNS * length)
    posted = percent(ONE_WAY_TURNS - late_turns, ONE_WAY_TURNS)
    assert shares == [f"bytes received: {posted} found their receive posted, {direct} never lay in the library's memory"]


@pytest.mark.parametrize("late_turns, when", [(0, "posted"), (5, "half"), (10, "late")])
def test_the_write_protocol_has_its_share_of_the_bytes_sent(run, build, abi, late_turns, when):
    ran = run(2, build("one_way.c", abi), [LONG_ONE, when, "private"], ["--stats"], env=IN_PACKETS)
    assert ran.code == 0, ran
    posted_turns = ONE_WAY_TURNS - late_turns
    counters, shares = bytes_of_rank(ran.err, 0)
    expected = {"bytes sent in reply to an RTR": posted_turns, "bytes sent by rendezvous": late_turns}
    expected = {name: turns * LONG_ONE for name, turns in expected.items() if turns}
    assert counters == expected | {"bytes sent": ONE_WAY_TURNS * LONG_ONE}, ran
    methods = {"in reply to an RTR": posted_turns, "by rendezvous in packets": late_turns}
    told = [f"{percent(turns, ONE_WAY_TURNS)} {method}" for method, turns in methods.items() if turns]
    assert shares == [f"bytes sent: {', '.join(told)}"], ran


@pytest.mark.parametrize("when", ["posted", "late"])
def test_bytes_written_to_the_receive_buffer_are_counted_at_both_ends(run, build, abi, when):
    ran = run(2, build("one_way.c", abi), [LONG_ONE, when, "to_shared"], ["--stats"], env=IN_PACKETS)
    assert ran.code == 0, ran
    (sent, told), (received, _) = (bytes_of_rank(ran.err, rank) for rank in range(2))
    whole, written = ONE_WAY_TURNS * LONG_ONE, sent["bytes written to the receive buffer"]
    # The first bytes of a message come with its RTS.
    assert 0.9 * whole < written < whole and received["bytes copied once"] == written, ran
    assert sent["bytes sent by rendezvous"] == whole and "bytes exposed to the receiver" not in sent, ran
    shares = f"{percent(whole - written, whole)} by rendezvous in packets, {percent(written, whole)} written to the"
    assert told == [f"bytes sent: {shares} receive buffer"], ran
