"""A switch port that gives each flow a rate and a buffer of its own, as clouds do: HTB, with a class for each of the low bits of the source
port of TCP and UDP, over IPv4 and IPv6. Two flows whose ports end alike share one. What has no ports has no limit.

nic.py asks for it; after it: `tc` alone.
"""

import re

from .enter import done, in_network_of, started, tc

# As many as make it unlikely that two of four source ports which a kernel chose end alike (0.023); a power of two.
CLASSES = 256
FIRST = 0x100  # minor number of the first class
# Where the source port begins in a packet without options, and the mask of its low bits in the word there.
PROTOCOLS = {"ip": 20, "ipv6": 40}
MASK = (CLASSES - 1) << 16
UNLIMITED = "100gbit"
QUANTUM_BYTES = 60000  # what HTB takes of one class at a time; by itself it complains of rates like these


def limit(pid, port, rate_mbit, burst_bytes, buffer_bytes):
    """Each flow that leaves by `port` for the host is sent at this rate, and so many bytes of it are held."""
    rate = f"rate {rate_mbit}mbit burst {burst_bytes} cburst {burst_bytes} quantum {QUANTUM_BYTES}"
    lines = [f"qdisc replace dev {port} root handle 1: htb",
             f"class add dev {port} parent 1: classid 1:1 htb rate {UNLIMITED} quantum {QUANTUM_BYTES}"]
    for nth in range(CLASSES):
        lines += [f"class add dev {port} parent 1:1 classid 1:{FIRST + nth:x} htb {rate}",
                  f"qdisc add dev {port} parent 1:{FIRST + nth:x} bfifo limit {buffer_bytes}"]
    for nth, (protocol, at) in enumerate(PROTOCOLS.items()):
        table, filters = 2 + nth, f"filter add dev {port} parent 1: prio {2 + nth}"
        lines.append(f"{filters} handle {table}: protocol {protocol} u32 divisor {CLASSES}")
        lines += [f"{filters} protocol {protocol} u32 ht {table}:{low:x}: match u8 0 0 at 0 flowid 1:{FIRST + low:x}" for low in range(CLASSES)]
        lines.append(f"{filters} protocol {protocol} u32 ht 80{nth}:: match u8 0 0 at 0 hashkey mask {MASK:#010x} at {at} link {table}:")
    done(started([*in_network_of(pid), "tc", "-batch", "-"]), "\n".join(lines) + "\n")


def counters(pid, port):
    """Bytes that left for the host, by the low bits of their source port; those of which none came left out."""
    found = re.findall(r"class htb 1:(\w+) .*\n Sent (\d+) bytes", tc(pid, "-s", "class", "show", "dev", port))
    return {int(minor, 16) - FIRST: int(sent) for minor, sent in found if int(minor, 16) >= FIRST and int(sent)}
