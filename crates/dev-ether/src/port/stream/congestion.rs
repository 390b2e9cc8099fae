//! The congestion control of the TCP connections that a port opens (tcp(7), TCP_CONGESTION): HAWSER_TCP_CONGESTION.
//!
//! BBR, the default of some systems, sends no faster than the rate that it has estimated, and a program that waits for
//! replies seldom shows it a good one: over veth 512 KiB took 60 or 175 us, as the estimate was, and 60 us by `reno`
//! (docs/adr/0066-no-paced-tcp-on-short-round-trips.md). So a connection with a short round trip does not keep BBR. On
//! a long one, where losses say less of congestion, it does.
//!
//! This file must never change what the user has named. Used by `stream`; uses `os::tcp`.

use hawser_base::param::{Param, ParamKind, ReadTime};
use hawser_base::value::{T_SCOPE_LOCAL, T_VERBOSITY_USER_DETAIL};
use hawser_base::{Class, Error, Result};
use hawser_os::tcp::{self, TcpStream};

pub static TCP_CONGESTION: Param = Param {
    name: "HAWSER_TCP_CONGESTION",
    kind: ParamKind::Text,
    default: "auto",
    help: "congestion control of TCP connections between hosts: a name that the kernel allows (sysctl \
           net.ipv4.tcp_allowed_congestion_control), system (its default, net.ipv4.tcp_congestion_control), or auto: \
           its default, but cubic or reno instead of bbr where a round trip takes at most 1 ms",
    scope: T_SCOPE_LOCAL,
    verbosity: T_VERBOSITY_USER_DETAIL,
    read: ReadTime::AtStart,
};

/// The longest round trip of a connection that does not keep BBR, in microseconds: those of a cluster or a data centre
/// are shorter, those between two of them longer.
const SHORT_RTT_US: u32 = 1_000;

/// The controls that replace BBR: the first one that the kernel allows. Every kernel has and allows reno.
const BY_LOSSES: [&str; 2] = ["cubic", "reno"];

/// The choice of the congestion control.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CongestionChoice {
    Auto,
    /// The system's default.
    System,
    Named(String),
}

impl CongestionChoice {
    /// Reads the value of HAWSER_TCP_CONGESTION. Error: the kernel does not allow the named control.
    pub fn from_text(text: &str) -> Result<CongestionChoice> {
        match text.trim() {
            "" | "auto" => Ok(CongestionChoice::Auto),
            "system" => Ok(CongestionChoice::System),
            name => {
                if tcp::check_congestion_control(name).is_err() {
                    let text = format!(
                        "HAWSER_TCP_CONGESTION={name}: the kernel has no such congestion control, or does not allow it \
                         here: name one of net.ipv4.tcp_allowed_congestion_control (sysctl), auto or system"
                    );
                    return Err(Error::new(Class::Arg, text));
                }
                Ok(CongestionChoice::Named(name.into()))
            }
        }
    }

    /// Sets the congestion control of a socket that will connect. Returns the one that it has replaced and that
    /// `restore_if_long` may set again.
    pub(super) fn prepare(&self, socket: &TcpStream) -> Option<PacedControl> {
        match self {
            CongestionChoice::System => None,
            CongestionChoice::Named(name) => {
                // It was allowed when the text was read; if it no longer is, the default is as good as any.
                let _ = socket.set_congestion_control(name);
                None
            }
            CongestionChoice::Auto => {
                let paced = socket.congestion_control().filter(|name| name.starts_with("bbr"))?;
                let is_replaced = BY_LOSSES.iter().any(|name| socket.set_congestion_control(name).is_ok());
                is_replaced.then_some(PacedControl(paced))
            }
        }
    }
}

/// The system's default that was replaced before connecting. After BBR has begun, the kernel goes on limiting the rate
/// of a connection whatever its control is; and only the finished connection tells its round trip.
#[derive(Debug)]
pub(super) struct PacedControl(String);

impl PacedControl {
    /// Returns to the control that was replaced, if one was, on a connection that has just been established and whose
    /// round trip is long or not known. It is that of the handshake alone.
    pub(super) fn restore_if_long(replaced: &mut Option<PacedControl>, connection: &TcpStream) {
        if let Some(PacedControl(name)) = replaced.take()
            && !is_short(connection.round_trip_us())
        {
            let _ = connection.set_congestion_control(&name);
        }
    }
}

fn is_short(round_trip_us: Option<u32>) -> bool {
    round_trip_us.is_some_and(|us| us <= SHORT_RTT_US)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hawser_os::tcp::TcpListener;

    /// Returns what `look` sees of a socket before it connects, and the connection, which is established.
    fn connect<T>(look: impl FnOnce(&TcpStream) -> T) -> (T, TcpStream, TcpListener) {
        let any = "127.0.0.1:0".parse().unwrap();
        let listener = TcpListener::bind(&any).unwrap();
        let mut seen = None;
        let stream = TcpStream::connect(&any, &listener.local().unwrap(), "lo", |socket| seen = Some(look(socket)));
        let stream = stream.unwrap();
        while stream.send([&[0_u8][..]]).unwrap().is_none() {}
        (seen.unwrap(), stream, listener)
    }

    fn goes_by_losses(socket: &TcpStream) -> bool {
        BY_LOSSES.contains(&&*socket.congestion_control().unwrap())
    }

    #[test]
    fn a_round_trip_is_short_up_to_one_millisecond() {
        assert_eq!([Some(20), Some(1_000), Some(1_001), None].map(is_short), [true, true, false, false]);
    }

    #[test]
    fn a_named_control_is_set_and_the_systems_is_left_alone() {
        let (default, ..) = connect(|socket| socket.congestion_control().unwrap());
        for (choice, expected) in
            [(CongestionChoice::from_text("reno").unwrap(), "reno"), (CongestionChoice::System, &default)]
        {
            let (replaced, stream, _listener) = connect(|socket| choice.prepare(socket));
            assert_eq!(stream.congestion_control().as_deref(), Some(expected));
            assert!(replaced.is_none());
        }
    }

    #[test]
    fn a_name_that_the_kernel_does_not_allow_is_an_error() {
        for name in ["nonsense", "a-name-longer-than-the-kernel-takes"] {
            let error = CongestionChoice::from_text(name).unwrap_err().to_string();
            assert!(error.contains(&format!("HAWSER_TCP_CONGESTION={name}: the kernel has no such")), "{error}");
        }
        assert_eq!(CongestionChoice::from_text(" auto ").unwrap(), CongestionChoice::Auto);
    }

    #[test]
    fn bbr_is_replaced_only_where_the_round_trip_is_short() {
        if tcp::check_congestion_control("bbr").is_err() {
            return eprintln!("skipped: this kernel does not allow bbr");
        }
        let replace = |socket: &TcpStream| {
            socket.set_congestion_control("bbr").unwrap();
            let replaced = CongestionChoice::Auto.prepare(socket);
            assert!(replaced.is_some() && goes_by_losses(socket), "every kernel allows reno");
            replaced
        };
        let (mut replaced, stream, _listener) = connect(replace);
        PacedControl::restore_if_long(&mut replaced, &stream);
        // On a busy machine even this handshake may take long.
        assert_eq!(goes_by_losses(&stream), is_short(stream.round_trip_us()));

        // The kernel knows no round trip of a socket that is not connected yet.
        let (name, ..) = connect(|socket| {
            PacedControl::restore_if_long(&mut replace(socket), socket);
            socket.congestion_control()
        });
        assert_eq!(name.as_deref(), Some("bbr"));
    }
}
