"""The lab (docs/lab.md): hosts that real ones can be taken for, networks that do wrong as asked, nothing left behind.

No MPI here: what the lab does to plain UDP and TCP is measured, by the receiver and by the NICs' own counters.
"""

import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import lab as laboratory
import pytest
from harness import GRACE_OF_LABS_S as GRACE_S
from harness import LONG, ROOT, command_line, eventually, line_of
from lab import Lab, sshd

TRAFFIC = [sys.executable, ROOT / "tests/lab/traffic.py"]
FRAMES_OF_OTHERS = [sys.executable, ROOT / "tests/lab/frames.py"]
COMMAND = ROOT / "scripts/lab"
PORT = 4000
FRAMES = 8000
# Root without its privileges, but for the one that the kernel asks of root alone to make a user namespace of its own.
UNPRIVILEGED = ["setpriv", "--bounding-set=-all,+setfcap"]
# Whether a lab outlives its maker's kill is tried at so many moments of its life.
KILLS = 60 if LONG else 12


def needs(features, *names):
    for name in names:
        if error := features[name][0]:
            pytest.skip(f"not tested, {name} is missing: {error}")


@contextmanager
def receiving(host, what, *args):
    """A receiver of traffic.py; its report is in the dictionary after the block."""
    report = {}
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with host.start([*TRAFFIC, what, *args], **streams) as process:
        try:
            assert line_of(process.stdout) == "ready\n"
            yield report
            out, _ = process.communicate(timeout=60)
            report.update(json.loads(out or "{}"))
        except BaseException:
            process.kill()
            raise


def udp(source, nic, count=FRAMES, size=200):
    """Datagrams from a host to a NIC: what the receiver says."""
    with receiving(nic.host, "udp-receive", nic.v4, PORT) as report:
        source.run([*TRAFFIC, "udp-send", nic.v4, PORT, count, size], check=True)
    return report


def tcp(source, nic, size):
    """A stream from a host to a NIC: what both ends say."""
    with receiving(nic.host, "tcp-receive", nic.v4, PORT) as received:
        sent = source.run([*TRAFFIC, "tcp-send", nic.v4, PORT, size], check=True)
    return json.loads(sent.stdout), received


# Hosts and networks


@pytest.mark.parametrize("hosts, nics, direct", [(1, 1, False), (4, 2, False), (2, 2, True)])
def test_every_nic_reaches_its_network_over_ipv4_and_ipv6_and_over_no_other_nic(make, features, hosts, nics, direct):
    lab = make(hosts=hosts, nics=nics, direct=direct)
    versions = ["v4"] if features["ipv6"][0] else ["v4", "v6"]
    pairs = [(mine, theirs, version) for mine in lab.nics() for theirs in mine.network.nics for version in versions]
    for host in lab.hosts:
        with receiving(host, "greet", PORT):
            for source in lab.hosts:
                asked = [(m, t, v) for m, t, v in pairs if m.host is source and t.host is host]
                before = [nic.counters()["rx_packets"] for nic in host.nics]
                words = [f"{getattr(m, v)}-{getattr(t, v)}" for m, t, v in asked]
                assert source.run([*TRAFFIC, "ask", PORT, *words]).stdout.split("\n")[:-1] == [host.name] * len(asked)
                after = [nic.counters()["rx_packets"] for nic in host.nics]
                # handshake and end of each connection at least, on each NIC; to itself a host goes by loopback
                assert all(now - then >= 3 * len(versions) for then, now in zip(before, after)) or source is host


def test_hosts_have_nics_of_their_own(make):
    lab = make(hosts=3, nics=[{"eth0": 0, "eth1": 1}, {"enp3s0": 1}, {"lan": 0}])
    for host, names in zip(lab.hosts, (["eth0", "eth1"], ["enp3s0"], ["lan"])):
        assert [nic.name for nic in host.nics] == names and all(nic.counters()["rx_drop"] == 0 for nic in host.nics)
    first, second, third = lab.hosts
    assert udp(first, second.nics[0], 10)["intact"] == udp(third, first.nics[0], 10)["intact"] == 10
    assert udp(second, third.nics[0], 10)["intact"] == 0, "no switch joins them"


@pytest.mark.parametrize("nics", [[{"eth0": 0}], [{"eth0": 0}, {"eth0": 2}], [{"eth0": 0, "eth1": 0}, {"eth0": 0}], [{}, {}]])
def test_nics_that_cannot_be_plugged_in_are_refused(nics):
    with pytest.raises(ValueError):
        Lab(hosts=2, nics=nics)


