//! One TCP connection between the two ends of a layer, over a network on which any host may connect.
//!
//! The remote end listens only at the address to which the local end connects. It accepts the client that knows a
//! secret, which the local end has sent through the remote process's pipe; the client knows by the reply that it has
//! found the remote end. Other clients are rejected, and neither end waits for ever. Used by `tcp`; uses the kernel.

use hawser_link::frame::JobKey;
use std::collections::VecDeque;
use std::fmt::Display;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

pub type Secret = [u8; 16];

/// The time limit for a connection, unless an error shows earlier that the network does not lead to the address.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The time in which a client must send its token. A client that does not is rejected; so is the oldest client if
/// more than PENDING_MAX are waiting.
const TOKEN_TIMEOUT: Duration = Duration::from_secs(2);
const PENDING_MAX: usize = 16;
/// The interval between two polls for clients.
const POLL_INTERVAL: Duration = Duration::from_millis(1);

const TOKEN_BYTES: usize = 8;
type ConnectToken = [u8; TOKEN_BYTES];

/// Derives the tokens of the client and of the reply from the secret, which neither token reveals.
fn derive_tokens(secret: Secret) -> [ConnectToken; 2] {
    [&b"caller"[..], b"answer"].map(|purpose| JobKey::new(secret).derive(purpose).to_le_bytes())
}

/// Compares all bytes, so that the time does not depend on the number of bytes that are right.
fn is_equal(received: &ConnectToken, expected: &ConnectToken) -> bool {
    received.iter().zip(expected).fold(0, |unlike, (a, b)| unlike | a ^ b) == 0
}

/// Connects to the remote end, which listens at `there`.
pub fn connect(there: SocketAddr, secret: Secret, within: Duration) -> io::Result<TcpStream> {
    let [token, expected] = derive_tokens(secret);
    let mut stream = TcpStream::connect_timeout(&there, within)?;
    stream.set_read_timeout(Some(within))?;
    stream.set_write_timeout(Some(within))?;
    stream.write_all(&token)?;
    let mut reply = ConnectToken::default();
    stream.read_exact(&mut reply).map_err(|error| match error.kind() {
        ErrorKind::WouldBlock => failed(format!("the remote end has not replied within {} s", within.as_secs())),
        _ => failed(format!("the remote end did not reply: {error}")),
    })?;
    if is_equal(&reply, &expected) { Ok(stream) } else { Err(failed("the reply is not from the remote end")) }
}

fn failed(text: impl Display) -> io::Error {
    io::Error::other(text.to_string())
}

/// The listener of the remote end.
pub struct ConnectListener {
    listener: TcpListener,
    address: SocketAddr,
    tokens: [ConnectToken; 2],
    pending: VecDeque<PendingConnection>,
    rejected: usize,
}

/// A client that has not sent its token yet.
struct PendingConnection {
    stream: TcpStream,
    received: ConnectToken,
    len: usize,
    since: Instant,
}

