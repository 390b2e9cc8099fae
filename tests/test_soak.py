"""24 unlike jobs, two at a time, on labs of unlike shape, while what joins the hosts goes wrong by a plan of a seed: every job ends by
itself, with the right data, and leaves nothing.

HAWSER_SOAK_S=600: for so long, the jobs in another order each time, by a seed of its own (`make check-long`); else a slice of it, 16 of
the jobs by a seed that stays. Every failure names HAWSER_TEST_SEED and HAWSER_TEST_TURN, which repeat that lab, its jobs and its plan.
"""

import os
import random
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from harness import eventually
from soak.jobs import JOBS
from soak.weather import Weather, plan
from test_ends import left, nothing_is_left
from test_hosts import mpiexec, programs

SECONDS = float(os.environ.get("HAWSER_SOAK_S", 0))
SEED = os.environ.get("HAWSER_TEST_SEED", str(time.time_ns()) if SECONDS else "20261123")
ONLY = os.environ.get("HAWSER_TEST_TURN")
# Of one lab.
JOBS_OF_TURN, AT_ONCE = 4, 2
# Turns of a slice, of 16 jobs, in less than a minute.
SLICE = 4
# No job takes half as long, on the worst of these networks: one that does hangs.
HANGS_S = 150
PORTS = ["", "", "", "", "packet", "udp", "stream", "packet,udp", "packet-udp"]


class Turn:
    """A lab's shape, its jobs, and what happens to it: all by the seed and the turn's number."""

    def __init__(self, number):
        self.number = number
        rounds, part = divmod(number, len(JOBS) // JOBS_OF_TURN)
        jobs = random.Random(f"{SEED} {rounds}").sample(JOBS, len(JOBS))
        self.jobs = jobs[part * JOBS_OF_TURN:][:JOBS_OF_TURN]
        self.dice = dice = random.Random(f"{SEED} turn {number}")
        hosts, networks = dice.randint(2, 4), dice.randint(1, 3)
        common = sorted(dice.sample(range(networks), dice.randint(1, networks)))
        self.nics = [self.plugged(networks, common) for _ in range(hosts)]
        on = [[host for host, nics in enumerate(self.nics) if network in nics.values()] for network in range(networks)]
        self.nics[0] |= {f"spare{network}": network for network, hosts_of in enumerate(on) if not hosts_of}
        on = [hosts_of or [0] for hosts_of in on]
        self.ports = [(dice.choice(PORTS), dice.choice(["mpich", "std"]), dice.choice(job.ranks)) for job in self.jobs]
        self.steps = plan(dice, on, common, JOBS_OF_TURN / AT_ONCE * HANGS_S)

    def plugged(self, networks, common):
        """The NICs of a host: those of every host, and perhaps others, by names and in an order of its own."""
        mine = [network for network in range(networks) if network in common or self.dice.random() < 0.5]
        self.dice.shuffle(mine)
        return {self.dice.choice(["eth", "ens", "lan"]) + str(at): network for at, network in enumerate(mine)}

    def __str__(self):
        return f"HAWSER_TEST_SEED={SEED} HAWSER_TEST_TURN={self.number}: hosts {self.nics}"


def run(turn, lab, weather, build, at):
    """One job to its end. What it says where it fails: how it ended, and what had been done to the networks."""
    job, (port, abi, n) = turn.jobs[at], turn.ports[at]
    ppn = -(-n // len(lab.hosts))
    words = ["-n", str(n), "-ppn", str(ppn), "-genv", "HAWSER_PORT", port, *(word for item in job.env.items() for word in ("-genv", *item))]
    begin = weather.passed_s()
    with mpiexec(lab, *words, *job.command(build, abi)) as started:
        try:
            out, err = started.communicate(timeout=HANGS_S)
            how = f"exit code {started.returncode}" if (started.returncode, err) != (0, "") else None
        except subprocess.TimeoutExpired:
            how, report = f"hangs for {HANGS_S} s", state(lab, started)
            started.kill()
            out, err = started.communicate()
            err += report
    took = f"{job.name}, HAWSER_PORT={port}, {n} ranks, ABI {abi}, {weather.passed_s() - begin:.1f} s from {begin:.1f} s on"
    print(f"    {took}")
    plan_so_far = "".join(f"{step}\n" for step in weather.done)
    return how and f"{turn}\n{took}: {how}\n--- stdout\n{out}\n--- stderr\n{err}\n--- done to the networks\n{plan_so_far}"


def state(lab, job):
    """Of a job that hangs: what its ranks say they do, where they are, and what they have counted; what the NICs have."""
    job.send_signal(signal.SIGQUIT)
    time.sleep(3)
    found = [f"{nic.host.name} {nic.name}: {nic.shares} {nic.counters()}" for nic in lab.nics()]
    for host in lab.hosts:
        found.append(host.run(["hawser-info", "--stats"]).stdout)
        for pid, words in host.processes().items():
            stacks = ["gdb", "-p", str(pid), "-batch", "-nx", "-ex", "thread apply all backtrace 25"]
            found += [f"{host.name} {pid} {words}", subprocess.run(stacks, capture_output=True, text=True, timeout=60).stdout]
    return "\n".join(["", "--- state", *found])


def turns():
    """Those that there is time for."""
    if ONLY is not None:
        yield int(ONLY)
        return
    begin, number = time.monotonic(), 0
    while number < SLICE or time.monotonic() - begin < SECONDS:
        yield number
        number += 1


@pytest.mark.timeout(SECONDS + len(JOBS) * HANGS_S)
def test_jobs_are_right_whatever_happens_to_the_networks(make, features, build):
    if features["packet"][0] or features["tbf"][0]:
        pytest.skip(f"not tested, not all can go wrong here: {features['packet'][0] or features['tbf'][0]}")
    count = 0
    for turn in map(Turn, turns()):
        print(turn)
        lab = make(hosts=len(turn.nics), nics=turn.nics)
        before = left(lab)
        weather = Weather(lab, turn.steps)
        weather.start()
        with ThreadPoolExecutor(AT_ONCE) as lanes:
            failures = list(filter(None, lanes.map(lambda at: run(turn, lab, weather, build, at), range(len(turn.jobs)))))
        weather.over()
        assert not failures, "\n".join(failures)
        eventually(lambda: programs(lab) == {})
        nothing_is_left(lab, before)
        lab.close()
        count += len(turn.jobs)
    print(f"{count} jobs by HAWSER_TEST_SEED={SEED}, all well")
