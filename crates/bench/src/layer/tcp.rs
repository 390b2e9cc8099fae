//! A TCP connection without delay of small segments, polled by both ends: the basis of a library over sockets.
//!
//! Used by `Apart`; uses the kernel.

use super::apart::{Apart, FAR_ADDRESS, follow, start};
use super::meeting::{Door, MET_WITHIN, Secret, call};
use super::row::{Layer, Row};
use super::watch::{SILENCE, Watch};
use crate::duet::End;
use crate::hex;
use crate::worker::say;
use hawser_os::host;
use std::env;
use std::io::{self, BufRead, ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};

struct TcpEnd {
    stream: TcpStream,
    watch: Watch,
}

impl TcpEnd {
    fn over(stream: TcpStream) -> io::Result<TcpEnd> {
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        let cause = "the other end of the TCP connection neither sends nor takes anything";
        Ok(TcpEnd { stream, watch: Watch::new(SILENCE, cause) })
    }
}

pub fn near(row: &Row) -> io::Result<Box<dyn Layer>> {
    let address = env::var(FAR_ADDRESS).unwrap_or_default();
    let named = |error: io::Error| io::Error::other(format!("{address}: {error}"));
    let ip = ip_of(&address).map_err(named)?;
    let secret = host::random()?;
    let mut far = start(row)?;
    far.tell(&format!("{} {ip}", hex::written(&secret)))?;
    let said = far.hear()?;
    let port: u16 = said.parse().map_err(|_| io::Error::other(format!("the far end says: {said}")))?;
    let there = SocketAddr::new(ip, port);
    let stream =
        call(there, secret, MET_WITHIN).map_err(|error| named(io::Error::other(format!("{there}: {error}"))))?;
    Ok(Box::new(Apart::new(TcpEnd::over(stream)?, far)))
}

fn ip_of(name: &str) -> io::Result<IpAddr> {
    let found = (name, 0).to_socket_addrs()?.find(|found| found.is_ipv4());
    found.map(|found| found.ip()).ok_or_else(|| io::Error::other("no address of IPv4 has this name"))
}

pub fn far(_: &Row) -> io::Result<()> {
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    let (secret, ip) = said(line.trim()).ok_or_else(|| io::Error::other("the near end said no secret and address"))?;
    match Door::at(ip, secret) {
        Ok(door) => {
            say(&door.port())?;
            follow(TcpEnd::over(door.wait(MET_WITHIN)?)?)
        }
        // The near end reports it.
        Err(error) => say(&error),
    }
}

/// The near end's secret, and the address that it connects to.
fn said(line: &str) -> Option<(Secret, IpAddr)> {
    let (secret, ip) = line.split_once(' ')?;
    Some((hex::read(secret)?.try_into().ok()?, ip.parse().ok()?))
}

/// The number of bytes that were moved; 0 where the kernel has no room or no data.
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
            let before = (sent, received);
            if sent < out.len() {
                sent += moved(self.stream.write(&out[sent..]))?;
            }
            if received < into.len() {
                received += moved(self.stream.read(&mut into[received..]))?;
            }
            self.watch.turn(before != (sent, received))?;
        }
        Ok(())
    }
}
