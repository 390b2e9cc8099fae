//! The hash FNV-1a of 64 bits (Fowler, Noll and Vo, http://www.isthe.com/chongo/tech/comp/fnv): a number made of a name
//! that is the same in every process and every build.
//!
//! It protects from nobody: names with a given hash are easy to find. Used by `job` and `host`; uses no other module.

/// Returns the hash of `name`.
pub fn hash(name: &str) -> u64 {
    let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    name.bytes().fold(0xcbf2_9ce4_8422_2325, mix)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_that_the_authors_have_published() {
        assert_eq!(
            (hash(""), hash("a"), hash("foobar")),
            (0xcbf2_9ce4_8422_2325, 0xaf63_dc4c_8601_ec8c, 0x8594_4171_f739_67e8)
        );
    }
}
