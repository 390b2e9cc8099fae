//! Short texts of fixed space in shared memory, written as whole words: a reader may see an old and a new word side by
//! side, never a torn byte. A text that is too long is cut; invalid UTF-8 is shown as such.

use hawser_base::Region;
use std::sync::atomic::Ordering::Relaxed;

/// Writes `text` into `capacity` bytes (a multiple of eight) at `at`, followed by zeroes.
pub(crate) fn write(region: &Region, at: usize, capacity: usize, text: &str) {
    let bytes = text.as_bytes();
    for word in 0..capacity / 8 {
        let mut part = [0; 8];
        let rest = bytes.get(word * 8..).unwrap_or(&[]);
        let len = rest.len().min(8);
        part[..len].copy_from_slice(&rest[..len]);
        region.u64(at + word * 8).store(u64::from_ne_bytes(part), Relaxed);
    }
}

/// Reads a text that `write` has written.
pub(crate) fn read(region: &Region, at: usize, capacity: usize) -> String {
    let mut bytes: Vec<u8> =
        (0..capacity / 8).flat_map(|word| region.u64(at + word * 8).load(Relaxed).to_ne_bytes()).collect();
    bytes.truncate(bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len()));
    // A cut may have split a character.
    String::from_utf8_lossy(&bytes).trim_end_matches('\u{fffd}').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_at_its_room_and_replaces_a_longer_one() {
        let region = Region::private(64);
        write(&region, 8, 16, "MPI_COMM_WORLD duplicate");
        assert_eq!(read(&region, 8, 16), "MPI_COMM_WORLD d");
        write(&region, 8, 16, "räck");
        assert_eq!(read(&region, 8, 16), "räck");
        write(&region, 8, 8, "1234567ä");
        assert_eq!(read(&region, 8, 8), "1234567");
    }
}
