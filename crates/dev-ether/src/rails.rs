//! Rails: the interfaces of this host over which ranks may reach others, and for every other interface the reason why
//! it is not used.
//!
//! Real hosts have unusable interfaces: bridges of containers without carrier, tunnels that swallow everything, parts
//! of bonds. Here they are recognized by what the kernel reports of them; whether two rails reach each other, only a
//! probe between peers can show.

use hawser_base::param::{Param, ParamKind, ReadTime};
use hawser_base::value::{T_SCOPE_LOCAL, T_VERBOSITY_USER_BASIC};
use hawser_base::{Class, Error, Result};
use hawser_os::interfaces::{Interface, IpNetwork};
use std::fmt;
use std::net::IpAddr;

pub static RAILS: Param = Param {
    name: "HAWSER_RAILS",
    kind: ParamKind::Text,
    default: "",
    help: "interfaces that ranks use between hosts, by name or network, as in eth0,10.1.0.0/16; empty: all usable ones",
    scope: T_SCOPE_LOCAL,
    verbosity: T_VERBOSITY_USER_BASIC,
    read: ReadTime::AtStart,
};

/// The interfaces that HAWSER_RAILS names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InterfaceFilter(Vec<FilterTerm>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum FilterTerm {
    Name(String),
    Network(IpNetwork),
}

/// The status of an interface: whether ports are opened on it, or the reason why not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InterfaceStatus {
    /// It may be used; probing shows whether it reaches peers.
    Rail,
    /// It has an address, and its cable is unplugged: it can be used once that is plugged in again.
    Unplugged,
    /// HAWSER_RAILS names other interfaces.
    NotSelected,
    /// It is administratively down.
    Down,
    /// It has neither a carrier nor an IP address; or it is a bridge without members.
    NoCarrier,
    /// Its carrier has come, but the kernel does not send yet.
    NotRunning,
    /// It is a loopback interface.
    Loopback,
    /// It is a tunnel, or another link on which there are no MAC addresses to resolve (point-to-point, or without
    /// ARP).
    Tunnel,
    /// It is a member of a bridge or bond, which is used instead.
    Enslaved,
    /// It has neither a MAC address nor an IP address.
    NoAddress,
}

/// An interface of this host and its status.
#[derive(Clone, Debug)]
pub struct Rail {
    pub interface: Interface,
    pub status: InterfaceStatus,
}

impl InterfaceStatus {
    /// Returns whether ports are opened on an interface of this status.
    pub fn is_usable(self) -> bool {
        matches!(self, InterfaceStatus::Rail | InterfaceStatus::Unplugged)
    }

    /// Returns a text for people.
    pub fn text(self) -> &'static str {
        match self {
            InterfaceStatus::Rail => "a rail",
            InterfaceStatus::Unplugged => "a rail that has no carrier now",
            InterfaceStatus::NotSelected => "not named in HAWSER_RAILS",
            InterfaceStatus::Down => "is down",
            InterfaceStatus::NoCarrier => "has no carrier",
            InterfaceStatus::NotRunning => "has carrier, but is not running after 2 s",
            InterfaceStatus::Loopback => "is a loopback interface",
            InterfaceStatus::Tunnel => "is a tunnel (name it in HAWSER_RAILS to use it)",
            InterfaceStatus::Enslaved => "is part of a bridge or bond",
            InterfaceStatus::NoAddress => "has no address",
        }
    }
}

/// Prints the value as in HAWSER_RAILS.
impl fmt::Display for InterfaceFilter {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<_> = self.0.iter().map(FilterTerm::to_string).collect();
        out.write_str(&words.join(","))
    }
}

impl fmt::Display for FilterTerm {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FilterTerm::Name(name) => out.write_str(name),
            FilterTerm::Network(IpNetwork { ip, prefix, .. }) => write!(out, "{ip}/{prefix}"),
        }
    }
}

