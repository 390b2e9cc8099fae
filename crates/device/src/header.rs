//! The header of every packet: a few words that name the packet's protocol and belong to that protocol.
//!
//! A device carries these words and must never act on them. Used by the devices, by `transport`, and by `p2p::wire`,
//! the only protocol above the transport so far (others are meant for windows, PM and Madeleine); uses no other
//! module.

/// A protocol above the transport, which receives packets of its own: the upper half of `Header::kind`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Protocol(u8);

impl Protocol {
    /// The maximum number of protocols.
    pub const COUNT: usize = 1 << (u8::BITS - Protocol::KIND_BITS);
    /// Bits of `Header::kind` that belong to the protocol.
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

    /// Returns the `Header::kind` of the protocol's packets of kind `own`, a number from 0 to 15.
    pub const fn kind(self, own: u8) -> u8 {
        assert!(own >> Protocol::KIND_BITS == 0);
        self.0 << Protocol::KIND_BITS | own
    }
}

/// The header of a packet; the packet's protocol defines the meaning of its words.
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

    /// Returns the header of the piece of a stream that begins `bytes` bytes later. In the header of a piece, `b`
    /// holds the low 32 bits of its position in the stream and `aux` the high 16 bits.
    #[inline]
    pub fn moved(self, bytes: u64) -> Header {
        let at = (u64::from(self.aux) << 32 | u64::from(self.b)).wrapping_add(bytes);
        Header { aux: (at >> 32) as u16, b: at as u32, ..self }
    }
}

/// The longest prefix, in bytes. A prefix is control data between the header and the payload of a packet.
pub const PREFIX_MAX: usize = 40;