@pytest.mark.parametrize("mtu", [576, 1280, 1500, 9000])
def test_frames_as_long_as_the_mtu_pass_and_no_longer_ones(make, mtu):
    lab = make(mtu=mtu)
    first, second = lab.hosts
    before = second.nics[0].counters()
    assert udp(first, second.nics[0], 10, mtu - 28)["intact"] == 10
    assert second.nics[0].counters()["rx_packets"] - before["rx_packets"] <= 10 + 8, "fragments"  # 8: ARP, IPv6
    assert udp(first, second.nics[0], 1, mtu - 27)["intact"] == 1
    assert (second.nics[0].v6 is None) == (mtu < 1280 or not lab.ipv6)
    files = second.run(["cat", "/sys/class/net/eth0/mtu"])
    assert files.stdout.strip() == str(mtu) or laboratory.features()["sysfs"][0]


def test_a_switch_with_a_smaller_mtu_swallows_longer_frames(make):
    lab = make(mtu=9000)
    first, second = lab.hosts
    second.nics[0].set_mtu(9000, switch=1500)
    assert udp(first, second.nics[0], 10, 1400)["intact"] == 10
    assert udp(first, second.nics[0], 10, 4000)["intact"] == 0


def heard(source, nic, kind):
    """Whether a NIC hears frames of this EtherType (hexadecimal) of another host, which are followed by datagrams."""
    mine = next(own for own in source.nics if own.network is nic.network)
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "text": True}
    with nic.host.start([*FRAMES_OF_OTHERS, "hear", nic.name, kind, 1], **streams) as ears:
        assert line_of(ears.stdout) == "ready\n"
        frame = "".join([nic.mac, mine.mac]).replace(":", "") + kind + "00" * 60
        source.run([*FRAMES_OF_OTHERS, "say", mine.name, 20], input=frame + "\n", check=True)
        assert udp(source, nic, 10)["intact"] == 10
        ears.kill()
        return ears.communicate()[0] != ""


@pytest.mark.parametrize("ip_only", [False, True])
def test_a_switch_may_drop_what_is_neither_ip_nor_arp(make, features, ip_only):
    needs(features, "bpf", "packet")
    lab = make(ip_only=ip_only)
    first, second = lab.hosts
    assert heard(first, second.nics[0], "88b5") == (not ip_only)
    assert heard(first, second.nics[0], "0806")
    if lab.ipv6:
        with receiving(second, "greet", PORT):
            words = f"{first.nics[0].v6}-{second.nics[0].v6}"
            assert first.run([*TRAFFIC, "ask", PORT, words]).stdout == f"{second.name}\n"


def test_such_a_switch_loses_frames_as_any_other(make, features):
    needs(features, "bpf", "packet")
    lab = make(ip_only=True)
    first, second = lab.hosts
    assert udp(first, second.nics[0], 10)["intact"] == 10
    second.nics[0].faults(loss=0.2)
    assert 0.1 * FRAMES < FRAMES - udp(first, second.nics[0])["intact"] < 0.3 * FRAMES
    second.nics[0].faults(loss=0)
    assert not heard(first, second.nics[0], "88b5")


def neighbour(host, nic, gateway):
    table = host.run(["ip", "neigh", "show", gateway, "dev", nic.name], check=True).stdout
    return re.search(r"lladdr (\S+)", table)


def test_two_subnets_with_a_router_between(make, features):
    needs(features, "packet")
    lab = make(hosts=3, nics=2, routed=True)
    first, second, third = lab.hosts
    versions = ["v4", "v6"] if lab.ipv6 else ["v4"]
    for here, there in ((first, second), (second, third), (first, third)):
        with receiving(there, "greet", PORT):
            pairs = [(mine, theirs, version) for mine, theirs in zip(here.nics, there.nics) for version in versions]
            words = [f"{getattr(mine, version)}-{getattr(theirs, version)}" for mine, theirs, version in pairs]
            assert here.run([*TRAFFIC, "ask", PORT, *words]).stdout == f"{there.name}\n" * len(words)
    # Within a subnet they are neighbours, beyond it by their router alone.
    assert heard(first, third.nics[0], "88b5") and not heard(first, second.nics[0], "88b5")
    before = neighbour(first, first.nics[0], "10.77.0.126")[1]
    lab.networks[0].replace_router()
    after = eventually(lambda: (found := neighbour(first, first.nics[0], "10.77.0.126")) and found[1] != before and found[1])
    assert before != after and udp(first, second.nics[0], 10)["intact"] == 10


