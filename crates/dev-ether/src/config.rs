//! The configuration of this device: the device names that the user gave (`device::DeviceName`), HAWSER_PORT_RANGE
//! and HAWSER_TCP_CONGESTION.
//!
//! HAWSER_PORT and HAWSER_RAILS are lists of methods and of adapters. They are converted into device names, one for
//! each method on each adapter. Used by `node`, which reads names, by `open`, and by `info`, for which mpiexec
//! carries the texts to other hosts; uses `rails` and `port`.

use crate::port::{CongestionChoice, FLOWS_MAX, PORT_RANGE, PortRange, TCP_CONGESTION};
use crate::port_list;
use crate::rails::{InterfaceFilter, RAILS};
use hawser_base::param::{Param, ParamKind, ReadTime};
use hawser_base::value::{T_SCOPE_LOCAL, T_VERBOSITY_USER_BASIC, T_VERBOSITY_USER_DETAIL};
use hawser_base::{Class, Error, Result};
use hawser_device::{DeviceKind, DeviceName};
use hawser_link::LatencyClass;
use hawser_os::interfaces::Interface;

pub static PORT: Param = Param {
    name: "HAWSER_PORT",
    kind: ParamKind::Text,
    default: "",
    help: "methods between hosts, separated by commas: packet (raw Ethernet), packet-udp (raw frames of UDP), udp, \
           stream (TCP), xdp (both kinds of raw frames by AF_XDP, which bypasses the kernel's network stack), xdp-udp \
           (only raw frames of UDP by AF_XDP); with xdp and xdp-udp only the first rank of a host uses AF_XDP, all \
           others use packet and packet-udp; empty: packet if permitted, packet-udp for peers that do not answer by \
           packet, udp, and stream for messages from 3 KiB on unless others measure faster or the network is slower \
           than 1 Gbit/s Ethernet",
    // `unreachable` reports ranks that have no kind of port in common.
    scope: T_SCOPE_LOCAL,
    verbosity: T_VERBOSITY_USER_BASIC,
    read: ReadTime::AtStart,
};

pub static CRC: Param = Param {
    name: "HAWSER_CRC",
    kind: ParamKind::Choice(&["auto", "on", "off"]),
    default: "auto",
    help: "whether the program's data has a CRC32C between hosts: on, off, or auto (only in raw frames, which nothing \
           else checks from end to end; UDP and TCP have checksums of their own). Headers always have one",
    scope: T_SCOPE_LOCAL,
    verbosity: T_VERBOSITY_USER_DETAIL,
    read: ReadTime::AtStart,
};

/// The parameters of this crate.
pub static PARAMS: &[&Param] = &[&PORT, &RAILS, &PORT_RANGE, &CRC, &TCP_CONGESTION];

/// A method by which a port hands frames to the kernel.
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
    /// All methods, in the order in which they are tried: each before its fallback.
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
    pub fn latency_class(self) -> LatencyClass {
        match self {
            Method::Xdp | Method::Packet => LatencyClass::Lowest,
            Method::XdpUdp | Method::PacketUdp => LatencyClass::Low,
            Method::Udp => LatencyClass::Bulk,
            Method::Stream => LatencyClass::BulkOnly,
        }
    }

    /// Returns the method that replaces this one if it is not available, and that is the same on the wire; None if
    /// there is none.
    pub fn fallback(self) -> Option<Method> {
        match self {
            Method::Xdp => Some(Method::Packet),
            Method::XdpUdp => Some(Method::PacketUdp),
            _ => None,
        }
    }

    /// Returns whether this method satisfies a request for the other.
    pub fn satisfies(self, other: Method) -> bool {
        let on_wire = |method: Method| method.fallback().unwrap_or(method);
        on_wire(self) == on_wire(other)
    }

    /// Returns whether the CRC32C covers whole payloads, or their first bytes alone (docs/protocol.md, P6), by
    /// HAWSER_CRC.
    fn is_checked(self) -> Result<bool> {
        Ok(match CRC.choice()? {
            "on" => true,
            "off" => false,
            _ => self.satisfies(Method::Packet) || self.satisfies(Method::PacketUdp),
        })
    }
}

