//! Buffers that the application attached for buffered sends, and the part of them that is in use (MPI-5.0 §3.6).
//!
//! The memory is never touched: its size is the limit that the program requested. Used by `bsend`, `comm`,
//! `session_table`.

use hawser_base::{Class, Error, Handle, Result};
use std::sync::Mutex;

/// The buffer that may be attached to an object: its address for MPI_Buffer_detach, its size, the part of it in use.
#[derive(Debug, Default)]
pub struct AttachedBuffer(Mutex<Option<BsendBuffer>>);

#[derive(Debug)]
struct BsendBuffer {
    address: usize,
    size: u64,
    /// MPI_BUFFER_AUTOMATIC: no limit.
    automatic: bool,
    pending: Vec<(Handle, u64)>,
}

/// The cost of a message beside its bytes: the standard ABI's MPI_BSEND_OVERHEAD, the larger of both ABIs'.
const OVERHEAD: u64 = 96;

impl AttachedBuffer {
    fn lock(&self) -> std::sync::MutexGuard<'_, Option<BsendBuffer>> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    pub(crate) fn is_attached(&self) -> bool {
        self.lock().is_some()
    }

    /// MPI_Buffer_attach and its like.
    pub fn attach(&self, address: usize, size: u64, automatic: bool) -> Result<()> {
        let mut buffer = self.lock();
        if buffer.is_some() {
            let text = "a buffer is attached already; detach it first (MPI_Buffer_detach or its like)";
            return Err(Error::new(Class::Buffer, text));
        }
        *buffer = Some(BsendBuffer { address, size, automatic, pending: Vec::new() });
        Ok(())
    }

    /// Reserves the bytes of a message; sends that are no longer pending give back theirs.
    pub(crate) fn reserve(&self, is_open: impl Fn(Handle) -> bool, bytes: u64) -> Result<()> {
        let mut guard = self.lock();
        let Some(buffer) = guard.as_mut() else {
            let text = "no buffer is attached for a buffered send; call MPI_Buffer_attach first";
            return Err(Error::new(Class::Buffer, text));
        };
        buffer.pending.retain(|&(handle, _)| is_open(handle));
        let used: u64 = buffer.pending.iter().map(|(_, bytes)| bytes).sum();
        if !buffer.automatic && used + bytes + OVERHEAD > buffer.size {
            let text = format!(
                "a message of {bytes} bytes does not fit the attached buffer of {} bytes, of which {used} are in use; \
                 attach a larger one (the message and MPI_BSEND_OVERHEAD for each)",
                buffer.size
            );
            return Err(Error::new(Class::Buffer, text));
        }
        Ok(())
    }

    pub(crate) fn add_pending(&self, handle: Handle, bytes: u64) {
        if let Some(buffer) = self.lock().as_mut() {
            buffer.pending.push((handle, bytes + OVERHEAD));
        }
    }

    /// Sends that have not ended.
    pub(crate) fn pending(&self) -> Vec<Handle> {
        self.lock().as_ref().map_or(Vec::new(), |buffer| buffer.pending.iter().map(|&(handle, _)| handle).collect())
    }

    /// The address and the size that were attached, and whether there was no limit; nothing is attached any more.
    pub(crate) fn take(&self) -> Option<(usize, u64, bool)> {
        self.lock().take().map(|buffer| (buffer.address, buffer.size, buffer.automatic))
    }
}
