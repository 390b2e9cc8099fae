//! A TCP connection without delay of small segments, polled by both ends: what a library over sockets stands on.
//!
//! Before it: `Apart`; after it: the kernel.

use super::apart::{Apart, FAR_ADDRESS, follow, start};
use super::{Layer, Row};
use crate::duet::End;
use crate::worker::say;
use std::env;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};

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
    let stream = TcpStream::connect((address.as_str(), port))
        .map_err(|error| io::Error::other(format!("{address}, port {port}: {error}")))?;
    Ok(Box::new(Apart { near: TcpEnd::over(stream)?, far }))
}

pub fn far(_: &Row) -> io::Result<()> {
    let listener = TcpListener::bind(("0.0.0.0", 0))?;
    say(&listener.local_addr()?.port())?;
    follow(&mut TcpEnd::over(listener.accept()?.0)?)
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
