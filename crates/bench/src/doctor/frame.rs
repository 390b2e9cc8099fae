//! Frames of the doctor: 64 bytes, or as long as is being tried, each with a head that names its step, path and kind.
//!
//! Any host that can reach a port can send it anything: a frame with another head is ignored. Used by `call`,
//! `measure`, `answer`.

/// The length of a short frame; a short message of MPI takes as much.
pub const SHORT: usize = 64;

const MAGIC: [u8; 4] = *b"Hdoc";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// A call to find the other end; `number` is 1 if the sender has received the other's call on this path.
    Call = 1,
    /// A frame that an Echo with the same number must answer.
    Ping = 2,
    /// An answer to a Ping. `time_ns`: the time of the answer, by the clock of the answering host.
    Echo = 3,
    /// A frame that is only counted.
    Paced = 4,
}

/// The head of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// The token of the step: late frames belong to an earlier one.
    pub token: u32,
    pub way: u16,
    pub kind: Kind,
    pub number: u32,
    pub time_ns: u64,
}

impl Head {
    /// A frame that begins with this head. `len` is at least SHORT.
    pub fn frame(&self, len: usize) -> Vec<u8> {
        let mut frame = vec![0; len.max(SHORT)];
        frame[..4].copy_from_slice(&MAGIC);
        frame[4..8].copy_from_slice(&self.token.to_le_bytes());
        frame[8..10].copy_from_slice(&self.way.to_le_bytes());
        frame[10] = self.kind as u8;
        frame[12..16].copy_from_slice(&self.number.to_le_bytes());
        frame[16..24].copy_from_slice(&self.time_ns.to_le_bytes());
        frame
    }

    pub fn of(frame: &[u8]) -> Option<Head> {
        let head = frame.get(..24).filter(|head| head[..4] == MAGIC)?;
        let kind =
            [Kind::Call, Kind::Ping, Kind::Echo, Kind::Paced].into_iter().find(|&kind| kind as u8 == head[10])?;
        Some(Head {
            token: u32::from_le_bytes(head[4..8].try_into().ok()?),
            way: u16::from_le_bytes(head[8..10].try_into().ok()?),
            kind,
            number: u32::from_le_bytes(head[12..16].try_into().ok()?),
            time_ns: u64::from_le_bytes(head[16..24].try_into().ok()?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_comes_back_and_other_frames_have_none() {
        let head = Head { token: 7, way: 3, kind: Kind::Echo, number: 9, time_ns: u64::MAX - 1 };
        let frame = head.frame(1400);
        assert_eq!((frame.len(), Head::of(&frame)), (1400, Some(head)));
        assert_eq!(head.frame(1).len(), SHORT);
        for stray in [&frame[..23], &[0xa5; 64], b"Hdoc", &[]] {
            assert_eq!(Head::of(stray), None);
        }
    }
}
