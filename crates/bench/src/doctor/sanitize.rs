//! Makes text of another host safe for a terminal and for one line of ours.
//!
//! Used by `text` and `hosts`, which show it.

/// Replaces the characters that would control a terminal or begin another line: the text may come from another host.
pub fn sanitized(text: &str) -> String {
    text.chars().map(|it| if it.is_control() { '\u{fffd}' } else { it }).collect()
}

/// The first `characters` characters, made safe.
pub fn truncated(text: &str, characters: usize) -> String {
    let end = text.char_indices().nth(characters).map(|(end, _)| end);
    end.map_or_else(|| sanitized(text), |end| sanitized(&text[..end]) + "...")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_is_plain_and_not_too_long() {
        assert_eq!(truncated("caf\u{e9}\u{1b}[2J\nroot", 80), "caf\u{e9}\u{fffd}[2J\u{fffd}root");
        assert_eq!(truncated(&"\u{e9}".repeat(100), 80), "\u{e9}".repeat(80) + "...");
    }
}
