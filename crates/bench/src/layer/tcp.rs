//! A TCP connection without delay of small segments, polled by both ends: the basis of a library over sockets.
//!
//! Used by `layer`; uses `connect` and `two_processes`.

use super::connect::{CONNECT_TIMEOUT, ConnectListener, Secret, connect};
use super::layer_entry::{Layer, LayerEntry};
use super::polled_wait::{PolledWait, STALL_LIMIT};
use super::two_processes::{REMOTE_ADDRESS_VAR, TwoProcesses, serve_tasks, start};
use crate::pattern_driver::PatternEndpoint;
use crate::worker::print_line;
use hawser_base::hex;
use hawser_os::host;
use std::env;
use std::io::{self, BufRead, ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};

struct TcpEndpoint {
    stream: TcpStream,
    wait: PolledWait,
}

impl TcpEndpoint {
    fn over(stream: TcpStream) -> io::Result<TcpEndpoint> {
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        let cause = "the other end of the TCP connection neither sends nor receives";
        Ok(TcpEndpoint { stream, wait: PolledWait::new(STALL_LIMIT, cause) })
    }
}

pub fn open_local(entry: &LayerEntry) -> io::Result<Box<dyn Layer>> {
    let address = env::var(REMOTE_ADDRESS_VAR).unwrap_or_default();
    let named = |error: io::Error| io::Error::other(format!("{address}: {error}"));
    let ip = ip_of(&address).map_err(named)?;
    let secret = host::random()?;
    let mut remote = start(entry)?;
    remote.send_line(&format!("{} {ip}", hex::encode(&secret)))?;
    let line = remote.receive_line()?;
    let port: u16 = line.parse().map_err(|_| io::Error::other(format!("the remote end replied: {line}")))?;
    let there = SocketAddr::new(ip, port);
    let stream = connect(there, secret, CONNECT_TIMEOUT)
        .map_err(|error| named(io::Error::other(format!("{there}: {error}"))))?;
    Ok(Box::new(TwoProcesses::new(TcpEndpoint::over(stream)?, remote)))
}

fn ip_of(name: &str) -> io::Result<IpAddr> {
    let found = (name, 0).to_socket_addrs()?.find(|found| found.is_ipv4());
    found.map(|found| found.ip()).ok_or_else(|| io::Error::other("this name has no IPv4 address"))
}

pub fn run_remote(_: &LayerEntry) -> io::Result<()> {
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    let (secret, ip) =
        parse_address(line.trim()).ok_or_else(|| io::Error::other("the other end sent no secret and address"))?;
    match ConnectListener::bind(ip, secret) {
        Ok(listener) => {
            print_line(&listener.port())?;
            serve_tasks(TcpEndpoint::over(listener.accept(CONNECT_TIMEOUT)?)?)
        }
        // The local end reports this line as an error.
        Err(error) => print_line(&error),
    }
}

/// Reads the local end's secret, and the address to which the local end connects, from a line.
fn parse_address(line: &str) -> Option<(Secret, IpAddr)> {
    let (secret, ip) = line.split_once(' ')?;
    Some((hex::decode(secret)?.try_into().ok()?, ip.parse().ok()?))
}

/// Returns the number of bytes that were moved; 0 if the kernel has no room or no data.
fn moved_bytes(result: io::Result<usize>) -> io::Result<usize> {
    match result {
        Ok(0) => Err(io::Error::other("the other end has closed the connection")),
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(0),
        other => other,
    }
}

impl PatternEndpoint for TcpEndpoint {
    fn exchange(&mut self, out: &mut [u8], into: &mut [u8]) -> io::Result<()> {
        let (mut sent, mut received) = (0, 0);
        self.wait.begin(out.len() + into.len());
        while sent < out.len() || received < into.len() {
            let before = (sent, received);
            if sent < out.len() {
                sent += moved_bytes(self.stream.write(&out[sent..]))?;
            }
            if received < into.len() {
                received += moved_bytes(self.stream.read(&mut into[received..]))?;
            }
            self.wait.count_poll(before != (sent, received))?;
        }
        Ok(())
    }
}
