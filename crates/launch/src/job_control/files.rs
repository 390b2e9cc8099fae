//! The files that get the ranks' output instead of mpiexec's own output, or in addition to it; patterns give their
//! names.
//!
//! All files are made before a program starts, so that a missing or forbidden folder is reported before anything
//! runs. Each piece of output is appended to its file at once. No file is kept open, however many ranks there are,
//! except FIFOs: their readers would take closing for the end of the output. If a file does not take some output (a
//! full disk), that output and all later output for the file go to mpiexec's own output, so that nothing is lost.
//! Used by `job_control`, which passes whole lines (`output`); writes to the file system.

use crate::frames::{HostJob, OutputStream};
use crate::pattern::{OutputOptions, RankLocation};
use hawser_os::filesystem::O_NONBLOCK;
use hawser_os::host;
use hawser_os::pipe::wait_writable;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The location of each rank of the job, in rank order.
pub fn rank_locations(jobs: &[HostJob]) -> Vec<RankLocation> {
    let of_job = |(number, job): (usize, &HostJob)| {
        let host = if job.host.is_empty() { host::name() } else { job.host.clone() };
        let location = move |&(rank, _): &(u32, u32)| RankLocation {
            rank,
            size: job.size,
            proxy: number as u32,
            host: host.clone(),
        };
        job.ranks.iter().map(location).collect::<Vec<_>>()
    };
    let mut locations: Vec<RankLocation> = jobs.iter().enumerate().flat_map(of_job).collect();
    locations.sort_by_key(|location| location.rank);
    locations
}

#[derive(Default)]
pub struct OutputFiles {
    /// The two files of each rank; None for mpiexec's own output.
    names: Vec<[Option<PathBuf>; 2]>,
    copies: bool,
    /// The FIFOs, which stay open.
    fifos: BTreeMap<PathBuf, File>,
    /// The files that could not be written.
    failed: BTreeSet<PathBuf>,
}

/// The outcome of writing a piece of output.
pub struct WriteResult {
    /// The bytes that must go to mpiexec's own output.
    pub rest: Vec<u8>,
    /// The message that the file takes no more output, and why; None if there is no failure or it was reported
    /// before.
    pub failure: Option<String>,
}

impl OutputFiles {
    /// Makes all files, and empties those that exist already.
    pub fn make(outputs: &OutputOptions, locations: &[RankLocation]) -> io::Result<OutputFiles> {
        let names: Vec<_> = locations.iter().map(|location| outputs.files(location)).collect();
        let all: BTreeSet<&PathBuf> = names.iter().flatten().flatten().collect();
        let mut fifos = BTreeMap::new();
        for name in all {
            if outputs.makes_folders {
                name.parent().map_or(Ok(()), fs::create_dir_all).map_err(|error| creation_error(name, &error))?;
            }
            let file = nonblocking_options().truncate(true).open(name).map_err(|error| creation_error(name, &error))?;
            if file.metadata().is_ok_and(|kind| kind.file_type().is_fifo()) {
                fifos.insert(name.clone(), file);
            }
        }
        Ok(OutputFiles { names, copies: outputs.copies, fifos, failed: BTreeSet::new() })
    }

    /// Whether the output `stream` of `rank` goes to a file.
    pub fn has_file(&self, rank: u32, stream: OutputStream) -> bool {
        self.name(rank, stream).is_some()
    }

    fn name(&self, rank: u32, stream: OutputStream) -> Option<&PathBuf> {
        self.names.get(rank as usize)?[stream as usize].as_ref()
    }

    /// Whether some file could not be written.
    pub fn has_failed(&self) -> bool {
        !self.failed.is_empty()
    }

    /// Appends `bytes` to the rank's file. Returns the bytes that go to mpiexec's own output.
    pub fn write(&mut self, rank: u32, stream: OutputStream, bytes: Vec<u8>) -> WriteResult {
        let Some(name) = self.name(rank, stream).filter(|name| !self.failed.contains(*name)).cloned() else {
            return WriteResult { rest: bytes, failure: None };
        };
        let appended = match self.fifos.get(&name) {
            Some(fifo) => append(fifo, &bytes),
            None => match nonblocking_options().append(true).open(&name) {
                Ok(file) => append(&file, &bytes),
                Err(error) => Err((0, error)),
            },
        };
        match appended {
            Ok(()) => WriteResult { rest: if self.copies { bytes } else { Vec::new() }, failure: None },
            Err((written_bytes, error)) => {
                let text = format!(
                    "the ranks' output cannot be written to {}: {error}; from now on it goes to mpiexec's own output; \
                     free some space or name another file",
                    name.display()
                );
                self.fifos.remove(&name);
                self.failed.insert(name);
                let rest = if self.copies { bytes } else { bytes[written_bytes..].to_vec() };
                WriteResult { rest, failure: Some(text) }
            }
        }
    }
}

