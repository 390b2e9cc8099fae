//! The file by which ranks without a launcher find each other: rank 0 makes it when it listens, and takes it away when
//! all have come. It names rank 0's socket, and nothing secret.
//!
//! A file that a killed job has left is known by the socket that it names, which the kernel has closed: rank 0 of the
//! next job takes its place. A file that is none of ours is never touched. Uses `wish`; used by `meeting`, `guest`.

use hawser_os::host;
use hawser_os::unix::Packets;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// The first line of every such file; the number is raised with every change.
const TITLE: &str = "hawser-rendezvous 1";
/// The time that a socket may take to answer: it has room for thousands that wait.
const ANSWER_MS: u64 = 1000;

/// The contents of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    pub host: String,
    /// The process that is rank 0.
    pub pid: i32,
    pub socket: String,
}

/// The file while it is there for this job; dropping this removes it.
pub struct Posted<'a> {
    file: &'a Path,
    notice: Notice,
}

impl Notice {
    fn text(&self) -> String {
        format!("{TITLE}\nhost={}\npid={}\nsocket={}\n", self.host, self.pid, self.socket)
    }

    fn parse(text: &str) -> Option<Notice> {
        let mut lines = text.lines();
        lines.next().filter(|title| *title == TITLE)?;
        let mut value = |name: &str| lines.next()?.strip_prefix(name)?.strip_prefix('=').map(str::to_owned);
        Some(Notice { host: value("host")?, pid: value("pid")?.parse().ok()?, socket: value("socket")? })
    }

    /// Reads `file`, if it is there.
    pub fn read(file: &Path) -> Result<Option<Notice>, String> {
        match fs::read(file) {
            Ok(bytes) => Notice::parse(&String::from_utf8_lossy(&bytes)).map(Some).ok_or_else(|| not_ours(file)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed(file, &error)),
        }
    }

    /// Connects to rank 0; an error if that is gone.
    pub fn connect(&self) -> io::Result<Packets> {
        Packets::connect_within(&self.socket, ANSWER_MS)
    }

    /// Removes the file, unless it is another job's by now.
    pub fn remove(&self, file: &Path) {
        if Notice::read(file).is_ok_and(|now| now.as_ref() == Some(self)) {
            let _ = fs::remove_file(file);
        }
    }

    /// Makes the file, whole from its first moment.
    pub fn post(self, file: &Path) -> Result<Posted<'_>, String> {
        let made = beside(file);
        fs::write(&made, self.text()).map_err(|error| failed(file, &error))?;
        let posted = self.put(file, &made);
        let _ = fs::remove_file(&made); // it is not there where it has taken the place of an old one
        posted.map(|()| Posted { file, notice: self })
    }

    fn put(&self, file: &Path, made: &Path) -> Result<(), String> {
        match fs::hard_link(made, file) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                if let Some(other) = Notice::read(file)?
                    && (other.host != self.host || other.connect().is_ok())
                {
                    return Err(in_use(file, &other));
                }
                fs::rename(made, file).map_err(|error| failed(file, &error))
            }
            result => result.map_err(|error| failed(file, &error)),
        }
    }
}

impl Drop for Posted<'_> {
    fn drop(&mut self) {
        self.notice.remove(self.file);
    }
}

/// A name for the file while it is written.
fn beside(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(format!(".{}", host::pid()));
    name.into()
}

#[cold]
fn failed(file: &Path, error: &io::Error) -> String {
    format!("HAWSER_RENDEZVOUS={}: {error}; name a file in a folder where this user may write", file.display())
}

#[cold]
fn not_ours(file: &Path) -> String {
    let file = file.display();
    format!("HAWSER_RENDEZVOUS={file} is a file that Hawser has not made; name one that is not there yet")
}

#[cold]
fn in_use(file: &Path, other: &Notice) -> String {
    let (file, pid, host) = (file.display(), other.pid, &other.host);
    format!(
        "HAWSER_RENDEZVOUS={file} was made by another rank 0 (process {pid} on host {host}); give each job a file of \
         its own, each rank another HAWSER_RANK, and remove the file if no job is being started"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use hawser_os::unix::Listener;

    fn notice(socket: &str) -> Notice {
        Notice { host: "a".into(), pid: 7, socket: socket.into() }
    }

    fn file(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("hawser-test-rendezvous-{name}-{}", host::pid()))
    }

    #[test]
    fn a_notice_is_there_whole_and_goes_with_its_meeting() {
        let file = file("whole");
        let posted = notice("hawser-test-nobody").post(&file).unwrap();
        assert_eq!(Notice::read(&file), Ok(Some(notice("hawser-test-nobody"))));
        assert!(!beside(&file).exists());
        drop(posted);
        assert_eq!(Notice::read(&file), Ok(None));
    }

    #[test]
    fn a_file_of_a_job_that_is_gone_gives_way_and_that_of_a_live_one_does_not() {
        let (file, socket) = (file("stale"), format!("hawser-test-live-{}", host::pid()));
        std::mem::forget(notice("hawser-test-nobody").post(&file).unwrap());
        let listener = Listener::bind(&socket).unwrap();
        let live = notice(&socket).post(&file).unwrap();
        let refused = notice("hawser-test-third").post(&file).err().unwrap();
        assert!(refused.contains("made by another rank 0 (process 7 on host a)"), "{refused}");
        assert_eq!(Notice::read(&file), Ok(Some(notice(&socket))));
        assert!(!beside(&file).exists());
        drop((live, listener));
        assert!(!file.exists());
    }

    #[test]
    fn a_file_of_somebody_elses_is_left_as_it_is() {
        let file = file("other");
        fs::write(&file, "a letter").unwrap();
        let refused = notice("hawser-test-nobody").post(&file).err().unwrap();
        assert!(refused.contains("that Hawser has not made"), "{refused}");
        notice("hawser-test-nobody").remove(&file);
        assert_eq!(fs::read_to_string(&file).unwrap(), "a letter");
        fs::remove_file(&file).unwrap();
    }
}
