//! Simulates the protocol over a faulty network: seeds of two worlds, one of bare paths and one of whole endpoints,
//! which must together reach every state, event and reason for dropping a frame.
//!
//! `make sim SEED=N` repeats a seed of both, `make sim SEED=N SEEDS=K` tries K from N on; PLANTED=B gives them a bug
//! (`src/planted.rs`).

mod monitor;
mod paths;
mod ranks;
mod strangers;
#[allow(dead_code, reason = "what rails need")]
mod world;

use hawser_link::endpoint::DropCounts;
use hawser_link::{marks, planted};
use hawser_sim::{env_number, for_each_seed, seeds};
use std::sync::Mutex;
use std::sync::atomic::Ordering::Relaxed;

/// The number of seeds of a run that names none.
pub const SEEDS: u64 = 10_000;

#[test]
fn every_message_arrives_once_whole_and_in_order_or_its_peer_is_lost() {
    let drops = Mutex::new(DropCounts::default());
    let bug = env_number("SIM_PLANTED").map(|number| planted::Bug::ALL[number as usize - 1]);
    for_each_seed(seeds(SEEDS), |seed| {
        planted::plant(bug);
        for dropped in [paths::run(seed), ranks::run(seed)] {
            let mut all = drops.lock().unwrap();
            all.iter_mut().zip(dropped).for_each(|(all, one)| *all += one);
        }
    });
    let (unmet, undropped) = (marks::unreached(), ranks::unmet(&drops.into_inner().unwrap()));
    let changed = ranks::CHANGED.load(Relaxed);
    println!("not met: {unmet:#?}, nothing dropped for {undropped:?}, {changed} messages came with other bytes");
    if seeds(SEEDS).count() as u64 >= SEEDS {
        assert!(unmet.is_empty() && undropped.is_empty(), "some states and events were not met");
        assert!(changed > 0, "no payload was ever changed where its CRC does not cover it");
    }
}
