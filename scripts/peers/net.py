#!/usr/bin/env python3
"""Ping-pong between two network namespaces over veth beside Intel MPI over TCP, a rank pinned to each of two cores.

  net.py PREFIX [--mtu N] [--mbit N] [--rounds N] [--ms MS] [--peers NAME,...] [--variant ...] [BYTES...]

Needs root, and the peers in ~/.cache/hawser-peers/NAME (docs/measuring.md says how; HAWSER_PEERS names another folder);
without pinning, as `compare net` has it, Intel MPI takes 100 us a message here. Each library runs for MS milliseconds a size, in
turns, N rounds; --mbit limits the ports of a switch between them. Half round trips in us, "best decile | median" and
CPU seconds a GB of one end: medians of the rounds (of the best decile the least). --variant as in compare.py.
"""
import argparse, pathlib, statistics, subprocess, time

from compare import HERE, build, rows_of, systems

NAMESPACES, SWITCH = ("hwnet1", "hwnet2"), "hwnetsw"
ADDRESS = "10.79.3"
SIZES = [1, 1023, 4095, 8191, 16383, 32767, 65535, 131071, 262143, 524287, 1048575, 4194303]
PEER = {"mpich": {"FI_PROVIDER": "tcp", "MPIR_CVAR_CH4_NETMOD": "ofi", "MPIR_CVAR_NOLOCAL": "1"},
        "impi": {"FI_PROVIDER": "tcp", "I_MPI_FABRICS": "ofi", "I_MPI_PIN": "0"}}
# The buffer of a switch port, of an inexpensive switch, and what the port sends at once at 1 Gbit/s: tests/lab/nic.py.
BURST, BUFFER = "62500", "256kb"
# Where the kernel has not taken note of the link yet, libfabric listens at 127.0.0.1, and the job never begins.
SETTLED_AFTER_S = 3


def ip(*words):
    subprocess.run(["ip", *map(str, words)], check=True)


def take_down():
    for name in [*NAMESPACES, SWITCH]:
        subprocess.run(["ip", "netns", "del", name], stderr=subprocess.DEVNULL)


def put_up(mtu, mbit):
    """A cable, or a switch whose ports send at `mbit`: frames of a raw port pass by the queues of the NIC that sends them."""
    take_down()
    for name in NAMESPACES:
        ip("netns", "add", name)
        ip("-n", name, "link", "set", "lo", "up")
    queues = ("numtxqueues", 2, "numrxqueues", 2)
    if mbit:
        ip("netns", "add", SWITCH)
        ip("-n", SWITCH, "link", "add", "bridge", "type", "bridge")
        ip("-n", SWITCH, "link", "set", "bridge", "mtu", mtu, "up")
        for name in NAMESPACES:
            ip("link", "add", "e0", "netns", name, *queues, "type", "veth", "peer", "name", name, "netns", SWITCH, *queues)
            ip("-n", SWITCH, "link", "set", name, "mtu", mtu, "master", "bridge", "up")
            limits = ["rate", f"{mbit}mbit", "burst", BURST, "limit", BUFFER]
            ip("netns", "exec", SWITCH, "tc", "qdisc", "add", "dev", name, "root", "tbf", *limits)
    else:
        ip("link", "add", "e0", "netns", NAMESPACES[0], *queues, "type", "veth", "peer", "name", "e0", "netns", NAMESPACES[1], *queues)
    for number, name in enumerate(NAMESPACES, 1):
        ip("-n", name, "addr", "add", f"{ADDRESS}.{number}/24", "dev", "e0")
        ip("-n", name, "link", "set", "e0", "mtu", mtu, "up")
    time.sleep(SETTLED_AFTER_S)


def run(system, words, timeout_s):
    """{bytes: (best, median, CPU seconds a GB)} of one run."""
    name, prefix, extra = system
    # Hydra starts rank 0 by itself, not by the remote shell.
    line = ["taskset", "-c", "0", "ip", "netns", "exec", NAMESPACES[0], prefix / "bin/mpiexec", "-launcher", "ssh", "-launcher-exec",
            HERE / "rsh-pinned", "-hosts", f"{ADDRESS}.1,{ADDRESS}.2", "-ppn", "1", "-n", "2",
            build("mpich", "pingpong"), *words]
    rows = rows_of((name, prefix, PEER.get(name, {}) | extra), line, timeout_s)
    return {int(row[0]): tuple(map(float, row[1:])) for row in rows}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("prefix", type=pathlib.Path)
    parser.add_argument("sizes", nargs="*", type=int, metavar="BYTES")
    parser.add_argument("--mtu", type=int, default=1500)
    parser.add_argument("--mbit", type=int)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--ms", type=float, default=150)
    parser.add_argument("--variant", action="append", default=[])
    parser.add_argument("--peers", default="impi")
    args = parser.parse_intermixed_args()
    sizes = args.sizes or SIZES
    got = {}
    put_up(args.mtu, args.mbit)
    try:
        for _ in range(args.rounds):
            for system in systems(args):
                for size, row in run(system, [str(args.ms), *map(str, sizes)], 20 + len(sizes) * args.ms / 100).items():
                    got.setdefault(system[0], {}).setdefault(size, []).append(row)
    finally:
        take_down()
    print(f"{'bytes':>8} " + "  ".join(f"{name[-30:]:>30}" for name in got))
    for size in sizes:
        cells = []
        for rows in (each.get(size) for each in got.values()):
            best, median, cpu = zip(*rows) if rows else [(float("nan"),)] * 3
            cells.append(f"{min(best):8.2f} |{statistics.median(median):8.2f} |{statistics.median(cpu):10.3f}")
        print(f"{size:8} " + "  ".join(f"{cell:>30}" for cell in cells))


if __name__ == "__main__":
    main()
