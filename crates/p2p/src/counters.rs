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
    Eager = "messages sent eagerly", Events, "sent at once, as they were short and the receiver had room (credit)";
    // Beside Eager, so that the fast path of sends touches one cache line.
    BytesSent = "bytes sent", Bytes, "in all messages, by any method";
    EagerStreams = "messages pushed in pieces", Events, "sent without asking, longer than a packet";
    RtrReplies = "messages that answered an offer (RTR)", Events, "sent where their receive had been posted first and had said so";
    Rendezvous = "messages sent by rendezvous", Events, "long, or out of credit: the receiver was asked";
    Pulled = "messages read from the sender's memory", Events, "received by one copy out of the sender's buffer";
    Written = "messages written to the receive buffer", Events, "sent by one copy into the receiver's buffer";
    ZeroCopy = "messages sent from where they lay", Events, "long ones between hosts, by a TCP connection of their own";
    RtrsSent = "offers made (RTR)", Events, "long receives whose senders were told of them";
    RtrsRefused = "offers refused as stale", Events, "their sender had sent first";
    CtsSent = "rendezvous granted", Events, "requests of senders to which this rank said yes";
    NoCredit = "eager messages without credit", Events, "short ones that had to ask, because the receiver holds too many unexpected bytes";
    WaitedForRoom = "messages that waited for room", Events, "their device could not take them at once";
    Unexpected = "messages that came before their receive", Events, "kept and copied once more";
    InvalidPackets = "packets that fitted nothing", Events, "of communicators that were freed, or from a peer that is gone";
    ShmSteps = "collective steps through flags", Events, "steps of collectives between the ranks of this host in shared memory";
    LaneContended = "lane locks that were contended", Events, "a thread had to wait for another one that was in the same communicator's lane";
    ProgressThreadWakes = "calls of the helper", Events, "wake-ups of the thread that moves messages while the program computes (HAWSER_PROGRESS)";
    Sleeps = "sleeps while waiting", Events, "waits that gave the core away until something came, each such sleep";
    SleepNs = "nanoseconds asleep while waiting", Nanoseconds, "the time that those sleeps took";
}
const _: () = assert!(NAMES.len() <= COUNTERS);

/// The number of leading slots that grow only when something moves.
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
