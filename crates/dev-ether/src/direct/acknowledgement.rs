//! Chooses when the kernel acknowledges the messages on a direct connection: outside the calls that receive them, where
//! that takes less time.
//!
//! TCP acknowledges a segment when it arrives if the receive window need not shrink by its bytes, and otherwise in the
//! `receive` that takes them, before it returns: the message is late then by the time of a send. The kernel lets a
//! window grow until it has to shrink by each message, so it is limited here to less than fits into the buffer. The
//! last bytes of a message that are less than a full segment are acknowledged in `receive` in any case, unless the
//! acknowledgement is delayed.
//!
//! A peer that only sends has no use of that: over a veth pair its core would acknowledge its own segments, and that is
//! the core which limits the rate. So the window is limited only while this rank sends to the peer as well.
//!
//! It sends nothing. Used by `direct`, for each connection that a peer has opened; uses `os::tcp`.

use hawser_os::tcp::{ReceiveWindow, TcpStream};

/// The number of parts with payload from one look at the connection to the next. The calls take 0.7 us together, so
/// that they cost 0.05 us a part. The gain was the same with 1 and 16.
const LOOK_EVERY_PARTS: u32 = 16;

/// The length, in bytes, of the longest part that is acknowledged when it arrives. Over a veth pair the sender's core
/// does that work between the segments that it sends. Measured there, half round trips in us with and without a limit
/// of the window: 64 KiB 8.8 and 11.1, 128 KiB the same, 192 KiB 27 and 25, 256 KiB 35 and 31.
const ACKNOWLEDGED_EARLY_BYTES: u64 = 128 << 10;

/// The part of the greatest window that is offered: numerator and denominator. The rest, which is 280 KiB in a buffer
/// of 1.3 MB, holds what has arrived. The kernel still enlarges the buffer for a peer that needs a greater window: it
/// does if more than half of the buffer is received in a round trip.
const OFFERED_PART: (usize, usize) = (3, 4);
const _: () = assert!(OFFERED_PART.0 * 2 > OFFERED_PART.1 && OFFERED_PART.0 < OFFERED_PART.1);

/// The minimum number of messages that this rank sends to the peer from one look to the next if the two take turns or
/// exchange messages, rather than that the peer streams some and waits for an answer.
const ANSWERS_MIN: u32 = LOOK_EVERY_PARTS / 2;

/// The limit of the window of a connection, and the next look at it.
#[derive(Default)]
pub struct AcknowledgementTiming {
    parts: u32,
    /// The number of messages that had been sent to the peer at the last look, modulo 2^32.
    sent: u32,
    /// Whether messages are acknowledged outside `receive` since then.
    is_early: bool,
    limit: WindowLimit,
}

#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum WindowLimit {
    /// There is none, and the window at the last look is not known.
    #[default]
    None,
    /// There is none yet: at the last look the window was this one.
    Growing(ReceiveWindow),
    /// The window is limited; the buffer's size in bytes, as long as which the limit is in force.
    Set { buffer_bytes: usize },
}

/// A change of the limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum WindowChange {
    Limit { bytes: usize },
    Unlimit,
}

impl AcknowledgementTiming {
    /// Looks at the connection, if it is time to. `part_bytes`: the length of the part that begins, which has payload;
    /// `sent`: the number of messages that were sent to the peer until now, modulo 2^32.
    pub fn begin_payload(&mut self, part_bytes: u64, sent: u32, stream: &TcpStream) {
        self.parts = self.parts.wrapping_add(1);
        if self.parts % LOOK_EVERY_PARTS != 1 {
            return;
        }
        let answers = sent.wrapping_sub(std::mem::replace(&mut self.sent, sent));
        let is_early = part_bytes <= ACKNOWLEDGED_EARLY_BYTES && answers >= ANSWERS_MIN;
        if is_early || self.is_early {
            stream.delay_acknowledgements(is_early);
        }
        self.is_early = is_early;
        let (limit, change) = self.limit.next(is_early, || stream.receive_window());
        self.limit = limit;
        match change {
            Some(WindowChange::Limit { bytes }) => stream.limit_receive_window(Some(bytes)),
            Some(WindowChange::Unlimit) => stream.limit_receive_window(None),
            None => {}
        }
    }
}

