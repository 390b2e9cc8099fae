//! The shares of bytes that show how a program's messages went, in words for people, by the counters of one rank or by
//! the sums of several ranks'. No rank counts shares.
//!
//! Used by `launch` (`--stats`), and by `bench`, which counts by MPI_T and reads what `--stats` prints; uses the names
//! of the counters.

use hawser_dev_ether::counters::IN_PLACE;
use hawser_p2p::counters::{NAMES, sent_by_length};

pub use hawser_p2p::counters::Counter;

/// Counters with their values, of the same order.
#[derive(Clone, Copy, Debug)]
pub struct CountedBytes<'a> {
    pub names: &'a [String],
    pub values: &'a [u64],
}

impl CountedBytes<'_> {
    /// The value of a counter; 0 if there is none of this name.
    fn named(&self, name: &str) -> u64 {
        let found = self.names.iter().zip(self.values).find(|(other, _)| *other == name);
        found.map_or(0, |(_, &value)| value)
    }

    /// The value of a counter of messages; 0 if it is not among them.
    pub fn of(&self, counter: Counter) -> u64 {
        self.named(NAMES[counter as usize])
    }

    /// The number of messages sent, and their bytes, by length, and the length in words; together all messages sent.
    pub fn by_length(&self) -> [(u64, u64, &'static str); 6] {
        sent_by_length(|counter| self.of(counter))
    }

    /// The bytes sent by each method, which together are all bytes sent.
    pub fn by_method(&self) -> [(u64, &'static str); 6] {
        let [sent, streamed, replied, rendezvous, exposed, written] = [
            Counter::BytesSent,
            Counter::BytesStreamed,
            Counter::BytesReplied,
            Counter::BytesRendezvous,
            Counter::BytesExposed,
            Counter::BytesWritten,
        ]
        .map(|counter| self.of(counter));
        let beyond_one_packet = streamed + replied + rendezvous;
        [
            (sent.saturating_sub(beyond_one_packet), "eagerly in one packet"),
            (streamed, "streamed eagerly"),
            (replied, "in reply to an RTR"),
            (rendezvous.saturating_sub(exposed + written), "by rendezvous in packets"),
            (exposed, "exposed to the receiver"),
            (written, "written to the receive buffer"),
        ]
    }

    fn sent_line(&self) -> Option<String> {
        let sent = self.of(Counter::BytesSent);
        let used = self.by_method().into_iter().filter(|&(bytes, _)| bytes > 0);
        let shares: Vec<String> = used.map(|(bytes, method)| format!("{} {method}", percent(bytes, sent))).collect();
        (sent > 0).then(|| format!("of the bytes sent: {}", shares.join(", ")))
    }

    pub fn received(&self) -> ReceivedBytes {
        let all = self.of(Counter::BytesReceived);
        ReceivedBytes {
            all,
            posted: all.saturating_sub(self.of(Counter::BytesUnexpected)),
            direct: self.of(Counter::BytesCopiedOnce) + self.named(IN_PLACE),
        }
    }
}

/// The bytes that were received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceivedBytes {
    pub all: u64,
    /// Those whose receive was posted before their message arrived.
    pub posted: u64,
    /// Those that were copied once, from the sender's buffer to the receiver's, or that the kernel placed.
    pub direct: u64,
}

impl ReceivedBytes {
    /// Returns the shares in words; None if there are no bytes.
    pub fn shares(&self) -> Option<String> {
        (self.all > 0).then(|| {
            format!(
                "of the bytes received: {} found their receive posted, {} never lay in the library's memory",
                percent(self.posted, self.all),
                percent(self.direct, self.all)
            )
        })
    }
}

/// Returns a share as text. The counters of a running program are read one after another, so a part may be found to
/// exceed the whole.
fn percent(part: u64, whole: u64) -> String {
    format!("{:.2} %", part.min(whole) as f64 * 100.0 / whole as f64)
}

/// Returns a line for the bytes sent, if there are any: which part of them went by which method; and one for the bytes
/// received: which part found its receive posted, and which part no rank's library has copied to memory of its own.
pub fn byte_shares(names: &[String], values: &[u64]) -> impl Iterator<Item = String> + use<> {
    let counted = CountedBytes { names, values };
    [counted.sent_line(), counted.received().shares()].into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(counted: &[(Counter, u64)], in_place: u64) -> Vec<String> {
        let mut names: Vec<String> = NAMES.iter().map(|&name| name.into()).collect();
        let mut values = vec![0; names.len()];
        counted.iter().for_each(|&(counter, bytes)| values[counter as usize] = bytes);
        names.push(IN_PLACE.into());
        values.push(in_place);
        byte_shares(&names, &values).collect()
    }

    #[test]
    fn the_methods_share_all_bytes_sent() {
        let counted = [
            (Counter::BytesSent, 10_000),
            (Counter::BytesStreamed, 1000),
            (Counter::BytesReplied, 2000),
            (Counter::BytesRendezvous, 6000),
            (Counter::BytesExposed, 3000),
            (Counter::BytesWritten, 1333),
        ];
        let expected = "of the bytes sent: 10.00 % eagerly in one packet, 10.00 % streamed eagerly, 20.00 % in reply \
                        to an RTR, 16.67 % by rendezvous in packets, 30.00 % exposed to the receiver, 13.33 % written \
                        to the receive buffer";
        assert_eq!(shares(&counted, 0), [expected]);
        assert_eq!(shares(&counted[..1], 0), ["of the bytes sent: 100.00 % eagerly in one packet"]);
    }

    #[test]
    fn posted_receives_have_their_share_of_the_bytes_received() {
        let line = |posted: &str, direct: &str| {
            format!(
                "of the bytes received: {posted} % found their receive posted, {direct} % never lay in the library's \
                 memory"
            )
        };
        let counted = |unexpected, copied_once| {
            [
                (Counter::BytesReceived, 800),
                (Counter::BytesUnexpected, unexpected),
                (Counter::BytesCopiedOnce, copied_once),
            ]
        };
        assert_eq!(shares(&counted(0, 0), 0), [line("100.00", "0.00")]);
        assert_eq!(shares(&counted(200, 100), 300), [line("75.00", "50.00")]);
        assert_eq!(shares(&counted(801, 900), 0), [line("0.00", "100.00")], "a program that runs");
    }

    #[test]
    fn nothing_has_no_shares() {
        assert_eq!(shares(&[], 0), [""; 0]);
        assert_eq!(byte_shares(&["another".into()], &[7]).count(), 0);
    }
}
