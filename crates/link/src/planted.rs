//! Bugs that a protocol like this one has had, or could have, each with the rule `P<n>` of docs/protocol.md that it
//! breaks, if there is one. The simulator must find each of them (`tests/planted.rs`); a simulator that misses one
//! does not prove what it is meant to prove.
//!
//! A build without the feature `planted` contains none of the bugs. Only tests turn the feature on, and then each
//! thread has one bug, or none. Uses no other module.

#[cfg(feature = "planted")]
use std::cell::Cell;

macro_rules! bugs {
    ($($(#[$what:meta])* $name:ident $(= $number:literal)?,)*) => {
        /// A bug, chosen by its number, from 1 on.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Bug {
            $($(#[$what])* $name $(= $number)?,)*
        }

        impl Bug {
            pub const ALL: [Bug; 19] = [$(Bug::$name),*];
        }
    };
}

bugs! {
    /// With a gap, the acknowledgement reports the missing frame as arrived (P12).
    AckTooFar = 1,
    /// The bits of an acknowledgement are one place off (P12).
    BitsShifted,
    /// A lost frame returns its credit, and is retransmitted beyond the credit (P21).
    CreditGivenBack,
    /// A number is accepted as often as it arrives (P11).
    TakenTwice,
    /// STOP is ignored (P20).
    StopIgnored,
    /// A frame of a closed path is accepted for the path that has its index now (P7).
    StalePath,
    /// Fragments that overlap are both kept (P22).
    OverlapBuffered,
    /// A message that was delivered before earlier ones is delivered again when a duplicate arrives (P22).
    EarlyTwice,
    /// The timer stops when some of the frames in flight have been acknowledged and others have not (P16).
    TimerStopped,
    /// No probe is sent for a lost tail, or for credit of the peer (P17).
    ProbeNotSent,
    /// The round trip is measured by the oldest of the frames that are acknowledged together: its acknowledgement was
    /// delayed until later frames had arrived.
    RoundTripOfOldest,
    /// Tags are not checked (P4).
    TagUnchecked,
    /// The peer is taken for dead after a number of timeouts, though perhaps only its last acknowledgement was lost
    /// (P18).
    SilenceIsDeath,
    /// Each path is granted credit as if there were no other (P21).
    CreditForEach,
    /// A silent path is not probed (P24).
    SilentForever,
    /// If a path is silent, waiting frames may take only silent paths, as if they were bound to the path that lost
    /// some (P24).
    BoundToPath,
    /// A path on which frames of the peer arrive counts as alive, although none of our frames reaches the peer (P24).
    OneWayAlive,
    /// Long frames are lost, and retransmitted in the same length (P25).
    ShrunkUnnoticed,
    /// The front of a payload that the medium checks is trusted without its CRC (P6).
    FrontUncovered,
}

#[cfg(feature = "planted")]
thread_local! {
    static PLANTED: Cell<Option<Bug>> = const { Cell::new(None) };
}

/// Gives this thread a bug, or none.
#[cfg(feature = "planted")]
pub fn plant(bug: Option<Bug>) {
    PLANTED.set(bug);
}

/// Whether this thread has this bug.
#[inline(always)]
pub(crate) fn planted(bug: Bug) -> bool {
    #[cfg(feature = "planted")]
    return PLANTED.get() == Some(bug);
    #[cfg(not(feature = "planted"))]
    {
        let _ = bug;
        false
    }
}
