"""Jobs whose other hosts connect to mpiexec by themselves, with a token: what users see, and that nothing is left.

The messages of the handshake, each changed byte and the command lines are tested with the launcher (Rust).
"""

import os
import re
import signal
import socket
import subprocess
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from harness import GRACE_OF_LABS_S, eventually, line_of

TOKEN = "0123456789abcdef0123456789abcdef"
PORT = 7117
STREAMS = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
SLEEP = ["sleep", "1000"]


def environment(token=TOKEN, **variables):
    return {"HAWSER_TOKEN": token, "HAWSER_RENDEZVOUS_S": "30"} | variables


def address(lab, number=0):
    return lab.hosts[number].nics[0].v4


@contextmanager
def started(host, command, **variables):
    with host.start(list(map(str, command)), env=environment(**variables), **STREAMS) as process:
        try:
            yield process
        except BaseException:
            process.kill()
            raise


@contextmanager
def job_of(lab, *words, workers=None, **variables):
    """mpiexec on the first host and a worker on each other one, the workers first."""
    count = len(lab.hosts) - 1
    with ExitStack() as all_started:
        others = [all_started.enter_context(started(host, ["mpiexec", "-worker", address(lab), *(workers or [])], **variables))
                  for host in lab.hosts[1:]]
        yield all_started.enter_context(started(lab.hosts[0], ["mpiexec", "-workers", count, *words], **variables)), others


def ends(processes):
    """Exit code, output and errors of each process."""
    found = []
    for process in processes:
        out, err = process.communicate(timeout=GRACE_OF_LABS_S)
        found.append((process.returncode, out, err))
    return found


def listens(lab):
    """Whether mpiexec waits for workers."""
    return f":{PORT} " in lab.hosts[0].run(["ss", "-Hltn"]).stdout


def nothing_is_left(lab):
    eventually(lambda: lab.processes() == {})


def test_ranks_on_the_hosts_of_workers(make, build, abi):
    lab = make(hosts=3)
    with job_of(lab, "-l", "-n", "6", "-ppn", "2", "sh", "-c", "hostname; echo ${HAWSER_TOKEN:-none}") as (job, workers):
        out, err = job.communicate(timeout=GRACE_OF_LABS_S)
        assert (job.returncode, err) == (0, ""), err
        assert len(out.splitlines()) == 12 and out.count("none") == 6, out
        hosts = {int(rank): host for rank, host in re.findall(r"\[(\d)\] (node\d)", out)}
        # The workers have no numbers, so that their order is that of their arrival.
        assert [hosts[rank] for rank in range(6)] in (["node0"] * 2 + ["node1"] * 2 + ["node2"] * 2,
                                                      ["node0"] * 2 + ["node2"] * 2 + ["node1"] * 2), out
        assert ends(workers) == [(0, "", "")] * 2
    with job_of(lab, "-n", "6", "-ppn", "2", build("hello.c", abi), "say") as (job, workers):
        [(code, out, err)] = ends([job])
        assert (code, sorted(out.splitlines()), err) == (0, [f"{rank} of 6" for rank in range(6)], "")
        assert ends(workers) == [(0, "", "")] * 2
    nothing_is_left(lab)


def test_numbers_order_the_workers_and_slots_place_the_ranks(make):
    """Kubernetes numbers the pods of an indexed Job; without -n each slot has a rank, on mpiexec's host each processor."""
    lab = make(hosts=3)
    with started(lab.hosts[2], ["mpiexec", "-worker", address(lab), "-worker-slots", 2], JOB_COMPLETION_INDEX="1") as first, \
            started(lab.hosts[1], ["mpiexec", "-worker", address(lab), "-worker-slots", 1], JOB_COMPLETION_INDEX="2") as second:
        with started(lab.hosts[0], ["mpiexec", "-v", "-l", "-workers", 2, "hostname"]) as job:
            out, err = job.communicate(timeout=GRACE_OF_LABS_S)
        own = out.count("node0")
        expected = [f"[{rank}] node0" for rank in range(own)] + [f"[{own}] node2", f"[{own + 1}] node2", f"[{own + 2}] node1"]
        assert (job.returncode, sorted(out.splitlines())) == (0, sorted(expected)), err
        assert "waiting for 2 workers on TCP port 7117" in err and "the worker node2 at" in err, err
        assert "host node1: its worker at" in err, err
        assert ends([first, second]) == [(0, "", "")] * 2


