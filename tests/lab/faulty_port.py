"""faulty_port.py INNER OUTER KEEPER: a switch port that does wrong, for as long as the process KEEPER lives.

It carries frames between INNER (towards the bridge) and OUTER (towards the host); of those that leave for the host it loses,
corrupts, rewrites, duplicates and reorders a share, and delays all.

nic.py starts it in the switch's namespace, in a kernel without netem, and speaks lines of JSON with it: a dictionary
of shares (0 to 1) by the names of FAULTS, and of the seconds of DELAY; the answer is how many frames it carried and hit so far. It sees raw frames
alone: TCP is hit like everything else. Each fault is drawn for each frame by itself. To rewrite is to change a bit that
no checksum of the network's finds: of what UDP or TCP carries, whose checksums are made good, or of a frame that is not
of IP.
"""

import collections
import json
import os
import random
import select
import socket
import struct
import sys
import time

FAULTS = ("loss", "corrupt", "rewrite", "duplicate", "reorder")
DELAY = "delay_s"  # for which every frame is held, in the order in which they came
# include/uapi/linux/if_ether.h, if_packet.h, asm-generic/socket.h
ETH_P_ALL, ETH_HLEN = 3, 14
SOL_PACKET, PACKET_IGNORE_OUTGOING = 263, 23
SO_RCVBUFFORCE = 33
# linux/if_ether.h, linux/in.h; bytes of an IPv6 header, of UDP's, and where a checksum stands in UDP's and TCP's.
ETH_P_IP, ETH_P_ARP, ETH_P_IPV6 = 0x0800, 0x0806, 0x86DD
TCP, UDP = 6, 17
IPV6_BYTES, UDP_BYTES = 40, 8
SUM_AT = {UDP: 6, TCP: 16}
FRAME_MAX_BYTES = 1 << 16
BURST = 64  # frames taken from one side before the other side is looked at
BUFFER_BYTES = 8 << 20
# Of a failure the innermost so many calls are told: a pipe takes them (4 KiB at least), which nobody reads before this process has ended.
TOLD_CALLS = 10
# A frame that is held back lets up to so many pass it, and goes on its way after so long where none follow.
PASSED_MAX = 8
HELD_MAX_S = 0.005


def port(name):
    packets = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    packets.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
    try:
        packets.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, BUFFER_BYTES)
    except PermissionError:  # not root of the machine: as much as anybody gets
        packets.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER_BYTES)
    packets.setblocking(False)
    packets.bind((name, ETH_P_ALL))
    return packets


def frames(side):
    """What has arrived, each frame in the same buffer."""
    buffer = bytearray(FRAME_MAX_BYTES)
    for _ in range(BURST):
        try:
            size = side.recv_into(buffer)
        except OSError:
            return  # none left, or the port is down
        yield memoryview(buffer)[:size]


def send(side, frame):
    try:
        side.send(frame)
    except OSError:
        pass  # no room, cable pulled or too long for this port: a switch drops it


