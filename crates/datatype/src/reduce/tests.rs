//! Operations on all types, by values that a person can check.

use super::x87::X87;
use super::x87::tests::from_f64;
use super::*;
use crate::contents::CountForm;
use hawser_base::UserMem;

/// Applies `op` to the bytes of `input` and `inout`, which are `count` elements of `datatype`.
fn reduce_bytes(op: PredefinedOp, datatype: &Datatype, input: &[u8], inout: &mut [u8], count: u64) {
    let reduction = ReduceKernel::of(op, datatype).unwrap();
    reduction.apply(inout, input, count);
}

/// The result on single values at odd addresses.
fn reduce<T: Copy>(op: PredefinedOp, basic: Basic, input: T, inout: T) -> T {
    let bytes = |value: &T| -> Vec<u8> {
        // SAFETY: reads the bytes of a scalar without padding.
        let value = unsafe { std::slice::from_raw_parts((value as *const T).cast::<u8>(), size_of::<T>()) };
        [&[0xaa], value, value, value].concat()
    };
    let (from, mut to) = (bytes(&input), bytes(&inout));
    reduce_bytes(op, Datatype::basic(basic), &from[1..], &mut to[1..], 3);
    let n = size_of::<T>();
    assert!(to[1..].chunks(n).all(|c| c == &to[1..1 + n]), "all elements alike");
    // SAFETY: three values of T are behind the first byte.
    unsafe { to.as_ptr().add(1).cast::<T>().read_unaligned() }
}

#[test]
fn integers_compare_with_their_sign_and_wrap() {
    assert_eq!(reduce(PredefinedOp::Max, Basic::Int, -1i32, 1), 1);
    assert_eq!(reduce(PredefinedOp::Max, Basic::Unsigned, u32::MAX, 1u32), u32::MAX);
    assert_eq!(reduce(PredefinedOp::Min, Basic::SignedChar, -128i8, 127), -128);
    assert_eq!(reduce(PredefinedOp::Sum, Basic::Int, i32::MAX, 1i32), i32::MIN);
    assert_eq!(reduce(PredefinedOp::Prod, Basic::Uint64, u64::MAX, 3), u64::MAX - 2);
    assert_eq!(reduce(PredefinedOp::Sum, Basic::Integer16, i128::MAX, 1i128), i128::MIN);
    assert_eq!(reduce(PredefinedOp::Sum, Basic::Aint, 40i64, 2), 42);
}

#[test]
fn logic_gives_one_or_zero() {
    assert_eq!(reduce(PredefinedOp::Land, Basic::Int, 5i32, -7), 1);
    assert_eq!(reduce(PredefinedOp::Land, Basic::Logical, 1i32, 0), 0);
    assert_eq!(reduce(PredefinedOp::Lor, Basic::CBool, 0u8, 1), 1);
    assert_eq!(reduce(PredefinedOp::Lxor, Basic::Uint16, 2u16, 4), 0);
    assert_eq!(reduce(PredefinedOp::Lor, Basic::Double, 0.0f64, 0.5), 1.0);
    assert_eq!(reduce(PredefinedOp::Band, Basic::Byte, 0b1100u8, 0b1010), 0b1000);
    assert_eq!(reduce(PredefinedOp::Bor, Basic::Int64, 0b1100i64, 0b1010), 0b1110);
    assert_eq!(reduce(PredefinedOp::Bxor, Basic::Integer, 0b1100i32, 0b1010), 0b0110);
}

/// This is one test, since the values can be set once in a process.
#[test]
fn logic_on_logicals_gives_the_words_that_fortran_said() {
    use super::booleans;
    let kernel = |op| booleans::kernel(op, Basic::Logical2.repr()).unwrap();
    let of = |op, input: i16, mut inout: i16| {
        // SAFETY: one element on each side.
        unsafe { kernel(op)((&raw mut inout).cast(), (&raw const input).cast(), 1) };
        inout
    };
    assert_eq!((booleans::get(), booleans::are_as_in_c()), (None, true));
    assert_eq!([of(PredefinedOp::Land, 5, 7), of(PredefinedOp::Lor, 0, 0), of(PredefinedOp::Lxor, 1, 1)], [1, 0, 0]);
    // Only the kernels that are requested by name are used here: other tests of this process count on C's values.
    assert_eq!(Basic::ALL.iter().filter(|basic| basic.is_fortran_logical()).count(), 6);
}

