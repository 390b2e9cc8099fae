//! What a rank counts, slot by slot in its page (`job::counters`); shown by `hawser-info --stats`.

macro_rules! counters {
    ($($name:ident = $text:literal;)*) => {
        /// A slot in the rank's page.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(usize)]
        pub enum Counter { $($name),* }

        /// Their names, in the order of the slots.
        pub const NAMES: &[&str] = &[$($text),*];
    };
}

counters! {
    Eager = "messages sent eagerly";
    BytesSent = "bytes sent"; // beside it, so that the leanest send touches one line
    Pushed = "messages pushed in pieces";
    Answered = "messages that answered an offer (RTR)";
    Asked = "messages sent by rendezvous";
    Pulled = "messages read from the sender's memory";
    Written = "messages written to the receive buffer";
    Offers = "offers made (RTR)";
    StaleOffers = "offers refused as stale";
    Grants = "rendezvous granted";
    NoCredit = "eager messages without credit";
    Waited = "messages that waited for room";
    Unexpected = "messages that came before their receive";
    Strays = "packets that fitted nothing";
    HostSteps = "collective steps through flags";
    LaneContended = "lane locks that were contended";
}
const _: () = assert!(NAMES.len() <= hawser_job::counters::COUNTERS);
