//! Reads the file of `-configfile FILE` (MPI-5.0 §11.5). Each line describes one program, with the arguments that
//! would stand between two colons on the command line.
//!
//! Lines that begin with # are comments, a line that ends with a backslash continues in the next, and words are quoted
//! as in a shell. Nothing is expanded. Used by `args`, which finds the option and then parses each line.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

/// Returns the words of each line that has any, with the line's number. The error is one line for the user.
pub fn read(file: &Path) -> Result<Vec<(usize, Vec<OsString>)>, String> {
    let bytes = fs::read(file).map_err(|error| format!("-configfile {}: {error}", file.display()))?;
    lines(&bytes).map_err(|line| format!("line {line} of {}: a quote is not closed", file.display()))
}

/// Returns the words of each line in the bytes of a file, with the line's number. The error is the number of a line
/// with a quote that is not closed.
fn lines(bytes: &[u8]) -> Result<Vec<(usize, Vec<OsString>)>, usize> {
    let mut found = Vec::new();
    let mut text = Vec::new();
    let mut begin = 1;
    for (number, line) in (1..).zip(bytes.split(|&byte| byte == b'\n')) {
        if text.is_empty() {
            begin = number;
            if line.trim_ascii_start().first() == Some(&b'#') {
                continue;
            }
        }
        if let [rest @ .., b'\\'] = line {
            text.extend(rest);
            text.push(b' ');
            continue;
        }
        text.extend(line);
        push_words(&mut found, begin, &std::mem::take(&mut text))?;
    }
    push_words(&mut found, begin, &text)?;
    Ok(found)
}

fn push_words(found: &mut Vec<(usize, Vec<OsString>)>, number: usize, line: &[u8]) -> Result<(), usize> {
    let words = shlex::bytes::split(line.trim_ascii_end()).ok_or(number)?;
    if !words.is_empty() {
        found.push((number, words.into_iter().map(OsString::from_vec).collect()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_the_standard_has_them() {
        let text = b"# a job\n\n-n 2 ./a 'b c'  \n  # more\n-n 1 \\\n-wdir /x ./d\\ e\r\n-n 3 \"./f\"";
        let found = lines(text).unwrap();
        let words = |line: &[&str]| line.iter().map(OsString::from).collect::<Vec<_>>();
        assert_eq!(found[0], (3, words(&["-n", "2", "./a", "b c"])));
        assert_eq!(found[1], (5, words(&["-n", "1", "-wdir", "/x", "./d e"])));
        assert_eq!(found[2], (7, words(&["-n", "3", "./f"])));
        assert_eq!((found.len(), lines(b"\n./a 'b"), lines(b"./a \\").unwrap().len()), (3, Err(2), 1));
        assert!(read(Path::new("/no/such")).unwrap_err().contains("/no/such: No such file"));
    }
}
