//! MPIX_EQUAL of the MPICH ABI: whether all members have the same data, of any datatype, as one int.
//!
//! MPICH takes it in MPI_Reduce and MPI_Allreduce alone (its src/mpi/coll/op/opequal.c; blocks of a scan or of a
//! reduce_scatter could not be compared as a whole). All have the same if no bit is clear on one and set on another:
//! one bitwise AND over the data and its complement shows that, which any algorithm may cut.
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

/// MPI_Allreduce with it, and MPI_Reduce to `root`.
#[cold]
pub fn equal(
    form: CallForm,
    name: &'static str,
    vectors: &ReductionBuffers,
    root: Option<i32>,
    comm: Handle,
) -> Result<Handle> {
    if form != CallForm::Blocking {
        return Err(Error::new(Class::Op, "MPIX_EQUAL is for blocking calls alone"));
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

/// The bytes as words, the last one padded with zeros, followed by their complements.
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

/// Tells whether the two halves are still complements after the AND: every bit is set on all members, or clear on all.
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
