//! Constructors and queries by case: errors, overflow, markers, contents, parameterised types.

use hawser_base::{Class, Result};
use hawser_datatype::{
    ArrayOrder, Basic, Combiner, ContentsInteger, CountForm, Darray, Datatype, Distribution, DistributionArg,
    PredefinedOp, ReduceKernel, TypeClass,
};
use std::sync::Arc;

const INT: CountForm = CountForm::Int;
const HUGE: i64 = i64::MAX;

fn basic(b: Basic) -> &'static Arc<Datatype> {
    Datatype::basic(b)
}

#[track_caller]
fn fails(made: Result<Arc<Datatype>>, class: Class, cause: &str) {
    let error = made.expect_err("an error");
    assert_eq!(error.class(), class, "{error}");
    assert!(error.cause().contains(cause), "{error}");
}

#[test]
fn negative_counts_and_lengths_are_refused() {
    let int = basic(Basic::Int);
    fails(Datatype::contiguous(-1, int, INT), Class::Count, "the count is -1");
    fails(Datatype::vector(-2, 1, 1, int, INT), Class::Count, "-2");
    fails(Datatype::hvector(2, -1, 1, int, INT), Class::Arg, "block length is -1");
    fails(Datatype::indexed(&[1, -1], &[0, 1], int, INT), Class::Arg, "-1");
    fails(Datatype::indexed_block(-3, &[], int, INT), Class::Arg, "-3");
    fails(Datatype::structure(&[-1], &[0], std::slice::from_ref(int), INT), Class::Arg, "-1");
}

#[test]
fn sizes_and_bounds_that_do_not_fit_are_errors() {
    let int = basic(Basic::Int);
    let big = Class::ValueTooLarge;
    fails(Datatype::contiguous(HUGE, int, INT), big, "does not fit");
    fails(Datatype::vector(2, 1, HUGE, int, INT), big, "stride");
    fails(Datatype::hvector(3, 1, HUGE, int, INT), big, "does not fit");
    fails(Datatype::hvector(2, 1, HUGE, int, INT), big, "upper bound");
    fails(Datatype::indexed(&[1], &[HUGE], int, INT), big, "displacement");
    fails(Datatype::hindexed(&[1], &[HUGE - 2], int, INT), big, "upper bound");
    fails(Datatype::hindexed(&[1, 1], &[i64::MIN, 8], int, INT), big, "extent");
    fails(Datatype::resized(HUGE, 1, int, INT), big, "upper bound");
    fails(
        Datatype::structure(&[1, 1], &[0, HUGE - 4], &[int.clone(), basic(Basic::Double).clone()], INT),
        big,
        "bound",
    );
    let dims = [1 << 31, 1 << 31, 1 << 31];
    fails(Datatype::subarray(&dims, &[1, 1, 1], &[0, 0, 0], ArrayOrder::C, int, INT), big, "extent");
    // Copies at one place have a large size and a small extent.
    let row = Datatype::contiguous(1 << 31, basic(Basic::Byte), INT).unwrap();
    let heap = Datatype::hvector(1 << 31, 1, 0, &row, INT).unwrap();
    assert_eq!((heap.size(), heap.extent()), (1 << 62, 1 << 31));
    fails(Datatype::hvector(2, 1, 0, &heap, INT), big, "size");
    assert_eq!(heap.packed_size(u64::MAX), u64::MAX, "capped, not wrapped");
    assert_eq!(heap.elements_of(1 << 62), Some(1 << 62));
    assert_eq!(heap.bytes_of_elements(1 << 62), Some(1 << 62));
    assert_eq!(heap.bytes_of_elements(1 << 63), None);
}

#[test]
fn the_largest_row_of_bytes_is_a_type() {
    let row = Datatype::contiguous(HUGE, basic(Basic::Byte), CountForm::Count).unwrap();
    assert_eq!((row.size(), row.extent(), row.true_extent()), (HUGE as u64, HUGE, HUGE));
    assert_eq!(row.elements(), HUGE as u64);
    assert_eq!(row.is_contiguous(1), Some((0, HUGE as u64)));
}

