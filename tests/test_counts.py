"""What ranks count of the network between them (`--stats`): what was lost, what was forged and by what it was told, what the
kernel dropped."""

import os
import re
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
from harness import GRACE_OF_LABS_S, HERE, line_of
from test_hosts import mpiexec, part

FRAMES = [sys.executable, "-IS", HERE / "lab" / "frames.py"]
# In front of a frame of the port `packet`: Ethernet's header, the job's number, the selector.
HEAD = 20
# And of `udp` and `packet-udp`, over IPv4.
UDP_HEAD = 42
HEADS = {"packet": HEAD, "packet-udp": UDP_HEAD, "udp": UDP_HEAD}
# A DATA frame, docs/protocol.md: where its parts begin, and its first byte.
FLAGS, LENGTH, PATH, TAG, PAYLOAD = 1, 2, 4, 24, 32
DATA = 0x23
UNCHECKED = 8
TIMES = 3
# The lab's NICs take no longer ones.
FRAME_BYTES = 1500


def counted(err):
    """What each rank counted, as {rank: {name: count}}."""
    lines = re.findall(r"^  rank (\d+): (.*)$", err, re.MULTILINE)
    return {int(rank): {name: int(count) for name, count in (part.rsplit(" ", 1) for part in parts.split(", "))}
            for rank, parts in lines}


@contextmanager
def waiting(lab, build, counts, port="", crc="auto", hosts=None):
    """Two ranks on two hosts that wait: yields a function that lets them speak. `counts` gets what they counted at the end."""
    options = ["--stats", "-genv", "HAWSER_PORT", port, "-genv", "HAWSER_CRC", crc, "-timeout", "60"]
    with mpiexec(lab, *options, build("outage.c"), hosts=hosts, stdin=subprocess.PIPE) as job:

        def speak():
            print(file=job.stdin, flush=True)
            assert line_of(job.stdout) == "there and back\n"

        assert line_of(job.stdout) == "all are there\n"
        yield speak
        speak()
        _, err = job.communicate(timeout=GRACE_OF_LABS_S)
    assert job.returncode == 0, err
    counts.update(counted(err))


def heard(host, nic, speak, port="packet"):
    """A DATA frame with payload that comes to a host while its ranks speak, as the port sends it."""
    ethertype, head = "88b5" if port == "packet" else "0800", HEADS[port]
    with host.start([*FRAMES, "hear", nic, ethertype, "1000"], stdout=subprocess.PIPE, text=True) as ears:
        assert line_of(ears.stdout) == "ready\n"
        speak()
        for line in ears.stdout:
            frame = bytes.fromhex(line)
            if frame[head:head + 1] == bytes([DATA]) and frame[head + LENGTH] | frame[head + LENGTH + 1]:
                ears.kill()
                return frame
    raise AssertionError("nothing was heard")


def changed(frame, at, *to):
    return frame[:at] + bytes(to) + frame[at + len(to):]


def forgeries(frame):
    """Frames that are wrong in one way each, made of a right one, by the reason for which they are dropped."""
    return {
        "short of a header": frame[:PAYLOAD - 1],
        "of another version": changed(frame, 0, 0x13),
        "of unknown kind": changed(frame, 0, 0x2F),
        "with unknown flags": changed(frame, FLAGS, 0x80),
        "with a wrong length": changed(frame, LENGTH, 0xFF, 0xFF),
        "with a wrong tag": changed(frame, TAG, frame[TAG] ^ 1),
        "with a wrong CRC": changed(frame, PAYLOAD, frame[PAYLOAD] ^ 1),
        "of no open path": changed(frame, PATH + 3, frame[PATH + 3] ^ 1),
        "as duplicates": frame,
    }


def udp_port(host, address):
    """The port of the one UDP socket at an address of a host."""
    packed = "".join(f"{int(number):02X}" for number in reversed(address.split(".")))
    found = re.findall(rf"^ *\d+: {packed}:(\w{{4}}) ", Path(f"/proc/{host.pid}/net/udp").read_text(), re.MULTILINE)
    assert len(found) == 1, found
    return int(found[0], 16)


def lines(frames):
    return "".join(f"{frame.hex()}\n" for frame in frames)


@pytest.mark.parametrize("port, crc, checked", [("packet", "auto", True), ("packet", "off", False),
                                                ("packet-udp", "auto", True), ("packet-udp", "off", False),
                                                ("udp", "auto", False), ("udp", "on", True)])
def test_payloads_have_a_crc_by_wish(make, build, port, crc, checked):
    lab = make(hosts=2)
    with waiting(lab, build, {}, port, crc) as speak:
        frame = heard(lab.hosts[1], "eth0", speak, port)
    flags = frame[HEADS[port] + FLAGS]
    assert (flags & UNCHECKED == 0) == checked, frame[:80].hex()


@pytest.mark.parametrize("way, ports", [("frames", "packet,udp"), ("datagrams", "packet,udp"), ("datagrams", "packet-udp"),
                                        ("datagrams", "udp")])
def test_what_is_forged_is_dropped_and_counted_by_its_reason(make, build, way, ports):
    lab, counts, port = make(hosts=2), {}, ports.partition(",")[0]
    near, far = lab.hosts
    with waiting(lab, build, counts, ports) as speak:
        frame = heard(far, "eth0", speak, port)
        forged = forgeries(frame[HEADS[port]:])
        to = "eth0" if way == "frames" else f"{far.nics[0].v4}:{udp_port(far, far.nics[0].v4)}"
        head = frame[:HEAD] if way == "frames" else b""
        near.run([*FRAMES, "say", to, TIMES], input=lines(head + one for one in forged.values()), check=True)
    dropped = {name.removeprefix("frames dropped "): count for name, count in counts[1].items() if "dropped" in name}
    # What was late for want of a core comes again by itself, and a frame may overtake the WELCOME that opens its path.
    also = {"as duplicates", "of no open path"}
    assert all(dropped.pop(reason) >= TIMES for reason in also), counts
    assert dropped == dict.fromkeys(set(forged) - also, TIMES), counts


