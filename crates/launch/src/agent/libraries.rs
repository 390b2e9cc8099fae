//! Finds Hawser's own libraries, as far as the launcher needs them. Used by `run`, which lets programs find them, and
//! by `hawser-info`.

use hawser_os::host;
use std::path::PathBuf;

/// The file names of Hawser's libraries, with the names that programs are linked with.
pub const LIBRARIES: [&str; 4] = ["libmpi_abi.so.1", "libmpi.so.12", "libmpi_abi.so.0", "libmpich.so.12"];

/// The directory in which Hawser's libraries are installed: ../lib beside this binary's directory, if they are there.
pub fn library_directory() -> Option<PathBuf> {
    let own = host::program().canonicalize().ok()?;
    let directory = own.parent()?.parent()?.join("lib");
    LIBRARIES.iter().any(|name| directory.join(name).exists()).then_some(directory)
}
