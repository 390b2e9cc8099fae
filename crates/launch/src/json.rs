//! Reads JSON text that another program has printed.
//!
//! The module knows nothing of what the text means. Used by `flux`, which reads the resources of an allocation.

/// The maximum depth of lists and objects within each other.
const DEPTH_MAX: usize = 64;

/// A value. Numbers other than small whole ones, true, false and null are `Other`: nothing here needs them.
#[derive(Debug, PartialEq)]
pub enum Json {
    Object(Vec<(String, Json)>),
    List(Vec<Json>),
    Text(String),
    Number(u32),
    Other,
}

impl Json {
    /// Parses a text that is one value. None if it is malformed.
    pub fn parse(text: &str) -> Option<Json> {
        let mut parser = Parser { rest: text.trim_start() };
        let value = parser.value(0)?;
        parser.rest.trim_start().is_empty().then_some(value)
    }

    /// The value of an object's member.
    pub fn get(&self, name: &str) -> Option<&Json> {
        let Json::Object(members) = self else { return None };
        members.iter().find(|(own, _)| own == name).map(|(_, value)| value)
    }

    pub fn list(&self) -> Option<&[Json]> {
        if let Json::List(values) = self { Some(values) } else { None }
    }

    pub fn text(&self) -> Option<&str> {
        if let Json::Text(text) = self { Some(text) } else { None }
    }
}

/// The text behind the values that have been read.
struct Parser<'a> {
    rest: &'a str,
}

impl Parser<'_> {
    /// Skips `expected`, and space before it, if that comes next.
    fn takes(&mut self, expected: char) -> bool {
        let rest = self.rest.trim_start().strip_prefix(expected);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn value(&mut self, depth: usize) -> Option<Json> {
        if depth > DEPTH_MAX {
            return None;
        }
        if self.takes('{') {
            let member = |parser: &mut Self| {
                let name = parser.takes('"').then(|| parser.text())??;
                Some((name, parser.takes(':').then(|| parser.value(depth + 1))??))
            };
            self.items('}', member).map(Json::Object)
        } else if self.takes('[') {
            self.items(']', |parser| parser.value(depth + 1)).map(Json::List)
        } else if self.takes('"') {
            self.text().map(Json::Text)
        } else {
            self.word()
        }
    }

    /// Reads the items up to the bracket that ends them.
    fn items<T>(&mut self, end: char, item: impl Fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let mut items = Vec::new();
        if self.takes(end) {
            return Some(items);
        }
        loop {
            items.push(item(self)?);
            if self.takes(end) {
                return Some(items);
            }
            if !self.takes(',') {
                return None;
            }
        }
    }

    /// Reads a text whose opening quote has been read.
    fn text(&mut self) -> Option<String> {
        let mut text = String::new();
        let mut chars = self.rest.chars();
        loop {
            text.push(match chars.next()? {
                '"' => break,
                '\\' => match chars.next()? {
                    'u' => {
                        let (digits, _) = chars.as_str().split_at_checked(4)?;
                        chars.nth(3);
                        // Half of a pair of surrogates is no character.
                        char::from_u32(u32::from_str_radix(digits, 16).ok()?).unwrap_or(char::REPLACEMENT_CHARACTER)
                    }
                    'n' => '\n',
                    't' => '\t',
                    'r' => '\r',
                    'b' => '\x08',
                    'f' => '\x0c',
                    other => other,
                },
                other => other,
            });
        }
        self.rest = chars.as_str();
        Some(text)
    }

    /// Reads a number, or a word such as `true`.
    fn word(&mut self) -> Option<Json> {
        self.rest = self.rest.trim_start();
        let end = self.rest.find(|c: char| !c.is_ascii_alphanumeric() && !"+-.".contains(c));
        let (word, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        let is_known = ["true", "false", "null"].contains(&word) || word.parse::<f64>().is_ok();
        is_known.then(|| word.parse().map_or(Json::Other, Json::Number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_each_kind_are_read() {
        let text = "{\"a\": [1, -2.5e3, true, null, \"x\\n\\u00e9\\\"\"], \"b\":{ } , \"c\" : []}\n";
        let value = Json::parse(text).unwrap();
        let others = [Json::Number(1), Json::Other, Json::Other, Json::Other, Json::Text("x\né\"".into())];
        assert_eq!(value.get("a").unwrap().list().unwrap(), others);
        assert_eq!((value.get("b"), value.get("c")), (Some(&Json::Object(vec![])), Some(&Json::List(vec![]))));
        assert_eq!((value.get("d"), value.list(), value.text()), (None, None, None));
        assert_eq!(Json::parse("\"\\ud83d\"").unwrap().text(), Some("\u{fffd}"));
    }

    #[test]
    fn malformed_texts_are_refused() {
        for text in
            ["", "{", "[1", "[1,]", "{\"a\"}", "{\"a\":}", "\"a", "\"\\u12\"", "\"\\u12é4\"", "maybe", "1 2", "{a:1}"]
        {
            assert_eq!(Json::parse(text), None, "{text}");
        }
        assert_eq!(Json::parse(&"[".repeat(1_000_000)), None);
        assert!(Json::parse(&format!("{}{}", "[".repeat(DEPTH_MAX), "]".repeat(DEPTH_MAX))).is_some());
    }
}
