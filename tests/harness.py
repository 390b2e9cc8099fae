"""Runs MPI programs on the installation under test and looks for what they leave behind.

The installation is $HAWSER_PREFIX (scripts/e2e.sh). Every process that a test starts carries MARK in its environment,
also the ranks and their children: that is how leftovers are told from what else runs on the machine.
"""

import os
import re
import signal
import subprocess
import tempfile
import time
import uuid
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
SOURCES = HERE / "c"
MARK = "HAWSER_E2E"
# scripts/check-long.sh asks for all of it.
LONG = bool(os.environ.get("HAWSER_LONG"))
# And for other people's suites whole, once: they take half an hour.
WHOLE = bool(os.environ.get("HAWSER_WHOLE"))
# A job is allowed this long to take away what it used after mpiexec has ended.
GRACE_S = 3.0
# What a test waits for happens within this time on the slowest machine.
GRACE_OF_LABS_S = 20.0
# A job that its own end ends is over before this, also when the machine stands still for ten seconds (seen once): one
# that waits in vain is ended by mpiexec's time limit, five seconds before the test's own of 30.
END_S = 20.0


def prefix() -> Path:
    path = os.environ.get("HAWSER_PREFIX")
    if not path:
        raise SystemExit("HAWSER_PREFIX is not set: run the tests by `make e2e` or scripts/e2e.sh PREFIX")
    return Path(path)


def line_of(stream) -> str:
    """The next line of what a process prints, or what is there of it at the end. No byte behind it is read:
    `communicate` does not find what `readline` has left in its buffer."""
    line = b""
    while not line.endswith(b"\n") and (byte := os.read(stream.fileno(), 1)):
        line += byte
    return line.decode()


@dataclass
class Result:
    code: int
    out: str
    err: str
    seconds: float

    def __str__(self):
        return f"exit code {self.code} after {self.seconds:.1f} s\n--- stdout\n{self.out}\n--- stderr\n{self.err}"


