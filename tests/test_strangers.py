"""Strangers on the network of a job over TCP, at another host: they listen, say again what they heard, say anything, or say
nothing and stay. The job goes on meanwhile, its connections are those that it had, and its descriptors are few
(docs/protocol.md, P32, P36).

They are no processes of the ranks' own hosts: such may get a connection's very address and port, and end it by that."""

import os
import subprocess
import sys
import threading
from contextlib import ExitStack, contextmanager

import pytest
from harness import GRACE_OF_LABS_S, HERE, eventually, line_of
from test_counts import waiting

STRANGERS = [sys.executable, "-IS", HERE / "lab" / "strangers.py"]
# docs/protocol.md, P32: where the parts of a greeting begin.
PLACE, RANK, NUMBER, GREETING = 1, 4, 8, 20
FRAMES, MESSAGES = 1, 2
# Strangers that a rank hears at once.
HEARD = 64
TIMES = 1000
# After so many messages of 100 kB at the latest one goes by a direct connection, but for what keeps the machine busy.
WARM_UP = 2000
# Direct connections of a rank, there and back, which it may give up and call again where the machine is busy.
DIRECT = 2


@contextmanager
def recorder(host):
    """Hears what is said first on each connection to a host; yields a function that gives [(address, port, words)]."""
    lines = []
    with host.start([*STRANGERS, "record", "eth0"], stdout=subprocess.PIPE, text=True) as ears:
        assert line_of(ears.stdout) == "ready\n"
        listener = threading.Thread(target=lambda: lines.extend(ears.stdout))
        listener.start()
        try:
            yield lambda: [(address, port, bytes.fromhex(words)) for address, port, words in map(str.split, lines[:])]
        finally:
            ears.kill()
            listener.join()


def first(heard, kind):
    """The first connection that was opened for this; None if none was."""
    return next((call for call in heard if call[2][0] == kind), None)


def warm_up(speak, heard):
    """Ranks speak until a direct connection was opened."""
    for _ in range(WARM_UP):
        speak()
        if first(heard(), MESSAGES):
            return
    raise AssertionError(f"no direct connection after {WARM_UP} messages")


def ranks(lab, build):
    """The pids of both ranks, seen from outside."""
    words = [str(build("outage.c"))]
    return [next(pid for pid, line in host.processes().items() if line == words) for host in lab.hosts[:2]]


def descriptors(pids):
    return [len(os.listdir(f"/proc/{pid}/fd")) for pid in pids]


@contextmanager
def strangers(host, what, address, port, words, times=TIMES):
    """`times` connections from a host on which these words are said in turn; they leave at the end."""
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with host.start([*STRANGERS, what, address, port, str(times)], **streams) as they:
        print(",".join(word.hex() for word in words), file=they.stdin, flush=True)
        yield they
        they.stdin.close()
        assert they.wait(GRACE_OF_LABS_S) == 0


def speak_while(they, speak, pids, most):
    """The job goes on while they call, and has no more descriptors than that."""
    while they.poll() is None:
        speak()
        now = descriptors(pids)
        assert all(count <= bound for count, bound in zip(now, most)), (now, most)


def changed(words, at):
    return words[:at] + bytes([words[at] ^ 1]) + words[at + 1:]


def test_nobody_who_listens_to_a_job_opens_or_ends_a_connection_of_it(make, build):
    lab, counts = make(hosts=3), {}
    _, far, other = lab.hosts
    with ExitStack() as stack:
        heard = stack.enter_context(recorder(far))
        speak = stack.enter_context(waiting(lab, build, counts, port="stream", hosts=lab.hosts[:2]))
        pids = ranks(lab, build)
        warm_up(speak, heard)
        eventually(lambda: first(heard(), FRAMES))
        recorded = heard()
        before = descriptors(pids)
        (address, port, frames), (_, _, messages) = first(recorded, FRAMES), first(recorded, MESSAGES)
        forged = [changed(words, at) for words in (frames, messages) for at in (0, PLACE, RANK, NUMBER, GREETING - 1)]
        for words in ([frames, frames[:GREETING]], [messages, messages[:GREETING]], forged):
            with strangers(other, "say", address, port, words) as they:
                speak_while(they, speak, pids, [before[0] + DIRECT, before[1] + HEARD + DIRECT])
            speak()
        # It has the connection of frames that it had: the rank did not have to call again.
        known = {words[:GREETING] for words in [*forged, *(words for _, _, words in recorded)]}
        calls = {words[:GREETING] for _, _, words in heard() if words[0] == FRAMES}
        assert calls <= known, calls - known
        assert all(now <= then + DIRECT for now, then in zip(descriptors(pids), before)), (descriptors(pids), before)
    assert counts[1]["connections refused"] >= 3 * TIMES, counts
    assert "connections refused" not in counts[0] and "connections deferred" not in counts[1], counts


@pytest.mark.parametrize("said", [b"", bytes([FRAMES]) + bytes(GREETING - 2)], ids=["nothing", "half a greeting"])
def test_strangers_who_stay_take_few_descriptors_and_keep_no_peer_out(make, build, said):
    """The direct connections are opened while they are there."""
    lab, counts = make(hosts=3), {}
    _, far, other = lab.hosts
    with ExitStack() as stack:
        heard = stack.enter_context(recorder(far))
        speak = stack.enter_context(waiting(lab, build, counts, port="stream", hosts=lab.hosts[:2]))
        pids = ranks(lab, build)
        speak()
        eventually(lambda: first(heard(), FRAMES))
        before = descriptors(pids)
        address, port, _ = first(heard(), FRAMES)
        with strangers(other, "stay", address, port, [said]) as they:
            assert line_of(they.stdout) == "ready\n"
            warm_up(speak, heard)
            now = descriptors(pids)
            assert now[1] <= before[1] + HEARD + DIRECT, (now, before)
            # The kernel holds the last ones, until the rank looks for connections again.
            for _ in range(20):
                speak()
    assert counts[1]["connections refused"] >= TIMES - HEARD, counts
