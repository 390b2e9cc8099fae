"""One host of the lab: its names and files, its decoys, and how programs are run on it."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

HERE = Path(__file__).resolve().parent
START_POLL_S = 0.002  # until on_host.py has started its program

# What real hosts have and jobs must not fall for.
DOCKER0 = "172.17.0.1"  # the same everywhere, and up
TUNNEL_NET = "10.8.0"  # one subnet on all hosts that leads nowhere
HALVES = ("0.0.0.0/1", "128.0.0.0/1", "::/1", "8000::/1")  # OpenVPN's def1: more specific than a default route
# nothing is asked that is not in /etc/hosts: the machine's own resolver knows more than the lab
NSSWITCH = "passwd: files\ngroup: files\nshadow: files\nhosts: files\nservices: files\nprotocols: files\n"


class Program(subprocess.Popen):
    """A program on a host: the Popen of on_host.py, which ends as the program does. Signals go to the program."""

    def program(self):
        """The program's pid, seen from outside; None where it has ended."""
        while self.poll() is None:
            for entry in Path("/proc").glob("[0-9]*"):
                if parent(entry) == self.pid:
                    return int(entry.name)
            time.sleep(START_POLL_S)
        return None

    def send_signal(self, sig):
        if (pid := self.program()) is not None:
            with suppress(ProcessLookupError):  # it has ended since
                os.kill(pid, sig)


class Host:
    """`name` is what it calls itself; `nics`; `pid` is its init, seen from outside."""

    def __init__(self, lab, number):
        self.lab, self.number = lab, number
        self.name = f"node{number}"
        self.nics = []
        self.pid = None
        self.tunnel = False  # whether init holds a real tun0

    # Programs.

    def start(self, command, *, env=None, cwd=None, **popen):
        """A program on this host, with this process's folder and streams, or those of Popen's arguments."""
        return Program(self.words(command, cwd), env=self.lab.environment | (env or {}), **popen)

    def words(self, command, cwd=None):
        """The command that runs a program on this host, with the lab's environment."""
        words = [sys.executable, "-IS", HERE / "on_host.py", self.pid, cwd or os.getcwd(), *command]
        return [str(word) for word in words]

    def run(self, command, *, input=None, timeout=60, check=False, **start):
        """Runs a program to its end; a subprocess.CompletedProcess with its output as text."""
        streams = {"stdin": subprocess.DEVNULL if input is None else subprocess.PIPE}
        streams |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        with self.start(command, **(streams | start)) as process:
            try:
                out, err = process.communicate(input, timeout)
            except BaseException:
                process.kill()
                raise
        if check and process.returncode != 0:
            raise subprocess.CalledProcessError(process.returncode, command, out, err)
        return subprocess.CompletedProcess(command, process.returncode, out, err)

    def processes(self):
        """The programs that run on this host: {pid seen from outside: command line}."""
        found = {}
        mine = namespace(self.pid)
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and mine is not None and namespace(entry.name) == mine:
                try:
                    words = (entry / "cmdline").read_text(errors="replace").split("\0")[:-1]
                    if not (entry / "comm").read_text().startswith("lab-"):
                        found[int(entry.name)] = words
                except OSError:
                    continue  # gone
        return found

    def counters(self, name):
        """Those of a network interface, as in /proc/net/dev: rx_bytes, rx_packets, rx_drop, tx_bytes and so on."""
        _, heads, *lines = Path(f"/proc/{self.pid}/net/dev").read_text().splitlines()
        fields = [f"{way}_{field}" for way, part in zip(("rx", "tx"), heads.split("|")[1:]) for field in part.split()]
        values = dict(line.split(":") for line in lines)
        return dict(zip(fields, map(int, {nic.strip(): text for nic, text in values.items()}[name].split())))

    def crash(self):
        """The host is gone from one moment to the next: its processes, its NICs; nobody is told."""
        os.kill(self.pid, signal.SIGKILL)

    def alive(self):
        return namespace(self.pid) is not None

    # What lab.py makes it from.

    def aliases(self):
        """What it can be called by in a remote shell, beside its name."""
        return [address for nic in self.nics for address in (nic.v4, nic.v6) if address]

    def files(self):
        """Files that are this host's own, as {path: text}; they cover the machine's where it has them."""
        hosts = ["127.0.0.1 localhost", "::1 localhost ip6-localhost ip6-loopback", f"127.0.1.1 {self.name}"]
        for other in self.lab.hosts:
            if other is not self and other.nics:
                hosts += [f"{address} {other.name}" for address in (other.nics[0].v4, other.nics[0].v6) if address]
        boot = self.lab.seed
        files = {
            "/etc/hosts": "\n".join(hosts) + "\n",
            "/etc/hostname": f"{self.name}\n",
            "/etc/nsswitch.conf": NSSWITCH,
            "/etc/machine-id": f"{boot[:30]}{self.number + 1:02x}\n",
            "/proc/sys/kernel/random/boot_id": f"{boot[:8]}-{boot[8:12]}-4{boot[12:15]}-a{boot[15:18]}-{boot[18:28]}"
                                               f"{self.number + 1:02x}\n",
        }
        # for a real sshd: its user, also where its package is not installed, and accounts that no password opens
        passwd = Path("/etc/passwd").read_text()
        if "\nsshd:" not in passwd:
            passwd += "sshd:x:65533:65534::/run/sshd:/usr/sbin/nologin\n"
        files["/etc/passwd"] = passwd
        files["/etc/shadow"] = "".join(f"{line.partition(':')[0]}:*:1::::::\n" for line in passwd.splitlines())
        return files

    def network(self):
        """The commands of `ip` that set it up: loopback, NICs, decoys."""
        lines = ["link set lo up", *(line for nic in self.nics for line in nic.at_host())]
        lines += ["link add name docker0 address 02:42:ac:11:00:01 type bridge stp_state 0",
                  "link add name vethd0 type veth peer name vethd1", "link set vethd0 master docker0",
                  "link set vethd0 up", "link set vethd1 up",
                  f"addr add {DOCKER0}/16 brd + dev docker0", "link set docker0 up"]
        if not self.tunnel:  # without ARP, its far end takes frames that are for nobody
            lines += ["link add name tun0 type veth peer name tun0-far",
                      "link set tun0 arp off", "link set tun0-far up"]
        lines += [f"addr add {TUNNEL_NET}.{self.number + 2}/24 dev tun0", "link set tun0 up"]
        return lines + [f"route add {half} dev tun0" for half in HALVES if ":" not in half or self.lab.ipv6]


def parent(entry):
    try:
        # the name in front may contain anything
        return int((entry / "stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return None


def namespace(pid):
    """Which pid namespace a process is in; None where there is no such process, or it is not ours to see."""
    try:
        return os.readlink(f"/proc/{pid}/ns/pid")
    except OSError:
        return None