def test_what_a_switch_does_is_refused_without_one(make):
    nic = make(direct=True).nics()[0]
    for change in (nic.unplug, lambda: nic.limit(10), lambda: nic.faults(loss=0.1)):
        with pytest.raises(ValueError, match="have no switch port"):
            change()
    with pytest.raises(ValueError, match="two hosts, not 3"):
        make(hosts=3, direct=True)
    with pytest.raises(ValueError, match="no switch that drops, and no router"):
        make(direct=True, routed=True)
    with pytest.raises(ValueError, match="shares from 0 to 1"):
        make(loss=1.5)
    with pytest.raises(ValueError, match="shares from 0 to 1"):
        make(rain=0.5)


def test_the_cable_is_pulled_and_plugged_in_again(make):
    lab = make(nics=2)
    first, second = lab.hosts
    assert udp(first, second.nics[0], 10)["intact"] == 10
    second.nics[0].unplug()
    link = eventually(lambda: [word for word in second.run(["ip", "-br", "link"]).stdout.splitlines()
                               if re.match("eth0@.* (DOWN|LOWERLAYERDOWN)", word)])
    assert "NO-CARRIER" in link[0] and second.nics[0].v4 in second.run(["ip", "addr"]).stdout
    assert udp(first, second.nics[0], 10)["intact"] == 0
    assert udp(first, second.nics[1], 10)["intact"] == 10
    second.nics[0].plug()
    assert udp(first, second.nics[0], 10)["intact"] == 10


def test_a_lab_of_four_hosts_has_all_that_real_hosts_fall_for(make, features):
    lab = make(hosts=4, nics=2)
    others = {host.name: host.run(["cat", "/proc/sys/kernel/random/boot_id"]).stdout for host in lab.hosts}
    assert len(set(others.values())) == 4
    for host in lab.hosts:
        assert host.run(["hostname"]).stdout.strip() == host.name
        resolve = "import socket, sys; print([socket.getaddrinfo(n, 1, socket.AF_INET)[0][4][0] for n in sys.argv[1:]])"
        names = host.run([sys.executable, "-c", resolve, *others]).stdout
        assert eval(names) == ["127.0.1.1" if other is host else other.nics[0].v4 for other in lab.hosts]
        addresses = {link["ifname"]: [one["local"] for one in link["addr_info"]]
                     for link in json.loads(host.run(["ip", "-json", "addr"]).stdout)}
        assert "172.17.0.1" in addresses["docker0"]
        eventually(lambda: "LOWER_UP" in host.run(["ip", "link", "show", "docker0"]).stdout)
        assert re.search(r"0.0.0.0/1 dev tun0.*128.0.0.0/1 dev tun0", host.run(["ip", "route"]).stdout, re.DOTALL)
        if features["tun"][0] is None:
            assert "POINTOPOINT" in host.run(["ip", "link", "show", "tun0"]).stdout
        # init, the program that is asked, and no process of another host
        assert host.run(["sh", "-c", "ls /proc | grep -c '^[0-9]'"]).stdout.strip() <= "5"
        host.run(["sh", "-c", "echo mine >/dev/shm/file"], check=True)
        assert host.run(["sh", "-c", "echo $LAB_HOSTS"]).stdout == "node0,node1,node2,node3\n"
    lab.hosts[0].run(["rm", "/dev/shm/file"], check=True)
    assert lab.hosts[1].run(["cat", "/dev/shm/file"]).stdout == "mine\n" and not os.path.exists("/dev/shm/file")


def test_the_tunnel_takes_everything_and_gives_nothing(make):
    first, second = make().hosts

    def swallowed():
        # a tun that nobody reads holds some hundreds, which it counts once they are read, and drops the others
        return first.counters("tun0")["tx_packets"] + first.counters("tun0")["tx_drop"]

    for target in ("192.0.2.1", "10.8.0.3", "10.77.9.9"):
        before = swallowed()
        with receiving(second, "udp-receive", "0.0.0.0", PORT) as report:
            first.run([*TRAFFIC, "udp-send", target, PORT, 2000, 100], check=True)
        assert report["intact"] == 0 and swallowed() - before >= 1000, target


