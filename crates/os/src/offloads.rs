//! The offloads of a network interface, by their names in `ethtool -k`: the features that it has, which of them are
//! switched on, and which can be switched (linux/ethtool.h, the queries of strings and features).
//!
//! The list is for people only: the library chooses nothing by it, and switches nothing. Used by `dev-ether` (for
//! `mpiexec --info`) and `hawser-bench`; uses `interfaces`.

use crate::interfaces::{ioctl, query_socket};
use std::os::fd::OwnedFd;

/// linux/ethtool.h: the numbers of three queries, and the number of the set of strings that are the features' names.
const GET_STRINGS: u32 = 0x1b;
const GET_COUNT: u32 = 0x37;
const GET_FEATURES: u32 = 0x3a;
const FEATURES: u32 = 4;

/// The numbers of 32-bit words in front of the strings (struct ethtool_gstrings), of the count (ethtool_sset_info,
/// whose third and fourth word are the mask of sets) and of the features (ethtool_gfeatures).
const BEFORE_STRINGS: usize = 3;
const BEFORE_COUNT: usize = 4;
const BEFORE_FEATURES: usize = 2;
/// STRING is the length of a string, in bytes. BLOCK is the number of words for 32 features, one bit each: available,
/// requested, active, never changed. The others are indices of such words.
const STRING: usize = 32;
const BLOCK: usize = 4;
const AVAILABLE: usize = 0;
const ACTIVE: usize = 2;
const NEVER_CHANGED: usize = 3;

/// One of the features that the kernel knows.
pub struct Feature {
    pub name: String,
    pub is_on: bool,
    /// Whether `ethtool -K` can switch it.
    pub is_changeable: bool,
}

/// Returns the features that are on; None if the kernel does not report them.
pub fn active(interface: &str) -> Option<Vec<String>> {
    Some(all(interface)?.into_iter().filter(|feature| feature.is_on).map(|feature| feature.name).collect())
}

/// Returns all features; None if the kernel does not report them.
pub fn all(interface: &str) -> Option<Vec<Feature>> {
    let asker = query_socket().ok()?;
    let count = query(&asker, interface, &[GET_COUNT, 0, 1 << FEATURES, 0], 1)?[BEFORE_COUNT] as usize;
    if count == 0 {
        return None;
    }
    let strings = query(&asker, interface, &[GET_STRINGS, FEATURES, 0], count * STRING / 4)?;
    let blocks = count.div_ceil(32);
    let features = query(&asker, interface, &[GET_FEATURES, blocks as u32], blocks * BLOCK)?;
    let is = |word: usize, nth: usize| features[BEFORE_FEATURES + nth / 32 * BLOCK + word] >> (nth % 32) & 1 == 1;
    let bytes: Vec<u8> = strings[BEFORE_STRINGS..].iter().flat_map(|word| word.to_ne_bytes()).collect();
    let feature = |(nth, string): (usize, &[u8])| Feature {
        name: String::from_utf8_lossy(string).trim_end_matches('\0').to_owned(),
        is_on: is(ACTIVE, nth),
        is_changeable: is(AVAILABLE, nth) && !is(NEVER_CHANGED, nth),
    };
    Some(bytes.chunks_exact(STRING).enumerate().map(feature).collect())
}

/// Makes a query that begins with the words `request`. The kernel writes its reply, at most `max_words` words, behind
/// them. Returns all these words; None if the kernel refuses the query.
fn query(asker: &OwnedFd, interface: &str, request: &[u32], max_words: usize) -> Option<Vec<u32>> {
    let mut words = request.to_vec();
    words.resize(request.len() + max_words, 0);
    ioctl(asker, interface, libc::SIOCETHTOOL, words.as_mut_ptr().cast())?;
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The kernel's own loopback segments no frame and checks no checksum: these features are always on
    /// (drivers/net/loopback.c).
    #[test]
    fn the_loopback_interface_does_without_segments_and_checksums() {
        let on = active("lo").expect("the kernel reports them");
        for name in ["tx-scatter-gather", "rx-checksum", "tx-tcp-segmentation"] {
            assert!(on.iter().any(|feature| feature == name), "{name} in {on:?}");
        }
        assert_eq!(active("nosuch0"), None);
        let all = all("lo").expect("the kernel reports them");
        let is_changeable = |name| all.iter().find(|feature| feature.name == name).expect("it is known").is_changeable;
        assert!(
            is_changeable("tx-tcp-segmentation") && !is_changeable("loopback") && !is_changeable("tx-checksum-sctp")
        );
    }
}
