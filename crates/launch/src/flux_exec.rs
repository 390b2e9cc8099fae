//! Flux's `flux exec` as the remote shell: starts an agent by the broker of its host.
//!
//! `flux exec` passes on standard input as it is, but no output with zero bytes, it keeps what goes to its standard
//! output until there is much of it, and a broker keeps what goes to standard error until a line ends. So an agent's
//! output is encoded as lines on the host of the agent (`encode`), goes through standard error, and is decoded by a
//! process that mpiexec starts in the place of `flux exec` (`main`). The agent's messages for the user go through
//! standard output. Used by `hosts`, where Flux is the launcher, and by `bin/mpiexec`.

use crate::failure::{EXIT_FAILURE, EXIT_SIGNAL};
use hawser_os::spawn::{self, SpawnOptions};
use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

/// The subcommand by which mpiexec starts the process that starts `flux exec` and decodes the lines.
pub const SUBCOMMAND: &str = "__flux";
/// The subcommand by which a shell on the other host starts the process that encodes an agent's output.
pub const ENCODER: &str = "__lines";

/// The first words behind `flux`. The folder in which mpiexec runs may be missing on the other host.
pub const OPTIONS: [&str; 3] = ["exec", "--quiet", "--dir=/"];

/// The bytes that are encoded at once, as one line: a broker keeps up to 4 MiB of a line.
const LINE_BYTES: usize = 32 << 10;
/// The first byte of a line that is encoded. Other lines are those of `flux exec`, for the user.
const FIRST: u8 = 0x02;
/// The byte before one that cannot be sent as it is, which then has `MOVED` added.
const ESCAPE: u8 = 0x1b;
const MOVED: u8 = 0x40;
/// The bytes that cannot be sent as they are.
const ESCAPED: [u8; 3] = [0, b'\n', ESCAPE];

/// The words that precede the command for the host with the broker `rank`, behind all options.
pub fn last_words(rank: &str) -> [String; 3] {
    [format!("--rank={rank}"), "/bin/sh".into(), "-c".into()]
}

/// A command of sh that runs `agent`, sends its output encoded by `encoder`, and ends with its code.
pub fn through_lines(agent: &str, encoder: &str) -> String {
    format!("exec 5>&2 2>&1; exit $({{ {{ {agent} 4>&- 5>&-; echo $? >&4; }} | {encoder} >&5 4>&- 5>&-; }} 4>&1)")
}

/// Encodes standard input on standard output to its end. Returns the exit code.
pub fn encode() -> i32 {
    let (input, output) = (io::stdin(), io::stdout());
    let files = input.as_fd().try_clone_to_owned().and_then(|input| Ok((input, output.as_fd().try_clone_to_owned()?)));
    let files = files.map(|(input, output)| (std::fs::File::from(input), std::fs::File::from(output)));
    match files.and_then(|(input, output)| encode_all(input, output)) {
        Ok(()) => 0,
        // The other side is gone, and the agent notices that too.
        Err(_) => EXIT_FAILURE,
    }
}