/// This device and its methods, for the parser of device names.
pub const KIND: DeviceKind = DeviceKind {
    name: port_list::NAME,
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
struct AdapterMethods {
    filter: InterfaceFilter,
    methods: Vec<Method>,
}

/// The configuration of this device.
#[derive(Clone, Debug)]
pub struct EtherConfig {
    /// The methods that are tried, in this order.
    pub methods: Vec<Method>,
    /// The methods that the user has named. On an adapter for which methods are named, only these are tried, and the
    /// methods that belong to them (`methods_to_try`).
    pub named: Vec<Method>,
    pub interfaces: InterfaceFilter,
    pub range: PortRange,
    pub congestion: CongestionChoice,
    adapters: Vec<AdapterMethods>,
    /// The setting HAWSER_DEVICES, if the user has given device names and not the two lists.
    devices_setting: Option<String>,
}

impl EtherConfig {
    /// Returns the properties of a port of this method on rail `rail`, for `link`.
    pub fn traits(&self, method: Method, rail: u8) -> Result<hawser_link::PortTraits> {
        let reserved = self.is_in_reserve(method);
        let (checked, lossless) = (method.is_checked()?, method == Method::Stream);
        let flows = if method == Method::Udp { FLOWS_MAX } else { 1 };
        Ok(hawser_link::PortTraits {
            latency_class: method.latency_class(),
            nic: rail,
            has_full_crc: checked,
            is_lossless: lossless,
            is_on_demand: reserved,
            flows_max: flows,
        })
    }

    /// Returns whether the user has named the method, or a method that it replaces.
    pub fn is_named(&self, method: Method) -> bool {
        self.named.iter().any(|named| named.satisfies(method))
    }

    /// Returns whether ports of this method are in reserve: they are used only for peers that do not answer by better
    /// ports, or for much bulk or many messages from 3 KiB on. If such ports would be the only ones, none is in
    /// reserve, because link opens paths in reserve only after others.
    pub fn is_in_reserve(&self, method: Method) -> bool {
        let has_more = || self.methods.iter().any(|method| matches!(method, Method::Udp | Method::Stream));
        let may_be = matches!(method, Method::XdpUdp | Method::PacketUdp | Method::Stream);
        may_be && !self.is_named(method) && has_more()
    }

    /// Returns whether a method is requested on an interface.
    pub fn permits(&self, interface: &Interface, method: Method) -> bool {
        self.adapters.iter().any(|adapter| adapter.methods.contains(&method) && adapter.filter.selects(interface))
    }

    /// Returns the user's choice of adapters, as a parameter and its value.
    pub fn interfaces_setting(&self) -> String {
        self.devices_setting.clone().unwrap_or_else(|| format!("HAWSER_RAILS={}", self.interfaces))
    }

    /// Returns the parameter in which methods are named.
    pub fn methods_param(&self) -> &'static str {
        if self.devices_setting.is_some() { "HAWSER_DEVICES" } else { "HAWSER_PORT" }
    }

    /// Reads the configuration. `text` returns the value of each parameter; `device_names` are the names of this
    /// device that the user has given.
    pub fn from_params(text: impl Fn(&Param) -> String, device_names: &[DeviceName]) -> Result<EtherConfig> {
        let congestion = CongestionChoice::from_text(&text(&TCP_CONGESTION))?;
        EtherConfig::of_ports(&text, device_names).map(|config| EtherConfig { congestion, ..config })
    }

    fn of_ports(text: impl Fn(&Param) -> String, device_names: &[DeviceName]) -> Result<EtherConfig> {
        let (port, rails, range) = (text(&PORT), text(&RAILS), text(&PORT_RANGE));
        if device_names.is_empty() {
            return EtherConfig::parse(&port, &rails, &range);
        }
        let other = [(&PORT, &port), (&RAILS, &rails)].into_iter().find(|(_, value)| !value.trim().is_empty());
        let is_specific = |name: &&DeviceName| name.adapter.is_some() || name.method.is_some();
        if let (Some((param, value)), Some(name)) = (other, device_names.iter().find(is_specific)) {
            let text =
                format!("{}={value} and HAWSER_DEVICES with {name} both select ports; unset one of them", param.name);
            return Err(Error::new(Class::Arg, text));
        }
        match other {
            Some(_) => EtherConfig::parse(&port, &rails, &range),
            None => {
                let names: Vec<_> = device_names.iter().map(DeviceName::to_string).collect();
                EtherConfig::from_names(device_names, &range, Some(format!("HAWSER_DEVICES={}", names.join(","))))
            }
        }
    }

    /// Parses the texts of HAWSER_PORT, HAWSER_RAILS and HAWSER_PORT_RANGE.
    pub fn parse(port: &str, rails: &str, range: &str) -> Result<EtherConfig> {
        EtherConfig::from_names(&names(port, rails)?, range, None)
    }

    /// Makes the configuration from names of this device, at least one.
    fn from_names(names: &[DeviceName], range: &str, devices_setting: Option<String>) -> Result<EtherConfig> {
        let adapters: Vec<_> = names.iter().map(AdapterMethods::from_name).collect::<Result<_>>()?;
        let is_named = |method: &Method| names.iter().any(|name| name.method.as_deref() == Some(method.name()));
        let is_tried = |method: &Method| adapters.iter().any(|adapter| adapter.methods.contains(method));
        Ok(EtherConfig {
            methods: Method::ALL.into_iter().filter(is_tried).collect(),
            named: Method::ALL.into_iter().filter(is_named).collect(),
            interfaces: InterfaceFilter::union_of(adapters.iter().map(|adapter| &adapter.filter)),
            range: PortRange::from_text(range)?,
            congestion: CongestionChoice::Auto,
            adapters,
            devices_setting,
        })
    }
}