impl FilterTerm {
    fn names(&self, interface: &Interface) -> bool {
        match self {
            FilterTerm::Name(name) => *name == interface.name,
            FilterTerm::Network(network) => interface.addresses.iter().any(|own| network.contains(&own.ip)),
        }
    }
}

/// Prints the interface's name and addresses.
impl fmt::Display for Rail {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", self.interface.name)?;
        self.interface.addresses.iter().try_for_each(|own| write!(out, " {}/{}", own.ip, own.prefix))
    }
}

impl InterfaceFilter {
    /// Parses the value of HAWSER_RAILS.
    pub fn from_text(text: &str) -> Result<InterfaceFilter> {
        InterfaceFilter::parse(text).map_err(|wrong| {
            Error::new(
                Class::Arg,
                format!(
                    "HAWSER_RAILS={text}: {wrong} is neither an interface's name nor a network as in 10.1.0.0/16; unset it \
                     for all interfaces"
                ),
            )
        })
    }

    /// Returns the filter, or the term that is invalid.
    pub(crate) fn parse(text: &str) -> std::result::Result<InterfaceFilter, String> {
        let terms = text.split(',').map(str::trim).filter(|item| !item.is_empty());
        terms
            .map(|item| parse_term(item).ok_or_else(|| item.to_owned()))
            .collect::<std::result::Result<_, _>>()
            .map(InterfaceFilter)
    }

    fn names(&self, interface: &Interface) -> bool {
        self.0.iter().any(|term| term.names(interface))
    }

    /// Returns the filter that selects all interfaces that any of these filters selects.
    pub fn union_of<'a>(several: impl Iterator<Item = &'a InterfaceFilter>) -> InterfaceFilter {
        let mut terms: Vec<FilterTerm> = Vec::new();
        for filter in several {
            if filter.0.is_empty() {
                return InterfaceFilter::default();
            }
            let new: Vec<_> = filter.0.iter().filter(|term| !terms.contains(term)).cloned().collect();
            terms.extend(new);
        }
        InterfaceFilter(terms)
    }

    /// Returns whether the filter selects an interface. A filter without terms selects every interface.
    pub fn selects(&self, interface: &Interface) -> bool {
        self.0.is_empty() || self.names(interface)
    }

    /// Returns a text about the terms that match none of these interfaces: they are typing errors, or meant for other
    /// hosts. None if there are no such terms. `setting`: a parameter and its value.
    pub fn unmatched_text<'a>(
        &self,
        setting: &str,
        interfaces: impl Iterator<Item = &'a Interface> + Clone,
    ) -> Option<String> {
        let unmatched = self.0.iter().filter(|term| !interfaces.clone().any(|interface| term.names(interface)));
        let unmatched: Vec<_> = unmatched.map(FilterTerm::to_string).collect();
        let text = || format!("{setting}: {} names no interface of this host", unmatched.join(","));
        (!unmatched.is_empty()).then(text)
    }

    /// Returns whether this address of a selected interface may be used. If the filter selects the interface by
    /// networks alone and not by its name, only addresses in these networks may be used.
    pub fn allows(&self, interface: &Interface, address: &IpNetwork) -> bool {
        let by_name = self.0.iter().any(|term| matches!(term, FilterTerm::Name(name) if *name == interface.name));
        let within = |term: &FilterTerm| matches!(term, FilterTerm::Network(network) if network.contains(&address.ip));
        self.0.is_empty() || by_name || self.0.iter().any(within)
    }
}

fn parse_term(text: &str) -> Option<FilterTerm> {
    if let Some((ip, prefix)) = text.split_once('/') {
        let (ip, prefix) = (ip.parse::<IpAddr>().ok()?, prefix.parse().ok()?);
        let longest = if ip.is_ipv4() { 32 } else { 128 };
        return (prefix <= longest).then_some(FilterTerm::Network(IpNetwork { ip, prefix, scope: 0 }));
    }
    if let Ok(ip) = text.parse::<IpAddr>() {
        return Some(FilterTerm::Network(IpNetwork { ip, prefix: if ip.is_ipv4() { 32 } else { 128 }, scope: 0 }));
    }
    // The kernel's rule for a name (dev_valid_name): up to 15 bytes without white space and '/'. Its further
    // exceptions, such as ':', are not checked here.
    let valid = text.len() < 16 && !text.contains(char::is_whitespace);
    valid.then(|| FilterTerm::Name(text.to_owned()))
}

