"""One NIC of a host, the cable and the switch port it hangs on: addresses, cable, rate and buffer, faults, counters.

What is limited or goes wrong does so at the switch, on frames that leave its port for the host: a frame between two
hosts meets it exactly once, whichever way it was sent, and nothing of it can be seen at the host.
"""

import ipaddress
import json
import sys
from pathlib import Path

from .enter import Failure, await_links, done, in_network_of, ip, started, tc
from .faulty_port import FAULTS

HERE = Path(__file__).resolve().parent
ETHERNET_BYTES = 14
# tbf passes this much at once, at least two frames: what the hardware of a NIC of that rate holds.
BURST_S = 0.0005
BUFFER_BYTES = 256 << 10  # of one port of an inexpensive switch
# Classic BPF reads a random number as if it were in the packet, there: SKF_AD_OFF + SKF_AD_RANDOM, <linux/filter.h>.
RANDOM = (-0x1000 + 56) & 0xFFFFFFFF
TC_ACT_UNSPEC, TC_ACT_SHOT = 0xFFFFFFFF, 2
# The kernel notices the carrier of a veth at once where its index is not its peer's by chance, and else within a second
# (linkwatch_urgent_event): the ports' indices are out of the reach of the hosts'.
PORT_INDEX = 1000
IPV6_MTU_MIN = 1280  # RFC 8200, 5: below it the kernel takes IPv6 off the NIC


class Nic:
    """`name` at its host, `v4` and `v6` (None below MTU 1280) without prefix length, `mac`, `mtu`."""

    def __init__(self, host, network, mtu):
        self.host, self.network, self.mtu = host, network, mtu
        self.name = f"eth{network.number}"
        self.port = f"p{host.number}"  # the switch's side of the cable
        self.mac = f"02:00:00:00:{network.number:02x}:{host.number + 1:02x}"
        self.v4 = f"10.77.{network.number}.{host.number + 1}"
        v6 = ipaddress.ip_address(f"fd77:0:0:{network.number:x}::{host.number + 1:x}")
        self.v6 = v6.compressed if mtu >= IPV6_MTU_MIN else None
        self.shares = dict.fromkeys(FAULTS, 0.0)
        self._process = None  # faulty_port.py, where this port needs it

    # What lab.py sends to `ip` to make it.

    def at_switch(self):
        near = f"{self.port} index {PORT_INDEX + self.host.number} mtu {self.mtu} type veth"
        far = f"name {self.name} mtu {self.mtu} address {self.mac} netns {self.host.pid}"
        return [f"link add name {near} peer {far}", *self.attached(self.port)]

    def attached(self, port):
        return [*silent(port, self.v6), f"link set {port} master br0", f"link set {port} up"]

    def at_host(self):
        v6 = [f"addr add {self.v6}/64 dev {self.name} nodad"] if self.v6 else []
        return [f"addr add {self.v4}/24 brd + dev {self.name}", *v6, f"link set {self.name} up"]

    # The cable.

    def unplug(self):
        """Pulls the cable: the host keeps its addresses and routes, and loses the carrier."""
        self._needs_switch()
        ip(self.network.pid, f"link set {self.port} down")

    def plug(self):
        self._needs_switch()
        ip(self.network.pid, f"link set {self.port} up")
        await_links(self.network.pid, [self.port])
        await_links(self.host.pid, [self.name])

    def set_mtu(self, mtu, switch=None):
        """The host's MTU; the port's as well, or another: frames that are longer than it are dropped without a word."""
        ip(self.host.pid, f"link set {self.name} mtu {mtu}")
        if not self.network.direct:
            ip(self.network.pid, f"link set {self.port} mtu {switch or mtu}")
        self.mtu = mtu

    def drop_addresses(self, *families):
        """Takes the host's v4 or v6 address away, or both; what remains is fe80::/10 by its MAC."""
        for family in families:
            ip(self.host.pid, f"addr del {getattr(self, family)}/{24 if family == 'v4' else 64} dev {self.name}")
            setattr(self, family, None)

    def counters(self):
        """The NIC's own: rx_bytes, rx_packets, rx_drop, tx_bytes, tx_packets and so on."""
        return self.host.counters(self.name)

    # The switch port.

    def limit(self, rate_mbit, buffer_bytes=BUFFER_BYTES):
        """The port sends at this rate and holds so many bytes; what comes on top is dropped. None: no limit."""
        self._needs_switch()
        if rate_mbit is None:
            tc(self.network.pid, "qdisc", "del", "dev", self.port, "root")
            return
        burst = max(2 * (self.mtu + ETHERNET_BYTES), int(rate_mbit * 1e6 / 8 * BURST_S))
        tc(self.network.pid, "qdisc", "replace", "dev", self.port, "root", "tbf", "rate", f"{rate_mbit}mbit",
           "burst", burst, "limit", max(buffer_bytes, burst))

    def faults(self, **shares):
        """Sets the shares (0 to 1) of frames to this host that are lost, corrupted, duplicated, reordered."""
        self._needs_switch()
        unknown = shares.keys() - set(FAULTS)
        if unknown or not all(0 <= share <= 1 for share in shares.values()):
            raise ValueError(f"shares from 0 to 1 of {', '.join(FAULTS)}, not {shares}")
        self.shares |= shares
        self.network.set_offloads()
        in_kernel = self._filter(self.shares["loss"])
        in_port = self.shares | ({"loss": 0.0} if in_kernel else {})
        if any(in_port.values()) and not self._process:
            self._insert_faulty_port()
        if self._process:
            self._tell(in_port)
            if not any(in_port.values()):
                self._remove_faulty_port()

    def fault_counts(self):
        """How many frames faulty_port.py carried and hit since it was put in; {} without it (loss needs none)."""
        return self._tell({}) if self._process else {}

    def _needs_switch(self):
        if self.network.direct:
            raise ValueError("hosts that are cabled directly have no switch port to change")

    def _filter(self, loss):
        """Loss in the kernel, where it has BPF filters: a program without data, draws a number and drops or goes on."""
        on_port = ("dev", self.port, "egress")
        try:
            tc(self.network.pid, "qdisc", "replace", "dev", self.port, "clsact")
            if loss == 0:
                tc(self.network.pid, "filter", "del", *on_port)
                return True
            keep, drop = f"6 0 0 {TC_ACT_UNSPEC}", f"6 0 0 {TC_ACT_SHOT}"
            program = ["32 0 0 %d" % RANDOM, "53 0 1 %d" % (loss * 2**32), keep, drop] if loss < 1 else [drop]
            tc(self.network.pid, "filter", "replace", *on_port, "protocol", "all", "pref", 1, "handle", 1, "bpf",
               "direct-action", "bytecode", ",".join([str(len(program)), *program]))
            return True
        except Failure:
            return False

    def _insert_faulty_port(self):
        inner, bridge_side = f"q{self.host.number}", f"b{self.host.number}"
        ip(self.network.pid, f"link set {self.port} nomaster",
           f"link add name {inner} mtu {self.mtu} type veth peer name {bridge_side} mtu {self.mtu}",
           *silent(inner, self.v6), f"link set {inner} up", *self.attached(bridge_side))
        await_links(self.network.pid, [inner, bridge_side])
        command = [sys.executable, "-IS", HERE / "faulty_port.py", inner, self.port, self.host.lab.keeper.pid]
        self._process = started([*in_network_of(self.network.pid), *command])

    def _remove_faulty_port(self):
        process, self._process = self._process, None
        done(process)  # it ends with its input
        ip(self.network.pid, f"link del q{self.host.number}", f"link set {self.port} master br0")

    def _tell(self, shares):
        try:
            self._process.stdin.write(json.dumps(shares) + "\n")
            self._process.stdin.flush()
            return json.loads(self._process.stdout.readline())
        except (OSError, ValueError):
            raise Failure(f"faulty_port.py of {self.host.name} {self.name}: {self._process.stderr.read()}") from None

    def close(self):
        """Once the lab has ended."""
        if self._process:
            self._process.communicate()