def test_input_output_and_a_port_of_ones_own(make):
    lab = make(hosts=2)
    with started(lab.hosts[1], ["mpiexec", "-worker", f"{address(lab)}:9999"]) as worker:
        command = ["mpiexec", "-workers", "1", "-worker-port", "9999", "-s", "all", "-n", "2", "-ppn", "1",
                   "sh", "-c", "cat; head -c 40000000 /dev/zero | tr '\\0' x | fold -w 999; echo failed >&2"]
        done = lab.hosts[0].run(command, input="read\n", env=environment())
        assert done.returncode == 0 and done.stdout.count("read") == 2 and done.stderr == "failed\n" * 2, done.stderr
        assert done.stdout.count("x") == 80_000_000
        assert ends([worker]) == [(0, "", "")]


def test_a_worker_whose_host_gets_no_rank_ends_well(make):
    lab = make(hosts=2)
    with job_of(lab, "-n", "1", "hostname") as (job, workers):
        assert ends([job, *workers]) == [(0, "node0\n", ""), (0, "", "")]


@pytest.mark.parametrize("per_host", [1, 2])
@pytest.mark.parametrize("place", [0, 1], ids=["beside mpiexec", "on a worker"])
def test_the_exit_code_of_the_job_is_that_of_its_workers_too(make, place, per_host):
    lab = make(hosts=3)
    rank = place * per_host
    script = f"[ $HAWSER_RANK = {rank} ] && exit 7; sleep 1000"
    with job_of(lab, "-n", 3 * per_host, "-ppn", per_host, "sh", "-c", script) as (job, workers):
        [(code, _, err)] = ends([job])
        assert code == 7 and f"rank {rank} on host node" in err and err.count("\n") == 1, err
        assert ends(workers) == [(7, "", "")] * 2
    nothing_is_left(lab)


def test_a_worker_whose_ranks_have_ended_waits_for_the_exit_code(make):
    """The ranks of the workers end well, seconds before one beside mpiexec fails; the job may also go on after a fault."""
    lab = make(hosts=2)
    script = "[ $HAWSER_RANK = 0 ] || exit 0; sleep 2; exit 9"
    with job_of(lab, "-n", "2", "-ppn", "1", "sh", "-c", script) as (job, workers):
        assert [code for code, _, _ in ends([job, *workers])] == [9, 9]
    with job_of(lab, "-disable-auto-cleanup", "-n", "2", "-ppn", "1", "sh", "-c", "exit $HAWSER_RANK") as (job, workers):
        assert [code for code, _, _ in ends([job, *workers])] == [1, 1]


def test_output_is_whole_though_its_reader_is_slow(make):
    """The agent has ended long before all that it has sent is read, and nothing is read for longer than a host may be silent."""
    lab = make(hosts=2)
    script = "head -c 8000000 /dev/zero | tr '\\0' x | fold -w 999"
    with started(lab.hosts[1], ["mpiexec", "-worker", address(lab)]) as worker:
        slow = f"import sys, time\nwhile data := sys.stdin.read(400000): time.sleep(0.1); print(data.count('x'))\n"
        command = f"mpiexec -workers 1 -n 2 -ppn 1 sh -c \"{script}\" | (sleep 18; exec python3 -c \"$0\"); echo ${{PIPESTATUS[0]}} >&2"
        done = lab.hosts[0].run(["bash", "-c", command, slow], env=environment())
        assert sum(map(int, done.stdout.split())) == 16_000_000 and done.stderr == "0\n", done.stderr
        assert ends([worker]) == [(0, "", "")]
    nothing_is_left(lab)


