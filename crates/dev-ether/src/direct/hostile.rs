//! Fuzzes direct connections by a hostile rank of our own job, which has the key: it may connect, write and send
//! control messages in any order, for any connection, at any position (P36, P37).
//!
//! Nothing may panic, no end may trust a count of bytes that were never sent, and borrowed memory is returned exactly
//! once.

use super::order::UNCONFIRMED_MAX;
use super::receiver::DirectReceiver;
use super::sender::{DirectPacket, DirectSender, ZeroCopyDone, ZeroCopySend};
use super::wire::{self, PART_HEADER_BYTES, PartHeader, PartKind, ReadReport, ReceiverControl, encode_part_header};
use bolero::{TypeGenerator, check};
use hawser_base::{Lane, UserMem};
use hawser_device::Header;
use hawser_link::Seq;
use hawser_link::frame::{JobKey, PeerPair};
use std::cell::Cell;
use std::panic::AssertUnwindSafe;

const PEER_PAIR: PeerPair = PeerPair { from: 0, to: 1 };

#[derive(Clone, Copy, Debug, TypeGenerator)]
enum ToReceiver {
    Accept {
        number: u8,
    },
    /// A part header with its tag, for the connection's position, or `off` bytes behind it.
    Header {
        part: u8,
        lane: u8,
        kind: u8,
        len: u8,
        after: Option<u32>,
        off: bool,
        is_padded: bool,
    },
    /// Arbitrary bytes in the place of a part header.
    Forged {
        front: [u8; PART_HEADER_BYTES],
    },
    Bytes {
        count: u8,
    },
    Query {
        number: u8,
        closing: bool,
    },
    Drained,
    Ended,
    ReplySent,
}

/// The receiving end, with the bytes that were written to its connection.
struct Receiver {
    direct_receiver: DirectReceiver,
    key: JobKey,
    number: u32,
    written: u64,
    has_ended: bool,
    /// Parts of messages that were read to their end.
    parts: usize,
}

impl Receiver {
    /// Reads as `DirectConnections::read` does: all available bytes at once.
    fn feed(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() && !self.has_ended {
            if let Some(&part) = self.direct_receiver.part() {
                let count = part.left.min(bytes.len() as u64);
                if count == part.left && part.kind == PartKind::ZeroCopy {
                    self.direct_receiver.guarantee_rest();
                }
                self.parts += usize::from(count == part.left);
                self.direct_receiver.record_taken(count as usize);
                bytes = &bytes[count as usize..];
                self.written += count;
                continue;
            }
            let read = self.direct_receiver.ahead().len();
            // A whole header that was not taken is padded.
            let missing = wire::part_start(read >= PART_HEADER_BYTES) - read;
            let count = missing.min(bytes.len());
            self.direct_receiver.ahead_space()[..count].copy_from_slice(&bytes[..count]);
            self.direct_receiver.record_ahead(count);
            self.written += count as u64;
            bytes = &bytes[count..];
            if self.direct_receiver.begin_part(&self.key, PEER_PAIR).is_none() {
                self.has_ended = self.direct_receiver.record_drained(true);
            }
        }
    }

    fn handle(&mut self, event: ToReceiver) {
        match event {
            ToReceiver::Accept { number } => {
                if self.direct_receiver.accept(few(number)) {
                    (self.number, self.written, self.has_ended) = (few(number), 0, false);
                }
            }
            ToReceiver::Header { part, lane, kind, len, after, off, is_padded } => {
                let position = (self.number, self.written + u64::from(off));
                let kinds = [PartKind::ZeroCopy, PartKind::Packet, PartKind::PacketRest];
                let header = Header::new(kind, 0, 0, 0);
                let (after, len) = (after.map(Seq), u64::from(len % 64));
                let kind = kinds[usize::from(part % 3)];
                let part = PartHeader { kind, lane, header, after, len, prefix_crc: 0, report: None, is_padded };
                self.feed(&encode_part_header(part, position, (&self.key, PEER_PAIR)));
            }
            ToReceiver::Forged { front } => self.feed(&front),
            ToReceiver::Bytes { count } => self.feed(&vec![0; usize::from(count)]),
            ToReceiver::Query { number, closing } => {
                self.direct_receiver.handle_query(few(number), closing);
                self.has_ended |= few(number) > self.number;
            }
            ToReceiver::Drained => self.has_ended |= self.direct_receiver.record_drained(false),
            ToReceiver::Ended => self.has_ended |= self.direct_receiver.record_drained(true),
            ToReceiver::ReplySent => self.direct_receiver.reply_sent(),
        }
        if let Some(ReceiverControl::Position { number, count } | ReceiverControl::Closed { number, count }) =
            self.direct_receiver.pending_reply()
        {
            assert!(number != self.number || count <= self.written, "{count} of {}", self.written);
        }
    }
}

