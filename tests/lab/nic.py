"""One NIC of a host, the cable and the switch port it hangs on: addresses, cable, rate and buffer, faults, counters.

What is limited or goes wrong does so at the switch, on frames that leave its port for the host: a frame between two
hosts meets it exactly once, whichever way it was sent, and nothing of it can be seen at the host.
"""

import ipaddress
import json
import sys
from pathlib import Path

from . import flows
from .enter import Failure, await_links, done, in_network_of, ip, started, tc
from .faulty_port import DELAY, FAULTS

HERE = Path(__file__).resolve().parent
ETHERNET_BYTES = 14
# tbf passes this much at once, at least two frames: what the hardware of a NIC of that rate holds.
BURST_S = 0.0005
BUFFER_BYTES = 256 << 10  # of one port of an inexpensive switch
# Classic BPF reads a random number as if it were in the packet, there: SKF_AD_OFF + SKF_AD_RANDOM, <linux/filter.h>.
RANDOM = (-0x1000 + 56) & 0xFFFFFFFF
TC_ACT_UNSPEC, TC_ACT_SHOT = 0xFFFFFFFF, 2
# EtherTypes that a switch passes which passes IP alone: IPv4, ARP, IPv6.
PASSED = (0x0800, 0x0806, 0x86DD)
# The kernel notices the carrier of a veth at once where its index is not its peer's by chance, and else within a second
# (linkwatch_urgent_event): the ports' indices are out of the reach of the hosts'.
PORT_INDEX = 1000
IPV6_MTU_MIN = 1280  # RFC 8200, 5: below it the kernel takes IPv6 off the NIC


class Nic:
    """`name` at its host, `v4` and `v6` (None below MTU 1280) without prefix length, `mac`, `mtu`."""

    def __init__(self, host, network, mtu, name):
        self.host, self.network, self.mtu, self.name = host, network, mtu, name
        self.port = f"p{host.number}"  # the switch's side of the cable
        self.mac = f"02:00:00:00:{network.number:02x}:{host.number + 1:02x}"
        self.subnet = network.subnet_of(host)
        self.v4 = self.subnet.v4(host.number + 1)
        self.v6 = self.subnet.v6(host.number + 1) if mtu >= IPV6_MTU_MIN else None
        self.shares = dict.fromkeys((*FAULTS, DELAY), 0.0)
        self._process = None  # faulty_port.py, where this port needs it

    # What lab.py sends to `ip` to make it.

    def at_switch(self):
        near = f"{self.port} index {PORT_INDEX + self.host.number} mtu {self.mtu} type veth"
        far = f"name {self.name} mtu {self.mtu} address {self.mac} netns {self.host.pid}"
        return [f"link add name {near} peer {far}", *self.attached(self.port)]

    def attached(self, port):
        return [*silent(port, self.v6), f"link set {port} master {self.subnet.bridge}", f"link set {port} up"]

    def at_host(self):
        v6 = [f"addr add {self.v6}/{self.subnet.bits6} dev {self.name} nodad"] if self.v6 else []
        lines = [f"addr add {self.v4}/{self.subnet.bits4} brd + dev {self.name}", *v6, f"link set {self.name} up"]
        return lines + self.subnet.routes(self.v6)

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

    def remove(self):
        """Takes the NIC out of the host, for good."""
        ip(self.host.pid, f"link del {self.name}")

    def readdress(self, v4, v6):
        """Gives the host other addresses on this NIC."""
        bits4, bits6 = self.subnet.bits4, self.subnet.bits6
        ip(self.host.pid, f"addr del {self.v4}/{bits4} dev {self.name}", f"addr add {v4}/{bits4} brd + dev {self.name}")
        if self.v6:
            ip(self.host.pid, f"addr del {self.v6}/{bits6} dev {self.name}",
               f"addr add {v6}/{bits6} dev {self.name} nodad")
            self.v6 = v6
        self.v4 = v4

    def set_mac(self, mac):
        ip(self.host.pid, f"link set {self.name} address {mac}")
        self.mac = mac

    def drop_addresses(self, *families):
        """Takes the host's v4 or v6 address away, or both; what remains is fe80::/10 by its MAC."""
        for family in families:
            bits = self.subnet.bits4 if family == "v4" else self.subnet.bits6
            ip(self.host.pid, f"addr del {getattr(self, family)}/{bits} dev {self.name}")
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
        burst = self._burst(rate_mbit)
        tc(self.network.pid, "qdisc", "replace", "dev", self.port, "root", "tbf", "rate", f"{rate_mbit}mbit",
           "burst", burst, "limit", max(buffer_bytes, burst))

    def limit_flows(self, rate_mbit, buffer_bytes=BUFFER_BYTES):
        """The port sends each flow at this rate and holds so many bytes of it, whatever others do."""
        self._needs_switch()
        flows.limit(self.network.pid, self.port, rate_mbit, self._burst(rate_mbit), buffer_bytes)

    def flows(self):
        """Bytes that left for the host in flows that are limited, by the low bits of their source ports."""
        return flows.counters(self.network.pid, self.port)

    def _burst(self, rate_mbit):
        return max(2 * (self.mtu + ETHERNET_BYTES), int(rate_mbit * 1e6 / 8 * BURST_S))

    def faults(self, **shares):
        """Sets the shares (0 to 1) of frames to this host that are lost, corrupted, rewritten, duplicated, reordered,
        and for how many seconds (0 to 1) all are held."""
        self._needs_switch()
        unknown = shares.keys() - {*FAULTS, DELAY}
        if unknown or not all(0 <= share <= 1 for share in shares.values()):
            raise ValueError(f"shares from 0 to 1 of {', '.join(FAULTS)}, and {DELAY} from 0 to 1; not {shares}")
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

    def drop_other_ethertypes(self):
        if not self._filter(0):
            raise Failure("switches that pass IP alone need the kernel's BPF filters (cls_bpf)")

    def _filter(self, loss):
        """Loss in the kernel, where it has BPF filters: a program without data, draws a number and drops or goes on. Where the
        switch passes IP alone it looks at the EtherType first."""
        on_port = ("dev", self.port, "egress")
        try:
            tc(self.network.pid, "qdisc", "replace", "dev", self.port, "clsact")
            if loss == 0 and not self.network.ip_only:
                tc(self.network.pid, "filter", "del", *on_port)
                return True
            keep, drop = f"6 0 0 {TC_ACT_UNSPEC}", f"6 0 0 {TC_ACT_SHOT}"
            program = ["32 0 0 %d" % RANDOM, "53 0 1 %d" % (loss * 2**32), keep, drop] if loss < 1 else [drop]
            if self.network.ip_only:
                jumps = [f"21 {len(PASSED) - nth} 0 {kind}" for nth, kind in enumerate(PASSED)]
                program = ["40 0 0 12", *jumps, drop, *(program if loss else [keep])]
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
        ip(self.network.pid, f"link del q{self.host.number}", f"link set {self.port} master {self.subnet.bridge}")

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