def test_no_way_leads_out_of_the_lab(make):
    before = set(os.listdir("/sys/class/net"))
    lab = make(hosts=2, nics=2)
    with socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True) as listener:
        listener.settimeout(0.5)
        port = listener.getsockname()[1]
        outside = subprocess.run(["hostname", "-I"], capture_output=True, text=True).stdout.split()
        own = lab.hosts[0].nics[0]
        for target in ["127.0.0.1", *outside]:
            source = "127.0.0.1" if target == "127.0.0.1" else own.v6 if ":" in target else own.v4
            connect = f"import socket; socket.create_connection(({target!r}, {port}), 1, ({source!r}, 0))"
            assert lab.hosts[0].run([sys.executable, "-c", connect]).returncode == 1
        with pytest.raises(TimeoutError):
            listener.accept()
    assert set(os.listdir("/sys/class/net")) - before == set()


# What the switch does


def test_a_port_that_is_limited_holds_its_buffer_and_drops_the_rest(make, features):
    needs(features, "tbf")
    buffer, rate_mbit, size = 64 << 10, 0.5, 1000
    lab = make(rate_mbit=rate_mbit, buffer_bytes=buffer)
    begin = time.monotonic()
    got = udp(lab.hosts[0], lab.hosts[1].nics[0], 1000, size)["intact"] * (size + 42)
    seconds = time.monotonic() - begin
    assert 0.6 * buffer <= got <= 1.3 * (buffer + 4096 + rate_mbit * 1e6 / 8 * seconds)
    lab.hosts[1].nics[0].limit(None)
    assert udp(lab.hosts[0], lab.hosts[1].nics[0], 1000, size)["intact"] == 1000


def test_a_port_that_limits_flows_holds_the_buffer_of_each_and_drops_the_rest(make, features):
    needs(features, "htb")
    buffer, rate_mbit, size, count = 64 << 10, 0.5, 1000, 1000
    for version in ["v4"] if features["ipv6"][0] else ["v4", "v6"]:
        lab = make(flow_rate_mbit=rate_mbit, buffer_bytes=buffer)
        source, nic = lab.hosts[0], lab.hosts[1].nics[0]
        begin = time.monotonic()
        for own in (20000, 20001, 20000 + 256):
            source.run([sys.executable, "-c", SEND, own, getattr(nic, version), PORT, count, size], check=True)
        large = {}  # what else there is are questions for neighbours
        while min(large.values(), default=0) < 0.6 * buffer or len(large) < 2:
            large = {low: count for low, count in nic.flows().items() if count > 10 * size}
            assert time.monotonic() < begin + GRACE_S, large
        seconds = time.monotonic() - begin
        assert set(large) == {20000 % 256, 20001 % 256}
        assert max(large.values()) <= 1.3 * (buffer + 4096 + rate_mbit * 1e6 / 8 * seconds), (large, seconds)


SEND = """
import socket, sys
own, address, port, count, size = sys.argv[1:]
sock = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM)
sock.bind(("", int(own)))
for _ in range(int(count)):
    sock.sendto(bytes(int(size)), (address, int(port)))
"""


def test_tcp_does_not_exceed_the_rate_of_a_port(make, features):
    needs(features, "tbf")
    lab = make(rate_mbit=100)
    sent, received = tcp(lab.hosts[0], lab.hosts[1].nics[0], 4 << 20)
    assert sent["digest"] == received["digest"]
    assert sent["bytes"] * 8 / sent["seconds"] <= 1.2 * 100e6


@pytest.mark.parametrize("share", [0.01, 0.3])
def test_the_share_of_frames_that_was_asked_for_is_lost(make, share):
    lab = make()
    nic = lab.hosts[1].nics[0]
    udp(lab.hosts[0], nic, 1)  # the two have found each other: a lost ARP costs a second and more than its share
    nic.faults(loss=share)
    # more than six standard deviations
    assert abs(FRAMES - udp(lab.hosts[0], nic)["intact"] - share * FRAMES) <= 6 * (share * FRAMES) ** 0.5
    nic.faults(loss=0)
    assert udp(lab.hosts[0], nic)["intact"] == FRAMES
    nic.faults(loss=1)
    assert udp(lab.hosts[0], nic, 100)["intact"] == 0


def test_loss_goes_one_way(make):
    lab = make()
    first, second = lab.hosts
    udp(first, second.nics[0], 1)  # they have learned each other's address
    second.nics[0].faults(loss=1)
    assert udp(second, first.nics[0], 100)["intact"] == 100
    assert udp(first, second.nics[0], 100)["intact"] == 0


