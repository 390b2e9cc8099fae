//! The ports of a rank on a host, as its process reports them, and the business card that the rank would publish.
//!
//! Data of another host is trusted only once it is such a card. Used by `hosts` and `pair`.

use super::orders::End;
use crate::net;
use hawser_dev_ether::card::{self, Card, PORTS};

#[derive(Debug)]
pub struct Ports {
    /// The rank to which they belong.
    pub rank: u32,
    pub ends: Vec<End>,
    /// The business card; its addresses are those of `ends`, one for one.
    pub card: Card,
}

impl Ports {
    /// Checks the ends; None: no rank has such ports.
    pub fn of(rank: u32, ends: Vec<End>) -> Option<Ports> {
        let read = |end: &End| {
            let frame_max = u16::try_from(end.frame_max).ok()?;
            Some(card::End { rail: end.rail, address: net::read(&end.address)?, frame_max })
        };
        let own: Vec<card::End> = ends.iter().map(read).collect::<Option<_>>()?;
        let fits = own.len() <= PORTS && Card::room_for(own.iter().map(|end| end.address)) == own.len();
        fits.then(|| Ports { rank, ends, card: Card::new(own) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hawser_dev_ether::port::Address;

    fn end(port: u16) -> End {
        let address = net::written(&Address::Udp(([10, 0, 0, 1], port).into()));
        let (interface, method) = ("eth0".into(), "udp".into());
        End { rail: 0, interface, networks: Vec::new(), method, address, frame_max: 1472, room: 100 }
    }

    #[test]
    fn ports_that_a_rank_may_have_keep_their_places() {
        let ports = Ports::of(0, vec![end(1), end(2)]).unwrap();
        assert_eq!(ports.card.ends().len(), ports.ends.len());
        assert!(Ports::of(0, Vec::new()).is_some());
    }

    #[test]
    fn what_no_rank_has_is_refused_and_nothing_panics() {
        let of = |change: fn(&mut End)| {
            let mut ends = vec![end(1), end(2)];
            change(&mut ends[0]);
            Ports::of(0, ends)
        };
        assert!(of(|end| end.address = "zz".into()).is_none() && of(|end| end.address.clear()).is_none());
        assert!(of(|end| end.frame_max = 65_536).is_none());
        assert!(Ports::of(0, (0..26).map(end).collect()).is_none(), "a card has no room for them");
        assert!(Ports::of(0, (0..100).map(end).collect()).is_none());
    }
}
