//! Rails: the interfaces of this host over which ranks may reach others, and the reasons against the rest.
//!
//! Real hosts have unusable interfaces: bridges of containers without carrier, tunnels that swallow everything, parts
//! of bonds. Here they are recognized by what the kernel reports of them; whether two rails reach each other, only a
//! probe between peers can show.

use hawser_base::param::{Kind, Param, Read};
use hawser_base::value::{T_SCOPE_LOCAL, T_VERBOSITY_USER_BASIC};
use hawser_base::{Class, Error, Result};
use hawser_os::interfaces::{Interface, Network};
use std::fmt;
use std::net::IpAddr;

pub static RAILS: Param = Param {
    name: "HAWSER_RAILS",
    kind: Kind::Text,
    default: "",
    help: "interfaces and networks between hosts that ranks use, as in eth0,10.1.0.0/16; empty: all that may serve",
    scope: T_SCOPE_LOCAL,
    verbosity: T_VERBOSITY_USER_BASIC,
    read: Read::AtStart,
};

/// The interfaces that HAWSER_RAILS names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted(Vec<Wish>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Wish {
    Name(String),
    Network(Network),
}

/// The judgement on an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It may be used; probing shows whether it reaches peers.
    Rail,
    /// It has an address, and its cable is unplugged: it can be used once that is plugged in again.
    Pulled,
    /// HAWSER_RAILS names others.
    NotWanted,
    /// It is administratively down.
    Down,
    /// It never had a carrier; or it is a bridge without ports.
    NoCarrier,
    /// Its carrier has come, but the kernel does not send yet.
    Late,
    /// It is a loopback interface.
    Loopback,
    /// It is a tunnel, or another link without neighbours.
    Tunnel,
    /// It is a part of a bridge or bond, which is used instead.
    Enslaved,
    /// It is neither Ethernet nor has it an address.
    Nothing,
}

/// An interface of this host and its verdict.
#[derive(Clone, Debug)]
pub struct Rail {
    pub interface: Interface,
    pub verdict: Verdict,
}

impl Verdict {
    /// Returns whether ports are opened on it.
    pub fn serves(self) -> bool {
        matches!(self, Verdict::Rail | Verdict::Pulled)
    }

    /// Returns a text for people.
    pub fn text(self) -> &'static str {
        match self {
            Verdict::Rail => "a rail",
            Verdict::Pulled => "a rail that has no carrier now",
            Verdict::NotWanted => "not named in HAWSER_RAILS",
            Verdict::Down => "is down",
            Verdict::NoCarrier => "has no carrier",
            Verdict::Late => "has carrier, but is not running after 2 s",
            Verdict::Loopback => "leads back to this host",
            Verdict::Tunnel => "is a tunnel (name it in HAWSER_RAILS to use it)",
            Verdict::Enslaved => "is part of a bridge or bond",
            Verdict::Nothing => "has no address",
        }
    }
}

/// Prints the value as in HAWSER_RAILS.
impl fmt::Display for Wanted {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<_> = self.0.iter().map(Wish::to_string).collect();
        out.write_str(&words.join(","))
    }
}

impl fmt::Display for Wish {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Wish::Name(name) => out.write_str(name),
            Wish::Network(Network { ip, prefix, .. }) => write!(out, "{ip}/{prefix}"),
        }
    }
}

impl Wish {
    fn names(&self, interface: &Interface) -> bool {
        match self {
            Wish::Name(name) => *name == interface.name,
            Wish::Network(network) => interface.addresses.iter().any(|own| network.contains(&own.ip)),
        }
    }
}

/// Prints its name and its addresses.
impl fmt::Display for Rail {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", self.interface.name)?;
        self.interface.addresses.iter().try_for_each(|own| write!(out, " {}/{}", own.ip, own.prefix))
    }
}

impl Wanted {
    /// Parses the value of HAWSER_RAILS.
    pub fn of_text(text: &str) -> Result<Wanted> {
        Wanted::parse(text).map_err(|wrong| {
            Error::new(
                Class::Arg,
                format!(
                    "HAWSER_RAILS={text}: {wrong} is neither an interface's name nor a network as in 10.1.0.0/16; unset it \
                     for all interfaces"
                ),
            )
        })
    }

    /// Returns the wishes, or the word that is none.
    pub(crate) fn parse(text: &str) -> std::result::Result<Wanted, String> {
        let wishes = text.split(',').map(str::trim).filter(|word| !word.is_empty());
        wishes.map(|word| wish(word).ok_or_else(|| word.to_owned())).collect::<std::result::Result<_, _>>().map(Wanted)
    }

