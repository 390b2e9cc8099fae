"""Fortran: programs with mpif.h and the modules mpi and mpi_f08, profiling, the wrappers and their module files.

Programs lie in tests/fortran; they check values themselves and print one line. The larger ones run on 1 to 5 ranks.
"""

import gzip
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from harness import HERE, ROOT

FORTRAN = HERE / "fortran"
pytestmark = pytest.mark.skipif(not shutil.which("gfortran"),
                                reason="NO FORTRAN IS TESTED, there is no gfortran: scripts/setup.sh installs it")
ABIS = {"mpifort": "mpich", "mpifort_abi": "std"}
PROGRAMS = ["mpif_p2p.f", "mpif_coll.f", "mpif_env.f", "mpi_module.f90", "f08_types.f90", "f08_sections.f90",
            "f08_blocks.f90", "f08_coll_more.f90", "f08_comms.f90", "f08_large.f90", "mpi_more.f90"]
# The C part of tests/fortran/languages.f90.
LANGUAGES = r"""
#include <mpi.h>
#include <stddef.h>
#include <stdint.h>
static long cell = 17;
void c_sets(int comm, int *keyval, intptr_t *address)
{
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, keyval, NULL);
    MPI_Comm_set_attr(MPI_Comm_fromint(comm), *keyval, &cell);
    *address = (intptr_t)&cell;
}
intptr_t c_gets(int comm, int keyval)
{
    MPI_Aint *found = NULL;
    int flag = 0;
    MPI_Comm_get_attr(MPI_Comm_fromint(comm), keyval, &found, &flag);
    return flag ? *found : -1;
}
int c_dup(void)
{
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    return MPI_Comm_toint(comm);
}
int c_tag_ub(void)
{
    int *found = NULL, flag = 0;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &found, &flag);
    return flag ? *found : -1;
}
"""
# A profiling library in C: it counts MPI_Send, not PMPI_Send.
COUNTER = r"""
#include <mpi.h>
#include <stdio.h>
static int sends;
int MPI_Send(const void *buffer, int count, MPI_Datatype datatype, int to, int tag, MPI_Comm comm)
{
    sends++;
    return PMPI_Send(buffer, count, datatype, to, tag, comm);
}
int MPI_Finalize(void)
{
    fprintf(stderr, "%d sends\n", sends);
    return PMPI_Finalize();
}
"""


@pytest.fixture(params=ABIS)
def wrapper(request):
    return request.param


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    return tmp_path_factory.mktemp("fortran")


@pytest.fixture(scope="module")
def fortran(session, scratch):
    """fortran(wrapper, sources, options): the program of tests/fortran/SOURCES and check.f90, compiled once."""
    built = {}

    def fortran(wrapper, sources, *options):
        sources = [sources] if isinstance(sources, str) else sources
        key = (wrapper, *map(str, sources), *options)
        if key not in built:
            program = scratch / f"{Path(sources[0]).stem}.{wrapper}.{len(built)}"
            compiled(session, [session.prefix / "bin" / wrapper, *flags(sources[0], scratch), *options,
                               *(FORTRAN / source for source in sources), FORTRAN / "check.f90", "-o", program])
            built[key] = program
        return built[key]

    return fortran


def flags(source, modules):
    # Programs with mpif.h pass arrays of several types to one procedure, which the compiler warns of.
    return ["-O1", "-g", "-fcheck=bounds", f"-J{modules}"] + (["-w"] if source.endswith(".f") else ["-Wall", "-Werror"])


def compiled(session, command, env=None):
    done = session.call(command, env)
    assert done.code == 0, done
    return done


def holds(result, name, n):
    """The program printed its line, and nothing else."""
    assert result.code == 0 and result.out == f"{name} holds on {n}\n" and result.err == "", result


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("source", PROGRAMS)
def test_program(fortran, run, wrapper, source, n):
    holds(run(n, fortran(wrapper, source)), Path(source).stem, n)


def test_all_programs_are_run():
    others = {"check.f90", "languages.f90", "pmpi_mpif.f", "pmpi_f08.f90", "profiled_mpif.f", "profiled_f08.f90",
              "f08_unsupported.f90"}
    assert {path.name for path in FORTRAN.iterdir()} == others | set(PROGRAMS)