impl AdapterMethods {
    fn from_name(name: &DeviceName) -> Result<AdapterMethods> {
        let filter = InterfaceFilter::parse(name.adapter.as_deref().unwrap_or_default()).map_err(|wrong| {
            let text = format!("{name}: {wrong} is neither an interface's name nor a network as in 10.1.0.0/16");
            Error::new(Class::Arg, text)
        })?;
        let named = Method::ALL.into_iter().find(|method| name.method.as_deref() == Some(method.name()));
        Ok(AdapterMethods { filter, methods: methods_to_try(named) })
    }
}

/// Converts the texts of HAWSER_PORT and HAWSER_RAILS into names: each method on each adapter.
fn names(port: &str, rails: &str) -> Result<Vec<DeviceName>> {
    let words = |text: &str| -> Vec<Option<String>> {
        let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
        let words: Vec<_> = words.map(|word| Some(word.to_owned())).collect();
        if words.is_empty() { vec![None] } else { words }
    };
    let (methods, adapters) = (words(port), words(rails));
    let is_none = |word: &&String| Method::ALL.iter().all(|method| method.name() != **word);
    if let Some(wrong) = methods.iter().flatten().find(is_none) {
        let text = format!(
            "HAWSER_PORT={port}: {wrong} is not one of xdp, xdp-udp, packet, packet-udp, udp and stream; unset it to \
             use the last four"
        );
        return Err(Error::new(Class::Arg, text));
    }
    InterfaceFilter::from_text(rails)?;
    let on = |adapter: Option<String>| {
        let name = move |method: &Option<String>| DeviceName {
            adapter: adapter.clone(),
            method: method.clone(),
            ..DeviceName::new(port_list::NAME)
        };
        methods.iter().map(name)
    };
    Ok(adapters.into_iter().flat_map(on).collect())
}