def flip(frame, begin, end):
    bit = random.randrange(begin * 8, end * 8)
    frame[bit // 8] ^= 1 << bit % 8


def rewrite(frame):
    """Changes a bit where no checksum of the network's finds it; whether there is such a bit."""
    kind, segment = int.from_bytes(frame[12:14], "big"), transport(frame)
    if segment is None:
        if kind in (ETH_P_IP, ETH_P_ARP, ETH_P_IPV6):
            return False
        flip(frame, ETH_HLEN, len(frame))
        return True
    protocol, addresses, begin, end = segment
    head = UDP_BYTES if protocol == UDP else (frame[begin + 12] >> 4) * 4
    if begin + head >= end:
        return False
    flip(frame, begin + head, end)
    at = begin + SUM_AT[protocol]
    frame[at:at + 2] = bytes(2)
    if protocol == TCP or kind == ETH_P_IPV6:
        pseudo = addresses + bytes((0, protocol)) + (end - begin).to_bytes(2, "big")
        frame[at:at + 2] = checksum(pseudo + bytes(frame[begin:end])).to_bytes(2, "big")
    return True


def transport(frame):
    """Of a frame with a whole segment of UDP or TCP: which of the two, the addresses, where it begins and ends. None:
    it has none."""
    kind, ip = int.from_bytes(frame[12:14], "big"), frame[ETH_HLEN:]
    if kind == ETH_P_IP:
        head, end, protocol, addresses = (ip[0] & 15) * 4, int.from_bytes(ip[2:4], "big"), ip[9], ip[12:20]
        if int.from_bytes(ip[6:8], "big") & 0x3FFF:
            return None  # a fragment
    elif kind == ETH_P_IPV6:
        head, end, protocol, addresses = IPV6_BYTES, IPV6_BYTES + int.from_bytes(ip[4:6], "big"), ip[6], ip[8:40]
    else:
        return None
    if protocol not in SUM_AT or end > len(ip):
        return None
    return protocol, bytes(addresses), ETH_HLEN + head, ETH_HLEN + end


def checksum(data):
    """The internet's (RFC 1071), as UDP and TCP write it."""
    total = sum(struct.unpack(f"!{(len(data) + 1) // 2}H", data + bytes(len(data) % 2)))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF or 0xFFFF


class Faults:
    def __init__(self, outer):
        self.outer = outer
        self.share = dict.fromkeys((*FAULTS, DELAY), 0.0)
        self.counts = dict.fromkeys(("carried", *FAULTS), 0)
        self.held = []  # [frame, how many may still pass it, when it goes at last]
        self.delayed = collections.deque()  # (when it goes, frame)

    def hits(self, fault):
        hit = random.random() < self.share[fault]
        self.counts[fault] += hit
        return hit

    def take(self, frame):
        if self.share[DELAY] or self.delayed:
            self.delayed.append((time.monotonic() + self.share[DELAY], bytearray(frame)))
        else:
            self.pass_on(frame)

    def pass_on(self, frame):
        self.counts["carried"] += 1
        if self.hits("loss"):
            return
        if self.hits("corrupt"):
            flip(frame, ETH_HLEN, len(frame))
        if self.share["rewrite"] and random.random() < self.share["rewrite"]:
            self.counts["rewrite"] += rewrite(frame)
        if self.hits("duplicate"):
            send(self.outer, frame)
        if self.hits("reorder"):
            self.held.append([bytes(frame), random.randint(1, PASSED_MAX), time.monotonic() + HELD_MAX_S])
            return
        send(self.outer, frame)
        for one in self.held:
            one[1] -= 1
        self.release_held()

    def due_s(self):
        """How long nothing needs to be done by itself."""
        delay_s = [max(0.0, self.delayed[0][0] - time.monotonic())] if self.delayed else []
        return min([HELD_MAX_S] * bool(self.held) + delay_s, default=None)

    def release(self):
        now = time.monotonic()
        while self.delayed and self.delayed[0][0] <= now:
            self.pass_on(self.delayed.popleft()[1])
        self.release_held()

    def release_held(self):
        if self.held:
            now = time.monotonic()
            for one in self.held:
                if one[1] <= 0 or one[2] <= now:
                    send(self.outer, one[0])
            self.held = [one for one in self.held if one[1] > 0 and one[2] > now]


def main():
    sys.tracebacklimit = TOLD_CALLS
    inner, outer = port(sys.argv[1]), port(sys.argv[2])
    faults = Faults(outer)
    keeper = os.pidfd_open(int(sys.argv[3]))
    while True:
        readable = select.select([inner, outer, sys.stdin, keeper], [], [], faults.due_s())[0]
        if keeper in readable:
            return  # or the namespace would live on with this process
        if sys.stdin in readable:
            line = sys.stdin.readline()
            if not line:
                return
            faults.share.update(json.loads(line))
            print(json.dumps(faults.counts), flush=True)
        if outer in readable:
            for frame in frames(outer):
                send(inner, frame)
        if inner in readable:
            for frame in frames(inner):
                faults.take(frame)
        faults.release()


if __name__ == "__main__":
    main()
