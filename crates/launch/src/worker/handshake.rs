//! The messages by which mpiexec and a worker come to know each other, as bytes; nothing here does I/O.
//!
//! 1. mpiexec sends the challenge: a mark and a random number.
//! 2. The worker sends the description of its host: a random number of its own, its name, its slots and its version,
//!    with the proof that it has the token.
//! 3. mpiexec sends a verdict, with the proof that it has the token too: the worker is accepted, or refused with the
//!    reason. A worker executes what mpiexec tells it, so this proof matters as much as the other one.
//! 4. When all workers are there, mpiexec sends the verdict `Start`, behind which the frames of `channel` follow, or
//!    `NotNeeded`; it sends `Refused` if it gives up.
//! 5. Behind the last frame mpiexec sends the verdict `Ended`, with the job's exit code.
//!
//! Used by `listener` and `worker_host`.

use super::token::{PROOF_BYTES, Token};
use crate::encoding::{FieldReader, FieldWriter};

/// The mark before mpiexec's random number; the number in it is the version of these messages.
const MARK: &[u8] = b"\n\x01Hawser's workers 1\x02";
pub const NONCE_BYTES: usize = 16;
pub const CHALLENGE_BYTES: usize = MARK.len() + NONCE_BYTES;
/// The maximum length of a message behind its own length, in bytes. A host name has at most 64.
const MESSAGE_MAX: usize = 2048;
/// The maximum length of a reason, in bytes.
const REASON_MAX: usize = 1024;
/// The digits of an exit code, with its sign, so that all messages with one have the same length.
const CODE_DIGITS: usize = 11;
/// The length of the message `Ended`, in bytes.
pub const ENDED_BYTES: usize = 2 + PROOF_BYTES + 1 + 4 + CODE_DIGITS;

/// A random number of one connection.
pub type Nonce = [u8; NONCE_BYTES];

/// The numbers of a connection, and the token: all that proofs need.
#[derive(Clone)]
pub struct Session {
    pub token: Token,
    pub of_mpiexec: Nonce,
    pub of_worker: Nonce,
}

/// The description of a worker's host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostDescription {
    pub name: String,
    pub slots: u32,
    /// The place of the host among the workers, if its starter has numbered them; else it follows from the arrival.
    pub index: Option<u32>,
    /// The version of the worker's program (`frames::version`).
    pub version: String,
}

/// A message of mpiexec to a worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Refused(String),
    Accepted,
    Start,
    /// The job has no ranks for the worker's host.
    NotNeeded,
    /// The job has ended with this exit code.
    Ended(i32),
}

/// The result of reading a message from the first bytes that have arrived.
#[derive(Debug, PartialEq, Eq)]
pub enum Parsed<T> {
    Incomplete,
    /// The bytes are no message.
    Malformed,
    /// A message whose proof is not that of our token.
    OtherToken,
    /// A message, and the number of bytes that it takes.
    Message(T, usize),
}

pub fn challenge(of_mpiexec: &Nonce) -> Vec<u8> {
    [MARK, of_mpiexec].concat()
}

/// Returns a message of the form of a verdict, without a proof: a worker that has another token finds by it that the
/// tokens differ, and a stranger learns nothing about ours.
pub fn unproved_verdict(random: &[u8; PROOF_BYTES]) -> Vec<u8> {
    let content = [0; 5];
    let len = (PROOF_BYTES + content.len()) as u16;
    [&len.to_le_bytes()[..], random, &content].concat()
}

/// Returns mpiexec's random number; None if the bytes are no challenge.
pub fn parse_challenge(bytes: &[u8; CHALLENGE_BYTES]) -> Option<Nonce> {
    bytes.strip_prefix(MARK)?.try_into().ok()
}

impl HostDescription {
    pub fn encode(&self, session: &Session) -> Vec<u8> {
        let mut body = FieldWriter::default();
        let index = self.index.map_or(0, |index| u64::from(index) + 1);
        body.text(&self.name).u32(self.slots).u64(index).text(&self.version);
        message(session, b"host", &[&session.of_worker[..], &body.0[..]].concat())
    }

