//! The configuration of this device: the device names that the user gave (`device::Name`), and HAWSER_PORT_RANGE.
//!
//! HAWSER_PORT and HAWSER_RAILS give the same in two lists: every method on every adapter; they are read as such names.
//! Used by `node`, which reads names, by `open`, and by `info`, for which mpiexec carries the texts to other hosts;
//! uses `rails` and `port`.

use crate::card;
use crate::port::{FLOWS, PORT_RANGE, PortRange};
use crate::rails::{RAILS, Wanted};
use hawser_base::param::{Kind, Param, Read};
use hawser_base::value::{T_SCOPE_LOCAL, T_VERBOSITY_USER_BASIC, T_VERBOSITY_USER_DETAIL};
use hawser_base::{Class, Error, Result};
use hawser_device::{Kind as DeviceKind, Name};
use hawser_link::Grade;
use hawser_os::interfaces::Interface;

pub static PORT: Param = Param {
    name: "HAWSER_PORT",
    kind: Kind::Text,
    default: "",
    help: "how ranks of different hosts reach each other: packet (raw Ethernet), packet-udp (raw frames of UDP), udp, stream (TCP), xdp and \
           xdp-udp (both kinds of raw frames, or those of UDP alone, past the kernel's stack, for the first rank of a host; packet and packet-udp \
           for all others), or several of them with commas; \
           empty: packet where that is permitted, packet-udp instead where packet is not answered, udp, and for bulk stream where it \
           measures better and the network is no slower than Ethernet of 1 Gbit/s",
    // `unanswered` reports ranks that have no kind of port in common.
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

/// The parameters of this crate.
pub static PARAMS: &[&Param] = &[&PORT, &RAILS, &PORT_RANGE, &CRC];

/// A method to carry frames.
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
    /// All methods, in the order in which they are tried: each before its stand-in.
    pub const ALL: [Method; 6] =
        [Method::Xdp, Method::Packet, Method::XdpUdp, Method::PacketUdp, Method::Udp, Method::Stream];

    /// Returns its name, as in HAWSER_PORT.
    pub const fn name(self) -> &'static str {
        match self {
            Method::Xdp => "xdp",
            Method::Packet => "packet",
            Method::XdpUdp => "xdp-udp",
            Method::PacketUdp => "packet-udp",
            Method::Udp => "udp",
            Method::Stream => "stream",
        }
    }

    /// Returns its latency class: whether ranks prefer it for short messages or for bulk.
    pub fn grade(self) -> Grade {
        match self {
            Method::Xdp | Method::Packet => Grade::Quick,
            Method::XdpUdp | Method::PacketUdp => Grade::QuickEnough,
            Method::Udp => Grade::Bulk,
            Method::Stream => Grade::BulkAlone,
        }
    }

    /// Returns the method that replaces it where it is not available, and is the same on the wire.
    pub fn stand_in(self) -> Option<Method> {
        match self {
            Method::Xdp => Some(Method::Packet),
            Method::XdpUdp => Some(Method::PacketUdp),
            _ => None,
        }
    }

    /// Returns whether this method satisfies a request for the other.
    pub fn serves_as(self, other: Method) -> bool {
        let on_wire = |method: Method| method.stand_in().unwrap_or(method);
        on_wire(self) == on_wire(other)
    }

    /// Returns whether the CRC32C covers whole payloads, or their fronts alone (docs/protocol.md, P6), by HAWSER_CRC.
    fn is_checked(self) -> Result<bool> {
        Ok(match CRC.choice()? {
            "on" => true,
            "off" => false,
            _ => self.serves_as(Method::Packet) || self.serves_as(Method::PacketUdp),
        })
    }
}

/// This device and its methods, for the parser of device names.
pub const KIND: DeviceKind = DeviceKind {
    name: card::NAME,
    methods: &[
        Method::Xdp.name(),
        Method::Packet.name(),
        Method::XdpUdp.name(),
        Method::PacketUdp.name(),
        Method::Udp.name(),
        Method::Stream.name(),
    ],
};

