//! Bytes as hexadecimal digits: in lines between two processes, and in values that are text.
//!
//! Used by `bench`, `host` and `abi`; uses no other module.

use std::fmt::Write;

pub fn encode(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Decodes bytes; None if the text is not hexadecimal.
pub fn decode(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes();
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let byte = |pair: &[u8]| Some((digit(pair[0])? << 4 | digit(*pair.get(1)?)?) as u8);
    digits.chunks(2).map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_read_as_they_were_written_and_nothing_else_is() {
        let bytes: Vec<u8> = (0..=255).collect();
        assert_eq!(decode(&encode(&bytes)), Some(bytes));
        assert_eq!(decode("0x"), None);
        assert_eq!([decode(""), decode("0"), decode("0g"), decode("\u{e4}\u{e4}")], [Some(vec![]), None, None, None]);
    }
}