#[test]
fn a_million_blocks_stay_one_loop() {
    let vector = Datatype::vector(1_000_000, 3, 7, basic(Basic::Double), INT).unwrap();
    assert_eq!(vector.run_count(1), 1_000_000);
    assert!(format!("{vector:?}").len() < 100);
    // The far end is reached without a walk to it.
    let last = vector.runs(1, vector.size() - 24).next().unwrap();
    assert_eq!((last.disp, last.len), (999_999 * 56, 24));
    let nested = Datatype::hvector(1_000_000_000, 1, 1 << 30, &vector, INT).unwrap();
    let middle = nested.runs(1, 500_000_000 * vector.size() + 8).next().unwrap();
    assert_eq!((middle.disp, middle.len), ((500_000_000 << 30) + 8, 16));
}

#[test]
fn empty_types_have_no_bounds() {
    let int = basic(Basic::Int);
    let empties = [
        Datatype::contiguous(0, int, INT),
        Datatype::vector(3, 0, 5, int, INT),
        Datatype::indexed(&[], &[], int, INT),
        Datatype::structure(&[0], &[40], std::slice::from_ref(int), INT),
    ];
    for empty in empties.map(Result::unwrap) {
        assert_eq!((empty.size(), empty.lb(), empty.extent(), empty.true_lb(), empty.true_extent()), (0, 0, 0, 0, 0));
        assert_eq!(empty.is_contiguous(5), Some((0, 0)));
        assert_eq!(empty.pack(unsafe_null(), 9, 0, &mut [0u8; 4][..]), 0);
        assert_eq!((empty.count_of(0), empty.count_of(1), empty.elements_of(0)), (Some(0), None, Some(0)));
    }
}

/// Nothing is ever read through it.
fn unsafe_null() -> hawser_datatype::UserPtr<'static> {
    // SAFETY: used with types that have no data.
    unsafe { hawser_datatype::UserPtr::bottom() }
}

#[test]
fn structs_are_padded_like_c_and_markers_decide() {
    let (c, d) = (basic(Basic::Char).clone(), basic(Basic::Double).clone());
    let padded = Datatype::structure(&[1, 1], &[0, 8], &[d.clone(), c.clone()], INT).unwrap();
    assert_eq!((padded.size(), padded.extent(), padded.true_extent()), (9, 16, 9));
    let short = Datatype::structure(&[1, 1], &[0, 1], &[c.clone(), c.clone()], INT).unwrap();
    assert_eq!(short.extent(), 2);
    // MPI-1: {(lb, -3), (int, 0), (ub, 6)} has extent 9, and repeated twice 18.
    let (lb, ub, int) = (basic(Basic::Lb).clone(), basic(Basic::Ub).clone(), basic(Basic::Int).clone());
    let marked = Datatype::structure(&[1, 1, 1], &[-3, 0, 6], &[lb, int, ub], INT).unwrap();
    assert_eq!((marked.lb(), marked.ub(), marked.extent(), marked.size()), (-3, 6, 9, 4));
    let two = Datatype::contiguous(2, &marked, INT).unwrap();
    assert_eq!((two.lb(), two.extent(), two.true_lb(), two.true_extent()), (-3, 18, 0, 13));
}

/// MPI-1.1 §3.12.3: without a marker of its own kind a bound is the least displacement, or the greatest end, of all
/// entries, and the other marker is such an entry, of size 0. (MPICH 5.0.2 and Intel MPI 2021 take 0 instead and give
/// such types extents of -10 and 7; Open MPI 4.1.8 computes with the limits of its integers.)
#[test]
fn markers_alone_are_where_they_were_put() {
    let alone = |marker, at| Datatype::structure(&[1], &[at], &[basic(marker).clone()], INT).unwrap();
    for (marker, at) in [(Basic::Lb, 10), (Basic::Ub, 7), (Basic::Lb, -12), (Basic::Ub, -7)] {
        let one = alone(marker, at);
        for datatype in [&one, &Datatype::dup(&one).unwrap(), &Datatype::contiguous(3, &one, INT).unwrap()] {
            assert_eq!((datatype.lb(), datatype.ub(), datatype.extent()), (at, at, 0), "{marker:?} at {at}");
            assert_eq!((datatype.size(), datatype.true_lb(), datatype.true_extent()), (0, 0, 0));
            assert_eq!((datatype.elements_of(0), datatype.is_contiguous(5)), (Some(0), Some((0, 0))));
        }
        let int = basic(Basic::Int);
        let wrapped = Datatype::structure(&[1, 1], &[0, 0], &[one, int.clone()], INT).unwrap();
        let (lb, ub) = if marker == Basic::Lb { (at, at.max(4)) } else { (at.min(0), at) };
        assert_eq!((wrapped.lb(), wrapped.ub(), wrapped.true_extent()), (lb, ub, 4), "{marker:?} at {at} and an int");
    }
}