    fn names(&self, interface: &Interface) -> bool {
        self.0.iter().any(|wish| wish.names(interface))
    }

    /// Returns the union of several; all interfaces, if one of them wants all.
    pub fn any_of<'a>(several: impl Iterator<Item = &'a Wanted>) -> Wanted {
        let mut wishes: Vec<Wish> = Vec::new();
        for wanted in several {
            if wanted.0.is_empty() {
                return Wanted::default();
            }
            let new: Vec<_> = wanted.0.iter().filter(|wish| !wishes.contains(wish)).cloned().collect();
            wishes.extend(new);
        }
        Wanted(wishes)
    }

    /// Returns whether it wants an interface; all, if it names none.
    pub fn takes(&self, interface: &Interface) -> bool {
        self.0.is_empty() || self.names(interface)
    }

    /// Returns a text about the wishes that match none of these interfaces: typing errors, or meant for other hosts.
    /// `said`: a parameter and its value.
    pub fn astray<'a>(&self, said: &str, interfaces: impl Iterator<Item = &'a Interface> + Clone) -> Option<String> {
        let strays = self.0.iter().filter(|wish| !interfaces.clone().any(|interface| wish.names(interface)));
        let strays: Vec<_> = strays.map(Wish::to_string).collect();
        let text = || format!("{said}: {} names no interface of this host", strays.join(","));
        (!strays.is_empty()).then(text)
    }

    /// Returns whether this address of a wanted interface may be used: if networks name the interface, and not its
    /// name, the addresses within them.
    pub fn allows(&self, interface: &Interface, address: &Network) -> bool {
        let by_name = self.0.iter().any(|wish| matches!(wish, Wish::Name(name) if *name == interface.name));
        let within = |wish: &Wish| matches!(wish, Wish::Network(network) if network.contains(&address.ip));
        self.0.is_empty() || by_name || self.0.iter().any(within)
    }
}

fn wish(word: &str) -> Option<Wish> {
    if let Some((ip, prefix)) = word.split_once('/') {
        let (ip, prefix) = (ip.parse::<IpAddr>().ok()?, prefix.parse().ok()?);
        let longest = if ip.is_ipv4() { 32 } else { 128 };
        return (prefix <= longest).then_some(Wish::Network(Network { ip, prefix, scope: 0 }));
    }
    if let Ok(ip) = word.parse::<IpAddr>() {
        return Some(Wish::Network(Network { ip, prefix: if ip.is_ipv4() { 32 } else { 128 }, scope: 0 }));
    }
    // The kernel's rule for a name (dev_valid_name): up to 15 bytes without white space and '/'.
    let valid = word.len() < 16 && !word.contains(char::is_whitespace);
    valid.then(|| Wish::Name(word.to_owned()))
}

/// Judges interfaces. One that is named is used whatever it is, unless it cannot work.
pub fn judge(interfaces: Vec<Interface>, wanted: &Wanted) -> Vec<Rail> {
    let judged = |interface: Interface| Rail { verdict: verdict(&interface, wanted), interface };
    interfaces.into_iter().map(judged).collect()
}