def test_loss_hits_the_wire_frames_of_tcp_singly(make):
    share, size = 0.03, 16 << 20
    lab = make()
    source, target = lab.hosts[0].nics[0], lab.hosts[1].nics[0]
    tcp(source.host, target, size)
    counters = source.counters()
    assert counters["tx_bytes"] > 3 * 1514 * counters["tx_packets"], "veth takes segments together as long as it may"
    target.faults(loss=share)
    before, arrived_before = source.counters(), target.counters()
    sent, received = tcp(source.host, target, size)
    assert sent["digest"] == received["digest"]
    frames = source.counters()["tx_packets"] - before["tx_packets"]
    length = source.counters()["tx_bytes"] - before["tx_bytes"]
    arrived = target.counters()["rx_packets"] - arrived_before["rx_packets"]
    assert size < length <= 1514 * frames
    assert abs(frames - arrived - share * frames) <= 6 * (share * frames) ** 0.5


def test_frames_that_are_due_together_leave_in_order_however_many_they_are():
    sent = []
    faults = laboratory.faulty_port.Faults(SimpleNamespace(send=sent.append))
    faults.share["delay_s"] = 0.01
    frames = [number.to_bytes(4, "big") for number in range(4 * sys.getrecursionlimit())]
    for frame in frames:
        faults.take(frame)
    time.sleep(0.01)
    faults.release()
    assert sent == frames


def test_a_port_that_fails_is_told_with_what_it_said(make, features):
    needs(features, "packet")
    nic = make().hosts[1].nics[0]
    nic.faults(duplicate=0.5)
    with pytest.raises(laboratory.enter.Failure, match="faulty_port.py of node1 .*: (?s:.*)JSONDecodeError"):
        nic._process.stdin.write("no JSON: ")
        nic.faults(duplicate=0.1)


def test_a_port_corrupts_duplicates_and_reorders_the_share_that_was_asked_for(make, features):
    needs(features, "packet")
    lab = make()
    nic = lab.hosts[1].nics[0]
    udp(lab.hosts[0], nic, 1)
    share = 0.05
    margin = 6 * (share * FRAMES) ** 0.5
    for fault, seen in (("corrupt", lambda r: FRAMES - r["intact"]), ("duplicate", lambda r: r["again"]),
                        ("reorder", lambda r: r["late"]), ("loss", lambda r: FRAMES - r["intact"])):
        nic.faults(**{name: share * (name == fault) for name in ("corrupt", "duplicate", "reorder", "loss")})
        report = udp(lab.hosts[0], nic)
        # of the frames held back in a burst's end, none comes later than another; two may be held together
        low = 0.5 * share * FRAMES if fault == "reorder" else share * FRAMES - margin
        assert low <= seen(report) <= share * FRAMES + margin, (fault, report)
        assert (report["wrong"] > 0) == (fault == "corrupt"), (fault, report)
    nic.faults(corrupt=0, duplicate=0, reorder=0, loss=0)
    report = udp(lab.hosts[0], nic)
    assert report == {"intact": FRAMES, "wrong": 0, "late": 0, "again": 0, "bytes": 200 * FRAMES}


def test_a_port_rewrites_what_no_checksum_finds(make, features):
    needs(features, "packet")
    lab = make()
    nic = lab.hosts[1].nics[0]
    udp(lab.hosts[0], nic, 1)
    nic.faults(rewrite=0.05)
    report = udp(lab.hosts[0], nic)
    assert report["wrong"] > 0 and report["wrong"] + report["intact"] == FRAMES, report
    assert report["wrong"] == nic.fault_counts()["rewrite"]
    sent, received = tcp(lab.hosts[0], nic, 1 << 20)
    assert sent["digest"] != received["digest"] and received["bytes"] == 1 << 20


def test_a_port_holds_every_frame_for_as_long_as_was_asked_for(make, features):
    needs(features, "packet")
    delay_s, size = 0.1, 1000
    lab = make()
    tcp(lab.hosts[0], lab.hosts[1].nics[0], size)
    [nic.faults(delay_s=delay_s) for nic in lab.nics()]
    sent, received = tcp(lab.hosts[0], lab.hosts[1].nics[0], size)
    assert sent["digest"] == received["digest"] and sent["seconds"] >= 2 * delay_s
    report = udp(lab.hosts[0], lab.hosts[1].nics[0])
    assert report == {"intact": FRAMES, "wrong": 0, "late": 0, "again": 0, "bytes": 200 * FRAMES}


