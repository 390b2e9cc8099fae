//! A cache of next hops: the Ethernet addresses to which frames for peers are sent, as the kernel has last reported
//! them.
//!
//! If the entry of a peer is old or missing, one frame is sent by the kernel's UDP, and the kernel is queried
//! afterwards. So the kernel resolves the address of the next hop, keeps checking that the next hop is there, and
//! finds another one if a gateway was replaced (P38 of docs/protocol.md). Used by ports over rings; uses
//! `hawser_os::next_hop`.

use hawser_os::next_hop::NextHopQuery;
use std::collections::HashMap;
use std::net::IpAddr;

/// Time for which an address that the kernel has reported is used.
const VALID_NS: u64 = 1_000_000_000;
/// Time between two queries for a next hop whose address the kernel does not know yet: the next hop answers the
/// kernel's request within a round trip.
const RETRY_NS: u64 = 1_000_000;

struct Neighbour {
    mac: Option<[u8; 6]>,
    until_ns: u64,
}

/// The next hops of frames from one local address, by peer address.
pub struct NeighbourCache {
    from: IpAddr,
    interface: u32,
    /// The netlink socket, made when it is needed.
    next_hop_query: Option<NextHopQuery>,
    entries: HashMap<IpAddr, Neighbour>,
}

/// The next hop of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NextHop {
    To([u8; 6]),
    /// Unknown: send the frame by the kernel's UDP. If `query`, the kernel must be queried afterwards.
    Kernel {
        query: bool,
    },
}

impl NeighbourCache {
    /// Makes an empty cache for frames from this address by this interface.
    pub fn new(from: IpAddr, interface: u32) -> NeighbourCache {
        NeighbourCache { from, interface, next_hop_query: None, entries: HashMap::new() }
    }

    #[inline]
    pub fn next_hop(&self, to: IpAddr, now_ns: u64) -> NextHop {
        match self.entries.get(&to) {
            Some(neighbour) if now_ns < neighbour.until_ns => match neighbour.mac {
                Some(mac) => NextHop::To(mac),
                None => NextHop::Kernel { query: false },
            },
            _ => NextHop::Kernel { query: true },
        }
    }

    /// Queries the kernel, after a frame went by its UDP.
    #[cold]
    pub fn query_kernel(&mut self, to: IpAddr, now_ns: u64) {
        if self.next_hop_query.is_none() {
            self.next_hop_query = NextHopQuery::new(self.from, self.interface).ok();
        }
        let mac = self.next_hop_query.as_mut().and_then(|query| query.mac(to));
        let until_ns = now_ns + if mac.is_some() { VALID_NS } else { RETRY_NS };
        self.entries.insert(to, Neighbour { mac, until_ns });
    }

    /// Forgets the kernel's answer for an address.
    #[cold]
    pub fn forget(&mut self, to: IpAddr) {
        self.entries.remove(&to);
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
        let mut all = NeighbourCache::new(localhost, 1);
        assert_eq!(all.next_hop(near, 5), NextHop::Kernel { query: true });
        all.entries.insert(near, Neighbour { mac: Some([2; 6]), until_ns: 5 + VALID_NS });
        assert_eq!(
            (all.next_hop(near, 5), all.next_hop(near, 4 + VALID_NS)),
            (NextHop::To([2; 6]), NextHop::To([2; 6]))
        );
        assert_eq!(
            (all.next_hop(near, 5 + VALID_NS), all.next_hop(far, 5)),
            (NextHop::Kernel { query: true }, NextHop::Kernel { query: true })
        );
        // This host itself has no neighbour entry.
        all.query_kernel(localhost, 5);
        assert_eq!(
            (all.next_hop(localhost, 6), all.next_hop(localhost, 5 + RETRY_NS)),
            (NextHop::Kernel { query: false }, NextHop::Kernel { query: true })
        );
        all.forget(near);
        assert_eq!(all.next_hop(near, 6), NextHop::Kernel { query: true });
    }
}