def test_all_procedures_are_called():
    """Each procedure of the table is called by some program, and each of mpi_f08 through mpi_f08."""
    lines = (ROOT / "crates/abi/tables/functions.tsv").read_text().splitlines()
    rows = [dict(zip(lines[0].split("\t"), line.split("\t"))) for line in lines[1:]]
    there = {row["name"].lower(): row["fortran"].split(",") for row in rows
             if row["fortran"] and row["large_count"] == "N"}
    assert len(there) > 400, there
    texts = [path.read_text() for path in FORTRAN.iterdir()]
    for programs, names in ((texts, set(there)),
                            ([text for text in texts if "use mpi_f08" in text],
                             {name for name, where in there.items() if "f08" in where})):
        called = {name.lower() for text in programs for name in re.findall(r"\b(MPI_\w+)\s*\(", text, re.IGNORECASE)}
        assert names <= called, sorted(names - called)


def test_all_large_forms_are_called(fortran):
    """Forms with large counts have names of their own in the library alone."""
    module = (ROOT / "include/fortran/mpi_f08.f90").read_text()
    there = {name.lower() for name in re.findall(r"end subroutine (MPI_\w+_c_f08(?:ts)?)$", module, re.MULTILINE)}
    assert len(there) > 150, there
    called = set()
    for source in [source for source in PROGRAMS if source.startswith("f08")] + ["f08_unsupported.f90"]:
        told = subprocess.run(["nm", "-D", fortran("mpifort", source)], capture_output=True, text=True, check=True)
        called.update(re.findall(r" U (mpi_\w+_c_f08(?:ts)?)_$", told.stdout, re.MULTILINE))
    assert there <= called, sorted(there - called)


def test_procedures_that_this_version_has_not(fortran, run, wrapper):
    program = fortran(wrapper, "f08_unsupported.f90")
    holds(run(2, program), "f08_unsupported", 2)
    ended = run(2, program, ["abort"])
    assert ended.code == 7 and "MPI_Abort" in ended.err and ended.out == "", ended


def test_names_with_a_second_underscore(fortran, run, wrapper):
    """Some compilers write mpi_send__ for MPI_SEND."""
    program = fortran(wrapper, "mpif_p2p.f", "-fsecond-underscore")
    told = subprocess.run(["nm", "-D", program], capture_output=True, text=True, check=True).stdout
    assert re.search(r" U mpi_send__$", told, re.MULTILINE), told
    holds(run(2, program), "mpif_p2p", 2)


def test_a_program_without_mpiexec_is_a_job_of_one(fortran, session, wrapper):
    holds(session.call([fortran(wrapper, "f08_types.f90")]), "f08_types", 1)


def test_attributes_between_languages(fortran, run, session, scratch, wrapper):
    source, added = scratch / f"languages.{wrapper}.c", scratch / f"languages.{wrapper}.o"
    source.write_text(LANGUAGES)
    compiler = session.prefix / "bin" / wrapper.replace("mpifort", "mpicc")
    compiled(session, [compiler, "-Wall", "-Werror", "-c", source, "-o", added])
    holds(run(1, fortran(wrapper, "languages.f90", added)), "languages", 1)


# Each sends twice, by MPI and by PMPI: the library sees the first.
@pytest.mark.parametrize("how", ["linked", "preloaded"])
@pytest.mark.parametrize("name, seen", [("mpif", "MPI_SEND of 3"), ("f08", "MPI_Send_f08ts of 3")])
def test_a_profiling_library_in_fortran(fortran, session, run, scratch, wrapper, name, seen, how):
    source, library = {"mpif": ("profiled_mpif.f", "pmpi_mpif.f"), "f08": ("profiled_f08.f90", "pmpi_f08.f90")}[name]
    if how == "linked":
        result = run(1, fortran(wrapper, [source, library]))
    else:
        shared = scratch / f"{name}.{wrapper}.so"
        compiled(session, [session.prefix / "bin" / wrapper, *flags(source, scratch), "-shared", "-fPIC",
                           FORTRAN / library, "-o", shared])
        result = run(1, fortran(wrapper, source), options=["-genv", "LD_PRELOAD", shared])
    assert result.code == 0 and result.err == "", result
    assert result.out == f"{seen}\nprofiled_{name} holds on 1\n", result


