//! The devices of a process, made once, and their users: each user opens them by its name and gets a `Fabric` of its
//! own.
//!
//! Users are independent of each other. Each user has lanes of its own, and so rings, inboxes and pools; it also has
//! its own order, buffer space, routes and receivers. If a user does not poll, only that user is refused space. A
//! user's name determines its lanes, alike in all processes of a host (`job::users`); between hosts devices exchange
//! them (`dev-ether::user_table`), so that processes may open users in any order, or only some of them: packets to a
//! user that the peer has not opened wait. A user is opened once in a process, and keeps its lanes. The users share
//! the process's doorbell and its lifetime: a user that gets the report of a peer's end does not pass it on to other
//! users. Used by `node`, which makes the devices; uses `fabric`.

use crate::fabric::Fabric;
use hawser_base::{Class, Error, LANES, Peers, Result};
use hawser_device::{Device, TransportUser};
use hawser_job::Segment;
use hawser_job::users::MPI;
use std::sync::{Arc, Mutex};

/// The devices of a process and their users. See the module.
pub struct Transport {
    devices: Arc<[Box<dyn Device>]>,
    segment: Segment,
    /// The users that are open.
    open_users: Mutex<Vec<String>>,
}

impl Transport {
    /// Makes the transport over the devices of a process, of which the best comes first; `segment` is that of the
    /// process's host.
    pub fn new(devices: Vec<Box<dyn Device>>, segment: Segment) -> Transport {
        Transport { devices: devices.into(), segment, open_users: Mutex::default() }
    }

    /// Returns the devices, the best first.
    pub fn devices(&self) -> &[Box<dyn Device>] {
        &self.devices
    }

    /// Opens MPI, which has the first lanes.
    pub fn open_mpi(&self, peers: &Peers) -> Result<Fabric> {
        self.open(MPI, LANES, peers)
    }

    /// Opens the user `name` with `lanes` lanes, which begins with `peers`. A device must reach each of these peers,
    /// whether they have opened the user or not. A name has 1 to `NAME_MAX` printable characters of ASCII without
    /// spaces. It is an error if `lanes` is 0, if other processes of the host have requested another number of lanes,
    /// if the job has too few lanes left, or if the user is open here already.
    pub fn open(&self, name: &str, lanes: usize, peers: &Peers) -> Result<Fabric> {
        let mut open_users = self.open_users.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if open_users.iter().any(|other| other == name) {
            let text = format!("user {name} is already open in this process; share the fabric that `open` returned");
            return Err(Error::new(Class::Other, text));
        }
        let user =
            TransportUser { name: name.into(), first_lane: self.segment.lanes_of(name, lanes)?, lane_count: lanes };
        // `admit` comes after all that may fail here, because devices cannot revert it.
        let fabric = Fabric::for_user(self.devices.clone(), user.clone(), peers)?;
        if name != MPI {
            self.devices.iter().try_for_each(|device| device.admit(&user))?;
        }
        open_users.push(name.into());
        Ok(fabric)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hawser_base::{Lane, Peer};
    use hawser_device::{Delivery, DeviceLimits, DevicePort, Header, Loopback, Payload, PayloadSource};

    /// The packets that have arrived, by their header's `a`.
    #[derive(Default)]
    struct Got(Vec<u32>);

    impl Delivery for Got {
        fn deliver(&mut self, _: Peer, header: Header, _: &mut dyn Payload) {
            self.0.push(header.a());
        }
        fn peer_failed(&mut self, peer: Peer) {
            unreachable!("{peer} lives");
        }
    }

    fn transport() -> (Transport, Peers) {
        let me = Peer(0);
        let devices: Vec<Box<dyn Device>> = vec![Box::new(Loopback::new(me))];
        (Transport::new(devices, Segment::alone().unwrap()), Peers::from_list(vec![me]))
    }

    #[test]
    fn what_one_user_leaves_unread_is_in_no_other_users_way() {
        let (transport, peers) = transport();
        let users = [transport.open_mpi(&peers).unwrap(), transport.open("pm", 2, &peers).unwrap()];
        let mut channels = users.each_ref().map(|fabric| fabric.channel(Lane(1)));
        let send = |channel: &mut crate::Channel, a: u32| {
            channel.send(Peer(0), Header::new(0, 0, a, 0), &[], PayloadSource::None)
        };
        let mut unread = 0;
        while send(&mut channels[0], unread) {
            unread += 1;
        }
        let mut got = Got::default();
        for a in 0..1000 {
            assert!(send(&mut channels[1], a));
            channels[1].poll(&mut got);
        }
        assert!(got.0.into_iter().eq(0..1000), "all of its own, in order, and nothing else");
        let mut first = Got::default();
        while channels[0].poll(&mut first) > 0 {}
        assert!(unread > 0 && first.0.into_iter().eq(0..unread));
    }

    #[test]
    fn a_user_is_opened_once_and_has_no_lane_of_another() {
        let (transport, peers) = transport();
        let pm = transport.open("pm", 2, &peers).unwrap();
        assert_eq!((pm.user().lane(Lane(0)).index(), pm.user().lanes()), (LANES, LANES..LANES + 2));
        let error_text = |name, lanes| transport.open(name, lanes, &peers).map(drop).unwrap_err().cause().to_owned();
        assert!(error_text("pm", 2).contains("is already open in this process"));
        assert!(error_text("many", 99).contains("lanes, and"));
        assert_eq!(transport.open("other", 1, &peers).unwrap().user().first_lane, Lane(LANES as u8 + 2));
        let out_of_range = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(pm.channel(Lane(2)))));
        assert!(out_of_range.is_err());
    }

    /// A device that admits a user once and for ever, like one that has announced the user to its peers.
    #[derive(Default)]
    struct Once(Mutex<Vec<TransportUser>>);

    impl Device for Once {
        fn name(&self) -> &'static str {
            "once"
        }
        fn reaches(&self, peer: Peer) -> bool {
            peer == Peer(0)
        }
        fn limits(&self) -> DeviceLimits {
            Loopback::new(Peer(0)).limits()
        }
        fn admit(&self, user: &TransportUser) -> Result<()> {
            let mut all = self.0.lock().unwrap();
            assert!(!all.contains(user), "{user:?} was there");
            all.push(user.clone());
            Ok(())
        }
        fn port(&self, _: Lane) -> Box<dyn DevicePort> {
            unreachable!("nothing is sent")
        }
    }

    #[test]
    fn a_user_whose_peer_nothing_reaches_is_not_open_and_may_try_again() {
        let transport = Transport::new(vec![Box::new(Once::default())], Segment::alone().unwrap());
        let peers = Peers::from_list(vec![Peer(0)]);
        assert!(transport.open("pm", 1, &Peers::Consecutive { first: Peer(0), len: 2 }).is_err());
        assert_eq!(transport.open("pm", 1, &peers).unwrap().user().lane_count, 1);
    }
}
