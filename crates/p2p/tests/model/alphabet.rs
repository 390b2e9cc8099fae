//! All programs of a length over an alphabet of operations, for `interleavings`.

use crate::model::program::{Send, Step};
use hawser_base::{Context, Peer};
use hawser_p2p::matching::MatchSpec;

/// The device of a whole program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Device {
    pub eager: bool,
    pub key: Option<bool>,
}

/// The alternatives from which the operations of a rank are drawn.
#[derive(Clone, Debug)]
pub struct Alphabet {
    pub device: Device,
    pub send_to: Vec<usize>,
    pub send_tags: Vec<i32>,
    pub sizes: Vec<u64>,
    pub syncs: Vec<bool>,
    /// `None` is MPI_ANY_SOURCE.
    pub sources: Vec<Option<usize>>,
    /// `None` is MPI_ANY_TAG.
    pub tags: Vec<Option<i32>>,
    pub capacities: Vec<u64>,
    /// The `shared` of every receive, as in `Step::Recv`.
    pub shared: Option<bool>,
    pub cancels: bool,
    pub probes: bool,
}

impl Alphabet {
    /// Returns all programs of `operations` operations; a claim and its receive count as one.
    pub fn programs(&self, operations: usize) -> Vec<Vec<Step>> {
        let mut all = vec![Vec::new()];
        for _ in 0..operations {
            all = all.iter().flat_map(|program| self.extended(program)).collect();
        }
        all
    }

    fn extended(&self, program: &[Step]) -> Vec<Vec<Step>> {
        let mut all = Vec::new();
        let mut add = |steps: &[Step]| all.push([program, steps].concat());
        for &to in &self.send_to {
            for &tag in &self.send_tags {
                for &bytes in &self.sizes {
                    for &sync in &self.syncs {
                        let Device { eager, key } = self.device;
                        let context = Context(0);
                        add(&[Step::Send(Send { to: Peer(to as u32), context, tag, bytes, sync, eager, key })]);
                    }
                }
            }
        }
        for spec in self.specs() {
            let shared = self.shared;
            self.capacities.iter().for_each(|&capacity| add(&[Step::Recv { spec, capacity, shared }]));
            if self.probes {
                add(&[Step::Probe(spec)]);
                let claim = program.len();
                let claimed =
                    |&capacity: &u64| add(&[Step::Claim(spec), Step::RecvClaimed { claim, capacity, shared }]);
                self.capacities.iter().for_each(claimed);
            }
        }
        for (at, step) in program.iter().enumerate().filter(|_| self.cancels) {
            match step {
                Step::Send(_) if !program.contains(&Step::CancelSend(at)) => add(&[Step::CancelSend(at)]),
                Step::Recv { .. } if !program.contains(&Step::CancelRecv(at)) => add(&[Step::CancelRecv(at)]),
                _ => {}
            }
        }
        all
    }

    fn specs(&self) -> Vec<MatchSpec> {
        let spec = |&source: &Option<usize>, &tag: &Option<i32>| MatchSpec {
            context: Context(0),
            source: source.map(|s| Peer(s as u32)),
            tag,
        };
        self.sources.iter().flat_map(|source| self.tags.iter().map(move |tag| spec(source, tag))).collect()
    }
}
