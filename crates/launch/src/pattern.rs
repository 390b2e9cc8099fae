//! Patterns that contain a rank's place, for labels of lines and names of files, in the syntax of MPICH and Open MPI.
//!
//! `%r` is the rank, `%g` the process group's number (always 0 here), `%p` the number of the rank's host among the
//! job's, `%h` its name and `%%` a percent sign. Nothing is opened here. Used by `args` and `conduct`.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

/// The place of a rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub rank: u32,
    pub size: u32,
    /// The number of its host.
    pub proxy: u32,
    pub host: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(Vec<u8>),
    Rank,
    /// The rank with leading zeroes, so that names sort as ranks do.
    PaddedRank,
    Group,
    Proxy,
    Host,
}

/// A text with placeholders for a rank's place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern(Vec<Part>);

impl Pattern {
    /// Parses the value of `option`, or returns a line that names the error.
    pub fn parse(option: &str, text: &OsStr) -> Result<Pattern, String> {
        let mut parts = vec![Part::Text(Vec::new())];
        let mut bytes = text.as_bytes().iter().copied();
        while let Some(byte) = bytes.next() {
            let letter = if byte == b'%' { bytes.next() } else { None };
            match (byte, letter) {
                (b'%', Some(b'r')) => parts.push(Part::Rank),
                (b'%', Some(b'g')) => parts.push(Part::Group),
                (b'%', Some(b'p')) => parts.push(Part::Proxy),
                (b'%', Some(b'h')) => parts.push(Part::Host),
                (b'%', letter) if letter != Some(b'%') => {
                    let text = text.to_string_lossy();
                    return Err(format!(
                        "{option} {text}: after % comes r (rank), g, p (host's number), h (host) or %"
                    ));
                }
                _ => match parts.last_mut() {
                    Some(Part::Text(text)) => text.push(byte),
                    _ => parts.push(Part::Text(vec![byte])),
                },
            }
        }
        Ok(Pattern(parts))
    }

    /// `[RANK] `, the label of `-l`.
    pub fn rank_label() -> Pattern {
        Pattern(vec![Part::Text(b"[".into()), Part::Rank, Part::Text(b"] ".into())])
    }

    /// `text`, literally, then the rank, then `rest`.
    pub fn around_rank(text: &OsStr, is_padded: bool, rest: &str) -> Pattern {
        let rank = if is_padded { Part::PaddedRank } else { Part::Rank };
        Pattern(vec![Part::Text(text.as_bytes().into()), rank, Part::Text(rest.into())])
    }

    pub fn at(&self, place: &Place) -> Vec<u8> {
        let digits = place.size.to_string().len();
        let text = |part: &Part| match part {
            Part::Text(text) => text.clone(),
            Part::Rank => place.rank.to_string().into(),
            Part::PaddedRank => format!("{:0digits$}", place.rank).into(),
            Part::Group => b"0".into(),
            Part::Proxy => place.proxy.to_string().into(),
            Part::Host => place.host.clone().into(),
        };
        self.0.iter().flat_map(text).collect()
    }
}

/// The destinations of the ranks' output.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Outputs {
    /// The label of each line.
    pub label: Option<Pattern>,
    /// The files that get the output instead of mpiexec's own output.
    pub out: Option<Pattern>,
    pub err: Option<Pattern>,
    /// The folders of the files are created.
    pub makes_folders: bool,
    /// Output to files goes to mpiexec's own output, too.
    pub copies: bool,
}

impl Outputs {
    /// The files of a rank's two streams.
    pub fn files(&self, place: &Place) -> [Option<PathBuf>; 2] {
        let name = |pattern: &Option<Pattern>| {
            pattern.as_ref().map(|pattern| PathBuf::from(OsString::from_vec(pattern.at(place))))
        };
        [name(&self.out), name(&self.err)]
    }

    /// Parses Open MPI's `--output-filename DIR[:nojobid,nocopy]`: DIR/1/rank.N/stdout and stderr. The text behind the
    /// last colon is part of the name where it is none of these words.
    pub fn take_folder(&mut self, value: &OsStr) {
        let words = |text: &[u8]| text.split(|&b| b == b',').map(<[u8]>::to_ascii_lowercase).collect::<Vec<_>>();
        let colon = value.as_bytes().iter().rposition(|&byte| byte == b':');
        let options = colon.map(|at| words(&value.as_bytes()[at + 1..]));
        let options = options.filter(|words| words.iter().all(|word| word == b"nojobid" || word == b"nocopy"));
        let has = |word: &[u8]| options.as_ref().is_some_and(|words| words.iter().any(|it| it == word));
        let end = if options.is_some() { colon.unwrap_or(value.len()) } else { value.len() };
        let mut folder = OsStr::from_bytes(&value.as_bytes()[..end]).to_owned();
        folder.push(if has(b"nojobid") { "/rank." } else { "/1/rank." });
        self.out = Some(Pattern::around_rank(&folder, true, "/stdout"));
        self.err = Some(Pattern::around_rank(&folder, true, "/stderr"));
        (self.makes_folders, self.copies) = (true, !has(b"nocopy"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(rank: u32, size: u32) -> Place {
        Place { rank, size, proxy: 1, host: "node7".into() }
    }

    #[test]
    fn places_are_put_into_patterns() {
        let text = |pattern: &str| {
            let pattern = Pattern::parse("-o", pattern.as_ref()).unwrap();
            String::from_utf8(pattern.at(&place(3, 12))).unwrap()
        };
        assert_eq!(text("[%r:%g:%p] %h 100%%r "), "[3:0:1] node7 100%r ");
        assert_eq!((text(""), text("%r%r")), (String::new(), "33".into()));
        for wrong in ["%", "a%x", "%%%"] {
            assert!(Pattern::parse("-o", wrong.as_ref()).unwrap_err().starts_with(&format!("-o {wrong}: ")));
        }
    }

    #[test]
    fn the_files_of_a_folder_are_those_of_open_mpi() {
        let files = |value: &str, size| {
            let mut outputs = Outputs::default();
            outputs.take_folder(value.as_ref());
            let [out, err] = outputs.files(&place(3, size)).map(|name| name.unwrap().display().to_string());
            (out, err, outputs.copies)
        };
        assert_eq!(files("d", 4), ("d/1/rank.3/stdout".into(), "d/1/rank.3/stderr".into(), true));
        assert_eq!(files("d:nojobid", 4).0, "d/rank.3/stdout");
        assert_eq!(files("d%r:NoCopy,nojobid", 12), ("d%r/rank.03/stdout".into(), "d%r/rank.03/stderr".into(), false));
        assert_eq!(files("d:e", 4).0, "d:e/1/rank.3/stdout");
    }
}
