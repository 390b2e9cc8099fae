"""Holds the namespaces of one lab: keeper.py CONTROL-FD, the plan (lab.py) on standard input.

Nothing here has a name outside: the processes of this file are all that keeps the namespaces alive. The keeper starts
the `init` of a pid namespace and waits for it; init watches the process that made the lab, the control socket and the
keeper, and ends when one of them does; with it the kernel kills every process of the lab, and the namespaces go.

    keeper ── init ─┬─ a switch for each network (a network namespace, asleep)
                    └─ a host's own init for each host (network, names, files, IPC, processes of its own)

A host's init is what sshd would be: it listens on /run/lab/NAME and starts what remote_shell.py asks for. Each of
them reports {"name": ...} over the control socket, where the kernel puts its pid as seen by the reader beside it.
Must never touch a file system outside its own mount namespace, nor wait for anything before it watches.
"""

import ctypes
import fcntl
import json
import os
import select
import signal
import socket
import struct
import sys

# include/uapi/linux/sched.h, mount.h, if_tun.h, prctl.h
CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC = 0x00020000, 0x04000000, 0x08000000
CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000
MS_BIND, MS_MOVE, MS_REC, MS_PRIVATE = 0x1000, 0x2000, 0x4000, 0x40000
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
PR_SET_NAME = 15

MEETING_PLACE = "/run/lab"  # the one folder that all hosts of a lab share: the sockets of their remote shells
STAGE = "/dev/shm"  # a tmpfs that holds what is mounted elsewhere; the host's own /dev/shm then covers it
CGROUPS = "/sys/fs/cgroup"
REQUEST_BYTES = 1 << 16

libc = ctypes.CDLL(None, use_errno=True)


def call(what, result):
    if result != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"{what}: {os.strerror(error)}")


def unshare(flags):
    call("unshare", libc.unshare(flags))


def mount(source, target, kind=None, flags=0, options=None):
    encoded = [text and text.encode() for text in (source, target, kind)]
    call(f"mount {target}", libc.mount(*encoded, ctypes.c_ulong(flags), options and options.encode()))


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def become_root_of_a_user_namespace():
    uid, gid = os.geteuid(), os.getegid()
    unshare(CLONE_NEWUSER)
    write("/proc/self/setgroups", "deny")
    write("/proc/self/uid_map", f"0 {uid} 1")
    write("/proc/self/gid_map", f"0 {gid} 1")


def main():
    control = socket.socket(fileno=int(sys.argv[1]))
    reported(json.load(sys.stdin), "keeper", control, keep)


def keep(plan, _name, control):
    watched = [control, os.pidfd_open(os.getppid()), os.pidfd_open(os.getpid())]
    if plan["user_namespace"]:
        become_root_of_a_user_namespace()
    unshare(CLONE_NEWPID | CLONE_NEWNS)
    if init := os.fork():
        control.close()
        os.waitpid(init, 0)  # returns when every process of the lab is gone
    else:
        reported(plan, "init", control, init_of_lab, watched)


def reported(plan, name, control, function, *args):
    """Runs one of the lab's processes; what it cannot do is told to the lab's maker."""
    try:
        function(plan, name, control, *args)
    except OSError as error:
        try:
            control.send(json.dumps({"name": name, "error": str(error)}).encode())
        except OSError:
            pass  # nobody is there to be told
        os._exit(1)
    os._exit(0)


def init_of_lab(plan, _name, control, watched):
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # orphans are reaped by the kernel
    mount("none", "/", flags=MS_REC | MS_PRIVATE)
    mount("tmpfs", "/run", "tmpfs", options="mode=755")
    os.mkdir(MEETING_PLACE)
    for path, text in plan["meeting_place"].items():
        path = f"{MEETING_PLACE}/{path}"
        os.makedirs(os.path.dirname(path), exist_ok=True)
        write(path, text)
        os.chmod(path, 0o755)
    for name in plan["switches"]:
        if os.fork() == 0:
            reported(plan, name, control, switch)
    for host in plan["hosts"]:
        if os.fork() == 0:
            # a process is never moved into a new pid namespace, its children are born there
            unshare(CLONE_NEWPID)
            if os.fork() == 0:
                reported(plan, host["name"], control, init_of_host, host)
            os._exit(0)
    select.select(watched, [], [])