@pytest.mark.parametrize("source", ["profiled_mpif.f", "profiled_f08.f90"])
def test_a_profiling_library_in_c(fortran, session, run, scratch, wrapper, source):
    code, shared = scratch / f"counter.{wrapper}.c", scratch / f"counter.{wrapper}.so"
    code.write_text(COUNTER)
    compiler = session.prefix / "bin" / wrapper.replace("mpifort", "mpicc")
    compiled(session, [compiler, "-Wall", "-Werror", "-shared", "-fPIC", code, "-o", shared])
    result = run(1, fortran(wrapper, source), options=["-genv", "LD_PRELOAD", shared])
    assert result.code == 0 and result.out == f"{Path(source).stem} holds on 1\n", result
    assert result.err == "1 sends\n", result


def asked(session, prefix, wrapper, question, env=None):
    """What a wrapper of an installation answers, in one line, as a shell reads it."""
    result = session.call(["sh", "-c", 'eval "set -- $(cat)"; printf "%s\\n" "$@"'], env,
                          input=compiled(session, [prefix / "bin" / wrapper, question], env).out)
    assert result.code == 0, result
    return result.out.splitlines()


def test_wrapper_tells_its_options(session, prefix, tmp_path, wrapper):
    abi, suffix = ABIS[wrapper], wrapper.removeprefix("mpifort")
    include = prefix / f"include/hawser-{abi}"
    shown = compiled(session, [prefix / "bin" / wrapper, "-show", "a.f90", "-O2", "-o", "a"]).out.split()
    assert shown[:5] == ["gfortran", "a.f90", "-O2", "-o", "a"], shown
    incdirs = asked(session, prefix, wrapper, "-showme:incdirs")
    assert incdirs[0] == str(include) and len(incdirs) == 2, incdirs
    assert re.fullmatch(rf"{re.escape(str(prefix))}/lib/hawser/fortran/{abi}/gfortran-\d+-\d+", incdirs[1]), incdirs
    assert {path.name for path in Path(incdirs[1]).iterdir()} == {"hawser_mpi_types.mod", "mpi.mod", "mpi_f08.mod"}
    options = asked(session, prefix, wrapper, "-showme:compile")
    assert options[:2] == [f"-I{folder}" for folder in incdirs], options
    link = asked(session, prefix, wrapper, "-showme:link")
    assert link == [f"-L{prefix}/lib", f"-Wl,-rpath,{prefix}/lib", f"-lmpifort{suffix}", f"-lmpi{suffix}"], link
    assert shown[5:] == [*options, *link], shown
    # They are enough for the compiler alone.
    compiled(session, ["gfortran", *flags("profiled_f08.f90", tmp_path), FORTRAN / "profiled_f08.f90",
                       FORTRAN / "check.f90", *options, *link, "-o", tmp_path / "program"])
    holds(session.call([tmp_path / "program"]), "profiled_f08", 1)


def test_wrapper_compiles_without_linking(session, prefix, tmp_path, wrapper):
    for source in ("profiled_mpif.f", "check.f90"):
        compiled(session, [prefix / "bin" / wrapper, "-w", "-c", FORTRAN / source, "-o", tmp_path / f"{source}.o"])
    objects = sorted(tmp_path.iterdir())
    assert [path.name for path in objects] == ["check.f90.o", "profiled_mpif.f.o"]
    program = tmp_path / "program"
    compiled(session, [prefix / "bin" / wrapper, *objects, "-o", program])
    holds(session.call([program]), "profiled_mpif", 1)


def test_mpif77_and_mpif90_are_mpifort(session, prefix, wrapper):
    told = compiled(session, [prefix / "bin" / wrapper, "-show", "a.f"]).out
    for name in ("mpif77", "mpif90"):
        assert compiled(session, [prefix / "bin" / wrapper.replace("mpifort", name), "-show", "a.f"]).out == told


