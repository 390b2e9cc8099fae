//! One TCP connection between the two ends of a layer, over a network on which any host may connect.
//!
//! The far end listens at the one address that the near end connects to, and accepts the client that knows their
//! secret, which went through the far process's pipe; the client knows by the reply that it has found the far end.
//! Other clients are rejected, and neither end waits for ever. Used by `tcp`; uses the kernel.

use hawser_link::frame::Key;
use std::collections::VecDeque;
use std::fmt::Display;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

pub type Secret = [u8; 16];

/// The time limit for the connection where no error shows that the network does not lead there.
pub const MET_WITHIN: Duration = Duration::from_secs(10);
/// The time in which a client must send its password; a client that has not, or that has CALLERS_MAX others behind it,
/// is rejected.
const SAID_WITHIN: Duration = Duration::from_secs(2);
const CALLERS_MAX: usize = 16;
/// The interval between two looks for clients.
const LOOK: Duration = Duration::from_millis(1);

const WORD: usize = 8;
type Word = [u8; WORD];

/// The passwords of the client and of the reply: neither reveals the secret.
fn words(secret: Secret) -> [Word; 2] {
    [&b"caller"[..], b"answer"].map(|purpose| Key::new(secret).derive(purpose).to_le_bytes())
}

/// Compares all bytes: the time does not depend on how many are right.
fn is_same(said: &Word, right: &Word) -> bool {
    said.iter().zip(right).fold(0, |unlike, (a, b)| unlike | a ^ b) == 0
}

/// Connects to the far end, which listens there.
pub fn call(there: SocketAddr, secret: Secret, within: Duration) -> io::Result<TcpStream> {
    let [word, right] = words(secret);
    let mut stream = TcpStream::connect_timeout(&there, within)?;
    stream.set_read_timeout(Some(within))?;
    stream.set_write_timeout(Some(within))?;
    stream.write_all(&word)?;
    let mut answer = Word::default();
    stream.read_exact(&mut answer).map_err(|error| match error.kind() {
        ErrorKind::WouldBlock => failed(format!("the far end has not answered the call within {} s", within.as_secs())),
        _ => failed(format!("the call was not answered: {error}")),
    })?;
    if is_same(&answer, &right) { Ok(stream) } else { Err(failed("somebody else than the far end answers")) }
}

fn failed(text: impl Display) -> io::Error {
    io::Error::other(text.to_string())
}

/// The listener of the far end.
pub struct Door {
    listener: TcpListener,
    address: SocketAddr,
    words: [Word; 2],
    callers: VecDeque<Caller>,
    turned_away: usize,
}

/// A client that has not sent the password yet.
struct Caller {
    stream: TcpStream,
    said: Word,
    len: usize,
    since: Instant,
}

