//! Names of devices: `shm`, `ether`, `ether:eth0`, `ether:eth0:packet`, read as device, adapter and method.
//!
//! The device defines which texts name an adapter (an interface, or a network as in `10.1.0.0/16`); this module does
//! not check them. An adapter with a colon stands in brackets: `ether:[fd00::/16]`. A name without an adapter means
//! all adapters, so that `ether::udp` is one method on each of them. Used by `node`, which opens devices by names,
//! and by devices, which read their part of a name; uses no other module.

use hawser_base::{Class, Error, Result};
use std::fmt;

/// The name and the methods of a device.
#[derive(Clone, Copy, Debug)]
pub struct DeviceKind {
    pub name: &'static str,
    /// The methods that the device has on an adapter; none if it has no adapters.
    pub methods: &'static [&'static str],
}

/// The name of a whole device, or of one adapter or method of it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct DeviceName {
    pub device: String,
    /// The adapter. None: all adapters.
    pub adapter: Option<String>,
    /// The method. None: the device chooses it.
    pub method: Option<String>,
}

impl DeviceName {
    /// The name of a whole device.
    pub fn new(device: &str) -> DeviceName {
        DeviceName { device: device.into(), adapter: None, method: None }
    }

    /// Parses one name of an existing device. The error tells what is wrong, and which names exist.
    pub fn parse(text: &str, kinds: &[DeviceKind]) -> Result<DeviceName> {
        let text = text.trim();
        parse_name(text, kinds).map_err(|cause| {
            let cause = if text.is_empty() { cause } else { format!("{text}: {cause}") };
            Error::new(Class::Arg, cause)
        })
    }

    /// Parses names that are separated by commas. Returns an empty list for an empty text.
    pub fn parse_list(text: &str, kinds: &[DeviceKind]) -> Result<Vec<DeviceName>> {
        if text.trim().is_empty() {
            return Ok(Vec::new());
        }
        text.split(',').map(|name| DeviceName::parse(name, kinds)).collect()
    }
}

/// Formats a name as `parse` reads it.
impl fmt::Display for DeviceName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.device)?;
        match &self.adapter {
            Some(adapter) if adapter.contains(':') => write!(out, ":[{adapter}]")?,
            Some(adapter) => write!(out, ":{adapter}")?,
            None if self.method.is_some() => out.write_str(":")?,
            None => {}
        }
        self.method.iter().try_for_each(|method| write!(out, ":{method}"))
    }
}

/// Joins words: "a", "a and b", "a, b and c".
fn join_words(words: &[&str]) -> String {
    match words {
        [] => "none".into(),
        [one] => (*one).into(),
        [front @ .., last] => format!("{} and {last}", front.join(", ")),
    }
}

fn parse_name(text: &str, kinds: &[DeviceKind]) -> std::result::Result<DeviceName, String> {
    let (device, rest) = text.split_once(':').map_or((text, None), |(device, rest)| (device, Some(rest)));
    let Some(kind) = kinds.iter().find(|kind| kind.name == device) else {
        let names: Vec<_> = kinds.iter().map(|kind| kind.name).collect();
        let missing =
            if device.is_empty() { "a device's name is missing".into() } else { format!("no device {device}") };
        return Err(format!("{missing}; there are {}", join_words(&names)));
    };
    let Some(rest) = rest else { return Ok(DeviceName::new(device)) };
    if kind.methods.is_empty() {
        return Err(format!("{device} has no adapters; write {device} alone"));
    }
    let (adapter, method) = split_adapter(rest)?;
    let Some(method) = method else {
        return match adapter {
            "" => Err(format!("an adapter is missing after the colon; write {device} for all adapters")),
            _ => Ok(DeviceName { adapter: Some(adapter.into()), ..DeviceName::new(device) }),
        };
    };
    if !kind.methods.contains(&method) {
        let missing = if method.is_empty() { "a method is missing".into() } else { format!("no method {method}") };
        return Err(format!("{missing}; {device} has {}", join_words(kind.methods)));
    }
    let adapter = (!adapter.is_empty()).then(|| adapter.to_owned());
    Ok(DeviceName { device: device.into(), adapter, method: Some(method.into()) })
}

