//! Carries out an engine's effects, and checks each operation's end.

use super::program::Step;
use super::{Live, Parcel, Progress, Pull, Rank, Setup, Stream, Verdict, World, Write, expect, oracle::Message};
use hawser_base::{Class, Peer};
use hawser_p2p::matching::{BufferKey, Effect, Envelope, OpId, OpOutcome, Packet};

impl World {
    /// Carries out all effects of the rank's engine, in order.
    pub fn run_effects(&mut self, setup: &Setup, index: usize) -> Verdict {
        self.ranks[index].engine.return_due_credit();
        while let Some(effect) = self.ranks[index].engine.next_effect() {
            match effect {
                Effect::Transmit { to, packet } => self.transmit(setup, index, to, packet)?,
                Effect::Complete { op, outcome } => self.complete(setup, index, op, outcome)?,
                Effect::SendCts { op, to, send, from, until } => {
                    let step = self.ranks[index].step_of(op).ok_or("a CTS for no receive")?;
                    let key = setup.programs[index][step].recv_rkey(index, step);
                    self.transmit(setup, index, to, Packet::Cts { send, from, until, key })?;
                }
                other => self.ranks[index].carry_out(other)?,
            }
        }
        expect(self.ranks[index].oracle.cancel_reply.is_none(), || "a cancellation has no reply".into())
    }

    fn transmit(&mut self, setup: &Setup, index: usize, to: Peer, packet: Packet) -> Verdict {
        let rank = &mut self.ranks[index];
        expect(!rank.engine.has_failed(to), || format!("{packet:?} to {to}, which has failed"))?;
        let mut about = None;
        match packet {
            Packet::Cancel { send } => {
                let step = rank.step_of(OpId(send)).ok_or("a cancellation of no send")?;
                about = Some(Message { rank: index as u8, step: step as u16 });
            }
            Packet::CancelReply { cancelled: yes, .. } => {
                let due = rank.oracle.cancel_reply.take();
                expect(due == Some(yes), || format!("a cancellation has the reply {yes}, due {due:?}"))?;
            }
            _ => {}
        }
        let parcel = Parcel { packet, payload: Vec::new(), message: about };
        if setup.outbox {
            rank.outbox.push_back((to, parcel));
        } else {
            self.wire(index, to.index()).push_back(parcel);
        }
        Ok(())
    }

    fn complete(&mut self, setup: &Setup, index: usize, op: OpId, outcome: OpOutcome) -> Verdict {
        let rank = &mut self.ranks[index];
        let live = rank.live.get_mut(op.0 as usize).and_then(Option::take);
        let step = match &live {
            Some(Live::Send { step } | Live::Recv { step, .. }) => *step,
            other => return Err(format!("{op:?} completes, which is {other:?}")),
        };
        let pending = rank.steps[step] == Progress::Pending(op);
        expect(pending, || format!("step {step} completes a second time: {outcome:?}"))?;
        rank.steps[step] = Progress::Done;
        if outcome.error == Some(Class::ProcAborted) {
            rank.streams.retain(|s| s.op != op);
            rank.pulls.retain(|p| p.op != op);
            rank.writes.retain(|w| w.op != op);
        }
        let streams = rank.streams.iter().any(|s| s.op == op) || rank.pulls.iter().any(|p| p.op == op);
        expect(!streams && rank.writes.iter().all(|w| w.op != op), || {
            format!("step {step} completes while bytes are in flight")
        })?;
        match live {
            Some(Live::Recv { buffer, .. }) => self.received(setup, index, step, &buffer, outcome),
            _ => self.sent(setup, index, step, outcome),
        }
    }

    fn sent(&self, setup: &Setup, index: usize, step: usize, outcome: OpOutcome) -> Verdict {
        let message = Message { rank: index as u8, step: step as u16 };
        let send = message.send(setup);
        let envelope = Envelope { source: send.to, ..message.envelope(setup) };
        expect(outcome.envelope == envelope, || format!("step {step} ended as {outcome:?}"))?;
        if let Some(error) = outcome.error {
            let lost = self.ranks[index].engine.has_failed(send.to);
            return expect(error == Class::ProcAborted && lost, || format!("send {step} ended with {error:?}"));
        }
        let oracle = &self.ranks[send.to.index()].oracle;
        let cancelled = oracle.cancelled.contains(&message);
        expect(cancelled == outcome.cancelled, || format!("send {step}: {outcome:?}, withdrawn {cancelled}"))?;
        let matched = oracle.matched.iter().any(|(_, m)| *m == message);
        let must_wait = send.sync || oracle.announced.contains(&message);
        expect(!must_wait || matched || cancelled, || format!("send {step} ended before it was matched"))
    }