def test_an_agent_that_is_stopped_ends_with_mpiexec(make):
    lab = make(hosts=2)
    with job_of(lab, "-n", "4", "-ppn", "2", *SLEEP) as (job, workers):
        eventually(lambda: [*lab.processes().values()].count(SLEEP) == 4)
        agent = next(pid for pid, words in lab.hosts[1].processes().items() if "__agent" in words)
        os.kill(agent, signal.SIGSTOP)
        job.send_signal(signal.SIGKILL)
        ends([job])
        assert ends(workers)[0][0] != 0
    nothing_is_left(lab)


@pytest.mark.parametrize("part", ["__relay", "__guard", "__agent"])
def test_what_is_killed_between_hosts_ends_the_job(make, part):
    lab = make(hosts=2)
    with job_of(lab, "-n", "4", "-ppn", "2", "sh", "-c", "setsid sleep 1000 & sleep 1000") as (job, workers):
        eventually(lambda: [*lab.processes().values()].count(SLEEP) == 8)
        found = {pid: words for host in lab.hosts for pid, words in host.processes().items()}
        on_worker = lab.hosts[1].processes()
        os.kill(next(pid for pid, words in (found if part == "__relay" else on_worker).items() if part in words), signal.SIGKILL)
        [(code, _, err)] = ends([job])
        assert code == 1 and "host node1 is lost: its worker at" in err and err.count("\n") == 1, err
        assert ends(workers)[0][0] != 0
    nothing_is_left(lab)


def test_a_worker_too_many_is_told(make):
    lab = make(hosts=4)
    worker = ["mpiexec", "-worker", address(lab)]
    with ExitStack() as all_started:
        job = all_started.enter_context(started(lab.hosts[0], ["mpiexec", "-workers", 2, "-n", "3", "-ppn", "1", "hostname"]))
        eventually(lambda: listens(lab))
        workers = [all_started.enter_context(started(host, worker, HAWSER_RENDEZVOUS_S="12")) for host in lab.hosts[1:]]
        [(code, out, _)] = ends([job])
        ended = ends(workers)
    assert code == 0 and len(out.split()) == 3
    [(_, _, err)] = [end for end in ended if end[0] != 0]
    assert "refuses this worker: all 2 workers have come already" in err or "has not been found within 12 s" in err, err


def ignores(pid, words):
    """Whether a process is a worker that handles signals already (SIGTERM is blocked) and ignores SIGHUP."""
    status = Path(f"/proc/{pid}/status").read_text()
    blocked, ignored = (int(re.search(rf"{mask}:\s*(\w+)", status)[1], 16) for mask in ("SigBlk", "SigIgn"))
    return words[:1] == ["mpiexec"] and blocked >> signal.SIGTERM - 1 & 1 and ignored >> signal.SIGHUP - 1 & 1


def test_a_worker_of_nohup_ignores_hangups_and_ends_on_sigterm(make):
    lab = make(hosts=2)
    with started(lab.hosts[1], ["nohup", "mpiexec", "-worker", address(lab)]) as worker:
        eventually(lambda: any(ignores(pid, words) for pid, words in lab.hosts[1].processes().items()))
        worker.send_signal(signal.SIGHUP)
        time.sleep(0.5)
        assert worker.poll() is None, "a hangup is ignored"
        worker.send_signal(signal.SIGTERM)
        assert ends([worker])[0][0] == 128 + signal.SIGTERM


