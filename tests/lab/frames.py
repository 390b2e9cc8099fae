"""Frames of others, for tests that forge: hears what comes to a host, and says to one whatever it is given.

  frames.py hear INTERFACE TYPE COUNT        frames of an EtherType (hexadecimal) that come in, a line each, in hexadecimal
  frames.py say INTERFACE [TIMES]            sends each line of its input as a frame, so many times
  frames.py say ADDRESS:PORT [TIMES]         the same as datagrams
A listener says `ready` first.
"""

import socket
import sys


def hear(interface, kind, count):
    ears = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(int(kind, 16)))
    ears.bind((interface, int(kind, 16)))
    print("ready", flush=True)
    for _ in range(int(count)):
        print(ears.recv(1 << 16).hex(), flush=True)


def say(to, times=1):
    if ":" in to:
        address, port = to.rsplit(":", 1)
        mouth = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        mouth.connect((address, int(port)))
    else:
        mouth = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        mouth.bind((to, 0))
    frames = [bytes.fromhex(line) for line in sys.stdin]
    for _ in range(int(times)):
        for frame in frames:
            mouth.send(frame)


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
