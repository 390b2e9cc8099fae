"""Makes and ends a lab: N hosts with R NICs each, NIC r of every host on switch r. See docs/lab.md.

The namespaces are held by keeper.py; this file starts it, learns the pids, and sets up networks and hosts through `ip`
from outside. It must leave nothing that has a name on the machine, and needs no step to clean up: the kernel does it
when keeper.py ends, and that ends with this process, however it ends.
"""

import json
import os
import socket
import struct
import subprocess
import sys
import time
import uuid
from pathlib import Path

from .enter import Failure, await_links, done, in_network_of, privileged, started
from .host import Host
from .nic import BUFFER_BYTES, GATEWAY, Network, Nic

HERE = Path(__file__).resolve().parent
HOSTS_MAX = NICS_MAX = 250  # the bytes of an IPv4 address
READY_S = 30.0  # a machine that takes longer for one of the lab's processes has other troubles
END_S = 10.0
REPORT_BYTES = 1 << 12
SO_PASSCRED, SCM_CREDENTIALS = 16, 2


class Unavailable(Exception):
    """This machine cannot have a lab; the message says what it lacks."""


class Lab:
    """`with Lab(hosts=3, nics=2) as lab: lab.hosts[0].run([...])`. The other arguments hold for every NIC at first.

    nics: of each host so many, NIC r being eth<r> on switch r; or for each host a dictionary of its NICs' names and switches, as in
        nics=[{"eth0": 0, "eth1": 1}, {"enp3s0": 1}].
    direct: two hosts, NIC to NIC without a switch, where a figure is to be the NICs' own.
    ip_only: switches drop what is neither IP nor ARP, as most clouds do.
    flow_rate_mbit: at which each switch port sends each flow, as clouds have it; instead of rate_mbit.
    routed: hosts of even numbers and of odd ones are in two subnets of each network, with a router between.
    """

    def __init__(self, hosts=2, nics=1, mtu=1500, rate_mbit=None, buffer_bytes=BUFFER_BYTES, env=None, direct=False,
                 ip_only=False, routed=False, flow_rate_mbit=None, **faults):
        plugged = nics if isinstance(nics, list) else [{f"eth{number}": number for number in range(nics)}] * hosts
        networks = len({number for names in plugged for number in names.values()})
        if not (1 <= hosts <= HOSTS_MAX and 1 <= networks <= NICS_MAX and 576 <= mtu <= 9000):
            raise ValueError(f"1 to {HOSTS_MAX} hosts and NICs, MTU 576 to 9000; not {hosts}, {nics}, {mtu}")
        if len(plugged) != hosts or any({*names.values()} - {*range(networks)} or len({*names.values()}) < len(names)
                                            for names in plugged):
            raise ValueError(f"each of {hosts} hosts has NICs of its own, one on a switch at most, and switches count from 0; not {nics}")
        if direct and hosts != 2:
            raise ValueError(f"a direct cable joins two hosts, not {hosts}")
        if direct and (ip_only or routed):
            raise ValueError("hosts that are cabled directly have no switch that drops, and no router")
        if None not in (rate_mbit, flow_rate_mbit):
            raise ValueError("a switch port limits all that it sends or each flow, not both")
        if routed and hosts >= GATEWAY:
            raise ValueError(f"up to {GATEWAY - 1} hosts have a router between them, not {hosts}")
        self.seed = uuid.uuid4().hex
        self.ipv6 = os.path.exists("/proc/sys/net/ipv6")
        self.networks = [Network(number, direct, routed, ip_only) for number in range(networks)]
        self.hosts = [Host(self, number) for number in range(hosts)]
        for host, names in zip(self.hosts, plugged):
            for name, number in names.items():
                network = self.networks[number]
                nic = Nic(host, network, mtu, name)
                nic.v6 = nic.v6 if self.ipv6 else None
                host.nics.append(nic)
                network.nics.append(nic)
        base = dict(os.environ if env is None else env)
        self.environment = base | {
            "PATH": f"/run/lab/bin:{base.get('PATH', '/usr/bin:/bin')}",
            "LAB_HOSTS": ",".join(host.name for host in self.hosts),
            "LAB_RSH": "/run/lab/bin/lab-rsh",
        }
        self._start_keeper()
        try:
            self._meet()
            self._connect()
            for nic in self.nics():
                if ip_only:
                    nic.drop_other_ethertypes()
                if rate_mbit is not None:
                    nic.limit(rate_mbit, buffer_bytes)
                if flow_rate_mbit is not None:
                    nic.limit_flows(flow_rate_mbit, buffer_bytes)
                if any(faults.values()):
                    nic.faults(**faults)
        except (Failure, OSError) as error:
            self.close()
            raise Unavailable(f"no lab on this machine: {error}") from error
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def nics(self):
        return [nic for network in self.networks for nic in network.nics]

    def host(self, name):
        return next(host for host in self.hosts if host.name == name)

    def processes(self):
        """The programs that run on all hosts."""
        return {pid: words for host in self.hosts for pid, words in host.processes().items()}

    def close(self):
        """Ends every process of the lab; returns when they are gone, and with them the namespaces."""
        self._control.close()
        for nic in self.nics():
            nic.close()
        try:
            self.keeper.wait(END_S)
        except subprocess.TimeoutExpired:
            # a program out here that holds a dead one of the lab, such as a stopped on_host.py
            self.keeper.kill()
            self.keeper.wait()
            raise Failure(f"the lab has not ended in {END_S:.0f} s: {self.processes()}") from None

    def _plan(self):
        shell = (HERE / "remote_shell.py").read_text()
        hosts = [{"name": host.name, "aliases": host.aliases(), "files": host.files()} for host in self.hosts]
        return {
            "user_namespace": not privileged(),
            "switches": [network.name for network in self.networks],
            "hosts": hosts,
            "meeting_place": {"bin/lab-rsh": f"#!{sys.executable} -IS\n{shell}"},
        }

    def _start_keeper(self):
        plan = json.dumps(self._plan())
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._control.setsockopt(socket.SOL_SOCKET, SO_PASSCRED, 1)
        self._control.settimeout(READY_S)
        with theirs:
            command = [sys.executable, "-IS", HERE / "keeper.py", str(theirs.fileno())]
            self.keeper = subprocess.Popen(command, env=self.environment, pass_fds=[theirs.fileno()], text=True,
                                           stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, start_new_session=True)
        try:
            with self.keeper.stdin as stdin:
                stdin.write(plan)
        except BrokenPipeError:
            pass  # it has ended; what it had to say is read next

    def _meet(self):
        """Every process of the lab reports; the kernel says which pid it has here."""
        absent = {part.name: part for part in [*self.networks, *self.hosts]}
        deadline = time.monotonic() + READY_S
        while absent:
            if time.monotonic() > deadline:
                raise Failure(f"no word from {', '.join(absent)} in {READY_S:.0f} s")
            text, ancillary, _, _ = self._control.recvmsg(REPORT_BYTES, socket.CMSG_SPACE(12))
            if not text:
                raise Failure(f"keeper.py ended with exit code {self.keeper.wait()}")
            report = json.loads(text)
            if "error" in report:
                raise Failure(f"{report['name']}: {report['error']}")
            part = absent.pop(report["name"])
            part.pid = next(struct.unpack("3i", data)[0] for _, kind, data in ancillary if kind == SCM_CREDENTIALS)
            part.tunnel = report.get("tunnel", False)

    def _connect(self):
        """Switches first, as they make the hosts' NICs; each namespace is set up by one `ip`, all at once."""
        for parts, lines in ((self.networks, Network.at_switch), (self.hosts, Host.network)):
            jobs = [(started([*in_network_of(part.pid), "ip", "-batch", "-"]), part) for part in parts]
            for process, part in jobs:
                done(process, "\n".join(lines(part)) + "\n")
        for network in [network for network in self.networks if not network.direct]:
            await_links(network.pid, [nic.port for nic in network.nics])
        for network in [network for network in self.networks if network.routed]:
            network.route()
        for host in self.hosts:
            await_links(host.pid, [nic.name for nic in host.nics])