fn verdict(interface: &Interface, wanted: &Wanted) -> Verdict {
    let flags = interface.flags;
    let named = wanted.names(interface);
    match () {
        _ if !wanted.0.is_empty() && !named => Verdict::NotWanted,
        _ if !flags.up => Verdict::Down,
        // A bridge that never had a part reports that it is running.
        _ if interface.driver.as_deref() == Some("bridge") && interface.parts == 0 => Verdict::NoCarrier,
        _ if !flags.running && !flags.carrier && interface.addresses.is_empty() => Verdict::NoCarrier,
        _ if !flags.running && flags.carrier => Verdict::Late,
        _ if interface.enslaved => Verdict::Enslaved,
        _ if interface.mac.is_none() && interface.addresses.is_empty() => Verdict::Nothing,
        _ if flags.loopback && !named => Verdict::Loopback,
        _ if !named && (flags.point_to_point || flags.no_arp || interface.driver.as_deref() == Some("tun")) => {
            Verdict::Tunnel
        }
        _ if !flags.running => Verdict::Pulled,
        _ => Verdict::Rail,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hawser_os::interfaces::Flags;

    fn interface(name: &str, address: &str) -> Interface {
        let flags = Flags { up: true, running: true, ..Flags::default() };
        let addresses = vec![Network { ip: address.parse().unwrap(), prefix: 24, scope: 0 }];
        Interface { name: name.into(), mac: Some([2; 6]), flags, addresses, ..Interface::default() }
    }

    fn of(interface: &Interface, wanted: &str) -> Verdict {
        verdict(interface, &Wanted::parse(wanted).unwrap())
    }

    #[test]
    fn decoys_are_recognised() {
        let nic = interface("eth0", "10.0.0.1");
        let with = |flags: Flags| Interface { flags, ..nic.clone() };
        let up = nic.flags;
        assert_eq!(of(&nic, ""), Verdict::Rail);
        assert_eq!(of(&with(Flags { up: false, ..up }), ""), Verdict::Down);
        assert_eq!(of(&with(Flags { running: false, ..up }), ""), Verdict::Pulled);
        let bare = Interface { addresses: vec![], ..with(Flags { running: false, ..up }) };
        assert_eq!(of(&bare, ""), Verdict::NoCarrier);
        let tunnel = with(Flags { running: false, no_arp: true, ..up });
        assert_eq!((of(&tunnel, ""), of(&tunnel, "eth0")), (Verdict::Tunnel, Verdict::Pulled));
        assert_eq!(of(&with(Flags { running: false, carrier: true, ..up }), ""), Verdict::Late);
        assert_eq!(of(&with(Flags { loopback: true, ..up }), ""), Verdict::Loopback);
        assert_eq!(of(&with(Flags { point_to_point: true, ..up }), ""), Verdict::Tunnel);
        assert_eq!(of(&with(Flags { no_arp: true, ..up }), ""), Verdict::Tunnel);
        assert_eq!(of(&Interface { driver: Some("tun".into()), ..nic.clone() }, ""), Verdict::Tunnel);
        let bridge = Interface { driver: Some("bridge".into()), ..nic.clone() };
        assert_eq!(
            (of(&bridge, ""), of(&Interface { parts: 1, ..bridge.clone() }, "")),
            (Verdict::NoCarrier, Verdict::Rail)
        );
        assert_eq!(of(&Interface { flags: Flags { running: false, ..up }, ..bridge }, ""), Verdict::NoCarrier);
        assert_eq!(of(&Interface { enslaved: true, ..nic.clone() }, ""), Verdict::Enslaved);
        assert_eq!(of(&Interface { mac: None, addresses: vec![], ..nic }, ""), Verdict::Nothing);
    }

    #[test]
    fn wishes_choose_by_name_and_by_network() {
        let (one, two) = (interface("eth0", "10.1.5.1"), interface("ib0", "fd00::7"));
        assert_eq!((of(&one, "eth0"), of(&two, "eth0")), (Verdict::Rail, Verdict::NotWanted));
        assert_eq!((of(&one, "x, 10.1.0.0/16"), of(&two, "10.1.0.0/16")), (Verdict::Rail, Verdict::NotWanted));
        assert_eq!((of(&two, "fd00::/16"), of(&one, "10.1.5.2")), (Verdict::Rail, Verdict::NotWanted));
        let tunnel = Interface { flags: Flags { point_to_point: true, ..one.flags }, ..one.clone() };
        assert_eq!(of(&tunnel, "10.1.5.1"), Verdict::Rail);
        let down = Interface { flags: Flags::default(), ..one };
        assert_eq!(of(&down, "eth0"), Verdict::Down);
    }

    #[test]
    fn of_an_interface_named_by_its_network_other_addresses_stay_out() {
        let mut nic = interface("eth0", "10.1.5.1");
        nic.addresses.push(Network { ip: "192.168.0.1".parse().unwrap(), prefix: 24, scope: 0 });
        let allowed = |text: &str| {
            let wanted = Wanted::parse(text).unwrap();
            nic.addresses.iter().filter(|address| wanted.allows(&nic, address)).count()
        };
        assert_eq!((allowed(""), allowed("eth0"), allowed("10.1.0.0/16"), allowed("eth1")), (2, 2, 1, 0));
    }

    #[test]
    fn what_names_nothing_here_is_told() {
        let all = [interface("eth0", "10.1.5.1"), interface("eth1", "fd00::7")];
        let told = |text: &str| Wanted::parse(text).unwrap().astray(&format!("HAWSER_RAILS={text}"), all.iter());
        assert_eq!((told(""), told("eth1,10.1.0.0/16,fd00::7")), (None, None));
        let text = "HAWSER_RAILS=eth9,eth0,10.2.0.0/16: eth9,10.2.0.0/16 names no interface of this host";
        assert_eq!(told("eth9,eth0,10.2.0.0/16").as_deref(), Some(text));
    }

    #[test]
    fn a_wish_that_is_none_is_named() {
        for wrong in ["10.1.0.0/33", "10.1.0/16", "a b", "a_name_that_is_too_long", "/"] {
            assert_eq!(Wanted::parse(&format!("eth0,{wrong}")), Err(wrong.to_owned()));
        }
    }
}
