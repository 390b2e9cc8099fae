"""Which processes become ranks, which run alone, and which are refused: by how they are started and what they find in their
environment. Programs that ranks start are in tests/c/starting.c."""

import os
import re
import subprocess
import sys

import pytest

VALUE = re.compile(r"^(\d) of (\d)$", re.MULTILINE)


def libraries(session):
    """What `env -i` leaves a program that is to find its library."""
    return [f"LD_LIBRARY_PATH={session.prefix / 'lib'}", f"HAWSER_E2E={session.mark}"]


def who(result):
    assert result.code == 0 and result.err == "", result
    return sorted((int(me), int(size)) for me, size in VALUE.findall(result.out))


@pytest.mark.parametrize("through", [[], ["setsid", "-w"], ["sh", "-c", 'exec "$@"', "sh"], ["sh", "-c", '"$@"; exit $?', "sh"]])
def test_ranks_that_have_lost_their_environment_find_their_job(session, run, build, abi, through):
    """As by `env -i` and sudo, whatever stands between."""
    program = build("hello.c", abi)
    command = ["env", "-i", *libraries(session), *through, program, "hello"]
    assert who(run(3, command[0], command[1:])) == [(0, 3), (1, 3), (2, 3)]


def test_ranks_that_run_as_another_user_are_told_what_to_do(session, run, build):
    if os.getuid():
        pytest.skip("another user needs the right to become one: run as root")
    session.scratch.chmod(0o755)
    program = build("hello.c")
    command = ["env", "-i", *libraries(session), "setpriv", "--reuid=65534", "--clear-groups", program]
    result = run(2, command[0], command[1:])
    assert result.code != 0 and "runs as user 65534, and mpiexec as user 0" in result.err, result
    assert "run mpiexec itself as the other user" in result.err, result


def test_who_unsets_the_address_alone_runs_alone(session, run, build, abi):
    """As the messages advise; the variables for scripts, PMI_SIZE among them, are still there."""
    result = run(2, "env", ["-u", "HAWSER_BOOT", build("hello.c", abi), "hello"])
    assert who(result) == [(0, 1), (0, 1)]


def test_a_second_program_of_a_script_is_refused_with_its_environment_and_without(session, run, build):
    program = build("hello.c")
    for second in (str(program), f"env -i {' '.join(libraries(session))} {program}"):
        result = run(1, "sh", ["-c", f"{program} && {second}"])
        assert result.code != 0 and "has already run from MPI_Init to MPI_Finalize" in result.err, result


FOREIGN = ["PMIX_RANK=0", "FLUX_JOB_SIZE=4", "FLUX_TASK_RANK=1", "PALS_RANKID=0", "JSM_NAMESPACE_SIZE=2", "JSM_NAMESPACE_RANK=0",
           "MV2_COMM_WORLD_SIZE=2", "MV2_COMM_WORLD_RANK=1", "ALPS_APP_PE=0", "PMI_RANK=0", "OMPI_COMM_WORLD_RANK=0"]


@pytest.mark.parametrize("variable", FOREIGN)
def test_a_process_of_a_foreign_launcher_is_refused(session, build, variable):
    name, value = variable.split("=")
    result = session.call([build("hello.c")], {name: value})
    assert result.code != 0 and result.err.count("\n") == 1 and variable in result.err, result
    assert f"unset {name}" in result.err, result


@pytest.mark.parametrize("env", [{"PMIX_RANK": "0", "SLURM_STEP_NUM_TASKS": "1"}, {"PMI_RANK": "0", "PMI_SIZE": "1"},
                                 {"SLURM_PROCID": "0", "SLURM_NTASKS": "8"}, {"MV2_ENABLE_AFFINITY": "1"}])
def test_a_step_of_one_and_a_batch_script_are_alone(session, build, env):
    assert who(session.call([build("hello.c"), "hello"], env)) == [(0, 1)]


