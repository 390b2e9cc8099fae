//! Files that appear whole or not at all: written under a name of their own beside their place, and then renamed.
//!
//! It must not touch what else lies there. Before it: `report` and `import`; after it: the disk.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

/// Lets `fill` write a file under another name and gives it its own when all of it is on the disk.
pub fn put(path: &Path, fill: impl FnOnce(&Path) -> io::Result<()>) -> io::Result<()> {
    let name = path.file_name().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "it names no file"))?;
    // The ending stays: the bitmap's writer chooses the format by it.
    let beside = path.with_file_name(format!(".{}-{}", std::process::id(), name.to_string_lossy()));
    let written = fill(&beside).and_then(|()| File::open(&beside)?.sync_all()).and_then(|()| fs::rename(&beside, path));
    written.inspect_err(|_| drop(fs::remove_file(&beside)))
}

pub fn text(path: &Path, text: &str) -> io::Result<()> {
    File::create(path)?.write_all(text.as_bytes())
}