@pytest.mark.parametrize("option", ["-fdefault-integer-8", "-i8", "-finteger-4-integer-8"])
def test_wrapper_refuses_longer_integers(session, prefix, tmp_path, wrapper, option):
    program = tmp_path / "program"
    result = session.call([prefix / "bin" / wrapper, option, FORTRAN / "profiled_mpif.f", "-o", program])
    assert result.code == 1 and result.out == "" and not program.exists(), result
    assert result.err.startswith(f"{wrapper}: {option} makes INTEGER 8 bytes long"), result
    assert "INTEGER(4)" in result.err and f"leave {option} out" in " ".join(result.err.split()), result


def test_longer_integers_do_not_compile_without_the_wrapper(session, prefix, tmp_path, wrapper):
    command = ["gfortran", "-w", "-c", f"-I{prefix}/include/hawser-{ABIS[wrapper]}", FORTRAN / "profiled_mpif.f",
               "-o", tmp_path / "object"]
    compiled(session, command)
    result = session.call([*command, "-fdefault-integer-8"])
    assert result.code != 0 and "HAWSER_NEEDS_INTEGER_OF_4_BYTES" in result.err.upper(), result


@pytest.mark.parametrize("source", ["mpi_module.f90", "profiled_f08.f90"])
def test_longer_integers_do_not_compile_with_the_modules(session, prefix, tmp_path, wrapper, source):
    options = asked(session, prefix, wrapper, "-showme:compile")
    command = ["gfortran", "-fsyntax-only", f"-J{tmp_path}", *options, FORTRAN / source]
    compiled(session, command)
    result = session.call([*command, "-fdefault-integer-8"])
    assert result.code != 0 and re.search(r"INTEGER\(8\) to INTEGER\(4\)|no specific subroutine", result.err), result


def test_a_module_file_of_another_compiler_version_is_refused(session, prefix, tmp_path, wrapper):
    """A build may have such a folder before ours; the compiler tells the cause."""
    made = Path(asked(session, prefix, wrapper, "-showme:incdirs")[1]) / "mpi_f08.mod"
    text = gzip.decompress(made.read_bytes())
    other = re.sub(rb"module version '\d+'", b"module version '1'", text, count=1)
    assert other != text, text[:80]
    (tmp_path / made.name).write_bytes(gzip.compress(other, 1))
    result = session.call([prefix / "bin" / wrapper, "-c", f"-I{tmp_path}", FORTRAN / "profiled_f08.f90", "-o",
                           tmp_path / "object"])
    assert result.code != 0 and f"{tmp_path}/mpi_f08.mod" in result.err, result
    assert "different version of GNU Fortran" in result.err, result


@pytest.fixture
def copied(prefix, tmp_path):
    """A copy of the installation in a folder whose name has a space, without its module files."""
    copy = tmp_path / "a place"
    shutil.copytree(prefix, copy, symlinks=True,
                    ignore=lambda folder, names: [n for n in names if n in ("hawser-bench", "fortran", "share")])
    return copy


def works(session, copy, wrapper, source, tmp_path, env=None):
    """A program compiled by the copied installation runs on its library."""
    program = tmp_path / "program"
    compiled(session, [copy / "bin" / wrapper, *flags(source, tmp_path), FORTRAN / source, FORTRAN / "check.f90", "-o",
                       program], env)
    told = session.call(["ldd", program]).out
    assert f"=> {copy}/lib/libmpifort" in told, told
    holds(session.call([copy / "bin/mpiexec", "-n", "1", program]), Path(source).stem, 1)


def test_an_installation_whose_path_has_a_space(session, copied, tmp_path, wrapper):
    works(session, copied, wrapper, "profiled_f08.f90", tmp_path)
    made = copied / "lib/hawser/fortran" / ABIS[wrapper]
    assert asked(session, copied, wrapper, "-showme:incdirs")[1].startswith(f"{made}/gfortran-")
    options = [*asked(session, copied, wrapper, "-showme:compile"), *asked(session, copied, wrapper, "-showme:link")]
    compiled(session, ["gfortran", "-w", FORTRAN / "profiled_mpif.f", FORTRAN / "check.f90", *options, "-o",
                       tmp_path / "other"])
    holds(session.call([tmp_path / "other"]), "profiled_mpif", 1)


