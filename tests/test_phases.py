"""A job between hosts, over three rails, of which somebody is killed in each phase of its life: a rank, an agent, mpiexec. Every job
ends with what users are told, and nothing is left on any host.

On one host: test_errors.py. At random moments, with others stopped: test_ends.py. Remote shells and guards: test_hosts.py.
One-sided communication, which would be a phase of its own, there is none yet.
"""

import re
import signal

import pytest
from harness import GRACE_OF_LABS_S, eventually, line_of
from test_ends import agents, inside, left, nothing_is_left, rank_of, ranks, send, state
from test_hosts import mpiexec, part, programs
from test_rails import sent

PHASES = ["launch", "init", "connect", "eager", "rendezvous", "bulk", "collective", "nonblocking", "finalize", "after"]
# Whom, and by what.
VICTIMS = [("rank 0", signal.SIGKILL), ("rank 3", signal.SIGKILL), ("agent 0", signal.SIGKILL), ("agent 1", signal.SIGKILL),
           ("mpiexec", signal.SIGKILL), ("mpiexec", signal.SIGTERM), ("mpiexec", signal.SIGINT)]
RATE_MBIT = 100


def victim_of(lab, program, who):
    """Its pid, and what is told of it with which exit code."""
    kind, *number = who.split()
    if kind == "mpiexec":
        return part(lab.hosts[0], "mpiexec -launcher-exec"), None, None
    if kind == "agent":
        host = lab.hosts[int(*number)]
        pid, = agents(host)
        return pid, rf"mpiexec: host {host.name} .*the agent .pid {inside(pid)}. was killed by signal 9 .*\n", 1
    host, pid = next((host, pid) for host in lab.hosts for pid in ranks(host, program) if rank_of(pid) == number[0])
    return pid, rf"mpiexec: rank {number[0]} on host {host.name} .pid {inside(pid)}. was killed by signal 9 .*\n", 137


def are_there(lab, program, phase):
    """All four run, and in phases without traffic those that wait sleep."""
    pids = [pid for host in lab.hosts for pid in ranks(host, program)]
    waits = phase in ("launch", "init", "connect", "finalize", "after")
    return len(pids) == 4 and (not waits or all(state(pid) == "S" for pid in pids))


@pytest.mark.parametrize("phase", PHASES)
def test_whoever_is_killed_in_a_phase_ends_the_job_and_nothing_is_left(make, build, phase):
    lab, program = make(hosts=2, nics=3), build("phases.c")
    for nic in lab.nics():
        nic.limit(RATE_MBIT)
        if phase == "connect":
            nic.faults(loss=1.0)
    before = left(lab)
    for who, by in VICTIMS:
        before_it = sent(lab.hosts[0])
        with mpiexec(lab, "-ppn", "2", program, phase) as job:
            assert line_of(job.stdout) == "there\n", job.communicate()
            eventually(lambda: are_there(lab, program, phase))
            if phase == "bulk":  # by all three
                eventually(lambda: all(now - was > 1 << 20 for now, was in zip(sent(lab.hosts[0]), before_it)))
            pid, told, code = victim_of(lab, program, who)
            send(pid, by)
            _, err = job.communicate(timeout=GRACE_OF_LABS_S)
        if told is None:
            told = "" if by == signal.SIGKILL else rf"mpiexec: signal {by} .* ends the job\n"
            code = -by if by == signal.SIGKILL else 128 + by
        assert job.returncode == code and re.fullmatch(told, err), (who, by.name, job.returncode, err)
        eventually(lambda: programs(lab) == {})
        nothing_is_left(lab, before)
