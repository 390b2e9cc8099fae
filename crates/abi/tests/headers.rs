//! Both mpi.h against the tables: every constant, size and offset as the C and the C++ compiler see it, every
//! prototype, nothing beyond.

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

    /// C expressions and what the table says of them.
    fn expressions(&self) -> Option<Vec<(String, i64)>> {
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
        Some(table(self.constants)?.iter().filter_map(wanted).collect())
    }

    fn check_constants(&self) {
        let Some(expressions) = self.expressions() else { return };
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
        let Some(functions) = table("functions.tsv") else { return };
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