/// Returns the methods that are tried if the user has named the method `named` or, if it is None, no method.
fn methods_to_try(named: Option<Method>) -> Vec<Method> {
    // A program on the NIC slows TCP down by a degree that is not known beforehand, so xdp must be requested; if it
    // is requested and not available, packet replaces it. A request for xdp includes xdp-udp, for peers that do not
    // answer raw Ethernet.
    let is_requested = |method: Method| named == Some(method) || method == Method::XdpUdp && named == Some(Method::Xdp);
    let is_tried = |method: &Method| match method.fallback() {
        Some(_) => is_requested(*method),
        None => named.is_none() || Method::ALL.into_iter().any(|own| is_requested(own) && own.satisfies(*method)),
    };
    Method::ALL.into_iter().filter(is_tried).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the methods that are tried, and those that are named.
    fn test_methods(text: &str) -> Result<(Vec<Method>, Vec<Method>)> {
        EtherConfig::parse(text, "", "").map(|config| (config.methods, config.named))
    }

    #[test]
    fn methods_are_chosen_by_name() {
        use Method::*;
        let chosen = |text| test_methods(text).unwrap().0;
        assert_eq!(test_methods("").unwrap(), (vec![Packet, PacketUdp, Udp, Stream], vec![]));
        assert_eq!(test_methods("udp").unwrap(), (vec![Udp], vec![Udp]));
        assert_eq!(chosen("stream, packet"), [Packet, Stream]);
        assert_eq!(test_methods("xdp").unwrap(), (vec![Xdp, Packet, XdpUdp, PacketUdp], vec![Xdp]));
        assert_eq!(chosen("xdp-udp"), [XdpUdp, PacketUdp]);
        assert_eq!(chosen("packet-udp"), [PacketUdp]);
        assert_eq!(chosen("udp,xdp"), [Xdp, Packet, XdpUdp, PacketUdp, Udp]);
        let error = test_methods("udp,tcp").map(drop).unwrap_err().to_string();
        let expected = "HAWSER_PORT=udp,tcp: tcp is not one of xdp, xdp-udp, packet, packet-udp, udp and stream";
        assert!(error.contains(expected), "{error}");
    }

    #[test]
    fn raw_frames_of_udp_are_kept_where_others_can_call_for_them() {
        let reserved = |text| {
            let config = EtherConfig::parse(text, "", "").unwrap();
            let reserved_methods = config.methods.iter().filter(|method| config.is_in_reserve(**method));
            reserved_methods.map(|method| method.name()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(reserved(""), "packet-udp stream");
        assert_eq!(reserved("xdp,udp,stream"), "xdp-udp packet-udp");
        for none in ["xdp", "xdp-udp", "packet-udp,udp", "xdp,xdp-udp,udp", "stream"] {
            assert_eq!(reserved(none), "", "{none}");
        }
    }

    fn read(text: &str) -> Vec<DeviceName> {
        DeviceName::parse_list(text, &[KIND]).unwrap()
    }

    #[test]
    fn parameters_are_read_as_names_and_mean_what_those_mean() {
        let names_of = |port: &str, rails: &str| {
            let names: Vec<_> = names(port, rails).unwrap().iter().map(DeviceName::to_string).collect();
            names.join(" ")
        };
        assert_eq!(names_of("", ""), "ether");
        assert_eq!(names_of("udp, packet", ""), "ether::udp ether::packet");
        assert_eq!(names_of("", "eth0,fd00::/16"), "ether:eth0 ether:[fd00::/16]");
        assert_eq!(
            names_of("udp,stream", "eth0,eth1"),
            "ether:eth0:udp ether:eth0:stream ether:eth1:udp ether:eth1:stream"
        );
        for (port, rails, text) in [("", "", "ether"), ("udp", "", "ether::udp"), ("xdp", "eth0", "ether:eth0:xdp")] {
            let by_names = EtherConfig::from_params(|_| String::new(), &read(text)).unwrap();
            let by_lists = EtherConfig::parse(port, rails, "").unwrap();
            assert_eq!((by_names.methods, by_names.named), (by_lists.methods, by_lists.named), "{text}");
            assert_eq!(by_names.interfaces, by_lists.interfaces, "{text}");
        }
    }

    #[test]
    fn each_adapter_has_the_methods_of_its_own_names() {
        let interface = |name: &str| Interface { name: name.into(), ..Interface::default() };
        let config =
            EtherConfig::from_params(|_| String::new(), &read("ether:eth0:packet,ether:eth1:udp,ether:eth2")).unwrap();
        let permitted = |name: &str| {
            let permitted = Method::ALL.into_iter().filter(|&method| config.permits(&interface(name), method));
            permitted.map(Method::name).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(["eth0", "eth1", "eth3"].map(permitted), ["packet", "udp", ""]);
        assert_eq!(permitted("eth2"), "packet packet-udp udp stream");
        let all = EtherConfig::from_params(|_| String::new(), &read("ether:eth0:udp,ether")).unwrap();
        assert!(all.permits(&interface("eth9"), Method::Stream) && all.interfaces == InterfaceFilter::default());
    }

    #[test]
    fn names_that_say_more_do_not_go_with_the_lists() {
        let with = |param: &'static Param, value: &'static str| {
            move |read: &Param| if read.name == param.name { value.to_owned() } else { String::new() }
        };
        let error = EtherConfig::from_params(with(&RAILS, "eth1"), &read("ether:eth0")).map(drop).unwrap_err();
        let expected = "HAWSER_RAILS=eth1 and HAWSER_DEVICES with ether:eth0 both select ports; unset one of them";
        assert_eq!(error.cause(), expected);
        let config = EtherConfig::from_params(with(&PORT, "udp"), &read("ether")).unwrap();
        assert_eq!(
            (config.named, config.devices_setting),
            (vec![Method::Udp], None),
            "the device alone leaves the lists their say"
        );
        let error = EtherConfig::from_params(|_| String::new(), &read("ether:a b")).map(drop).unwrap_err();
        assert_eq!(error.cause(), "ether:a b: a b is neither an interface's name nor a network as in 10.1.0.0/16");
    }
}
