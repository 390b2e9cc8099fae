"""Sessions (tests/c/sessions.c): how they end, what is told of mistakes, and ranks on several hosts that leave and come back."""

import re

import pytest
from test_ethernet import PORTS, finished
from test_errors import HOST, one_line

FATAL = {
    "pset": ("MPI_Group_from_session_pset", "MPI_ERR_ARG"),
    "group": ("MPI_Comm_create_from_group", "MPI_ERR_GROUP"),
    "world": ("MPI_Barrier", "MPI_ERR_COMM"),
    "nobody": ("MPI_Barrier", "MPI_ERR_OTHER"),
    "twice": ("MPI_Session_finalize", "MPI_ERR_SESSION"),
    "after": ("MPI_Get_processor_name", "MPI_ERR_OTHER"),
}


@pytest.mark.parametrize("case", FATAL)
def test_a_mistake_is_one_line(run, build, abi, case):
    function, error = FATAL[case]
    line = one_line(run(1, build("sessions.c", abi), ["fatal", case]))
    assert re.search(rf"rank 0\b.*\b{HOST}\b.*{function} failed: {error}: .{{8,}}", line), line


def test_a_rank_that_exits_with_a_session_open_is_told(run, build, abi):
    result = run(3, build("sessions.c", abi), ["ended"])
    assert result.code == 3 and "rank 0" in one_line(result) and "MPI_Session_finalize" in result.err, result


def test_sessions_without_mpiexec(session, build, abi):
    for case in ("alone", "again", "threads", "errors", "world"):
        result = session.call([build("sessions.c", abi), case])
        assert (result.code, result.out, result.err) == (0, "", ""), result


@pytest.mark.parametrize("port", PORTS)
@pytest.mark.parametrize("case", ["alone", "again", "beside", "threads", "subsets", "world"])
def test_sessions_between_hosts(make, build, port, case):
    lab = make(hosts=2)
    finished(lab, "-ppn", "2", build("sessions.c"), case, env={"HAWSER_PORT": port})


def test_ranks_that_come_back_while_frames_are_lost(make, build):
    lab = make(hosts=2, loss=0.02)
    finished(lab, "-ppn", "2", build("sessions.c"), "again")
