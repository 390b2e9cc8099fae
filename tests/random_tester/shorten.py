"""Makes a program of the random tester that fails as short as can be, and prints it.

    shorten.py [--timeout S] [--budget S] SEED RANKS COMMAND ...

COMMAND runs the tester on {n} ranks, as `mpiexec -n {n} ./random`; options are put behind it. What still fails (any exit code
but 0, or no end) with fewer operations, fewer ranks, shorter messages and plainer types is kept; at the end the calls are printed,
rank by rank, and the command that repeats it."""

import argparse
import re
import shlex
import subprocess
import sys
import time

OPERATIONS, MESSAGES = 16, 8
# Of a failure that depends on chance: how often a shorter program may pass before it counts as right.
TRIES = 3


class Program:
    """One seed's program, and how it is run."""

    def __init__(self, command, seed, ranks, timeout=30, budget=180, env=None):
        self.command, self.seed, self.timeout, self.env = command, seed, timeout, env
        self.ends = time.monotonic() + budget
        self.ranks, self.kept, self.most_bytes, self.depth = ranks, list(range(OPERATIONS)), 2 << 20, 3
        self.messages, self.plain = (1 << MESSAGES) - 1, 0

    def words(self, *more):
        words = [str(word).replace("{n}", str(self.ranks)) for word in self.command]
        only = ",".join(map(str, self.kept))
        return [*words, "--seeds", str(self.seed), "1", "--only", only, "--most-bytes", str(self.most_bytes), "--depth", str(self.depth),
                "--messages", f"{self.messages:x}", "--plain", f"{self.plain:x}", *more]

    def run(self, *more):
        """Its exit code and what it said."""
        words = self.words("--patience", str(max(int(self.timeout // 3), 1)), *more)
        try:
            done = subprocess.run(words, capture_output=True, text=True, errors="replace", timeout=self.timeout, env=self.env,
                                  stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired as late:
            return 124, (late.stderr or b"").decode(errors="replace") + f"no end in {self.timeout} s\n"
        return done.returncode, done.stderr + done.stdout

    def fails(self, **changes):
        """Whether it fails with other values of these, which it then keeps. When time is over nothing is tried any more."""
        if time.monotonic() > self.ends:
            return False
        before = {name: getattr(self, name) for name in changes}
        vars(self).update(changes)
        if any(self.run()[0] for _ in range(TRIES)):
            return True
        vars(self).update(before)
        return False


def fewer_operations(program):
    """Delta debugging: without ever smaller parts of what is left."""
    part = max(len(program.kept) // 2, 1)
    while True:
        at, shorter = 0, False
        while at < len(program.kept) and len(program.kept) > 1:
            rest = program.kept[:at] + program.kept[at + part:]
            if rest and program.fails(kept=rest):
                shorter = True
            else:
                at += part
        if part == 1 and not shorter:
            return
        part = max(part // 2, 1)


def fewer_messages(program):
    """Without one after the other, and with plain types at one end after the other."""
    for message in range(MESSAGES):
        program.fails(messages=program.messages & ~(1 << message))
    for end in range(2 * MESSAGES):
        program.fails(plain=program.plain | 1 << end)


def shorten(program):
    """Makes it shorter; whether it fails at all."""
    if not program.fails():
        return False
    fewer_operations(program)
    for depth in (-1, 0, 1, 2):
        if program.fails(depth=depth):
            break
    for most_bytes in (0, 8, 64, 500, 2 << 10, 16 << 10, 64 << 10, 256 << 10):
        if program.fails(most_bytes=most_bytes):
            break
    for ranks in range(1, program.ranks):
        if program.fails(ranks=ranks):
            break
    fewer_messages(program)
    fewer_operations(program)
    return True


def printed(program):
    """What is left of it: the calls of each rank, what it said, and how to repeat it."""
    for _ in range(TRIES):
        code, said = program.run("--print")
        if code:
            break
    calls, rest = {}, []
    for line in said.splitlines():
        if match := re.match(r"rank (\d+): (operation -?\d+): (.*)", line):
            calls.setdefault(int(match[1]), []).append((match[2], match[3]))
        elif line.strip():
            rest.append(line)
    lines = []
    for rank, mine in sorted(calls.items()):
        lines.append(f"if (rank == {rank}) {{")
        before = None
        for operation, call in mine:
            if operation != before:
                lines.append(f"    /* {operation} */")
                before = operation
            lines.append(f"    {call}")
        lines.append("}")
    return "\n".join([*lines, *rest, "It is repeated by: " + shlex.join(program.words())])


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--timeout", type=float, default=30, help="seconds after which a program has no end")
    options.add_argument("--budget", type=float, default=600, help="seconds after which it is short enough")
    options.add_argument("seed", type=int)
    options.add_argument("ranks", type=int)
    options.add_argument("command", nargs=argparse.REMAINDER)
    told = options.parse_args()
    program = Program(told.command, told.seed, told.ranks, told.timeout, told.budget)
    if not shorten(program):
        sys.exit(f"seed {told.seed} does not fail with {told.ranks} ranks")
    print(printed(program))


if __name__ == "__main__":
    main()
