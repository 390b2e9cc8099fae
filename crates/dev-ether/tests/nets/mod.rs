//! A net of Ethernet devices for the conformance suite of all devices: each over one port, with business cards and
//! an exit log that all share.
//!
//! Used by `conformance` and `devices`.

use hawser_base::Peer;
use hawser_dev_ether::port::FramePort;
use hawser_dev_ether::{EtherDevice, EtherDeviceSetup, OpenPort};
use hawser_device::Device;
use hawser_device::conformance::TestNet;
use hawser_job::counters::Counters;
use hawser_job::{ExitKind, ExitLog};
use hawser_link::PortTraits;
use hawser_link::frame::JobKey;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

/// The secret of the job that all of them belong to.
pub const SECRET: [u8; 16] = *b"the job's secret";

/// Makes a net in which rank i has the port at i, of `interface`. `report_count` counts the reports of answers.
pub fn net(ports: Vec<Box<dyn FramePort>>, interface: &str, report_count: &Arc<AtomicU32>) -> TestNet {
    let ranks = ports.len();
    let cards = Arc::new(Mutex::new(vec![None; ranks]));
    let exit_log = ExitLog::private(ranks);
    let device = |(rank, port): (usize, Box<dyn FramePort>)| {
        let (theirs, report_count) = (cards.clone(), report_count.clone());
        let device = EtherDevice::new(EtherDeviceSetup {
            me: rank as u32,
            ranks: ranks as u32,
            key: JobKey::new(SECRET),
            seed: rank as u64,
            ports: vec![OpenPort { port, rail: 0, interface: interface.into(), traits: PortTraits::default() }],
            card_lookup: Box::new(move |peer: Peer, _| theirs.lock().unwrap()[peer.index()].clone()),
            on_all_polled: Box::new(|| ()),
            wake_rank: Box::new(|| ()),
            report_status: Box::new(|_| true),
            report_reachability: Box::new(move |_| _ = report_count.fetch_add(1, Relaxed)),
            counters: (Counters::private(), 0),
            exit_log: exit_log.clone(),
            reaches: Box::new(move |peer: Peer| peer != Peer(rank as u32)),
        });
        cards.lock().unwrap()[rank] = Some(device.encoded_port_list());
        Arc::new(device) as Arc<dyn Device>
    };
    let devices = ports.into_iter().enumerate().map(device).collect();
    TestNet { devices, kill: Box::new(move |dead| _ = exit_log.record(Peer(dead as u32), ExitKind::Failed)) }
}
