//! What a rail of ours is, and the pair of NICs that a way leads over.
//!
//! Before it: `dev-ether`, which says it of each rail. After it: `strand`, and `bulk`, `survey` and `stripe`, which
//! choose by it.

/// What a path is good for; short messages take the first that answers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Grade {
    /// Single frames: the shortest way.
    Quick,
    /// The same, a little longer.
    QuickEnough,
    /// Many frames at once, with few system calls; single ones take longer.
    #[default]
    Bulk,
    /// The same, and single ones take longest.
    BulkAlone,
}

/// One of our rails.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rail {
    pub grade: Grade,
    /// The NIC that it is a way over, by our number: of the ways between two NICs the best carries all bulk.
    pub nic: u8,
    /// The CRC covers whole payloads; where the medium checks them their front alone (P6).
    pub checked: bool,
    /// What it takes comes in the end as long as the way stands (TCP): only a long silence is a loss (P16).
    pub lossless: bool,
    /// Its paths are opened when there is much bulk that would be tried by them or go by them, or no other way answers;
    /// those for single frames where one over the same NIC is answered, but none of a better grade ever was.
    pub reserved: bool,
    /// By so many flows it may send to a peer's port: of one it opens all, if a network may give each only a share
    /// (P39).
    pub flows: u8,
}

impl Default for Rail {
    fn default() -> Rail {
        Rail { grade: Grade::default(), nic: 0, checked: true, lossless: false, reserved: false, flows: 1 }
    }
}

/// Two NICs between which there are ways: one of ours and one of the peer's, each by its owner's number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cable {
    pub ours: u8,
    pub theirs: u8,
}