#[test]
fn floats_keep_inout_where_nothing_compares() {
    assert_eq!(reduce(PredefinedOp::Max, Basic::Double, 2.5f64, -3.0), 2.5);
    assert!(reduce(PredefinedOp::Max, Basic::Double, 2.5, f64::NAN).is_nan());
    assert_eq!(reduce(PredefinedOp::Max, Basic::Double, f64::NAN, 2.5), 2.5);
    assert!(reduce(PredefinedOp::Min, Basic::Float, 0.0f32, -0.0).is_sign_negative());
    assert!(reduce(PredefinedOp::Min, Basic::Float, -0.0f32, 0.0).is_sign_positive());
}

#[test]
fn small_floats_round_once() {
    // 2048 + 1 is between two binary16 numbers, and 2048 is the even one.
    let (big, one) = (0x6800u16, 0x3c00u16);
    assert_eq!(reduce(PredefinedOp::Sum, Basic::CFloat16, big, one), big);
    assert_eq!(reduce(PredefinedOp::Prod, Basic::Real2, 0x4000u16, 0x4200), 0x4600, "2 * 3 is 6");
    assert_eq!(reduce(PredefinedOp::Max, Basic::Bfloat16, 0xbf80u16, 0x3f80), 0x3f80, "-1 and 1");
    assert_eq!(reduce(PredefinedOp::Sum, Basic::Bfloat16, 0x4380u16, 0x3f80), 0x4380, "256 + 1 is 256");
}

#[test]
fn long_doubles_use_all_their_bits() {
    let (big, one) = (from_f64(2f64.powi(63)), from_f64(1.0));
    let sum = reduce(PredefinedOp::Sum, Basic::LongDouble, big.0, one.0);
    assert_eq!(u64::from_le_bytes(sum[..8].try_into().unwrap()), (1 << 63) + 1);
    assert_eq!(reduce(PredefinedOp::Prod, Basic::LongDouble, from_f64(-3.0).0, from_f64(7.0).0), from_f64(-21.0).0);
    assert_eq!(reduce(PredefinedOp::Max, Basic::LongDouble, from_f64(-3.0).0, from_f64(7.0).0), from_f64(7.0).0);
    assert_eq!(reduce(PredefinedOp::Lxor, Basic::LongDouble, from_f64(-3.0).0, from_f64(0.0).0), from_f64(1.0).0);
}

#[test]
fn sums_leave_zeros_in_the_padding_of_long_doubles() {
    let dirty = |value: f64| {
        let X87(mut bytes) = from_f64(value);
        bytes[10..].fill(0xcc);
        bytes
    };
    assert_eq!(reduce(PredefinedOp::Sum, Basic::LongDouble, dirty(1.0), dirty(2.0)), from_f64(3.0).0);
}

#[test]
fn quadruple_precision_reduces() {
    // 1, 2 and 3 in binary128.
    let [one, two, three] = [0x3fff_0000u128 << 96, 0x4000_0000 << 96, 0x4000_8000 << 96];
    assert_eq!(reduce(PredefinedOp::Sum, Basic::Real16, one, two), three);
    assert_eq!(reduce(PredefinedOp::Max, Basic::Real16, one | 1, one), one | 1);
    // (1 + 1i)(1 + 2i) = -1 + 3i
    assert_eq!(reduce(PredefinedOp::Prod, Basic::Complex32, [one, one], [one, two]), [one | 1 << 127, three]);
}

#[test]
fn complex_numbers_multiply_as_such() {
    // (1 + 2i)(3 + 4i) = -5 + 10i
    assert_eq!(reduce(PredefinedOp::Prod, Basic::CDoubleComplex, [1.0f64, 2.0], [3.0, 4.0]), [-5.0, 10.0]);
    assert_eq!(reduce(PredefinedOp::Sum, Basic::Complex, [1.0f32, 2.0], [3.0, 4.0]), [4.0, 6.0]);
    let parts = |re, im| [from_f64(re).0, from_f64(im).0];
    let product = reduce(PredefinedOp::Prod, Basic::CLongDoubleComplex, parts(1.0, 2.0), parts(3.0, 4.0));
    assert_eq!(product, parts(-5.0, 10.0));
}