def test_without_filters_in_the_kernel_the_port_loses_frames(make, features, monkeypatch):
    needs(features, "packet")
    lab = make()
    nic = lab.hosts[1].nics[0]
    udp(lab.hosts[0], nic, 1)
    monkeypatch.setattr(nic, "_filter", lambda loss: False)
    nic.faults(loss=0.2)
    assert abs(FRAMES - udp(lab.hosts[0], nic)["intact"] - 0.2 * FRAMES) <= 6 * (0.2 * FRAMES) ** 0.5
    assert nic.fault_counts()["loss"] > 0


def test_tcp_gets_its_data_through_all_faults_at_once(make, features):
    needs(features, "packet")
    lab = make(hosts=3, loss=0.01, corrupt=0.01, duplicate=0.02, reorder=0.02)
    for target in lab.hosts[1:]:
        sent, received = tcp(lab.hosts[0], target.nics[0], 4 << 20)
        assert sent["digest"] == received["digest"] and received["bytes"] == 4 << 20
        counts = target.nics[0].fault_counts()
        assert counts["corrupt"] > 0 and counts["duplicate"] > 0 and counts["reorder"] > 0
    names, values = [line.split() for line in Path(f"/proc/{lab.hosts[1].pid}/net/snmp").read_text().splitlines()
                     if line.startswith("Tcp:")]
    assert int(dict(zip(names, values))["InCsumErrors"]) > 0


# Programs on hosts


def test_the_remote_shell_is_as_ssh_would_be(make):
    lab = make(hosts=3)
    first = lab.hosts[0]

    def shell(*words, **run):
        done = first.run(["lab-rsh", *words], **run)
        return done.returncode, done.stdout, done.stderr

    assert shell("node1", "hostname") == (0, "node1\n", "")
    assert shell("-x", "-l", "me", "-o", "A=b", "me@node2", "echo", "$(hostname)", "'a  b'") == (0, "node2 a  b\n", "")
    assert shell(lab.hosts[2].nics[0].v4, "hostname; cat >&2; exit 7", input="in") == (7, "node2\n", "in")
    assert shell("node1", "kill -9 $$")[0] == 255
    assert shell("node1", "pwd")[1].strip() == os.path.expanduser("~")
    assert shell("node9", "true") == (255, "", "lab-rsh: there is no host node9 in this lab\n")
    assert shell("node1", "head -c 3000000 /dev/zero | tr '\\0' x")[1] == "x" * 3000000
    # what a caller has in its environment stays with it, as with sshd
    assert shell("node1", "echo $ONLY_HERE", env={"ONLY_HERE": "1"}) == (0, "\n", "")


def test_the_remote_shell_does_without_a_home_folder(features, session):
    done = session.call([COMMAND, "--", "lab-rsh", "node1", "pwd"], {"HOME": "/nowhere"})
    assert (done.code, done.out) == (0, "/\n"), done
    assert done.err == "Could not chdir to home directory /nowhere: No such file or directory\n"


def test_the_far_end_of_a_killed_remote_shell_sees_its_input_end(make):
    lab = make()
    with lab.hosts[0].start(["lab-rsh", "node1", "cat; sleep 100"], stdin=subprocess.PIPE) as shell:
        eventually(lambda: ["cat"] in lab.hosts[1].processes().values())
        shell.kill()
        eventually(lambda: ["sleep", "100"] in lab.hosts[1].processes().values())


def test_a_host_that_crashes_is_gone_and_the_others_are_not(make):
    lab = make(hosts=3)
    with lab.hosts[0].start(["lab-rsh", "node1", "sleep 100"], stderr=subprocess.PIPE, text=True) as shell:
        eventually(lab.hosts[1].processes)
        lab.hosts[1].crash()
        assert shell.wait(GRACE_S) == 255 and shell.stderr.read() == "lab-rsh: connection to node1 closed\n"
    assert lab.hosts[0].run(["lab-rsh", "node1", "true"]).returncode == 255
    # The kernel closes what the host's first process had open before it takes the process itself away.
    eventually(lambda: not lab.hosts[1].alive())
    assert lab.hosts[1].processes() == {}
    lab.hosts[2].nics[0].faults(loss=0.5)  # which looks for the hosts of the network
    lab.hosts[2].nics[0].faults(loss=0)
    assert udp(lab.hosts[0], lab.hosts[2].nics[0], 10)["intact"] == 10