/// Classifies interfaces. A tunnel or a loopback interface is a rail only if the filter names it.
pub fn classify(interfaces: Vec<Interface>, filter: &InterfaceFilter) -> Vec<Rail> {
    let judged = |interface: Interface| Rail { status: status_of(&interface, filter), interface };
    interfaces.into_iter().map(judged).collect()
}

fn status_of(interface: &Interface, filter: &InterfaceFilter) -> InterfaceStatus {
    let flags = interface.flags;
    let named = filter.names(interface);
    match () {
        _ if !filter.0.is_empty() && !named => InterfaceStatus::NotSelected,
        _ if !flags.up => InterfaceStatus::Down,
        // A bridge that never had a member reports that it is running.
        _ if interface.driver.as_deref() == Some("bridge") && interface.members == 0 => InterfaceStatus::NoCarrier,
        _ if !flags.running && !flags.carrier && interface.addresses.is_empty() => InterfaceStatus::NoCarrier,
        _ if !flags.running && flags.carrier => InterfaceStatus::NotRunning,
        _ if interface.enslaved => InterfaceStatus::Enslaved,
        _ if interface.mac.is_none() && interface.addresses.is_empty() => InterfaceStatus::NoAddress,
        _ if flags.loopback && !named => InterfaceStatus::Loopback,
        _ if !named && (flags.point_to_point || flags.no_arp || interface.driver.as_deref() == Some("tun")) => {
            InterfaceStatus::Tunnel
        }
        _ if !flags.running => InterfaceStatus::Unplugged,
        _ => InterfaceStatus::Rail,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hawser_os::interfaces::IfFlags;

    fn interface(name: &str, address: &str) -> Interface {
        let flags = IfFlags { up: true, running: true, ..IfFlags::default() };
        let addresses = vec![IpNetwork { ip: address.parse().unwrap(), prefix: 24, scope: 0 }];
        Interface { name: name.into(), mac: Some([2; 6]), flags, addresses, ..Interface::default() }
    }

    fn test_status(interface: &Interface, filter_text: &str) -> InterfaceStatus {
        status_of(interface, &InterfaceFilter::parse(filter_text).unwrap())
    }

    #[test]
    fn decoys_are_recognised() {
        let nic = interface("eth0", "10.0.0.1");
        let with = |flags: IfFlags| Interface { flags, ..nic.clone() };
        let up = nic.flags;
        assert_eq!(test_status(&nic, ""), InterfaceStatus::Rail);
        assert_eq!(test_status(&with(IfFlags { up: false, ..up }), ""), InterfaceStatus::Down);
        assert_eq!(test_status(&with(IfFlags { running: false, ..up }), ""), InterfaceStatus::Unplugged);
        let bare = Interface { addresses: vec![], ..with(IfFlags { running: false, ..up }) };
        assert_eq!(test_status(&bare, ""), InterfaceStatus::NoCarrier);
        let tunnel = with(IfFlags { running: false, no_arp: true, ..up });
        assert_eq!(
            (test_status(&tunnel, ""), test_status(&tunnel, "eth0")),
            (InterfaceStatus::Tunnel, InterfaceStatus::Unplugged)
        );
        assert_eq!(
            test_status(&with(IfFlags { running: false, carrier: true, ..up }), ""),
            InterfaceStatus::NotRunning
        );
        assert_eq!(test_status(&with(IfFlags { loopback: true, ..up }), ""), InterfaceStatus::Loopback);
        assert_eq!(test_status(&with(IfFlags { point_to_point: true, ..up }), ""), InterfaceStatus::Tunnel);
        assert_eq!(test_status(&with(IfFlags { no_arp: true, ..up }), ""), InterfaceStatus::Tunnel);
        assert_eq!(test_status(&Interface { driver: Some("tun".into()), ..nic.clone() }, ""), InterfaceStatus::Tunnel);
        let bridge = Interface { driver: Some("bridge".into()), ..nic.clone() };
        assert_eq!(
            (test_status(&bridge, ""), test_status(&Interface { members: 1, ..bridge.clone() }, "")),
            (InterfaceStatus::NoCarrier, InterfaceStatus::Rail)
        );
        assert_eq!(
            test_status(&Interface { flags: IfFlags { running: false, ..up }, ..bridge }, ""),
            InterfaceStatus::NoCarrier
        );
        assert_eq!(test_status(&Interface { enslaved: true, ..nic.clone() }, ""), InterfaceStatus::Enslaved);
        assert_eq!(test_status(&Interface { mac: None, addresses: vec![], ..nic }, ""), InterfaceStatus::NoAddress);
    }

    #[test]
    fn wishes_choose_by_name_and_by_network() {
        let (one, two) = (interface("eth0", "10.1.5.1"), interface("ib0", "fd00::7"));
        assert_eq!(
            (test_status(&one, "eth0"), test_status(&two, "eth0")),
            (InterfaceStatus::Rail, InterfaceStatus::NotSelected)
        );
        assert_eq!(
            (test_status(&one, "x, 10.1.0.0/16"), test_status(&two, "10.1.0.0/16")),
            (InterfaceStatus::Rail, InterfaceStatus::NotSelected)
        );
        assert_eq!(
            (test_status(&two, "fd00::/16"), test_status(&one, "10.1.5.2")),
            (InterfaceStatus::Rail, InterfaceStatus::NotSelected)
        );
        let tunnel = Interface { flags: IfFlags { point_to_point: true, ..one.flags }, ..one.clone() };
        assert_eq!(test_status(&tunnel, "10.1.5.1"), InterfaceStatus::Rail);
        let down = Interface { flags: IfFlags::default(), ..one };
        assert_eq!(test_status(&down, "eth0"), InterfaceStatus::Down);
    }

    #[test]
    fn of_an_interface_named_by_its_network_other_addresses_stay_out() {
        let mut nic = interface("eth0", "10.1.5.1");
        nic.addresses.push(IpNetwork { ip: "192.168.0.1".parse().unwrap(), prefix: 24, scope: 0 });
        let allowed = |text: &str| {
            let filter = InterfaceFilter::parse(text).unwrap();
            nic.addresses.iter().filter(|address| filter.allows(&nic, address)).count()
        };
        assert_eq!((allowed(""), allowed("eth0"), allowed("10.1.0.0/16"), allowed("eth1")), (2, 2, 1, 0));
    }

    #[test]
    fn what_names_nothing_here_is_told() {
        let all = [interface("eth0", "10.1.5.1"), interface("eth1", "fd00::7")];
        let text_of = |text: &str| {
            InterfaceFilter::parse(text).unwrap().unmatched_text(&format!("HAWSER_RAILS={text}"), all.iter())
        };
        assert_eq!((text_of(""), text_of("eth1,10.1.0.0/16,fd00::7")), (None, None));
        let text = "HAWSER_RAILS=eth9,eth0,10.2.0.0/16: eth9,10.2.0.0/16 names no interface of this host";
        assert_eq!(text_of("eth9,eth0,10.2.0.0/16").as_deref(), Some(text));
    }

    #[test]
    fn a_wish_that_is_none_is_named() {
        for wrong in ["10.1.0.0/33", "10.1.0/16", "a b", "a_name_that_is_too_long", "/"] {
            assert_eq!(InterfaceFilter::parse(&format!("eth0,{wrong}")), Err(wrong.to_owned()));
        }
    }
}