def test_a_worker_whose_host_crashes_at_the_gate_is_replaced(make):
    lab = make(hosts=3)
    with started(lab.hosts[0], ["mpiexec", "-v", "-workers", 2, "-n", "3", "-ppn", "1", "hostname"]) as job:
        line_of(job.stderr)
        with started(lab.hosts[1], ["mpiexec", "-worker", address(lab)]):
            assert "the worker node1 at" in line_of(job.stderr)
            # Nobody tells mpiexec.
            lab.hosts[1].nics[0].unplug()
            lab.hosts[1].crash()
            assert "has left" in line_of(job.stderr)
        job.send_signal(signal.SIGTERM)
        ends([job])


def test_another_token_is_refused_on_both_sides(make):
    lab = make(hosts=3)
    with started(lab.hosts[0], ["mpiexec", "-workers", 1, "-n", "2", "-ppn", "1", "hostname"]) as job:
        with started(lab.hosts[1], ["mpiexec", "-worker", address(lab)], token=TOKEN[::-1]) as stranger:
            [(code, out, err)] = ends([stranger])
            assert (code, out, err.count("\n")) == (1, "", 1), err
            assert err == f"mpiexec: mpiexec on {address(lab)} (port {PORT}) refuses this worker: it has another token; " \
                          "give both the same HAWSER_TOKEN\n"
        with started(lab.hosts[2], ["mpiexec", "-worker", address(lab)]) as worker:
            assert ends([worker]) == [(0, "", "")]
        [(code, out, err)] = ends([job])
        assert (code, sorted(out.split())) == (0, ["node0", "node2"]), err
        assert err == f"mpiexec: a worker at {address(lab, 1)} is refused: it has another token than mpiexec; " \
                      "give both the same HAWSER_TOKEN\n"
        assert TOKEN not in err
    nothing_is_left(lab)


@pytest.mark.parametrize("variables, text", [
    ({"HAWSER_TOKEN": ""}, "workers need HAWSER_TOKEN or HAWSER_TOKEN_FILE: give mpiexec and all its workers the same secret"),
    ({"HAWSER_TOKEN": "short"}, "HAWSER_TOKEN has fewer than 16 characters, and can be guessed"),
    ({"HAWSER_TOKEN": "", "HAWSER_TOKEN_FILE": "/nowhere/token"}, "the file of HAWSER_TOKEN_FILE, /nowhere/token, cannot be read"),
    ({"HAWSER_RENDEZVOUS_S": "soon"}, "HAWSER_RENDEZVOUS_S is soon, and must be a number of seconds"),
])
@pytest.mark.parametrize("command", [["-workers", "1", "-n", "1", "true"], ["-worker", "localhost"]], ids=["mpiexec", "worker"])
def test_settings_that_cannot_be_are_refused_at_once(session, command, variables, text):
    done = session.call([session.prefix / "bin/mpiexec", *command], environment() | variables, timeout=10)
    assert (done.code, done.out) == (2, "") and done.err.startswith(f"mpiexec: {text}") and done.err.count("\n") == 1, done


def test_the_token_may_be_in_a_file(make, tmp_path):
    file = tmp_path / "token"
    file.write_text(TOKEN + "\n")
    lab = make(hosts=2)
    with started(lab.hosts[1], ["mpiexec", "-worker", address(lab)], token="", HAWSER_TOKEN_FILE=str(file)) as worker:
        with started(lab.hosts[0], ["mpiexec", "-workers", 1, "-n", "2", "-ppn", "1", "hostname"]) as job:
            assert [code for code, _, _ in ends([job, worker])] == [0, 0]


