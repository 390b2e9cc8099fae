//! Tests the installation without the tools: runs packaging/install.sh into an empty prefix, then compiles programs of
//! both ABIs from there, by wrappers, pkg-config and CMake.

#[path = "../../abi/tests/support/mod.rs"]
mod support;

use std::path::{Path, PathBuf};
use std::process::Command;
use support::{Scratch, build, outcome, root, run};

/// An installation in a folder whose name has a space.
fn installed(dir: &Scratch) -> PathBuf {
    let artefacts = build("hawser-abi-mpich", "libmpi.so").parent().expect("in a folder").to_owned();
    build("hawser-abi-std", "libmpi_abi.so");
    let prefix = dir.0.join("the prefix");
    let mut sh = Command::new(root().join("packaging/install.sh"));
    run(sh.arg(artefacts).arg(&prefix).args(["lib-std", "lib-mpich", "include", "wrappers", "man"]));
    prefix
}

fn wrapper(prefix: &Path, name: &str) -> Command {
    let mut cc = Command::new(prefix.join("bin").join(name));
    for name in [
        "HAWSER_CC",
        "MPICH_CC",
        "OMPI_CC",
        "I_MPI_CC",
        "HAWSER_CXX",
        "MPICH_CXX",
        "OMPI_CXX",
        "I_MPI_CXX",
        "HAWSER_RPATH",
    ] {
        cc.env_remove(name);
    }
    cc
}

/// The first line that local.c prints: the ABI that it found.
fn first_line(program: &Path) -> String {
    run(Command::new(program).env_remove("LD_LIBRARY_PATH")).lines().next().expect("it prints").to_owned()
}

#[test]
fn wrappers_build_programs_that_find_their_library() {
    let dir = Scratch::new("wrappers");
    let prefix = installed(&dir);
    let source = root().join("crates/abi/tests/c/local.c");
    let cpp = dir.file("local.cpp", &std::fs::read_to_string(&source).expect("local.c is here"));
    for (name, source, abi) in [
        ("mpicc", &source, "abi -1.-1"),
        ("mpicxx", &cpp, "abi -1.-1"),
        ("mpic++", &cpp, "abi -1.-1"),
        ("mpicc_abi", &source, "abi 1.0"),
        ("mpicxx_abi", &cpp, "abi 1.0"),
    ] {
        let program = dir.0.join(format!("program-{name}"));
        run(wrapper(&prefix, name).arg(source).arg("-o").arg(&program));
        assert_eq!(first_line(&program), abi, "{name}");
        // Compile in two steps, with a definition that has a space, and without a run path.
        let object = dir.0.join("local.o");
        run(wrapper(&prefix, name).args(["-c", "-Werror", "-DTEXT=a b"]).arg(source).arg("-o").arg(&object));
        run(wrapper(&prefix, name).arg("-norpath").arg(&object).arg("-o").arg(&program));
        assert!(!outcome(Command::new(&program).env_remove("LD_LIBRARY_PATH")).status.success(), "{name} -norpath");
    }
}

#[test]
fn a_moved_installation_compiles() {
    let dir = Scratch::new("moved");
    let prefix = installed(&dir);
    let moved = dir.0.join("moved");
    std::fs::rename(&prefix, &moved).expect("a folder can be renamed");
    // Call it through a link from elsewhere, as from ~/bin.
    let link = dir.0.join("mpicc_abi");
    std::os::unix::fs::symlink(moved.join("bin/mpicc_abi"), &link).expect("a link can be made");
    let program = dir.0.join("program");
    run(Command::new(link).arg(root().join("crates/abi/tests/c/local.c")).arg("-o").arg(&program));
    assert_eq!(first_line(&program), "abi 1.0");
}

#[test]
fn wrappers_say_what_they_would_do() {
    let dir = Scratch::new("show");
    let prefix = installed(&dir);
    let p = prefix.display();
    let output_of = |name: &str, args: &[&str]| run(wrapper(&prefix, name).args(args));
    let whole = format!("cc -c x.c '-DA=it'\\''s' -I\"{p}/include/hawser-mpich\"\n");
    assert_eq!(output_of("mpicc", &["-show", "-c", "x.c", "-DA=it's"]), whole);
    for compile in ["-compile_info", "-compile-info", "-showme:compile", "--showme:compile"] {
        assert_eq!(output_of("mpicxx_abi", &[compile]), format!("-I\"{p}/include/hawser-std\"\n"));
    }
    for link in ["-link_info", "-link-info", "-showme:link"] {
        assert_eq!(output_of("mpicc_abi", &[link]), format!("-L\"{p}/lib\" -Wl,\"-rpath,{p}/lib\" -lmpi_abi\n"));
    }
    assert_eq!(output_of("mpicc", &["-showme:libs"]), "mpi\n");
    assert!(output_of("mpicc", &["-showme:version"]).starts_with("mpicc: Hawser 0."));
    let mut other = wrapper(&prefix, "mpicc");
    assert!(run(other.env("MPICH_CC", "ccache gcc").args(["-show", "x.c"])).starts_with("ccache gcc x.c "));
    assert!(output_of("mpicc", &["-cc=clang", "-show", "x.c"]).starts_with("clang x.c "));
    let refused = outcome(wrapper(&prefix, "mpicc").arg("-showme:nonsense"));
    assert!(!refused.status.success());
}