#[test]
fn a_type_above_two_gigabytes_keeps_its_markers() {
    let resized = Datatype::resized(-(1 << 40), 1 << 41, basic(Basic::Int), CountForm::Count).unwrap();
    let row = Datatype::contiguous(4, &resized, INT).unwrap();
    assert_eq!((row.lb(), row.extent(), row.size()), (-(1 << 40), 4 << 41, 16));
}

#[test]
fn dups_are_committed_as_their_originals() {
    let vector = Datatype::vector(2, 1, 2, basic(Basic::Int), INT).unwrap();
    assert!(!vector.is_committed() && !Datatype::dup(&vector).unwrap().is_committed());
    vector.commit();
    assert!(vector.is_committed() && Datatype::dup(&vector).unwrap().is_committed());
    let copy = Datatype::dup(basic(Basic::Int)).unwrap();
    assert!(copy.is_committed() && !copy.is_predefined());
}

#[test]
fn contents_are_the_arguments_as_given() {
    let int = basic(Basic::Int);
    let numbers = |list: &[i64]| list.iter().map(|&n| ContentsInteger::Number(n)).collect::<Vec<_>>();
    let indexed = Datatype::hindexed(&[2, 0, 1], &[0, 99, 64], int, INT).unwrap();
    let contents = indexed.contents().unwrap();
    assert_eq!(contents.integers, numbers(&[3, 2, 0, 1]));
    assert_eq!((contents.addresses, contents.counts), (vec![0, 99, 64], vec![]));
    assert!(Arc::ptr_eq(&contents.types[0], int), "the very type that was given");
    let large = Datatype::hindexed(&[2, 0, 1], &[0, 99, 64], int, CountForm::Count).unwrap();
    let contents = large.contents().unwrap();
    assert_eq!((contents.integers, contents.addresses), (vec![], vec![]));
    assert_eq!(contents.counts, [3, 2, 0, 1, 0, 99, 64]);
    let envelope = large.envelope();
    assert_eq!((envelope.combiner, envelope.form), (Combiner::Hindexed, CountForm::Count));
    assert_eq!((envelope.integers, envelope.addresses, envelope.counts, envelope.types), (0, 0, 7, 1));
}

/// Number of integers, addresses, counts and types of each combiner, in both forms (MPI-5.0 §5.1.13).
#[test]
fn envelopes_count_as_the_standard_says() {
    let int = basic(Basic::Int);
    let check = |make: &dyn Fn(CountForm) -> Result<Arc<Datatype>>, combiner, short, long| {
        for (form, (ni, na, nc, nd)) in [(CountForm::Int, short), (CountForm::Count, long)] {
            let e = make(form).unwrap().envelope();
            assert_eq!((e.combiner, e.form), (combiner, form));
            assert_eq!((e.integers, e.addresses, e.counts, e.types), (ni, na, nc, nd), "{combiner:?} {form:?}");
        }
    };
    let (l, d) = (&[1i64, 2][..], &[0i64, 16][..]);
    let types = [int.clone(), int.clone()];
    check(&|f| Datatype::contiguous(2, int, f), Combiner::Contiguous, (1, 0, 0, 1), (0, 0, 1, 1));
    check(&|f| Datatype::vector(2, 1, 3, int, f), Combiner::Vector, (3, 0, 0, 1), (0, 0, 3, 1));
    check(&|f| Datatype::hvector(2, 1, 3, int, f), Combiner::Hvector, (2, 1, 0, 1), (0, 0, 3, 1));
    check(&|f| Datatype::indexed(l, d, int, f), Combiner::Indexed, (5, 0, 0, 1), (0, 0, 5, 1));
    check(&|f| Datatype::hindexed(l, d, int, f), Combiner::Hindexed, (3, 2, 0, 1), (0, 0, 5, 1));
    check(&|f| Datatype::indexed_block(1, d, int, f), Combiner::IndexedBlock, (4, 0, 0, 1), (0, 0, 4, 1));
    check(&|f| Datatype::hindexed_block(1, d, int, f), Combiner::HindexedBlock, (2, 2, 0, 1), (0, 0, 4, 1));
    check(&|f| Datatype::structure(l, d, &types, f), Combiner::Struct, (3, 2, 0, 2), (0, 0, 5, 2));
    check(&|f| Datatype::resized(0, 8, int, f), Combiner::Resized, (0, 2, 0, 1), (0, 0, 2, 1));
    let subarray = |f| Datatype::subarray(&[4, 4], &[2, 2], &[0, 1], ArrayOrder::C, int, f);
    check(&subarray, Combiner::Subarray, (8, 0, 0, 1), (2, 0, 6, 1));
    check(&|f| Datatype::darray(grid(1), int, f), Combiner::Darray, (12, 0, 0, 1), (10, 0, 2, 1));
    let dup = Datatype::dup(int).unwrap().envelope();
    assert_eq!((dup.combiner, dup.integers, dup.types), (Combiner::Dup, 0, 1));
    assert_eq!(int.envelope().combiner, Combiner::Named);
    assert_eq!(int.contents().unwrap_err().class(), Class::Type);
}

