//! Walks all interleavings of a setup, for `interleavings`.

use crate::model::{Action, Parcel, Setup, Verdict, World};
use hawser_p2p::matching::Packet;
use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

/// A hasher that folds words by multiplication: states are compared only by their 64-bit marks, so two different states
/// are taken for one with a chance of about 2^-64 per pair.
#[derive(Clone, Copy)]
pub struct Mark(u64);

impl Default for Mark {
    fn default() -> Mark {
        Mark(0x9e37_79b9_7f4a_7c15)
    }
}

impl Hasher for Mark {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word) ^ ((chunk.len() as u64) << 60));
        }
    }

    fn write_u8(&mut self, word: u8) {
        self.write_u64(word as u64);
    }

    fn write_u32(&mut self, word: u32) {
        self.write_u64(word as u64);
    }

    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }

    fn write_u64(&mut self, word: u64) {
        // Origin of the constants: wyhash.
        let folded = (self.0 ^ word ^ 0xa076_1d64_78bd_642f) as u128 * (word ^ 0xe703_7ed1_a0b4_28db) as u128;
        self.0 = (folded as u64 ^ (folded >> 64) as u64).wrapping_add(self.0.rotate_left(23));
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// A set whose keys are marks already.
type Marks = HashSet<u64, BuildHasherDefault<Mark>>;

/// Walks all interleavings of one setup. Returns the number of different states, or the failure and the path to it.
pub fn explore(setup: &Setup) -> Result<usize, String> {
    let mut path = Vec::new();
    let mut seen = Marks::default();
    let verdict = catch_unwind(AssertUnwindSafe(|| walk(setup, &World::new(setup), &mut path, &mut seen)))
        .unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<String>().cloned();
            Err(format!("panic: {}", text.or(panic.downcast_ref::<&str>().map(|s| s.to_string())).unwrap_or_default()))
        });
    verdict.map(|()| seen.len()).map_err(|why| format!("{why}\n{}", story(setup, &path)))
}

fn walk(setup: &Setup, world: &World, path: &mut Vec<Action>, seen: &mut Marks) -> Verdict {
    let actions = persistent_actions(world, setup);
    if actions.is_empty() {
        return world.check_end(setup);
    }
    for action in actions {
        path.push(action);
        let mut next = world.clone();
        next.act(setup, action)?;
        let mut mark = Mark::default();
        next.hash(&mut mark);
        if seen.insert(mark.finish()) {
            walk(setup, &next, path, seen)?;
        }
        path.pop();
    }
    Ok(())
}

/// Returns enough of all actions to reach every end. Actions of two ranks commute, unless one puts the packet on a wire
/// that the other takes off, or writes the other's memory. So if a rank has the same choice whatever the others do (a
/// persistent set in the sense of Godefroid), the others' actions need not be tried before that rank's.
fn persistent_actions(world: &World, setup: &Setup) -> Vec<Action> {
    let ranks = 0..world.ranks.len();
    for index in ranks.clone().filter(|_| setup.failing_rank.is_none() && !may_write(world)) {
        let own = actions_of(world, setup, index);
        let settled = |from| from == index || is_settled(world, setup, from, index);
        if !own.is_empty() && ranks.clone().all(settled) {
            return own;
        }
    }
    world.actions(setup)
}

/// Whether a rank writes another's memory, or has a CTS that permits it.
fn may_write(world: &World) -> bool {
    let permits_write = |p: &Parcel| matches!(p.packet, Packet::Cts { key: Some(_), .. });
    world.ranks.iter().any(|rank| !rank.writes.is_empty()) || world.wires.iter().flatten().any(permits_write)
}

/// Whether the next packet of `from` that may arrive at `to` is independent of what `from` may still send.
fn is_settled(world: &World, setup: &Setup, from: usize, to: usize) -> bool {
    let count = world.ranks.len();
    let bounds = |p: &Parcel| !setup.unordered || !matches!(p.packet, Packet::Data { .. });
    let wire = &world.wires[from * count + to];
    wire.iter().any(bounds) || (count == 2 && actions_of(world, setup, from).is_empty())
}

fn actions_of(world: &World, setup: &Setup, index: usize) -> Vec<Action> {
    let mut all = Vec::new();
    world.actions_of(setup, index, &mut all);
    all
}

fn story(setup: &Setup, path: &[Action]) -> String {
    let mut lines = vec![format!(
        "{:?}, unordered {}, outbox {}, mortal {:?}",
        setup.limits, setup.unordered, setup.outbox, setup.failing_rank
    )];
    for (rank, program) in setup.programs.iter().enumerate() {
        lines.extend(program.iter().enumerate().map(|(at, step)| format!("  rank {rank} step {at}: {step:?}")));
    }
    let mut world = World::new(setup);
    let count = setup.programs.len();
    for &action in path {
        let parcel = match action {
            Action::Deliver { from, to, at } => format!("{:?}", world.wires[from * count + to].get(at)),
            _ => String::new(),
        };
        lines.push(format!("  {action:?} {parcel}"));
        if catch_unwind(AssertUnwindSafe(|| world.act(setup, action))).is_err() {
            break;
        }
    }
    lines.join("\n")
}

/// Explores all setups on all cores; panics with the first failure. Prints the counts.
pub fn explore_all(name: &str, setups: &[Setup]) {
    let (next, states) = (AtomicUsize::new(0), AtomicU64::new(0));
    let started = std::time::Instant::now();
    let work = || {
        // Counters alone: they publish no data.
        while let Some(setup) = setups.get(next.fetch_add(1, Relaxed)) {
            match explore(setup) {
                Ok(count) => states.fetch_add(count as u64, Relaxed),
                Err(story) => {
                    next.store(setups.len(), Relaxed);
                    return Some(story);
                }
            };
        }
        None
    };
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    let failure = std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        running.into_iter().filter_map(|thread| thread.join().expect("the walker does not panic")).next()
    });
    if let Some(story) = failure {
        panic!("{name}: {story}");
    }
    println!("{name}: {} programs, {} states, {:?}", setups.len(), states.load(Relaxed), started.elapsed());
}
