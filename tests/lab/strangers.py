"""Strangers who open TCP connections to ranks, and who have listened to those of others.

  strangers.py record INTERFACE           the first bytes of each connection that somebody opens to this host, a line each:
                                          ADDRESS PORT BYTES, in hexadecimal
  strangers.py say ADDRESS PORT TIMES     opens so many connections one after the other, says on each the next words of
                                          its input's line (hexadecimal, with commas), and waits until it is ended
  strangers.py stay ADDRESS PORT TIMES    opens so many, says the same on them, and keeps them until its input ends
A recorder, and who stays, says `ready` when it is so far.
"""

import ctypes
import resource
import socket
import struct
import sys

# More than a greeting and a short frame (docs/protocol.md, P32).
FIRST = 1000
TCP = 6
# linux/socket.h, linux/bpf_common.h
SO_ATTACH_FILTER, SO_RCVBUFFORCE, BPF_RET = 26, 33, 6


def payload(packet):
    """Of a packet of IPv4: the connection's ends and what it carries; nothing of another kind of packet."""
    if len(packet) < 40 or packet[0] >> 4 != 4 or packet[9] != TCP:
        return None, b""
    head, total = 4 * (packet[0] & 15), struct.unpack_from(">H", packet, 2)[0]
    ends = packet[12:20] + packet[head:head + 4]
    return ends, packet[head + 4 * (packet[head + 12] >> 4):total or len(packet)]


def record(interface):
    ears = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x0800))
    # Of each packet its beginning, and room for many: a recorder that is late misses none.
    ears.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 64 << 20)
    keep = ctypes.create_string_buffer(struct.pack("HBBI", BPF_RET, 0, 0, 100 + FIRST))
    ears.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, struct.pack("HxxxxxxP", 1, ctypes.addressof(keep)))
    ears.bind((interface, 0x0800))
    print("ready", flush=True)
    seen = set()
    while True:
        ends, said = payload(ears.recv(1 << 12))
        if said and ends not in seen:
            seen.add(ends)
            port, = struct.unpack_from(">H", ends, 10)
            print(socket.inet_ntoa(ends[4:8]), port, said[:FIRST].hex(), flush=True)


def opened(address, port, words):
    """A connection on which the words were said, as far as they were heard."""
    call = socket.create_connection((address, int(port)), timeout=60)
    try:
        call.sendall(words)
    except ConnectionError:
        pass  # it has been ended already
    return call


def lines():
    return [bytes.fromhex(line) for line in sys.stdin.readline().split(",")]


def say(address, port, times):
    words = lines()
    for time in range(int(times)):
        with opened(address, port, words[time % len(words)]) as call:
            try:
                assert call.recv(1) == b"", "somebody has answered a stranger"
            except ConnectionResetError:
                pass


def stay(address, port, times):
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    words = lines()
    kept = [opened(address, port, words[time % len(words)]) for time in range(int(times))]
    print("ready", flush=True)
    sys.stdin.read()
    del kept


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
