#!/usr/bin/env python3
"""Hosts that all send to one through its switch port, or all to all, beside Intel MPI over TCP (docs/lab.md).

  incast.py PREFIX [gather|alltoall] [--ranks N] [--bytes N] [--rate-mbit N] [--buffer N] [--rounds N] [--peers impi] [--variant ...]

The defaults are issue 5's: eight ranks send 1 MiB each to one through a port of 500 Mbit/s that holds 64 KiB; alltoall has eight ranks
and 256 KiB. Goodput at rank 0, best and median of the rounds in Mbit/s and its part of the port's rate, and the longest time in which
nothing came, median and worst, in ms. --variant as in compare.py.
"""
import argparse, pathlib, re, statistics, subprocess, sys

from compare import HERE, build, systems
from trunk import UDP_PART

sys.path.insert(0, str(HERE.parent.parent / "tests"))
from lab import Lab  # noqa: E402

TCP = {"FI_PROVIDER": "tcp", "I_MPI_FABRICS": "ofi", "I_MPI_PIN": "0", "I_MPI_HYDRA_BOOTSTRAP": "ssh", "I_MPI_HYDRA_BOOTSTRAP_EXEC": "lab-rsh",
       "FI_TCP_IFACE": "eth0", "I_MPI_HYDRA_IFACE": "eth0"}


def run(system, args):
    """(Mbit/s, ms) of each round."""
    name, prefix, extra = system
    hosts = [f"node{number}" for number in range(args.ranks)]
    with Lab(hosts=args.ranks, rate_mbit=args.rate_mbit, buffer_bytes=args.buffer) as lab:
        env = {"PATH": f"{prefix / 'bin'}:/run/lab/bin:/usr/bin:/bin", "LD_LIBRARY_PATH": str(prefix / "lib")} | extra
        env |= TCP if name == "impi" else {}
        launcher = [] if name == "impi" else ["-launcher-exec", "lab-rsh"]
        line = [prefix / "bin/mpiexec", *launcher, "-hosts", ",".join(hosts), "-ppn", "1", "-n", args.ranks,
                build("mpich", "incast"), args.way, args.bytes, args.rounds]
        try:
            done = lab.hosts[0].run([str(word) for word in line], env=env, timeout=args.patience)
        except subprocess.TimeoutExpired as late:
            print(f"{name}: no end in {args.patience} s", file=sys.stderr)
            text = late.stdout or b""
            return pairs(text if isinstance(text, str) else text.decode())
    if done.returncode:
        print(f"{name}: exit {done.returncode}: {done.stderr.strip()[-300:]}", file=sys.stderr)
    return pairs(done.stdout)


def pairs(text):
    return [(8 * float(rate), float(ms)) for rate, ms in re.findall(r"^([\d.]+) ([\d.]+)$", text, re.MULTILINE)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("prefix", type=pathlib.Path)
    parser.add_argument("way", nargs="?", choices=["gather", "alltoall"], default="gather")
    parser.add_argument("--ranks", type=int)
    parser.add_argument("--bytes", type=int)
    parser.add_argument("--rate-mbit", type=float, default=500)
    parser.add_argument("--buffer", type=int, default=64 << 10)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--patience", type=float, default=90)
    parser.add_argument("--peers", default="")
    parser.add_argument("--variant", action="append", default=[])
    args = parser.parse_intermixed_args()
    is_gather = args.way == "gather"
    args.ranks = args.ranks or (9 if is_gather else 8)
    args.bytes = args.bytes or (1 << 20 if is_gather else 256 << 10)
    print(f"{'':>24} {'best':>8} {'median':>8}  of the port  {'stall, ms':>10} {'worst':>7}")
    for system in systems(args):
        # The first round opens the connections.
        if rounds := run(system, args)[1:]:
            rates, stalls = zip(*rounds)
            best, median, port = max(rates), statistics.median(rates), args.rate_mbit * UDP_PART
            print(f"{system[0][-24:]:>24} {best:8.1f} {median:8.1f}  {best / port:.3f} {median / port:.3f}"
                  f"  {statistics.median(stalls):10.1f} {max(stalls):7.1f}", flush=True)


if __name__ == "__main__":
    main()
