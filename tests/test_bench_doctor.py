"""`hawser-bench doctor`: this machine, and hosts of a lab whose networks lose, filter and narrow; what cannot be reached, and that
nothing is left. What the examinations say of facts is tested where they are (Rust)."""

import json
import os
import re
import signal
import subprocess

import pytest
from harness import GRACE_OF_LABS_S, LONG, MARK, eventually, line_of, prefix
from lab.enter import Failure, tc
from test_hosts import part, programs

BENCH = prefix() / "bin/hawser-bench"
DOCTOR = ["hawser-bench", "doctor", "--launcher-exec", "lab-rsh"]
METHODS = ["packet", "packet-udp", "udp", "stream"]
LONG_S = 150


def alone(session, *words):
    env = dict(os.environ, TMPDIR=str(session.tmp), **{MARK: session.mark})
    return subprocess.run([str(BENCH), "doctor", *map(str, words)], env=env, text=True, capture_output=True, timeout=60)


def visit(lab, tmp_path, *words, hosts="node0,node1", env=None):
    """What it printed, and what it wrote; on no host anything of it is left."""
    file = tmp_path / "doctor.json"
    done = lab.hosts[0].run([*DOCTOR, "--json", str(file), *words, hosts], env=env, timeout=LONG_S)
    eventually(lambda: programs(lab) == {})
    return done, json.loads(file.read_text()) if file.exists() else None


def found(record, name):
    """What an examination told of the pairs, but of what is well."""
    findings = [finding for pair in record["pairs"] for finding in pair["findings"]]
    return [finding["found"] for finding in findings if finding["name"] == name and finding["verdict"] != "well"]


def ways(record, measured=True):
    """Those of the first pair of hosts by method and rails, that were measured or not."""
    ways = record["pairs"][0]["ways"]
    return {(way["method"], *way["rails"]): way for way in ways if measured == all(d["figures"] for d in way["directions"])}


def test_this_machine_alone_is_looked_at(session, tmp_path):
    ran = alone(session, "--json", tmp_path / "doctor.json")
    assert ran.returncode == 0 and ran.stderr == "", ran.stderr
    record = json.loads((tmp_path / "doctor.json").read_text())
    (host,) = record["hosts"]
    assert host["facts"]["cores"]["allowed"] == len(os.sched_getaffinity(0)) and not record["pairs"]
    assert host["facts"]["clock"]["read_ns"] > 0 and any(rail["name"] == "lo" for rail in host["facts"]["rails"])
    for name in ("cores", "memory", "shared memory", "limits", "copying", "doorbells", "clock", "raw frames", "rails"):
        assert f" {name} " in ran.stdout, ran.stdout
    assert "suggested changes" in ran.stdout


@pytest.mark.parametrize("limit, code, told", [("-f", 1, "shared memory cannot be created"), ("-Sf", 0, "memfd works")])
def test_limited_files_are_told_and_no_death(session, limit, code, told):
    env = dict(os.environ, TMPDIR=str(session.tmp), **{MARK: session.mark})
    command = ["bash", "-c", f'ulimit {limit} 1000; exec "$0" doctor', str(BENCH)]
    ran = subprocess.run(command, env=env, text=True, capture_output=True, timeout=60)
    assert ran.returncode == code and told in ran.stdout, (ran.returncode, ran.stdout, ran.stderr)


