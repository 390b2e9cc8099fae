//! Workers: hosts that connect to mpiexec by themselves, where no remote shell leads to them, as in a plain Job of
//! Kubernetes (docs/adr/0074-workers-connect-with-a-token.md).
//!
//! `mpiexec -workers 3 ./program` waits until three workers have connected (`listener`). `mpiexec -worker HOST` is
//! such a worker (`worker_host`): it connects (`introduction`), proves that it has the job's `token`, and starts an
//! agent when mpiexec says so (`handshake`). From then on the connection is the agent's channel, as the streams of a
//! remote shell are: at each end a `relay` copies bytes between the connection and a local socket, because a write to
//! TCP may take a part of its bytes, and several processes write to a channel, each a whole piece at a time. Used by
//! the program `mpiexec` and by `job_control::host`.

pub mod handshake;
pub mod introduction;
pub mod listener;
pub mod relay;
pub mod token;
pub mod worker_host;

use hawser_boot::protocol::bootstrap_timeout_s;
use std::net::SocketAddr;

/// The TCP port on which mpiexec waits for workers, unless an option names another one. No service in Debian's
/// /etc/services has it.
pub const PORT: u16 = 7117;

/// The time, in seconds, for which mpiexec and its workers wait for each other, unless HAWSER_RENDEZVOUS_S gives
/// another: a cluster may have to fetch a container's image first.
const TIMEOUT_S: u64 = 300;
/// The time, in seconds, after which a host from which nothing comes counts as gone before the job starts; from then on
/// heartbeats tell it (`heartbeat`). Some packets may be lost in it.
const START_SILENCE_S: u32 = 15;
/// The longest such time: a year.
const TIMEOUT_MAX_S: u64 = 365 * 24 * 3600;

/// The workers that mpiexec waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkersOptions {
    pub count: u32,
    pub port: u16,
}

/// The worker that this process is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerOptions {
    /// The host and the port of mpiexec; the host is a name or an address.
    pub host: String,
    pub port: u16,
    /// The number of ranks that this host takes before the next host is used.
    pub slots: u32,
}

impl WorkerOptions {
    /// Parses `HOST`, `HOST:PORT`, an IPv6 address or `[ADDRESS]:PORT`. None if the text is none of these.
    pub fn parse(text: &str, slots: u32) -> Option<WorkerOptions> {
        let unbracketed = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        let (host, port) = match text.parse::<SocketAddr>() {
            Ok(address) => (address.ip().to_string(), address.port()),
            Err(_) if text.parse::<std::net::IpAddr>().is_ok() => (text.into(), PORT),
            Err(_) => match (unbracketed, text.rsplit_once(':')) {
                (Some(host), _) => (host.into(), PORT),
                (None, Some((host, port))) => (host.into(), port.parse().ok()?),
                (None, None) => (text.into(), PORT),
            },
        };
        let is_name = !host.is_empty() && !host.contains(|c: char| c.is_whitespace() || "[]/".contains(c));
        (is_name && port != 0).then_some(WorkerOptions { host, port, slots })
    }
}

/// The time, in seconds, for which mpiexec and its workers wait for each other.
pub fn timeout_s(environment: &dyn Fn(&str) -> Option<String>) -> Result<u64, String> {
    bootstrap_timeout_s(environment, TIMEOUT_S, TIMEOUT_MAX_S)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_of_mpiexec_is_a_name_or_an_address_with_or_without_a_port() {
        let parsed = |text| WorkerOptions::parse(text, 1).map(|options| (options.host, options.port));
        for (text, host, port) in [
            ("job-0.job", "job-0.job", PORT),
            ("job-0.job:99", "job-0.job", 99),
            ("10.0.0.1", "10.0.0.1", PORT),
            ("10.0.0.1:99", "10.0.0.1", 99),
            ("fd00::1", "fd00::1", PORT),
            ("[fd00::1]", "fd00::1", PORT),
            ("[fd00::1]:99", "fd00::1", 99),
        ] {
            assert_eq!(parsed(text), Some((host.into(), port)), "{text}");
        }
        for text in ["", ":99", "a:", "a:0", "a:70000", "a:b", "a b", "http://a/", "[]:9"] {
            assert_eq!(parsed(text), None, "{text}");
        }
    }

    #[test]
    fn the_time_limit_is_a_number_of_seconds() {
        let limit = |text: Option<&'static str>| timeout_s(&move |_| text.map(str::to_owned));
        assert_eq!((limit(None), limit(Some(" 7 "))), (Ok(TIMEOUT_S), Ok(7)));
        for text in ["", "0", "-1", "many", "99999999999"] {
            assert!(limit(Some(text)).is_err_and(|error| error.contains("HAWSER_RENDEZVOUS_S is")), "{text}");
        }
    }
}