/// Returns the adapter, and the text behind the colon after it.
fn split_adapter(text: &str) -> std::result::Result<(&str, Option<&str>), String> {
    let Some(inner) = text.strip_prefix('[') else {
        return Ok(text.split_once(':').map_or((text, None), |(adapter, method)| (adapter, Some(method))));
    };
    let (adapter, suffix) = inner.split_once(']').ok_or("a bracket is not closed; write ] after the adapter")?;
    match suffix.strip_prefix(':') {
        _ if adapter.is_empty() => Err("the brackets are empty; write the adapter in them".into()),
        Some(method) => Ok((adapter, Some(method))),
        None if suffix.is_empty() => Ok((adapter, None)),
        None => Err(format!("{suffix} follows the bracket; write a colon and a method there, or nothing")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KINDS: [DeviceKind; 2] =
        [DeviceKind { name: "shm", methods: &[] }, DeviceKind { name: "ether", methods: &["packet", "udp", "stream"] }];

    fn name(device: &str, adapter: Option<&str>, method: Option<&str>) -> DeviceName {
        DeviceName { device: device.into(), adapter: adapter.map(Into::into), method: method.map(Into::into) }
    }

    #[test]
    fn a_name_is_read_as_it_is_written() {
        let table = [
            ("shm", name("shm", None, None)),
            ("ether", name("ether", None, None)),
            ("ether:eth0", name("ether", Some("eth0"), None)),
            ("ether:eth0:packet", name("ether", Some("eth0"), Some("packet"))),
            ("ether::udp", name("ether", None, Some("udp"))),
            ("ether:10.1.0.0/16:stream", name("ether", Some("10.1.0.0/16"), Some("stream"))),
            ("ether:[fd00::/16]", name("ether", Some("fd00::/16"), None)),
            ("ether:[fd00::/16]:udp", name("ether", Some("fd00::/16"), Some("udp"))),
        ];
        for (text, expected) in &table {
            assert_eq!(&DeviceName::parse(&format!(" {text} "), &KINDS).unwrap(), expected, "{text}");
            assert_eq!(expected.to_string(), *text);
        }
        let all = table.map(|(text, _)| text).join(",");
        let read = DeviceName::parse_list(&all, &KINDS).unwrap();
        assert_eq!(read.iter().map(DeviceName::to_string).collect::<Vec<_>>().join(","), all);
        assert!(DeviceName::parse_list(" ", &KINDS).unwrap().is_empty());
        assert_eq!(
            DeviceName::parse("ether:[eth0]", &KINDS).unwrap().to_string(),
            "ether:eth0",
            "brackets are for colons"
        );
    }

    #[test]
    fn a_name_that_is_none_says_why_and_what_there_is() {
        let table = [
            ("", "a device's name is missing; there are shm and ether"),
            (":eth0", ":eth0: a device's name is missing; there are shm and ether"),
            ("ib", "ib: no device ib; there are shm and ether"),
            ("Shm", "Shm: no device Shm; there are shm and ether"),
            ("ethernet:eth0", "ethernet:eth0: no device ethernet; there are shm and ether"),
            ("shm:", "shm:: shm has no adapters; write shm alone"),
            ("shm:eth0", "shm:eth0: shm has no adapters; write shm alone"),
            ("ether:", "ether:: an adapter is missing after the colon; write ether for all adapters"),
            ("ether::", "ether::: a method is missing; ether has packet, udp and stream"),
            ("ether:eth0:", "ether:eth0:: a method is missing; ether has packet, udp and stream"),
            ("ether:eth0:tcp", "ether:eth0:tcp: no method tcp; ether has packet, udp and stream"),
            ("ether:eth0:udp:9", "ether:eth0:udp:9: no method udp:9; ether has packet, udp and stream"),
            ("ether:fd00::/16", "ether:fd00::/16: no method :/16; ether has packet, udp and stream"),
            ("ether:[fd00::1", "ether:[fd00::1: a bracket is not closed; write ] after the adapter"),
            ("ether:[]", "ether:[]: the brackets are empty; write the adapter in them"),
            (
                "ether:[fd00::1]udp",
                "ether:[fd00::1]udp: udp follows the bracket; write a colon and a method there, or nothing",
            ),
        ];
        for (text, expected) in table {
            let error = DeviceName::parse(text, &KINDS).unwrap_err();
            assert_eq!((error.class(), error.cause()), (Class::Arg, expected), "{text}");
        }
        assert!(
            DeviceName::parse_list("shm,,ether", &KINDS).is_err() && DeviceName::parse_list("shm,", &KINDS).is_err()
        );
        assert!(DeviceName::parse("shm", &[]).unwrap_err().cause().ends_with("there are none"));
    }
}
