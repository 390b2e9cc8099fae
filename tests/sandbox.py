"""Sandboxes as containers, build systems and AI agents have them: namespaces without privileges, made by bubblewrap.

In all of them the program has no capabilities, is in namespaces of its own for mounts, processes and IPC, and on a
read-only file system with one writable folder. It is user 1000 of a user namespace of its own, but in the pods, which run
in a lab: a further user namespace could not mount /proc there. In the network namespace, where it has one of its own, even the
loopback interface is down. seccomp refuses what Docker's and Kubernetes' default profiles refuse, and more.
"""

import os
import platform
import shutil
import struct
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

UNPACKED = Path(__file__).resolve().parents[1] / "build" / "bubblewrap"
EPERM, ENOSYS = 1, 38

# Numbers of system calls of x86-64 (arch/x86/entry/syscalls/syscall_64.tbl).
AS_CONTAINERS = {
    "ptrace": 101, "mount": 165, "unshare": 272, "setns": 308, "process_vm_readv": 310, "process_vm_writev": 311,
    "kcmp": 312, "bpf": 321, "userfaultfd": 323, "perf_event_open": 298, "mbind": 237, "set_mempolicy": 238,
    "get_mempolicy": 239, "move_pages": 279, "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427,
    "pidfd_getfd": 438, "open_by_handle_at": 304, "name_to_handle_at": 303, "keyctl": 250, "add_key": 248,
    "request_key": 249, "fanotify_init": 300, "syslog": 103, "acct": 163, "swapon": 167, "reboot": 169, "settimeofday": 164,
}
# Calls that older kernels, gVisor and strict sandboxes do not have.
AS_OLD_KERNELS = {
    "membarrier": 324, "pidfd_open": 434, "pidfd_send_signal": 424, "clone3": 435, "close_range": 436, "rseq": 334,
    "openat2": 437, "faccessat2": 439, "futex_waitv": 449, "statx": 332, "epoll_pwait2": 441, "process_madvise": 440,
    "sched_setaffinity": 203,
}


def lacking():
    """Why there are no sandboxes here: a text, or None."""
    if platform.machine() != "x86_64":
        return f"the numbers of system calls on {platform.machine()} are not known here"
    return None if bubblewrap() else "there is no bwrap (scripts/e2e-tools.sh)"


def bubblewrap():
    ours = UNPACKED / "usr/bin/bwrap"
    return shutil.which("bwrap") or (str(ours) if ours.exists() else None)


def bpf(refused):
    """A filter of seccomp(2): {number: errno}, and all other calls are allowed."""
    load, equal, answer = 0x20, 0x15, 0x06
    program = [(load, 0, 0, 0)]
    for number, error in refused.items():
        program += [(equal, 0, 1, number), (answer, 0, 0, 0x00050000 | error)]
    program.append((answer, 0, 0, 0x7FFF0000))
    return b"".join(struct.pack("HBBI", *instruction) for instruction in program)


@dataclass(frozen=True)
class Sandbox:
    """`shm_bytes`: the size of /dev/shm, None if there is none. `is_pod`: in the caller's network and user namespaces."""

    name: str
    shm_bytes: int | None = None
    has_proc: bool = True
    is_pod: bool = False
    refused: dict = field(default_factory=lambda: dict.fromkeys(AS_CONTAINERS.values(), EPERM))
    capabilities: tuple = ()

    def command(self, words, folder, hostname="sandbox", first=False):
        """The words in the sandbox; `folder`, the only one that is writable there, takes the filter too. `first`: the
        program is the first process of its namespace, as in a container."""
        rules = Path(folder) / "filter.bpf"
        rules.write_bytes(bpf(self.refused))
        apart = [] if self.is_pod else ["unshare", "--net"] if privileged() else ["unshare", "--user", "--map-root-user", "--net"]
        users = [] if self.is_pod else ["--unshare-user", "--uid", 1000, "--gid", 1000]
        devices = [word for name in ("null", "zero", "random", "urandom", "tty")
                   for word in ("--dev-bind", f"/dev/{name}", f"/dev/{name}")]
        shm = ["--size", self.shm_bytes, "--tmpfs", "/dev/shm"] if self.shm_bytes else []
        proc = ["--proc", "/proc"] if self.has_proc else ["--tmpfs", "/proc"]
        inner = [*users, "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try", "--hostname", hostname,
                 "--cap-drop", "ALL", *(word for name in self.capabilities for word in ("--cap-add", name)),
                 "--ro-bind", "/", "/", "--tmpfs", "/sys", "--tmpfs", "/dev", *devices, *shm, *proc,
                 "--bind", folder, folder, "--setenv", "TMPDIR", folder, "--remount-ro", "/dev", "--remount-ro", "/sys",
                 "--die-with-parent", *(["--as-pid-1"] if first else []), "--seccomp", "9", "--"]
        words = [*apart, bubblewrap(), *inner, *words]
        return ["sh", "-c", 'exec 9< "$0"; exec "$@"', str(rules), *(str(word) for word in words)]


def privileged():
    return os.geteuid() == 0


CONTAINER = Sandbox("container", shm_bytes=64 << 20)
NO_SHM = Sandbox("no-shm")
NO_PROC = Sandbox("no-proc", has_proc=False)
STRICT = Sandbox("strict", refused=dict.fromkeys(AS_CONTAINERS.values(), EPERM) | dict.fromkeys(AS_OLD_KERNELS.values(), ENOSYS))
ALL = [CONTAINER, NO_SHM, NO_PROC, STRICT]
POD = Sandbox("pod", is_pod=True)
POD_WITH_RAW_FRAMES = Sandbox("pod-with-raw-frames", is_pod=True, capabilities=("CAP_NET_RAW",))


def folder():
    """A folder that a sandboxed user may write, removed with the object."""
    made = tempfile.TemporaryDirectory(prefix="sandbox-")
    Path(made.name).chmod(0o777)
    return made