def switch(_plan, name, control):
    set_name(f"lab-{name}")
    unshare(CLONE_NEWNET)
    ready(control, name)
    signal.pause()


def ready(control, name, **report):
    control.send(json.dumps({"name": name} | report).encode())
    control.close()


def set_name(name):
    libc.prctl(PR_SET_NAME, name.encode(), 0, 0, 0)


def init_of_host(plan, name, control, host):
    set_name(f"lab-{name}")
    unshare(CLONE_NEWNET | CLONE_NEWUTS | CLONE_NEWNS | CLONE_NEWIPC)
    socket.sethostname(name)
    furnish(host["files"])
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(f"{MEETING_PLACE}/{name}")
    listener.listen(64)
    for alias in host["aliases"]:
        os.symlink(name, f"{MEETING_PLACE}/{alias}")
    tunnel = open_tunnel()
    ready(control, name, tunnel=tunnel is not None)
    while True:
        connection, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            session(connection)
        connection.close()


def furnish(files):
    """A host's own view of files: its /proc, /sys, /run, /dev/shm, and some files that tell hosts apart."""
    mount("tmpfs", STAGE, "tmpfs", options="mode=755")
    staged = {path: f"{STAGE}/{path.replace('/', '-')}" for path in (MEETING_PLACE, CGROUPS) if os.path.isdir(path)}
    for path, stage in staged.items():
        os.mkdir(stage)
        mount(path, stage, flags=MS_BIND | MS_REC)
    mount("tmpfs", "/run", "tmpfs", options="mode=755")
    os.mkdir(MEETING_PLACE)
    os.mkdir("/run/sshd", 0o755)  # where it parts with its privileges
    mount("proc", "/proc", "proc")
    try:
        mount("sysfs", "/sys", "sysfs")
    except OSError:  # a user namespace of a container with a masked /sys: better no NICs there than another host's
        mount("tmpfs", "/sys/class/net", "tmpfs", options="mode=755")
        staged.pop(CGROUPS, None)
    for path, stage in staged.items():
        mount(stage, path, flags=MS_MOVE)
    for path, text in files.items():
        if os.path.exists(path):
            stage = f"{STAGE}/{path.replace('/', '-')}"
            write(stage, text)
            os.chmod(stage, 0o644)
            mount(stage, path, flags=MS_BIND)
    mount("tmpfs", STAGE, "tmpfs", options="mode=1777")
    for setting in ("all/accept_dad", "default/accept_dad", "all/router_solicitations", "default/router_solicitations"):
        if os.path.exists("/proc/sys/net/ipv6"):
            write(f"/proc/sys/net/ipv6/conf/{setting}", "0")


def open_tunnel():
    """tun0, alive while this process holds it and never read: what is sent there is swallowed. None: no permission."""
    try:
        tunnel = os.open("/dev/net/tun", os.O_RDWR | os.O_CLOEXEC)
        fcntl.ioctl(tunnel, TUNSETIFF, struct.pack("16sH22x", b"tun0", IFF_TUN | IFF_NO_PI))
        return tunnel
    except OSError:
        return None


def session(connection):
    """One command of a remote shell, as sshd would run it: by sh, in the home folder, in a session of its own."""
    set_name("lab-session")
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    request, ancillary, _, _ = connection.recvmsg(REQUEST_BYTES, socket.CMSG_SPACE(12), socket.MSG_CMSG_CLOEXEC)
    if not request or not ancillary:
        os._exit(1)
    streams = struct.unpack("3i", ancillary[0][2])
    pid = os.fork()
    if pid == 0:
        os.setsid()
        for target, stream in enumerate(streams):
            os.dup2(stream, target)
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores it
        home = os.path.expanduser("~")
        try:
            os.chdir(home)
        except OSError as error:
            os.write(2, f"Could not chdir to home directory {home}: {error.strerror}\n".encode())
            os.chdir("/")
        os.execv("/bin/sh", ["sh", "-c", request.decode()])
    for stream in streams:
        os.close(stream)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    try:
        connection.send(bytes([code if code >= 0 else 255]))  # as ssh reports a signal
    except OSError:
        pass  # the client was killed
    os._exit(0)


if __name__ == "__main__":
    main()
