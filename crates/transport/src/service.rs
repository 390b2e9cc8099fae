//! The devices of a process, made once, and their users: each user opens them by its name and gets a `Fabric` of its
//! own.
//!
//! Users are independent of each other. Each has lanes, and so rings, inboxes and pools, of its own; its own order,
//! room, routes and receivers; a user that does not poll is refused room, and no other user is. A user's name
//! determines its lanes, alike in all processes of a host (`job::users`); between hosts devices exchange them
//! (`dev-ether::users`), so that processes may open users in any order, or only some of them: packets to a user that
//! the peer has not opened wait. A user is opened once in a process, and keeps its lanes. The users share the process's
//! doorbell and its life: a user that gets the report of a peer's end does not pass it on to others. Used by `node`,
//! which makes the devices; uses `fabric`.

use crate::fabric::Fabric;
use hawser_base::{Class, Error, LANES, Peers, Result};
use hawser_device::{Device, User};
use hawser_job::Segment;
use hawser_job::users::MPI;
use std::sync::{Arc, Mutex};

/// The devices of a process and their users. See the module.
pub struct Service {
    devices: Arc<[Box<dyn Device>]>,
    segment: Segment,
    /// The users that are open.
    open: Mutex<Vec<String>>,
}

impl Service {
    /// A service over devices of a process whose host has this segment; the best comes first.
    pub fn new(devices: Vec<Box<dyn Device>>, segment: Segment) -> Service {
        Service { devices: devices.into(), segment, open: Mutex::default() }
    }

    /// The devices, the best first.
    pub fn devices(&self) -> &[Box<dyn Device>] {
        &self.devices
    }

    /// Opens MPI, which has the first lanes.
    pub fn open_mpi(&self, peers: &Peers) -> Result<Fabric> {
        self.open(MPI, LANES, peers)
    }

    /// Opens the user `name` with `lanes` lanes, which begins with `peers`: each of them must be reached, whether that
    /// user is open there or not. A name has 1 to `NAME_MAX` printable characters of ASCII. All processes of a host
    /// must request the same number of lanes; another number is an error, and so it is if the job has no more lanes, or
    /// if the user is open here already.
    pub fn open(&self, name: &str, lanes: usize, peers: &Peers) -> Result<Fabric> {
        let mut open = self.open.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if open.iter().any(|other| other == name) {
            let text = format!("user {name} is open in this process already; share what its opening has returned");
            return Err(Error::new(Class::Other, text));
        }
        let user = User { name: name.into(), first: self.segment.lanes_of(name, lanes)?, count: lanes };
        // This call is last, because devices do not revert it.
        let fabric = Fabric::over(self.devices.clone(), user.clone(), peers)?;
        if name != MPI {
            self.devices.iter().try_for_each(|device| device.admit(&user))?;
        }
        open.push(name.into());
        Ok(fabric)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hawser_base::{Lane, Peer};
    use hawser_device::{Delivery, Header, Limits, Loopback, Payload, Port, Source};

    /// The packets that have arrived, by their header's `a`.
    #[derive(Default)]
    struct Got(Vec<u32>);

    impl Delivery for Got {
        fn deliver(&mut self, _: Peer, header: Header, _: &mut dyn Payload) {
            self.0.push(header.a);
        }
        fn lost(&mut self, peer: Peer) {
            unreachable!("{peer} lives");
        }
    }

    fn service() -> (Service, Peers) {
        let me = Peer(0);
        let devices: Vec<Box<dyn Device>> = vec![Box::new(Loopback::new(me))];
        (Service::new(devices, Segment::alone().unwrap()), Peers::of(vec![me]))
    }

    #[test]
    fn what_one_user_leaves_unread_is_in_no_other_users_way() {
        let (service, peers) = service();
        let users = [service.open_mpi(&peers).unwrap(), service.open("pm", 2, &peers).unwrap()];
        let mut channels = users.each_ref().map(|fabric| fabric.channel(Lane(1)));
        let send = |channel: &mut crate::Channel, a: u32| {
            channel.send(Peer(0), Header { a, ..Header::default() }, &[], Source::None)
        };
        let mut left = 0;
        while send(&mut channels[0], left) {
            left += 1;
        }
        let mut got = Got::default();
        for a in 0..1000 {
            assert!(send(&mut channels[1], a));
            channels[1].poll(&mut got);
        }
        assert!(got.0.into_iter().eq(0..1000), "all of its own, in order, and nothing else");
        let mut first = Got::default();
        while channels[0].poll(&mut first) > 0 {}
        assert!(left > 0 && first.0.into_iter().eq(0..left));
    }

    #[test]
    fn a_user_is_opened_once_and_has_no_lane_of_another() {
        let (service, peers) = service();
        let pm = service.open("pm", 2, &peers).unwrap();
        assert_eq!((pm.user().lane(Lane(0)).index(), pm.user().lanes()), (LANES, LANES..LANES + 2));
        let told = |name, lanes| service.open(name, lanes, &peers).map(drop).unwrap_err().cause().to_owned();
        assert!(told("pm", 2).contains("is open in this process already"));
        assert!(told("many", 99).contains("lanes, and"));
        assert_eq!(service.open("other", 1, &peers).unwrap().user().first, Lane(LANES as u8 + 2));
        let beyond = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(pm.channel(Lane(2)))));
        assert!(beyond.is_err());
    }

    /// A device that admits a user once and for ever, like one that has told its peers.
    #[derive(Default)]
    struct Once(Mutex<Vec<User>>);

    impl Device for Once {
        fn name(&self) -> &'static str {
            "once"
        }
        fn reaches(&self, peer: Peer) -> bool {
            peer == Peer(0)
        }
        fn limits(&self) -> Limits {
            Loopback::new(Peer(0)).limits()
        }
        fn admit(&self, user: &User) -> Result<()> {
            let mut all = self.0.lock().unwrap();
            assert!(!all.contains(user), "{user:?} was there");
            all.push(user.clone());
            Ok(())
        }
        fn port(&self, _: Lane) -> Box<dyn Port> {
            unreachable!("nothing is sent")
        }
    }

    #[test]
    fn a_user_whose_peer_nothing_reaches_is_not_open_and_may_try_again() {
        let service = Service::new(vec![Box::new(Once::default())], Segment::alone().unwrap());
        let peers = Peers::of(vec![Peer(0)]);
        assert!(service.open("pm", 1, &Peers::Run { first: Peer(0), len: 2 }).is_err());
        assert_eq!(service.open("pm", 1, &peers).unwrap().user().count, 1);
    }
}
