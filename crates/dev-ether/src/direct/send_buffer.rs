//! The limit of TCP's send buffer on a direct connection, which zero-copy sends and long direct packets want to be
//! different.
//!
//! It sends nothing. Used by `direct`; uses a limit of `sender`, and `os::tcp`.

use super::sender::REST_MAX_BYTES;
use hawser_os::tcp::TcpStream;

/// Size that is set for TCP's send buffer if the round trip is short, in bytes (the kernel doubles it). It limits the
/// unacknowledged bytes of zero-copy sends to those that stay in the caches. Measured with 128, 256, 320, 384, 448 and
/// 512 KiB between two cores with caches of 1 MiB each: a ping-pong of 1 MiB took 222, 174, 160, 158, 148 and 140 us,
/// and one of 4 MiB 952, 790, 771, 735, 849 and 1477 us; without the limit both took as long as by TCP alone, 421 and
/// 1758 us.
const SEND_BUFFER_BYTES: i32 = 320 << 10;

/// The size that is set before a direct packet that may not fit into SEND_BUFFER_BYTES, in bytes; it stays until a
/// zero-copy send. Doubled, it takes the longest packet and the kernel's overhead (`TcpStream::has_space_for`).
const LONG_PACKET_BUFFER_BYTES: i32 = 512 << 10;
const _: () = assert!(
    REST_MAX_BYTES + REST_MAX_BYTES / TcpStream::OVERHEAD_DIVISOR <= 2 * LONG_PACKET_BUFFER_BYTES as usize
        && PARTLY_TAKEN_MAX < LONG_PACKET_ABOVE_BYTES
        && LONG_PACKET_ABOVE_BYTES + LONG_PACKET_ABOVE_BYTES / TcpStream::OVERHEAD_DIVISOR
            <= 2 * SEND_BUFFER_BYTES as usize
);

/// The length of a direct packet, in bytes, above which the send buffer gets LONG_PACKET_BUFFER_BYTES.
const LONG_PACKET_ABOVE_BYTES: usize = 512 << 10;

/// The longest round trip at which SEND_BUFFER_BYTES does not slow a transfer down: the limit is about the bytes that a
/// network of 10 Gbit/s transports in this time.
const SHORT_RTT_US: u32 = 200;

/// The longest rest of a direct packet, in bytes, of which the kernel may take only a part, and the most bytes that are
/// joined without a look at the connection. More are sent only if the connection takes all of them at once: their
/// sender may compute afterwards, and then nothing writes the other part.
pub const PARTLY_TAKEN_MAX: usize = 64 << 10;

/// The limit of TCP's send buffer on a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SendBufferLimit {
    /// The round trip was not looked at yet.
    Unknown,
    /// The round trip is long: the kernel chooses.
    Automatic,
    /// This size was set, in bytes.
    Set(i32),
}

impl SendBufferLimit {
    /// Sets the limit of a new connection, if its round trip is short (`SEND_BUFFER_BYTES`).
    pub fn first(stream: &TcpStream) -> SendBufferLimit {
        if stream.round_trip_us().is_none_or(|us| us > SHORT_RTT_US) {
            return SendBufferLimit::Automatic;
        }
        stream.set_send_buffer(SEND_BUFFER_BYTES);
        SendBufferLimit::Set(SEND_BUFFER_BYTES)
    }

    /// Sets the limit for a zero-copy send, if there is one.
    pub fn prepare_zero_copy(&mut self, stream: &TcpStream) {
        self.set(SEND_BUFFER_BYTES, stream);
    }

    /// Sets the limit for a direct packet with a rest of `rest_len` bytes, if there is one and the packet may need it.
    #[inline]
    pub fn prepare_packet(&mut self, rest_len: usize, stream: &TcpStream) {
        if (LONG_PACKET_ABOVE_BYTES + 1..=REST_MAX_BYTES).contains(&rest_len) {
            self.set(LONG_PACKET_BUFFER_BYTES, stream);
        }
    }

    fn set(&mut self, bytes: i32, stream: &TcpStream) {
        if let SendBufferLimit::Set(present) = self
            && *present != bytes
        {
            stream.set_send_buffer(bytes);
            *present = bytes;
        }
    }
}