def test_an_installation_that_cannot_be_written(session, copied, tmp_path, wrapper):
    """A file lies where the folder of module files would: not even root can make it then."""
    shutil.rmtree(copied / "lib/hawser", ignore_errors=True)
    (copied / "lib/hawser").write_text("")
    cache = tmp_path / "cache"
    env = {"XDG_CACHE_HOME": str(cache), "HOME": str(tmp_path / "home")}
    works(session, copied, wrapper, "profiled_f08.f90", tmp_path, env)
    modules = Path(asked(session, copied, wrapper, "-showme:incdirs", env)[1])
    assert modules.is_relative_to(cache / "hawser") and (modules / "mpi_f08.mod").exists(), modules
    assert not (tmp_path / "home").exists()
    # They are made once, and no part of their making is left.
    before = (modules / "mpi_f08.mod").stat().st_mtime_ns
    compiled(session, [copied / "bin" / wrapper, "-showme:compile"], env)
    assert (modules / "mpi_f08.mod").stat().st_mtime_ns == before
    assert {path.name for path in modules.iterdir()} == {"hawser_mpi_types.mod", "mpi.mod", "mpi_f08.mod"}
    # The same in the folder of the user's home, where the variable is not set.
    home = {"XDG_CACHE_HOME": "", "HOME": str(tmp_path / "home")}
    assert asked(session, copied, wrapper, "-showme:incdirs", home)[1].startswith(f"{tmp_path}/home/.cache/hawser/")


def test_module_files_that_can_be_written_nowhere(session, copied, tmp_path, wrapper):
    shutil.rmtree(copied / "lib/hawser", ignore_errors=True)
    (copied / "lib/hawser").write_text("")
    cache, program = tmp_path / "cache", tmp_path / "program"
    cache.write_text("")
    command = [copied / "bin" / wrapper, FORTRAN / "profiled_f08.f90", "-o", program]
    result = session.call(command, {"XDG_CACHE_HOME": str(cache)})
    assert result.code == 1 and not program.exists(), result
    maker = copied / "libexec/hawser/fortran-modules"
    assert f"module files can be written neither below {copied}/lib nor in {cache}/" in result.err, result
    assert f'run "{maker} {ABIS[wrapper]} gfortran" as a user who may' in result.err, result


def test_a_compiler_that_does_not_run_is_named(session, prefix, wrapper):
    result = session.call([prefix / "bin" / wrapper, "-show", "a.f90"], {"HAWSER_FC": "/no/such/compiler"})
    assert result.code == 1 and "/no/such/compiler does not run" in result.err and "HAWSER_FC" in result.err, result


def test_cmake_finds_mpi_for_fortran(session, run, prefix, tmp_path, wrapper):
    if not shutil.which("cmake"):
        pytest.skip("there is no cmake: scripts/setup.sh installs it")
    headers = " ".join(f"${{MPI_Fortran_HAVE_{what}}}" for what in ("F77_HEADER", "F90_MODULE", "F08_MODULE"))
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.10)\nproject(programs C CXX Fortran)\n"
        "find_package(MPI REQUIRED COMPONENTS C CXX Fortran)\n"
        f'message(STATUS "Fortran has {headers} of ${{MPI_Fortran_VERSION}}")\n'
        f"add_executable(old {FORTRAN}/profiled_mpif.f {FORTRAN}/check.f90)\n"
        f"add_executable(new {FORTRAN}/profiled_f08.f90 {FORTRAN}/check.f90)\n"
        "target_link_libraries(old MPI::MPI_Fortran)\ntarget_link_libraries(new MPI::MPI_Fortran)\n")
    suffix = wrapper.removeprefix("mpifort")
    compilers = [f"-DMPI_{language}_COMPILER={prefix}/bin/mpi{name}{suffix}"
                 for language, name in (("C", "cc"), ("CXX", "cxx"), ("Fortran", "fort"))]
    told = session.call(["cmake", "-S", tmp_path, "-B", tmp_path / "build", *compilers], timeout=110)
    assert told.code == 0, told
    assert re.search(r"Fortran has (TRUE|1) (TRUE|1) (TRUE|1) of [45]\.\d\n", told.out), told
    compiled(session, ["cmake", "--build", tmp_path / "build"])
    for program, name in (("old", "profiled_mpif"), ("new", "profiled_f08")):
        holds(run(1, tmp_path / "build" / program), name, 1)


