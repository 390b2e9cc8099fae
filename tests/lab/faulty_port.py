"""faulty_port.py INNER OUTER KEEPER: a switch port that does wrong, for as long as the process KEEPER lives.

It carries frames between INNER (towards the bridge) and OUTER (towards the host); of those that leave for the host it loses,
corrupts, duplicates and reorders a share, and delays all.

nic.py starts it in the switch's namespace, in a kernel without netem, and speaks lines of JSON with it: a dictionary
of shares (0 to 1) by the names of FAULTS, and of the seconds of DELAY; the answer is how many frames it carried and hit so far. It sees raw frames
alone: TCP is hit like everything else. Each fault is drawn for each frame by itself.
"""

import collections
import json
import os
import random
import select
import socket
import sys
import time

FAULTS = ("loss", "corrupt", "duplicate", "reorder")
DELAY = "delay_s"  # for which every frame is held, in the order in which they came
# include/uapi/linux/if_ether.h, if_packet.h, asm-generic/socket.h
ETH_P_ALL, ETH_HLEN = 3, 14
SOL_PACKET, PACKET_IGNORE_OUTGOING = 263, 23
SO_RCVBUFFORCE = 33
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
            bit = random.randrange(ETH_HLEN * 8, len(frame) * 8)
            frame[bit // 8] ^= 1 << bit % 8
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