#[test]
fn places_of_equal_extremes_are_the_lowest() {
    let pairs = |list: &[(f64, i32)]| -> Vec<u8> {
        list.iter().flat_map(|(v, i)| [&v.to_le_bytes()[..], &i.to_le_bytes(), &[0xee; 4]].concat()).collect()
    };
    let input = pairs(&[(1.0, 7), (5.0, 2), (5.0, 2), (f64::NAN, 1)]);
    let mut inout = pairs(&[(3.0, 4), (5.0, 1), (5.0, 3), (2.0, 9)]);
    let mut lowest = inout.clone();
    reduce_bytes(PredefinedOp::Maxloc, Datatype::basic(Basic::DoubleInt), &input, &mut inout, 4);
    assert_eq!(inout, pairs(&[(3.0, 4), (5.0, 1), (5.0, 2), (2.0, 9)]));
    reduce_bytes(PredefinedOp::Minloc, Datatype::basic(Basic::DoubleInt), &input, &mut lowest, 4);
    assert_eq!(lowest, pairs(&[(1.0, 7), (5.0, 1), (5.0, 2), (2.0, 9)]));
}

#[test]
fn fortrans_pairs_and_pairs_of_ints_are_searched() {
    assert_eq!(reduce(PredefinedOp::Minloc, Basic::TwoReal, [2.0f32, 5.0], [2.0, 3.0]), [2.0, 3.0]);
    assert_eq!(reduce(PredefinedOp::Maxloc, Basic::TwoInt, [9i32, 5], [2, 3]), [9, 5]);
    let short = |v: i16, i: i32| [&v.to_le_bytes()[..], &[0; 2], &i.to_le_bytes()].concat();
    let mut inout = short(-4, 7);
    reduce_bytes(PredefinedOp::Minloc, Datatype::basic(Basic::ShortInt), &short(-5, 8), &mut inout, 1);
    assert_eq!(inout, short(-5, 8));
    assert_eq!(ReduceKernel::of(PredefinedOp::Sum, Datatype::basic(Basic::ShortInt)).unwrap_err().class(), Class::Op);
}

#[test]
fn named_pairs_come_from_value_and_index() {
    assert_eq!(Datatype::value_index(Basic::Double, Basic::Int), Some(Basic::DoubleInt));
    assert_eq!(Datatype::value_index(Basic::Real, Basic::Real), Some(Basic::TwoReal));
    assert_eq!(Datatype::value_index(Basic::Double, Basic::Int64), None, "MPI-5.0 §6.9.4: none is an answer");
    assert_eq!(Datatype::value_index(Basic::Float, Basic::Float), None, "an index is an integer");
}

#[test]
fn replace_and_no_op_work_on_every_type_with_data() {
    for &basic in Basic::ALL.iter().filter(|b| b.size() > 0) {
        let n = basic.extent() as usize;
        let (input, mut inout) = (vec![3u8; 2 * n], vec![5u8; 2 * n]);
        reduce_bytes(PredefinedOp::NoOp, Datatype::basic(basic), &input, &mut inout, 2);
        assert_eq!(inout, vec![5u8; 2 * n]);
        reduce_bytes(PredefinedOp::Replace, Datatype::basic(basic), &input, &mut inout, 1);
        assert_eq!(inout, [vec![3u8; n], vec![5u8; n]].concat(), "{}", basic.name());
    }
}

