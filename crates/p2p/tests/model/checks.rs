//! Checks the invariants that hold when no action is left, and when a peer is lost.

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
            let held = !rank.oracle.waiting.is_empty();
            expect(rank.engine.is_idle() == (!pending && !held), || format!("rank {index} is idle: {}", !pending))?;
            let left = rank.live.iter().flatten().filter(|l| matches!(l, Live::Held { .. })).count();
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
                let excused = unmatched && receiver.oracle.asked.contains(&message) && !receiver.dead;
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
        let ours = self.ranks[index].engine.ledger(Peer(peer as u32));
        let theirs = self.ranks[peer].engine.ledger(Peer(index as u32));
        expect(ours.streams == 0, || format!("rank {index} waits for bytes of {peer}"))?;
        if self.ranks[peer].dead {
            return expect(ours.made.is_empty() && ours.given.is_empty(), || format!("{ours:?} with the dead {peer}"));
        }
        let window = ours.credit + theirs.owed + theirs.held;
        expect(window == setup.limits.window, || {
            format!("{window} of the window {index} -> {peer}: {ours:?}, {theirs:?}")
        })?;
        expect(ours.made == theirs.given, || format!("offers {index} -> {peer}: {ours:?}, {theirs:?}"))?;
        expect(ours.sent == theirs.accepted, || format!("messages {index} -> {peer}: {ours:?}, {theirs:?}"))?;
        let named = self.ranks[index].oracle.posted.iter().filter(|(_, w)| w.source == Some(Peer(peer as u32)));
        let named = named.count();
        expect(ours.made.len() <= named, || format!("{ours:?} stand at {peer} for {named} receives"))
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
        Step::Recv { want, .. } if rank.oracle.match_of(*at).is_none() => want.source == lost,
        _ => rank.oracle.match_of(*at).is_some_and(|m| m.rank as usize == peer),
    };
    (0..rank.steps.len()).filter(names).collect()
}

/// Checks that the steps that named the lost peer ended, and no others.
pub fn only_the_fated_ended(before: &[Progress], after: &[Progress], fate: &[usize]) -> Verdict {
    for at in 0..before.len() {
        let due = if fate.contains(&at) { Progress::Done } else { before[at] };
        expect(after[at] == due, || format!("step {at} became {:?} by the loss, due {due:?}", after[at]))?;
    }
    Ok(())
}
