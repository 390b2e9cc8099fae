//! MPIX_EQUAL of the MPICH ABI: an operation whose result is one int that says whether all members have the same
//! data, of any datatype.
//!
//! As in MPICH, only MPI_Reduce and MPI_Allreduce take it (MPICH's src/mpi/coll/op/opequal.c), because a scan or a
//! reduce_scatter has no result for the buffer as a whole. The data of all members are equal if no bit is clear on
//! one member and set on another. One bitwise AND over the data and over their complement shows that; any algorithm
//! may cut it into pieces.
//!
//! Used by `reductions`; uses `internal`.

use super::argument_check::{in_place_forbidden, no_alias, root_role};
use super::internal::CollectiveScope;
use super::reductions::ReductionBuffers;
use crate::buffer::{self, BufferArg};
use crate::engine::CallForm;
use crate::process;
use hawser_base::handle::datatype;
use hawser_base::{Class, Error, Handle, Result};

/// Runs MPI_Allreduce with MPIX_EQUAL, or MPI_Reduce if there is a `root`. Only blocking calls on intracommunicators
/// are possible, not in place.
#[cold]
pub fn equal(
    form: CallForm,
    name: &'static str,
    vectors: &ReductionBuffers,
    root: Option<i32>,
    comm: Handle,
) -> Result<Handle> {
    if form != CallForm::Blocking {
        return Err(Error::new(Class::Op, "MPIX_EQUAL is only for blocking calls"));
    }
    let process = process::get()?;
    let comm = process.comm(comm)?;
    comm.refuse_inter("merge the groups with MPI_Intercomm_merge to compare their data with MPIX_EQUAL")?;
    let root = root.map(|root| root_role(&comm, root).map(|role| role.root)).transpose()?;
    let Some(send) = vectors.send else {
        return Err(in_place_forbidden(name, "send buffer", " with MPIX_EQUAL, whose result is one int"));
    };
    let data = buffer::of(&BufferArg { at: send, count: vectors.count, datatype: vectors.datatype })?;
    let result = match root {
        Some(root) if root != comm.rank() => None,
        _ => {
            no_alias(send, vectors.recv, data.len())?;
            Some(buffer::of(&BufferArg { at: vectors.recv, count: 1, datatype: datatype::INT })?)
        }
    };
    let mut words = append_complement(&data.to_vec());
    CollectiveScope::Comm(&comm).allreduce_and(process, name, &mut words)?;
    if let Some(result) = result {
        result.fill(&i32::from(are_complements(&words)).to_ne_bytes());
    }
    Ok(Handle::NULL)
}

/// Returns the bytes as words, the last word padded with zeros, followed by the complement of each word.
fn append_complement(bytes: &[u8]) -> Vec<u64> {
    let word = |chunk: &[u8]| {
        let mut full = [0; size_of::<u64>()];
        full[..chunk.len()].copy_from_slice(chunk);
        u64::from_ne_bytes(full)
    };
    let mut words: Vec<u64> = bytes.chunks(size_of::<u64>()).map(word).collect();
    words.extend_from_within(..);
    let half = words.len() / 2;
    words[half..].iter_mut().for_each(|word| *word = !*word);
    words
}

/// Tells whether, after the AND, the second half of the words is still the complement of the first half. Then each
/// bit is set on all members or clear on all members.
fn are_complements(words: &[u64]) -> bool {
    let (data, opposite) = words.split_at(words.len() / 2);
    data.iter().zip(opposite).all(|(word, other)| *word == !*other)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(members: &[&[u8]]) -> bool {
        let words = members.iter().map(|bytes| append_complement(bytes));
        let all = words.reduce(|a, b| a.iter().zip(b).map(|(a, b)| a & b).collect()).unwrap();
        are_complements(&all)
    }

    #[test]
    fn members_are_the_same_or_not() {
        for len in [0, 1, 7, 8, 9, 64] {
            let bytes: Vec<u8> = (0..len).map(|i: u8| i.wrapping_mul(37) + 5).collect();
            assert!(same(&[&bytes, &bytes, &bytes]));
            for (at, bit) in (0..len as usize).flat_map(|at| (0..8).map(move |bit| (at, bit))) {
                let mut other = bytes.clone();
                other[at] ^= 1 << bit;
                assert!(!same(&[&bytes, &other, &bytes]) && !same(&[&other, &bytes]), "bit {bit} of byte {at}");
            }
        }
    }
}
