"""What goes wrong on a lab's networks, and when: a plan drawn from a seed alone, and the thread that carries it out.

Each network has episodes one after the other: its cables are pulled, a host hears nothing by it, frames are lost, corrupted,
duplicated, reordered or held, its ports have other rates. At any time one network that all hosts are on keeps its cables and passes
both ways; but for the seconds of a blackout, in which all are pulled and which are fewer than any timeout of a job.
"""

import threading
import time
from dataclasses import dataclass

# The networks take turns in being the one that is kept, so many seconds each.
KEPT_S = (2.0, 5.0)
FINE_S, EPISODE_S = (0.1, 1.0), (0.2, 2.5)
# Of all networks at once. The longest timeout of a path is 1 s (P18); hosts that are silent for 7 s are given up.
BLACKOUT_S, BLACKOUT_EVERY_S = (0.2, 1.5), 12.0
RATES_MBIT = (1000, 500, 200, 100, 60)
# Of each kind an episode has up to so much.
MILD = {"loss": 0.04, "corrupt": 0.01, "duplicate": 0.02, "reorder": 0.02, "delay_s": 0.003}


@dataclass(frozen=True, order=True)
class Step:
    """At so many seconds from the beginning something is done to some hosts' NICs on a network."""
    at_s: float
    network: int
    hosts: tuple
    what: str  # a method of lab.Nic
    how: dict

    def __str__(self):
        how = ", ".join(f"{name}={value}" for name, value in self.how.items())
        return f"{self.at_s:7.3f} s  network {self.network}, hosts {', '.join(map(str, self.hosts))}: {self.what}({how})"


def plan(dice, plugged, common, seconds):
    """Steps for networks given as the hosts that are on each; `common` are those that all hosts are on."""
    blackouts = list(spans(dice, seconds, (BLACKOUT_EVERY_S / 2, BLACKOUT_EVERY_S * 1.5), BLACKOUT_S))
    kept = [(begin, end, dice.choice(common)) for begin, end in turns(dice, seconds)]
    steps = []
    for begin, end in blackouts:
        for network, hosts in enumerate(plugged):
            steps += [Step(begin, network, tuple(hosts), "unplug", {}), Step(end, network, tuple(hosts), "plug", {})]
    for network, hosts in enumerate(plugged):
        rate = dice.choice(RATES_MBIT)
        steps.append(Step(0.0, network, tuple(hosts), "limit", {"rate_mbit": rate}))
        for begin, end in spans(dice, seconds, FINE_S, EPISODE_S):
            is_kept = any(of == network and begin < till and since < end for since, till, of in kept)
            if not any(begin < till and since < end for since, till in blackouts):
                steps += episode(dice, begin, end, network, hosts, rate, is_kept)
    return sorted(steps, key=lambda step: (step.at_s, step.network))


def turns(dice, seconds):
    begin = 0.0
    while begin < seconds:
        end = begin + round(dice.uniform(*KEPT_S), 3)
        yield begin, end
        begin = end


def spans(dice, seconds, apart_s, long_s):
    at = round(dice.uniform(0, apart_s[1]), 3)
    while at < seconds:
        end = round(at + dice.uniform(*long_s), 3)
        yield at, end
        at = round(end + dice.uniform(*apart_s), 3)


def episode(dice, begin, end, network, hosts, rate, is_kept):
    some = tuple(sorted(dice.sample(hosts, dice.randint(1, len(hosts)))))
    kind = dice.choice(["mild", "mild", "rate"] if is_kept else ["mild", "rate", "pull", "pull", "deaf"])
    if kind == "pull":
        return [Step(begin, network, some, "unplug", {}), Step(end, network, some, "plug", {})]
    if kind == "deaf":
        return [Step(begin, network, some[:1], "faults", {"loss": 1.0}), Step(end, network, some[:1], "faults", {"loss": 0.0})]
    if kind == "rate":
        other = {"rate_mbit": dice.choice(RATES_MBIT)}
        return [Step(begin, network, some, "limit", other), Step(end, network, some, "limit", {"rate_mbit": rate})]
    bad = {name: round(dice.uniform(0, MILD[name]), 4) for name in dice.sample(sorted(MILD), dice.randint(1, 3))}
    return [Step(begin, network, some, "faults", bad), Step(end, network, some, "faults", dict.fromkeys(bad, 0.0))]


class Weather(threading.Thread):
    """Carries a plan out on a lab, until its end or `over`; what went wrong with that itself is raised then."""

    def __init__(self, lab, steps):
        super().__init__(daemon=True)
        self.lab, self.steps = lab, steps
        self.begin, self.done, self.error = time.monotonic(), [], None
        self._over = threading.Event()

    def run(self):
        try:
            for step in self.steps:
                if self._over.wait(max(0.0, step.at_s - self.passed_s())):
                    return
                for nic in self.lab.networks[step.network].nics:
                    if nic.host.number in step.hosts:
                        getattr(nic, step.what)(**step.how)
                self.done.append(step)
        except Exception as error:
            self.error = error

    def passed_s(self):
        return time.monotonic() - self.begin

    def over(self):
        self._over.set()
        self.join()
        if self.error:
            raise self.error
