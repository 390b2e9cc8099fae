//! Packing by case: MPI_Pack and MPI_Unpack, MPI_BOTTOM, external32 values, copies, shared memory.

use hawser_base::{Class, Region, UserMem};
use hawser_datatype::{Basic, CopyOutcome, CountForm, Datatype, UserPtr, copy_typed};
use std::sync::Arc;

const INT: CountForm = CountForm::Int;

fn ptr<T>(values: &mut [T]) -> UserPtr<'static> {
    // SAFETY: the tests use types that stay inside `values`, and `values` outlive the calls.
    unsafe { UserPtr::new(values.as_mut_ptr().cast()) }
}

fn view(bytes: &mut [u8]) -> UserMem<'static> {
    // SAFETY: `bytes` outlives its use in a test.
    unsafe { UserMem::new(bytes.as_mut_ptr(), bytes.len()) }
}

fn column() -> Arc<Datatype> {
    Datatype::vector(3, 1, 4, Datatype::basic(Basic::Int), INT).unwrap()
}

#[test]
fn packs_follow_each_other_in_one_buffer() {
    let mut matrix: Vec<i32> = (0..12).collect();
    let mut buffer = [0u8; 20];
    let out = view(&mut buffer);
    let at = column().pack_at(ptr(&mut matrix), 1, out, 0).unwrap();
    let at = Datatype::basic(Basic::Short).pack_at(ptr(&mut [7i16, 8]), 2, out, at).unwrap();
    assert_eq!(at, 16);
    let mut back = [-1i32; 12];
    let at = column().unpack_at(out, 0, ptr(&mut back), 1).unwrap();
    assert_eq!((at, back), (12, [0, -1, -1, -1, 4, -1, -1, -1, 8, -1, -1, -1]));
    let mut shorts = [0i16; 2];
    assert_eq!(Datatype::basic(Basic::Short).unpack_at(out, at, ptr(&mut shorts), 2).unwrap(), 16);
    assert_eq!(shorts, [7, 8]);
}

/// Neighbouring blocks of one basic type and one length, which differ in nothing but their extents.
#[test]
fn each_block_of_a_struct_has_its_own_extent() {
    let int = Datatype::basic(Basic::Int);
    let [near, far] = [8, 12].map(|extent| Datatype::resized(0, extent, int, INT).unwrap());
    let mut values: Vec<i32> = (0..32).collect();
    let mut packed = |types: [&Arc<Datatype>; 2], form: [i64; 2]| {
        let both = Datatype::structure(&form, &[0, 40], &types.map(Arc::clone), INT).unwrap();
        let mut bytes = vec![0u8; both.size() as usize];
        both.pack(ptr(&mut values), 1, 0, &mut bytes[..]);
        bytes.chunks(4).map(|b| i32::from_ne_bytes([b[0], b[1], b[2], b[3]])).collect::<Vec<_>>()
    };
    assert_eq!(packed([&near, &far], [2, 2]), [0, 2, 10, 13]);
    assert_eq!(packed([&far, &near], [2, 2]), [0, 3, 10, 12]);
    assert_eq!(packed([&near, &far], [3, 2]), [0, 2, 4, 10, 13]);
    assert_eq!(packed([&near, &near], [2, 2]), [0, 2, 10, 12]);
}

#[test]
fn a_full_pack_buffer_is_an_error_and_stays_as_it_is() {
    let mut buffer = [9u8; 10];
    let out = view(&mut buffer);
    let error = column().pack_at(ptr(&mut [0i32; 12]), 1, out, 0).unwrap_err();
    assert_eq!(error.class(), Class::Truncate);
    assert!(error.cause().contains("12 bytes do not fit into the 10 left"), "{error}");
    assert_eq!(column().pack_at(ptr(&mut [0i32; 12]), 1, out, 11).unwrap_err().class(), Class::Arg);
    assert_eq!(column().unpack_at(out, 0, ptr(&mut [0i32; 12]), 1).unwrap_err().class(), Class::Truncate);
    assert_eq!(buffer, [9; 10]);
}

#[test]
fn displacements_from_bottom_are_addresses() {
    let (mut a, mut b) = ([1i32, 2], [3.5f64]);
    let disps = [a.as_mut_ptr().expose_provenance() as i64, b.as_mut_ptr().expose_provenance() as i64];
    let types = [Datatype::basic(Basic::Int).clone(), Datatype::basic(Basic::Double).clone()];
    let both = Datatype::structure(&[2, 1], &disps, &types, INT).unwrap();
    let mut packed = [0u8; 16];
    // SAFETY: the displacements are the addresses of a and b.
    let bottom = unsafe { UserPtr::bottom() };
    assert_eq!(both.pack(bottom, 1, 0, &mut packed[..]), 16);
    assert_eq!(packed[..8], [1, 0, 0, 0, 2, 0, 0, 0]);
    packed[8..].copy_from_slice(&(-1.0f64).to_ne_bytes());
    both.unpack(bottom, 1, 8, &packed[8..]);
    assert_eq!((a, b), ([1, 2], [-1.0]));
}

