//! Bugs that a protocol like this one has had, or could have: the simulator must find each (`tests/planted.rs`), or it does
//! not prove what it is there for.
//!
//! Nothing of it is in a build without the feature `planted`, which tests alone turn on; there a thread has one, or none.
//! After it: nothing.

#[cfg(feature = "planted")]
use std::cell::Cell;

macro_rules! bugs {
    ($($(#[$what:meta])* $name:ident $(= $number:literal)?,)*) => {
        /// A bug. By its number, from 1 on, it is chosen.
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
    /// With a gap the acknowledgement says that the missing frame has come (P12).
    AckTooFar = 1,
    /// The bits of an acknowledgement are one place off (P12).
    BitsShifted,
    /// What is lost gives its credit back, and goes out beyond it (P21).
    CreditGivenBack,
    /// A number is taken as often as it comes (P11).
    TakenTwice,
    /// STOP is not heard (P20).
    StopIgnored,
    /// A frame of a path that is no more counts for the one that has its place (P7).
    StalePath,
    /// Fragments that overlap are both held (P22).
    OverlapHeld,
    /// What was delivered before earlier messages is delivered again when it comes again (P22).
    EarlyTwice,
    /// The timer does not run on when a part of what is under way has come (P16).
    TimerStopped,
    /// A lost tail, and room at the peer, are not asked for (P17).
    ProbeNotSent,
    /// The round trip is that of the oldest frame that an acknowledgement names, which waited for another one's.
    RoundTripOfOldest,
    /// Tags are not checked (P4).
    TagUnchecked,
    /// After a number of timeouts the peer is given up: its last acknowledgement may have been lost (P18).
    SilenceIsDeath,
    /// Each path is granted room as if there were no other (P21).
    RoomForEach,
    /// A path that is silent is not asked (P24).
    SilentForever,
    /// What waits goes by the path that lost something, as long as that is silent (P24).
    BoundToPath,
    /// A path on which the peer is heard now and then is not silent, though nothing of ours reaches it (P24).
    OneWayAlive,
    /// Long frames are lost, and sent again as long as they were (P25).
    ShrunkUnnoticed,
    /// The front of a payload that the medium checks is believed without its CRC (P6).
    FrontUncovered,
}

#[cfg(feature = "planted")]
thread_local! {
    static PLANTED: Cell<Option<Bug>> = const { Cell::new(None) };
}

/// Gives this thread a bug.
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