def test_scripts_find_their_rank_by_the_names_of_mpich_and_open_mpi(run):
    names = ["PMI_RANK", "PMI_SIZE", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
             "OMPI_COMM_WORLD_LOCAL_SIZE"]
    foreign = {"PMI_FD": "7", "PMI_PORT": "h:1", "PMI_RANK": "9", "PMI_SIZE": "10"}
    show = 'echo "$PMI_FD$PMI_PORT" ' + " ".join(f"${name}" for name in names)
    result = run(2, "sh", ["-c", show], env=foreign)
    assert result.code == 0 and sorted(result.out.splitlines()) == [" 0 2 0 2 0 2", " 1 2 1 2 1 2"], result


def test_mpiexec_below_a_rank_has_ranks_of_its_own(session, run, build):
    """Of which some have lost their environment: the nearest mpiexec counts."""
    mpiexec = session.prefix / "bin/mpiexec"
    inner = f'{mpiexec} -n 2 env -i {" ".join(libraries(session))} {build("hello.c")} hello'
    assert who(run(1, "sh", ["-c", inner])) == [(0, 2), (1, 2)]


POOL = """
import multiprocessing, sys
def work(number):
    from mpi4py import MPI
    return MPI.COMM_WORLD.size, number
if __name__ == "__main__":
    from mpi4py import MPI
    with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
        assert pool.map(work, range(4)) == [(1, number) for number in range(4)]
    assert MPI.COMM_WORLD.allreduce(1) == MPI.COMM_WORLD.size == 2
"""


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_a_pool_of_pythons_processes_may_use_mpi(session, run, tmp_path, method):
    """Each of them is alone, and the rank that has the pool goes on."""
    script = tmp_path / "pool.py"
    script.write_text(POOL)
    result = run(2, sys.executable, [script, method])
    assert result.code == 0 and result.err == "", result


@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("how", ["all", "slowly"])
def test_a_program_without_mpi_finalize_ends_well_with_a_word(run, build, abi, n, how):
    result = run(n, build("unfinished.c", abi), [how])
    assert result.code == 0 and result.out == "" and result.err.count("\n") == 1, result
    who = "the rank" if n == 1 else f"all {n} ranks"
    assert f"{who} exited with code 0 without calling MPI_Finalize" in result.err, result


@pytest.mark.parametrize("how", ["one", "busy"])
def test_one_rank_without_mpi_finalize_is_an_error(run, build, how):
    result = run(3, build("unfinished.c"), [how])
    assert result.code == 1 and result.err.count("\n") == 1, result
    assert re.search(r"rank 1 on host .* exited with code 0 without calling MPI_Finalize", result.err), result


def test_a_call_of_mpi_abort_keeps_its_line_and_code_beside_a_rank_without_mpi_finalize(run, build):
    result = run(3, build("unfinished.c"), ["abort"])
    assert result.code == 5 and result.err.count("\n") == 2, result
    first, second = result.err.splitlines()
    assert "rank 1 on host" in first and "without calling MPI_Finalize" in first, result
    assert "rank 0 on host" in second and "with code 5: MPI_Abort was called" in second, result


def test_misspelt_parameters_are_told_once_and_others_variables_are_not(session, run, build):
    program, told = build("hello.c"), "HAWSER_PROT is not a parameter of Hawser, and is ignored; did you mean HAWSER_PORT?"
    env = {"HAWSER_PROT": "udp", "HAWSER_ROOT": "/opt/hawser", "HAWSER_TEST_X": "1"}
    result = run(3, program, env=env)
    assert result.code == 0 and result.err == f"mpiexec: {told}\n", result
    assert session.call([program], env).err == f"hawser: {told}\n"
    result = run(2, program, options=["-genv", "HAWSER_SPINN", "1"])
    assert result.code == 0 and result.err.count("\n") == 1 and "did you mean HAWSER_SPIN?" in result.err, result


def test_a_value_that_is_no_text_is_an_error(session, build):
    env = {os.fsencode(name): os.fsencode(value) for name, value in session.environment().items()}
    env[b"HAWSER_PORT"] = b"ud\xff"
    for command in ([session.prefix / "bin/mpiexec", "-n", "2", build("hello.c")], [build("hello.c")]):
        done = subprocess.run(command, env=env, capture_output=True, timeout=60)
        assert done.returncode != 0 and done.stderr.count(b"\n") == 1, done
        assert b"HAWSER_PORT=" in done.stderr and b"is not text in UTF-8" in done.stderr, done
