//! The ports of a rank on a host, as its process reports them, and the business card that the rank would publish.
//!
//! Data of another host are used only after a check that they form a valid business card. Used by `command` and
//! `pair`.

use super::protocol::PortInfo;
use crate::net;
use hawser_dev_ether::port_list::{self, PORTS_MAX, PortList};

#[derive(Debug)]
pub struct RankPorts {
    /// The rank to which the ports belong.
    pub rank: u32,
    pub infos: Vec<PortInfo>,
    /// The business card; its addresses are those of `infos`, one for one.
    pub business_card: PortList,
}

impl RankPorts {
    /// Checks the ports that a host reports; None if no rank could have such ports.
    pub fn of(rank: u32, infos: Vec<PortInfo>) -> Option<RankPorts> {
        let read = |end: &PortInfo| {
            let frame_max = u16::try_from(end.frame_max).ok()?;
            Some(port_list::CardPort { rail: end.rail, address: net::decode_address(&end.address)?, frame_max })
        };
        let own: Vec<port_list::CardPort> = infos.iter().map(read).collect::<Option<_>>()?;
        let fits = own.len() <= PORTS_MAX && PortList::count_fitting(own.iter().map(|end| end.address)) == own.len();
        fits.then(|| RankPorts { rank, infos, business_card: PortList::new(own) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hawser_dev_ether::port::PortAddress;

    fn port_info(port: u16) -> PortInfo {
        let address = net::encode_address(&PortAddress::Udp(([10, 0, 0, 1], port).into()));
        let (interface, method) = ("eth0".into(), "udp".into());
        PortInfo { rail: 0, interface, networks: Vec::new(), method, address, frame_max: 1472, room: 100 }
    }

    #[test]
    fn ports_that_a_rank_may_have_keep_their_places() {
        let ports = RankPorts::of(0, vec![port_info(1), port_info(2)]).unwrap();
        assert_eq!(ports.business_card.ports().len(), ports.infos.len());
        assert!(RankPorts::of(0, Vec::new()).is_some());
    }

    #[test]
    fn what_no_rank_has_is_refused_and_nothing_panics() {
        let of = |change: fn(&mut PortInfo)| {
            let mut infos = vec![port_info(1), port_info(2)];
            change(&mut infos[0]);
            RankPorts::of(0, infos)
        };
        assert!(of(|end| end.address = "zz".into()).is_none() && of(|end| end.address.clear()).is_none());
        assert!(of(|end| end.frame_max = 65_536).is_none());
        assert!(RankPorts::of(0, (0..26).map(port_info).collect()).is_none(), "a card has no room for them");
        assert!(RankPorts::of(0, (0..100).map(port_info).collect()).is_none());
    }
}
