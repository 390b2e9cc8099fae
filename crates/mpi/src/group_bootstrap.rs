//! Group bootstrap: MPI_Comm_create_from_group makes a communicator for a group whose members have no communicator in
//! common yet (MPI-5.0 §7.4.2).
//!
//! The members communicate in a context that all processes of the job have from the start. Each group uses a tag that
//! is computed from a hash of its members and of the application's string. If a process bootstraps two groups at the
//! same time, both may have the same tag by chance (1 in 2^31). Therefore every round also carries the full hash, and
//! groups with the same tag get an error and never each other's data.
//!
//! Used by `abi::session` and `inter`; uses `comm_create`, `context_ids` and `collective::internal`.

use crate::collective::internal::CollectiveScope;
use crate::comm::Comm;
use crate::comm_create::{agree_in, group_of, make};
use crate::context_ids::{self, AgreementRounds};
use crate::errhandler::Errhandler;
use crate::group::Group;
use crate::info;
use crate::process::{self, Process};
use crate::session_table;
use hawser_base::{Class, Context, Error, Handle, Result};
use std::sync::Arc;

/// MPI_Comm_create_from_group. MPI_COMM_NULL if this process is not in the group.
pub fn create_from_group(group: Handle, stringtag: &[u8], info: Handle, errhandler: Errhandler) -> Result<Handle> {
    const NAME: &str = "MPI_Comm_create_from_group";
    let process = process::get()?;
    let group = group_of(process, group)?;
    session_table::check_open(group.session())?;
    let hints = info::hints(info)?;
    if group.rank().is_none() {
        return Ok(Handle::NULL);
    }
    let context = agree(process, NAME, &group, stringtag)?;
    let handle = make(process, NAME, &process.bootstrap_comm(), Comm::new(context, group))?;
    let new = process.comm(handle)?;
    new.errhandler.set(errhandler);
    new.hints.set(&hints);
    Ok(handle)
}

/// Agrees on a context with all members of a group.
pub(crate) fn agree(
    process: &'static Process,
    name: &'static str,
    group: &Arc<Group>,
    stringtag: &[u8],
) -> Result<Context> {
    let mut bootstrap = GroupBootstrap::new(process, name, group, stringtag);
    let salt = bootstrap.salt();
    agree_in(process, &mut bootstrap, salt, true)
}

/// The bootstrap of one group.
struct GroupBootstrap<'a> {
    process: &'static Process,
    name: &'static str,
    group: &'a Arc<Group>,
    stringtag: &'a [u8],
    fingerprint: u128,
}

impl<'a> GroupBootstrap<'a> {
    fn new(
        process: &'static Process,
        name: &'static str,
        group: &'a Arc<Group>,
        stringtag: &'a [u8],
    ) -> GroupBootstrap<'a> {
        GroupBootstrap { process, name, group, stringtag, fingerprint: group_fingerprint(group, stringtag) }
    }

    fn salt(&self) -> u32 {
        (self.fingerprint >> 96 ^ self.fingerprint >> 32) as u32
    }

    fn tag(&self) -> i32 {
        !((self.fingerprint >> 64 ^ self.fingerprint) as i32 & i32::MAX)
    }

    /// The fingerprint and its complement as words. They are alike on all members of this bootstrap, and differ from
    /// those of any other bootstrap.
    fn fingerprint_words(&self) -> [u64; 4] {
        let (low, high) = (self.fingerprint as u64, (self.fingerprint >> 64) as u64);
        [low, high, !low, !high]
    }

    /// Runs one reduction on `words` and `fingerprint_words`, and writes the reduced words into `words`. A reduction
    /// by AND or MAX leaves the fingerprint's words unchanged only if all participants have the same fingerprint;
    /// otherwise two groups use the same tag, which is an error (MPI_ERR_ARG).
    fn run_round(
        &self,
        words: &mut [u64],
        reduce: impl FnOnce(&CollectiveScope<'_>, &mut [u64]) -> Result<()>,
    ) -> Result<()> {
        let comm = self.process.bootstrap_comm();
        let scope = CollectiveScope::Group {
            comm: &comm,
            group: self.group.clone(),
            context: context_ids::BOOTSTRAP,
            tag: self.tag(),
        };
        let mut all = [&*words, &self.fingerprint_words()].concat();
        reduce(&scope, &mut all)?;
        let (reduced, fingerprint) = all.split_at(words.len());
        words.copy_from_slice(reduced);
        if fingerprint == self.fingerprint_words() { Ok(()) } else { Err(self.tag_collision()) }
    }

    #[cold]
    fn tag_collision(&self) -> Error {
        let text = format!(
            "the string tag \"{}\" cannot be distinguished from that of another communicator that this process creates \
             at the same time; change one of them",
            String::from_utf8_lossy(self.stringtag)
        );
        Error::new(Class::Arg, text)
    }
}

impl AgreementRounds for GroupBootstrap<'_> {
    fn allreduce_and(&mut self, words: &mut [u64]) -> Result<()> {
        self.run_round(words, |scope, words| scope.allreduce_and(self.process, self.name, words))
    }

    fn allreduce_max(&mut self, word: u64) -> Result<u64> {
        let mut words = [word];
        self.run_round(&mut words, |scope, words| scope.allreduce_max_each(self.process, self.name, words))?;
        Ok(words[0])
    }
}

fn group_fingerprint(group: &Group, stringtag: &[u8]) -> u128 {
    let members = group.peers().flat_map(|peer| peer.0.to_le_bytes());
    fnv1a(group.size().to_le_bytes().into_iter().chain(members).chain(stringtag.iter().copied()))
}

/// FNV-1a of 128 bits (RFC 9923): the same on every machine, whatever the compiler.
fn fnv1a(bytes: impl Iterator<Item = u8>) -> u128 {
    const BASIS: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    bytes.fold(BASIS, |hash, byte| (hash ^ u128::from(byte)).wrapping_mul(PRIME))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hawser_base::Peer;
    use std::collections::HashSet;

    fn group(peers: &[u32]) -> Group {
        Group::of(peers.iter().map(|&peer| Peer(peer)).collect(), Peer(0))
    }

    #[test]
    fn the_hash_is_that_of_the_specification() {
        assert_eq!(fnv1a(b"a".iter().copied()), 0xd228_cb69_6f1a_8caf_7891_2b70_4e4a_8964);
        assert_eq!(fnv1a(b"foobar".iter().copied()), 0x343e_1662_793c_64bf_6f0d_3597_ba44_6f18);
    }

    #[test]
    fn groups_and_strings_that_differ_meet_apart() {
        let strings: Vec<String> = (0..500).map(|i| format!("thread {i}")).collect();
        let groups: Vec<Group> = (1..20).flat_map(|n| [group(&(0..n).collect::<Vec<_>>()), group(&[0, n])]).collect();
        let all: Vec<u128> = groups
            .iter()
            .flat_map(|group| strings.iter().map(|string| group_fingerprint(group, string.as_bytes())))
            .collect();
        // {0, 1} is in there twice.
        let different = strings.len() * (groups.len() - 1);
        assert_eq!(all.iter().collect::<HashSet<_>>().len(), different);
    }
}