const _: () = assert!(KIND.methods.len() == Method::ALL.len());

/// One device name: an adapter, or all of them, and the methods that are tried there.
#[derive(Clone, Debug)]
struct Part {
    adapter: Wanted,
    methods: Vec<Method>,
}

/// The configuration of this device.
#[derive(Clone, Debug)]
pub struct Wishes {
    /// The methods that are tried, in this order.
    pub methods: Vec<Method>,
    /// Those of them that HAWSER_PORT names; if it names any, there are only these, and those that belong to them.
    pub named: Vec<Method>,
    pub rails: Wanted,
    pub range: PortRange,
    parts: Vec<Part>,
    /// The device names, if the user has given names and not the two lists.
    given: Option<String>,
}

impl Wishes {
    /// Returns the properties of a port of this kind on rail `rail`, for `link`.
    pub fn traits(&self, method: Method, rail: u8) -> Result<hawser_link::Rail> {
        let reserved = self.reserves(method);
        let (checked, lossless) = (method.is_checked()?, method == Method::Stream);
        let flows = if method == Method::Udp { FLOWS } else { 1 };
        Ok(hawser_link::Rail { grade: method.grade(), nic: rail, checked, lossless, reserved, flows })
    }

    /// Returns whether HAWSER_PORT names the method, or one that it replaces.
    pub fn names(&self, method: Method) -> bool {
        self.named.iter().any(|named| named.serves_as(method))
    }

    /// Returns whether ports of this kind are in reserve, for when no better ones are answered, or for much bulk. If
    /// those would be the only ports, none are in reserve: more are opened only after others are answered.
    pub fn reserves(&self, method: Method) -> bool {
        let has_more = || self.methods.iter().any(|method| matches!(method, Method::Udp | Method::Stream));
        let may_be = matches!(method, Method::XdpUdp | Method::PacketUdp | Method::Stream);
        may_be && !self.names(method) && has_more()
    }

    /// Returns whether a method is requested on an interface.
    pub fn permits(&self, interface: &Interface, method: Method) -> bool {
        self.parts.iter().any(|part| part.methods.contains(&method) && part.adapter.takes(interface))
    }

    /// Returns the user's choice of adapters, as a parameter and its value.
    pub fn of_rails(&self) -> String {
        self.given.clone().unwrap_or_else(|| format!("HAWSER_RAILS={}", self.rails))
    }

    /// Returns the parameter in which methods are named.
    pub fn of_methods(&self) -> &'static str {
        if self.given.is_some() { "HAWSER_DEVICES" } else { "HAWSER_PORT" }
    }

    /// Reads the configuration. `text` returns the value of each parameter; `given`: names of this device that the user
    /// has given.
    pub fn of(text: impl Fn(&Param) -> String, given: &[Name]) -> Result<Wishes> {
        let (port, rails, range) = (text(&PORT), text(&RAILS), text(&PORT_RANGE));
        if given.is_empty() {
            return Wishes::parse(&port, &rails, &range);
        }
        let other = [(&PORT, &port), (&RAILS, &rails)].into_iter().find(|(_, value)| !value.trim().is_empty());
        let says_more = |name: &&Name| name.adapter.is_some() || name.method.is_some();
        if let (Some((param, value)), Some(name)) = (other, given.iter().find(says_more)) {
            let text =
                format!("{}={value} and HAWSER_DEVICES with {name} say the same twice; unset one of them", param.name);
            return Err(Error::new(Class::Arg, text));
        }
        match other {
            Some(_) => Wishes::parse(&port, &rails, &range),
            None => {
                let names: Vec<_> = given.iter().map(Name::to_string).collect();
                Wishes::of_names(given, &range, Some(format!("HAWSER_DEVICES={}", names.join(","))))
            }
        }
    }

    /// Parses the texts of HAWSER_PORT, HAWSER_RAILS and HAWSER_PORT_RANGE.
    pub fn parse(port: &str, rails: &str, range: &str) -> Result<Wishes> {
        Wishes::of_names(&names(port, rails)?, range, None)
    }

    /// Makes the configuration from names of this device, at least one.
    fn of_names(names: &[Name], range: &str, given: Option<String>) -> Result<Wishes> {
        let parts: Vec<_> = names.iter().map(Part::of).collect::<Result<_>>()?;
        let is_named = |method: &Method| names.iter().any(|name| name.method.as_deref() == Some(method.name()));
        let is_tried = |method: &Method| parts.iter().any(|part| part.methods.contains(method));
        Ok(Wishes {
            methods: Method::ALL.into_iter().filter(is_tried).collect(),
            named: Method::ALL.into_iter().filter(is_named).collect(),
            rails: Wanted::any_of(parts.iter().map(|part| &part.adapter)),
            range: PortRange::of_text(range)?,
            parts,
            given,
        })
    }
}