def test_two_of_one_number_or_name_are_told_and_the_first_stays(make):
    lab = make(hosts=3)
    worker = ["mpiexec", "-worker", address(lab)]
    with started(lab.hosts[0], ["mpiexec", "-v", "-workers", 2, "-n", "3", "-ppn", "1", "hostname"]) as job:
        with started(lab.hosts[1], worker, JOB_COMPLETION_INDEX="1") as first:
            assert "waiting" in line_of(job.stderr) and "node1 at" in line_of(job.stderr)
            with started(lab.hosts[1], worker) as twin:
                [(code, _, err)] = ends([twin])
                assert code == 1 and "refuses this worker: a worker of this name has come from" in err, err
            with started(lab.hosts[2], worker, JOB_COMPLETION_INDEX="1") as twin:
                [(code, _, err)] = ends([twin])
                assert code == 1 and "refuses this worker: it has the number 1, as the worker node1 has" in err, err
            with started(lab.hosts[0], worker) as same:
                [(code, _, err)] = ends([same])
                assert code == 1 and "it runs on the host of mpiexec, or that has the same name" in err, err
            with started(lab.hosts[2], worker, JOB_COMPLETION_INDEX="2") as second:
                [(code, out, err)] = ends([job])
                assert (code, sorted(out.split())) == (0, ["node0", "node1", "node2"]) and err.count("is refused") == 3, err
                assert ends([first, second]) == [(0, "", "")] * 2


def test_a_worker_that_leaves_before_the_start_is_replaced(make):
    lab = make(hosts=3)
    worker = ["mpiexec", "-worker", address(lab)]
    with started(lab.hosts[0], ["mpiexec", "-v", "-workers", 2, "-n", "3", "-ppn", "1", "hostname"]) as job:
        line_of(job.stderr)
        with started(lab.hosts[1], worker) as first:
            assert "the worker node1 at" in line_of(job.stderr)
            first.send_signal(signal.SIGTERM)
            assert ends([first]) == [(128 + signal.SIGTERM, "", "")]
            assert "the worker node1 at" in (line := line_of(job.stderr)) and line.endswith("has left\n"), line
        with started(lab.hosts[1], worker) as first, started(lab.hosts[2], worker) as second:
            [(code, out, err)] = ends([job])
            assert (code, sorted(out.split())) == (0, ["node0", "node1", "node2"]), err
            assert ends([first, second]) == [(0, "", "")] * 2


def test_who_does_not_come_is_told_within_the_limit(make):
    lab = make(hosts=2)
    with started(lab.hosts[1], ["mpiexec", "-worker", address(lab)]) as worker, \
            started(lab.hosts[0], ["mpiexec", "-workers", 2, "hostname"], HAWSER_RENDEZVOUS_S="12") as job:
        [(code, out, err), (code_of_worker, _, err_of_worker)] = ends([job, worker])
    assert (code, out) == (1, "") and err == "mpiexec: 1 of 2 workers have come within 12 s (node1); start `mpiexec -worker " \
        "node0` on each of their hosts, or increase the time limit (HAWSER_RENDEZVOUS_S)\n"
    assert code_of_worker == 1 and "has not started the job: 1 of 2 workers have come within 12 s (node1)" in err_of_worker
    with started(lab.hosts[1], ["mpiexec", "-worker", address(lab)], HAWSER_RENDEZVOUS_S="1") as worker:
        [(code, _, err)] = ends([worker])
    assert code == 1 and "has not been found within 1 s" in err and "Connection refused" in err and err.count("\n") == 1, err
    nothing_is_left(lab)


def test_a_service_that_is_no_mpiexec_is_told(make):
    lab = make(hosts=2)
    server = ["python3", "-c", f"import socket; s = socket.create_server(('', {PORT})); c, _ = s.accept(); "
                               "c.sendall(b'HTTP/1.1 400 Bad Request' * 9); c.recv(1)"]
    with started(lab.hosts[0], server), started(lab.hosts[1], ["mpiexec", "-worker", address(lab)]) as worker:
        [(code, _, err)] = ends([worker])
    assert code == 1 and "refuses this worker: the program there is no mpiexec of Hawser" in err, err


def test_a_port_that_is_taken_is_told(session):
    with socket.create_server(("", 0)) as taken:
        command = [session.prefix / "bin/mpiexec", "-workers", "1", "-worker-port", taken.getsockname()[1], "true"]
        done = session.call(command, environment(), timeout=10)
        port = taken.getsockname()[1]
    assert (done.code, done.out) == (1, "") and done.err == f"mpiexec: workers cannot be waited for on TCP port {port}: Address " \
        "already in use (os error 98); name another port for mpiexec (-worker-port N) and its workers (-worker HOST:N)\n", done