fn grid(rank: i64) -> Darray {
    Darray {
        size: 6,
        rank,
        gsizes: vec![7, 5],
        distribs: vec![Distribution::Cyclic, Distribution::Block],
        dargs: vec![DistributionArg::Size(2), DistributionArg::Default],
        psizes: vec![3, 2],
        order: ArrayOrder::C,
    }
}

#[test]
fn darrays_tell_their_symbols_and_share_out_everything() {
    let contents = Datatype::darray(grid(4), basic(Basic::Int), INT).unwrap().contents().unwrap();
    use ContentsInteger::{Distribution as Dist, Number as N};
    let expected = [
        [N(6), N(4), N(2), N(7), N(5)].to_vec(),
        [Dist(Distribution::Cyclic), Dist(Distribution::Block), N(2), ContentsInteger::DefaultDarg].to_vec(),
        [N(3), N(2), ContentsInteger::Order(ArrayOrder::C)].to_vec(),
    ];
    assert_eq!(contents.integers, expected.concat());
    let mut seen = [0; 35];
    for rank in 0..6 {
        let part = Datatype::darray(grid(rank), basic(Basic::Int), INT).unwrap();
        assert_eq!((part.lb(), part.extent()), (0, 35 * 4));
        for run in part.runs(1, 0) {
            (run.disp / 4..(run.disp + run.len as i64) / 4).for_each(|i| seen[i as usize] += 1);
        }
    }
    assert_eq!(seen, [1; 35]);
}

#[test]
fn array_arguments_are_checked() {
    let int = basic(Basic::Int);
    let sub = |sizes: &[i64], parts: &[i64], starts: &[i64]| {
        Datatype::subarray(sizes, parts, starts, ArrayOrder::C, int, INT)
    };
    fails(sub(&[], &[], &[]), Class::Arg, "at least one dimension");
    fails(sub(&[0], &[1], &[0]), Class::Arg, "size of dimension 0 is 0");
    fails(sub(&[4, 4], &[4, 5], &[0, 0]), Class::Arg, "subsize of dimension 1 is 5");
    fails(sub(&[4], &[2], &[3]), Class::Arg, "start in dimension 0 is 3");
    let change = |f: &dyn Fn(&mut Darray)| {
        let mut wrong = grid(0);
        f(&mut wrong);
        Datatype::darray(wrong, int, INT)
    };
    fails(change(&|g| g.rank = 6), Class::Arg, "rank 6");
    fails(change(&|g| g.size = 5), Class::Arg, "does not have the 5 processes");
    fails(change(&|g| g.psizes = vec![i64::MAX, 6]), Class::Arg, "process grid");
    fails(change(&|g| g.gsizes[1] = 0), Class::Arg, "dimension 1");
    fails(change(&|g| g.dargs[0] = DistributionArg::Size(0)), Class::Arg, "distribution argument");
    fails(change(&|g| g.dargs[1] = DistributionArg::Size(2)), Class::Arg, "do not hold the 5 elements");
    fails(change(&|g| g.distribs[0] = Distribution::None), Class::Arg, "not distributed");
}

