//! A net of Ethernet devices for the conformance suite of all devices: each over one port, with cards and ends that all
//! share.
//!
//! Used by `conformance` and `devices`.

use hawser_base::Peer;
use hawser_dev_ether::port::FramePort;
use hawser_dev_ether::{EtherDevice, Opened, Setup};
use hawser_device::Device;
use hawser_device::conformance::Net;
use hawser_job::counters::Counters;
use hawser_job::{Ending, Lives};
use hawser_link::Rail;
use hawser_link::frame::Key;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

/// The secret of the job that all of them belong to.
pub const SECRET: [u8; 16] = *b"the job's secret";

/// Makes a net in which rank i has the port at i, of `interface`. `told` counts the reports of answers.
pub fn net(ports: Vec<Box<dyn FramePort>>, interface: &str, told: &Arc<AtomicU32>) -> Net {
    let ranks = ports.len();
    let cards = Arc::new(Mutex::new(vec![None; ranks]));
    let lives = Lives::private(ranks);
    let device = |(rank, port): (usize, Box<dyn FramePort>)| {
        let (theirs, told) = (cards.clone(), told.clone());
        let device = EtherDevice::new(Setup {
            me: rank as u32,
            ranks: ranks as u32,
            key: Key::new(SECRET),
            seed: rank as u64,
            ports: vec![Opened { port, rail: 0, interface: interface.into(), traits: Rail::default() }],
            cards: Box::new(move |peer: Peer, _| theirs.lock().unwrap()[peer.index()].clone()),
            looked: Box::new(|| ()),
            tell: Box::new(|_| true),
            answers: Box::new(move |_| _ = told.fetch_add(1, Relaxed)),
            counters: (Counters::private(), 0),
            lives: lives.clone(),
            serves: Box::new(move |peer: Peer| peer != Peer(rank as u32)),
        });
        cards.lock().unwrap()[rank] = Some(device.card());
        Arc::new(device) as Arc<dyn Device>
    };
    let devices = ports.into_iter().enumerate().map(device).collect();
    Net { devices, kill: Box::new(move |dead| _ = lives.note(Peer(dead as u32), Ending::Failed)) }
}