    fn received(&mut self, setup: &Setup, index: usize, step: usize, buffer: &[u8], outcome: OpOutcome) -> Verdict {
        let oracle = &mut self.ranks[index].oracle;
        let matched = oracle.match_of(step);
        if outcome.error == Some(Class::ProcAborted) {
            let source = match (matched, setup.programs[index][step]) {
                (Some(message), _) => Some(Peer(message.rank as u32)),
                (None, Step::Recv { spec, .. }) => spec.source,
                _ => None,
            };
            oracle.posted.retain(|(s, _)| *s != step);
            let lost = source.is_some_and(|source| self.ranks[index].engine.has_failed(source));
            return expect(lost, || format!("receive {step} ended with {outcome:?}"));
        }
        let Some(message) = matched else {
            let posted = oracle.posted.iter().any(|(s, _)| *s == step);
            return expect(outcome.cancelled && !posted, || format!("receive {step} got {outcome:?}, nothing due"));
        };
        let all = message.envelope(setup);
        let placed = all.bytes.min(buffer.len() as u64);
        let due = OpOutcome {
            envelope: Envelope { bytes: placed, ..all },
            error: (all.bytes > placed).then_some(Class::Truncate),
            cancelled: false,
        };
        expect(due == outcome, || format!("receive {step} got {outcome:?}, due {due:?}"))?;
        let (front, rest) = buffer.split_at(placed as usize);
        let right = front == message.bytes(0, placed) && rest.iter().all(|&b| b == 0);
        expect(right, || format!("receive {step} of {message:?} got the bytes {buffer:?}"))
    }
}

impl Rank {
    fn carry_out(&mut self, effect: Effect) -> Verdict {
        match effect {
            Effect::Discard { unexpected } => self.take_unexpected(unexpected).map(drop),
            Effect::CopyUnexpected { unexpected, op, bytes } => {
                let bytes = bytes as usize;
                let kept = self.take_unexpected(unexpected)?;
                let Some(Some(Live::Recv { buffer, .. })) = self.live.get_mut(op.0 as usize) else {
                    return Err(format!("{unexpected:?} is copied into {op:?}"));
                };
                expect(bytes <= kept.len() && bytes <= buffer.len(), || format!("{bytes} bytes are copied"))?;
                buffer[..bytes].copy_from_slice(&kept[..bytes]);
                Ok(())
            }
            Effect::Stream { op, to, message: number, from: at, until, .. } => {
                self.streams.push(Stream { op, to, number, at, until });
                Ok(())
            }
            Effect::Pull { op, peer, key, from, until } => {
                let message = Message { rank: key.0[0] as u8, step: key.0[1] as u16 };
                expect(message.rank as u32 == peer.0, || format!("{message:?} is read at {peer}"))?;
                self.pulls.push(Pull { op, message, readable: key.0[2] == 1, from, until });
                Ok(())
            }
            Effect::Write { op, to, key, from, until } => {
                let BufferKey([peer, step, writable]) = key;
                expect(peer == to.0 as u64, || format!("a receive of {peer} is written at {to}"))?;
                self.writes.push(Write { op, to, step: step as usize, writable: writable == 1, from, until });
                Ok(())
            }
            Effect::Transmit { .. } | Effect::Complete { .. } | Effect::SendCts { .. } => {
                unreachable!("carried out by the world")
            }
        }
    }

    fn take_unexpected(&mut self, unexpected: OpId) -> Verdict<Vec<u8>> {
        match self.live.get_mut(unexpected.0 as usize).and_then(Option::take) {
            Some(Live::Unexpected { buffer }) => Ok(buffer),
            other => Err(format!("{unexpected:?} is taken, which is {other:?}")),
        }
    }
}