impl Part {
    fn of(name: &Name) -> Result<Part> {
        let adapter = Wanted::parse(name.adapter.as_deref().unwrap_or_default()).map_err(|wrong| {
            let text = format!("{name}: {wrong} is neither an interface's name nor a network as in 10.1.0.0/16");
            Error::new(Class::Arg, text)
        })?;
        let named = Method::ALL.into_iter().find(|method| name.method.as_deref() == Some(method.name()));
        Ok(Part { adapter, methods: methods(named) })
    }
}

/// Converts the texts of HAWSER_PORT and HAWSER_RAILS into names: each method on each adapter.
fn names(port: &str, rails: &str) -> Result<Vec<Name>> {
    let words = |text: &str| -> Vec<Option<String>> {
        let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
        let words: Vec<_> = words.map(|word| Some(word.to_owned())).collect();
        if words.is_empty() { vec![None] } else { words }
    };
    let (methods, adapters) = (words(port), words(rails));
    let is_none = |word: &&String| Method::ALL.iter().all(|method| method.name() != **word);
    if let Some(wrong) = methods.iter().flatten().find(is_none) {
        let text = format!(
            "HAWSER_PORT={port}: {wrong} is none of xdp, xdp-udp, packet, packet-udp, udp and stream; unset it for the \
             last four"
        );
        return Err(Error::new(Class::Arg, text));
    }
    Wanted::of_text(rails)?;
    let on = |adapter: Option<String>| {
        let name = move |method: &Option<String>| Name {
            adapter: adapter.clone(),
            method: method.clone(),
            ..Name::of(card::NAME)
        };
        methods.iter().map(name)
    };
    Ok(adapters.into_iter().flat_map(on).collect())
}

