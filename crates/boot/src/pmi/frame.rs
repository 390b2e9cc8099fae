//! The messages of PMI version 2 as bytes: a length of six characters, and that many bytes of words `name=value;`, of
//! which the first one is the command. A `;` in a value is doubled.
//!
//! Nothing here sends or receives. No length is trusted: a message is taken only when all its bytes are there, and a
//! length beyond `RECEIVED_MAX` is an error. Used by `connection`; uses `message`.

use super::message::Message;

/// The bytes of a length: decimal digits, which servers pad with spaces on either side.
const LEN_BYTES: usize = 6;
/// The longest message that is sent, in bytes with its length: the longest value of PMI 2 (PMI2_MAX_VALLEN, 1024) with
/// its key and the names. It fits into one buffer of a Unix socket, so that those of two threads do not mix.
pub const SENT_MAX: usize = 2048;
/// The longest message of a server that is read, in bytes without its length: longer than any value that a server
/// keeps.
pub const RECEIVED_MAX: usize = 1 << 16;

/// The bytes of `message`. None if there would be more than SENT_MAX, or if a word cannot be sent: servers end texts at
/// NUL, and MPICH's refuses a value without characters.
pub fn encode(message: &Message) -> Option<Vec<u8>> {
    let is_valid = |(name, value): &(String, String)| is_name(name) && !value.is_empty() && !value.contains('\0');
    let words = message.words().iter();
    let text: String = words.map(|(name, value)| format!("{name}={};", value.replace(';', ";;"))).collect();
    let frame = format!("{:>LEN_BYTES$}{text}", text.len());
    (message.words().iter().all(is_valid) && frame.len() <= SENT_MAX).then(|| frame.into_bytes())
}

/// Takes the first message off the bytes that have been received. None if it is not there as a whole; the error says
/// what is there instead of a message.
pub fn take(received: &mut Vec<u8>) -> Result<Option<Message>, String> {
    let Some(digits) = received.get(..LEN_BYTES) else { return Ok(None) };
    let digits = String::from_utf8_lossy(digits);
    let len = digits.trim_matches(' ').parse().ok().filter(|len| *len <= RECEIVED_MAX);
    let len = len.ok_or_else(|| format!("its reply is no message of PMI 2: {digits:?} in place of a length"))?;
    if received.len() - LEN_BYTES < len {
        return Ok(None);
    }
    let frame: Vec<u8> = received.drain(..LEN_BYTES + len).collect();
    let message = decode(&frame[LEN_BYTES..]);
    message.map(Some).ok_or_else(|| format!("its reply is no message of PMI 2: {:?}", String::from_utf8_lossy(&frame)))
}

/// Reads the words of a message. None if they are no text, or do not begin with a command.
fn decode(words: &[u8]) -> Option<Message> {
    let mut rest = std::str::from_utf8(words).ok()?;
    let mut words = Vec::new();
    while !rest.is_empty() {
        let (name, behind) = rest.split_once('=')?;
        let (value, next) = value(behind);
        words.push((is_name(name).then(|| name.to_owned())?, value));
        rest = next;
    }
    Message::from_words(words)
}

/// The value with which `text` begins, and the text behind its end, which is a `;` that is not doubled.
fn value(text: &str) -> (String, &str) {
    let (mut value, mut rest) = (String::new(), text);
    while let Some((part, behind)) = rest.split_once(';') {
        value += part;
        match behind.strip_prefix(';') {
            Some(behind) => rest = behind,
            None => return (value, behind),
        }
        value.push(';');
    }
    (value + rest, "")
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(bytes: &[u8]) -> (Result<Option<Message>, String>, usize) {
        let mut received = bytes.to_vec();
        (take(&mut received), received.len())
    }

    #[test]
    fn a_message_has_its_length_before_it() {
        let put = Message::new("kvs-put").with("key", "k").with("value", "a=b c;");
        let frame = encode(&put).unwrap();
        assert_eq!(frame, b"    32cmd=kvs-put;key=k;value=a=b c;;;");
        assert_eq!(taken(&frame), (Ok(Some(put)), 0));
        // Slurm pads the length behind it; what follows is left.
        let (reply, left) = taken(b"29    cmd=kvs-fence-response;rc=-1;    12");
        let reply = reply.unwrap().unwrap();
        assert_eq!((reply.command(), reply.number("rc"), left), ("kvs-fence-response", Some(-1), 6));
    }

    #[test]
    fn a_message_that_has_not_arrived_is_awaited() {
        let frame = encode(&Message::new("finalize")).unwrap();
        for end in 0..frame.len() {
            assert_eq!(taken(&frame[..end]), (Ok(None), end));
        }
    }

    #[test]
    fn values_may_have_semicolons_anywhere_and_may_be_empty() {
        for (text, value) in [(";;;", ";"), ("a;;;", "a;"), (";;;;a;;b", ";;a;b"), (";", ""), ("", ""), ("a", "a")] {
            let words = format!("cmd=x;value={text}");
            let frame = format!("{:<6}{words}", words.len());
            assert_eq!(taken(frame.as_bytes()).0.unwrap().unwrap().value("value"), Some(value), "{text}");
        }
    }

    #[test]
    fn bytes_that_are_no_message_are_named() {
        for frame in [
            "cmd=response_to_init",
            "    -1cmd=x;",
            "999999",
            " 65537cmd=x;",
            "   1 1cmd=x;",
            "      cmd=x;",
            "     4rc=0",
            "     0",
            "     5=cmd=",
            "     3cmd",
        ] {
            let error = taken(frame.as_bytes()).0.unwrap_err();
            assert!(error.contains(&frame[..6]) && !error.contains('\n'), "{error}");
        }
        assert!(taken(b"     5cmd=\xff").0.is_err());
    }

    #[test]
    fn a_word_that_servers_do_not_take_is_not_sent() {
        for (name, value) in [("key", ""), ("key", "a\0"), ("", "a"), ("a b", "c"), ("a;", "c"), ("a=", "c")] {
            assert_eq!(encode(&Message::new("kvs-put").with(name, value)), None, "{name:?} {value:?}");
        }
        assert!(encode(&Message::new("kvs-put").with("value", &"x".repeat(1024))).is_some());
        assert_eq!(encode(&Message::new("kvs-put").with("value", &"x".repeat(SENT_MAX))), None);
    }
}
