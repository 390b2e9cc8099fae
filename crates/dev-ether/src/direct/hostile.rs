//! Fuzzes direct connections by a hostile rank of our own job, which has the key: it may connect, write and send
//! control messages in any order, for any connection, at any position (P36, P37).
//!
//! Nothing may panic, no end may trust a count of bytes that were never sent, and borrowed memory is returned exactly
//! once.

use super::inbound::Inbound;
use super::outbound::{Lent, Outbound, Returned};
use super::wire::{FRONT, Reply, front_of};
use bolero::{TypeGenerator, check};
use hawser_base::{Lane, UserMem};
use hawser_device::Header;
use hawser_link::Seq;
use hawser_link::frame::{Ends, Key};
use std::cell::Cell;
use std::panic::AssertUnwindSafe;

const ENDS: Ends = Ends { from: 0, to: 1 };

#[derive(Clone, Copy, Debug, TypeGenerator)]
enum ToReceiver {
    Greet {
        number: u8,
    },
    /// A front with its tag, for the connection's position, or `off` bytes behind it.
    Front {
        lane: u8,
        kind: u8,
        len: u8,
        behind: Option<u32>,
        off: bool,
    },
    /// Arbitrary bytes in the place of a front.
    Forged {
        front: [u8; FRONT],
    },
    Bytes {
        count: u8,
    },
    Ask {
        number: u8,
        closing: bool,
    },
    Drained,
    Over,
    Said,
}

/// The receiving end, with the bytes that were written to its connection.
struct Receiver {
    inward: Inbound,
    key: Key,
    number: u32,
    written: u64,
    over: bool,
    /// Parts of messages that were read to their end.
    pieces: usize,
}

impl Receiver {
    /// Reads as `Direct::read` does: all available bytes at once.
    fn feed(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() && !self.over {
            if let Some(&piece) = self.inward.piece() {
                let here = piece.left.min(bytes.len() as u64);
                if here == piece.left {
                    self.inward.promise();
                    self.pieces += 1;
                }
                self.inward.took(here as usize);
                bytes = &bytes[here as usize..];
                self.written += here;
                continue;
            }
            let room = self.inward.room();
            let here = room.len().min(bytes.len());
            room[..here].copy_from_slice(&bytes[..here]);
            self.written += here as u64;
            bytes = &bytes[here..];
            if self.inward.got_front(here, &self.key, ENDS).is_none() {
                self.over = self.inward.drained(true);
            }
        }
    }

    fn hear(&mut self, what: ToReceiver) {
        match what {
            ToReceiver::Greet { number } => {
                if self.inward.greet(few(number)) {
                    (self.number, self.written, self.over) = (few(number), 0, false);
                }
            }
            ToReceiver::Front { lane, kind, len, behind, off } => {
                let place = (self.number, self.written + u64::from(off));
                let header = Header { kind, ..Header::default() };
                let front =
                    front_of(Lane(lane), header, behind.map(Seq), u64::from(len % 64), place, (&self.key, ENDS));
                self.feed(&front);
            }
            ToReceiver::Forged { front } => self.feed(&front),
            ToReceiver::Bytes { count } => self.feed(&vec![0; usize::from(count)]),
            ToReceiver::Ask { number, closing } => {
                self.inward.asked(few(number), closing);
                self.over |= few(number) > self.number;
            }
            ToReceiver::Drained => self.over |= self.inward.drained(false),
            ToReceiver::Over => self.over |= self.inward.drained(true),
            ToReceiver::Said => self.inward.said(),
        }
        if let Some(Reply::At { number, count } | Reply::Closed { number, count }) = self.inward.owed() {
            assert!(number != self.number || count <= self.written, "{count} of {}", self.written);
        }
    }
}

#[test]
fn nothing_that_a_rank_writes_harms_the_receiver() {
    let reached = AssertUnwindSafe(Cell::new(0));
    check!().with_type::<Vec<ToReceiver>>().with_iterations(30_000).for_each(|all| {
        let (inward, key) = (Inbound::new(), Key::new([1; 16]));
        let mut receiver = Receiver { inward, key, number: 0, written: 0, over: true, pieces: 0 };
        receiver.hear(ToReceiver::Greet { number: 1 });
        all.iter().for_each(|&what| receiver.hear(what));
        reached.set(reached.get() + receiver.pieces);
    });
    assert!(reached.get() > 0, "no message ever ended");
}

/// A count that is right more often than by chance.
#[derive(Clone, Copy, Debug, TypeGenerator)]
enum Count {
    None,
    All,
    Some(u16),
}

impl Count {
    fn of(self, written: u64) -> u64 {
        match self {
            Count::None => 0,
            Count::All => written,
            Count::Some(count) => count.into(),
        }
    }
}

/// Maps to few connection numbers, so that some messages are about the present one.
fn few(number: u8) -> u32 {
    u32::from(number % 4)
}

#[derive(Clone, Copy, Debug, TypeGenerator)]
enum ToSender {
    Call,
    Lend { len: u8 },
    Write { bytes: u8 },
    At { number: u8, count: Count },
    Closed { number: u8, count: Count },
    Broke,
    Look,
    Said,
}

#[test]
fn nothing_that_a_rank_says_makes_the_sender_give_back_twice_or_what_it_did_not_write() {
    let reached = AssertUnwindSafe(Cell::new(0));
    // Borrowed memory is never freed here.
    let memory = UserMem::of_slice(vec![7; 255].leak());
    check!().with_type::<Vec<ToSender>>().with_iterations(30_000).for_each(|all| {
        let (mut out, key) = (Outbound::new(), Key::new([1; 16]));
        let (mut now_ns, mut lent, mut back, mut written) = (0, Vec::new(), Vec::new(), 0);
        let mut here = 0; // in `written`, where this connection begins
        for &what in all {
            now_ns += 1 << 30;
            let mut give = |given: Returned| back.push((given.ticket, given.taken));
            match what {
                ToSender::Call if out.may_call(now_ns) => {
                    out.call();
                    here = written;
                }
                ToSender::Lend { len } if out.is_open() && len > 0 => {
                    let mem = memory.slice(0, usize::from(len));
                    let ticket = lent.len() as u32;
                    lent.push(u64::from(len));
                    out.lend(Lent { lane: Lane(0), ticket, mem }, Header::default(), None, (&key, ENDS), now_ns);
                }
                ToSender::Write { bytes } => {
                    if let Some((front, body)) = out.next() {
                        let bytes = usize::from(bytes).min(front.len() + body.len());
                        out.wrote(bytes, now_ns);
                        written += bytes as u64;
                    }
                }
                ToSender::At { number, count } => out.at(few(number), count.of(written - here), now_ns, &mut give),
                ToSender::Closed { number, count } => {
                    out.closed(few(number), count.of(written - here), now_ns, &mut give)
                }
                ToSender::Broke => out.broke(now_ns),
                ToSender::Look => out.look(now_ns),
                ToSender::Said => out.said(),
                ToSender::Call | ToSender::Lend { .. } => {}
            }
            let taken: u64 = back.iter().map(|&(_, taken)| taken).sum();
            assert!(back.iter().all(|&(ticket, taken)| taken <= lent[ticket as usize]), "{back:?} of {lent:?}");
            assert!(taken <= written, "{taken} of {written}");
        }
        let mut tickets: Vec<u32> = back.iter().map(|&(ticket, _)| ticket).collect();
        tickets.sort_unstable();
        assert!(tickets.is_sorted_by(|a, b| a < b), "given back twice: {tickets:?}");
        reached.set(reached.get() + tickets.len());
    });
    assert!(reached.get() > 0, "nothing was ever lent and given back");
}