    /// Reads a description for the mpiexec whose random number is `of_mpiexec`. Returns it with the
    /// session, which has the worker's.
    pub fn parse(token: &Token, of_mpiexec: Nonce, bytes: &[u8]) -> Parsed<(HostDescription, Session)> {
        let (body, len) = match body_of(bytes) {
            Parsed::Message(body, len) => (body, len),
            Parsed::Incomplete => return Parsed::Incomplete,
            _ => return Parsed::Malformed,
        };
        let Some(of_worker) = body.content.first_chunk::<NONCE_BYTES>().copied() else { return Parsed::Malformed };
        let session = Session { token: token.clone(), of_mpiexec, of_worker };
        if !body.is_proved(&session, b"host") {
            return Parsed::OtherToken;
        }
        match HostDescription::decode(&body.content[NONCE_BYTES..]) {
            Some(description) => Parsed::Message((description, session), len),
            None => Parsed::Malformed,
        }
    }

    fn decode(bytes: &[u8]) -> Option<HostDescription> {
        let mut fields = FieldReader(bytes);
        let (name, slots, index, version) = (fields.text()?, fields.u32()?, fields.u64()?, fields.text()?);
        let index = index.checked_sub(1).map(u32::try_from).transpose().ok()?;
        let is_named = !name.is_empty() && !name.contains(|c: char| c.is_whitespace() || c.is_control());
        (is_named && slots > 0 && fields.0.is_empty()).then_some(HostDescription { name, slots, index, version })
    }
}

impl Verdict {
    pub fn encode(&self, session: &Session) -> Vec<u8> {
        let (kind, text) = match self {
            Verdict::Refused(text) => (0, text[..text.floor_char_boundary(REASON_MAX)].to_owned()),
            Verdict::Accepted => (1, String::new()),
            Verdict::Start => (2, String::new()),
            Verdict::NotNeeded => (3, String::new()),
            Verdict::Ended(code) => (4, format!("{code:+0CODE_DIGITS$}")),
        };
        let mut body = FieldWriter::default();
        body.u8(kind).text(&text);
        message(session, b"verdict", &body.0)
    }

    pub fn parse(session: &Session, bytes: &[u8]) -> Parsed<Verdict> {
        let (body, len) = match body_of(bytes) {
            Parsed::Message(body, len) => (body, len),
            Parsed::Incomplete => return Parsed::Incomplete,
            _ => return Parsed::Malformed,
        };
        if !body.is_proved(session, b"verdict") {
            return Parsed::OtherToken;
        }
        Verdict::decode(body.content).map_or(Parsed::Malformed, |verdict| Parsed::Message(verdict, len))
    }

    fn decode(bytes: &[u8]) -> Option<Verdict> {
        let mut fields = FieldReader(bytes);
        let (kind, text) = (fields.u8()?, fields.text()?);
        match kind {
            _ if !fields.0.is_empty() => None,
            0 => Some(Verdict::Refused(text)),
            1 => Some(Verdict::Accepted),
            2 => Some(Verdict::Start),
            3 => Some(Verdict::NotNeeded),
            4 => text.parse().ok().map(Verdict::Ended),
            _ => None,
        }
    }
}

/// The content of a message, and the proof before it.
struct Body<'a> {
    proof: &'a [u8],
    content: &'a [u8],
}

impl Body<'_> {
    fn is_proved(&self, session: &Session, kind: &[u8]) -> bool {
        session.token.verifies(&[kind, &session.of_mpiexec, &session.of_worker, self.content], self.proof)
    }
}

/// A message is the length of what follows (16 bits), the proof, and the content.
fn message(session: &Session, kind: &[u8], content: &[u8]) -> Vec<u8> {
    let proof = session.token.proof(&[kind, &session.of_mpiexec, &session.of_worker, content]);
    let len = (PROOF_BYTES + content.len()).min(MESSAGE_MAX);
    let mut message = (len as u16).to_le_bytes().to_vec();
    message.extend(proof);
    message.extend(content);
    message
}

