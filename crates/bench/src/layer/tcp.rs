//! A TCP connection without delay of small segments, polled by both ends: what a library over sockets stands on.
//!
//! Before it: `Apart`; after it: the kernel.

use super::apart::{Apart, FAR_ADDRESS, follow, start};
use super::{Layer, Row};
use crate::duet::End;
use crate::worker::say;
use std::env;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

/// Where nothing says that a network does not lead there it is waited for so long.
const CONNECTED_WITHIN: Duration = Duration::from_secs(10);

struct TcpEnd(TcpStream);

impl TcpEnd {
    fn over(stream: TcpStream) -> io::Result<TcpEnd> {
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        Ok(TcpEnd(stream))
    }
}

pub fn near(row: &Row) -> io::Result<Box<dyn Layer>> {
    let mut far = start(row)?;
    let port: u16 = far.hear()?.parse().map_err(io::Error::other)?;
    let address = env::var(FAR_ADDRESS).unwrap_or_default();
    let named = |error: io::Error| io::Error::other(format!("{address}, port {port}: {error}"));
    let found = (address.as_str(), port).to_socket_addrs().map_err(named)?.find(|found| found.is_ipv4());
    let there = found.ok_or_else(|| named(io::Error::other("no address of IPv4 has this name")))?;
    let stream = TcpStream::connect_timeout(&there, CONNECTED_WITHIN).map_err(named)?;
    Ok(Box::new(Apart::new(TcpEnd::over(stream)?, far)))
}

pub fn far(_: &Row) -> io::Result<()> {
    let listener = TcpListener::bind(("0.0.0.0", 0))?;
    say(&listener.local_addr()?.port())?;
    follow(TcpEnd::over(accepted(&listener)?)?)
}

/// The near end's connection; whoever does not come is not waited for.
fn accepted(listener: &TcpListener) -> io::Result<TcpStream> {
    listener.set_nonblocking(true)?;
    let since = Instant::now();
    loop {
        match listener.accept() {
            Ok((stream, _)) => return Ok(stream),
            Err(error) if error.kind() != ErrorKind::WouldBlock => return Err(error),
            Err(_) if since.elapsed() > CONNECTED_WITHIN => {
                return Err(io::Error::other("nobody has connected"));
            }
            Err(_) => std::thread::sleep(Duration::from_millis(1)),
        }
    }
}

/// How many bytes moved; none where the kernel has no room or no data.
fn moved(result: io::Result<usize>) -> io::Result<usize> {
    match result {
        Ok(0) => Err(io::Error::other("the other end has closed the connection")),
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(0),
        other => other,
    }
}

impl End for TcpEnd {
    fn exchange(&mut self, out: &mut [u8], into: &mut [u8]) -> io::Result<()> {
        let (mut sent, mut received) = (0, 0);
        while sent < out.len() || received < into.len() {
            if sent < out.len() {
                sent += moved(self.0.write(&out[sent..]))?;
            }
            if received < into.len() {
                received += moved(self.0.read(&mut into[received..]))?;
            }
        }
        Ok(())
    }
}
