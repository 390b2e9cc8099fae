//! Finds the directory of Hawser's own libraries. Used by `run`, which lets programs find them there, and by `info`,
//! which lists them.

use hawser_os::host;
use std::path::PathBuf;

/// The file names of Hawser's libraries, with the names that programs are linked with.
pub const LIBRARIES: [&str; 4] = ["libmpi_abi.so.1", "libmpi.so.12", "libmpi_abi.so.0", "libmpich.so.12"];

/// The directory in which Hawser's libraries are installed: `lib` beside the directory of this binary. None if none
/// of them is there.
pub fn library_directory() -> Option<PathBuf> {
    let own = host::program().canonicalize().ok()?;
    let directory = own.parent()?.parent()?.join("lib");
    LIBRARIES.iter().any(|name| directory.join(name).exists()).then_some(directory)
}
