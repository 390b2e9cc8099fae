//! Fuzzes the messages between mpiexec and a worker with any bytes, and with messages that one side has changed.
//!
//! Bytes without the proof of the token are never a message. A message with it decodes to what was encoded.

use bolero::check;
use hawser_launch::worker::handshake::{
    CHALLENGE_BYTES, HostDescription, NONCE_BYTES, Parsed, Session, Verdict, parse_challenge,
};
use hawser_launch::worker::token::Token;

const OF_MPIEXEC: [u8; NONCE_BYTES] = [1; NONCE_BYTES];
const OF_WORKER: [u8; NONCE_BYTES] = [2; NONCE_BYTES];

#[test]
fn strangers_at_the_listener() {
    let token = Token::new("0123456789abcdef");
    check!().with_iterations(5000).for_each(|bytes| {
        let session = Session { token: token.clone(), of_mpiexec: OF_MPIEXEC, of_worker: OF_WORKER };
        assert!(!matches!(HostDescription::parse(&token, OF_MPIEXEC, bytes), Parsed::Message(..)));
        assert!(!matches!(Verdict::parse(&session, bytes), Parsed::Message(..)));
        if let Some(first) = bytes.first_chunk::<CHALLENGE_BYTES>() {
            let _ = parse_challenge(first);
        }
    });
}

#[test]
fn descriptions_of_workers() {
    let token = Token::new("0123456789abcdef");
    check!().with_iterations(5000).with_type::<(String, u32, Option<u32>, String)>().for_each(|fields| {
        let (name, slots, index, version) = fields.clone();
        let is_short = name.len() + version.len() < 1024;
        let is_named = !name.is_empty() && !name.contains(|c: char| c.is_whitespace() || c.is_control());
        let description = HostDescription { name, slots, index, version };
        let session = Session { token: token.clone(), of_mpiexec: OF_MPIEXEC, of_worker: OF_WORKER };
        let bytes = description.encode(&session);
        match HostDescription::parse(&token, OF_MPIEXEC, &bytes) {
            Parsed::Message((parsed, session), len) => {
                assert_eq!((parsed, session.of_worker, len), (description, OF_WORKER, bytes.len()));
                assert!(is_named && slots > 0);
            }
            _ => assert!(!is_short || !is_named || slots == 0),
        }
    });
}