class Subnet:
    """What the NICs on one bridge share: all of a network, or half of one that is routed."""

    def __init__(self, network, number, routed):
        self.network, self.number, self.routed = network, number, routed
        self.bridge = f"br{number}"
        self.bits4, self.bits6 = (25, 112) if routed else (24, 64)

    def v4(self, number):
        return f"10.77.{self.network}.{128 * self.number + number}"

    def v6(self, number):
        return ipaddress.ip_address(f"fd77:0:0:{self.network:x}:0:0:{self.number:x}:{number:x}").compressed

    def routes(self, ipv6):
        """Of a host: the other half's way goes by the router."""
        v6 = [f"route add fd77:0:0:{self.network:x}::/64 via {self.v6(GATEWAY)}"] if ipv6 else []
        return [f"route add 10.77.{self.network}.0/24 via {self.v4(GATEWAY)}", *v6] if self.routed else []

    def mac(self, nth):
        """The router's, which is the nth that serves."""
        return f"02:00:00:{nth:02x}:{self.network:02x}:{0xFE + self.number:02x}"

    def at_switch(self, ipv6):
        lines = [f"link add name {self.bridge} type bridge stp_state 0 mcast_snooping 0", *silent(self.bridge, ipv6)]
        if self.routed:
            # By that of its link it asks for neighbours of what it passes on.
            own = (f"{self.v6(GATEWAY)}/{self.bits6}", f"fe80::{GATEWAY:x}/64")
            v6 = [f"addr add {address} dev {self.bridge} nodad" for address in own] if ipv6 else []
            lines += [f"link set {self.bridge} address {self.mac(0)}", f"addr add {self.v4(GATEWAY)}/{self.bits4} dev {self.bridge}", *v6]
        return [*lines, f"link set {self.bridge} up"]


# The last number of the router's address in each subnet.
GATEWAY = 126
# What makes a namespace a router, and has it say so where its Ethernet address changes.
ROUTER = ("ipv4/ip_forward", "ipv6/conf/all/forwarding", *(
    f"{family}/conf/{bridge}/{notify}" for bridge in ("br0", "br1") for family, notify in (("ipv4", "arp_notify"), ("ipv6", "ndisc_notify"))))


class Network:
    """A switch and the NICs on it, or the cable between two, or a router between two switches. `pid` holds their namespace."""

    def __init__(self, number, direct, routed=False, ip_only=False):
        self.number, self.direct, self.routed, self.ip_only = number, direct, routed, ip_only
        self.name = f"switch{number}"
        self.pid = None
        self.nics = []
        self.subnets = [Subnet(number, half, routed) for half in range(2 if routed else 1)]
        self.offloads = True
        self._routers = 0

    def subnet_of(self, host):
        return self.subnets[host.number % len(self.subnets)]

    def cable(self):
        near, far = self.nics
        ends = [f"name {nic.name} mtu {nic.mtu} address {nic.mac} netns {nic.host.pid}" for nic in (near, far)]
        return [f"link add {ends[0]} index {PORT_INDEX + self.number} type veth peer {ends[1]}"]

    def at_switch(self):
        if self.direct:
            return self.cable()
        bridges = [line for subnet in self.subnets for line in subnet.at_switch(self.nics[0].v6)]
        return [*bridges, *(line for nic in self.nics for line in nic.at_switch())]

    def route(self):
        """Once its bridges are there."""
        settings = "; ".join(f"[ ! -e {name} ] || echo 1 > {name}" for name in ROUTER)
        done(started([*in_network_of(self.pid), "sh", "-ec", f"cd /proc/sys/net; {settings}"]))

    def replace_router(self):
        """Another one takes the router's addresses, and says so (gratuitous ARP, as VRRP has it)."""
        self._routers += 1
        ip(self.pid, *(f"link set {subnet.bridge} address {subnet.mac(self._routers)}" for subnet in self.subnets))

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
