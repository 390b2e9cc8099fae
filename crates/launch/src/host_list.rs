//! Expands a list of hosts as Slurm and Flux write it, with numbers in brackets.
//!
//! Nothing here checks that the results are names of hosts, nor resolves one. Used by `allocation` and `flux`.

/// A list of Slurm may name at most this many hosts. Slurm's own limit is 65533 (MAX_SLURM_NODES).
pub const HOSTS_MAX: usize = 1 << 16;
/// The maximum length of a host's name, in bytes (HOST_NAME_MAX of POSIX is 255).
const NAME_BYTES_MAX: usize = 255;
/// The maximum number of brackets in a name. Names of clusters have one or two.
const BRACKETS_MAX: usize = 8;

/// Expands Slurm's list of hosts, as in `a[01-03,7]-ib,b`. None if the text is malformed or names too many hosts.
pub fn expanded(list: &str) -> Option<Vec<String>> {
    let mut names = Vec::new();
    let mut depth = 0;
    // Commas within brackets separate numbers, others separate hosts.
    let parts = list.split(|c| {
        depth += i32::from(c == '[') - i32::from(c == ']');
        c == ',' && depth == 0
    });
    for part in parts {
        if part.is_empty() || part.matches('[').count() > BRACKETS_MAX {
            return None;
        }
        names.extend(expanded_part(part)?);
        if names.len() > HOSTS_MAX {
            return None;
        }
    }
    Some(names)
}

/// Expands the brackets of one part of a list, or of the end of one.
fn expanded_part(part: &str) -> Option<Vec<String>> {
    let Some((front, rest)) = part.split_once('[') else {
        return (part.len() <= NAME_BYTES_MAX && !part.contains(']')).then(|| vec![part.to_owned()]);
    };
    let (ranges, behind) = rest.split_once(']')?;
    let tails = expanded_part(behind)?;
    let mut names = Vec::new();
    for range in ranges.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let is_number = |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        let (from, to) = (first.parse::<usize>().ok()?, last.parse::<usize>().ok()?);
        let width = first.len();
        let is_long = front.len() + width.max(last.len()) + tails[0].len() > NAME_BYTES_MAX;
        let count = to.checked_sub(from).and_then(|more| more.checked_add(1)?.checked_mul(tails.len()));
        if !is_number(first) || !is_number(last) || is_long || count.is_none_or(|count| count > HOSTS_MAX) {
            return None;
        }
        let numbers = (from..=to).flat_map(|number| tails.iter().map(move |tail| (number, tail)));
        names.extend(numbers.map(|(number, tail)| format!("{front}{number:0width$}{tail}")));
        if names.len() > HOSTS_MAX {
            return None;
        }
    }
    Some(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_slurm_are_expanded() {
        let names = |list: &str| expanded(list).map(|names| names.join(" "));
        assert_eq!(names("a"), Some("a".into()));
        assert_eq!(names("n[1-3,05],m7"), Some("n1 n2 n3 n05 m7".into()));
        assert_eq!(
            names("r[0-1]n[08-10]-ib,x"),
            Some("r0n08-ib r0n09-ib r0n10-ib r1n08-ib r1n09-ib r1n10-ib x".into())
        );
        assert_eq!(names("n[98-101]"), Some("n98 n99 n100 n101".into()));
        for wrong in
            ["", "a,", "a[", "a]", "a[1", "a[]", "a[x]", "a[2-1]", "a[1-]", "a[+1-2]", "a[0-99999999]", "[[1]]"]
        {
            assert_eq!(names(wrong), None, "{wrong}");
        }
        let zeros = format!("a[{}-65535]", "0".repeat(300));
        let nested = "[1]".repeat(100_000);
        let name = "a".repeat(300);
        for too_large in [
            "a[0-9999][0-9999][0-9999]",
            "a[0-18446744073709551615]",
            "a[0-281474976710655][0-65535]",
            &zeros,
            &nested,
            &name,
        ] {
            assert_eq!(names(too_large), None);
        }
    }
}
