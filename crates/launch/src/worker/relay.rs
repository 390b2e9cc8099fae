//! Copies bytes in both directions between a local socket, which is one end of an agent's channel, and the connection
//! between mpiexec and a worker's host.
//!
//! The local socket takes a write of a few KiB whole or not at all (`channel`), and TCP does not. Nothing here reads
//! what the bytes mean. Used by `worker_host`, and as a process of its own (`main`) by `job_control::host`.

use super::handshake::ENDED_BYTES;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::thread;

/// The subcommand by which mpiexec starts the process that relays the channel of a worker's agent: the local socket is
/// its standard input, the connection its standard output.
pub const SUBCOMMAND: &str = "__relay";

/// The bytes that are read at once: as many as a pipe holds.
const BUFFER_BYTES: usize = 64 << 10;
/// The number of bytes that `LastBytes` keeps: more than the message with the exit code, and some heartbeats behind it.
const LAST_BYTES: usize = 512;
const _: () = assert!(LAST_BYTES > 2 * ENDED_BYTES);

/// Relays until both sides have ended. Returns the exit code.
pub fn main(local: OwnedFd, connection: OwnedFd) -> i32 {
    let (local, connection) = (UnixStream::from(local), TcpStream::from(connection));
    let clones = local.try_clone().and_then(|local| Ok((local, connection.try_clone()?)));
    let sender = clones.and_then(|(from, to)| thread::Builder::new().spawn(move || send(&from, &to)));
    receive(&connection, &local, &mut LastBytes::default());
    match sender {
        // The worker's side may have ended before ours, which still tells the exit code.
        Ok(sender) => sender.join().map_or(1, |()| 0),
        Err(error) => {
            // mpiexec, which would read this, may be gone.
            let _ = writeln!(io::stderr(), "{error}");
            1
        }
    }
}

/// Copies from the local socket to the connection until one of them has ended. The connection gets no more bytes then,
/// and the local socket takes none: the processes at its other end find that out by their next write.
pub fn send(mut local: &UnixStream, mut connection: &TcpStream) {
    let is_whole = io::copy(&mut local, &mut connection).is_ok();
    let _ = connection.shutdown(Shutdown::Write);
    if !is_whole {
        let _ = local.shutdown(Shutdown::Both);
    }
}

/// Copies from the connection to the local socket until the connection has ended, and keeps the last bytes. When the
/// local socket takes no more, the rest is read all the same: bytes that nobody reads would make the kernel reset the
/// connection, and discard what goes in the other direction.
pub fn receive(mut connection: &TcpStream, mut local: &UnixStream, last: &mut LastBytes) {
    let mut bytes = vec![0; BUFFER_BYTES];
    let mut is_open = true;
    loop {
        match connection.read(&mut bytes) {
            Ok(0) => break,
            Ok(len) => {
                last.extend(&bytes[..len]);
                is_open = is_open && local.write_all(&bytes[..len]).is_ok();
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    let _ = local.shutdown(Shutdown::Write);
}

/// The last bytes of a connection: as many as `LAST_BYTES`, or all if there were fewer.
#[derive(Default)]
pub struct LastBytes(Vec<u8>);

impl LastBytes {
    fn extend(&mut self, bytes: &[u8]) {
        self.0.extend(&bytes[bytes.len().saturating_sub(LAST_BYTES)..]);
        self.0.drain(..self.0.len().saturating_sub(LAST_BYTES));
    }

    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn bytes_pass_in_both_directions_and_an_end_is_passed_on() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut far = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (connection, _) = listener.accept().unwrap();
        let (mut near, local) = UnixStream::pair().unwrap();
        let relay = thread::spawn(move || main(local.into(), connection.into()));
        let bytes: Vec<u8> = (0..1 << 20).map(|i| (i % 251) as u8).collect();
        let writer = thread::spawn({
            let (mut near, bytes) = (near.try_clone().unwrap(), bytes.clone());
            move || near.write_all(&bytes).unwrap()
        });
        let mut arrived = vec![0; bytes.len()];
        far.read_exact(&mut arrived).unwrap();
        writer.join().unwrap();
        assert!(arrived == bytes);
        far.write_all(b"answer").unwrap();
        far.shutdown(Shutdown::Write).unwrap();
        let mut answer = Vec::new();
        near.read_to_end(&mut answer).unwrap();
        assert_eq!(answer, b"answer");
        // The other direction goes on.
        near.write_all(b"last").unwrap();
        drop(near);
        let mut last = Vec::new();
        far.read_to_end(&mut last).unwrap();
        assert_eq!((last.as_slice(), relay.join().unwrap()), (&b"last"[..], 0));
    }

    #[test]
    fn what_nobody_takes_is_read_and_the_last_bytes_are_kept() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut far = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (connection, _) = listener.accept().unwrap();
        let (near, local) = UnixStream::pair().unwrap();
        drop(near);
        let receiver = thread::spawn(move || {
            let mut last = LastBytes::default();
            receive(&connection, &local, &mut last);
            last
        });
        let bytes: Vec<u8> = (0..1 << 20).map(|i| (i % 251) as u8).collect();
        far.write_all(&bytes).unwrap();
        drop(far);
        assert_eq!(receiver.join().unwrap().bytes(), &bytes[bytes.len() - LAST_BYTES..]);
    }

    #[test]
    fn a_connection_that_ends_ends_the_local_socket_for_writers() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let far = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (connection, _) = listener.accept().unwrap();
        let (mut near, local) = UnixStream::pair().unwrap();
        let sender = thread::spawn(move || send(&local, &connection));
        drop(far);
        // One write may still go into the buffer of the connection.
        while near.write_all(b"heartbeat").is_ok() {
            thread::yield_now();
        }
        sender.join().unwrap();
    }
}
