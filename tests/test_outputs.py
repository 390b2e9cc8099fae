"""Options of mpiexec for files of programs, and for files and labels of the ranks' output."""

import os
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

SAY = 'echo "out $HAWSER_RANK"; echo "err $HAWSER_RANK" >&2; printf "rest $HAWSER_RANK"'


def call(session, *words, **more):
    return session.call([session.prefix / "bin/mpiexec", *words], **more)


def said(folder):
    """The texts of all files below a folder, by their names."""
    return {str(path.relative_to(folder)): path.read_text() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_lines_begin_with_a_pattern(session):
    host = subprocess.run(["uname", "-n"], capture_output=True, text=True).stdout.strip()
    result = call(session, "-prepend-pattern", "<%r %g %p %h 5%%> ", "-n", 2, "sh", "-c", "echo a; echo b >&2")
    assert result.code == 0 and sorted(result.out.splitlines()) == [f"<{r} 0 0 {host} 5%> a" for r in (0, 1)], result
    assert sorted(result.err.splitlines()) == [f"<{r} 0 0 {host} 5%> b" for r in (0, 1)], result
    result = call(session, "-prepend-pattern", "%x", "-n", 2, "true")
    assert result.code == 2 and "-prepend-pattern %x: % must be followed by r" in result.err, result


def test_output_goes_to_files_instead(session, tmp_path):
    """What was in them before is gone; what does not end in a newline is there too."""
    (tmp_path / "out.0").write_text("old\n" * 100)
    files = ["-outfile-pattern", tmp_path / "out.%r", "-errfile-pattern", tmp_path / "err.%r"]
    result = call(session, *files, "-n", 2, "sh", "-c", SAY)
    assert (result.code, result.out, result.err) == (0, "", ""), result
    assert said(tmp_path) == {f"out.{r}": f"out {r}\nrest {r}" for r in (0, 1)} | {f"err.{r}": f"err {r}\n" for r in (0, 1)}


def test_ranks_may_share_a_file_and_lines_stay_whole(session, tmp_path):
    script = 'for i in $(seq 200); do printf "%s" $HAWSER_RANK; printf "%s\\n" $HAWSER_RANK; done'
    result = call(session, "-outfile-pattern", tmp_path / "all", "-n", 4, "sh", "-c", script)
    assert result.code == 0 and result.out == "", result
    lines = (tmp_path / "all").read_text().splitlines()
    assert len(lines) == 800 and set(lines) == {"00", "11", "22", "33"}


@pytest.mark.parametrize("words, below, copied", [
    (["--output-filename", "DIR"], "1/", True),
    (["--output-filename", "DIR:nojobid"], "", True),
    (["--output-filename", "DIR:nocopy,nojobid"], "", False),
    (["--output", "dir=DIR:nocopy"], "1/", False),
])
def test_output_goes_to_a_folder_as_open_mpi_has_it(session, tmp_path, words, below, copied):
    folder = tmp_path / "new" / "folder"
    words = [word.replace("DIR", str(folder)) for word in words]
    result = call(session, *words, "-n", 11, "sh", "-c", SAY)
    assert result.code == 0 and ("out 10\n" in result.out) == copied == ("err 3\n" in result.err), result
    files = said(folder)
    assert len(files) == 22 and files[f"{below}rank.03/stdout"] == "out 3\nrest 3", files
    assert files[f"{below}rank.10/stderr"] == "err 10\n", files


def test_a_file_that_cannot_be_made_is_told_before_anything_starts(session, tmp_path):
    result = call(session, "-outfile-pattern", tmp_path / "no/such/%r", "-n", 2, "touch", tmp_path / "started")
    assert result.code == 1 and result.err.count("\n") == 1, result
    assert "no/such/0" in result.err and "check its folder" in result.err and not (tmp_path / "started").exists(), result


def test_a_full_disk_loses_nothing(session):
    """What the file does not take is on mpiexec's own output; the exit code says that something was wrong."""
    script = "for i in $(seq 2000); do echo line $HAWSER_RANK $i; done"
    result = call(session, "-outfile-pattern", "/dev/full", "-n", 2, "sh", "-c", script)
    assert result.code == 1 and result.err.count("\n") == 1, result
    assert "cannot be written to /dev/full: No space left on device" in result.err, result
    assert sorted(result.out.splitlines()) == sorted(f"line {r} {i}" for r in (0, 1) for i in range(1, 2001))


def test_the_limit_on_file_sizes_loses_nothing(session, tmp_path):
    """A file that has reached it is told, and mpiexec goes on (no SIGXFSZ). The ranks have the signal as it was."""
    script = ("i=0; while [ $i -lt 4000 ]; do echo line $i; i=$((i + 1)); done; "
              "grep -E 'Sig(Blk|Ign)' /proc/self/status >&2")
    words = [session.prefix / "bin/mpiexec", "-outfile-pattern", tmp_path / "out", "-n", 1, "sh", "-c", script]
    result = session.call(["sh", "-c", 'ulimit -S -f 8; exec "$@"', "sh", *words])
    assert result.code == 1 and f"cannot be written to {tmp_path / 'out'}: File too large" in result.err, result
    assert (tmp_path / "out").read_text() + result.out == "".join(f"line {i}\n" for i in range(4000))
    masks = [int(line.split()[1], 16) for line in result.err.splitlines() if line.startswith("Sig")]
    assert len(masks) == 2 and not any(mask >> 24 & 1 for mask in masks), result


def test_a_fifo_is_waited_for_no_longer_than_some_seconds(session, tmp_path):
    """One that nobody reads is told before anything starts; one whose reader takes nothing gets no more. Nothing is lost."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    result = call(session, "-outfile-pattern", fifo, "-n", 2, "touch", tmp_path / "started", timeout=30)
    assert result.code == 1 and result.err.count("\n") == 1, result
    assert f"no process reads {fifo}, a FIFO" in result.err and not (tmp_path / "started").exists(), result
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    result = call(session, "-outfile-pattern", fifo, "-n", 1, "seq", 100000, timeout=30)
    taken = b"".join(iter(lambda: os.read(reader, 1 << 16), b"")).decode()
    os.close(reader)
    assert result.code == 1 and taken and f"cannot be written to {fifo}" in result.err, result
    assert taken + result.out == "".join(f"{i}\n" for i in range(1, 100001))


def test_a_fifo_is_one_stream_to_a_reader_that_is_slow(session, tmp_path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    with ThreadPoolExecutor(1) as threads:
        opened = threads.submit(os.open, fifo, os.O_RDONLY)
        other = os.open(fifo, os.O_WRONLY)  # when both are open
        reader = opened.result()

        def read():
            pieces = [os.read(reader, 1 << 16)]
            os.close(other)  # from here on mpiexec alone has it open
            time.sleep(1)
            return b"".join(pieces + list(iter(lambda: os.read(reader, 1 << 16), b""))).decode()

        taken = threads.submit(read)
        script = "for i in 1 2 3 4 5; do echo early $i; sleep 0.05; done; seq 100000"
        result = call(session, "-outfile-pattern", fifo, "-n", 1, "sh", "-c", script, timeout=30)
        assert (result.code, result.out, result.err) == (0, "", ""), result
        early, late = (f"early {i}\n" for i in range(1, 6)), (f"{i}\n" for i in range(1, 100001))
        assert taken.result() == "".join([*early, *late])
    os.close(reader)


@pytest.mark.parametrize("option", ["-configfile", "--configfile", "-file", "--app"])
def test_programs_are_read_from_a_file(session, tmp_path, option):
    file = tmp_path / "programs"
    file.write_text("# two programs\n-n 1 sh -c 'echo $HAWSER_RANK of $HAWSER_SIZE: \"$0\"' 'a  b'\n\n"
                    "-n 2 -env WHAT \\\n  second sh -c 'echo $HAWSER_RANK $WHAT'\n")
    result = call(session, option, file)
    assert result.code == 0 and sorted(result.out.splitlines()) == ["0 of 3: a  b", "1 second", "2 second"], result
    result = call(session, "-l", "-genv", "WHAT", "x", option, file)
    assert "[0] 0 of 3: a  b" in result.out.splitlines(), result


def test_a_wrong_file_of_programs_is_told_with_its_line(session, tmp_path):
    file = tmp_path / "programs"
    file.write_text("-n 1 true\n-nonsense true\n")
    result = call(session, "-configfile", file)
    assert result.code == 2 and f"line 2 of {file}: there is no option -nonsense" in result.err, result
    assert "No such file" in call(session, "-configfile", tmp_path / "none").err
    assert "-configfile" in call(session, "-configfile", file, "true").err


def test_a_program_is_looked_for_in_path_and_on_its_processor(session, tmp_path):
    (tmp_path / "hello").write_text("#!/bin/sh\necho hello\n")
    (tmp_path / "hello").chmod(0o755)
    for where in (tmp_path, f"/no/such:{tmp_path}"):
        result = call(session, "-n", 2, "-path", where, "hello")
        assert result.code == 0 and result.out == "hello\nhello\n", result
    result = call(session, "-n", 2, "-path", tmp_path, "true")
    assert result.code == 0, result
    machine = subprocess.run(["uname", "-m"], capture_output=True, text=True).stdout.strip()
    assert call(session, "-arch", machine, "true").code == 0
    result = call(session, "-arch", "sparc", "-n", 2, "true")
    assert result.code == 1 and result.err.count("\n") == 1 and "-arch sparc: this host's processor" in result.err, result


def test_a_soft_number_of_ranks_is_the_greatest_that_is_allowed(session):
    show = ["sh", "-c", "echo $HAWSER_SIZE"]
    for words, ranks in [(["-n", 5, "-soft", "2,4,8"], 4), (["-soft", "1:6:2"], 5), (["-n", 3, "-soft", "0:9"], 3)]:
        result = call(session, *words, *show)
        assert result.code == 0 and result.out == f"{ranks}\n" * ranks, result
    assert "-soft 4 has no number that -n allows" in call(session, "-n", 2, "-soft", "4", *show).err
