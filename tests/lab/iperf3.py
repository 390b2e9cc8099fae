"""iperf3 between two hosts of a lab: TCP by somebody else's program, and what it says of its rate.

It comes from the system or, where it is not installed, from what scripts/debian.sh has unpacked beside it.
"""

import json
import shutil
import subprocess
from contextlib import contextmanager
from pathlib import Path

UNPACKED = Path(__file__).resolve().parents[2] / "build" / "iperf3"


def program():
    """Its path and environment, or None."""
    if found := shutil.which("iperf3"):
        return found, {}
    ours = UNPACKED / "usr/bin/iperf3"
    libraries = ":".join(map(str, UNPACKED.glob("usr/lib/*-linux-*")))
    return (ours, {"LD_LIBRARY_PATH": libraries}) if ours.exists() else None


@contextmanager
def stream(source, nic, seconds):
    """A stream from a host to a NIC during the block and for so long at least: a list of bytes in each second, after it."""
    iperf3, env = program()
    rates = []
    with nic.host.start([iperf3, "-s", "-1", "--forceflush"], env=env, text=True, stdout=subprocess.PIPE) as server:
        try:
            while "listening" not in server.stdout.readline():
                pass
            command = [iperf3, "-c", nic.v4, "-t", str(seconds), "-J"]
            with source.start(command, env=env, text=True, stdout=subprocess.PIPE) as client:
                yield rates
                report = json.loads(client.communicate(timeout=seconds + 30)[0])
            rates += [interval["sum"]["bytes"] for interval in report["intervals"]]
        finally:
            server.kill()
