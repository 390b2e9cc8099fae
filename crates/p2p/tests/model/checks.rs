//! Checks the invariants that hold when no action is left, and when a peer fails.

use super::program::Step;
use super::{Live, Progress, Rank, Setup, Verdict, World, expect, oracle::Message};
use hawser_base::Peer;

impl World {
    /// Checks the end, when no action is left: every step has ended as it must.
    pub fn check_end(&self, setup: &Setup) -> Verdict {
        for (index, rank) in self.ranks.iter().enumerate().filter(|(_, r)| !r.dead) {
            for at in 0..rank.steps.len() {
                self.check_step_at_end(setup, index, at).map_err(|e| format!("rank {index}: {e}"))?;
            }
            let pending = rank.steps.iter().any(|s| *s != Progress::Done);
            let has_unexpected = !rank.oracle.waiting.is_empty();
            expect(rank.engine.is_idle() == (!pending && !has_unexpected), || {
                format!("rank {index} is idle: {}", !pending)
            })?;
            let left = rank.live.iter().flatten().filter(|l| matches!(l, Live::Unexpected { .. })).count();
            let due = rank.oracle.waiting.len() + rank.steps.iter().filter(|s| is_claim(s)).count();
            expect(left == due, || format!("rank {index} holds {left} messages, due {due}"))?;
            for peer in 0..self.ranks.len() {
                self.check_pair_at_end(setup, index, peer)?;
            }
        }
        Ok(())
    }

    fn check_step_at_end(&self, setup: &Setup, index: usize, at: usize) -> Verdict {
        let rank = &self.ranks[index];
        if !matches!(rank.steps[at], Progress::Pending(_)) {
            return expect(rank.steps[at] != Progress::Ahead, || format!("step {at} was not taken"));
        }
        match setup.programs[index][at] {
            Step::Send(send) => {
                let message = Message { rank: index as u8, step: at as u16 };
                let receiver = &self.ranks[send.to.index()];
                let claimed = |s: &Progress| matches!(s, Progress::Claimed(_, m) if *m == message);
                let unmatched = receiver.oracle.waiting.contains(&message) || receiver.steps.iter().any(claimed);
                let excused = unmatched && receiver.oracle.announced.contains(&message) && !receiver.dead;
                expect(excused, || format!("send {at} hangs"))
            }
            _ => {
                let posted = rank.oracle.posted.iter().any(|(s, _)| *s == at);
                expect(posted, || format!("receive {at} hangs"))
            }
        }
    }

    /// Checks the accounts of `index` with `peer`, seen from both sides.
    fn check_pair_at_end(&self, setup: &Setup, index: usize, peer: usize) -> Verdict {
        let ours = self.ranks[index].engine.account(Peer(peer as u32));
        let theirs = self.ranks[peer].engine.account(Peer(index as u32));
        expect(ours.streams == 0, || format!("rank {index} waits for bytes of {peer}"))?;
        if self.ranks[peer].dead {
            return expect(ours.sent_rtrs.is_empty() && ours.received_rtrs.is_empty(), || {
                format!("{ours:?} with the dead {peer}")
            });
        }
        let credit = ours.credit + theirs.owed + theirs.unexpected;
        expect(credit == setup.limits.credit, || {
            format!("{credit} of the credit {index} -> {peer}: {ours:?}, {theirs:?}")
        })?;
        expect(ours.sent_rtrs == theirs.received_rtrs, || format!("offers {index} -> {peer}: {ours:?}, {theirs:?}"))?;
        expect(ours.sent == theirs.accepted, || format!("messages {index} -> {peer}: {ours:?}, {theirs:?}"))?;
        let named = self.ranks[index].oracle.posted.iter().filter(|(_, w)| w.source == Some(Peer(peer as u32)));
        let named = named.count();
        expect(ours.sent_rtrs.len() <= named, || format!("{ours:?} stand at {peer} for {named} receives"))
    }
}

fn is_claim(step: &Progress) -> bool {
    matches!(step, Progress::Claimed(..))
}

/// Returns the pending steps of `rank` that name the peer, or have matched its message.
pub fn fate_of_steps(setup: &Setup, rank: &Rank, index: usize, peer: usize) -> Vec<usize> {
    let lost = Some(Peer(peer as u32));
    let names = |at: &usize| match setup.programs[index][*at] {
        _ if !matches!(rank.steps[*at], Progress::Pending(_)) => false,
        Step::Send(send) => Some(send.to) == lost,
        Step::Recv { spec, .. } if rank.oracle.match_of(*at).is_none() => spec.source == lost,
        _ => rank.oracle.match_of(*at).is_some_and(|m| m.rank as usize == peer),
    };
    (0..rank.steps.len()).filter(names).collect()
}

/// Checks that the steps that named the failed peer ended, and no others.
pub fn only_the_fated_ended(before: &[Progress], after: &[Progress], fate: &[usize]) -> Verdict {
    for at in 0..before.len() {
        let due = if fate.contains(&at) { Progress::Done } else { before[at] };
        expect(after[at] == due, || format!("step {at} became {:?} by the failure, due {due:?}", after[at]))?;
    }
    Ok(())
}