def test_signals_reach_the_program_and_a_stopped_one_does_not_keep_the_lab(make):
    lab = make()
    trap = "trap 'exit 3' TERM; echo ready; while :; do sleep 0.05; done"
    with lab.hosts[0].start(["sh", "-c", trap], stdout=subprocess.PIPE, text=True) as program:
        line_of(program.stdout)
        program.terminate()
        assert program.wait(GRACE_S) == 3
    stopped = lab.hosts[0].start(["sleep", "100"])
    stopped.send_signal(signal.SIGSTOP)
    lab.close()
    assert stopped.wait(GRACE_S) == -signal.SIGKILL


def test_an_mpiexec_of_the_hydra_family_starts_its_agents_through_the_remote_shell(make):
    mpiexec = ROOT / "build/imb/bin/mpiexec.hydra"
    if not mpiexec.exists():
        pytest.skip("not tested, there is no build/imb (scripts/e2e.sh)")
    lab = make(hosts=4)
    hosts = ["-launcher-exec", lab.environment["LAB_RSH"], "-hosts", lab.environment["LAB_HOSTS"], "-ppn", 1]
    done = lab.hosts[0].run([mpiexec, "-launcher", "ssh", *hosts, "-n", 4, "hostname"])
    assert sorted(done.stdout.split()) == ["node0", "node1", "node2", "node3"], done
    assert lab.processes() == {}


def test_a_real_sshd_on_every_host(make, tmp_path):
    if os.geteuid() != 0:
        pytest.skip("not tested, sshd wants to be root")
    if sshd.program() is None:
        pytest.skip("not tested, there is no sshd (scripts/e2e.sh)")
    home = Path("~/.ssh").expanduser()
    before = sorted((path, path.stat().st_mtime_ns) for path in [home, *home.rglob("*")] if path.exists())
    lab = make(hosts=3, nics=2)
    ssh = sshd.serve(lab, tmp_path)
    done = lab.hosts[0].run([ssh, "node2", "hostname; cat; exit 7"], input="through")
    assert (done.returncode, done.stdout, done.stderr) == (7, "node2\nthrough", "")
    done = lab.hosts[2].run([ssh, lab.hosts[1].nics[1].v4, "hostname"])
    assert (done.returncode, done.stdout) == (0, "node1\n")
    assert sorted((path, path.stat().st_mtime_ns) for path in [home, *home.rglob("*")] if path.exists()) == before


# The command


def test_the_command_runs_a_program_on_the_first_host_and_gives_its_exit_code(features, session):
    done = session.call([COMMAND, "--hosts", 3, "--nics", 2, "--mtu", 9000, "--", "sh", "-c",
                         "hostname; echo $LAB_HOSTS; lab-rsh node2 cat /sys/class/net/eth1/mtu; exit 9"])
    assert (done.code, done.out.split()[:2], done.err) == (9, ["node0", "node0,node1,node2"], "")
    assert done.out.split()[2:] == ["9000"] or features["sysfs"][0]


def test_the_command_says_what_it_cannot_do(features, session):
    done = session.call([COMMAND, "--hosts", 300, "--", "true"])
    assert done.code == 1 and "1 to 250 hosts" in done.err and len(done.err.splitlines()) == 1
    done = session.call(["setpriv", "--bounding-set=-all", COMMAND, "--", "true"])
    assert done.code == 1 and "no lab on this machine: " in done.err and len(done.err.splitlines()) == 1
    done = session.call(["setpriv", "--bounding-set=-all", COMMAND, "--probe"])
    assert done.code == 1 and re.search(r"^namespaces +MISSING .*not permitted$", done.out, re.MULTILINE)


def test_without_privilege_a_user_namespace_gives_a_whole_lab(features, session):
    tried = subprocess.run([*UNPRIVILEGED, COMMAND, "--probe"], capture_output=True, text=True)
    if tried.returncode != 0:
        pytest.skip(f"not tested, no lab without privilege here: {tried.stdout}")
    # lab-rsh, loss by the kernel's filter and faults by a port of our own
    script = "cat /proc/self/uid_map; lab-rsh node1 hostname; ip -br addr show docker0; ip route show dev tun0"
    options = ["--hosts", 2, "--nics", 2, "--loss", 0.1, "--reorder", 0.1, "--rate-mbit", 100]
    done = session.call([*UNPRIVILEGED, COMMAND, *options, "--", "sh", "-c", script])
    assert done.code == 0 and done.err == "", done
    assert done.out.splitlines()[0].split()[2] == "1" and "node1" in done.out and "172.17.0.1/16" in done.out
    assert "128.0.0.0/1" in done.out


