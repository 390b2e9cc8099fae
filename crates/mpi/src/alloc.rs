//! MPI_Alloc_mem and MPI_Free_mem (MPI-5.0 §9.2): their arguments.
//!
//! Used by `abi::memory`; uses `memory`.

use crate::memory::ALIGN;
use crate::{info, process};
use hawser_base::{Class, Error, Handle, Result};

/// MPI_Alloc_mem. For size 0 it returns memory too, which must be freed. It obeys the info key
/// mpi_minimum_memory_alignment.
pub fn alloc(size: i64, info: Handle) -> Result<*mut u8> {
    let process = process::get()?;
    let hints = info::hints(info)?;
    let align = hints.get(b"mpi_minimum_memory_alignment").map_or(Ok(ALIGN), alignment)?;
    let size = usize::try_from(size)
        .map_err(|_| Error::new(Class::Arg, format!("the size is {size}; it must not be negative")))?;
    process.allocator().alloc(size, align)
}

/// MPI_Free_mem (MPI_ERR_BASE).
pub fn free(base: *mut u8) -> Result<()> {
    process::get()?.allocator().free(base)
}

/// The value of mpi_minimum_memory_alignment: a power of two, in bytes.
fn alignment(text: &[u8]) -> Result<usize> {
    let text = String::from_utf8_lossy(text);
    let parsed = text.trim().parse().ok().filter(|align: &usize| align.is_power_of_two());
    parsed.ok_or_else(|| {
        let text = format!("mpi_minimum_memory_alignment is \"{text}\"; it must be a power of two, in bytes");
        Error::new(Class::InfoValue, text)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alignment_is_a_power_of_two() {
        assert_eq!(alignment(b" 4096").unwrap(), 4096);
        for bad in [&b""[..], b"0", b"3", b"-8", b"64k"] {
            assert_eq!(alignment(bad).unwrap_err().class(), Class::InfoValue);
        }
    }
}