def silent(port, ipv6):
    """What a switch has takes no part in the traffic; without IPv6 the kernel would refuse to leave it out."""
    return [f"link set {port} addrgenmode none"] if ipv6 else []


class Network:
    """A switch and the NICs on it, or the cable between two. `pid` holds the switch's namespace."""

    def __init__(self, number, direct):
        self.number, self.direct = number, direct
        self.name = f"switch{number}"
        self.pid = None
        self.nics = []
        self.offloads = True

    def cable(self):
        near, far = self.nics
        ends = [f"name {nic.name} mtu {nic.mtu} address {nic.mac} netns {nic.host.pid}" for nic in (near, far)]
        return [f"link add {ends[0]} index {PORT_INDEX + self.number} type veth peer {ends[1]}"]

    def at_switch(self):
        if self.direct:
            return self.cable()
        bridge = ["link add name br0 type bridge stp_state 0 mcast_snooping 0"]
        ports = [line for nic in self.nics for line in nic.at_switch()]
        return [*bridge, *silent("br0", self.nics[0].v6), "link set br0 up", *ports]

    def set_offloads(self):
        """Faults hit wire frames, singly: no host of this network may send larger ones meanwhile."""
        wanted = not any(any(nic.shares.values()) for nic in self.nics)
        if wanted == self.offloads:
            return
        alive = [nic for nic in self.nics if nic.host.alive()]
        command = [sys.executable, "-IS", HERE / "offloads.py", "on" if wanted else "off"]
        for process in [started([*in_network_of(nic.host.pid), *command, nic.name]) for nic in alive]:
            done(process)
        self.offloads = wanted