def test_two_hosts_with_two_rails_are_measured_both_ways_by_each_port(make, tmp_path):
    done, record = visit(make(hosts=2, nics=2), tmp_path)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    got = ways(record)
    assert set(got) == {(method, rail, rail) for method in METHODS for rail in ("eth0", "eth1")}
    for way in got.values():
        for direction in way["directions"]:
            figures, answered = direction["figures"], direction["answered"]
            assert figures["half_us"] > 0 and figures["gbyte_s"] > 0, way
            assert figures["largest"] == figures["frame"] == min(way["frames"]), way
            assert 0 < figures["paced"] - 3 < answered["paced"] <= figures["paced"], way
    assert all(abs(way["directions"][0]["figures"]["ahead_s"][0]) < 0.1 for way in got.values()), "one machine has one clock"
    assert record["complete"] and record["format"] == 1
    assert [found(record, name) for name in ("one way only", "filtered", "loss", "path MTU", "MTU", "stalled")] == [[]] * 6, done.stdout
    assert record["pairs"][0]["choice"][0].startswith("short messages by packet over eth"), record["pairs"][0]["choice"]
    assert "bulk over 2 paths in parallel" in record["pairs"][0]["choice"][1]
    assert "docker0" in done.stdout and "node0 -> node1" in done.stdout and "node1 -> node0" in done.stdout


def test_what_variables_ask_for_is_what_is_tested(make, tmp_path):
    wishes = {"HAWSER_PORT": "udp", "HAWSER_RAILS": "eth1", "HAWSER_PORT_RANGE": "40000-40009"}
    done, record = visit(make(hosts=2, nics=2), tmp_path, env=wishes)
    assert done.returncode == 0 and set(ways(record)) == {("udp", "eth1", "eth1")}, done.stderr
    assert "HAWSER_PORT_RANGE=40000-40009" in done.stdout


def test_ports_that_share_the_queues_of_a_nic_are_both_measured(make, features, tmp_path):
    if features["bpf"][0]:
        pytest.skip(f"not tested, there is no bpf: {features['bpf'][0]}")
    done, record = visit(make(hosts=2), tmp_path, env={"HAWSER_PORT": "xdp"})
    if "using packet instead of" in json.dumps(record) or ("packet", "eth0", "eth0") in ways(record):
        pytest.skip("not tested, no xdp can be had here")
    assert done.returncode == 0 and set(ways(record)) == {("xdp", "eth0", "eth0"), ("xdp-udp", "eth0", "eth0")}, done.stdout
    assert not found(record, "stalled"), done.stdout


def test_a_file_of_hosts_and_two_names_of_one_host(make, tmp_path):
    lab, file = make(hosts=2), tmp_path / "hosts"
    file.write_text("node0:4 # four ranks\nnode1 slots=2\nnode1\n10.77.0.2\n")
    done = lab.hosts[0].run([*DOCTOR, "-f", str(file)], env={"HAWSER_PORT": "udp"}, timeout=LONG_S)
    assert done.returncode == 0, done.stderr
    assert "host 10.77.0.2 is another name of a host already listed\n" in done.stdout and done.stdout.count("would choose: short") == 1, done.stdout


def test_a_rail_that_loses_is_named_with_the_direction_in_which_it_does(make, tmp_path):
    lab = make(hosts=2, nics=2)
    lab.hosts[1].nics[1].faults(loss=0.05)
    done, record = visit(lab, tmp_path)
    assert done.returncode == 0, done.stderr
    (told,) = found(record, "loss")
    assert told.startswith("from eth1 of node0 to eth1 of node1 short frames are lost"), told
    assert all(f"by {method}" in told for method in ("packet", "packet-udp", "udp")), told


def test_a_way_that_takes_long_works(make, tmp_path):
    lab = make(hosts=2, delay_s=0.03)
    done, record = visit(lab, tmp_path, env={"HAWSER_PORT": "udp,stream"})
    assert done.returncode == 0 and not found(record, "stalled") and not found(record, "reached"), done.stdout
    for way in ways(record).values():
        for direction in way["directions"]:
            assert direction["figures"]["half_us"] > 25_000 and direction["figures"]["gbyte_s"] > 0, way