fn body_of(bytes: &[u8]) -> Parsed<Body<'_>> {
    let Some((len, rest)) = bytes.split_first_chunk::<2>() else { return Parsed::Incomplete };
    let len = usize::from(u16::from_le_bytes(*len));
    match rest.get(..len) {
        _ if !(PROOF_BYTES..=MESSAGE_MAX).contains(&len) => Parsed::Malformed,
        None => Parsed::Incomplete,
        Some(body) => Parsed::Message(Body { proof: &body[..PROOF_BYTES], content: &body[PROOF_BYTES..] }, 2 + len),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OF_MPIEXEC: Nonce = [1; NONCE_BYTES];
    const OF_WORKER: Nonce = [2; NONCE_BYTES];

    fn description(name: &str, index: Option<u32>) -> HostDescription {
        HostDescription { name: name.into(), slots: 4, index, version: "1".into() }
    }

    /// A description, with the worker's number instead of the whole session.
    fn parsed(token: &Token, of_mpiexec: Nonce, bytes: &[u8]) -> Parsed<(HostDescription, Nonce)> {
        match HostDescription::parse(token, of_mpiexec, bytes) {
            Parsed::Message((description, session), len) => Parsed::Message((description, session.of_worker), len),
            Parsed::Incomplete => Parsed::Incomplete,
            Parsed::Malformed => Parsed::Malformed,
            Parsed::OtherToken => Parsed::OtherToken,
        }
    }

    #[test]
    fn descriptions_and_verdicts_come_back() {
        let token = Token::new("0123456789abcdef");
        let session = Session { token: token.clone(), of_mpiexec: OF_MPIEXEC, of_worker: OF_WORKER };
        for description in [description("a", None), description("b.c", Some(0)), description("d", Some(u32::MAX))] {
            let mut bytes = description.encode(&session);
            let len = bytes.len();
            for end in 0..len {
                assert_eq!(parsed(&token, OF_MPIEXEC, &bytes[..end]), Parsed::Incomplete);
            }
            bytes.push(0);
            assert_eq!(parsed(&token, OF_MPIEXEC, &bytes), Parsed::Message((description, OF_WORKER), len));
        }
        for verdict in
            [Verdict::Refused("why".into()), Verdict::Accepted, Verdict::Start, Verdict::NotNeeded, Verdict::Ended(-1)]
        {
            let bytes = verdict.encode(&session);
            assert_eq!(Verdict::parse(&session, &bytes), Parsed::Message(verdict, bytes.len()));
        }
        for code in [0, 7, 143, i32::MIN, i32::MAX] {
            assert_eq!(Verdict::Ended(code).encode(&session).len(), ENDED_BYTES);
        }
        let long = Verdict::Refused("\u{e4}".repeat(REASON_MAX)).encode(&session);
        let cut = Verdict::Refused("\u{e4}".repeat(REASON_MAX / 2));
        assert_eq!(Verdict::parse(&session, &long), Parsed::Message(cut, long.len()));
        assert_eq!(parse_challenge(&challenge(&OF_MPIEXEC).try_into().unwrap()), Some(OF_MPIEXEC));
        assert_eq!(parse_challenge(&[0; CHALLENGE_BYTES]), None);
    }

    #[test]
    fn a_message_of_another_token_or_of_another_connection_is_refused() {
        let (token, other) = (Token::new("0123456789abcdef"), Token::new("0123456789abcdee"));
        let session = Session { token: token.clone(), of_mpiexec: OF_MPIEXEC, of_worker: OF_WORKER };
        let bytes = description("a", None).encode(&session);
        assert_eq!(parsed(&other, OF_MPIEXEC, &bytes), Parsed::OtherToken);
        let repeated = parsed(&token, [3; NONCE_BYTES], &bytes);
        assert_eq!(repeated, Parsed::OtherToken, "a proof of an earlier connection");
        assert_eq!(Verdict::parse(&session, &unproved_verdict(&[7; PROOF_BYTES])), Parsed::OtherToken);
        let verdict = Verdict::Start.encode(&session);
        for other in [
            Session { token: other.clone(), ..session.clone() },
            Session { token: token.clone(), of_mpiexec: [3; NONCE_BYTES], of_worker: OF_WORKER },
            Session { token: token.clone(), of_mpiexec: OF_MPIEXEC, of_worker: [3; NONCE_BYTES] },
        ] {
            assert_eq!(Verdict::parse(&other, &verdict), Parsed::OtherToken);
        }
        // A description is no verdict, even if its content were one.
        assert_eq!(Verdict::parse(&session, &bytes), Parsed::OtherToken);
    }

    #[test]
    fn each_changed_byte_is_found() {
        let token = Token::new("0123456789abcdef");
        let session = Session { token: token.clone(), of_mpiexec: OF_MPIEXEC, of_worker: OF_WORKER };
        let bytes = description("a", None).encode(&session);
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            assert!(!matches!(parsed(&token, OF_MPIEXEC, &changed), Parsed::Message(..)), "byte {at}");
        }
        for name in ["", "a b", "a\n"] {
            let bytes = description(name, None).encode(&session);
            assert_eq!(parsed(&token, OF_MPIEXEC, &bytes), Parsed::Malformed, "{name:?}");
        }
        assert_eq!(parsed(&token, OF_MPIEXEC, b"GET / HTTP/1.1\r\n"), Parsed::Malformed);
    }
}
