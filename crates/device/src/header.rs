//! The header of every packet: a few words that name the packet's protocol and belong to that protocol.
//!
//! A device carries these words and must never act on them. Used by the devices, by `transport`, and by `p2p::wire`,
//! the only protocol above the transport so far (others are meant for windows, PM and Madeleine); uses no other
//! module.

use std::fmt;

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

/// The header of a packet: `kind`, `aux`, `a` and `b`. The packet's protocol defines their meaning.
///
/// It has two words, so that a call passes it in two registers. As four fields it was copied through memory in each
/// call on the way to a device. Such a copy loads several fields at once, and waits until all earlier stores, among
/// them the last ones of the piece before, have left the store buffer: about 50 ns for each piece of a long message.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Header {
    /// `kind` in the low 8 bits, `aux` in the 16 bits above.
    kind_aux: u32,
    /// `a` in the low half, `b` in the high half.
    words: u64,
}

impl Header {
    #[inline(always)]
    pub const fn new(kind: u8, aux: u16, a: u32, b: u32) -> Header {
        Header { kind_aux: kind as u32 | (aux as u32) << 8, words: a as u64 | (b as u64) << 32 }
    }

    /// Makes the header of `kind_aux` and `words`. Bits of `kind_aux` above the lowest 24 are dropped.
    #[inline(always)]
    pub const fn of_words(kind_aux: u32, words: u64) -> Header {
        Header { kind_aux: kind_aux & 0xff_ffff, words }
    }

    /// Returns `kind` in the low 8 bits and `aux` in the 16 bits above.
    #[inline(always)]
    pub const fn kind_aux(self) -> u32 {
        self.kind_aux
    }

    /// Returns `a` in the low half and `b` in the high half.
    #[inline(always)]
    pub const fn words(self) -> u64 {
        self.words
    }

    #[inline(always)]
    pub const fn kind(self) -> u8 {
        self.kind_aux as u8
    }

    #[inline(always)]
    pub const fn aux(self) -> u16 {
        (self.kind_aux >> 8) as u16
    }

    #[inline(always)]
    pub const fn a(self) -> u32 {
        self.words as u32
    }

    #[inline(always)]
    pub const fn b(self) -> u32 {
        (self.words >> 32) as u32
    }

    #[inline(always)]
    pub fn protocol(self) -> Protocol {
        Protocol(self.kind() >> Protocol::KIND_BITS)
    }

    /// Returns the header of the piece of a stream that begins `bytes` bytes later. In the header of a piece, `b`
    /// holds the low 32 bits of its position in the stream and `aux` the high 16 bits.
    #[inline]
    pub fn moved(self, bytes: u64) -> Header {
        let at = (u64::from(self.aux()) << 32 | u64::from(self.b())).wrapping_add(bytes);
        Header::new(self.kind(), (at >> 32) as u16, self.a(), at as u32)
    }
}

impl fmt::Debug for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Header")
            .field("kind", &self.kind())
            .field("aux", &self.aux())
            .field("a", &self.a())
            .field("b", &self.b())
            .finish()
    }
}

/// The longest prefix, in bytes. A prefix is control data between the header and the payload of a packet.
pub const PREFIX_MAX: usize = 40;
