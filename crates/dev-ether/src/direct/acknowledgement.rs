//! Chooses when the kernel acknowledges the messages on a direct connection: outside the calls that receive them, where
//! that takes less time.
//!
//! TCP acknowledges more than one segment when they arrive if the receive window need not shrink by their bytes, and
//! otherwise in the `receive` that takes them, before it returns: the message is late then by the time of a send. The
//! kernel lets a window grow until it has to shrink by each message, so it is limited here to less than fits into the
//! buffer. The last bytes of a message that are less than a full segment are acknowledged in `receive` in any case,
//! unless the acknowledgement is delayed.
//!
//! A peer that only sends has no use of that: over a veth pair its core would acknowledge its own segments, and that is
//! the core which limits the rate. A delayed acknowledgement also makes the round trip seem longer to the peer's
//! kernel, if it comes with the next message. So both are done only while the two ranks answer each other at a high
//! rate.
//!
//! It sends no messages. Used by `direct`, for each connection that a peer has opened; uses `os::tcp`.

use hawser_os::tcp::TcpStream;

/// The number of parts with payload from one look at the connection to the next. The calls take 0.7 us together, so
/// that they cost 0.05 us a part. The gain was the same with 1 and 16.
const LOOK_EVERY_PARTS: u32 = 16;

/// The minimum number of messages that this rank sends to the peer from one look to the next if the two take turns or
/// exchange messages, rather than that the peer streams some and waits for an answer.
const ANSWERS_MIN: u32 = LOOK_EVERY_PARTS / 2;

/// The longest time from one look to the next at a high rate, in ns: 250 us for each message. The gain is 2 us for
/// each, and the peer's round trip, by which its kernel may pace what it sends (tc-fq(8)), seems no longer than that.
const LOOK_WITHIN_NS: u64 = LOOK_EVERY_PARTS as u64 * 250_000;

/// The length, in bytes, of the longest part that is acknowledged when it arrives. Over a veth pair the sender's core
/// does that work between the segments that it sends. Measured there, half round trips in us with a limit of the window
/// and without: 64 KiB 11.0 and 13.6, 128 KiB 17.8 and 19.1, 192 KiB 24.8 and 24.4, 256 KiB 35.2 and 30.8.
const ACKNOWLEDGED_EARLY_BYTES: u64 = 128 << 10;

/// The window is at most the buffer divided by this number. The rest of the buffer holds what has arrived. The kernel
/// enlarges the buffer if that received in a round trip, twice, with its own overhead, does not fit into it: a peer
/// that needs a greater window still gets one. Parts of 2/8, 4/8 and 6/8 gained the same.
const BUFFER_DIVISOR: usize = 2;

/// The limit is changed only if no more than the buffer divided by this number has arrived. Before Linux 6.7 a limit
/// that is set while no window is left may leave none for good.
const QUIET_DIVISOR: usize = 4;
const _: () = assert!(QUIET_DIVISOR > BUFFER_DIVISOR);

/// When the messages on a connection are acknowledged, and the next look at it.
#[derive(Default)]
pub struct AcknowledgementTiming {
    parts: u32,
    /// The length of the longest part since the last look, in bytes.
    longest_bytes: u64,
    /// The time of the last look, and the number of messages that had been sent to the peer then, modulo 2^32.
    last: Option<(u64, u32)>,
    /// Whether messages are acknowledged outside `receive`.
    is_early: bool,
}

impl AcknowledgementTiming {
    /// Looks at the connection, if it is time to. `part_bytes`: the length of the part that begins, which has payload;
    /// `sent`: the number of messages that were sent to the peer until now, modulo 2^32.
    pub fn begin_payload(&mut self, part_bytes: u64, sent: u32, now_ns: u64, stream: &TcpStream) {
        self.longest_bytes = self.longest_bytes.max(part_bytes);
        self.parts += 1;
        if self.parts < LOOK_EVERY_PARTS {
            return;
        }
        self.parts = 0;
        let is_short = std::mem::take(&mut self.longest_bytes) <= ACKNOWLEDGED_EARLY_BYTES;
        let is_answered = self.last.replace((now_ns, sent)).is_some_and(|(then_ns, before)| {
            sent.wrapping_sub(before) >= ANSWERS_MIN && now_ns.saturating_sub(then_ns) <= LOOK_WITHIN_NS
        });
        if is_short && is_answered {
            self.is_early = true;
            stream.delay_acknowledgements(true);
            limit_window(stream);
        } else if self.is_early {
            stream.delay_acknowledgements(false);
            self.is_early = !unlimit_window(stream);
        }
    }
}

