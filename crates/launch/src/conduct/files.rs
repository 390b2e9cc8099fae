//! The files that get the ranks' output instead of mpiexec's own output, or beside it; patterns give their names.
//!
//! All files are made before a program starts, so that a folder that is missing or forbidden ends the job then. Each
//! piece of output is appended to its file at once: no file is held open, however many ranks there are, except FIFOs,
//! whose readers would take closing for the end. Output that a file does not take (a full disk) goes to mpiexec's own
//! output, and so does all later output for this file: nothing is lost. Used by `output`, which cuts whole lines;
//! writes to the file system.

use crate::frames::{HostJob, Stream};
use crate::pattern::{Outputs, Place};
use hawser_os::filesystem::O_NONBLOCK;
use hawser_os::host;
use hawser_os::pipe::wait_for_room;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The place of each rank of the job, in rank order.
pub fn places(jobs: &[HostJob]) -> Vec<Place> {
    let of_job = |(number, job): (usize, &HostJob)| {
        let host = if job.host.is_empty() { host::name() } else { job.host.clone() };
        let place =
            move |&(rank, _): &(u32, u32)| Place { rank, size: job.size, proxy: number as u32, host: host.clone() };
        job.ranks.iter().map(place).collect::<Vec<_>>()
    };
    let mut places: Vec<Place> = jobs.iter().enumerate().flat_map(of_job).collect();
    places.sort_by_key(|place| place.rank);
    places
}

#[derive(Default)]
pub struct Files {
    /// The two files of each rank; None for mpiexec's own output.
    names: Vec<[Option<PathBuf>; 2]>,
    copies: bool,
    /// The FIFOs, which stay open.
    fifos: BTreeMap<PathBuf, File>,
    /// The files that could not be written.
    broken: BTreeSet<PathBuf>,
}

/// The outcome of writing a piece of output.
pub struct Written {
    /// The bytes that must go to mpiexec's own output.
    pub rest: Vec<u8>,
    /// The file that takes no more, and why; reported once for each file.
    pub trouble: Option<String>,
}

impl Files {
    /// Makes all files, empty.
    pub fn make(outputs: &Outputs, places: &[Place]) -> io::Result<Files> {
        let names: Vec<_> = places.iter().map(|place| outputs.files(place)).collect();
        let all: BTreeSet<&PathBuf> = names.iter().flatten().flatten().collect();
        let mut fifos = BTreeMap::new();
        for name in all {
            if outputs.makes_folders {
                name.parent().map_or(Ok(()), fs::create_dir_all).map_err(|error| unmade(name, &error))?;
            }
            let file = without_waiting().truncate(true).open(name).map_err(|error| unmade(name, &error))?;
            if file.metadata().is_ok_and(|kind| kind.file_type().is_fifo()) {
                fifos.insert(name.clone(), file);
            }
        }
        Ok(Files { names, copies: outputs.copies, fifos, broken: BTreeSet::new() })
    }

    /// Whether output of `rank` has a file of its own.
    pub fn is_for(&self, rank: u32, stream: Stream) -> bool {
        self.name(rank, stream).is_some()
    }

    fn name(&self, rank: u32, stream: Stream) -> Option<&PathBuf> {
        self.names.get(rank as usize)?[stream as usize].as_ref()
    }

    /// Whether some file could not be written.
    pub fn has_broken(&self) -> bool {
        !self.broken.is_empty()
    }

    /// Appends to the rank's file.
    pub fn write(&mut self, rank: u32, stream: Stream, bytes: Vec<u8>) -> Written {
        let Some(name) = self.name(rank, stream).filter(|name| !self.broken.contains(*name)).cloned() else {
            return Written { rest: bytes, trouble: None };
        };
        let appended = match self.fifos.get(&name) {
            Some(fifo) => append(fifo, &bytes),
            None => match without_waiting().append(true).open(&name) {
                Ok(file) => append(&file, &bytes),
                Err(error) => Err((0, error)),
            },
        };
        match appended {
            Ok(()) => Written { rest: if self.copies { bytes } else { Vec::new() }, trouble: None },
            Err((done, error)) => {
                let text = format!(
                    "the ranks' output cannot be written to {}: {error}; it goes to mpiexec's own output from here on; make \
                     room for it or name another file",
                    name.display()
                );
                self.fifos.remove(&name);
                self.broken.insert(name);
                let rest = if self.copies { bytes } else { bytes[done..].to_vec() };
                Written { rest, trouble: Some(text) }
            }
        }
    }
}

