"""Ranks and agents that die, stop or are silent while ranks of different hosts talk: what users see, what is lost, what is
left.

The programs check all their data. Moments and victims come from a seed, which every failure names; HAWSER_TEST_SEED sets it.
"""

import json
import os
import random
import re
import signal
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from harness import GRACE_OF_LABS_S, LONG, eventually, line_of, parent
from lab.enter import done, in_network_of, started, tc
from test_hosts import mpiexec, programs

KILLS = 60 if LONG else 8
ENDS = 100 if LONG else 8
ROUNDS = "20000" if LONG else "1500"
# Longer than the longest timeout of link, which is 1 s.
STOP_S = 2.5


def dice():
    """What chance decides; where the test fails, what is printed is shown."""
    seed = os.environ.get("HAWSER_TEST_SEED", str(time.time_ns()))
    print(f"HAWSER_TEST_SEED={seed}")
    return random.Random(seed)


def started_by(host, parents, words):
    """Not what they have forked themselves, which has the same words."""
    return [pid for pid, line in host.processes().items() if line[:len(words)] == words and parent(pid) in parents]


def agents(host):
    guards = [pid for pid, words in host.processes().items() if words[1:2] == ["__guard"]]
    return started_by(host, guards, ["mpiexec", "__agent"])


def ranks(host, program):
    return started_by(host, agents(host), [str(program)])


def inside(pid):
    """A process's number on its own host."""
    return re.search(r"NSpid:.*\s(\d+)$", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)[1]


def launchers(lab):
    """mpiexec, its guards, agents and the processes that beat."""
    return [pid for pid, words in lab.processes().items() if words and words[0].endswith("mpiexec")]


def rank_of(pid):
    return re.search(r"HAWSER_RANK=(\d+)", Path(f"/proc/{pid}/environ").read_text())[1]


def send(pid, *signals):
    for sent in signals:
        try:
            os.kill(pid, sent)
        except ProcessLookupError:
            pass


# Lines of /proc/net for what somebody holds: what nobody does any more, but whose end the peer has not acknowledged, has inode 0.
INTERNET = r"^ *\d+: (?:\S+ +){8}[1-9]\d* .*"
SOCKETS = {"packet": r"^\w+ +\d+ .*", "unix": r"\S*hawser\S*"} | dict.fromkeys(("udp", "udp6", "tcp", "tcp6"), INTERNET)


def left(lab):
    """What a job could leave on a host beside processes: sockets, files, and what hangs on its NICs."""
    found = {}
    for host in lab.hosts:
        root = Path(f"/proc/{host.pid}/root")
        for kind, line in SOCKETS.items():
            found[host.name, kind] = re.findall(line, Path(f"/proc/{host.pid}/net/{kind}").read_text(), re.MULTILINE)
        links = json.loads(done(started([*in_network_of(host.pid), "ip", "-json", "-details", "link"])))
        found[host.name, "XDP"] = [link["ifname"] for link in links if "xdp" in link]
        found[host.name, "tc"] = tc(host.pid, "qdisc")
        for place in ("dev/shm", "run"):
            found[host.name, place] = sorted(os.listdir(root / place))
    return found


def nothing_is_left(lab, before):
    """What `left` found before the job is all that it finds soon after; the kernel takes some things away a little later."""
    try:
        eventually(lambda: left(lab) == before)
    except AssertionError:
        now = left(lab)
        raise AssertionError(f"left behind: {[(what, now[what]) for what in now if now[what] != before[what]]}") from None


@pytest.mark.timeout(60 + 5 * KILLS)
def test_whoever_is_killed_under_traffic_is_named_in_one_line_and_nothing_is_left(make, build):
    """At any moment from the start on, whether or not another rank or agent is stopped at the time."""
    lab, program, chance = make(hosts=2), build("endless.c"), dice()
    before = left(lab)
    for turn in range(KILLS):
        with mpiexec(lab, "-ppn", "2", program) as job:
            if turn % 2:
                assert line_of(job.stdout) == "all are there\n", job.communicate()
                assert left(lab) != before, "what is looked for can be seen"
            time.sleep(chance.uniform(0, 0.5))
            home, other = chance.sample(lab.hosts, 2)
            is_rank = chance.random() < 0.6
            victim = chance.choice(eventually(lambda: ranks(home, program) if is_rank else agents(home)))
            stopped = chance.choice([*ranks(home, program), *ranks(other, program), *agents(other), victim])
            if is_rank:
                told = rf"mpiexec: rank {rank_of(victim)} on host {home.name} .pid {inside(victim)}. was killed by signal 9 "
            else:
                told = rf"mpiexec: host {home.name} .*the agent .pid {inside(victim)}. was killed by signal 9 "
            send(stopped, signal.SIGSTOP)
            time.sleep(chance.uniform(0, 0.05))
            send(victim, signal.SIGKILL)
            _, err = job.communicate(timeout=GRACE_OF_LABS_S)
            what = f"turn {turn}, {told}: {err}"
            assert job.returncode == (137 if is_rank else 1) and err.count("\n") == 1 and re.match(told, err), what
            eventually(lambda: programs(lab) == {})
            nothing_is_left(lab, before)