class Session:
    """One run of the suite: its scratch folder, its mark, its compiled programs."""

    def __init__(self):
        self.prefix = prefix()
        self.mark = uuid.uuid4().hex
        self._scratch = tempfile.TemporaryDirectory(prefix="e2e-")
        self.scratch = Path(self._scratch.name)
        self.tmp = self.scratch / "tmp"  # TMPDIR of everything that is started
        self.tmp.mkdir()
        self._built = {}

    def close(self):
        self._scratch.cleanup()

    def environment(self, env=None):
        launchers = ("HAWSER_", "PMI_", "PMIX_", "OMPI_", "PRTE_", "SLURM_", "HYDRA_", "I_MPI_", "PBS_", "LSB_", "PE_HOSTFILE", "FLUX_")
        inherited = {k: v for k, v in os.environ.items() if not k.startswith(launchers)}
        path = f"{self.prefix / 'bin'}:{inherited['PATH']}"
        ours = {"PATH": path, MARK: self.mark, "TMPDIR": str(self.tmp), "XDG_CONFIG_HOME": str(self.tmp / "config")}
        return inherited | ours | (env or {})

    def build(self, source, abi="mpich", *options, name=None):
        """The program of tests/c/SOURCE for an ABI (mpich or std), compiled once."""
        key = (source, abi, options)
        if key not in self._built:
            compiler = {"mpich": "mpicc", "std": "mpicc_abi"}[abi]
            output = self.scratch / (name or f"{Path(source).stem}.{abi}.{len(self._built)}")
            flags = ["-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-pthread"]
            command = [self.prefix / "bin" / compiler, *flags, SOURCES / source, "-o", output, *options]
            done = subprocess.run(command, capture_output=True, text=True, env=self.environment())
            assert done.returncode == 0, f"{source} does not compile:\n{done.stderr}"
            self._built[key] = output
        return self._built[key]

    def start(self, command, env=None, **popen):
        """A command as it is, in a process group of its own."""
        popen = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | popen
        return subprocess.Popen([str(word) for word in command], text=True, env=self.environment(env),
                                start_new_session=True, **popen)

    def call(self, command, env=None, timeout=60, input=None, **popen):
        """Runs a command to its end; one that does not end is killed with all its processes, and fails."""
        begin = time.monotonic()
        if input is not None:
            popen["stdin"] = subprocess.PIPE
        process = self.start(command, env, **popen)
        try:
            out, err = process.communicate(input=input, timeout=timeout)
        except subprocess.TimeoutExpired:
            for pid in self.processes():
                kill(pid)
            out, err = process.communicate()
            raise AssertionError(f"no end in {timeout} s: {' '.join(map(str, command))}\n{out}\n{err}") from None
        return Result(process.returncode, out, err, time.monotonic() - begin)

    def mpiexec(self, n, program, args=(), options=(), env=None, timeout=60, **call):
        """mpiexec -n N [OPTIONS] PROGRAM [ARGS]; it reports by itself some seconds before it would be killed."""
        env = {"MPIEXEC_TIMEOUT": str(max(timeout - 5, 1))} | (env or {})
        command = [self.prefix / "bin/mpiexec", "-n", n, *options, program, *args]
        return self.call(command, env, timeout, **call)

    def processes(self):
        """The processes that carry our mark."""
        mark = f"{MARK}={self.mark}".encode()
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and int(entry.name) != os.getpid():
                if mark in environment_of(entry.name):
                    found.append(int(entry.name))
        return found

    def children(self, pid, program=""):
        """Those of them that `pid` has started, and that run `program`."""
        return [p for p in self.processes() if parent(p) == pid and command_line(p).startswith(str(program).encode())]

    def snapshot(self):
        """What could be ours by its name. Files that others make meanwhile are none of our business; that we make
        none under any name is for test_no_file_is_left_under_any_name to show."""
        return {"shm": {n for n in os.listdir("/dev/shm") if "hawser" in n.lower()}, "sockets": sockets()}

    def leftovers(self, before):
        """What is there that was not there before: None, or a line that names it."""
        processes = self.processes()
        if processes:
            return f"processes {[describe(pid) for pid in processes]}"
        if ours := sorted(map(str, self.tmp.rglob("*"))):
            return f"temporary files {ours}"
        now = self.snapshot()
        for kind in now:
            new = now[kind] - before[kind]
            if kind == "sockets":
                new -= held_by_others(new)
            if new:
                return f"{kind} {sorted(map(str, new))}"
        return None

    def check_clean(self, before):
        deadline = time.monotonic() + GRACE_S
        while left := self.leftovers(before):
            if time.monotonic() > deadline:
                for pid in self.processes():
                    kill(pid)
                for path in self.tmp.rglob("*"):
                    path.unlink(missing_ok=True)
                raise AssertionError(f"left behind: {left}")
            time.sleep(0.02)


def eventually(condition):
    """What the condition gives once it holds; fails where it does not within GRACE_OF_LABS_S."""
    deadline = time.monotonic() + GRACE_OF_LABS_S
    while not (value := condition()):
        assert time.monotonic() < deadline, f"not within {GRACE_OF_LABS_S} s"
        time.sleep(0.02)
    return value


def sockets():
    """Abstract and bound sockets of ours, as (name, inode)."""
    found = set()
    for line in Path("/proc/net/unix").read_text().splitlines()[1:]:
        words = line.split(None, 7)
        if len(words) == 8 and "hawser" in words[7]:
            found.add((words[7], words[6]))
    return found


def held_by_others(found):
    """Those sockets that processes without our mark hold: `leftovers` has seen that there are none with it."""
    held = set()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            links = list((process / "fd").iterdir())
        except OSError:
            continue  # gone, or not ours to read
        for link in links:
            try:
                target = os.readlink(link)
            except OSError:
                continue
            if match := re.fullmatch(r"socket:\[(\d+)\]", target):
                held.add(match[1])
    return {(name, inode) for name, inode in found if inode in held}


def parent(pid):
    try:
        return int(re.search(r"PPid:\s*(\d+)", Path(f"/proc/{pid}/status").read_text())[1])
    except OSError:
        return 0


def command_line(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").strip()
    except OSError:
        return b""


def environment_of(pid):
    """The environment of a process: nothing of one that has ended, or that is not ours to read."""
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return []


def describe(pid):
    return f"{pid} ({command_line(pid).decode(errors='replace') or 'zombie'})"


def kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def directives(source):
    """The `// ranks:` and `// cases:` lines of a C program (tests/c/test.h)."""
    text = source.read_text()
    found = {key: line.split() for key, line in re.findall(r"^// (ranks|cases): (.*)$", text, re.MULTILINE)}
    return [int(n) for n in found.get("ranks", [])], found.get("cases", [])