/// The limit, in milliseconds, on the wait for a FIFO's reader to make room. mpiexec handles no events meanwhile, and
/// passes on no signal.
const ROOM_MS: i32 = 5_000;

/// Options for opening without blocking. A file may be a FIFO: mpiexec does not wait for its reader, and for room in it
/// no longer than ROOM_MS.
fn without_waiting() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create(true).custom_flags(O_NONBLOCK);
    options
}

/// Appends all bytes; the error carries how many were appended.
fn append(mut file: &File, bytes: &[u8]) -> Result<(), (usize, io::Error)> {
    let mut done = 0;
    while done < bytes.len() {
        match file.write(&bytes[done..]) {
            Ok(0) => return Err((done, io::ErrorKind::WriteZero.into())),
            Ok(len) => done += len,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => match wait_for_room(file.as_fd(), ROOM_MS) {
                Ok(true) => {}
                Ok(false) => return Err((done, unread())),
                Err(error) => return Err((done, error)),
            },
            Err(error) => return Err((done, error)),
        }
    }
    Ok(())
}

#[cold]
fn unread() -> io::Error {
    io::Error::other(format!("its reader has taken nothing for {} s", ROOM_MS / 1_000))
}

#[cold]
fn unmade(name: &Path, error: &io::Error) -> io::Error {
    if name.metadata().is_ok_and(|kind| kind.file_type().is_fifo()) {
        let text = format!(
            "nobody reads {}, a FIFO, which is to take the ranks' output: {error}; start its reader first",
            name.display()
        );
        return io::Error::other(text);
    }
    let folder = name.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let text = format!(
        "the file {} for the ranks' output cannot be made: {error}; see to its folder {}",
        name.display(),
        folder.display()
    );
    io::Error::other(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pattern::Pattern;

    fn outputs(out: &str) -> Outputs {
        Outputs { out: Some(Pattern::parse("-outfile-pattern", out.as_ref()).unwrap()), ..Outputs::default() }
    }

    fn place() -> Place {
        Place { rank: 0, size: 1, proxy: 0, host: "h".into() }
    }

    #[test]
    fn output_is_appended_to_a_file_that_is_new() {
        let name = std::env::temp_dir().join(format!("hawser-files-{}", host::pid()));
        fs::write(&name, "old").unwrap();
        let mut files = Files::make(&outputs(name.to_str().unwrap()), &[place()]).unwrap();
        assert!(files.is_for(0, Stream::Out) && !files.is_for(0, Stream::Err) && !files.is_for(1, Stream::Out));
        for part in ["a\n", "b\n"] {
            let written = files.write(0, Stream::Out, part.into());
            assert!(written.rest.is_empty() && written.trouble.is_none());
        }
        assert_eq!(fs::read(&name).unwrap(), b"a\nb\n");
        fs::remove_file(name).unwrap();
    }

    #[test]
    fn what_a_full_disk_does_not_take_comes_back_and_is_told_once() {
        let mut files = Files::make(&outputs("/dev/full"), &[place()]).unwrap();
        let written = files.write(0, Stream::Out, b"a\n".to_vec());
        assert_eq!(written.rest, b"a\n");
        assert!(written.trouble.unwrap().contains("/dev/full: No space left on device"));
        let written = files.write(0, Stream::Out, b"b\n".to_vec());
        assert!(written.rest == b"b\n" && written.trouble.is_none() && files.has_broken());
    }

    #[test]
    fn a_missing_folder_is_told_before_anything_starts() {
        let error = Files::make(&outputs("/no/such/folder/x"), &[place()]).err().unwrap().to_string();
        assert!(error.contains("/no/such/folder/x") && error.contains("see to its folder"), "{error}");
    }
}
