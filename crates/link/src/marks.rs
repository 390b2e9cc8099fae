//! Marks: the states and events that the simulator must have reached. A mark that no seed reaches is not tested, and
//! the test names it (`tests/simulation`). Reasons for dropping a frame are counted anyway (`Endpoint::drops`).
//!
//! A build without the feature `marks` contains none of it; tests alone turn the feature on. Uses no other module.

#[cfg(feature = "marks")]
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

macro_rules! marks {
    ($($name:ident = $what:literal;)*) => {
        /// A state or an event of this crate.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Mark {
            $(#[doc = $what] $name,)*
        }

        /// All marks, with their texts.
        pub const MARKS: &[(Mark, &str)] = &[$((Mark::$name, $what)),*];
    };
}

marks! {
    HelloSent = "HELLO was sent";
    HelloShorter = "a shorter HELLO was sent, since longer ones were not answered";
    HelloShortest = "the shortest HELLO was sent";
    WelcomeRefused = "the wire did not take WELCOME";
    OpenedByHello = "a path was opened by its peer's HELLO";
    OpenedByWelcome = "a path was opened by WELCOME";
    OpenedAlready = "HELLO or WELCOME came for a path that is open";
    OpenedByPeer = "a path was begun by a peer that we had nothing for";
    FramesShorter = "long frames were lost while shorter ones came, and shorter ones were taken";
    RefusedLong = "the wire refused frames whose peer answers";
    LongerTried = "a HELLO that is longer than the path's frames was sent";
    FramesLonger = "a longer HELLO was answered, and longer frames were taken";
    AckWithData = "an acknowledgement went with data";
    AckApart = "an acknowledgement could not go with data, since there is a gap or it is due";
    AckLate = "an acknowledgement went alone after its delay";
    AckOfMany = "an acknowledgement went alone after many frames";
    AckOfAgain = "a frame that had come before was acknowledged at once";
    AckRefused = "the wire did not take an acknowledgement";
    LoseSaid = "LOSE was said";
    AskedByPeer = "the peer asked for an acknowledgement";
    ClosedNear = "numbers were closed up to one that had come";
    ClosedFar = "numbers were closed beyond all that had come";
    SettledInOrder = "frames were settled by the number that the peer expects";
    SettledBeyond = "frames were settled by bits of an acknowledgement";
    QuestionAgain = "a question went out while an earlier one was not answered";
    QuestionLost = "a question was lost";
    QuestionRefused = "the wire did not take a question";
    LostByNumber = "a frame was lost, since later ones had overtaken it";
    LostByTime = "a frame was lost, since a much later one had overtaken it";
    Probe = "a silence brought a question";
    Timeout = "a silence brought a timeout";
    TimeoutTooEarly = "what a timeout took for lost had come, and was only late";
    BackedOff = "the fifth timeout of a silence";
    HeardAgain = "a word of the peer's ended a back-off";
    SilentHeard = "a word of the peer's came on a silent path, and named nothing new of ours";
    Blocked = "something waited without room at the peer, and nothing was under way";
    NumbersUsedUp = "a window of numbers was open";
    NetworkFull = "as much was under way as the network bears";
    CreditUsedUp = "as much was under way as the peer granted";
    GrantDoubled = "a path used more than half of what it was granted, and got twice as much";
    GrantShared = "a path was granted less, since others have room";
    GrantLeast = "a path was granted the least, since nothing is left";
    RoomNarrowed = "much of several senders' was lost, and less was granted to all of them";
    RoomWidened = "little was lost of several senders', and more was granted";
    RoomNone = "a sender was granted nothing for now, since the network bears less than the least for each";
    GrantKept = "a path had more than its part, and got nothing more";
    HeldByStop = "as much was under way as the peer takes after STOP";
    Doubling = "the network's window doubled";
    Growing = "the network's window grew a little";
    Shrinking = "the network's window shrank";
    DeliveredAtOnce = "a message of one fragment was delivered as it came";
    DeliveredEarly = "a message of one fragment was delivered before earlier ones";
    KnownEarly = "a fragment came of a message that was delivered before earlier ones";
    DeliveredHeld = "a message was delivered out of what was held";
    HeldFirst = "a fragment was held in front of all others";
    HeldBetween = "a fragment was held between others";
    HeldLast = "a fragment was held behind all others";
    KnownMessage = "a fragment came of a message that was delivered";
    KnownFragment = "a fragment came that was held";
    UrgentRoom = "the next message of a peer took the last memory";
    UrgentOther = "the next message of a peer found the last memory kept for another peer";
    StopSaid = "STOP was said";
    GoSaid = "GO was said";
    TurnLong = "a way was tried for so long that its turn was over before its bytes were";
    TurnBegunAgain = "a way that was tried took what was cut for another one, which does not count";
    RateUp = "a path carried more than was known of it";
    RateDown = "a path carried less than was known of it, and was kept full";
    WaitedForQuicker = "bulk waited for the quickest way, which was full, since by another it would come later";
    TookSlower = "bulk took a slower way, since the quickest was full and would be for longer";
    BulkTried = "the ways over a NIC were tried with bulk";
    WayGuessed = "a peer was sent bulk by the way that won with another one";
    GuessAwaited = "a peer was sent bulk by some way while those to another one were tried";
    FlowsCalled = "further flows of a port were opened, since one may be held by the network";
    FlowsTried = "all flows of a port were tried beside the ways that were measured before";
    FlowsUsed = "a further flow of a port took bulk";
    FlowsCrowded = "further flows were left alone, since the network bears little by the first";
    CalledForBulk = "a path that was kept in reserve was opened, since there is much bulk";
    CalledAlone = "a path that was kept in reserve was opened, since no other answers";
    CalledInPlace = "a path that was kept in reserve was opened, since no better one over its NIC was answered";
    LostBehind = "what was lost went behind others that wait";
    LostInFront = "what was lost went in front of all that waits";
    WireFull = "the wire did not take all frames of a run";
    Cut = "a frame was cut in two for a shorter path";
    NotCut = "there was no memory to cut a frame in two";
    SendingFull = "a message was refused, since there was no memory";
    SendingUnfair = "a message was refused, since its peer had half of the memory";
    ControlPassed = "an envelope was taken where payload would have been refused";
    Forgotten = "a peer was forgotten that something was held for";
}

#[cfg(feature = "marks")]
static MET: [AtomicBool; MARKS.len()] = [const { AtomicBool::new(false) }; MARKS.len()];

/// Records that a mark was reached.
#[inline(always)]
pub(crate) fn mark(mark: Mark) {
    #[cfg(feature = "marks")]
    MET[mark as usize].store(true, Relaxed);
    #[cfg(not(feature = "marks"))]
    let _ = mark;
}

/// Whether this process reached the mark.
#[cfg(feature = "marks")]
pub fn is_met(mark: Mark) -> bool {
    MET[mark as usize].load(Relaxed)
}

/// Returns the marks that this process never reached.
#[cfg(feature = "marks")]
pub fn unmet() -> Vec<&'static str> {
    let unmet = MARKS.iter().filter(|&&(mark, _)| !MET[mark as usize].load(Relaxed));
    unmet.map(|&(_, what)| what).collect()
}
