//! Parses the names of hosts as users give them, in lists and files, with the number of ranks that each host takes.
//!
//! Names stay as they are written, for a remote shell; nothing here resolves one. Nothing is started but a host file
//! that is a program. Used by `launch`, which places ranks on them, and by `bench`, which examines them.

use std::path::Path;
use std::process::{Command, Stdio};

/// The variables by which resource managers name the hosts of an allocation (`launch::allocation`).
pub const ALLOCATION_VARIABLES: [&str; 8] = [
    "FLUX_URI",
    "SLURM_JOB_NODELIST",
    "SLURM_NODELIST",
    "SLURM_HET_SIZE",
    "PBS_NODEFILE",
    "LSB_DJOB_HOSTFILE",
    "LSB_MCPU_HOSTS",
    "PE_HOSTFILE",
];

/// A host as the user has written it. `slots` is the number of ranks that it takes before the next host's turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostEntry {
    pub name: String,
    pub slots: u32,
    /// The maximum number of ranks that the host takes in all (Open MPI's max_slots).
    pub max: u32,
}

impl HostEntry {
    /// Parses `name`, `name:2`, an IPv6 address or `[address]:2`. The error is one line for the user.
    fn parse(text: &str) -> Result<HostEntry, String> {
        let (name, slots) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((address, "")) => (address, None),
            Some((address, rest)) => (address, Some(rest.strip_prefix(':').unwrap_or(rest))),
            // A text with more than one colon is an IPv6 address.
            None => text
                .split_once(':')
                .filter(|(_, rest)| !rest.contains(':'))
                .map_or((text, None), |(name, slots)| (name, Some(slots))),
        };
        let slots = slots.map_or(Ok(1), |slots| number(slots, text))?;
        // A name with a dash in front would be an option of the remote shell.
        let is_name = |c: char| c.is_ascii_alphanumeric() || "-._:@%".contains(c) || !c.is_ascii();
        if name.is_empty() || name.starts_with('-') || !name.chars().all(is_name) {
            return Err(format!("{text:?} is not a valid host; write HOST or HOST:RANKS"));
        }
        Ok(HostEntry { name: name.into(), slots, max: u32::MAX })
    }
}

fn number(digits: &str, whole: &str) -> Result<u32, String> {
    let number = digits.parse::<u32>().ok().filter(|&number| number > 0);
    number.ok_or_else(|| format!("{whole}: {digits:?} is not a number of ranks"))
}

/// Parses a list of hosts like `a,b:2,c`.
pub fn list(text: &str) -> Result<Vec<HostEntry>, String> {
    text.split(',').map(|entry| HostEntry::parse(entry.trim())).collect()
}

/// Reads a file with one host in each line: MPICH's `host:2` or Open MPI's `host slots=2 max_slots=4`, with comments
/// behind #. A file that begins with `#!` is a program that prints such lines, as the MPI Operator's
/// `discover_hosts.sh` is. The error is one line for the user.
pub fn read(file: &Path) -> Result<Vec<HostEntry>, String> {
    let at = |number: usize, why: String| format!("line {} of the host file {}: {why}", number + 1, file.display());
    let text = std::fs::read_to_string(file)
        .map_err(|error| format!("the host file {} cannot be read: {error}", file.display()))?;
    let text = if text.starts_with("#!") { output_of(file)? } else { text };
    let lines = text.lines().enumerate().filter_map(|(number, text)| Some((number, line(text)?)));
    let hosts = lines.map(|(number, entry)| entry.map_err(|why| at(number, why))).collect::<Result<Vec<_>, _>>()?;
    match hosts.is_empty() {
        true => Err(format!("the host file {} names no host", file.display())),
        false => Ok(hosts),
    }
}

