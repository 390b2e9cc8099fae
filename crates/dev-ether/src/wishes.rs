//! What the user asks of the ways between hosts: HAWSER_PORT, HAWSER_RAILS, HAWSER_PORT_RANGE.
//!
//! Before it: `open`, and `info`, for which mpiexec carries the texts to other hosts; after it: `rails`, `port`.

use crate::port::{FLOWS, PORT_RANGE, PortRange};
use crate::rails::{RAILS, Wanted};
use hawser_base::param::{Kind, Param, Read};
use hawser_base::value::{T_SCOPE_LOCAL, T_VERBOSITY_USER_BASIC, T_VERBOSITY_USER_DETAIL};
use hawser_base::{Class, Error, Result};
use hawser_link::Grade;

pub static PORT: Param = Param {
    name: "HAWSER_PORT",
    kind: Kind::Text,
    default: "",
    help: "how ranks of different hosts reach each other: packet (raw Ethernet), packet-udp (raw frames of UDP), udp, stream (TCP), xdp and \
           xdp-udp (both kinds of raw frames, or those of UDP alone, past the kernel's stack, for the first rank of a host; packet and packet-udp \
           for all others), or several of them with commas; \
           empty: packet where that is permitted, packet-udp instead where packet is not answered, udp, and for bulk stream where it \
           measures better and the network is no slower than Ethernet of 1 Gbit/s",
    // Ranks that have no kind of port in common are told so (`unanswered`).
    scope: T_SCOPE_LOCAL,
    verbosity: T_VERBOSITY_USER_BASIC,
    read: Read::AtStart,
};

pub static CRC: Param = Param {
    name: "HAWSER_CRC",
    kind: Kind::Choice(&["auto", "on", "off"]),
    default: "auto",
    help: "whether a program's bytes have a CRC32C between hosts: on, off, or auto: by raw frames, where nothing else \
           checks them from end to end; UDP and TCP have checksums of their own. Headers have one in each case",
    scope: T_SCOPE_LOCAL,
    verbosity: T_VERBOSITY_USER_DETAIL,
    read: Read::AtStart,
};

/// Rows of this room.
pub static PARAMS: &[&Param] = &[&PORT, &RAILS, &PORT_RANGE, &CRC];

/// A way to carry frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Method {
    Xdp,
    Packet,
    XdpUdp,
    PacketUdp,
    Udp,
    Stream,
}

impl Method {
    /// In the order in which they are tried: each before its stand-in.
    pub const ALL: [Method; 6] =
        [Method::Xdp, Method::Packet, Method::XdpUdp, Method::PacketUdp, Method::Udp, Method::Stream];

