"""mpi4py's own tests under mpiexec: mpi4py_suite.py FOLDER MODULE..., FOLDER being its unpacked source package.

What needs a function that the library does not have is skipped. Each rank prints at its end one line of JSON: how many tests
it ran, and how many of them it skipped for which reason. It must not change what a test that is not skipped does.
"""

import json
import runpy
import sys
import unittest
from collections import Counter
from pathlib import Path

from mpi4py import MPI

add_error = unittest.TestResult.addError
end = unittest.TestResult.stopTestRun
load = unittest.TestLoader.loadTestsFromNames


def is_missing(error):
    return isinstance(error, MPI.Exception) and error.Get_error_class() == MPI.ERR_UNSUPPORTED_OPERATION


class File(MPI.File):
    """What modules see as they are imported: those that open a file then expect NotImplementedError where there are none."""

    @classmethod
    def Open(cls, *arguments, **keywords):
        try:
            return super().Open(*arguments, **keywords)
        except MPI.Exception as error:
            if is_missing(error):
                raise NotImplementedError from error
            raise


def load_with_file(*arguments):
    MPI.File, original = File, MPI.File
    try:
        return load(*arguments)
    finally:
        MPI.File = original


def skip_what_is_missing(result, test, error):
    if is_missing(error[1]):
        result.addSkip(test, "not there yet")
    else:
        add_error(result, test, error)


def tell(result):
    end(result)
    skipped = Counter(reason for _, reason in result.skipped)
    print(json.dumps({"ran": result.testsRun, "skipped": skipped}), flush=True)


if __name__ == "__main__":
    unittest.TestLoader.loadTestsFromNames = load_with_file
    unittest.TestResult.addError = skip_what_is_missing
    unittest.TestResult.stopTestRun = tell
    program = Path(sys.argv[1]) / "test" / "main.py"
    sys.argv = [str(program), "-q", *sys.argv[2:]]
    runpy.run_path(str(program), run_name="__main__")
