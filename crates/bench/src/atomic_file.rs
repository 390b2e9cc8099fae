//! Writes files that appear whole or not at all: each is written under a temporary name in the same folder, and then
//! renamed.
//!
//! Other files in the folder are never touched. A device or a pipe is written to and never replaced; if the path is a
//! link, the file to which the link leads is replaced. Used by `doctor`, `report`, `import` and `tune`; writes to the
//! disk.

use hawser_os::signals::{self, SIGXFSZ};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Writes a file under another name and renames it when all of it is on the disk.
pub fn write_atomically(path: &Path, content: impl AsRef<[u8]>) -> io::Result<()> {
    if fs::metadata(path).is_ok_and(|there| !there.is_file()) {
        return File::create(path)?.write_all(content.as_ref());
    }
    signals::ignore(SIGXFSZ);
    let path = link_target(path);
    let name = path.file_name().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "it names no file"))?;
    let temporary = path.with_file_name(format!(".{}-{}", std::process::id(), name.to_string_lossy()));
    let written = File::create(&temporary).and_then(|mut file| {
        file.write_all(content.as_ref())?;
        file.sync_all()?;
        fs::rename(&temporary, &path)
    });
    written.inspect_err(|_| drop(fs::remove_file(&temporary)))
}

/// Returns the file to which a link leads, even if it does not exist yet; any other path is returned as it is.
fn link_target(path: &Path) -> PathBuf {
    match (fs::canonicalize(path), fs::read_link(path)) {
        (Ok(there), _) => there,
        (Err(error), Ok(next)) if error.kind() == io::ErrorKind::NotFound => link_target(&path.with_file_name(next)),
        _ => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn write(path: &Path, content: &str) -> io::Result<()> {
        write_atomically(path, content)
    }

    #[test]
    fn a_file_is_written_as_a_whole_or_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        write(&path, "{}\n").unwrap();
        write(&path, "{}").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "{}");
        assert!(write(&folder.path().join("none/a.json"), "").is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_link_stays_and_its_file_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let [file, link, further] = ["file", "link", "further"].map(|name| folder.path().join(name));
        symlink("file", &link).unwrap();
        symlink(&link, &further).unwrap();
        for content in ["there is none yet", "there is one"] {
            write(&further, content).unwrap();
            assert_eq!(fs::read_to_string(&file).unwrap(), content);
        }
        assert!(link.is_symlink() && further.is_symlink() && !file.is_symlink());
        symlink("round", folder.path().join("round")).unwrap();
        write(&folder.path().join("round"), "").unwrap();
    }

    #[test]
    fn a_device_stays_one() {
        let is_file = |path: &str| fs::metadata(path).unwrap().is_file();
        write(Path::new("/dev/null"), "much").unwrap();
        assert!(!is_file("/dev/null"));
        assert_eq!(write(Path::new("/dev/full"), "much").unwrap_err().kind(), io::ErrorKind::StorageFull);
        assert!(!is_file("/dev/full"));
    }
}