/// The output of a host file that is a program. The program's own errors appear where mpiexec's do.
fn output_of(program: &Path) -> Result<String, String> {
    let error = |reason: String| format!("the host file {} is a program, and {reason}", program.display());
    // A name without a folder would be searched for in PATH.
    let path = program.canonicalize().map_err(|reason| error(format!("is gone: {reason}")))?;
    let output = Command::new(path).stdin(Stdio::null()).stderr(Stdio::inherit()).output();
    let output = output.map_err(|reason| error(format!("cannot be run: {reason}; make it executable")))?;
    match output.status.success() {
        true => String::from_utf8(output.stdout).map_err(|_| error("prints what is no text".into())),
        false => Err(error(format!("fails ({})", output.status))),
    }
}

/// The entry of a line; None if the line is empty or a comment.
fn line(text: &str) -> Option<Result<HostEntry, String>> {
    let mut words = text.split('#').next()?.split_whitespace();
    let mut entry = HostEntry::parse(words.next()?);
    for word in words {
        entry = entry.and_then(|entry| match word.split_once('=') {
            Some(("slots", slots)) => Ok(HostEntry { slots: number(slots, word)?, ..entry }),
            Some(("max_slots" | "max-slots", max)) => Ok(HostEntry { max: number(max, word)?, ..entry }),
            _ => Err(format!("{word:?} is not a known setting of a host; slots=N and max_slots=N are")),
        });
    }
    Some(entry.map(|entry| HostEntry { slots: entry.slots.min(entry.max), ..entry }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hawser_os::host;
    use std::os::unix::fs::PermissionsExt;

    fn entry(name: &str, slots: u32) -> HostEntry {
        HostEntry { name: name.into(), slots, max: u32::MAX }
    }

    #[test]
    fn hosts_are_named_with_and_without_slots() {
        let named = [entry("a", 1), entry("b", 2), entry("me@c.d", 1)];
        assert_eq!(list("a, b:2,me@c.d").unwrap(), named);
        let addresses = [entry("fd77::1", 1), entry("fd77::2", 3), entry("10.0.0.1", 4)];
        assert_eq!(list("fd77::1,[fd77::2]:3,10.0.0.1:4").unwrap(), addresses);
        for wrong in ["", "a,", "a:", "a:0", "a:x", "a:*", "-oProxyCommand=x", "a b", "a;b", "$(a)", "[a]x"] {
            assert!(list(wrong).is_err_and(|why| !why.contains('\n')), "{wrong}");
        }
    }

    #[test]
    fn files_of_both_launchers_are_read() {
        let file = std::env::temp_dir().join(format!("hawser-host-file-{}", host::pid()));
        let read = |text: &str| {
            std::fs::write(&file, text).unwrap();
            super::read(&file)
        };
        let hosts =
            read("# two kinds\na:2\n\n b slots=3 max_slots=4 # as Open MPI has it\nc slots=9 max-slots=2\n").unwrap();
        assert_eq!(
            hosts,
            [entry("a", 2), HostEntry { max: 4, ..entry("b", 3) }, HostEntry { max: 2, ..entry("c", 2) }]
        );
        assert!(read("a\nb moon=1\n").is_err_and(|why| why.starts_with("line 2 of") && why.contains("moon=1")));
        assert!(read("a slots=many\n").is_err_and(|why| why.contains("many")));
        assert!(read("# nobody\n").is_err_and(|why| why.contains("names no host")));
        // A host file that is a program must be executable, and succeed.
        let script = "#!/bin/sh\necho a\necho b slots=3\n";
        assert!(read(script).is_err_and(|why| why.contains("cannot be run") && why.contains("make it executable")));
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o700)).unwrap();
        assert_eq!(read(script).unwrap(), [entry("a", 1), entry("b", 3)]);
        assert!(read("#!/bin/sh\necho a\nexit 3\n").is_err_and(|why| why.contains("fails (exit status: 3)")));
        assert!(read("#!/bin/sh\n").is_err_and(|why| why.contains("names no host")));
        std::fs::remove_file(&file).unwrap();
        assert!(super::read(&file).is_err_and(|why| why.contains("cannot be read")));
    }
}