#[test]
fn types_cannot_be_nested_without_end() {
    let mut datatype = basic(Basic::Int).clone();
    let error = loop {
        match Datatype::hvector(1, 1, 0, &datatype, INT) {
            Ok(deeper) => datatype = deeper,
            Err(error) => break error,
        }
    };
    assert!(error.class() == Class::Type && error.cause().contains("nested"), "{error}");
}

#[test]
fn deep_types_pack_and_drop_on_a_small_stack() {
    // Each level is a pattern of its own: the level below, a gap, one byte.
    let work = || {
        let byte = basic(Basic::Byte);
        let mut datatype = Datatype::indexed(&[1, 2], &[0, 3], byte, INT).unwrap();
        for _ in 1..512 {
            let disps = [0, datatype.extent() + 1];
            datatype = Datatype::structure(&[1, 1], &disps, &[datatype, byte.clone()], INT).unwrap();
        }
        let mut memory: Vec<u8> = (0..datatype.extent()).map(|i| i as u8).collect();
        // SAFETY: the memory spans the extent of the one element.
        let user = unsafe { hawser_datatype::UserPtr::new(memory.as_mut_ptr()) };
        let mut packed = vec![0; datatype.size() as usize];
        assert_eq!(datatype.pack(user, 1, 0, &mut packed[..]), 3 + 511);
        packed
    };
    let thread = std::thread::Builder::new().stack_size(256 << 10).spawn(work).unwrap();
    let expected = [0, 3, 4].into_iter().chain((0..511).map(|i| (6 + 2 * i) as u8));
    assert!(thread.join().unwrap().into_iter().eq(expected));
}

#[test]
fn shared_members_do_not_multiply() {
    // Sixty levels of struct {A, A}: 2^60 integers, sixty patterns.
    let mut datatype = basic(Basic::Byte).clone();
    for level in 0..60u32 {
        let extent = datatype.extent();
        let disps = [0, 2 * extent + i64::from(level & 1)];
        let Ok(doubled) = Datatype::structure(&[1, 1], &disps, &[datatype.clone(), datatype.clone()], INT) else {
            break;
        };
        datatype = Datatype::resized(0, extent, &doubled, INT).unwrap();
    }
    assert_eq!(datatype.size(), 1 << 60);
    assert_eq!(datatype.elements_of((1 << 60) - 1), Some((1 << 60) - 1));
    assert_eq!(datatype.runs(1, 1 << 59).next().unwrap().len, 1);
}

#[test]
fn fortran_kinds_are_gfortrans() {
    let real = |p, r| Datatype::f90_real(p, r).map(|t| t.size());
    assert_eq!(real(Some(6), Some(37)).unwrap(), 4);
    assert_eq!(real(Some(15), None).unwrap(), 8);
    assert_eq!(real(None, Some(4931)).unwrap(), 16);
    assert_eq!(real(Some(34), None).unwrap_err().class(), Class::Arg);
    assert_eq!(real(None, None).unwrap_err().class(), Class::Arg);
    let integer = Datatype::f90_integer(10).unwrap();
    assert_eq!((integer.size(), integer.combiner()), (8, Combiner::F90Integer));
    assert!(integer.is_predefined() && integer.is_committed() && integer.as_basic().is_none());
    assert_eq!(Datatype::f90_integer(39).unwrap_err().class(), Class::Arg);
    let complex = Datatype::f90_complex(Some(7), None).unwrap();
    assert_eq!(complex.contents().unwrap().integers, [ContentsInteger::Number(7), ContentsInteger::Undefined]);
    assert_eq!(complex.size(), 16);
    assert!(ReduceKernel::of(PredefinedOp::Sum, &complex).is_ok());
}

#[test]
fn types_match_sizes() {
    use TypeClass::*;
    assert_eq!(Datatype::match_size(Integer, 8).unwrap(), Basic::Integer8);
    assert_eq!(Datatype::match_size(Real, 4).unwrap(), Basic::Real4);
    assert_eq!(Datatype::match_size(Complex, 16).unwrap(), Basic::Complex16);
    assert_eq!(Datatype::match_size(Logical, 1).unwrap(), Basic::Logical1);
    assert_eq!(Datatype::match_size(Real, 5).unwrap_err().class(), Class::Arg);
}
