//! The whole lines of a text, with their numbers as an editor counts them.
//!
//! A last line without a newline may be half a line: `0.1`, the beginning of `0.17`, reads like a figure. It is left
//! out, and `is_cut` says so. This module knows no tool. Used by `import` and the tools' readers.

/// One line, without its end and without blanks at either side.
#[derive(Clone, Copy)]
pub struct TextLine<'a> {
    pub number: usize,
    pub text: &'a str,
}

impl<'a> TextLine<'a> {
    /// Returns the text behind the `#`s at the head of a line; None if there is no `#`.
    pub fn comment(self) -> Option<&'a str> {
        self.text.starts_with('#').then(|| self.text.trim_start_matches('#').trim_start())
    }

    /// Whether the line begins like a row of figures. Other programs' messages between the rows mostly do not.
    pub fn is_row(self) -> bool {
        let first = self.text.split_whitespace().next().unwrap_or_default();
        let number = first.trim_start_matches(['-', '+']).to_ascii_lowercase();
        number.starts_with(|letter: char| letter.is_ascii_digit())
            || ["nan", "inf", "infinity"].contains(&number.as_str())
    }
}

pub struct NumberedText<'a> {
    pub lines: Vec<TextLine<'a>>,
    /// Whether the last line had no newline, and so is not among the lines.
    pub is_cut: bool,
}

impl<'a> NumberedText<'a> {
    pub fn new(text: &'a str) -> Self {
        let complete = text.rfind('\n').map_or("", |at| &text[..at]);
        let rest = text.strip_prefix(complete).unwrap_or_default();
        let lines = complete.trim_start_matches('\u{feff}').split('\n').enumerate();
        NumberedText {
            lines: lines.map(|(at, text)| TextLine { number: at + 1, text: text.trim() }).collect(),
            is_cut: !rest.trim().is_empty(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_lines_count() {
        let text = NumberedText::new("\u{feff} a \r\n\r\n# b\n12 0.1");
        assert_eq!(
            text.lines.iter().map(|line| (line.number, line.text)).collect::<Vec<_>>(),
            [(1, "a"), (2, ""), (3, "# b")]
        );
        assert!(
            text.is_cut
                && !NumberedText::new("a\n").is_cut
                && !NumberedText::new("").is_cut
                && NumberedText::new("a").is_cut
        );
        assert!(NumberedText::new("a").lines.iter().all(|line| line.text.is_empty()));
    }

    #[test]
    fn rows_begin_with_a_number() {
        let row = |text| TextLine { number: 1, text }.is_row();
        assert!(row("1 2") && row("-3 4") && row("nan 4") && row("-inf"));
        assert!(
            !row("") && !row("----") && !row("real 0m7s") && !row("[n:21441] mca") && !row("# 1") && !row("naneye")
        );
    }
}
