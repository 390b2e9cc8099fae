"""Traffic of the lab's tests: sends, receives and counts over UDP and TCP, without anything of ours.

  traffic.py udp-receive ADDRESS PORT            until its input ends; then what arrived, as JSON
  traffic.py udp-send ADDRESS PORT COUNT BYTES   datagrams that carry their number, and no UDP checksum
  traffic.py tcp-receive ADDRESS PORT            one connection; size and digest of what it brought, as JSON
  traffic.py tcp-send ADDRESS PORT BYTES         random data; its size and digest, and the seconds
  traffic.py greet PORT                          says to every connection what its own name is, until its input ends
  traffic.py ask PORT FROM-TO...                 connects from an address to another, a line each: the name
  traffic.py sniff INTERFACE                     how many frames each Ethernet address sends to it, until its input ends
A receiver says `ready` first.
"""

import collections
import hashlib
import ipaddress
import json
import os
import select
import socket
import struct
import sys
import threading
import time

SO_NO_CHECK = 11  # asm-generic/socket.h: a corrupted datagram is to arrive
NUMBER = struct.Struct("!Q")
# The receiver's socket buffer is the only one that no test wants to overflow: bursts are short.
BURST, PAUSE_S = 32, 0.001
QUIET_S = 0.5  # longer than anything is held back in the lab
CONNECT_S = 5
ETH_P_ALL, ETHERNET_BYTES = 3, 14  # linux/if_ether.h


def bound(kind, address, port):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    sock = socket.socket(family, kind)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind((address, port))
    return sock


def body(number, size):
    return NUMBER.pack(number) + (b"%d," % number * size)[:size - NUMBER.size]


def udp_receive(address, port):
    sock = bound(socket.SOCK_DGRAM, address, int(port))
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
    print("ready", flush=True)
    arrived, wrong, late, last, size = collections.Counter(), 0, 0, -1, 0
    waiting = [sys.stdin, sock]
    while readable := select.select(waiting, [], [], None if sys.stdin in waiting else QUIET_S)[0]:
        if sock in readable:
            data = sock.recv(1 << 16)
            size += len(data)
            number = NUMBER.unpack_from(data)[0]
            if data != body(number, len(data)):
                wrong += 1
                continue
            arrived[number] += 1
            late += number < last
            last = max(last, number)
        elif sys.stdin in readable:
            waiting.remove(sys.stdin)
    again = sum(count - 1 for count in arrived.values())
    print(json.dumps({"intact": len(arrived), "wrong": wrong, "late": late, "again": again, "bytes": size}))


def udp_send(address, port, count, size):
    sock = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM)
    sock.setsockopt(socket.SOL_SOCKET, SO_NO_CHECK, 1)
    for number in range(int(count)):
        sock.sendto(body(number, int(size)), (address, int(port)))
        if number % BURST == 0:
            time.sleep(PAUSE_S)


def tcp_receive(address, port):
    listener = bound(socket.SOCK_STREAM, address, int(port))
    listener.listen()
    print("ready", flush=True)
    sock = listener.accept()[0]
    digest, size = hashlib.sha256(), 0
    while block := sock.recv(1 << 20):
        digest.update(block)
        size += len(block)
    print(json.dumps({"bytes": size, "digest": digest.hexdigest()}))


def tcp_send(address, port, size):
    sock = socket.create_connection((address, int(port)))
    data = os.urandom(int(size))
    begin = time.monotonic()
    sock.sendall(data)
    sock.shutdown(socket.SHUT_WR)
    sock.recv(1)  # the far end has all
    seconds = time.monotonic() - begin
    print(json.dumps({"bytes": len(data), "digest": hashlib.sha256(data).hexdigest(), "seconds": seconds}))


def sniff(interface):
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
    sock.bind((interface, 0))
    print("ready", flush=True)
    count = collections.Counter()
    while sys.stdin not in (readable := select.select([sys.stdin, sock], [], [])[0]) or sock in readable:
        _, (_, _, way, _, mac) = sock.recvfrom(ETHERNET_BYTES)
        count[mac.hex(":")] += way == socket.PACKET_HOST
    print(json.dumps(count))


def greet(port):
    listener = socket.create_server(("::", int(port)), family=socket.AF_INET6, dualstack_ipv6=True)

    def serve():
        while True:
            connection, _ = listener.accept()
            connection.sendall(socket.gethostname().encode())
            connection.close()

    threading.Thread(target=serve, daemon=True).start()
    print("ready", flush=True)
    sys.stdin.read()


def ask(port, *pairs):
    for pair in pairs:
        source, target = pair.split("-")
        assert ipaddress.ip_address(source).version == ipaddress.ip_address(target).version
        try:
            with socket.create_connection((target, int(port)), CONNECT_S, (source, 0)) as connection:
                print(connection.recv(100).decode(), flush=True)
        except OSError as error:
            print(error, flush=True)


if __name__ == "__main__":
    globals()[sys.argv[1].replace("-", "_")](*sys.argv[2:])
