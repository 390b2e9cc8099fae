"""The C programs of tests/c, each under both ABIs with every number of ranks that it asks for.

Collectives (coll_*.c) that ask for none run with 1, 2, 3, 4, 5 and 8 ranks.
"""

import pytest
from harness import SOURCES, directives

COLLECTIVE_RANKS = [1, 2, 3, 4, 5, 8]


def runs():
    for source in sorted(SOURCES.glob("*.c")):
        ranks, cases = directives(source)
        if source.name.startswith("coll_"):
            ranks = ranks or COLLECTIVE_RANKS
        for n in ranks:
            for case in cases or [None]:
                yield pytest.param(source.name, n, case, id="-".join([source.stem, *([case] if case else []), str(n)]))


@pytest.mark.parametrize("source, n, case", list(runs()))
def test_program(build, run, abi, source, n, case):
    result = run(n, build(source, abi), [case] if case else [], timeout=90)
    assert result.code == 0 and result.out == "" and result.err == "", result
