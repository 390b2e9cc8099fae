//! Buffers that the application attached for buffered sends, and the part of them that is in use (MPI-5.0 §3.6).
//!
//! The memory is never touched: its size is the limit that the program requested. Used by `bsend`, `comm`,
//! `session_table`.

use hawser_base::{Class, Error, Handle, Result};
use std::sync::Mutex;

/// The buffer that may be attached to an object: its address for MPI_Buffer_detach, its size, the part of it in use.
#[derive(Debug, Default)]
pub struct Attached(Mutex<Option<Room>>);

#[derive(Debug)]
struct Room {
    address: usize,
    size: u64,
    /// MPI_BUFFER_AUTOMATIC: no limit.
    automatic: bool,
    open: Vec<(Handle, u64)>,
}

/// The cost of a message beside its bytes: the standard ABI's MPI_BSEND_OVERHEAD, the larger of both ABIs'.
const OVERHEAD: u64 = 96;

impl Attached {
    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Room>> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    pub(crate) fn is_there(&self) -> bool {
        self.lock().is_some()
    }

    /// MPI_Buffer_attach and its like.
    pub fn attach(&self, address: usize, size: u64, automatic: bool) -> Result<()> {
        let mut room = self.lock();
        if room.is_some() {
            let text = "a buffer is attached already; detach it first (MPI_Buffer_detach or its like)";
            return Err(Error::new(Class::Buffer, text));
        }
        *room = Some(Room { address, size, automatic, open: Vec::new() });
        Ok(())
    }

    /// Charges a message; sends that are not open any more return what they were charged.
    pub(crate) fn charge(&self, is_open: impl Fn(Handle) -> bool, bytes: u64) -> Result<()> {
        let mut guard = self.lock();
        let Some(room) = guard.as_mut() else {
            let text = "no buffer is attached for a buffered send; call MPI_Buffer_attach first";
            return Err(Error::new(Class::Buffer, text));
        };
        room.open.retain(|&(handle, _)| is_open(handle));
        let used: u64 = room.open.iter().map(|(_, bytes)| bytes).sum();
        if !room.automatic && used + bytes + OVERHEAD > room.size {
            let text = format!(
                "a message of {bytes} bytes does not fit the attached buffer of {} bytes, of which {used} are in use; \
                 attach a larger one (the message and MPI_BSEND_OVERHEAD for each)",
                room.size
            );
            return Err(Error::new(Class::Buffer, text));
        }
        Ok(())
    }

    pub(crate) fn opened(&self, handle: Handle, bytes: u64) {
        if let Some(room) = self.lock().as_mut() {
            room.open.push((handle, bytes + OVERHEAD));
        }
    }

    /// Sends that have not ended.
    pub(crate) fn open(&self) -> Vec<Handle> {
        self.lock().as_ref().map_or(Vec::new(), |room| room.open.iter().map(|&(handle, _)| handle).collect())
    }

    /// The address and the size that were attached, and whether there was no limit; nothing is attached any more.
    pub(crate) fn take(&self) -> Option<(usize, u64, bool)> {
        self.lock().take().map(|room| (room.address, room.size, room.automatic))
    }
}
