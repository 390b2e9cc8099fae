//! The Ethernet addresses of next hops: the kernel's latest answers, for peers that were sent to.
//!
//! If an answer is old or missing, one frame goes by the kernel's UDP and the kernel is queried afterwards: so the
//! kernel resolves the neighbour, keeps checking that it is there, and finds another one where a gateway was replaced
//! (P38). Used by ports over rings; uses `hawser_os::next_hop`.

use hawser_os::next_hop::NextHops;
use std::collections::HashMap;
use std::net::IpAddr;

/// Time for which an answer is valid.
const HOLDS_NS: u64 = 1_000_000_000;
/// Time between two queries for an unknown neighbour: it answers a request within a round trip.
const AGAIN_NS: u64 = 1_000_000;

struct Neighbour {
    mac: Option<[u8; 6]>,
    until_ns: u64,
}

/// The known neighbours of one address.
pub struct Neighbours {
    from: IpAddr,
    interface: u32,
    /// The netlink socket, made when it is needed.
    asker: Option<NextHops>,
    known: HashMap<IpAddr, Neighbour>,
}

/// The next hop of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    To([u8; 6]),
    /// The kernel's UDP; if `ask`, the kernel must be queried afterwards.
    Kernel {
        ask: bool,
    },
}

impl Neighbours {
    /// Makes it for frames from this address by this interface.
    pub fn new(from: IpAddr, interface: u32) -> Neighbours {
        Neighbours { from, interface, asker: None, known: HashMap::new() }
    }

    #[inline]
    pub fn way(&self, to: IpAddr, now_ns: u64) -> Way {
        match self.known.get(&to) {
            Some(neighbour) if now_ns < neighbour.until_ns => match neighbour.mac {
                Some(mac) => Way::To(mac),
                None => Way::Kernel { ask: false },
            },
            _ => Way::Kernel { ask: true },
        }
    }

    /// Queries the kernel, after a frame went by its UDP.
    #[cold]
    pub fn ask(&mut self, to: IpAddr, now_ns: u64) {
        if self.asker.is_none() {
            self.asker = NextHops::new(self.from, self.interface).ok();
        }
        let mac = self.asker.as_mut().and_then(|asker| asker.mac(to));
        let until_ns = now_ns + if mac.is_some() { HOLDS_NS } else { AGAIN_NS };
        self.known.insert(to, Neighbour { mac, until_ns });
    }

    /// Forgets the kernel's answer for an address.
    #[cold]
    pub fn forget(&mut self, to: IpAddr) {
        self.known.remove(&to);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// P38
    #[test]
    fn a_neighbour_holds_for_a_second_and_an_unknown_one_is_asked_for_soon() {
        let localhost: IpAddr = "127.0.0.1".parse().unwrap();
        let [near, far] = ["10.77.0.2", "10.77.0.3"].map(|text| text.parse::<IpAddr>().unwrap());
        let mut all = Neighbours::new(localhost, 1);
        assert_eq!(all.way(near, 5), Way::Kernel { ask: true });
        all.known.insert(near, Neighbour { mac: Some([2; 6]), until_ns: 5 + HOLDS_NS });
        assert_eq!((all.way(near, 5), all.way(near, 4 + HOLDS_NS)), (Way::To([2; 6]), Way::To([2; 6])));
        assert_eq!(
            (all.way(near, 5 + HOLDS_NS), all.way(far, 5)),
            (Way::Kernel { ask: true }, Way::Kernel { ask: true })
        );
        // This host itself has no neighbour entry.
        all.ask(localhost, 5);
        assert_eq!(
            (all.way(localhost, 6), all.way(localhost, 5 + AGAIN_NS)),
            (Way::Kernel { ask: false }, Way::Kernel { ask: true })
        );
        all.forget(near);
        assert_eq!(all.way(near, 6), Way::Kernel { ask: true });
    }
}