impl WindowLimit {
    /// Returns the limit from now on, and what is to be done for it. `is_early`: messages are to be acknowledged when
    /// they arrive.
    fn next(
        self,
        is_early: bool,
        window: impl FnOnce() -> Option<ReceiveWindow>,
    ) -> (WindowLimit, Option<WindowChange>) {
        if !is_early {
            let was_set = matches!(self, WindowLimit::Set { .. });
            return (WindowLimit::None, was_set.then_some(WindowChange::Unlimit));
        }
        let Some(window) = window() else { return (WindowLimit::None, None) };
        match self {
            WindowLimit::Set { buffer_bytes } if buffer_bytes == window.buffer_bytes => (self, None),
            WindowLimit::Growing(last) if last == window => {
                let bytes = window.max_bytes / OFFERED_PART.1 * OFFERED_PART.0;
                let buffer_bytes = window.buffer_bytes;
                (WindowLimit::Set { buffer_bytes }, Some(WindowChange::Limit { bytes }))
            }
            _ => (WindowLimit::Growing(window), None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hawser_os::tcp::TcpListener;

    fn window(buffer_bytes: usize, max_bytes: usize) -> ReceiveWindow {
        ReceiveWindow { buffer_bytes, max_bytes }
    }

    /// Returns what is done at each look: whether messages are to be acknowledged early, and the window.
    fn changes(looks: &[(bool, ReceiveWindow)]) -> Vec<Option<WindowChange>> {
        let mut limit = WindowLimit::default();
        let next = |&(is_early, window): &(bool, ReceiveWindow)| {
            let (next, change) = limit.next(is_early, || Some(window));
            limit = next;
            change
        };
        looks.iter().map(next).collect()
    }

    #[test]
    fn a_rank_that_answers_offers_less() {
        let any = "127.0.0.1:0".parse().unwrap();
        let listener = TcpListener::bind(&any).unwrap();
        let stream = TcpStream::connect(&any, &listener.local().unwrap(), "lo", |_| {}).unwrap();
        let mut timing = AcknowledgementTiming::default();
        let mut sent = 7;
        let mut offered = |parts: u32, messages_each: u32, part_bytes| {
            for _ in 0..parts {
                sent += messages_each;
                timing.begin_payload(part_bytes, sent, &stream);
            }
            stream.receive_window().unwrap().max_bytes
        };
        let whole = offered(3 * LOOK_EVERY_PARTS, 0, 4096);
        for (messages_each, part_bytes, is_limited) in
            [(1, 4096, true), (0, 4096, false), (1, 4096, true), (1, ACKNOWLEDGED_EARLY_BYTES + 1, false)]
        {
            let bytes = offered(3 * LOOK_EVERY_PARTS, messages_each, part_bytes);
            assert_eq!(bytes < whole, is_limited, "{messages_each} {part_bytes}: {bytes} of {whole}");
        }
    }

    #[test]
    fn a_window_is_limited_once_it_has_grown_and_anew_in_a_larger_buffer() {
        let looks =
            [window(100, 60), window(100, 80), window(100, 80), window(100, 60), window(200, 90), window(200, 90)];
        let limit = |bytes| Some(WindowChange::Limit { bytes });
        assert_eq!(changes(&looks.map(|window| (true, window))), [None, None, limit(60), None, None, limit(66)]);
    }

    #[test]
    fn the_limit_is_removed_while_messages_need_not_be_acknowledged_early() {
        let looks = [true, true, false, false, true, true].map(|is_early| (is_early, window(100, 80)));
        let limit = Some(WindowChange::Limit { bytes: 60 });
        assert_eq!(changes(&looks), [None, limit, Some(WindowChange::Unlimit), None, None, limit]);
    }
}