/// Limits the receive window, unless it is limited. The kernel removes the limit when it enlarges the buffer, and when
/// it sees that segments need less memory than before.
fn limit_window(stream: &TcpStream) {
    let Some(buffer_bytes) = stream.receive_buffer() else { return };
    let wanted = buffer_bytes / BUFFER_DIVISOR;
    if stream.receive_window_limit().is_some_and(|limit| limit > wanted) && is_quiet(buffer_bytes, stream) {
        stream.limit_receive_window(Some(wanted));
    }
}

/// Removes the limit. False: the next look is to do it.
fn unlimit_window(stream: &TcpStream) -> bool {
    let may_change = stream.receive_buffer().is_some_and(|buffer_bytes| is_quiet(buffer_bytes, stream));
    if may_change {
        stream.limit_receive_window(None);
    }
    may_change
}

fn is_quiet(buffer_bytes: usize, stream: &TcpStream) -> bool {
    stream.available() <= buffer_bytes / QUIET_DIVISOR
}

#[cfg(test)]
mod tests {
    use super::*;
    use hawser_os::tcp::TcpListener;

    /// A connection, its timing, and the counts that its owner passes.
    struct Receiver {
        stream: TcpStream,
        _listener: TcpListener,
        timing: AcknowledgementTiming,
        sent: u32,
        now_ns: u64,
    }

    impl Receiver {
        fn new() -> Receiver {
            let any = "127.0.0.1:0".parse().unwrap();
            let listener = TcpListener::bind(&any).unwrap();
            let stream = TcpStream::connect(&any, &listener.local().unwrap(), "lo", |_| {}).unwrap();
            Receiver { stream, _listener: listener, timing: Default::default(), sent: u32::MAX - 5, now_ns: 7 }
        }

        /// Begins `parts` parts. Returns whether the window is limited then.
        fn begin(&mut self, parts: u32, part_bytes: u64, (messages_each, ns_each): (u32, u64)) -> bool {
            for _ in 0..parts {
                self.sent = self.sent.wrapping_add(messages_each);
                self.now_ns += ns_each;
                self.timing.begin_payload(part_bytes, self.sent, self.now_ns, &self.stream);
            }
            self.stream.receive_window_limit().unwrap() <= self.stream.receive_buffer().unwrap() / BUFFER_DIVISOR
        }
    }

    /// The messages of this rank for each part, and the time of a part in ns.
    const ANSWERS: (u32, u64) = (1, 20_000);
    const STREAM: (u32, u64) = (0, 20_000);
    const SLOW_ANSWERS: (u32, u64) = (1, 300_000);
    const TWO_LOOKS: u32 = 2 * LOOK_EVERY_PARTS;

    #[test]
    fn a_window_is_limited_between_ranks_that_answer_each_other_with_short_messages_at_a_high_rate() {
        let mut receiver = Receiver::new();
        // More than any buffer gives the window at first.
        receiver.stream.limit_receive_window(None);
        for (part_bytes, rate, is_limited) in [
            (4096, STREAM, false),
            (4096, ANSWERS, true),
            (4096, STREAM, false),
            (ACKNOWLEDGED_EARLY_BYTES, ANSWERS, true),
            (ACKNOWLEDGED_EARLY_BYTES + 1, ANSWERS, false),
            (4096, ANSWERS, true),
            (4096, SLOW_ANSWERS, false),
        ] {
            assert_eq!(receiver.begin(TWO_LOOKS, part_bytes, rate), is_limited, "{part_bytes} {rate:?}");
        }
    }

    #[test]
    fn one_long_part_among_short_ones_decides() {
        let mut receiver = Receiver::new();
        assert!(receiver.begin(TWO_LOOKS, 4096, ANSWERS));
        assert!(receiver.begin(1, 1 << 20, ANSWERS));
        assert!(!receiver.begin(LOOK_EVERY_PARTS - 1, 4096, ANSWERS));
        assert!(receiver.begin(LOOK_EVERY_PARTS, 4096, ANSWERS));
    }

    #[test]
    fn a_limit_that_the_kernel_has_removed_is_set_again() {
        let mut receiver = Receiver::new();
        assert!(receiver.begin(TWO_LOOKS, 4096, ANSWERS));
        receiver.stream.limit_receive_window(None);
        assert!(receiver.begin(LOOK_EVERY_PARTS, 4096, ANSWERS));
    }
}