def test_what_the_kernel_drops_is_counted(make, build):
    """A rank is stopped, and somebody fills its buffers."""
    lab, counts = make(hosts=2), {}
    near, far = lab.hosts
    with waiting(lab, build, counts) as speak:
        frame = heard(far, "eth0", speak)
        rank = part(far, "outage")
        os.kill(rank, signal.SIGSTOP)
        near.run([*FRAMES, "say", "eth0", "1000"], input=lines([frame[:HEAD] + bytes(1400)]), check=True)
        os.kill(rank, signal.SIGCONT)
    # A ring holds 164 frames of this MTU.
    assert 500 < counts[1]["frames dropped by the kernel"] <= 1000, counts
    assert "frames dropped by the kernel" not in counts[0], counts


def test_callers_without_a_greeting_of_the_job_are_counted(make, build):
    lab, counts = make(hosts=2), {}
    near, far = lab.hosts
    with waiting(lab, build, counts, port="stream"):
        listening = Path(f"/proc/{far.pid}/net/tcp").read_text()
        address = far.nics[0].v4
        packed = "".join(f"{int(number):02X}" for number in reversed(address.split(".")))
        port, = re.findall(rf": {packed}:(\w{{4}}) 0{{8}}:0{{4}} 0A ", listening)
        call = ("import socket, sys; call = socket.create_connection((sys.argv[1], int(sys.argv[2], 16)));"
                "call.sendall(b'no greeting of this.'); assert call.recv(1) == b''")
        for _ in range(TIMES):
            near.run([sys.executable, "-IS", "-c", call, address, port], check=True)
    assert counts[1]["connections refused"] == TIMES and "connections refused" not in counts[0], counts


@pytest.mark.parametrize("port", ["packet", "udp"])
def test_what_is_lost_is_counted_where_it_was_sent(make, build, port):
    """Rank 0 sends 2 MB, in 1400 frames and more."""
    lab = make(hosts=2, loss=0.05)
    options = ["--stats", "-genv", "HAWSER_PORT", port, "-timeout", "60"]
    with mpiexec(lab, *options, build("volume.c"), "10000", "200") as job:
        _, err = job.communicate(timeout=GRACE_OF_LABS_S + 60)
    counts = counted(err)
    assert job.returncode == 0 and counts[0]["frames sent"] > 1400, err
    assert 1400 * 0.05 / 2 < counts[0]["frames retransmitted"] < counts[0]["frames sent"] / 2, counts


@pytest.mark.parametrize("loss", [0, 0.05])
def test_tools_read_the_bytes_of_each_rail_and_what_was_lost(make, build, abi, loss):
    """By MPI_T, while the program runs; two rails, and beside them what their NICs have counted. Not by streams, which may come to
    an address of one rail by the NIC of the other."""
    lab = make(hosts=2, nics=2, loss=loss)
    options = ["-genv", "HAWSER_RAILS", "eth0,eth1", "-genv", "HAWSER_PORT", "packet,udp", "-timeout", "60"]
    before = [nic.counters()["tx_bytes"] for nic in lab.hosts[0].nics]
    with mpiexec(lab, *options, build("tool_rails.c", abi), "10000", "1000") as job:
        out, err = job.communicate(timeout=GRACE_OF_LABS_S + 60)
    by_nics = [nic.counters()["tx_bytes"] - was for nic, was in zip(lab.hosts[0].nics, before)]
    assert (job.returncode, err) == (0, ""), (out, err)
    counts = {(int(rank), name): int(value) for rank, name, value in map(str.split, out.splitlines())}
    sent, received = ([value for (of, name), value in counts.items() if of == rank and name.startswith(f"bytes_{way}_on_rail_")]
                      for rank, way in ((0, "sent"), (1, "received")))
    assert sent[2:] == received[2:] == [0] * 6 and min(sent[:2] + received[:2]) > 1_000_000, counts
    # A NIC counts the headers in front of frames too, of a run that it cuts once, and all of the job's end.
    assert all(0.95 < by_nic / count < 1.2 for count, by_nic in zip(sent, by_nics)), (counts, by_nics)
    lost, frames = (counts[0, name] for name in ("frames_retransmitted", "frames_sent"))
    # Frames that are late for want of a core count as lost too and go twice, perhaps all by the same rail. A count is told a little
    # later than it is counted: each rank reads its own once the messages' bytes are in it, and as many as all headers may be missing,
    # perhaps all of one rail.
    late, more_than_data = lost * FRAME_BYTES, max(sum(sent), sum(received)) - 10_000 * 1_000
    unlike = [came - went for came, went in zip(received[:2], sent[:2])]
    assert loss or more_than_data - late < 1_000_000 and all(abs(more) <= more_than_data for more in unlike), (unlike, late, counts)
    assert loss / 2 * frames <= lost <= frames / 2, counts


def test_a_job_of_one_host_counts_nothing_of_networks(run, build):
    told = counted(run(2, build("random.c"), ["1", "5"], options=["--stats"]).err)
    assert len(told) == 2 and not any("frames" in name for rank in told.values() for name in rank), told