    /// As in HAWSER_PORT.
    pub fn name(self) -> &'static str {
        match self {
            Method::Xdp => "xdp",
            Method::Packet => "packet",
            Method::XdpUdp => "xdp-udp",
            Method::PacketUdp => "packet-udp",
            Method::Udp => "udp",
            Method::Stream => "stream",
        }
    }

    /// What it is good for, as ranks rate it.
    pub fn grade(self) -> Grade {
        match self {
            Method::Xdp | Method::Packet => Grade::Quick,
            Method::XdpUdp | Method::PacketUdp => Grade::QuickEnough,
            Method::Udp => Grade::Bulk,
            Method::Stream => Grade::BulkAlone,
        }
    }

    /// What does in its place where it cannot be had, and is the same on the wire.
    pub fn stand_in(self) -> Option<Method> {
        match self {
            Method::Xdp => Some(Method::Packet),
            Method::XdpUdp => Some(Method::PacketUdp),
            _ => None,
        }
    }

    /// Whether this one does where the other is asked for.
    pub fn serves_as(self, other: Method) -> bool {
        let on_wire = |method: Method| method.stand_in().unwrap_or(method);
        on_wire(self) == on_wire(other)
    }

    /// Whether the CRC32C covers whole payloads, or their fronts alone (docs/protocol.md, P6), by HAWSER_CRC.
    fn is_checked(self) -> Result<bool> {
        Ok(match CRC.choice()? {
            "on" => true,
            "off" => false,
            _ => self.serves_as(Method::Packet) || self.serves_as(Method::PacketUdp),
        })
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Wishes {
    /// In the order in which they are tried.
    pub methods: Vec<Method>,
    /// Those of them that HAWSER_PORT names; if it names any there are but these, and what belongs to them.
    pub named: Vec<Method>,
    pub rails: Wanted,
    pub range: PortRange,
}

impl Wishes {
    /// What a port of this kind on rail `rail` is to `link`.
    pub fn traits(&self, method: Method, rail: u8) -> Result<hawser_link::Rail> {
        let reserved = self.reserves(method);
        let (checked, lossless) = (method.is_checked()?, method == Method::Stream);
        let flows = if method == Method::Udp { FLOWS } else { 1 };
        Ok(hawser_link::Rail { grade: method.grade(), nic: rail, checked, lossless, reserved, flows })
    }

    /// Whether HAWSER_PORT names it, or what it does for.
    pub fn names(&self, method: Method) -> bool {
        self.named.iter().any(|named| named.serves_as(method))
    }

    /// Whether ports of this kind are kept for where no better ones are answered, or for much bulk. Where those would be all that there
    /// is, nothing is kept: only what is answered calls for more.
    pub fn reserves(&self, method: Method) -> bool {
        let has_more = || self.methods.iter().any(|method| matches!(method, Method::Udp | Method::Stream));
        let may_be = matches!(method, Method::XdpUdp | Method::PacketUdp | Method::Stream);
        may_be && !self.names(method) && has_more()
    }

    pub fn from_environment() -> Result<Wishes> {
        Wishes::of(|param| param.text())
    }

    /// As `text` says what each parameter is.
    pub fn of(text: impl Fn(&Param) -> String) -> Result<Wishes> {
        Wishes::parse(&text(&PORT), &text(&RAILS), &text(&PORT_RANGE))
    }

    /// From the texts of HAWSER_PORT, HAWSER_RAILS and HAWSER_PORT_RANGE.
    pub fn parse(port: &str, rails: &str, range: &str) -> Result<Wishes> {
        let (methods, named) = methods(port)?;
        Ok(Wishes { methods, named, rails: Wanted::of_text(rails)?, range: PortRange::of_text(range)? })
    }
}

/// Those that are tried, and those that are named.
fn methods(text: &str) -> Result<(Vec<Method>, Vec<Method>)> {
    let words: Vec<&str> = text.split(',').map(str::trim).filter(|word| !word.is_empty()).collect();
    if let Some(wrong) = words.iter().find(|word| Method::ALL.iter().all(|method| method.name() != **word)) {
        let text = format!(
            "HAWSER_PORT={text}: {wrong} is none of xdp, xdp-udp, packet, packet-udp, udp and stream; unset it for the last four"
        );
        return Err(Error::new(Class::Arg, text));
    }
    // What a program on the NIC costs TCP is not known before, so xdp has to be asked for; packet is had wherever it cannot be.
    let named: Vec<Method> = Method::ALL.into_iter().filter(|method| words.contains(&method.name())).collect();
    // With raw Ethernet by queues go the raw frames of UDP, for where the former is not answered.
    let queued = |method: Method| named.contains(&method) || method == Method::XdpUdp && named.contains(&Method::Xdp);
    let wanted = |method: &Method| match method.stand_in() {
        Some(_) => queued(*method),
        None => words.is_empty() || Method::ALL.into_iter().any(|own| queued(own) && own.serves_as(*method)),
    };
    Ok((Method::ALL.into_iter().filter(wanted).collect(), named))
}

/// Refuses what cannot be meant.
pub fn check() -> Result<()> {
    Wishes::from_environment().map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_are_chosen_by_name() {
        use Method::*;
        let chosen = |text| methods(text).unwrap().0;
        assert_eq!(methods("").unwrap(), (vec![Packet, PacketUdp, Udp, Stream], vec![]));
        assert_eq!(methods("udp").unwrap(), (vec![Udp], vec![Udp]));
        assert_eq!(chosen("stream, packet"), [Packet, Stream]);
        assert_eq!(methods("xdp").unwrap(), (vec![Xdp, Packet, XdpUdp, PacketUdp], vec![Xdp]));
        assert_eq!(chosen("xdp-udp"), [XdpUdp, PacketUdp]);
        assert_eq!(chosen("packet-udp"), [PacketUdp]);
        assert_eq!(chosen("udp,xdp"), [Xdp, Packet, XdpUdp, PacketUdp, Udp]);
        let told = methods("udp,tcp").unwrap_err().to_string();
        let expected = "HAWSER_PORT=udp,tcp: tcp is none of xdp, xdp-udp, packet, packet-udp, udp and stream";
        assert!(told.contains(expected), "{told}");
    }

    #[test]
    fn raw_frames_of_udp_are_kept_where_others_can_call_for_them() {
        let reserved = |text| {
            let wishes = Wishes::parse(text, "", "").unwrap();
            let kept = wishes.methods.iter().filter(|method| wishes.reserves(**method));
            kept.map(|method| method.name()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(reserved(""), "packet-udp stream");
        assert_eq!(reserved("xdp,udp,stream"), "xdp-udp packet-udp");
        for none in ["xdp", "xdp-udp", "packet-udp,udp", "xdp,xdp-udp,udp", "stream"] {
            assert_eq!(reserved(none), "", "{none}");
        }
    }
}
