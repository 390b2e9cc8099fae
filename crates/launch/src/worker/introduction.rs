//! One attempt of a worker to be accepted by mpiexec: it resolves the name, connects, and exchanges proofs.
//!
//! The calls of an attempt block, each with a limit but for the resolver, so `worker_host` runs it in a thread of its
//! own, which it leaves alone when the limit of the whole attempt is over. Nothing here starts a process. Uses
//! `handshake`; used by `worker_host`.

use super::WorkerOptions;
use super::handshake::{self, CHALLENGE_BYTES, HostDescription, Parsed, Session, Verdict};
use super::token::Token;
use crate::frames;
use hawser_os::host;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;

/// The time limit for connecting to one address, and for each read of mpiexec's answers.
const CONNECT: Duration = Duration::from_secs(3);
const ANSWER: Duration = Duration::from_secs(5);
/// The variable by which Kubernetes numbers the pods of an indexed Job.
pub const INDEX_VARIABLE: &str = "JOB_COMPLETION_INDEX";

/// The result of an attempt.
pub enum Attempt {
    Accepted(TcpStream, Session),
    /// There may be an mpiexec later.
    Retry(String),
    /// An mpiexec that never will accept this worker.
    Refused(String),
}

/// Tries all addresses of mpiexec's host, until an mpiexec answers.
pub fn attempt(options: &WorkerOptions, token: &Token) -> Attempt {
    let addresses = match (options.host.as_str(), options.port).to_socket_addrs() {
        Ok(addresses) => addresses,
        Err(error) => return Attempt::Retry(format!("its address is not known: {error}")),
    };
    let mut reason = "its name has no address".to_owned();
    for address in addresses {
        let introduced =
            TcpStream::connect_timeout(&address, CONNECT).and_then(|it| introduce(it, options.slots, token));
        match introduced {
            Ok(attempt) => return attempt,
            Err(error) => reason = explained(address, &error),
        }
    }
    Attempt::Retry(reason)
}

/// Exchanges proofs with the process at the other end of a connection.
fn introduce(mut connection: TcpStream, slots: u32, token: &Token) -> io::Result<Attempt> {
    connection.set_nodelay(true)?;
    connection.set_read_timeout(Some(ANSWER))?;
    connection.set_write_timeout(Some(ANSWER))?;
    let mut challenge = [0; CHALLENGE_BYTES];
    connection.read_exact(&mut challenge)?;
    let Some(of_mpiexec) = handshake::parse_challenge(&challenge) else {
        return Ok(Attempt::Refused("the program there is no mpiexec of Hawser".into()));
    };
    let session = Session { token: token.clone(), of_mpiexec, of_worker: host::random()? };
    let description = HostDescription {
        name: host::name(),
        slots,
        index: std::env::var(INDEX_VARIABLE).ok().and_then(|index| index.parse().ok()),
        version: frames::version(),
    };
    connection.write_all(&description.encode(&session))?;
    let mut received = Vec::new();
    loop {
        match Verdict::parse(&session, &received) {
            Parsed::Message(Verdict::Accepted, _) => return Ok(Attempt::Accepted(connection, session)),
            Parsed::Message(Verdict::Refused(reason), _) => return Ok(Attempt::Refused(reason)),
            Parsed::Incomplete => receive_byte(&mut connection, &mut received)?,
            Parsed::OtherToken => {
                let reason = "it has another token; give both the same HAWSER_TOKEN";
                return Ok(Attempt::Refused(reason.into()));
            }
            Parsed::Malformed | Parsed::Message(..) => {
                return Ok(Attempt::Refused("it sends what this worker does not understand".into()));
            }
        }
    }
}

/// Reads one byte: what follows a message of the handshake belongs to the agent.
pub fn receive_byte(connection: &mut TcpStream, received: &mut Vec<u8>) -> io::Result<()> {
    let mut byte = [0];
    connection.read_exact(&mut byte)?;
    received.extend(byte);
    Ok(())
}

/// The reason why no mpiexec has answered at an address: it may be one that is just ending.
fn explained(address: SocketAddr, error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::UnexpectedEof => format!("{address}: the connection was closed"),
        ErrorKind::WouldBlock | ErrorKind::TimedOut => format!("{address}: no answer"),
        _ => format!("{address}: {error}"),
    }
}