#[test]
fn nothing_that_a_rank_writes_harms_the_receiver() {
    let reached = AssertUnwindSafe(Cell::new(0));
    check!().with_type::<Vec<ToReceiver>>().with_iterations(30_000).for_each(|all| {
        let (direct_receiver, key) = (DirectReceiver::new(), JobKey::new([1; 16]));
        let mut receiver = Receiver { direct_receiver, key, number: 0, written: 0, has_ended: true, parts: 0 };
        receiver.handle(ToReceiver::Accept { number: 1 });
        all.iter().for_each(|&event| receiver.handle(event));
        reached.set(reached.get() + receiver.parts);
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
    Connect,
    Enqueue { len: u8 },
    Write { bytes: u8 },
    Position { number: u8, count: Count },
    Closed { number: u8, count: Count },
    Failure,
    Check,
    ControlSent,
    Packet { len: u8, sent: u8 },
    Report { number: u8, count: Count },
    Resent { bytes: u8 },
}

/// Enqueues a direct packet. Returns the number of bytes that were written of it, about `sent`.
fn enqueue_packet(sender: &mut DirectSender, rest: UserMem<'static>, sent: u8, key: &JobKey, now_ns: u64) -> usize {
    let header = Header::default();
    let packet = DirectPacket { lane: Lane(0), header, prefix: &[sent; 8], rest_header: header };
    let head = sender.packet_head(&packet, &rest, (None, None), (key, PEER_PAIR));
    let joins = sender.has_unwritten() || sent % 2 == 1;
    let sent = if joins { 0 } else { usize::from(sent).clamp(1, head.bytes().len() + rest.len()) };
    sender.enqueue_packet(&packet, &head, rest, sent, now_ns);
    sent
}

/// Writes at most `most` bytes of what is next. Returns how many were written.
fn write(sender: &mut DirectSender, most: usize, now_ns: u64) -> usize {
    if !sender.has_unwritten() {
        return 0;
    }
    sender.begin_write();
    let next = match sender.next_zero_copy() {
        Some((header, payload)) => header.len() + payload.len(),
        None => sender.unwritten_packets().map(<[u8]>::len).sum(),
    };
    sender.record_written(next.min(most), now_ns);
    next.min(most)
}

/// Has link take about `bytes` bytes of a direct packet. Returns whether there was any.
fn resend(sender: &mut DirectSender, bytes: u8) -> bool {
    let Some(part) = sender.next_resend() else { return false };
    let bytes = usize::from(bytes).clamp(1, part.bytes.len());
    sender.resent(bytes);
    true
}

#[test]
fn nothing_that_a_rank_says_makes_the_sender_give_back_twice_or_what_it_did_not_write() {
    let (reached, reached_resends) = (AssertUnwindSafe(Cell::new(0)), AssertUnwindSafe(Cell::new(0)));
    // Borrowed memory is never freed here.
    let memory = UserMem::of_slice(vec![7; 255].leak());
    check!().with_type::<Vec<ToSender>>().with_iterations(30_000).for_each(|all| {
        let (mut sender, key) = (DirectSender::new(), JobKey::new([1; 16]));
        sender.pad_by(|_, part| part.len() % 2 == 1);
        let (mut now_ns, mut lengths, mut done, mut written) = (0, Vec::new(), Vec::new(), 0);
        let mut resent = 0;
        let mut connection_start = 0; // in `written`, where this connection begins
        for &event in all {
            now_ns += 1 << 30;
            let mut complete = |completion: ZeroCopyDone| done.push((completion.ticket, completion.delivered));
            match event {
                ToSender::Connect if sender.may_connect(now_ns) => {
                    sender.connect();
                    connection_start = written;
                }
                ToSender::Enqueue { len } if sender.is_open() && len > 0 => {
                    let mem = memory.slice(0, usize::from(len));
                    let ticket = lengths.len() as u32;
                    lengths.push(u64::from(len));
                    sender.enqueue(
                        ZeroCopySend { lane: Lane(0), ticket, mem },
                        Header::default(),
                        None,
                        (&key, PEER_PAIR),
                        now_ns,
                    );
                }
                ToSender::Write { bytes } => {
                    written += write(&mut sender, bytes.into(), now_ns) as u64;
                }
                ToSender::Position { number, count } => {
                    sender.handle_position(few(number), count.of(written - connection_start), now_ns, &mut complete)
                }
                ToSender::Closed { number, count } => {
                    sender.handle_closed(few(number), count.of(written - connection_start), now_ns, &mut complete)
                }
                ToSender::Failure => sender.handle_failure(now_ns),
                ToSender::Check => sender.query_if_stalled(now_ns),
                ToSender::ControlSent => sender.control_sent(),
                ToSender::Packet { len, sent } if len > 0 && sender.may_send_packet(len.into()) => {
                    written += enqueue_packet(&mut sender, memory.slice(0, len.into()), sent, &key, now_ns) as u64;
                }
                ToSender::Report { number, count } => {
                    let report = ReadReport::new(few(number), count.of(written - connection_start));
                    sender.handle_report(report, now_ns, &mut complete);
                }
                ToSender::Resent { bytes } => resent += usize::from(resend(&mut sender, bytes)),
                ToSender::Connect | ToSender::Enqueue { .. } | ToSender::Packet { .. } => {}
            }
            assert!(sender.unconfirmed_packets() <= UNCONFIRMED_MAX);
            let taken: u64 = done.iter().map(|&(_, taken)| taken).sum();
            assert!(done.iter().all(|&(ticket, taken)| taken <= lengths[ticket as usize]), "{done:?} of {lengths:?}");
            assert!(taken <= written, "{taken} of {written}");
        }
        let mut tickets: Vec<u32> = done.iter().map(|&(ticket, _)| ticket).collect();
        tickets.sort_unstable();
        assert!(tickets.is_sorted_by(|a, b| a < b), "completed twice: {tickets:?}");
        reached.set(reached.get() + tickets.len());
        reached_resends.set(reached_resends.get() + resent);
    });
    assert!(reached.get() > 0, "no zero-copy send was ever completed");
    assert!(reached_resends.get() > 0, "no direct packet was ever sent by link");
}