fn encode_all(mut input: impl Read, mut output: impl Write) -> io::Result<()> {
    let mut bytes = vec![0; LINE_BYTES];
    loop {
        match input.read(&mut bytes) {
            Ok(0) => return Ok(()),
            Ok(len) => output.write_all(&line(&bytes[..len]))?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// The line, with its end, for `bytes`.
fn line(bytes: &[u8]) -> Vec<u8> {
    let mut line = vec![FIRST];
    for &byte in bytes {
        if ESCAPED.contains(&byte) {
            line.extend([ESCAPE, byte + MOVED]);
        } else {
            line.push(byte);
        }
    }
    line.push(b'\n');
    line
}

/// The bytes of a line, or None if it is not encoded.
fn bytes(line: &[u8]) -> Option<Vec<u8>> {
    let mut encoded = line.strip_prefix(&[FIRST])?.strip_suffix(b"\n")?.iter();
    let mut bytes = Vec::with_capacity(encoded.len());
    while let Some(&byte) = encoded.next() {
        bytes.push(if byte == ESCAPE { encoded.next()?.checked_sub(MOVED)? } else { byte });
    }
    Some(bytes)
}

/// Runs `flux exec`, of which `words` is the command line. The standard input is passed on, the lines of an agent are
/// decoded to standard output, and all else that is printed goes to standard error. Returns the exit code of
/// `flux exec`.
pub fn main(words: &[OsString]) -> i32 {
    match run(words) {
        Ok(code) => code,
        Err(error) => {
            // mpiexec, which reads this, may be gone.
            let _ = writeln!(io::stderr(), "{error}");
            EXIT_FAILURE
        }
    }
}

fn run(words: &[OsString]) -> io::Result<i32> {
    let Some((program, rest)) = words.split_first() else { return Err(io::ErrorKind::InvalidInput.into()) };
    let mut command = Command::new(program);
    command.args(rest).stdout(Stdio::from(io::stderr().as_fd().try_clone_to_owned()?)).stderr(Stdio::piped());
    let options = SpawnOptions { die_with_parent: true, ..SpawnOptions::default() };
    let mut child = spawn::spawn(&mut command, options).map_err(|error| {
        io::Error::other(format!(
            "{} cannot be started: {error}; install it, or name another launcher (-launcher ssh)",
            program.display()
        ))
    })?;
    let output = std::fs::File::from(io::stdout().as_fd().try_clone_to_owned()?);
    if let Some(lines) = child.stderr.take()
        && decode(BufReader::new(lines), output, io::stderr()).is_err()
    {
        // mpiexec takes no more, so the agent shall end.
        let _ = child.kill();
    }
    let status = child.wait()?;
    Ok(status.code().unwrap_or_else(|| EXIT_SIGNAL + status.signal().unwrap_or(0)))
}

fn decode(mut lines: impl BufRead, mut output: impl Write, mut others: impl Write) -> io::Result<()> {
    let mut line = Vec::new();
    while lines.read_until(b'\n', &mut line)? > 0 {
        match bytes(&line) {
            Some(bytes) => output.write_all(&bytes)?,
            // The rest of a line that was cut off is nothing for the user.
            None if line.first() == Some(&FIRST) => {}
            None => others.write_all(&line)?,
        }
        line.clear();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_every_value_pass_as_lines_and_other_lines_beside_them() {
        let all: Vec<u8> = (0..200_000u32).flat_map(|i| [(i % 256) as u8, (i / 256) as u8]).collect();
        let mut lines = Vec::new();
        encode_all(all.as_slice(), &mut lines).unwrap();
        assert!(!lines.contains(&0) && lines.split_inclusive(|&byte| byte == b'\n').all(|line| line[0] == FIRST));
        lines.splice(0..0, *b"Welcome\n");
        lines.extend(b"\x02cut off\x1b\n");
        lines.extend(b"\n1: Exit 7");
        let (mut output, mut others) = (Vec::new(), Vec::new());
        decode(lines.as_slice(), &mut output, &mut others).unwrap();
        assert!(output == all);
        assert_eq!(others, b"Welcome\n\n1: Exit 7");
        for wrong in [&b"\x02a"[..], b"\x02\x1b\n", b"\x02\x1b \n", b""] {
            assert_eq!(bytes(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn an_agents_output_and_its_messages_are_apart_and_its_code_is_kept() {
        let command = through_lines("sh -c 'cat; echo note >&2; exit 7'", "tr a-z A-Z");
        let mut command_of_sh = Command::new("sh");
        command_of_sh.args(["-c", &command]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command_of_sh.spawn().unwrap();
        child.stdin.take().unwrap().write_all(b"said\n").unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(7));
        assert_eq!((output.stdout.as_slice(), output.stderr.as_slice()), (&b"note\n"[..], &b"SAID\n"[..]));
    }
}