impl ConnectListener {
    /// Listens at this address of this host, and at no other one.
    pub fn bind(ip: IpAddr, secret: Secret) -> io::Result<ConnectListener> {
        let named = |error| failed(format!("cannot listen at {ip}, to which the other end connects: {error}"));
        let listener = TcpListener::bind((ip, 0)).map_err(named)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        Ok(ConnectListener { listener, address, tokens: derive_tokens(secret), pending: VecDeque::new(), rejected: 0 })
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Waits for the local end's connection.
    pub fn accept(mut self, within: Duration) -> io::Result<TcpStream> {
        let since = Instant::now();
        while since.elapsed() < within {
            self.accept_pending();
            if let Some(stream) = self.authenticated() {
                return self.send_reply(stream, within);
            }
            thread::sleep(POLL_INTERVAL);
        }
        let (address, seconds, others) = (self.address, within.as_secs(), self.rejected + self.pending.len());
        let others = if others == 0 { String::new() } else { format!("; other connections rejected: {others}") };
        Err(failed(format!("the other end has not connected to {address} within {seconds} s{others}")))
    }

    /// Accepts the clients that have connected. A connection that fails does not affect the next one.
    fn accept_pending(&mut self) {
        for _ in 0..PENDING_MAX {
            let Ok((stream, _)) = self.listener.accept() else { return };
            if stream.set_nonblocking(true).is_ok() {
                self.pending.push_back(PendingConnection {
                    stream,
                    received: ConnectToken::default(),
                    len: 0,
                    since: Instant::now(),
                });
            }
            if self.pending.len() > PENDING_MAX {
                self.pending.pop_front();
                self.rejected += 1;
            }
        }
    }

    /// Returns the connection of the client that has sent the right token, if there is one; rejects clients whose
    /// token is wrong or late.
    fn authenticated(&mut self) -> Option<TcpStream> {
        for mut connection in std::mem::take(&mut self.pending) {
            match connection.read_token() {
                Some(token) if is_equal(&token, &self.tokens[0]) => return Some(connection.stream),
                None if connection.since.elapsed() < TOKEN_TIMEOUT => self.pending.push_back(connection),
                _ => self.rejected += 1,
            }
        }
        None
    }

    fn send_reply(&self, mut stream: TcpStream, within: Duration) -> io::Result<TcpStream> {
        stream.set_nonblocking(false)?;
        stream.set_write_timeout(Some(within))?;
        stream.write_all(&self.tokens[1])?;
        Ok(stream)
    }
}

impl PendingConnection {
    /// Reads what the client has sent. Returns the token when it is complete, and a wrong token if the client is
    /// gone; otherwise None.
    fn read_token(&mut self) -> Option<ConnectToken> {
        match self.stream.read(&mut self.received[self.len..]) {
            Ok(got) if got > 0 => self.len += got,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            _ => return Some(ConnectToken::default()),
        }
        (self.len == TOKEN_BYTES).then_some(self.received)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    const SECRET: Secret = [7; 16];
    const HOME: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn the_near_end_is_heard_among_strangers_and_they_are_turned_away() {
        let listener = ConnectListener::bind(HOME, SECRET).unwrap();
        let there = listener.address;
        let wait = thread::spawn(move || listener.accept(LONG));
        let [token, _] = derive_tokens(SECRET);
        let strange: [&[u8]; 5] = [b"", b"GET / HTTP/1.1\r\n\r\n", &token[..7], &[0; 8], &derive_tokens([8; 16])[0]];
        let strangers: Vec<TcpStream> = (0..200)
            .map(|nth| {
                let mut stranger = TcpStream::connect(there).unwrap();
                // The client may have been rejected before it wrote.
                let _ = stranger.write_all(strange[nth % strange.len()]);
                stranger
            })
            .collect();
        let mut near = connect(there, SECRET, LONG).unwrap();
        let mut far = wait.join().unwrap().unwrap();
        near.write_all(b"a").unwrap();
        let mut byte = [0];
        far.read_exact(&mut byte).unwrap();
        assert_eq!((byte, far.peer_addr().unwrap()), (*b"a", near.local_addr().unwrap()));
        // No client is kept, nor accepted any more.
        for mut stranger in strangers {
            stranger.set_read_timeout(Some(LONG)).unwrap();
            let ended = stranger.read(&mut byte);
            assert!(!ended.is_err_and(|error| error.kind() == ErrorKind::WouldBlock), "a client was kept");
        }
        assert!(TcpStream::connect(there).is_err());
    }

    #[test]
    fn who_is_waited_for_is_told_when_the_time_is_over() {
        let listener = ConnectListener::bind(HOME, SECRET).unwrap();
        let there = listener.address;
        let stranger = TcpStream::connect(there).unwrap();
        let error = listener.accept(Duration::from_millis(50)).unwrap_err().to_string();
        assert_eq!(
            error,
            format!("the other end has not connected to {there} within 0 s; other connections rejected: 1")
        );
        drop(stranger);
        // The local end waits only for a limited time for a listener that sends nothing, and rejects one that sends
        // something else.
        let listener = TcpListener::bind((HOME, 0)).unwrap();
        let there = listener.local_addr().unwrap();
        let error = connect(there, SECRET, Duration::from_millis(50)).unwrap_err().to_string();
        assert_eq!(error, "the remote end has not replied within 0 s");
        let wrong = thread::spawn(move || {
            let mut all = listener.incoming().map_while(Result::ok);
            all.by_ref().take(2).for_each(|mut stream| drop(stream.write_all(&derive_tokens(SECRET)[0])));
        });
        let error = connect(there, SECRET, LONG).unwrap_err().to_string();
        assert_eq!(error, "the reply is not from the remote end");
        wrong.join().unwrap();
    }

    #[test]
    fn it_listens_at_the_address_that_is_called_alone() {
        let listener = ConnectListener::bind(HOME, SECRET).unwrap();
        let elsewhere = SocketAddr::from(([127, 0, 0, 2], listener.port()));
        assert!(TcpStream::connect(elsewhere).is_err());
        let error = ConnectListener::bind("192.0.2.1".parse().unwrap(), SECRET).err().unwrap().to_string();
        assert!(error.starts_with("cannot listen at 192.0.2.1, to which the other end connects: "), "{error}");
    }
}