def test_a_path_that_is_narrower_than_the_interfaces_say_is_found(make, tmp_path):
    lab = make(hosts=2, mtu=9000)
    lab.hosts[1].nics[0].set_mtu(9000, switch=1500)
    done, record = visit(lab, tmp_path, env={"HAWSER_PORT": "packet,udp"})
    assert done.returncode == 0, done.stderr
    assert any("from eth0 of node0 to eth0 of node1" in told and "udp passes frames of up to 1472 bytes, not of 8972" in told
               for told in found(record, "path MTU")), done.stdout
    assert "ip link set eth0 mtu 1500" in done.stdout


def test_hosts_of_unlike_mtu_are_told(make, tmp_path):
    lab = make(hosts=2, mtu=9000)
    lab.hosts[1].nics[0].set_mtu(1500, switch=9000)
    done, record = visit(lab, tmp_path, env={"HAWSER_PORT": "udp"})
    assert any("different MTUs" in told for told in found(record, "MTU")) and not found(record, "path MTU"), done.stdout
    assert "ip link set eth0 mtu MTU on node1" in done.stdout


def test_a_network_that_drops_raw_ethernet_is_named(make, features, tmp_path):
    if features["bpf"][0]:
        pytest.skip(f"not tested, there is no bpf: {features['bpf'][0]}")
    done, record = visit(make(hosts=2, ip_only=True), tmp_path)
    assert done.returncode == 0, done.stderr
    (told,) = found(record, "filtered")
    assert "raw Ethernet (EtherType 0x88B5) does not pass between eth0 and eth0" in told
    assert record["pairs"][0]["choice"][0].startswith("short messages by packet-udp over eth0")


def drop_protocol(nic, protocol):
    """What a firewall does at the switch's port: IPv4 of this protocol does not come to the host (linux/filter.h: the EtherType, the
    protocol, pass or drop)."""
    keep, drop = f"6 0 0 {0xFFFFFFFF}", "6 0 0 2"
    program = ["40 0 0 12", "21 0 2 2048", "48 0 0 23", f"21 1 0 {protocol}", keep, drop]
    port = nic.port
    try:
        tc(nic.network.pid, "qdisc", "replace", "dev", port, "clsact")
        tc(nic.network.pid, "filter", "replace", "dev", port, "egress", "protocol", "all", "pref", 1, "handle", 1, "bpf", "direct-action",
           "bytecode", ",".join([str(len(program)), *program]))
    except Failure as why:
        pytest.skip(f"not tested, there is no filter here: {why}")


@pytest.mark.parametrize("protocol, names, opened", [(17, ["UDP by raw frames", "UDP"], "udp dport"), (6, ["TCP"], "tcp dport")])
def test_a_firewall_is_named_with_what_opens_it(make, tmp_path, protocol, names, opened):
    lab = make(hosts=2)
    [drop_protocol(nic, protocol) for nic in lab.nics()]
    done, record = visit(lab, tmp_path)
    assert done.returncode == 0, done.stderr
    assert found(record, "filtered") == [f"{name} does not pass between eth0 and eth0" for name in names], done.stdout
    assert f"{opened} 40000-40999 accept" in done.stdout


def test_a_firewall_that_passes_one_way_is_named_with_the_deaf_host(make, tmp_path):
    lab = make(hosts=2)
    drop_protocol(lab.hosts[1].nics[0], 17)
    done, record = visit(lab, tmp_path)
    told = found(record, "one way only")
    assert [line.split()[0] for line in told] == ["packet-udp", "udp"], done.stdout
    assert all("from eth0 of node0 to eth0 of node1 nothing arrives" in line for line in told)


def test_hosts_that_nothing_joins_are_an_error(make, tmp_path):
    lab = make(hosts=2)
    [nic.unplug() for nic in lab.nics()]
    done, record = visit(lab, tmp_path)
    assert done.returncode == 1
    (told,) = found(record, "reached")
    assert told.startswith("no path passes in both directions: packet between eth0 and eth0"), told
    assert "eth0 has no carrier" in done.stdout


