//! Hawser's own libraries, as far as the launcher must find them. Before it: the installation; after it: `run`, which lets
//! programs find them, and `hawser-info`.

use hawser_os::host;
use std::path::PathBuf;

/// What Hawser's libraries are called, with the names that programs ask for.
pub const LIBRARIES: [&str; 4] = ["libmpi_abi.so.1", "libmpi.so.12", "libmpi_abi.so.0", "libmpich.so.12"];

/// Where Hawser's libraries are installed: ../lib beside this binary's directory, if they are there.
pub fn library_directory() -> Option<PathBuf> {
    let own = host::program().canonicalize().ok()?;
    let directory = own.parent()?.parent()?.join("lib");
    LIBRARIES.iter().any(|name| directory.join(name).exists()).then_some(directory)
}
