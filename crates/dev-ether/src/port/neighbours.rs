//! To which Ethernet address frames for a peer go: what the kernel said last, of peers that were sent to.
//!
//! Whoever has waited for a while, or was never said, lets one frame go the kernel's own way and asks then: so the kernel resolves
//! the neighbour, goes on looking whether it is there, and finds another one where a gateway's place was taken (P38).
//! Before it: ports over rings; after it: `hawser_os::next_hop`.

use hawser_os::next_hop::NextHops;
use std::collections::HashMap;
use std::net::IpAddr;

/// For how long what was said holds.
const HOLDS_NS: u64 = 1_000_000_000;
/// Between two questions for a neighbour that is not known: it answers a request within a round trip.
const AGAIN_NS: u64 = 1_000_000;

struct Neighbour {
    mac: Option<[u8; 6]>,
    until_ns: u64,
}

/// See the module.
pub struct Neighbours {
    from: IpAddr,
    interface: u32,
    /// Made when it is needed.
    asker: Option<NextHops>,
    known: HashMap<IpAddr, Neighbour>,
}

/// Where the next frame goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    To([u8; 6]),
    /// The kernel's own way, and afterwards it is to be asked.
    Kernel {
        ask: bool,
    },
}

impl Neighbours {
    /// From this address by this interface.
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

    /// A frame went the kernel's own way: who has it next?
    #[cold]
    pub fn ask(&mut self, to: IpAddr, now_ns: u64) {
        if self.asker.is_none() {
            self.asker = NextHops::new(self.from, self.interface).ok();
        }
        let mac = self.asker.as_mut().and_then(|asker| asker.mac(to));
        let until_ns = now_ns + if mac.is_some() { HOLDS_NS } else { AGAIN_NS };
        self.known.insert(to, Neighbour { mac, until_ns });
    }

    /// What was said of it does not hold any more.
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
        // This host itself is nobody's neighbour.
        all.ask(localhost, 5);
        assert_eq!(
            (all.way(localhost, 6), all.way(localhost, 5 + AGAIN_NS)),
            (Way::Kernel { ask: false }, Way::Kernel { ask: true })
        );
        all.forget(near);
        assert_eq!(all.way(near, 6), Way::Kernel { ask: true });
    }
}