/// Returns the methods that are tried if `named` is named, or none.
fn methods(named: Option<Method>) -> Vec<Method> {
    // The cost of a program on the NIC for TCP is not known beforehand, so xdp has to be requested; packet replaces it
    // where it is not available. Raw Ethernet by queues includes the raw frames of UDP, for peers that do not answer
    // the former.
    let queued = |method: Method| named == Some(method) || method == Method::XdpUdp && named == Some(Method::Xdp);
    let wanted = |method: &Method| match method.stand_in() {
        Some(_) => queued(*method),
        None => named.is_none() || Method::ALL.into_iter().any(|own| queued(own) && own.serves_as(*method)),
    };
    Method::ALL.into_iter().filter(wanted).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the methods that are tried, and those that are named.
    fn of_port(text: &str) -> Result<(Vec<Method>, Vec<Method>)> {
        Wishes::parse(text, "", "").map(|wishes| (wishes.methods, wishes.named))
    }

    #[test]
    fn methods_are_chosen_by_name() {
        use Method::*;
        let chosen = |text| of_port(text).unwrap().0;
        assert_eq!(of_port("").unwrap(), (vec![Packet, PacketUdp, Udp, Stream], vec![]));
        assert_eq!(of_port("udp").unwrap(), (vec![Udp], vec![Udp]));
        assert_eq!(chosen("stream, packet"), [Packet, Stream]);
        assert_eq!(of_port("xdp").unwrap(), (vec![Xdp, Packet, XdpUdp, PacketUdp], vec![Xdp]));
        assert_eq!(chosen("xdp-udp"), [XdpUdp, PacketUdp]);
        assert_eq!(chosen("packet-udp"), [PacketUdp]);
        assert_eq!(chosen("udp,xdp"), [Xdp, Packet, XdpUdp, PacketUdp, Udp]);
        let told = of_port("udp,tcp").map(drop).unwrap_err().to_string();
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

    fn read(text: &str) -> Vec<Name> {
        Name::list(text, &[KIND]).unwrap()
    }

    #[test]
    fn parameters_are_read_as_names_and_mean_what_those_mean() {
        let told = |port: &str, rails: &str| {
            let names: Vec<_> = names(port, rails).unwrap().iter().map(Name::to_string).collect();
            names.join(" ")
        };
        assert_eq!(told("", ""), "ether");
        assert_eq!(told("udp, packet", ""), "ether::udp ether::packet");
        assert_eq!(told("", "eth0,fd00::/16"), "ether:eth0 ether:[fd00::/16]");
        assert_eq!(
            told("udp,stream", "eth0,eth1"),
            "ether:eth0:udp ether:eth0:stream ether:eth1:udp ether:eth1:stream"
        );
        for (port, rails, text) in [("", "", "ether"), ("udp", "", "ether::udp"), ("xdp", "eth0", "ether:eth0:xdp")] {
            let by_names = Wishes::of(|_| String::new(), &read(text)).unwrap();
            let by_lists = Wishes::parse(port, rails, "").unwrap();
            assert_eq!((by_names.methods, by_names.named), (by_lists.methods, by_lists.named), "{text}");
            assert_eq!(by_names.rails, by_lists.rails, "{text}");
        }
    }

    #[test]
    fn each_adapter_has_the_methods_of_its_own_names() {
        let interface = |name: &str| Interface { name: name.into(), ..Interface::default() };
        let wishes = Wishes::of(|_| String::new(), &read("ether:eth0:packet,ether:eth1:udp,ether:eth2")).unwrap();
        let permitted = |name: &str| {
            let permitted = Method::ALL.into_iter().filter(|&method| wishes.permits(&interface(name), method));
            permitted.map(Method::name).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(["eth0", "eth1", "eth3"].map(permitted), ["packet", "udp", ""]);
        assert_eq!(permitted("eth2"), "packet packet-udp udp stream");
        let all = Wishes::of(|_| String::new(), &read("ether:eth0:udp,ether")).unwrap();
        assert!(all.permits(&interface("eth9"), Method::Stream) && all.rails == Wanted::default());
    }

    #[test]
    fn names_that_say_more_do_not_go_with_the_lists() {
        let with = |param: &'static Param, value: &'static str| {
            move |asked: &Param| if asked.name == param.name { value.to_owned() } else { String::new() }
        };
        let told = Wishes::of(with(&RAILS, "eth1"), &read("ether:eth0")).map(drop).unwrap_err();
        let expected = "HAWSER_RAILS=eth1 and HAWSER_DEVICES with ether:eth0 say the same twice; unset one of them";
        assert_eq!(told.cause(), expected);
        let wishes = Wishes::of(with(&PORT, "udp"), &read("ether")).unwrap();
        assert_eq!(
            (wishes.named, wishes.given),
            (vec![Method::Udp], None),
            "the device alone leaves the lists their say"
        );
        let told = Wishes::of(|_| String::new(), &read("ether:a b")).map(drop).unwrap_err();
        assert_eq!(told.cause(), "ether:a b: a b is neither an interface's name nor a network as in 10.1.0.0/16");
    }
}