def test_strangers_at_the_gate_change_nothing(make):
    """Some say nothing, some say anything, and some send an offer without a proof."""
    lab = make(hosts=2)
    strangers = f"""
import os, socket, struct, time
connections = []
for number in range(150):
    c = socket.create_connection(({address(lab)!r}, {PORT}))
    connections.append(c)
    try:
        if number % 3 == 1: c.sendall(os.urandom(50))
        if number % 3 == 2: c.sendall(struct.pack('<H', 100) + bytes(100))
        if number % 10 == 9: c.sendall(b'x' * 100000)
    except OSError: pass
print('done', flush=True)
time.sleep(1000)
"""
    with started(lab.hosts[0], ["mpiexec", "-workers", 1, "-n", "2", "-ppn", "1", "hostname"]) as job:
        eventually(lambda: listens(lab))
        with started(lab.hosts[1], ["python3", "-c", strangers]) as crowd:
            assert crowd.stdout.readline() == "done\n"
            with started(lab.hosts[1], ["mpiexec", "-worker", address(lab)]) as worker:
                [(code, out, err)] = ends([job])
                assert (code, sorted(out.split())) == (0, ["node0", "node1"]) and err.count("\n") <= 1, err
                assert ends([worker]) == [(0, "", "")]
            crowd.kill()


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_a_worker_that_is_ended_ends_the_job(make, how):
    lab = make(hosts=3)
    with job_of(lab, "-n", "6", "-ppn", "2", "sh", "-c", "setsid sleep 1000 & sleep 1000") as (job, workers):
        eventually(lambda: [*lab.processes().values()].count(SLEEP) == 12)
        workers[0].send_signal(how)
        [(code, _, err)] = ends([job])
        assert code == 1 and "host node1 is lost: its worker at" in err and err.count("\n") == 1, err
        codes = [code for code, _, _ in ends(workers)]
        assert codes == [128 + how if how == signal.SIGTERM else -how, 1], codes
    nothing_is_left(lab)


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_with_mpiexec_the_workers_end(make, how):
    lab = make(hosts=3)
    with job_of(lab, "-n", "6", "-ppn", "2", "sh", "-c", "setsid sleep 1000 & sleep 1000") as (job, workers):
        eventually(lambda: [*lab.processes().values()].count(SLEEP) == 12)
        job.send_signal(how)
        ends([job])
        codes = [code for code, _, _ in ends(workers)]
        assert codes == [128 + how] * 2 if how == signal.SIGTERM else 0 not in codes, codes
    nothing_is_left(lab)


def test_mpiexec_that_is_ended_while_it_waits_tells_its_workers(make):
    lab = make(hosts=2)
    with started(lab.hosts[0], ["mpiexec", "-v", "-workers", 2, "hostname"]) as job, \
            started(lab.hosts[1], ["mpiexec", "-worker", address(lab)]) as worker:
        line_of(job.stderr), line_of(job.stderr)
        job.send_signal(signal.SIGTERM)
        [(code, _, _), (code_of_worker, _, err)] = ends([job, worker])
        assert code == 128 + signal.SIGTERM and code_of_worker == 1 and "has got signal 15" in err, err


def test_a_worker_whose_host_falls_silent_is_named(make):
    lab = make(hosts=3)
    with job_of(lab, "-n", "3", "-ppn", "1", *SLEEP) as (job, workers):
        eventually(lambda: [*lab.processes().values()].count(SLEEP) == 3)
        lab.hosts[1].nics[0].unplug()
        [(code, _, err)] = ends([job])
        assert code == 1 and "host node1 has been silent for 7 s" in err and err.count("\n") == 1, err
        assert all(code != 0 for code, _, _ in ends(workers))
    nothing_is_left(lab)
