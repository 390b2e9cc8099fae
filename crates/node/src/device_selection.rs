//! The selection of the devices that a rank opens: those that HAWSER_DEVICES names, all if it is empty.
//!
//! The device by which a rank reaches itself is always opened. Used by `start` and `--info`; uses
//! `device::DeviceName`. Each device interprets the interfaces and methods in its names.

use hawser_base::param::{Param, ParamKind as Value, ReadTime};
use hawser_base::value::{T_SCOPE_LOCAL, T_VERBOSITY_USER_DETAIL};
use hawser_base::{Class, Error, Result};
use hawser_dev_ether::EtherConfig;
use hawser_dev_shm::ShmDevice;
use hawser_device::{DeviceKind, DeviceName};

pub static DEVICES: Param = Param {
    name: "HAWSER_DEVICES",
    kind: Value::Text,
    default: "",
    help: "devices that ranks use, by name, interface and method, as in shm,ether:eth0:packet,ether:eth1 (ether::udp: \
           on every interface); empty: all, with the interfaces and methods of HAWSER_RAILS and HAWSER_PORT",
    scope: T_SCOPE_LOCAL,
    verbosity: T_VERBOSITY_USER_DETAIL,
    read: ReadTime::AtStart,
};

/// The devices that have names, except the one by which a rank reaches itself.
const KINDS: [DeviceKind; 2] = [DeviceKind { name: ShmDevice::NAME, methods: &[] }, hawser_dev_ether::KIND];

/// The requested devices.
#[derive(Debug)]
pub struct DeviceSelection {
    /// The names of the requested devices; empty for all devices.
    names: Vec<DeviceName>,
    pub ethernet_config: EtherConfig,
}

impl DeviceSelection {
    /// Parses the request; `text` returns the value of each parameter.
    pub fn parse(text: impl Fn(&Param) -> String) -> Result<DeviceSelection> {
        let said = text(&DEVICES);
        let told = |error: Error| Error::new(Class::Arg, format!("HAWSER_DEVICES={said}: {}", error.cause()));
        let names = DeviceName::parse_list(&said, &KINDS).map_err(told)?;
        let ethers: Vec<_> = names.iter().filter(|name| name.device == hawser_dev_ether::KIND.name).cloned().collect();
        Ok(DeviceSelection { ethernet_config: EtherConfig::from_params(text, &ethers)?, names })
    }

    pub fn from_environment() -> Result<DeviceSelection> {
        DeviceSelection::parse(|param| param.text())
    }

    /// Returns whether a device is to be opened.
    pub fn has(&self, device: &str) -> bool {
        let can_be_named = KINDS.iter().any(|kind| kind.name == device);
        !can_be_named || self.names.is_empty() || self.names.iter().any(|name| name.device == device)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hawser_device::Loopback;

    fn asked(devices: &'static str, rails: &'static str) -> Result<DeviceSelection> {
        DeviceSelection::parse(move |param| match param.name {
            "HAWSER_DEVICES" => devices.into(),
            "HAWSER_RAILS" => rails.into(),
            _ => String::new(),
        })
    }

    #[test]
    fn all_devices_are_opened_or_those_that_are_named() {
        let opened = |devices| {
            let asked = asked(devices, "").unwrap();
            [Loopback::NAME, "shm", "ether"].map(|device| asked.has(device))
        };
        assert_eq!(opened(""), [true; 3]);
        assert_eq!(opened("shm"), [true, true, false]);
        assert_eq!(opened("ether:eth0, shm"), [true; 3]);
        assert_eq!(opened("ether:eth0,ether:eth1:udp"), [true, false, true]);
    }

    #[test]
    fn what_is_wrong_is_told_with_its_parameter() {
        let told = |devices, rails| asked(devices, rails).unwrap_err().cause().to_owned();
        assert_eq!(told("shm,ib", ""), "HAWSER_DEVICES=shm,ib: ib: no device ib; there are shm and ether");
        assert_eq!(
            told("ether:eth0:tcp", ""),
            "HAWSER_DEVICES=ether:eth0:tcp: ether:eth0:tcp: no method tcp; ether has xdp, packet, xdp-udp, \
             packet-udp, udp and stream"
        );
        assert!(told("shm", "a b").starts_with("HAWSER_RAILS=a b: a b is neither an interface's name nor a network"));
        assert!(told("ether:eth0", "eth1").contains("both select ports"));
    }
}
