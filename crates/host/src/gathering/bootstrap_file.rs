//! The file by which ranks without a launcher find each other: rank 0 makes it when it listens, and removes it when
//! all have joined. It names rank 0's socket, and nothing secret.
//!
//! A file that a killed job has left is recognised by the socket that it names, because the kernel has closed that
//! socket: rank 0 of the next job replaces the file. A file that Hawser has not made is never touched. Used by
//! `server` and `client`.

use hawser_os::host;
use hawser_os::unix::SeqpacketSocket;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// The first line of every such file; its number is raised with every change of the file's format.
const TITLE: &str = "hawser-rendezvous 1";
/// The maximum time, in ms, that connecting may take. It is short because the socket has space for thousands of
/// connections that wait.
const CONNECT_TIMEOUT_MS: u64 = 1000;

/// The contents of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BootstrapFileContent {
    pub host: String,
    /// The process that is rank 0.
    pub pid: i32,
    pub socket: String,
}

/// The file of this job; dropping this value removes the file.
pub struct BootstrapFile<'a> {
    file: &'a Path,
    content: BootstrapFileContent,
}

impl BootstrapFileContent {
    fn text(&self) -> String {
        format!("{TITLE}\nhost={}\npid={}\nsocket={}\n", self.host, self.pid, self.socket)
    }

    fn parse(text: &str) -> Option<BootstrapFileContent> {
        let mut lines = text.lines();
        lines.next().filter(|title| *title == TITLE)?;
        let mut value = |name: &str| lines.next()?.strip_prefix(name)?.strip_prefix('=').map(str::to_owned);
        Some(BootstrapFileContent { host: value("host")?, pid: value("pid")?.parse().ok()?, socket: value("socket")? })
    }

    /// Reads `file`, if it is there.
    pub fn read(file: &Path) -> Result<Option<BootstrapFileContent>, String> {
        match fs::read(file) {
            Ok(bytes) => {
                BootstrapFileContent::parse(&String::from_utf8_lossy(&bytes)).map(Some).ok_or_else(|| not_ours(file))
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed(file, &error)),
        }
    }

    /// Connects to rank 0; it is an error if rank 0 is gone.
    pub fn connect(&self) -> io::Result<SeqpacketSocket> {
        SeqpacketSocket::connect_timeout(&self.socket, CONNECT_TIMEOUT_MS)
    }

    /// Removes the file, if it still has these contents: otherwise it is another job's by now.
    pub fn remove(&self, file: &Path) {
        if BootstrapFileContent::read(file).is_ok_and(|now| now.as_ref() == Some(self)) {
            let _ = fs::remove_file(file);
        }
    }

    /// Makes the file, which appears under its name only with all its contents. An old file that a job on this host
    /// has left is replaced.
    pub fn create(self, file: &Path) -> Result<BootstrapFile<'_>, String> {
        let made = temporary_path(file);
        fs::write(&made, self.text()).map_err(|error| failed(file, &error))?;
        let posted = self.write_new(file, &made);
        let _ = fs::remove_file(&made); // it is not there if it was renamed over an old one
        posted.map(|()| BootstrapFile { file, content: self })
    }

    fn write_new(&self, file: &Path, made: &Path) -> Result<(), String> {
        match fs::hard_link(made, file) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                if let Some(other) = BootstrapFileContent::read(file)?
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

impl Drop for BootstrapFile<'_> {
    fn drop(&mut self) {
        self.content.remove(self.file);
    }
}

/// Returns a name for the file before it is whole.
fn temporary_path(file: &Path) -> PathBuf {
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
    format!("HAWSER_RENDEZVOUS={file} is a file that Hawser has not made; name one that does not exist yet")
}

#[cold]
fn in_use(file: &Path, other: &BootstrapFileContent) -> String {
    let (file, pid, host) = (file.display(), other.pid, &other.host);
    format!(
        "HAWSER_RENDEZVOUS={file} was made by another rank 0 (process {pid} on host {host}); give each job its own \
         file and each rank a different HAWSER_RANK, and remove the file if no job is being started"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use hawser_os::unix::SeqpacketListener;

    fn content(socket: &str) -> BootstrapFileContent {
        BootstrapFileContent { host: "a".into(), pid: 7, socket: socket.into() }
    }

    fn file(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("hawser-test-rendezvous-{name}-{}", host::pid()))
    }

    #[test]
    fn a_notice_is_there_whole_and_goes_with_its_meeting() {
        let file = file("whole");
        let posted = content("hawser-test-nobody").create(&file).unwrap();
        assert_eq!(BootstrapFileContent::read(&file), Ok(Some(content("hawser-test-nobody"))));
        assert!(!temporary_path(&file).exists());
        drop(posted);
        assert_eq!(BootstrapFileContent::read(&file), Ok(None));
    }

    #[test]
    fn a_file_of_a_job_that_is_gone_gives_way_and_that_of_a_live_one_does_not() {
        let (file, socket) = (file("stale"), format!("hawser-test-live-{}", host::pid()));
        std::mem::forget(content("hawser-test-nobody").create(&file).unwrap());
        let listener = SeqpacketListener::bind(&socket).unwrap();
        let live = content(&socket).create(&file).unwrap();
        let refused = content("hawser-test-third").create(&file).err().unwrap();
        assert!(refused.contains("made by another rank 0 (process 7 on host a)"), "{refused}");
        assert_eq!(BootstrapFileContent::read(&file), Ok(Some(content(&socket))));
        assert!(!temporary_path(&file).exists());
        drop((live, listener));
        assert!(!file.exists());
    }

    #[test]
    fn a_file_of_somebody_elses_is_left_as_it_is() {
        let file = file("other");
        fs::write(&file, "a letter").unwrap();
        let refused = content("hawser-test-nobody").create(&file).err().unwrap();
        assert!(refused.contains("that Hawser has not made"), "{refused}");
        content("hawser-test-nobody").remove(&file);
        assert_eq!(fs::read_to_string(&file).unwrap(), "a letter");
        fs::remove_file(&file).unwrap();
    }
}