impl Door {
    /// Listens at this address of this host, and at no other one.
    pub fn at(ip: IpAddr, secret: Secret) -> io::Result<Door> {
        let named = |error| failed(format!("listening at {ip}, where the near end calls: {error}"));
        let listener = TcpListener::bind((ip, 0)).map_err(named)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        Ok(Door { listener, address, words: words(secret), callers: VecDeque::new(), turned_away: 0 })
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Waits for the near end's connection.
    pub fn wait(mut self, within: Duration) -> io::Result<TcpStream> {
        let since = Instant::now();
        while since.elapsed() < within {
            self.let_in();
            if let Some(stream) = self.hear() {
                return self.answer(stream, within);
            }
            thread::sleep(LOOK);
        }
        let (address, seconds, others) = (self.address, within.as_secs(), self.turned_away + self.callers.len());
        let others = if others == 0 { String::new() } else { format!("; other callers turned away: {others}") };
        Err(failed(format!("the near end has not called {address} within {seconds} s{others}")))
    }

    /// Accepts the clients that have connected. A connection that fails does not affect the next one.
    fn let_in(&mut self) {
        for _ in 0..CALLERS_MAX {
            let Ok((stream, _)) = self.listener.accept() else { return };
            if stream.set_nonblocking(true).is_ok() {
                self.callers.push_back(Caller { stream, said: Word::default(), len: 0, since: Instant::now() });
            }
            if self.callers.len() > CALLERS_MAX {
                self.callers.pop_front();
                self.turned_away += 1;
            }
        }
    }

    /// The connection of the client that has sent the password, if one has.
    fn hear(&mut self) -> Option<TcpStream> {
        for mut caller in std::mem::take(&mut self.callers) {
            match caller.hear() {
                Some(said) if is_same(&said, &self.words[0]) => return Some(caller.stream),
                None if caller.since.elapsed() < SAID_WITHIN => self.callers.push_back(caller),
                _ => self.turned_away += 1,
            }
        }
        None
    }

    fn answer(&self, mut stream: TcpStream, within: Duration) -> io::Result<TcpStream> {
        stream.set_nonblocking(false)?;
        stream.set_write_timeout(Some(within))?;
        stream.write_all(&self.words[1])?;
        Ok(stream)
    }
}

impl Caller {
    /// The bytes that the client has sent, once there are enough for a password; a wrong password for a client that is
    /// gone.
    fn hear(&mut self) -> Option<Word> {
        match self.stream.read(&mut self.said[self.len..]) {
            Ok(got) if got > 0 => self.len += got,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            _ => return Some(Word::default()),
        }
        (self.len == WORD).then_some(self.said)
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
        let door = Door::at(HOME, SECRET).unwrap();
        let there = door.address;
        let wait = thread::spawn(move || door.wait(LONG));
        let [word, _] = words(SECRET);
        let strange: [&[u8]; 5] = [b"", b"GET / HTTP/1.1\r\n\r\n", &word[..7], &[0; 8], &words([8; 16])[0]];
        let strangers: Vec<TcpStream> = (0..200)
            .map(|nth| {
                let mut stranger = TcpStream::connect(there).unwrap();
                // The stranger may have been rejected before it wrote.
                let _ = stranger.write_all(strange[nth % strange.len()]);
                stranger
            })
            .collect();
        let mut near = call(there, SECRET, LONG).unwrap();
        let mut far = wait.join().unwrap().unwrap();
        near.write_all(b"a").unwrap();
        let mut byte = [0];
        far.read_exact(&mut byte).unwrap();
        assert_eq!((byte, far.peer_addr().unwrap()), (*b"a", near.local_addr().unwrap()));
        // No client is kept, nor accepted any more.
        for mut stranger in strangers {
            stranger.set_read_timeout(Some(LONG)).unwrap();
            let ended = stranger.read(&mut byte);
            assert!(!ended.is_err_and(|error| error.kind() == ErrorKind::WouldBlock), "a stranger was kept");
        }
        assert!(TcpStream::connect(there).is_err());
    }

    #[test]
    fn who_is_waited_for_is_told_when_the_time_is_over() {
        let door = Door::at(HOME, SECRET).unwrap();
        let there = door.address;
        let stranger = TcpStream::connect(there).unwrap();
        let told = door.wait(Duration::from_millis(50)).unwrap_err().to_string();
        assert_eq!(told, format!("the near end has not called {there} within 0 s; other callers turned away: 1"));
        drop(stranger);
        // The near end waits only for a limited time for a listener that sends nothing, and rejects one that sends
        // something else.
        let listener = TcpListener::bind((HOME, 0)).unwrap();
        let there = listener.local_addr().unwrap();
        let told = call(there, SECRET, Duration::from_millis(50)).unwrap_err().to_string();
        assert_eq!(told, "the far end has not answered the call within 0 s");
        let wrong = thread::spawn(move || {
            let mut all = listener.incoming().map_while(Result::ok);
            all.by_ref().take(2).for_each(|mut stream| drop(stream.write_all(&words(SECRET)[0])));
        });
        let told = call(there, SECRET, LONG).unwrap_err().to_string();
        assert_eq!(told, "somebody else than the far end answers");
        wrong.join().unwrap();
    }

    #[test]
    fn it_listens_at_the_address_that_is_called_alone() {
        let door = Door::at(HOME, SECRET).unwrap();
        let elsewhere = SocketAddr::from(([127, 0, 0, 2], door.port()));
        assert!(TcpStream::connect(elsewhere).is_err());
        let told = Door::at("192.0.2.1".parse().unwrap(), SECRET).err().unwrap().to_string();
        assert!(told.starts_with("listening at 192.0.2.1, where the near end calls: "), "{told}");
    }
}
