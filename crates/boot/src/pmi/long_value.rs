//! Bytes of any length as the texts that servers of PMI keep: in hexadecimal, under as many keys as a text needs. The
//! first text begins with the number of keys and a colon.
//!
//! Nothing here asks a server. Used by `pmi1` and `pmi2`.

use hawser_base::{Class, Error, Result, hex};

/// The least that a server's values must hold: a secret, and the parts of a longer text.
pub const VALUE_LEAST: usize = 64;
/// The bytes of a first text besides the part: the number of keys, at most ten digits, and a colon.
const COUNT_BYTES: usize = 16;

const _: () = assert!(VALUE_LEAST >= COUNT_BYTES + 2);

/// The key under which `rank` puts what the job calls `key`.
pub fn key_of(rank: u32, key: &str) -> String {
    format!("{key}-{rank}")
}

/// The keys and texts under which `bytes` are put. A text has at most `value_max` bytes, which are VALUE_LEAST or more,
/// and none of it needs an escape.
pub fn parts(key: &str, bytes: &[u8], value_max: usize) -> impl Iterator<Item = (String, String)> {
    let part_bytes = (value_max - COUNT_BYTES) / 2;
    let count = bytes.len().div_ceil(part_bytes).max(1);
    (0..count).map(move |number| {
        let part = bytes.chunks(part_bytes).nth(number).map(hex::encode).unwrap_or_default();
        (part_key(key, number), if number == 0 { format!("{count}:{part}") } else { part })
    })
}

/// The bytes whose texts `get` gets, each by its key. It returns None for a key that the server does not know.
pub fn joined(key: &str, mut get: impl FnMut(&str) -> Result<Option<String>>) -> Result<Vec<u8>> {
    let mut part = |number| {
        let key = part_key(key, number);
        get(&key)?.ok_or_else(|| unknown(&key))
    };
    let first = part(0)?;
    let (count, first) = first.split_once(':').ok_or_else(|| changed(key))?;
    let mut text = first.to_owned();
    for number in 1..count.parse::<u32>().map_err(|_| changed(key))? {
        text += &part(number as usize)?;
    }
    hex::decode(&text).ok_or_else(|| changed(key))
}

fn part_key(key: &str, number: usize) -> String {
    format!("{key}-{number}")
}

/// The error of a key that has been put before a fence and is not known after it.
#[cold]
pub fn unknown(key: &str) -> Error {
    let text = format!(
        "the launcher's PMI server does not know {key} after a fence; all processes of the job must load the same \
         Hawser (install it on all hosts, and check LD_LIBRARY_PATH)"
    );
    Error::new(Class::Other, text)
}

#[cold]
fn changed(key: &str) -> Error {
    let text =
        format!("the launcher's PMI server has changed the value of {key}; start the program by Hawser's mpiexec");
    Error::new(Class::Other, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    fn back(key: &str, texts: &HashMap<String, String>) -> Result<Vec<u8>> {
        joined(key, |key| Ok(texts.get(key).cloned()))
    }

    #[test]
    fn bytes_of_any_length_come_back() {
        let key = key_of(3, "card");
        for (len, count) in [(0, 1), (1, 1), (24, 1), (25, 2), (1000, 42)] {
            let bytes: Vec<u8> = (0..len).map(|at| at as u8).collect();
            let texts: HashMap<_, _> = parts(&key, &bytes, VALUE_LEAST).collect();
            assert!(texts.len() == count && texts.values().all(|text| text.len() <= VALUE_LEAST), "{texts:?}");
            assert_eq!(back(&key, &texts).unwrap(), bytes);
        }
    }

    #[test]
    fn texts_that_are_missing_or_changed_are_errors() {
        let texts = |first: &str| HashMap::from([("card-3-0".to_owned(), first.to_owned())]);
        for (first, named) in [
            ("2:12", "does not know card-3-1 after a fence"),
            ("4294967295:12", "does not know card-3-1 after a fence"),
            ("1:123", "has changed the value of card-3;"),
            ("1:xy", "has changed the value of card-3;"),
            ("x:12", "has changed the value of card-3;"),
            ("12", "has changed the value of card-3;"),
        ] {
            let error = back("card-3", &texts(first)).unwrap_err();
            assert!(error.cause().contains(named), "{first}: {}", error.cause());
        }
        assert!(back("card-3", &HashMap::new()).unwrap_err().cause().contains("does not know card-3-0 after a fence"));
    }
}
