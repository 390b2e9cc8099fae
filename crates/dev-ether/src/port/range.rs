//! The permitted UDP and TCP ports: HAWSER_PORT_RANGE, for firewalls.

use hawser_base::param::{Param, ParamKind, ReadTime};
use hawser_base::value::{T_SCOPE_LOCAL, T_VERBOSITY_USER_DETAIL};
use hawser_base::{Class, Error, Result};
use std::io;

pub static PORT_RANGE: Param = Param {
    name: "HAWSER_PORT_RANGE",
    kind: ParamKind::Text,
    default: "",
    help: "first and last UDP and TCP port on which ranks listen, as in 40000-40999; each rank of a host needs one on \
           each rail; empty: any. Connections of stream, and further flows of udp, may have any source port",
    scope: T_SCOPE_LOCAL,
    verbosity: T_VERBOSITY_USER_DETAIL,
    read: ReadTime::AtStart,
};

/// A range of port numbers, from the first to the last; without bounds the kernel chooses a number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortRange(Option<(u16, u16)>);

impl PortRange {
    pub const ANY: PortRange = PortRange(None);

    /// Parses the value of HAWSER_PORT_RANGE.
    pub fn from_text(text: &str) -> Result<PortRange> {
        PortRange::parse(text).ok_or_else(|| {
            Error::new(
                Class::Arg,
                format!("HAWSER_PORT_RANGE={text} is not FIRST-LAST, two ports from 1 to 65535; unset it for any port"),
            )
        })
    }

    /// Makes a range. `None` if these are not two ports in order.
    pub fn between(first: u16, last: u16) -> Option<PortRange> {
        (0 < first && first <= last).then_some(PortRange(Some((first, last))))
    }

    fn parse(text: &str) -> Option<PortRange> {
        let text = text.trim();
        if text.is_empty() {
            return Some(PortRange::ANY);
        }
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        PortRange::between(first.trim().parse().ok()?, last.trim().parse().ok()?)
    }

    /// Returns the part of the range behind its first `count` ports. An error if it has fewer than `count` ports,
    /// because each rank of the host must find one there.
    pub(crate) fn after_first(self, count: u16) -> io::Result<PortRange> {
        let Some((first, last)) = self.0 else { return Ok(self) };
        let wide = usize::from(last - first) + 1 >= 2 * usize::from(count);
        let rest = || PortRange::between(first + count, last);
        wide.then(rest).flatten().ok_or_else(|| {
            let text = format!("HAWSER_PORT_RANGE={first}-{last} has no second UDP port for each rank of the host");
            io::Error::other(text)
        })
    }

    /// Calls `bind` with one port of the range after the other until one is free. The `nth` rank of a host begins at
    /// the port with that index, so that many ranks do not try the same ports one after the other.
    pub(super) fn bind<T>(self, nth: usize, bind: impl Fn(u16) -> io::Result<T>) -> io::Result<T> {
        let Some((first, last)) = self.0 else { return bind(0) };
        let count = usize::from(last - first) + 1;
        for i in 0..count {
            match bind(first + ((nth + i) % count) as u16) {
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
                result => return result,
            }
        }
        let text =
            format!("all ports of HAWSER_PORT_RANGE={first}-{last} are in use: widen it to one for each rank and rail");
        Err(io::Error::new(io::ErrorKind::AddrInUse, text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_and_wrong_ones_refused() {
        assert_eq!(PortRange::parse(" "), Some(PortRange::ANY));
        assert_eq!(PortRange::parse("40000-40002"), Some(PortRange(Some((40000, 40002)))));
        assert_eq!(PortRange::parse("7"), Some(PortRange(Some((7, 7)))));
        for wrong in ["0-5", "9-8", "x", "1-65536", "-", "1-2-3"] {
            assert_eq!(PortRange::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn what_may_not_be_needed_takes_no_port_of_what_is() {
        let range = |first, last| PortRange(Some((first, last)));
        assert_eq!(PortRange::ANY.after_first(9).unwrap(), PortRange::ANY);
        assert_eq!(
            (range(10, 17).after_first(4).unwrap(), range(10, 90).after_first(4).unwrap()),
            (range(14, 17), range(14, 90))
        );
        let error = range(10, 16).after_first(4).unwrap_err().to_string();
        assert!(error.contains("HAWSER_PORT_RANGE=10-16 has no second UDP port"), "{error}");
    }

    #[test]
    fn a_port_in_use_is_passed_over_until_all_are() {
        let range = PortRange(Some((10, 12)));
        let try_bind = |port: u16| if port == 12 { Ok(port) } else { Err(io::ErrorKind::AddrInUse.into()) };
        assert_eq!(range.bind(1, try_bind).unwrap(), 12);
        let text = range.bind::<u16>(0, |_| Err(io::ErrorKind::AddrInUse.into())).unwrap_err().to_string();
        assert!(text.contains("HAWSER_PORT_RANGE=10-12"), "{text}");
        assert_eq!(range.bind(4, Ok).unwrap(), 11);
    }
}