/// The limit, in milliseconds, on the wait for a FIFO's reader to make room. mpiexec handles no events meanwhile, and
/// passes on no signal.
const FIFO_WAIT_MS: i32 = 5_000;

/// Options for opening a file to write without blocking. The file may be a FIFO: mpiexec does not wait until a
/// process opens it to read, and waits for room in it no longer than FIFO_WAIT_MS.
fn nonblocking_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create(true).custom_flags(O_NONBLOCK);
    options
}

/// Appends all bytes; the error carries how many were appended.
fn append(mut file: &File, bytes: &[u8]) -> Result<(), (usize, io::Error)> {
    let mut written = 0;
    while written < bytes.len() {
        match file.write(&bytes[written..]) {
            Ok(0) => return Err((written, io::ErrorKind::WriteZero.into())),
            Ok(len) => written += len,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                match wait_writable(file.as_fd(), FIFO_WAIT_MS) {
                    Ok(true) => {}
                    Ok(false) => return Err((written, reader_stalled_error())),
                    Err(error) => return Err((written, error)),
                }
            }
            Err(error) => return Err((written, error)),
        }
    }
    Ok(())
}

#[cold]
fn reader_stalled_error() -> io::Error {
    io::Error::other(format!("its reader has read nothing for {} s", FIFO_WAIT_MS / 1_000))
}

#[cold]
fn creation_error(name: &Path, error: &io::Error) -> io::Error {
    if name.metadata().is_ok_and(|kind| kind.file_type().is_fifo()) {
        let text = format!(
            "no process reads {}, a FIFO for the ranks' output: {error}; start its reader first",
            name.display()
        );
        return io::Error::other(text);
    }
    let folder = name.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let text = format!(
        "the file {} for the ranks' output cannot be created: {error}; check its folder {}",
        name.display(),
        folder.display()
    );
    io::Error::other(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pattern::OutputPattern;

    fn output_options(out: &str) -> OutputOptions {
        OutputOptions {
            out: Some(OutputPattern::parse("-outfile-pattern", out.as_ref()).unwrap()),
            ..OutputOptions::default()
        }
    }

    fn location() -> RankLocation {
        RankLocation { rank: 0, size: 1, proxy: 0, host: "h".into() }
    }

    #[test]
    fn output_is_appended_to_a_file_that_is_new() {
        let name = std::env::temp_dir().join(format!("hawser-files-{}", host::pid()));
        fs::write(&name, "old").unwrap();
        let mut files = OutputFiles::make(&output_options(name.to_str().unwrap()), &[location()]).unwrap();
        assert!(
            files.has_file(0, OutputStream::Out)
                && !files.has_file(0, OutputStream::Err)
                && !files.has_file(1, OutputStream::Out)
        );
        for part in ["a\n", "b\n"] {
            let written = files.write(0, OutputStream::Out, part.into());
            assert!(written.rest.is_empty() && written.failure.is_none());
        }
        assert_eq!(fs::read(&name).unwrap(), b"a\nb\n");
        fs::remove_file(name).unwrap();
    }

    #[test]
    fn what_a_full_disk_does_not_take_comes_back_and_is_told_once() {
        let mut files = OutputFiles::make(&output_options("/dev/full"), &[location()]).unwrap();
        let written = files.write(0, OutputStream::Out, b"a\n".to_vec());
        assert_eq!(written.rest, b"a\n");
        assert!(written.failure.unwrap().contains("/dev/full: No space left on device"));
        let written = files.write(0, OutputStream::Out, b"b\n".to_vec());
        assert!(written.rest == b"b\n" && written.failure.is_none() && files.has_failed());
    }

    #[test]
    fn a_missing_folder_is_told_before_anything_starts() {
        let error = OutputFiles::make(&output_options("/no/such/folder/x"), &[location()]).err().unwrap().to_string();
        assert!(error.contains("/no/such/folder/x") && error.contains("check its folder"), "{error}");
    }
}
