"""offloads.py on|off NIC...: what a NIC's driver would do for the kernel (segmentation, checksums), switched.

Off, every frame that leaves the NIC is one wire frame with its checksum in it, which a fault can hit singly. Runs in
the host's network namespace, started by lab.py; there is no ethtool on every machine, the kernel's call is as short.
"""

import array
import fcntl
import socket
import struct
import sys

SIOCETHTOOL = 0x8946
# include/uapi/linux/ethtool.h, in the order in which they may be switched on: later ones need earlier ones
FEATURES = {"tx-checksum": 0x17, "scatter-gather": 0x19, "tso": 0x1F, "gso": 0x24, "gro": 0x2C}


def main():
    on = sys.argv[1] == "on"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        for nic in sys.argv[2:]:
            for name, command in sorted(FEATURES.items(), reverse=not on, key=lambda f: list(FEATURES).index(f[0])):
                if name == "gro" and on:
                    continue  # off by default on veth
                value = array.array("B", struct.pack("II", command, on))
                request = struct.pack("16sP", nic.encode(), value.buffer_info()[0])
                fcntl.ioctl(any_socket, SIOCETHTOOL, request)


if __name__ == "__main__":
    main()
