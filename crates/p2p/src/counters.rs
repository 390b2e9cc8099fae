//! The counters of a rank, one slot each in its page (`job::counters`); `hawser-info --stats` and MPI_T show them.

use hawser_job::counters::{COUNTERS, CounterInfo, CounterUnit, Counters};
use hawser_transport::SleepCounters;

macro_rules! counters {
    ($($name:ident = $text:literal, $unit:ident, $about:literal;)*) => {
        /// A slot in the rank's page.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(usize)]
        pub enum Counter { $($name),* }

        /// The names of the counters, in the order of the slots.
        pub const NAMES: &[&str] = &[$($text),*];

        /// The unit and meaning of each counter, in the same order.
        const MEANINGS: &[(CounterUnit, &str)] = &[$((CounterUnit::$unit, $about)),*];
    };
}

counters! {
    Eager = "messages sent eagerly", Events, "short messages, sent without an RTS within the receiver's credit";
    // The next two slots are beside Eager, so that the fast paths of sends and of receives touch one cache line.
    BytesSent = "bytes sent", Bytes, "in all messages, by any method";
    BytesReceived = "bytes received", Bytes, "in all messages of which anything has arrived, by any method";
    EagerStreams = "messages streamed eagerly", Events,
        "of more than one packet, or joined with others, sent without an RTS within the receiver's credit";
    DeviceStreams = "messages streamed in one call", Events,
        "those of the streamed ones that a device sent by a method of its own: between hosts, by a TCP connection";
    Joined = "messages that waited to be joined", Events,
        "in a run of nonblocking sends to one peer on another host, so that several left by one system call";
    RtrReplies = "messages sent in reply to an RTR", Events,
        "sent without an RTS, because their receive had been posted first";
    Rendezvous = "messages sent by rendezvous", Events,
        "long messages, and short ones without credit: each begins with an RTS";
    BytesStreamed = "bytes streamed eagerly", Bytes, "in the messages streamed eagerly";
    BytesDeviceStreams = "bytes streamed in one call", Bytes,
        "the part of the bytes streamed eagerly that left in the messages streamed in one call";
    BytesReplied = "bytes sent in reply to an RTR", Bytes, "in the messages sent in reply to an RTR";
    BytesRendezvous = "bytes sent by rendezvous", Bytes,
        "in the messages sent by rendezvous; what the bytes sent exceed those streamed eagerly, sent in reply to an RTR \
         and sent by rendezvous by went in messages of one packet";
    // The lengths' counters stand in pairs, as `LENGTH_CLASSES` has them.
    MessagesTo1Ki = "messages of 65 B to 1 KiB", Events,
        "of all messages sent, those of this length; what remains are those of at most 64 B";
    BytesTo1Ki = "bytes in messages of 65 B to 1 KiB", Bytes, "the part of the bytes sent in messages of this length";
    MessagesTo8Ki = "messages of 1 to 8 KiB", Events, "of all messages sent, those of this length";
    BytesTo8Ki = "bytes in messages of 1 to 8 KiB", Bytes, "the part of the bytes sent in messages of this length";
    MessagesTo64Ki = "messages of 8 to 64 KiB", Events, "of all messages sent, those of this length";
    BytesTo64Ki = "bytes in messages of 8 to 64 KiB", Bytes, "the part of the bytes sent in messages of this length";
    MessagesTo1Mi = "messages of 64 KiB to 1 MiB", Events, "of all messages sent, those of this length";
    BytesTo1Mi = "bytes in messages of 64 KiB to 1 MiB", Bytes, "the part of the bytes sent in messages of this length";
    MessagesLonger = "messages above 1 MiB", Events, "of all messages sent, those of this length";
    BytesLonger = "bytes in messages above 1 MiB", Bytes, "the part of the bytes sent in messages of this length";
    BytesExposed = "bytes exposed to the receiver", Bytes,
        "the part of the bytes sent by rendezvous that the receiver may read from the sender's memory";
    Pulled = "messages read from the sender's memory", Events, "received by one copy out of the sender's buffer";
    BytesPulled = "bytes read from the sender's memory", Bytes, "in these messages, counted by the receiver";
    Written = "messages written to the receive buffer", Events, "sent by one copy into the receiver's buffer";
    BytesWritten = "bytes written to the receive buffer", Bytes,
        "in these messages, counted by the sender: a part of the bytes sent by rendezvous";
    BytesCopiedOnce = "bytes copied once", Bytes,
        "the part of the bytes received that was copied once, from the sender's buffer to the receiver's: by this rank, \
         which read them, or by the sender, which wrote them";
    ZeroCopy = "messages sent zero-copy", Events,
        "whose rest went from the program's memory, between hosts, over a TCP connection beside the frames";
    BytesZeroCopy = "bytes sent zero-copy", Bytes,
        "the part of the bytes sent that left in these rests, by whatever method their messages began";
    RtrsSent = "RTRs sent", Events, "long receives that were announced to their sender";
    RtrsRefused = "RTRs refused as stale", Events, "the sender had sent its message before the RTR arrived";
    CtsSent = "CTSs sent", Events, "replies to an RTS that request the message's bytes";
    NoCredit = "eager messages without credit", Events,
        "messages of eager length sent with an RTS, because the receiver holds too many unexpected bytes";
    WaitedForRoom = "messages that waited for the device", Events,
        "the device could not take them when they were sent, or one before them waited";
    Unexpected = "unexpected messages", Events, "arrived before their receive was posted, and were copied once more";
    BytesUnexpected = "bytes of unexpected messages", Bytes,
        "the part of the bytes received whose message arrived before its receive was posted; a message that still lies \
         in its device when the receive is called is not unexpected";
    InvalidPackets = "invalid packets dropped", Events, "packets of freed communicators, or of a peer that has ended";
    ShmSteps = "collective steps by flags", Events,
        "steps of collectives among the ranks of this host, in shared memory";
    LaneContended = "contended lane locks", Events,
        "a thread waited for another one that was in the same communicator's lane";
    ProgressThreadWakes = "wake-ups of the progress thread", Events,
        "of the thread that moves messages while the program computes (HAWSER_PROGRESS)";
    Sleeps = "sleeps while waiting", Events, "times that a wait released the core until an event";
    SleepNs = "nanoseconds asleep while waiting", Nanoseconds, "the total time of these sleeps";
}
const _: () = assert!(NAMES.len() <= COUNTERS);

