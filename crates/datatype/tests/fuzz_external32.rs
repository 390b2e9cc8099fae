//! Any bytes that are unpacked as external32 (MPI_Unpack_external) are values, and packing gives them back.
//!
//! Only a value that the native form cannot hold is an exception: a `long double` has less precision than its external
//! form, so there packing what was unpacked once more gives the same as the first time.

use bolero::check;
use hawser_base::UserMem;
use hawser_datatype::{Basic, Datatype, UserPtr};

/// Values at a time: more than one chunk of the conversion has of the shortest.
const MOST: usize = 64;

fn unpacked(basic: Basic, external: &mut [u8], count: usize) -> Vec<u8> {
    let mut native = vec![0; count * basic.extent() as usize];
    // SAFETY: `native` has `count` values of the type, and outlives the call.
    let user = unsafe { UserPtr::new(native.as_mut_ptr()) };
    let len = external.len();
    let end = Datatype::basic(basic).unpack_external(UserMem::of_slice(external), 0, user, count as u64);
    assert_eq!(end.ok(), Some(len));
    native
}

fn packed(basic: Basic, native: &mut [u8], count: usize) -> Vec<u8> {
    let mut external = vec![0; count * basic.external_size() as usize];
    // SAFETY: as above.
    let user = unsafe { UserPtr::new(native.as_mut_ptr()) };
    let len = external.len();
    let end = Datatype::basic(basic).pack_external(user, count as u64, UserMem::of_slice(&mut external), 0);
    assert_eq!(end.ok(), Some(len), "{basic:?}");
    external
}

#[test]
fn values() {
    check!().with_type::<(u8, Vec<u8>)>().with_iterations(20_000).for_each(|(which, bytes)| {
        let all: Vec<Basic> = Basic::ALL.iter().copied().filter(|basic| basic.external_size() > 0).collect();
        let basic = all[usize::from(*which) % all.len()];
        let size = basic.external_size() as usize;
        let count = (bytes.len() / size).min(MOST);
        let mut external = bytes[..count * size].to_vec();
        let mut native = unpacked(basic, &mut external, count);
        let mut again = packed(basic, &mut native, count);
        if is_x87(basic) {
            let rounded = unpacked(basic, &mut again, count);
            assert_eq!(rounded, native, "{basic:?}");
        } else {
            assert_eq!(again, external, "{basic:?}");
        }
    });
}

fn is_x87(basic: Basic) -> bool {
    basic.name().contains("LONG_DOUBLE")
}

/// A buffer that is too short is an error, and no value is made up.
#[test]
fn lengths() {
    check!().with_type::<(u8, u16, u16)>().with_iterations(5000).for_each(|&(len, position, count)| {
        let mut external = vec![1; len.into()];
        let mut native = vec![0; usize::from(count) * 8];
        // SAFETY: as above.
        let user = unsafe { UserPtr::new(native.as_mut_ptr()) };
        let (len, position, count) = (usize::from(len), usize::from(position), usize::from(count));
        let end = Datatype::basic(Basic::Int64).unpack_external(
            UserMem::of_slice(&mut external),
            position,
            user,
            count as u64,
        );
        assert_eq!(end.ok(), (position + 8 * count <= len).then_some(position + 8 * count));
    });
}