#[test]
fn every_operation_is_defined_where_the_standard_says() {
    use TypeGroup::*;
    for &basic in Basic::ALL {
        let group = basic.group();
        for op in PredefinedOp::ALL {
            let must = match op {
                PredefinedOp::Max | PredefinedOp::Min => {
                    matches!(group, CInteger | FortranInteger | FloatingPoint | MultiLanguage)
                }
                PredefinedOp::Sum | PredefinedOp::Prod => {
                    matches!(group, CInteger | FortranInteger | FloatingPoint | Complex | MultiLanguage)
                }
                PredefinedOp::Land | PredefinedOp::Lor | PredefinedOp::Lxor => matches!(group, CInteger | Logical),
                PredefinedOp::Band | PredefinedOp::Bor | PredefinedOp::Bxor => {
                    matches!(group, CInteger | FortranInteger | Byte | MultiLanguage)
                }
                PredefinedOp::Minloc | PredefinedOp::Maxloc => group == Pair,
                PredefinedOp::Replace | PredefinedOp::NoOp => basic.size() > 0,
                PredefinedOp::Equal => basic == Basic::Byte,
            };
            if must {
                assert!(kernel(op, basic).is_some(), "{} on {}", op.name(), basic.name());
            }
            if kernel(op, basic).is_some() && !must {
                let extension = matches!(op, PredefinedOp::Land | PredefinedOp::Lor | PredefinedOp::Lxor)
                    || op == PredefinedOp::NoOp;
                assert!(extension, "{} on {}", op.name(), basic.name());
            }
        }
    }
}

#[test]
fn an_undefined_operation_names_itself_and_the_type() {
    let error = ReduceKernel::of(PredefinedOp::Max, Datatype::basic(Basic::CDoubleComplex)).unwrap_err();
    assert_eq!(error.class(), Class::Op);
    assert!(error.cause().starts_with("MPI_MAX is not defined on MPI_C_DOUBLE_COMPLEX"), "{error}");
    let int = Datatype::basic(Basic::Int);
    let holes = Datatype::vector(2, 1, 2, int, CountForm::Int).unwrap();
    assert_eq!(ReduceKernel::of(PredefinedOp::Sum, &holes).unwrap_err().class(), Class::Op);
}

#[test]
fn rows_of_one_type_reduce_as_that_type() {
    let int = Datatype::basic(Basic::Int);
    let row = Datatype::contiguous(3, &Datatype::dup(int).unwrap(), CountForm::Int).unwrap();
    let matrix = Datatype::vector(2, 2, 2, &row, CountForm::Int).unwrap();
    let reduction = ReduceKernel::of(PredefinedOp::Sum, &matrix).unwrap();
    assert_eq!(reduction.element_bytes(), 48);
    let (input, mut inout) = ([1i32; 24], [2i32; 24]);
    // SAFETY: both arrays outlive the views.
    let (from, to) =
        unsafe { (UserMem::new(input.as_ptr() as *mut u8, 96), UserMem::new(inout.as_mut_ptr().cast(), 96)) };
    reduction.apply(to, from, 1);
    assert_eq!(inout, [[3i32; 12], [2; 12]].concat()[..]);
    let pairs = Datatype::contiguous(2, Datatype::basic(Basic::DoubleInt), CountForm::Int).unwrap();
    assert_eq!(ReduceKernel::of(PredefinedOp::Maxloc, &pairs).unwrap().element_bytes(), 32);
}

#[test]
fn equal_compares_a_record_behind_its_flag() {
    let record = |flag: u64, data: &[u8]| [&flag.to_le_bytes()[..], data].concat();
    let check = |a: Vec<u8>, mut b: Vec<u8>| {
        reduce_bytes(PredefinedOp::Equal, Datatype::basic(Basic::Byte), &a, &mut b, a.len() as u64);
        b[0]
    };
    assert_eq!(check(record(1, b"same"), record(1, b"same")), 1);
    assert_eq!(check(record(1, b"same"), record(1, b"sand")), 0);
    assert_eq!(check(record(0, b"same"), record(1, b"same")), 0);
    assert!(!PredefinedOp::Equal.is_elementwise());
}

#[test]
#[should_panic(expected = "reduction of 12 bytes outside its buffers")]
fn a_reduction_outside_its_buffers_panics() {
    let (input, mut inout) = ([0u8; 12], [0u8; 8]);
    reduce_bytes(PredefinedOp::Sum, Datatype::basic(Basic::Int), &input, &mut inout, 3);
}