def test_pkg_config_finds_mpi_for_fortran(session, run, prefix, tmp_path, wrapper):
    if not shutil.which("pkg-config"):
        pytest.skip("there is no pkg-config: scripts/setup.sh installs it")
    options = compiled(session, ["pkg-config", "--cflags", "--libs", wrapper],
                       {"PKG_CONFIG_PATH": str(prefix / "lib/pkgconfig")}).out.split()
    for source in ("profiled_mpif.f", "profiled_f08.f90"):
        program = tmp_path / Path(source).stem
        # The folder of the module files has the compiler's version in its name, which pkg-config does not know.
        modules = asked(session, prefix, wrapper, "-showme:incdirs")[1:] if source.endswith("f90") else []
        compiled(session, ["gfortran", *flags(source, tmp_path), FORTRAN / source, FORTRAN / "check.f90", *options,
                           *(f"-I{folder}" for folder in modules), "-o", program])
        holds(run(1, program), program.name, 1)


def test_meson_finds_mpi_for_fortran(session, run, prefix, tmp_path, wrapper):
    """Beside C and C++ too, in one program; environment variables name the wrappers of the other ABI."""
    beside = Path(sys.executable).parent
    meson = shutil.which("meson", path=f"{beside}:{os.environ['PATH']}")
    ninja = shutil.which("ninja", path=f"{beside}:{os.environ['PATH']}")
    if not meson or not ninja:
        pytest.skip("MESON IS NOT TESTED WITH FORTRAN, there is no meson with ninja")
    (tmp_path / "meson.build").write_text(
        "project('programs', 'fortran', 'c', 'cpp')\nmpi = dependency('mpi', language: 'fortran')\n"
        "executable('new', 'profiled_f08.f90', 'check.f90', dependencies: mpi)\n"
        "executable('languages', 'languages.f90', 'check.f90', 'languages.c', 'other.cpp',\n"
        "  dependencies: [mpi, dependency('mpi', language: 'c'), dependency('mpi', language: 'cpp')])\n")
    for source in ("profiled_f08.f90", "languages.f90", "check.f90"):
        shutil.copy(FORTRAN / source, tmp_path)
    (tmp_path / "languages.c").write_text(LANGUAGES)
    (tmp_path / "other.cpp").write_text(
        "#include <mpi.h>\nint ranks() { int n; MPI_Comm_size(MPI_COMM_WORLD, &n); return n; }\n")
    env = {"NINJA": ninja}
    if wrapper != "mpifort":
        for variable, name in (("MPIFC", "mpifort"), ("MPICC", "mpicc"), ("MPICXX", "mpicxx")):
            env[variable] = str(prefix / "bin" / wrapper.replace("mpifort", name))
    compiled(session, [meson, "setup", tmp_path / "build", tmp_path], env)
    compiled(session, [ninja, "-C", tmp_path / "build"], env)
    suffix = wrapper.removeprefix("mpifort")
    for program, name in (("new", "profiled_f08"), ("languages", "languages")):
        told = session.call(["ldd", tmp_path / "build" / program]).out
        assert f"libmpifort{suffix}.so" in told, told
        holds(run(1, tmp_path / "build" / program), name, 1)


@pytest.mark.parametrize("script", ["binding.py", "modules.py"])
def test_generated_files_are_those_of_the_tables(session, tmp_path, script):
    """What is written from the tables of functions and constants is what is committed."""
    compiled(session, [sys.executable, ROOT / "crates/fortran/tools" / script, tmp_path / "crates"],
             {"PYTHONDONTWRITEBYTECODE": "1"})
    written = {path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file()}
    folder = {"binding.py": "crates/fortran/binding/table", "modules.py": "include/fortran"}[script]
    # The list of the tables is written by hand.
    committed = {path.relative_to(ROOT) for path in (ROOT / folder).iterdir() if path.name != "mod.rs"}
    assert committed and committed <= written, written
    differ = [str(path) for path in sorted(written)
              if not (ROOT / path).exists() or (ROOT / path).read_bytes() != (tmp_path / path).read_bytes()]
    assert not differ, f"run crates/fortran/tools/{script}: {differ}"
