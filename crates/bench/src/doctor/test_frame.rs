//! The frames of the doctor. A frame has 64 bytes, or the length that is being tried; its header names its step, path
//! and kind.
//!
//! Any host that can reach a port can send it anything: a frame with another header is ignored. Used by
//! `reachability`, `measure`, `echo`.

/// The length of a short frame, which is that of a frame with a short message of MPI.
pub const SHORT: usize = 64;

const MAGIC: [u8; 4] = *b"Hdoc";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum TestFrameKind {
    /// A frame of the reachability test; `number` is 1 if the sender has received such a frame from the other end on
    /// this path.
    Reachability = 1,
    /// A frame to which an Echo with the same number must reply.
    Ping = 2,
    /// The reply to a Ping. `time_ns`: the time of the reply, by the clock of the replying host.
    Echo = 3,
    /// A frame that is only counted.
    Paced = 4,
}

/// The header of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TestFrameHeader {
    /// The token of the step, by which late frames of an earlier step are recognised.
    pub token: u32,
    pub path: u16,
    pub kind: TestFrameKind,
    pub number: u32,
    pub time_ns: u64,
}

impl TestFrameHeader {
    /// A frame of `len` bytes, but at least SHORT, that begins with this header.
    pub fn frame(&self, len: usize) -> Vec<u8> {
        let mut frame = vec![0; len.max(SHORT)];
        frame[..4].copy_from_slice(&MAGIC);
        frame[4..8].copy_from_slice(&self.token.to_le_bytes());
        frame[8..10].copy_from_slice(&self.path.to_le_bytes());
        frame[10] = self.kind as u8;
        frame[12..16].copy_from_slice(&self.number.to_le_bytes());
        frame[16..24].copy_from_slice(&self.time_ns.to_le_bytes());
        frame
    }

    pub fn parse(frame: &[u8]) -> Option<TestFrameHeader> {
        let header = frame.get(..24).filter(|header| header[..4] == MAGIC)?;
        let kind = [TestFrameKind::Reachability, TestFrameKind::Ping, TestFrameKind::Echo, TestFrameKind::Paced]
            .into_iter()
            .find(|&kind| kind as u8 == header[10])?;
        Some(TestFrameHeader {
            token: u32::from_le_bytes(header[4..8].try_into().ok()?),
            path: u16::from_le_bytes(header[8..10].try_into().ok()?),
            kind,
            number: u32::from_le_bytes(header[12..16].try_into().ok()?),
            time_ns: u64::from_le_bytes(header[16..24].try_into().ok()?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_comes_back_and_other_frames_have_none() {
        let header = TestFrameHeader { token: 7, path: 3, kind: TestFrameKind::Echo, number: 9, time_ns: u64::MAX - 1 };
        let frame = header.frame(1400);
        assert_eq!((frame.len(), TestFrameHeader::parse(&frame)), (1400, Some(header)));
        assert_eq!(header.frame(1).len(), SHORT);
        for stray in [&frame[..23], &[0xa5; 64], b"Hdoc", &[]] {
            assert_eq!(TestFrameHeader::parse(stray), None);
        }
    }
}