# Nothing is left


def machine():
    """Whatever a lab could leave on a machine, except processes, which the fixture of every test looks for."""
    return {
        "names of namespaces": set(os.listdir("/run/netns")) if os.path.exists("/run/netns") else set(),
        "NICs": set(os.listdir("/sys/class/net")),
        "mounts": {line.split(" ", 4)[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()},
        "/run/lab": os.path.exists("/run/lab"),
    }


def namespaces():
    """All network namespaces that a process is in."""
    found = {}
    for link in Path("/proc").glob("[0-9]*/ns/net"):
        try:
            found.setdefault(os.readlink(link), []).append(link.parts[2])
        except OSError:
            continue  # gone
    return found


def gone(inodes):
    left = {inode: pids for inode, pids in namespaces().items() if inode in inodes}
    return not left


# Makes a lab with everything in it, also programs that have cut themselves loose from their parents, and tells of it.
MAKER = """
import subprocess, sys
sys.path.insert(0, sys.argv[1])
from lab import Lab
with Lab(hosts=3, nics=2, loss=0.1, reorder=0.1, rate_mbit=100) as lab:
    for host in lab.hosts:
        host.start(["sleep", "1000"])
        host.run(["sh", "-c", "trap '' TERM HUP INT; setsid sleep 1000 >/dev/null 2>&1 </dev/null & exit 0"])
    shell = lab.hosts[0].start(["lab-rsh", "node1", "setsid sleep 1000"])
    print(*[host.pid for host in lab.hosts], *[network.pid for network in lab.networks], flush=True)
    sys.stdin.read()
"""


def maker(session):
    return session.start([sys.executable, "-c", MAKER, ROOT / "tests"], stdin=subprocess.PIPE)


def test_a_lab_whose_maker_is_killed_leaves_nothing(features, session):
    before = machine()
    process = maker(session)
    held = {os.readlink(f"/proc/{pid}/ns/net") for pid in line_of(process.stdout).split()}
    assert len(held) == 5 and sum(len(namespaces()[inode]) for inode in held) > 10
    process.kill()
    eventually(lambda: gone(held))
    eventually(lambda: session.processes() == [])
    process.communicate()
    assert machine() == before


@pytest.mark.parametrize("victim", ["keeper.py", "init", "host", "switch", "on_host.py", "faulty_port.py"])
def test_a_lab_whose_own_process_is_killed_leaves_nothing_either(features, session, victim):
    process = maker(session)
    pids = line_of(process.stdout).split()
    held = {os.readlink(f"/proc/{pid}/ns/net") for pid in pids}
    # by their parents: pids start again from the lowest after the highest, so their order says nothing
    [keeper] = [pid for pid in session.children(process.pid) if b"keeper.py" in command_line(pid)]
    [init] = session.children(keeper)
    found = {"keeper.py": keeper, "init": init, "host": int(pids[0]), "switch": int(pids[-1])}
    if victim not in found:
        found[victim] = next(pid for pid in session.processes() if victim.encode() in command_line(pid))
    os.kill(found[victim], signal.SIGKILL)
    if victim in ("keeper.py", "init"):
        eventually(lambda: gone(held))  # the lab, though its maker lives
    process.stdin.close()
    process.wait(20)
    eventually(lambda: gone(held))


def test_a_lab_whose_maker_is_killed_at_any_moment_leaves_nothing(features, session):
    before = machine()
    chance = random.Random(1)
    for _ in range(KILLS):
        process = maker(session)
        time.sleep(chance.uniform(0, 1.2))
        process.kill()
        eventually(lambda: session.processes() == [])
        process.communicate()
    assert machine() == before


def test_a_lab_that_is_interrupted_leaves_nothing(features, session):
    for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        process = session.start([COMMAND, "--", "sh", "-c", "echo up; exec sleep 1000"])
        assert line_of(process.stdout) == "up\n"
        os.killpg(process.pid, sig)  # as from a terminal
        process.wait(20)
        eventually(lambda: session.processes() == [])
        process.communicate()
