//! Tests both mpi.h against the tables: every constant, size and offset as the C and the C++ compiler see it, every
//! prototype, and that there is nothing beyond.

mod support;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;
use support::{Scratch, root, run, table};

const COMPILERS: [(&str, &str); 2] = [("cc", "c"), ("g++", "cpp")];

struct Header {
    abi: &'static str,
    constants: &'static str,
    column: &'static str,
}

const STD: Header = Header { abi: "std", constants: "abi_constants.tsv", column: "in_std_abi_header" };
const MPICH: Header = Header { abi: "mpich", constants: "mpich_constants.tsv", column: "in_mpich502_header" };

impl Header {
    fn dir(&self) -> PathBuf {
        root().join("include").join(self.abi)
    }

    fn compiler(&self, name: &str) -> Command {
        let mut cc = Command::new(name);
        cc.args(["-Wall", "-Wextra", "-Werror", "-I"]).arg(self.dir());
        cc
    }

    /// The C expressions, with their values in the table.
    fn expressions(&self) -> Vec<(String, i64)> {
        let wanted = |r: &std::collections::HashMap<String, String>| {
            let name = match r["name"].as_str() {
                "sizeof(any handle)" => "sizeof(MPI_Comm)".to_owned(),
                "sizeof(handle)" => "sizeof(MPI_Comm)".to_owned(),
                name => name.to_owned(),
            };
            let in_c = !r.get("notes").is_some_and(|n| n.starts_with("Fortran"));
            let value = r["value"].split(' ').next()?.parse().ok()?;
            (in_c && (!name.contains(' ') || name.contains('('))).then_some((name, value))
        };
        table(self.constants).iter().filter_map(wanted).collect()
    }

    fn check_constants(&self) {
        let expressions = self.expressions();
        assert!(expressions.len() > 300, "the table was not understood");
        let rows: String =
            expressions.iter().map(|(e, v)| format!("    {{\"{e}\", (long long)(intptr_t)({e}), {v}LL}},\n")).collect();
        let text = format!(
            "#include <mpi.h>\n#include <stddef.h>\n#include <stdint.h>\n#include <stdio.h>\n\
             struct row {{ const char *name; long long have, want; }};\n\
             int main(void) {{\n  struct row rows[] = {{\n{rows}  }};\n  int wrong = 0;\n\
             for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)\n\
             if (rows[i].have != rows[i].want) {{ wrong = 1; printf(\"%s is %lld, not %lld\\n\", rows[i].name, rows[i].have, rows[i].want); }}\n\
             return wrong;\n}}\n"
        );
        let dir = Scratch::new(&format!("constants-{}", self.abi));
        for (cc, suffix) in COMPILERS {
            let source = dir.file(&format!("check.{suffix}"), &text);
            let program = dir.0.join(format!("check-{suffix}"));
            run(self.compiler(cc).arg(source).arg("-o").arg(&program));
            run(&mut Command::new(program));
        }
    }

    fn check_prototypes(&self) {
        let functions = table("functions.tsv");
        let mut text = String::from("#include <mpi.h>\n");
        let mut names = BTreeSet::new();
        for f in functions.iter().filter(|f| f[self.column] == "Y") {
            for name in [f["name"].clone(), format!("P{}", f["name"])] {
                text += &format!("extern {} (*const check_{name})({});\n", f["c_return"], f["c_params"]);
                text += &format!("{} (*const check_{name})({}) = {name};\n", f["c_return"], f["c_params"]);
                names.insert(name);
            }
        }
        let dir = Scratch::new(&format!("prototypes-{}", self.abi));
        for (cc, suffix) in COMPILERS {
            let source = dir.file(&format!("check.{suffix}"), &text);
            run(self.compiler(cc).arg("-c").arg(source).arg("-o").arg(dir.0.join("check.o")));
        }
        assert_eq!(self.declared(&dir), names);
    }

    /// The names of the functions that the header declares, by the compiler's preprocessor.
    fn declared(&self, dir: &Scratch) -> BTreeSet<String> {
        let source = dir.file("all.c", "#include <mpi.h>\n");
        let text = run(self.compiler("cc").args(["-E", "-P"]).arg(source));
        let text = text.replace('\n', " ");
        let statements = text.split(';').map(str::trim).filter(|s| !s.contains("typedef") && s.contains('('));
        let name = |s: &str| s.split('(').next().unwrap().rsplit([' ', '*']).next().unwrap().to_owned();
        statements
            .map(name)
            .filter(|n| n.starts_with("MPI") || n.starts_with("PMPI"))
            .filter(|n| n != "MPIR_Dup_fn")
            .collect()
    }
}

#[test]
fn constants_sizes_and_offsets_of_the_standard_header() {
    STD.check_constants();
}

#[test]
fn constants_sizes_and_offsets_of_the_mpich_header() {
    MPICH.check_constants();
}

#[test]
fn prototypes_of_the_standard_header() {
    STD.check_prototypes();
}

#[test]
fn prototypes_of_the_mpich_header() {
    MPICH.check_prototypes();
}

#[test]
fn headers_compile_in_every_dialect() {
    let dir = Scratch::new("dialects");
    let text = "#include <mpi.h>\nint use(MPI_Comm comm);\nint use(MPI_Comm comm) { return MPI_Barrier(comm) == MPI_SUCCESS; }\n";
    for header in [STD, MPICH] {
        for (cc, suffix, dialect) in [
            ("cc", "c", "-std=c89"),
            ("cc", "c", "-std=c99"),
            ("cc", "c", "-std=c17"),
            ("g++", "cpp", "-std=c++98"),
            ("g++", "cpp", "-std=c++17"),
        ] {
            let source = dir.file(&format!("use.{suffix}"), text);
            run(header.compiler(cc).args([dialect, "-c"]).arg(source).arg("-o").arg(dir.0.join("use.o")));
        }
    }
}