def test_a_host_that_is_not_reached_is_one_line_and_the_others_go_on(make, tmp_path):
    lab = make(hosts=3)
    lab.hosts[2].crash()
    done, record = visit(lab, tmp_path, hosts="node0,nosuch,node2,node1", env={"HAWSER_PORT": "udp"})
    lines = done.stderr.splitlines()
    assert done.returncode == 1 and len(lines) == 2, done.stderr
    for line, name in zip(lines, ("nosuch", "node2")):
        assert line.startswith(f"hawser-bench: doctor: host {name} cannot be reached: lab-rsh ended with code 255"), line
    assert [pair["hosts"] for pair in record["pairs"]] == [["node0", "node1"]] and len(ways(record)) == 1


def test_a_host_without_hawser_bench_is_one_line(make, tmp_path):
    lab = make(hosts=2)
    bin = tmp_path / "bin"
    bin.mkdir()
    (bin / "mpiexec").symlink_to(prefix() / "bin/mpiexec")
    (tmp_path / "lib").symlink_to(prefix() / "lib")
    done, _ = visit(lab, tmp_path, "--prefix", str(tmp_path), hosts="node1")
    assert done.returncode == 1
    assert done.stderr == (f"hawser-bench: doctor: host node1 has no hawser-bench that can be started ({bin}/hawser-bench); install Hawser "
                           "there under the same prefix, or name its prefix (--prefix DIR)\n")


def begun(lab, *words):
    # A group of its own, as a shell gives it.
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "start_new_session": True}
    job = lab.hosts[0].start([*DOCTOR, *words, "node0,node1"], **streams)
    eventually(lambda: sum("doctor-worker" in words for words in programs(lab).values()) >= 2)
    return job


@pytest.mark.parametrize("end, code", [(signal.SIGINT, 130), (signal.SIGTERM, 130), (signal.SIGKILL, -signal.SIGKILL)])
def test_an_end_in_the_middle_leaves_no_process_on_any_host_and_keeps_what_was_found(make, tmp_path, end, code):
    lab, file = make(hosts=2, nics=2), tmp_path / "doctor.json"
    with begun(lab, "--json", file) as job:
        assert line_of(job.stdout).startswith("host node0")
        if end == signal.SIGKILL:  # a process that does not see the end of its input hinders nothing
            os.kill(part(lab.hosts[1], "bin/hawser-bench doctor-worker"), signal.SIGSTOP)
        if end == signal.SIGINT:  # as the terminal sends it: to all of the group
            os.killpg(job.pid, end)
        else:
            os.kill(part(lab.hosts[0], "hawser-bench doctor --launcher"), end)
        out, err = job.communicate(timeout=GRACE_OF_LABS_S)
        assert job.returncode == code, err
        eventually(lambda: programs(lab) == {})
    if end == signal.SIGKILL:
        assert err == "" and "suggested changes" not in out and not file.exists(), err
        return
    assert err == "hawser-bench: doctor: interrupted: 0 of 1 pairs tested\n" and "suggested changes" in out, err
    record = json.loads(file.read_text())
    assert record["complete"] is False and record["hosts"][0]["facts"] and all(host["lost"] is None for host in record["hosts"])
    assert all(pair["cut_off"] == "interrupted" for pair in record["pairs"])


