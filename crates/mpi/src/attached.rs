//! Buffers that the application attached for buffered sends, and how much of each is in use (MPI-5.0 §3.6).
//!
//! The attached memory is never read or written: only its size counts, as the limit that the program requested. Used
//! by `bsend`, `comm`, `session`, `session_table`, `process` and `abi::buffered`.

use hawser_base::{Class, Error, Handle, Result};
use std::sync::Mutex;

/// The buffer that is attached to a communicator, a session or the process, if there is one: its address for
/// MPI_Buffer_detach, its size, the part of it in use.
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

/// The bytes that a message uses in the buffer beside its own: the MPICH ABI's MPI_BSEND_OVERHEAD, the smaller one of
/// the two ABIs' (that of the standard ABI is 512), so that a buffer with space by either suffices.
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
            let text = "a buffer is already attached; detach it first (MPI_Buffer_detach or a similar call)";
            return Err(Error::new(Class::Buffer, text));
        }
        *buffer = Some(BsendBuffer { address, size, automatic, pending: Vec::new() });
        Ok(())
    }

    /// Checks that a message of `bytes` bytes fits into the buffer beside the pending ones (MPI_ERR_BUFFER). Before
    /// that it forgets the sends that are no longer pending (`is_open`). The message itself counts after
    /// `add_pending`.
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
                 attach a larger one (each message needs MPI_BSEND_OVERHEAD bytes more)",
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

    /// The requests of the sends that still count; some of them may have ended.
    pub(crate) fn pending(&self) -> Vec<Handle> {
        self.lock().as_ref().map_or(Vec::new(), |buffer| buffer.pending.iter().map(|&(handle, _)| handle).collect())
    }

    /// Detaches the buffer. Returns its address, its size, and whether it had no limit; None if there was none.
    pub(crate) fn take(&self) -> Option<(usize, u64, bool)> {
        self.lock().take().map(|buffer| (buffer.address, buffer.size, buffer.automatic))
    }
}
