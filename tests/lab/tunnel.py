"""A tunnel that works, unlike the decoy: between two hosts, a tun device at each, packets carried by processes of this file.

  tunnel.py NAME SOCKET   in the network of a host: carries packets between the tun device and the other end's socket, until killed
Its devices have no link address, as those of WireGuard and OpenVPN.
"""

import fcntl
import os
import select
import socket
import struct
import sys
from contextlib import contextmanager, suppress

TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000  # linux/if_tun.h
PACKET_BYTES = 1 << 16


@contextmanager
def between(first, second, name, network="10.99.0"):
    """During the block the hosts reach each other at NETWORK.1 and NETWORK.2."""
    from .enter import in_network_of, ip, started

    ends = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    carriers = []
    try:
        for number, (host, end) in enumerate(zip((first, second), ends), 1):
            command = [*in_network_of(host.pid), sys.executable, "-IS", __file__, name, end.fileno()]
            carriers.append(started(command, pass_fds=[end.fileno()]))
            assert carriers[-1].stdout.readline() == "ready\n"
            ip(host.pid, f"addr add {network}.{number}/24 dev {name}", f"link set {name} up")
        yield
    finally:
        for carrier in carriers:
            carrier.kill()
            carrier.communicate()
        for end in ends:
            end.close()


def carry(name, other):
    tunnel = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(tunnel, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TUN | IFF_NO_PI))
    print("ready", flush=True)
    ways = {tunnel: other, other: tunnel}
    while True:
        for source in select.select(ways, [], [])[0]:
            with suppress(OSError):  # not up yet: lost, as on any network
                os.write(ways[source], os.read(source, PACKET_BYTES))


if __name__ == "__main__":
    carry(sys.argv[1], int(sys.argv[2]))
