//! Marks: the states and events that the simulator must have reached. A mark that no seed reaches is not tested, and
//! the test prints it (`tests/simulation`). Reasons for dropping a frame have no marks, because they are counted
//! anyway (`Endpoint::drop_counts`).
//!
//! A build without the feature `marks` records nothing; only tests turn the feature on. Uses no other module.

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
    OpenedAlready = "HELLO or WELCOME arrived for a path that is open";
    OpenedByPeer = "a path was begun by a peer that we had nothing for";
    FramesShorter = "long frames were lost while shorter ones arrived, and the path MTU was reduced";
    RefusedLong = "the wire refused frames whose peer answers";
    LongerTried = "a HELLO that is longer than the path's frames was sent";
    FramesLonger = "a longer HELLO was answered, and the path MTU was increased";
    AckWithData = "an acknowledgement went with data";
    AckApart = "an acknowledgement could not go with data, since there is a gap or it is due";
    AckLate = "an acknowledgement went alone after its delay";
    AckOfMany = "an acknowledgement went alone after many frames";
    AckOfDuplicate = "a duplicate was acknowledged at once";
    AckRefused = "the wire did not take an acknowledgement";
    LoseSent = "LOSE was sent";
    ProbedByPeer = "the peer requested an acknowledgement";
    ClosedNear = "numbers were closed up to one that had arrived";
    ClosedFar = "numbers were closed beyond all that had arrived";
    AckedInOrder = "frames were settled by the number that the peer expects";
    AckedBeyond = "frames were settled by bits of an acknowledgement";
    ProbeReplaced = "a probe was sent while an earlier one was in flight";
    ProbeLost = "a probe was lost";
    ProbeRefused = "the wire did not take a probe";
    LostByNumber = "a frame was lost, since later ones had overtaken it";
    LostByTime = "a frame was lost, since a much later one had overtaken it";
    Probe = "a silence led to a probe";
    Timeout = "a silence led to a timeout";
    TimeoutTooEarly = "frames that a timeout took for lost had arrived, but late";
    BackedOff = "the fifth timeout of a silence";
    BackOffEnded = "a frame of the peer ended a back-off";
    SilentReceived = "a frame of the peer arrived on a silent path, and acknowledged nothing new";
    Blocked = "something waited for credit, and nothing was in flight";
    NumbersUsedUp = "a window of numbers was open";
    NetworkFull = "as much was in flight as the network bears";
    CreditUsedUp = "as much was in flight as the peer has granted credit for";
    CreditDoubled = "a path used more than half of its credit, and got twice as much";
    CreditShared = "a path was granted less credit, since others have some";
    CreditMinimal = "a path was granted the least credit, since nothing is left";
    CapacityReduced = "much of several senders' traffic was lost, and all of them were granted less credit";
    CapacityIncreased = "little of several senders' traffic was lost, and they were granted more credit";
    CapacityNone = "a sender was granted no credit for now, since the network bears less than the least for each";
    CreditKept = "a path had more credit than its part, and got no more";
    LimitedByStop = "as much was in flight as the peer takes after STOP";
    Doubling = "the congestion window doubled";
    Growing = "the congestion window grew a little";
    Shrinking = "the congestion window shrank";
    DeliveredAtOnce = "a message of one fragment was delivered as it arrived";
    DeliveredEarly = "a message of one fragment was delivered before earlier ones";
    DuplicateEarly = "a fragment arrived of a message that was delivered before earlier ones";
    DeliveredBuffered = "a message was delivered from the reassembly buffer";
    BufferedFirst = "a fragment was buffered in front of all others";
    BufferedBetween = "a fragment was buffered between others";
    BufferedLast = "a fragment was buffered behind all others";
    DuplicateMessage = "a fragment arrived of a message that was delivered";
    DuplicateFragment = "a fragment arrived that was buffered";
    ReserveUsed = "the next message of a peer took the last memory";
    ReserveOfOther = "the next message of a peer found the last memory reserved for another peer";
    StopSent = "STOP was sent";
    GoSent = "GO was sent";
    IntervalLong = "a path's interval ended by its time before all its bytes were sent";
    IntervalRestarted = "a path in a trial carried frames that were cut for another one, which do not count";
    RateUp = "a path carried more than was known of it";
    RateDown = "a path carried less than was known of it, and was kept full";
    WaitedForQuicker = "bulk waited for the fastest path, which was full, since by another it would arrive later";
    TookSlower = "bulk took a slower path, since the fastest was full and would be for longer";
    BulkTried = "the paths over a NIC were tried with bulk";
    PathGuessed = "a peer was sent bulk by the path that won with another one";
    BulkPathGuessed = "a peer was sent bulk by the path made for it, before any trial";
    FirstTrialByTime = "the first trial began because bulk had taken long";
    FlowsOpened = "further flows of a port were opened, since the network may limit each flow";
    FlowsTried = "all flows of a port were tried in addition to the paths that were measured before";
    FlowsUsed = "a further flow of a port carried bulk";
    FlowsSuspended = "further flows were suspended, since the network bears little by the first";
    OpenedForBulk = "an on-demand path was opened, since there is much bulk";
    OpenedEarly = "an on-demand path for bulk was opened before there was any, since there are few peers";
    OpenedToBypass = "an on-demand path was opened, since there is much that might bypass link";
    OpenedAlone = "an on-demand path was opened, since no other responds";
    OpenedInPlace = "an on-demand path was opened, since no better one over its NIC was answered";
    LostBehind = "a lost frame was queued behind others that wait";
    LostInFront = "a lost frame was queued in front of all that wait";
    WireFull = "the wire did not take all frames of a run";
    FrameSplit = "a frame was cut in two for a shorter path";
    FrameNotSplit = "there was no memory to cut a frame in two";
    SendingFull = "a message was refused, since there was no memory";
    SendingUnfair = "a message was refused, since its peer had half of the memory";
    ControlPassed = "a message without payload was taken where payload would have been refused";
    Forgotten = "a peer was forgotten for which something was buffered or not acknowledged";
}

#[cfg(feature = "marks")]
static REACHED: [AtomicBool; MARKS.len()] = [const { AtomicBool::new(false) }; MARKS.len()];

/// Records that a mark was reached.
#[inline(always)]
pub(crate) fn mark(mark: Mark) {
    #[cfg(feature = "marks")]
    REACHED[mark as usize].store(true, Relaxed);
    #[cfg(not(feature = "marks"))]
    let _ = mark;
}

/// Whether this process reached the mark.
#[cfg(feature = "marks")]
pub fn is_reached(mark: Mark) -> bool {
    REACHED[mark as usize].load(Relaxed)
}

/// Returns the marks that this process never reached.
#[cfg(feature = "marks")]
pub fn unreached() -> Vec<&'static str> {
    let unmet = MARKS.iter().filter(|&&(mark, _)| !REACHED[mark as usize].load(Relaxed));
    unmet.map(|&(_, what)| what).collect()
}