#[test]
fn fragments_go_through_shared_memory() {
    let region = Region::private(64);
    let mut matrix: Vec<i32> = (0..12).collect();
    let cell = region.bytes(10, 5);
    let mut back = [-1i32; 12];
    for offset in [5, 0, 10] {
        let n = column().pack(ptr(&mut matrix), 1, offset, cell);
        assert_eq!(n, if offset == 10 { 2 } else { 5 });
        column().unpack(ptr(&mut back), 1, offset, cell.slice(0, n));
    }
    assert_eq!(back, [0, -1, -1, -1, 4, -1, -1, -1, 8, -1, -1, -1]);
}

#[test]
fn a_short_receive_truncates_the_copy() {
    let mut from = [1i32, 2, 3, 4, 5];
    let mut to = [0i32; 12];
    let int = Datatype::basic(Basic::Int);
    let copied = copy_typed((ptr(&mut from), 5, int), (ptr(&mut to), 1, &column()));
    assert_eq!(copied, CopyOutcome { bytes: 12, truncated: true });
    assert_eq!(to, [1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0]);
}

#[test]
fn copies_longer_than_a_chunk_keep_their_order() {
    let n = 10_000;
    let short = Datatype::basic(Basic::Short);
    let odd = Datatype::vector(n, 3, 5, short, INT).unwrap();
    let even = Datatype::vector(3 * n, 1, 2, short, INT).unwrap();
    let mut from: Vec<i16> = (0..5 * n as i16 as i64).map(|i| i as i16).collect();
    let mut to = vec![-1i16; 6 * n as usize];
    copy_typed((ptr(&mut from), 1, &odd), (ptr(&mut to), 1, &even));
    let expected = from.chunks(5).flat_map(|c| &c[..3]);
    assert!(to.iter().step_by(2).eq(expected));
    assert!(to.iter().skip(1).step_by(2).all(|&v| v == -1));
}

#[test]
fn long_arrays_of_records_pack_like_their_members() {
    let (char, int, double) = (Basic::Char, Basic::Int, Basic::Double);
    let types = [char, int, double].map(|b| Datatype::basic(b).clone());
    let record = Datatype::structure(&[1, 1, 3], &[0, 4, 16], &types, INT).unwrap();
    let n = 3000;
    let mut memory: Vec<u8> = (0..n * 40).map(|i| (i * 7 + i / 251) as u8).collect();
    let element = |e: &[u8]| [&e[..1], &e[4..8], &e[16..40]].concat();
    let expected: Vec<u8> = memory.chunks(40).flat_map(element).collect();
    // Whole, and in fragments that cut records and members.
    for fragment in [n * 29, 1000, 4097] {
        let mut packed = vec![0; n * 29];
        let mut back = vec![0xee; n * 40];
        for (i, piece) in packed.chunks_mut(fragment).enumerate() {
            let offset = (i * fragment) as u64;
            record.pack(ptr(&mut memory), n as u64, offset, &mut *piece);
            record.unpack(ptr(&mut back), n as u64, offset, &*piece);
        }
        assert!(packed == expected);
        assert!(back.chunks(40).flat_map(element).eq(expected.iter().copied()));
        assert!(back.chunks(40).all(|e| e[1..4] == [0xee; 3] && e[8..16] == [0xee; 8]), "gaps stay");
    }
}

#[track_caller]
fn external<const N: usize>(basic: Basic, mut native: [u8; N]) -> Vec<u8> {
    let datatype = Datatype::basic(basic);
    let mut out = vec![0; datatype.external_size() as usize];
    let n = datatype.pack_external(ptr(&mut native), 1, view(&mut out), 0).unwrap();
    assert_eq!(n, out.len());
    let mut back = [0u8; N];
    datatype.unpack_external(view(&mut out), 0, ptr(&mut back), 1).unwrap();
    assert_eq!(back, native, "back from external32");
    out
}

