//! The messages of PMI: words `name=value`, of which the first one is the command; and the lines as which version 1
//! sends them.
//!
//! Nothing here sends or receives. Values have no spaces: the value of the last word is the rest of the line, because
//! servers put texts for people there. Used by the other files of `pmi`.

use std::str::FromStr;

/// The longest message of MPICH's clients and servers (PMIU_MAXLINE), in bytes with the line's end.
pub const MESSAGE_MAX: usize = 1024;
/// The longest line of a server that is read: longer than any value that a server keeps.
const LINE_MAX: usize = 1 << 16;

/// A request or a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    words: Vec<(String, String)>,
}

impl Message {
    pub fn new(command: &str) -> Message {
        Message { words: vec![("cmd".into(), command.into())] }
    }

    pub fn with(mut self, name: &str, value: &str) -> Message {
        self.words.push((name.into(), value.into()));
        self
    }

    /// The command; empty if the message has none.
    pub fn command(&self) -> &str {
        self.value("cmd").unwrap_or_default()
    }

    pub fn value(&self, name: &str) -> Option<&str> {
        self.words.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub fn number<T: FromStr>(&self, name: &str) -> Option<T> {
        self.value(name)?.parse().ok()
    }

    pub fn words(&self) -> &[(String, String)] {
        &self.words
    }

    /// The message of these words; None if the first one is no command.
    pub fn from_words(words: Vec<(String, String)>) -> Option<Message> {
        words.first().is_some_and(|(name, _)| name == "cmd").then_some(Message { words })
    }

    /// The line of this message; None if it would be longer than `MESSAGE_MAX`, or a value cannot be in a line.
    pub fn encode(&self) -> Option<Vec<u8>> {
        let is_word = |text: &str| !text.contains([' ', '\n', '\r', '\0']);
        let is_line = |text: &str| !text.contains(['\n', '\r', '\0']);
        let last = self.words.len() - 1;
        let is_valid = (0..).zip(&self.words).all(|(number, (name, value))| {
            is_word(name) && if number == last { is_line(value) } else { is_word(value) }
        });
        let words: Vec<String> = self.words.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let line = words.join(" ") + "\n";
        (is_valid && line.len() <= MESSAGE_MAX).then(|| line.into_bytes())
    }

    /// Reads a line, with or without its end. None if it is not text of words `name=value` that begins with a command.
    pub fn decode(line: &[u8]) -> Option<Message> {
        let mut rest = std::str::from_utf8(line).ok()?.trim_end_matches(['\n', '\r']).trim_start();
        let mut words: Vec<(String, String)> = Vec::new();
        while !rest.is_empty() {
            let (name, behind) = rest.split_once('=')?;
            if name.is_empty() || name.contains(' ') {
                return None;
            }
            // A value ends where another word begins: at a space that a name and `=` follow.
            let end = behind.match_indices(' ').map(|(at, _)| at).find(|&at| begins_word(&behind[at + 1..]));
            let (value, next) = end.map_or((behind, ""), |at| (&behind[..at], behind[at + 1..].trim_start()));
            words.push((name.into(), value.trim_end().into()));
            rest = next;
        }
        Message::from_words(words)
    }
}

/// Takes the first line off the bytes that have been received. None if its end is not there; the error says what is
/// there instead of a message.
pub fn take(received: &mut Vec<u8>) -> Result<Option<Message>, String> {
    let Some(end) = received.iter().position(|&byte| byte == b'\n') else {
        return if received.len() > LINE_MAX { Err("its reply has no end".into()) } else { Ok(None) };
    };
    let line: Vec<u8> = received.drain(..=end).collect();
    let message = Message::decode(&line);
    message
        .map(Some)
        .ok_or_else(|| format!("its reply is no message of PMI: {:?}", String::from_utf8_lossy(&line).trim_end()))
}

/// Whether `text`, behind a space, begins with a word `name=value`. A line's end does too.
fn begins_word(text: &str) -> bool {
    let text = text.trim_start();
    let name = text.split(['=', ' ']).next().unwrap_or_default();
    let is_name = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
    text.is_empty() || !name.is_empty() && name.chars().all(is_name) && text[name.len()..].starts_with('=')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_the_line_of_the_protocol() {
        let put = Message::new("put").with("kvsname", "kvs_1").with("key", "k").with("value", "a=b");
        assert_eq!(put.encode().unwrap(), b"cmd=put kvsname=kvs_1 key=k value=a=b\n");
        assert_eq!(Message::decode(&put.encode().unwrap()), Some(put));
        let reply = Message::decode(b"cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024\n").unwrap();
        assert_eq!((reply.command(), reply.number("vallen_max"), reply.value("rc")), ("maxes", Some(1024), None));
    }

    #[test]
    fn a_text_for_people_keeps_its_spaces() {
        let reply = Message::decode(b"cmd=get_result rc=-1 msg=key_7 not found value=unknown\n").unwrap();
        assert_eq!(reply.value("msg"), Some("key_7 not found"));
        assert_eq!((reply.number("rc"), reply.value("value")), (Some(-1), Some("unknown")));
        let mapping = Message::decode(b"cmd=get_result rc=0 msg=success value=(vector,(0,2,1))").unwrap();
        assert_eq!(mapping.value("value"), Some("(vector,(0,2,1))"));
    }

    #[test]
    fn a_line_that_is_no_message_is_none() {
        for line in [&b""[..], b"\n", b"cmd", b"rc=0 cmd=x", b"=x", b"cmd=\xff", b"hello world=1"] {
            assert_eq!(Message::decode(line), None, "{line:?}");
        }
    }

    #[test]
    fn a_value_that_no_line_can_have_is_not_sent() {
        for value in ["a b", "a\nb", "a\0"] {
            assert_eq!(Message::new("put").with("key", value).with("value", "1").encode(), None, "{value:?}");
        }
        assert!(Message::new("abort").with("message", "two words").encode().is_some());
        assert_eq!(Message::new("put").with("value", &"x".repeat(MESSAGE_MAX)).encode(), None);
    }
}
