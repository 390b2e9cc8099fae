//! Patterns with placeholders for a rank and its host, for labels of lines and names of files, in the syntax of MPICH
//! and Open MPI.
//!
//! `%r` is the rank, `%g` the number of the process group (always 0 here), `%p` the number of the rank's host among
//! the hosts of the job, `%h` the name of that host and `%%` a percent sign. No file is opened here. Used by `args`
//! and `job_control`.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

/// A rank and the host that it is on: the values of the placeholders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankLocation {
    pub rank: u32,
    pub size: u32,
    /// The number of the rank's host among the hosts of the job, from 0.
    pub proxy: u32,
    pub host: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum PatternPart {
    Text(Vec<u8>),
    Rank,
    /// The rank with leading zeroes, so that names sort as ranks do.
    PaddedRank,
    Group,
    Proxy,
    Host,
}

/// A text with placeholders for a rank and its host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputPattern(Vec<PatternPart>);

impl OutputPattern {
    /// Parses the value of `option`, or returns a line that names the error.
    pub fn parse(option: &str, text: &OsStr) -> Result<OutputPattern, String> {
        let mut parts = vec![PatternPart::Text(Vec::new())];
        let mut bytes = text.as_bytes().iter().copied();
        while let Some(byte) = bytes.next() {
            let letter = if byte == b'%' { bytes.next() } else { None };
            match (byte, letter) {
                (b'%', Some(b'r')) => parts.push(PatternPart::Rank),
                (b'%', Some(b'g')) => parts.push(PatternPart::Group),
                (b'%', Some(b'p')) => parts.push(PatternPart::Proxy),
                (b'%', Some(b'h')) => parts.push(PatternPart::Host),
                (b'%', letter) if letter != Some(b'%') => {
                    let text = text.to_string_lossy();
                    return Err(format!(
                        "{option} {text}: % must be followed by r (rank), g, p (host's number), h (host) or %"
                    ));
                }
                _ => match parts.last_mut() {
                    Some(PatternPart::Text(text)) => text.push(byte),
                    _ => parts.push(PatternPart::Text(vec![byte])),
                },
            }
        }
        Ok(OutputPattern(parts))
    }

    /// `[RANK] `, the label of `-l`.
    pub fn rank_label() -> OutputPattern {
        OutputPattern(vec![PatternPart::Text(b"[".into()), PatternPart::Rank, PatternPart::Text(b"] ".into())])
    }

    /// Makes the pattern of `text`, the rank and `rest`; percent signs in `text` and `rest` have no meaning.
    /// `is_padded`: the rank is written with leading zeroes.
    pub fn around_rank(text: &OsStr, is_padded: bool, rest: &str) -> OutputPattern {
        let rank = if is_padded { PatternPart::PaddedRank } else { PatternPart::Rank };
        OutputPattern(vec![PatternPart::Text(text.as_bytes().into()), rank, PatternPart::Text(rest.into())])
    }

    pub fn expand(&self, location: &RankLocation) -> Vec<u8> {
        let digits = location.size.to_string().len();
        let text = |pattern_part: &PatternPart| match pattern_part {
            PatternPart::Text(text) => text.clone(),
            PatternPart::Rank => location.rank.to_string().into(),
            PatternPart::PaddedRank => format!("{:0digits$}", location.rank).into(),
            PatternPart::Group => b"0".into(),
            PatternPart::Proxy => location.proxy.to_string().into(),
            PatternPart::Host => location.host.clone().into(),
        };
        self.0.iter().flat_map(text).collect()
    }
}

/// The destinations of the ranks' output.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct OutputOptions {
    /// The label of each line.
    pub label: Option<OutputPattern>,
    /// The names of the files that get the ranks' standard output (`out`) and standard error (`err`) instead of
    /// mpiexec's own output; None: there is no file.
    pub out: Option<OutputPattern>,
    pub err: Option<OutputPattern>,
    /// Whether the folders of the files are created.
    pub makes_folders: bool,
    /// Whether output to files goes to mpiexec's own output, too.
    pub copies: bool,
}

impl OutputOptions {
    /// The files of a rank's standard output and standard error; None for mpiexec's own output.
    pub fn files(&self, location: &RankLocation) -> [Option<PathBuf>; 2] {
        let name = |pattern: &Option<OutputPattern>| {
            pattern.as_ref().map(|pattern| PathBuf::from(OsString::from_vec(pattern.expand(location))))
        };
        [name(&self.out), name(&self.err)]
    }

    /// Sets the files by the value of Open MPI's `--output-filename DIR[:nojobid,nocopy]`: DIR/1/rank.N/stdout and
    /// stderr, or with `nojobid` DIR/rank.N/stdout and stderr. Without `nocopy` the output also goes to mpiexec's own
    /// output. If the text behind the last colon contains any other word than these two, it is part of DIR.
    pub fn take_folder(&mut self, value: &OsStr) {
        let words = |text: &[u8]| text.split(|&b| b == b',').map(<[u8]>::to_ascii_lowercase).collect::<Vec<_>>();
        let colon = value.as_bytes().iter().rposition(|&byte| byte == b':');
        let options = colon.map(|at| words(&value.as_bytes()[at + 1..]));
        let options = options.filter(|words| words.iter().all(|word| word == b"nojobid" || word == b"nocopy"));
        let has = |word: &[u8]| options.as_ref().is_some_and(|words| words.iter().any(|it| it == word));
        let end = if options.is_some() { colon.unwrap_or(value.len()) } else { value.len() };
        let mut folder = OsStr::from_bytes(&value.as_bytes()[..end]).to_owned();
        folder.push(if has(b"nojobid") { "/rank." } else { "/1/rank." });
        self.out = Some(OutputPattern::around_rank(&folder, true, "/stdout"));
        self.err = Some(OutputPattern::around_rank(&folder, true, "/stderr"));
        (self.makes_folders, self.copies) = (true, !has(b"nocopy"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn location(rank: u32, size: u32) -> RankLocation {
        RankLocation { rank, size, proxy: 1, host: "node7".into() }
    }

    #[test]
    fn places_are_put_into_patterns() {
        let text = |pattern: &str| {
            let pattern = OutputPattern::parse("-o", pattern.as_ref()).unwrap();
            String::from_utf8(pattern.expand(&location(3, 12))).unwrap()
        };
        assert_eq!(text("[%r:%g:%p] %h 100%%r "), "[3:0:1] node7 100%r ");
        assert_eq!((text(""), text("%r%r")), (String::new(), "33".into()));
        for wrong in ["%", "a%x", "%%%"] {
            assert!(OutputPattern::parse("-o", wrong.as_ref()).unwrap_err().starts_with(&format!("-o {wrong}: ")));
        }
    }

    #[test]
    fn the_files_of_a_folder_are_those_of_open_mpi() {
        let files = |value: &str, size| {
            let mut outputs = OutputOptions::default();
            outputs.take_folder(value.as_ref());
            let [out, err] = outputs.files(&location(3, size)).map(|name| name.unwrap().display().to_string());
            (out, err, outputs.copies)
        };
        assert_eq!(files("d", 4), ("d/1/rank.3/stdout".into(), "d/1/rank.3/stderr".into(), true));
        assert_eq!(files("d:nojobid", 4).0, "d/rank.3/stdout");
        assert_eq!(files("d%r:NoCopy,nojobid", 12), ("d%r/rank.03/stdout".into(), "d%r/rank.03/stderr".into(), false));
        assert_eq!(files("d:e", 4).0, "d:e/1/rank.3/stdout");
    }
}