#[test]
fn external32_is_big_endian_with_its_own_sizes() {
    assert_eq!(external(Basic::Int, 0x0102_0304i32.to_le_bytes()), [1, 2, 3, 4]);
    assert_eq!(external(Basic::Long, (-2i64).to_le_bytes()), [0xff, 0xff, 0xff, 0xfe]);
    assert_eq!(external(Basic::UnsignedLong, 0xfedc_ba98u64.to_le_bytes()), [0xfe, 0xdc, 0xba, 0x98]);
    assert_eq!(external(Basic::Wchar, 0xfeffi32.to_le_bytes()), [0xfe, 0xff]);
    assert_eq!(external(Basic::Double, 1.0f64.to_le_bytes()), [0x3f, 0xf0, 0, 0, 0, 0, 0, 0]);
    let complex = [1.0f32.to_le_bytes(), (-2.0f32).to_le_bytes()].concat().try_into().unwrap();
    assert_eq!(external::<8>(Basic::CFloatComplex, complex), [0x3f, 0x80, 0, 0, 0xc0, 0, 0, 0]);
    let two_int = [1i32.to_le_bytes(), 2i32.to_le_bytes()].concat().try_into().unwrap();
    assert_eq!(external::<8>(Basic::TwoInt, two_int), [0, 0, 0, 1, 0, 0, 0, 2]);
}

#[test]
fn long_doubles_become_binary128() {
    // 1.5: exponent 16383, fraction 100...
    let mut value = [0u8; 16];
    value[7..10].copy_from_slice(&[0xc0, 0xff, 0x3f]);
    let mut quad = [0u8; 16];
    quad[..3].copy_from_slice(&[0x3f, 0xff, 0x80]);
    assert_eq!(external(Basic::LongDouble, value), quad);
    // Infinity, the smallest subnormal and the largest number.
    let head = |significand: u64, head: u16| -> [u8; 16] {
        [&significand.to_le_bytes()[..], &head.to_le_bytes(), &[0; 6]].concat().try_into().unwrap()
    };
    assert_eq!(external(Basic::LongDouble, head(1 << 63, 0xffff))[..3], [0xff, 0xff, 0]);
    assert_eq!(external(Basic::LongDouble, head(1, 0))[..9], [0, 0, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(external(Basic::LongDouble, head(u64::MAX, 0x7ffe))[..4], [0x7f, 0xfe, 0xff, 0xff]);
    let nan = external(Basic::LongDouble, head(3 << 62, 0x7fff));
    assert_eq!(nan[..3], [0x7f, 0xff, 0x80]);
}

#[test]
fn binary128_rounds_to_the_nearest_long_double() {
    let unpack = |quad: u128| -> (u64, u16) {
        let (mut packed, mut native) = (quad.to_be_bytes(), [0u8; 16]);
        let long_double = Datatype::basic(Basic::LongDouble);
        long_double.unpack_external(view(&mut packed), 0, ptr(&mut native), 1).unwrap();
        (u64::from_le_bytes(native[..8].try_into().unwrap()), u16::from_le_bytes([native[8], native[9]]))
    };
    let one = 0x3fffu128 << 112;
    let half = 1u128 << 48;
    assert_eq!(unpack(one | half), (1 << 63, 0x3fff), "a tie goes to even");
    assert_eq!(unpack(one | half | 1), ((1 << 63) + 1, 0x3fff));
    assert_eq!(unpack(one | (1 << 49) | half), ((1 << 63) + 2, 0x3fff));
    assert_eq!(unpack(one | ((1 << 112) - 1)), (1 << 63, 0x4000), "the carry moves the exponent");
    assert_eq!(unpack((1 << 112) - 1), (1 << 63, 1), "the largest subnormal becomes normal");
    assert_eq!(unpack((0x7fff << 112) | 1), (3 << 62, 0x7fff), "a NaN stays one");
}

#[test]
fn what_external32_cannot_hold_is_an_error() {
    let check = |basic: Basic, mut native: i64| {
        let mut out = [0u8; 8];
        Datatype::basic(basic).pack_external(ptr(std::slice::from_mut(&mut native)), 1, view(&mut out), 0)
    };
    assert!(check(Basic::Long, i64::from(i32::MIN)).is_ok());
    for (basic, value) in [(Basic::Long, 1 << 31), (Basic::UnsignedLong, 1 << 32), (Basic::Wchar, 0x1_0000)] {
        let error = check(basic, value).unwrap_err();
        assert_eq!(error.class(), Class::Conversion);
        assert!(error.cause().contains(basic.name()), "{error}");
    }
    let mut out = [0u8; 3];
    let error = Datatype::basic(Basic::Int).pack_external(ptr(&mut [1i32]), 1, view(&mut out), 0).unwrap_err();
    assert_eq!(error.class(), Class::Truncate);
}
