//! What the user asks of the ways between hosts: HAWSER_PORT, HAWSER_RAILS, HAWSER_PORT_RANGE.
//!
//! Before it: `open`, and `info`, for which mpiexec carries the texts to other hosts; after it: `rails`, `port`.

use crate::port::{FLOWS, PORT_RANGE, PortRange};
use crate::rails::{RAILS, Wanted};
use hawser_base::param::{Kind, Param, Read};
use hawser_base::value::{T_SCOPE_ALL_EQ, T_SCOPE_LOCAL, T_VERBOSITY_USER_BASIC, T_VERBOSITY_USER_DETAIL};
use hawser_base::{Class, Error, Result};
use hawser_link::Grade;

pub static PORT: Param = Param {
    name: "HAWSER_PORT",
    kind: Kind::Text,
    default: "",
    help: "how ranks of different hosts reach each other: packet (raw Ethernet), packet-udp (raw frames of UDP), udp, stream (TCP), xdp \
           (raw Ethernet past the kernel's stack, for the first rank of a host; packet for all others), or several of them with commas; \
           empty: packet where that is permitted, packet-udp instead where packet is not answered, udp, and for bulk stream where it \
           measures better",
    scope: T_SCOPE_ALL_EQ,
    verbosity: T_VERBOSITY_USER_BASIC,
    read: Read::AtStart,
};

pub static CRC: Param = Param {
    name: "HAWSER_CRC",
    kind: Kind::Choice(&["auto", "on", "off"]),
    default: "auto",
    help: "whether payload between hosts has a CRC32C: on, off, or auto: by packet and packet-udp, where nothing else checks it from end to end; \
           UDP and TCP have checksums of their own",
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
    PacketUdp,
    Udp,
    Stream,
}

impl Method {
    /// In the order in which they are tried: xdp, whose stand-in packet is, before that.
    pub const ALL: [Method; 5] = [Method::Xdp, Method::Packet, Method::PacketUdp, Method::Udp, Method::Stream];

    /// As in HAWSER_PORT.
    pub fn name(self) -> &'static str {
        match self {
            Method::Xdp => "xdp",
            Method::Packet => "packet",
            Method::PacketUdp => "packet-udp",
            Method::Udp => "udp",
            Method::Stream => "stream",
        }
    }

    fn grade(self) -> Grade {
        match self {
            Method::Xdp | Method::Packet => Grade::Quick,
            Method::PacketUdp => Grade::QuickEnough,
            Method::Udp => Grade::Bulk,
            Method::Stream => Grade::BulkAlone,
        }
    }

    /// Whether this one does where the other is asked for: xdp and packet are one on the wire.
    pub fn serves_as(self, other: Method) -> bool {
        let raw = |method| matches!(method, Method::Xdp | Method::Packet);
        self == other || raw(self) && raw(other)
    }

    /// Whether payloads get a CRC32C (docs/protocol.md, P6), by HAWSER_CRC.
    fn is_checked(self) -> Result<bool> {
        Ok(match CRC.choice()? {
            "on" => true,
            "off" => false,
            _ => self.serves_as(Method::Packet) || self == Method::PacketUdp,
        })
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Wishes {
    pub methods: Vec<Method>,
    /// The methods are those that HAWSER_PORT names.
    pub named: bool,
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

    /// Whether ports of this kind are kept for where no better ones are answered, or for much bulk.
    pub fn reserves(&self, method: Method) -> bool {
        matches!(method, Method::PacketUdp | Method::Stream) && !self.named
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

fn methods(text: &str) -> Result<(Vec<Method>, bool)> {
    let words: Vec<&str> = text.split(',').map(str::trim).filter(|word| !word.is_empty()).collect();
    if let Some(wrong) = words.iter().find(|word| Method::ALL.iter().all(|method| method.name() != **word)) {
        let text = format!(
            "HAWSER_PORT={text}: {wrong} is none of xdp, packet, packet-udp, udp and stream; unset it for the last four"
        );
        return Err(Error::new(Class::Arg, text));
    }
    // What a program on the NIC costs TCP is not known before, so xdp has to be asked for; packet is had wherever it cannot be.
    let named = |method: &Method| words.contains(&method.name());
    let wanted = |method: &Method| match method {
        Method::Xdp => named(method),
        Method::Packet => words.is_empty() || named(method) || named(&Method::Xdp),
        _ => words.is_empty() || named(method),
    };
    Ok((Method::ALL.into_iter().filter(wanted).collect(), !words.is_empty()))
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
        assert_eq!(methods("").unwrap(), (vec![Packet, PacketUdp, Udp, Stream], false));
        assert_eq!(methods("udp").unwrap(), (vec![Udp], true));
        assert_eq!(methods("stream, packet").unwrap(), (vec![Packet, Stream], true));
        assert_eq!(methods("xdp").unwrap(), (vec![Xdp, Packet], true));
        assert_eq!(methods("udp,xdp").unwrap(), (vec![Xdp, Packet, Udp], true));
        let told = methods("udp,tcp").unwrap_err().to_string();
        assert!(told.contains("HAWSER_PORT=udp,tcp: tcp is none of xdp, packet, packet-udp, udp and stream"), "{told}");
    }
}