def in_place_of_hawser_bench(tmp_path, script):
    """A prefix whose hawser-bench is this."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/mpiexec").symlink_to(prefix() / "bin/mpiexec")
    (tmp_path / "lib").symlink_to(prefix() / "lib")
    program = tmp_path / "bin/hawser-bench"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)


def test_what_was_found_of_a_host_stays_when_it_is_lost_and_the_others_go_on(make, tmp_path):
    # node1's part ends in the middle of the second way.
    ends = 'while read -r line; do case $line in *Answer*) n=$((n + 1)); [ $n = 2 ] && exit;; esac; printf "%s\\n" "$line"; done'
    real = prefix() / "bin/hawser-bench"
    in_place_of_hawser_bench(tmp_path, f'if [ $(uname -n) != node1 ]; then exec {real} "$@"; fi\nn=0\n{ends} | {real} "$@"')
    done, record = visit(make(hosts=3), tmp_path, "--prefix", tmp_path, hosts="node0,node1,node2", env={"HAWSER_PORT": "udp,stream"})
    assert done.returncode == 1 and done.stderr.count("\n") == 1 and "host node1" in done.stderr, done.stderr
    lost, whole, left = record["pairs"]
    assert "host node1" in lost["cut_off"] and all(direction["figures"] for direction in lost["ways"][0]["directions"]), lost
    assert whole["cut_off"] is None and whole["choice"] and not lost["choice"]
    assert left["hosts"] == ["node1", "node2"] and left["cut_off"] == "host node1 is lost"
    assert [bool(host["lost"]) for host in record["hosts"]] == [False, True, False] and record["complete"] is False


def test_a_host_that_talks_without_end_is_one_plain_line(make, tmp_path):
    in_place_of_hawser_bench(tmp_path, r"exec yes $(printf '\033[2J')" + "x" * 200)
    done, _ = visit(make(hosts=2), tmp_path, "--prefix", tmp_path, hosts="node1")
    assert done.returncode == 1 and done.stderr.count("\n") == 1 and "\033" not in done.stderr, done.stderr
    assert "host node1 replied in an unknown format" in done.stderr and len(done.stderr) < 300, done.stderr


def test_the_cause_is_told_when_the_part_of_a_host_fails(make, tmp_path):
    in_place_of_hawser_bench(tmp_path, r"printf 'caf\351\nno ports today\n' >&2; exit 3")
    done, _ = visit(make(hosts=2), tmp_path, "--prefix", tmp_path, hosts="node1")
    assert done.returncode == 1 and done.stderr.count("\n") == 1, done.stderr
    assert "host node1: no ports today; rank 0" in done.stderr and "exited with code 3" in done.stderr, done.stderr


def test_a_process_that_dies_is_one_line_with_its_host(make):
    lab = make(hosts=2, nics=2)
    with begun(lab) as job:
        assert line_of(job.stdout).startswith("host node0")
        os.kill(part(lab.hosts[1], "bin/hawser-bench doctor-worker"), signal.SIGKILL)
        out, err = job.communicate(timeout=GRACE_OF_LABS_S)
        assert job.returncode == 1 and err.count("\n") == 1 and "node1" in err and "killed by signal 9" in err, err
        eventually(lambda: programs(lab) == {})


@pytest.mark.skipif(not LONG, reason="not tested, it takes 30 s (HAWSER_LONG)")
def test_a_process_that_hangs_is_one_line_after_its_time(make):
    lab = make(hosts=2, nics=2)
    with begun(lab) as job:
        assert line_of(job.stdout).startswith("host node0")
        os.kill(part(lab.hosts[1], "bin/hawser-bench doctor-worker"), signal.SIGSTOP)
        out, err = job.communicate(timeout=100)
        told = re.fullmatch(r"hawser-bench: doctor: host node1 has not replied for [34]0 s; its process is ended\n", err)
        assert job.returncode == 1 and told, err
        eventually(lambda: programs(lab) == {})


@pytest.mark.parametrize("words, cause", [
    (["--launcher", "nosuch", "a"], "possible values: ssh, rsh, slurm, flux, fork"),
    (["a,b;c"], '"b;c" is not a valid host'),
    (["-f", "/nowhere"], "the host file /nowhere cannot be read"),
    (["-f", "/dev/null"], "names no host"),
    (["a,b", "-f", "x"], "cannot be used with"),
    (["--json", "/nowhere/found.json", "a"], "/nowhere/found.json cannot be written"),
])
def test_a_wrong_command_line_is_named(session, words, cause):
    ran = alone(session, *words)
    assert ran.returncode == 2 and cause in ran.stderr, ran.stderr
