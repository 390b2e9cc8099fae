//! The ports of a rank: on each rail of its host one for raw Ethernet, where that is allowed, and one for UDP; TCP only if it is
//! asked for.
//!
//! Which of them reach a peer, the connection finds out. Before it: `node`; after it: `rails`, `port`.

use crate::card::PORTS;
use crate::port::{FramePort, PORT_RANGE, PacketPort, PortRange, StreamPort, UdpPort};
use crate::rails::{self, Verdict, Wanted};
use hawser_base::param::{Kind, Param};
use hawser_base::{Class, Error, Result};
use hawser_link::Grade;
use hawser_os::interfaces::{self, Interface, Network};
use std::io;

pub static PORT: Param = Param {
    name: "HAWSER_PORT",
    kind: Kind::Text,
    default: "",
    help: "how ranks of different hosts reach each other: packet (raw Ethernet), udp, stream (TCP), or several of them with \
           commas; empty: packet where that is permitted, and udp",
};

/// Of which job and which rank of its host the ports are.
#[derive(Clone, Copy)]
pub struct Who {
    /// What tells frames of this job from those of others on the same wire; no secret.
    pub job: u32,
    pub local_rank: u16,
    /// What connections begin with, from the job's secret.
    pub pass: [u8; 16],
}

/// A port and what it is good for.
pub struct Opened {
    pub port: Box<dyn FramePort>,
    pub grade: Grade,
}

/// Opens them. At least one, or an error that says what was tried.
pub fn ports(who: &Who) -> Result<Vec<Opened>> {
    let wanted = Wanted::from_environment()?;
    let methods = Methods::from_environment()?;
    let range = PortRange::from_environment()?;
    let all = interfaces::all().map_err(|error| Error::new(Class::Other, format!("listing interfaces: {error}")))?;
    let mut opened = Vec::new();
    let mut tried = Vec::new();
    for rail in rails::judge(all, &wanted) {
        if rail.verdict == Verdict::Rail {
            open(&rail.interface, &wanted, &methods, range, who, &mut opened, &mut tried);
        } else {
            tried.push(format!("{} {}", rail.interface.name, rail.verdict.text()));
        }
    }
    opened.truncate(PORTS);
    if opened.is_empty() {
        let text = format!("no interface of this host leads to others: {}", tried.join("; "));
        return Err(Error::new(Class::Other, text));
    }
    Ok(opened)
}

fn open(
    interface: &Interface,
    wanted: &Wanted,
    methods: &Methods,
    range: PortRange,
    who: &Who,
    opened: &mut Vec<Opened>,
    tried: &mut Vec<String>,
) {
    let mut keep = |method: &str, made: io::Result<Box<dyn FramePort>>, grade| match made {
        Ok(port) => opened.push(Opened { port, grade }),
        Err(error) => tried.push(format!("{} by {method}: {error}", interface.name)),
    };
    let (job, nth) = (who.job, usize::from(who.local_rank));
    if methods.packet && interface.mac.is_some() {
        let port = PacketPort::open(interface, job, who.local_rank).map(|port| Box::new(port) as _);
        keep("packet", port, Grade::Quick);
    }
    let Some(local) = address(interface, wanted) else { return };
    if methods.udp {
        keep("udp", UdpPort::open(interface, local, range, nth).map(|port| Box::new(port) as _), Grade::Bulk);
    }
    if methods.stream {
        let port = StreamPort::open(interface, local, range, nth, who.pass);
        keep("stream", port.map(|port| Box::new(port) as _), Grade::Bulk);
    }
}

/// The address to use: IPv4 if there is one, else one that does not hold on its link alone.
fn address<'a>(interface: &'a Interface, wanted: &Wanted) -> Option<&'a Network> {
    let allowed = || interface.addresses.iter().filter(|address| wanted.allows(interface, address));
    let v4 = allowed().find(|address| address.ip.is_ipv4());
    v4.or_else(|| allowed().find(|address| address.scope == 0)).or_else(|| allowed().next())
}

/// What HAWSER_PORT says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Methods {
    packet: bool,
    udp: bool,
    stream: bool,
}

impl Methods {
    fn from_environment() -> Result<Methods> {
        let text = PORT.text();
        Methods::parse(&text).ok_or_else(|| {
            let text = format!("HAWSER_PORT={text} is none of packet, udp and stream, nor some of them with commas");
            Error::new(Class::Arg, text)
        })
    }

    fn parse(text: &str) -> Option<Methods> {
        let words: Vec<&str> = text.split(',').map(str::trim).filter(|word| !word.is_empty()).collect();
        if words.iter().any(|word| !["packet", "udp", "stream"].contains(word)) {
            return None;
        }
        let has = |word: &str| words.contains(&word);
        Some(match words.is_empty() {
            true => Methods { packet: true, udp: true, stream: false },
            false => Methods { packet: has("packet"), udp: has("udp"), stream: has("stream") },
        })
    }
}

/// Rows of this room.
pub static PARAMS: &[&Param] = &[&PORT, &rails::RAILS, &PORT_RANGE];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_are_chosen_by_name() {
        let of = |packet, udp, stream| Some(Methods { packet, udp, stream });
        assert_eq!(Methods::parse(""), of(true, true, false));
        assert_eq!(Methods::parse("udp"), of(false, true, false));
        assert_eq!(Methods::parse("stream, packet"), of(true, false, true));
        assert_eq!(Methods::parse("tcp"), None);
    }
}
