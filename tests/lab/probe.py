"""Looks, without making a lab, at what it needs of this machine: each feature tried singly in namespaces of its own."""

import shutil
import subprocess
import sys

from .enter import ENVIRONMENT, privileged

# Loses nothing: one instruction that lets everything pass.
FILTER = "tc qdisc add dev lo clsact && tc filter add dev lo egress protocol all bpf direct-action bytecode '1,6 0 0 0'"
PACKET = f"{sys.executable} -ISc 'import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)'"

# What is tried, whether there is no lab without it, and what it is for.
FEATURES = {
    "namespaces": ("true", True, "hosts; root's capabilities, or user namespaces for everybody"),
    "tools": ("command -v ip && command -v tc && command -v nsenter", True, "iproute2 and util-linux"),
    "proc": ("mount -t proc proc /proc", True, "a host's own processes"),
    "sysfs": ("mount -t sysfs sysfs /sys", False, "a host's own NICs in /sys"),
    "veth": ("ip link add name v0 type veth peer name v1", True, "cables"),
    "bridge": ("ip link add name b0 type bridge", True, "switches"),
    "ipv6": ("ip link set lo up && ip addr add fd77::1/64 dev lo", False, "IPv6 addresses"),
    "tbf": ("tc qdisc add dev lo root tbf rate 1mbit burst 10k limit 10k", False, "rates and buffers of switch ports"),
    "htb": ("tc qdisc add dev lo root handle 1: htb && tc filter add dev lo parent 1: prio 2 handle 2: protocol ip u32 divisor 256", False,
            "switch ports that give each flow a rate"),
    "bpf": (FILTER, False, "loss in the kernel; without it faulty_port.py loses frames"),
    "packet": (PACKET, False, "ports that reorder, corrupt and duplicate (CAP_NET_RAW)"),
    "tun": ("ip tuntap add t0 mode tun", False, "a real tunnel as a decoy; without it a veth plays it"),
}


def features():
    """{name: (None where it works or else what was said, whether it is indispensable, what it is for)}."""
    user = [] if privileged() else ["--user", "--map-root-user"]
    if not shutil.which("unshare"):
        return {name: ("there is no unshare", *rest) for name, (_, *rest) in FEATURES.items()}
    unshare = ["unshare", *user, "--net", "--mount", "--pid", "--fork", "--uts", "--ipc", "sh", "-c"]
    found = {}
    for name, (command, *rest) in FEATURES.items():
        tried = subprocess.run([*unshare, command], env=ENVIRONMENT, text=True, stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        error = (tried.stderr.strip().splitlines() or [f"exit code {tried.returncode}"])[-1]
        found[name] = (None if tried.returncode == 0 else error, *rest)
    return found


def missing():
    """What keeps this machine from having a lab, in a line (the first such thing); None where it can have one."""
    found = features().items()
    return next((f"{name} ({purpose}): {error}" for name, (error, needed, purpose) in found if error and needed), None)