/// A null for a parameter in the table's form: `const int dims[]` gives `(const int *)0`.
fn null_for(parameter: &str) -> String {
    let parameter = parameter.trim();
    let (declared, arrays) = parameter.split_at(parameter.find('[').unwrap_or(parameter.len()));
    let kind = declared.trim_end_matches(|c: char| c.is_alphanumeric() || c == '_').trim_end();
    match arrays.matches('[').count() {
        2 => format!("({kind} (*)[3])0"),
        1 => format!("({kind} *)0"),
        _ if kind.ends_with("_function") => format!("({kind} *)0"),
        _ => format!("({kind})0"),
    }
}

/// A program that calls every function of the header by both of its names, and names every variable.
fn program_of_everything(functions: &[std::collections::HashMap<String, String>]) -> String {
    let mut text = String::from("#include <mpi.h>\n#include <stddef.h>\nvoid *all[64];\nvoid everything(void)\n{\n");
    for f in functions.iter().filter(|f| f[MPICH.column] == "Y") {
        let parameters = f["c_params"].split(',').filter(|p| !["void", "...", ""].contains(&p.trim()));
        let arguments: Vec<String> = parameters.map(null_for).collect();
        for prefix in ["", "P"] {
            text += &format!("(void){prefix}{}({});\n", f["name"], arguments.join(", "));
        }
    }
    text += "all[0] = MPI_F_STATUS_IGNORE, all[1] = MPI_F_STATUSES_IGNORE, all[2] = MPI_F08_STATUS_IGNORE;\n\
             all[3] = MPI_F08_STATUSES_IGNORE, all[4] = MPI_UNWEIGHTED, all[5] = MPI_WEIGHTS_EMPTY;\n\
             all[6] = MPI_T_PVAR_ALL_HANDLES, all[7] = (void *)MPI_COMM_DUP_FN;\n}\n";
    text
}

/// Extensions aside, a program that was compiled with our header starts on every library of this ABI: MPICH's has all
/// of the header (`exports.rs` of abi-mpich: ours is the same), Intel's all except this test's list.
#[test]
fn a_program_built_with_the_mpich_header_asks_for_nothing_that_intel_mpi_lacks() {
    let functions = table("functions.tsv");
    let dir = Scratch::new("symbols");
    let (source, object) = (dir.file("all.c", &program_of_everything(&functions)), dir.0.join("all.o"));
    // Warnings are off: a compiler may warn of deprecated functions and null arguments.
    run(Command::new("cc").args(["-w", "-O0", "-c", "-I"]).arg(MPICH.dir()).arg(source).arg("-o").arg(&object));
    let undefined = run(Command::new("nm").arg("-u").arg(&object));
    let undefined: BTreeSet<&str> = undefined.split_whitespace().filter(|word| word.contains("MPI")).collect();
    assert!(undefined.len() > 1400, "the program was not understood: {} symbols", undefined.len());
    let lacks: BTreeSet<&str> = include_str!("intel_lacks.txt").lines().filter(|line| !line.starts_with('#')).collect();
    assert!(lacks.contains("MPI_Comm_c2f") && lacks.len() > 50, "the list was not understood");
    let lacked = |name: &&&str| lacks.contains(name.strip_prefix('P').unwrap_or(name)) || lacks.contains(**name);
    let missing: Vec<&&str> = undefined.iter().filter(lacked).filter(|name| !name.contains("MPIX_")).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// In an expression a conversion is no call, and its name alone is still the function's.
#[test]
fn handles_of_the_mpich_abi_are_converted_without_a_function() {
    let dir = Scratch::new("conversions");
    let text = "#include <mpi.h>\nint check[MPI_Type_f2c(MPI_Type_c2f(MPI_INT)) == MPI_INT ? 1 : -1];\n\
                MPI_Fint (*const function)(MPI_Comm) = MPI_Comm_c2f;\n\
                MPI_Comm other(MPI_Comm comm) { return MPI_Comm_f2c(PMPI_Comm_c2f(comm) + 1); }\n";
    for (cc, suffix) in COMPILERS {
        let (source, object) = (dir.file(&format!("use.{suffix}"), text), dir.0.join("use.o"));
        run(MPICH.compiler(cc).args(["-Wno-missing-declarations", "-c"]).arg(source).arg("-o").arg(&object));
        let undefined = run(Command::new("nm").arg("-u").arg(&object));
        assert_eq!(
            undefined.split_whitespace().filter(|word| word.contains("MPI")).collect::<Vec<_>>(),
            ["MPI_Comm_c2f"]
        );
    }
}

#[test]
fn a_program_can_ask_whose_header_it_is() {
    let dir = Scratch::new("identity");
    let text =
        "#include <mpi.h>\n#if HAWSER_NUMVERSION < 100 || MPI_VERSION != 5 || MPI_SUBVERSION != 0\n#error\n#endif\n";
    let mpich = format!(
        "{text}#if !defined MPICH_VERSION || MPICH_NUMVERSION < MPICH_CALC_VERSION(5, 0, 0, 0, 0)\n#error\n#endif\n"
    );
    run(STD.compiler("cc").args(["-fsyntax-only"]).arg(dir.file("std.c", text)));
    run(MPICH.compiler("cc").args(["-fsyntax-only"]).arg(dir.file("mpich.c", &mpich)));
}
