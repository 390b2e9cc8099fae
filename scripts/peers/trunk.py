#!/usr/bin/env python3
"""Long messages between two hosts of a lab over one, two and more switch ports of given rates (docs/lab.md).

  trunk.py PREFIX [--bytes N] [--rounds N] [--turns N] [--port TEXT] [--variant WORD=VAR=VALUE,...] [--loss SHARE] [--flows] [RATES...]

RATES is the Mbit/s of each rail, as in 500 500,500 500,100; the default is that of the target (docs/performance.md). First what
UDP brings through one port of 500 Mbit/s (iperf3); then each set of rails, in turns: the best and the median of all
messages of N bytes, in Mbit/s of payload, and its part of what the rails carry (UDP's part of each port's rate). With --flows the
rate is that of each flow, the switches pass IP alone, as in clouds, and the part is one of what one flow carries.
"""
import argparse, json, pathlib, re, statistics, subprocess, sys

from compare import HERE, build, systems

sys.path.insert(0, str(HERE.parent.parent / "tests"))
from lab import Lab, iperf3  # noqa: E402

RATES = ["500", "500,500", "500,500,500", "500,500,500,500", "500,100", "1000,10"]
# Payload of a datagram of an Ethernet frame, of what a switch port counts.
UDP_PART = 1472 / 1514


def raw_mbit(rate, seconds=4):
    """What arrives of UDP that is sent a little faster than the port passes on."""
    words, env = iperf3.program()
    with Lab(hosts=2, rate_mbit=rate) as lab:
        first, second = lab.hosts
        with second.start([words, "-s", "-1", "--forceflush"], env=env, text=True, stdout=subprocess.PIPE) as server:
            while "listening" not in server.stdout.readline():
                pass
            client = [words, "-c", second.nics[0].v4, "-u", "-l", "1472", "-b", f"{rate * 1.02:.0f}M", "-t", str(seconds), "-J"]
            report = json.loads(first.run(client, env=env, timeout=seconds + 20, check=True).stdout)
            server.kill()
    total = report["end"]["sum"]
    return total["bits_per_second"] * (1 - total["lost_percent"] / 100) / 1e6


def run(prefix, rates, args, extra):
    """Mbit/s of each message."""
    with Lab(hosts=2, nics=len(rates), loss=args.loss, ip_only=args.flows) as lab:
        for nic in lab.nics():
            limit = nic.limit_flows if args.flows else nic.limit
            limit(rates[nic.network.number], args.buffer)
        env = {"PATH": f"{prefix / 'bin'}:/run/lab/bin:/usr/bin:/bin", "LD_LIBRARY_PATH": str(prefix / "lib")}
        words = [word for item in extra.items() for word in ("-genv", *item)]
        line = [prefix / "bin/mpiexec", "-launcher-exec", "lab-rsh", "-hosts", "node0,node1", "-ppn", "1", *words,
                *(["--stats"] if args.stats else []), build("mpich", "trunk"), str(args.bytes), str(args.rounds)]
        done = lab.hosts[0].run([str(word) for word in line], env=env, timeout=60 + args.rounds * args.bytes / 1e6)
    if args.stats:
        print(done.stdout.split())
    if done.returncode or args.stats:
        print(done.stderr, file=sys.stderr)
    return [8 * float(rate) for rate in re.findall(r"^[\d.]+$", done.stdout, re.MULTILINE)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("prefix", type=pathlib.Path)
    parser.add_argument("rates", nargs="*", default=[])
    parser.add_argument("--bytes", type=int, default=64 << 20)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--turns", type=int, default=1)
    parser.add_argument("--buffer", type=int, default=256 << 10, help="bytes that a switch port holds")
    parser.add_argument("--loss", type=float, default=0.0)
    parser.add_argument("--port", default="", help="HAWSER_PORT")
    parser.add_argument("--stats", action="store_true")
    parser.add_argument("--flows", action="store_true", help="switch ports limit each flow")
    parser.add_argument("--raw", action="store_true", help="UDP alone first")
    parser.add_argument("--variant", action="append", default=[])
    parser.set_defaults(peers="")
    args = parser.parse_intermixed_args()
    if args.raw:
        print(f"UDP through a port of 500 Mbit/s: {raw_mbit(500):.1f} Mbit/s", flush=True)
    print(f"{'rails, Mbit/s':>20} {'':>24} {'best':>8} {'median':>8}   of the rails' sum")
    for text in args.rates or RATES:
        rates = [float(rate) for rate in text.split(",")]
        got = {}
        for _ in range(args.turns):
            for name, prefix, extra in systems(args):
                # The first message finds out which way is best.
                got.setdefault(name, []).extend(run(prefix, rates, args, {"HAWSER_PORT": args.port} | extra)[1:])
        for name, each in got.items():
            if each:
                ideal = sum(rates) * UDP_PART
                median = statistics.median(each)
                print(f"{text:>20} {name[-24:]:>24} {max(each):8.1f} {median:8.1f}   {max(each) / ideal:.3f} {median / ideal:.3f}", flush=True)


if __name__ == "__main__":
    main()
