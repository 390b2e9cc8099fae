//! Puts pieces of messages where they belong: into the message that is being received, or into a store until their
//! message is received.
//!
//! Used by the layers whose remote end may already send the next message; uses no other module.

/// The pieces that an endpoint has received; see the module.
#[derive(Default)]
pub struct MessageAssembly {
    /// The number of the message that is being received, or that is received next.
    pub message: u32,
    buffered: Vec<MessagePiece>,
}

struct MessagePiece {
    message: u32,
    at: u64,
    bytes: Vec<u8>,
}

impl MessageAssembly {
    /// Takes a piece of `len` bytes, which belongs at byte `at` of message `message`; `copy` writes the first bytes
    /// of the piece into its argument. Returns the number of bytes that the piece has filled in `into`, the message
    /// that is being received.
    pub fn take(
        &mut self,
        into: &mut [u8],
        (message, at): (u32, u64),
        len: usize,
        copy: impl FnOnce(&mut [u8]),
    ) -> usize {
        if into.is_empty() || message != self.message {
            let mut bytes = vec![0; len];
            copy(&mut bytes);
            self.buffered.push(MessagePiece { message, at, bytes });
            return 0;
        }
        // Bytes beyond the end of the message only filled up a frame to its minimum length.
        let Some(rest) = into.get_mut(at as usize..) else { return 0 };
        let len = rest.len().min(len);
        copy(&mut rest[..len]);
        len
    }

    /// Copies the stored pieces of the message that is received from now on into `into`. Returns the number of their
    /// bytes.
    pub fn take_buffered(&mut self, into: &mut [u8]) -> usize {
        if self.buffered.is_empty() || into.is_empty() {
            return 0;
        }
        let (now, later) =
            std::mem::take(&mut self.buffered).into_iter().partition(|piece| piece.message == self.message);
        self.buffered = later;
        let now: Vec<MessagePiece> = now;
        now.iter().map(|piece| self.take_piece(into, piece)).sum()
    }

    fn take_piece(&mut self, into: &mut [u8], piece: &MessagePiece) -> usize {
        let copy = |target: &mut [u8]| target.copy_from_slice(&piece.bytes[..target.len()]);
        self.take(into, (piece.message, piece.at), piece.bytes.len(), copy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_come_to_their_places_in_any_order_and_before_their_turn() {
        let (mut inbox, mut into) = (MessageAssembly::default(), [0; 6]);
        let piece = |inbox: &mut MessageAssembly, into: &mut [u8], place, bytes: &[u8]| {
            inbox.take(into, place, bytes.len(), |room| room.copy_from_slice(&bytes[..room.len()]))
        };
        assert_eq!(
            piece(&mut inbox, &mut [], (0, 4), b"efgh"),
            0,
            "nothing is received yet, and the frame is filled up"
        );
        assert_eq!(piece(&mut inbox, &mut into, (1, 0), b"later"), 0);
        assert_eq!(inbox.take_buffered(&mut into), 2);
        assert_eq!(piece(&mut inbox, &mut into, (0, 0), b"abcd"), 4);
        assert_eq!(&into, b"abcdef");
        inbox.message = 1;
        assert_eq!((inbox.take_buffered(&mut into[..5]), &into[..5]), (5, &b"later"[..]));
        assert_eq!(inbox.take_buffered(&mut into), 0);
    }
}