/// The length, in bytes, up to which a message has no counter of its length: the fast path of the shortest ones adds
/// to no further slot. Their number is that of all messages without the others.
const UNCOUNTED_LENGTH_MAX: u64 = 64;
/// The classes of longer messages: the longest length, and the counters of messages and of bytes, which are neighbours.
const LENGTH_CLASSES: [(u64, Counter, Counter); 5] = [
    (1 << 10, Counter::MessagesTo1Ki, Counter::BytesTo1Ki),
    (8 << 10, Counter::MessagesTo8Ki, Counter::BytesTo8Ki),
    (64 << 10, Counter::MessagesTo64Ki, Counter::BytesTo64Ki),
    (1 << 20, Counter::MessagesTo1Mi, Counter::BytesTo1Mi),
    (u64::MAX, Counter::MessagesLonger, Counter::BytesLonger),
];
const _: () = {
    let mut at = 0;
    while at < LENGTH_CLASSES.len() {
        let (_, messages, bytes) = LENGTH_CLASSES[at];
        let slot = Counter::MessagesTo1Ki as usize + 2 * at;
        assert!(messages as usize == slot && bytes as usize == slot + 1);
        at += 1;
    }
};

/// Counts a message that is sent, by whatever method, and its length.
#[inline(always)]
pub fn count_sent(counters: &Counters, bytes: u64) {
    counters.add(Counter::BytesSent as usize, bytes);
    if bytes > UNCOUNTED_LENGTH_MAX {
        let class: usize = LENGTH_CLASSES[..4].iter().map(|&(longest, ..)| usize::from(bytes > longest)).sum();
        let slot = Counter::MessagesTo1Ki as usize + 2 * class;
        counters.add(slot, 1);
        counters.add(slot + 1, bytes);
    }
}

/// The messages sent, and their bytes, by length, and the length in words, from the shortest class on. `value` gives
/// the value of a counter.
pub fn sent_by_length(value: impl Fn(Counter) -> u64) -> [(u64, u64, &'static str); 6] {
    let methods = [Counter::Eager, Counter::EagerStreams, Counter::RtrReplies, Counter::Rendezvous];
    let all: u64 = methods.into_iter().map(&value).sum();
    let longer = LENGTH_CLASSES.map(|(_, messages, bytes)| {
        (value(messages), value(bytes), NAMES[messages as usize].trim_start_matches("messages "))
    });
    let counted = longer.iter().fold((0, 0), |sum, class| (sum.0 + class.0, sum.1 + class.1));
    let shortest =
        (all.saturating_sub(counted.0), value(Counter::BytesSent).saturating_sub(counted.1), "of at most 64 B");
    let [to_1ki, to_8ki, to_64ki, to_1mi, above] = longer;
    [shortest, to_1ki, to_8ki, to_64ki, to_1mi, above]
}

/// The number of slots, from the first one on, that grow only when something moves.
pub const PROGRESS_COUNTERS: usize = Counter::Sleeps as usize;

/// Returns the counters in which a wait counts its sleeps.
pub fn sleep_counters(counters: &Counters) -> SleepCounters {
    let word = |counter: Counter| counters.word(counter as usize);
    SleepCounters { times: word(Counter::Sleeps), ns: word(Counter::SleepNs) }
}

/// Returns all counters for display, in the order of the slots.
pub fn entries() -> impl Iterator<Item = CounterInfo> {
    let entry = |(name, &(unit, about)): (&&str, &(CounterUnit, &str))| CounterInfo {
        name: (*name).into(),
        unit,
        about: about.into(),
    };
    NAMES.iter().zip(MEANINGS).map(entry)
}

#[cfg(test)]
mod tests;
