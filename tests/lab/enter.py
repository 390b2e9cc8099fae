"""Commands in the network namespace of another process, and how a failure of one is told."""

import json
import os
import subprocess
import time

# From <linux/capability.h>: what a lab needs where it makes no user namespace; CAP_SYS_CHROOT is setns(2)'s for mounts.
CAP_NET_ADMIN, CAP_NET_RAW, CAP_SYS_CHROOT, CAP_SYS_ADMIN = 12, 13, 18, 21
# The kernel tells of a carrier from a work queue: a matter of milliseconds, and of a second at worst.
CARRIER_S, CARRIER_POLL_S = 10.0, 0.005
# ip, tc and bridge are in sbin, which is not in everybody's PATH.
ENVIRONMENT = dict(os.environ, PATH=f"{os.environ.get('PATH', '/usr/bin:/bin')}:/usr/sbin:/sbin", LC_ALL="C")


class Failure(Exception):
    """A command that made or changed the lab did not succeed."""


def privileged():
    """Whether this process may make namespaces as it is; otherwise it becomes root of a user namespace first."""
    with open("/proc/self/status", encoding="ascii") as status:
        effective = next(int(line.split()[1], 16) for line in status if line.startswith("CapEff"))
    return all(effective >> bit & 1 for bit in (CAP_NET_ADMIN, CAP_NET_RAW, CAP_SYS_CHROOT, CAP_SYS_ADMIN))


def in_network_of(pid):
    """The words before a command that shall run in the network namespace of a process, and else here."""
    user = () if privileged() else ("--user", "--preserve-credentials")
    return ["nsenter", f"--target={pid}", *user, "--net", "--"]


def done(process, text=None):
    """Waits for a command started with pipes, and gives its output."""
    out, err = process.communicate(text)
    if process.returncode != 0:
        raise Failure(f"{' '.join(process.args)}: {(err or out).strip()}\n{text or ''}".rstrip())
    return out


def started(command, **popen):
    return subprocess.Popen([str(word) for word in command], env=ENVIRONMENT, text=True, stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, **popen)


def ip(pid, *lines):
    """`ip` commands in the network namespace of a process."""
    return done(started([*in_network_of(pid), "ip", "-batch", "-"]), "\n".join(lines) + "\n")


def await_links(pid, names):
    """Until these interfaces of a process's namespace have their carrier: before, they drop what they are given."""
    deadline = time.monotonic() + CARRIER_S
    while True:
        links = json.loads(done(started([*in_network_of(pid), "ip", "-json", "link"])))
        down = set(names) - {link["ifname"] for link in links if link["operstate"] == "UP"}
        if not down:
            return
        if time.monotonic() > deadline:
            raise Failure(f"no carrier on {', '.join(sorted(down))} after {CARRIER_S:.0f} s")
        time.sleep(CARRIER_POLL_S)


def tc(pid, *words):
    return done(started([*in_network_of(pid), "tc", *words]))
