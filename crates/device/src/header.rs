//! What stands in front of every payload: a few words that name the packet's protocol and are that protocol's own.
//!
//! A device carries them and must never act on them. Before it: the protocols above the transport (`p2p::wire`,
//! windows, PM, Madeleine); after it: nothing.

/// A protocol above the transport, which takes packets of its own: the upper half of `Header::kind`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Protocol(u8);

impl Protocol {
    /// How many there can be.
    pub const COUNT: usize = 1 << (u8::BITS - Protocol::KIND_BITS);
    /// Bits of `Header::kind` that are the protocol's own.
    const KIND_BITS: u32 = 4;

    /// Messages between processes (`p2p::wire`).
    pub const MESSAGES: Protocol = Protocol::new(0);

    pub const fn new(number: u8) -> Protocol {
        assert!((number as usize) < Protocol::COUNT);
        Protocol(number)
    }

    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// `Header::kind` of the protocol's packets of kind `own`, of which each protocol has 16.
    pub const fn kind(self, own: u8) -> u8 {
        assert!(own >> Protocol::KIND_BITS == 0);
        self.0 << Protocol::KIND_BITS | own
    }
}

/// The words in front of every payload; the packet's protocol gives them their meaning.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Header {
    pub kind: u8,
    pub aux: u16,
    pub a: u32,
    pub b: u32,
}

impl Header {
    #[inline(always)]
    pub fn protocol(&self) -> Protocol {
        Protocol(self.kind >> Protocol::KIND_BITS)
    }

    /// The header of the piece of a stream that begins `bytes` later: `b`, and above it `aux`, say where one begins.
    #[inline]
    pub fn moved(self, bytes: u64) -> Header {
        let at = (u64::from(self.aux) << 32 | u64::from(self.b)).wrapping_add(bytes);
        Header { aux: (at >> 32) as u16, b: at as u32, ..self }
    }
}

/// Words of control data that may stand between a header and its payload.
pub const PREFIX_MAX: usize = 40;