@pytest.mark.timeout(300)
def test_ranks_and_agents_that_are_stopped_under_traffic_lose_nothing(make, build):
    """One after the other while all talk, the first one for longer than every timeout of the protocol."""
    lab, program, chance = make(hosts=2), build("random.c"), dice()
    with mpiexec(lab, "-ppn", "2", program, "5", ROUNDS) as job:
        found = eventually(lambda: ranks(lab.hosts[1], program))
        pause_s = STOP_S
        while found:
            stopped = chance.choice(found)
            send(stopped, signal.SIGSTOP)
            time.sleep(pause_s)
            send(stopped, signal.SIGCONT)
            time.sleep(chance.uniform(0, 0.2))
            pause_s = chance.uniform(0, 0.3)
            found = [pid for host in lab.hosts for pid in ranks(host, program) + agents(host)]
        out, err = job.communicate(timeout=GRACE_OF_LABS_S)
    assert (job.returncode, out, err) == (0, "", ""), (out, err)
    eventually(lambda: programs(lab) == {})


# How long a rank is silent.
SILENCE_S = 60 if LONG else STOP_S


@pytest.mark.timeout(60 + SILENCE_S)
@pytest.mark.parametrize("how", ["compute", "stop", "finalize"])
def test_a_rank_that_is_silent_with_traffic_under_way_is_waited_for(make, build, how):
    """It computes or is stopped; or computes while what others sent waits in their MPI_Finalize."""
    lab, program = make(hosts=2), build("silence.c")
    with mpiexec(lab, "-ppn", "2", program, how, str(SILENCE_S), env={"HAWSER_HANG_S": "0"}) as job:
        if how == "stop":
            silent = eventually(lambda: [pid for pid in ranks(lab.hosts[0], program) if state(pid) == "T"])
            time.sleep(SILENCE_S)
            send(silent[0], signal.SIGCONT)
        out, err = job.communicate(timeout=SILENCE_S + GRACE_OF_LABS_S)
    assert (job.returncode, out, err) == (0, "", ""), (out, err)


def state(pid):
    """As in ps: R, S, T."""
    return re.search(r"State:\s(.)", Path(f"/proc/{pid}/status").read_text())[1]


# How long what a rank sends last is lost.
LOST_S = 1.5


@pytest.mark.parametrize("what", ["message", "nothing"])
@pytest.mark.parametrize("port", ["", "packet", "udp"])
def test_finalize_waits_until_what_was_sent_last_has_arrived(make, build, port, what):
    """Of rank 0 its last message is lost, or that it is in MPI_Finalize; what rank 1 has to say it has said by then."""
    with parting(make(hosts=2), build("parting.c"), port, what) as (lab, job):
        lab.hosts[1].nics[0].faults(loss=1)
        print(file=job.stdin, flush=True)
        assert line_of(job.stdout) == "in MPI_Finalize\n"
        time.sleep(LOST_S)
        assert job.poll() is None and all(ranks(host, build("parting.c")) for host in lab.hosts), "nobody has ended"
        lab.hosts[1].nics[0].faults(loss=0)


@pytest.mark.parametrize("port", ["", "packet", "udp"])
def test_a_rank_whose_last_acknowledgement_is_lost_for_good_ends_well(make, build, port):
    """Nothing comes back to rank 0 any more, and rank 1 has gone when it is still waiting."""
    with parting(make(hosts=2), build("parting.c"), port, "nothing") as (lab, job):
        lab.hosts[0].nics[0].faults(loss=1)
        print(file=job.stdin, flush=True)
        assert line_of(job.stdout) == "in MPI_Finalize\n"


@contextmanager
def parting(lab, program, port, what):
    """A job of two ranks, once rank 1 waits for what rank 0 sends last. It ends well after the block."""
    with mpiexec(lab, "-genv", "HAWSER_PORT", port, program, what, stdin=subprocess.PIPE) as job:
        assert line_of(job.stdout) == "all are there\n"
        waiting, = ranks(lab.hosts[1], program)
        eventually(lambda: sleeps_on(waiting))
        yield lab, job
        out, err = job.communicate(timeout=GRACE_OF_LABS_S)
    assert (job.returncode, out, err) == (0, "", ""), (out, err)


def sleeps_on(pid):
    """Whether it sleeps and is not woken meanwhile: within the barrier before, it soon is."""
    def woken():
        return re.search(r"^voluntary_ctxt_switches:\s(\d+)", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)[1]
    before = woken()
    time.sleep(0.3)
    return state(pid) == "S" and woken() == before


def test_who_ends_under_heavy_loss_is_never_taken_for_lost(make, build):
    """What is lost at the end of a job is the last acknowledgement, again and again."""
    lab = make(hosts=2, loss=0.3)
    for _ in range(ENDS):
        with mpiexec(lab, "-ppn", "2", build("hello.c"), "hello") as job:
            out, err = job.communicate(timeout=GRACE_OF_LABS_S)
        assert (job.returncode, sorted(out.split("\n")), err) == (0, ["", *(f"{rank} of 4" for rank in range(4))], "")


@pytest.mark.parametrize("how", ["recv", "barrier", "test", "compute"])
def test_ranks_die_with_the_launcher_although_scripts_started_them_and_nobody_is_left_to_end_them(make, build, how):
    """mpiexec, guards and agents are killed at one moment, with and without a stop before it."""
    lab, program = make(hosts=2), build("waits.c")
    before = left(lab)
    for signals in [(signal.SIGKILL,), (signal.SIGSTOP, signal.SIGKILL)]:
        with mpiexec(lab, "-ppn", "2", "sh", "-c", f"{program} {how}; true") as job:
            assert line_of(job.stdout) == "all are there\n", job.communicate()
            victims = launchers(lab)
            assert len(victims) >= 6, lab.processes()
            for sent in signals:
                for pid in victims:
                    send(pid, sent)
            job.communicate(timeout=GRACE_OF_LABS_S)
        eventually(lambda: programs(lab) == {})
        nothing_is_left(lab, before)