#[test]
fn libraries_are_found_under_every_name_that_programs_ask_for() {
    let dir = Scratch::new("names");
    let prefix = installed(&dir);
    for (name, file) in [
        ("libmpi.so", "libmpi.so.12"),
        ("libmpich.so.12", "libmpi.so.12"),
        ("libmpi_abi.so", "libmpi_abi.so.1"),
        ("libmpi_abi.so.0", "libmpi_abi.so.1"),
    ] {
        let target = std::fs::read_link(prefix.join("lib").join(name)).expect("a link");
        assert_eq!(target, Path::new(file), "relative, so that the prefix can be moved");
    }
    let header = std::fs::read_to_string(prefix.join("include/mpi.h")).expect("the default header");
    assert!(header.contains("MPICH_NUMVERSION"));
}

#[test]
fn pkg_config_gives_the_options() {
    if Command::new("pkg-config").arg("--version").output().is_err() {
        eprintln!("SKIPPED: there is no pkg-config");
        return;
    }
    let dir = Scratch::new("pkgconfig");
    let prefix = installed(&dir);
    let moved = dir.0.join("moved");
    std::fs::rename(prefix, &moved).expect("a folder can be renamed");
    for (package, abi) in [("mpi", "abi -1.-1"), ("mpich", "abi -1.-1"), ("mpi_abi", "abi 1.0")] {
        let mut pc = Command::new("pkg-config");
        pc.env("PKG_CONFIG_PATH", moved.join("lib/pkgconfig")).args(["--cflags", "--libs", package]);
        let program = dir.0.join(package);
        let mut cc = Command::new("cc");
        cc.arg(root().join("crates/abi/tests/c/local.c")).args(run(&mut pc).split_whitespace());
        run(cc.arg("-o").arg(&program));
        assert_eq!(first_line(&program), abi);
    }
}

#[test]
fn cmake_finds_mpi_for_c_and_cxx() {
    if Command::new("cmake").arg("--version").output().is_err() {
        eprintln!("SKIPPED: there is no cmake");
        return;
    }
    let dir = Scratch::new("cmake");
    let prefix = installed(&dir);
    let source = std::fs::read_to_string(root().join("crates/abi/tests/c/local.c")).expect("local.c is here");
    dir.file("local.c", &source);
    dir.file("local.cpp", &source);
    dir.file(
        "CMakeLists.txt",
        "cmake_minimum_required(VERSION 3.12)\nproject(local C CXX)\nfind_package(MPI 3.0 REQUIRED COMPONENTS C CXX)\n\
         add_executable(in_c local.c)\ntarget_link_libraries(in_c MPI::MPI_C)\n\
         add_executable(in_cxx local.cpp)\ntarget_link_libraries(in_cxx MPI::MPI_CXX)\n",
    );
    for (cc, cxx, abi) in [("mpicc", "mpicxx", "abi -1.-1"), ("mpicc_abi", "mpicxx_abi", "abi 1.0")] {
        let build = dir.0.join(cc);
        let mut cmake = Command::new("cmake");
        cmake.arg("-S").arg(&dir.0).arg("-B").arg(&build);
        cmake.arg(format!("-DMPI_C_COMPILER={}", prefix.join("bin").join(cc).display()));
        cmake.arg(format!("-DMPI_CXX_COMPILER={}", prefix.join("bin").join(cxx).display()));
        let output = run(&mut cmake);
        assert!(
            output.contains("Found MPI_C") && output.contains("Found MPI_CXX") && output.contains("version \"5.0\""),
            "{output}"
        );
        run(Command::new("cmake").arg("--build").arg(&build));
        for program in ["in_c", "in_cxx"] {
            assert_eq!(first_line(&build.join(program)), abi);
        }
    }
}
