//! Random nested types: the engine against the spelled-out typemap.

mod typemap;

use hawser_base::UserMem;
use hawser_datatype::{
    ArrayOrder, Basic, CopyOutcome, Darray, Datatype, Distribution, DistributionArg, PackCursor, PredefinedOp,
    ReduceKernel, ScratchBuffer, UserPtr, copy_typed,
};
use proptest::collection::vec;
use proptest::prelude::*;
use std::sync::Arc;
use typemap::{TypeSpec, Typemap};

const BASICS: [Basic; 11] = [
    Basic::Char,
    Basic::Short,
    Basic::Int,
    Basic::Double,
    Basic::LongDouble,
    Basic::CDoubleComplex,
    Basic::ShortInt,
    Basic::DoubleInt,
    Basic::TwoInt,
    Basic::Lb,
    Basic::Ub,
];

fn order() -> impl Strategy<Value = ArrayOrder> {
    prop_oneof![Just(ArrayOrder::C), Just(ArrayOrder::Fortran)]
}

/// Size, subsize, start.
fn dimension() -> impl Strategy<Value = (i64, i64, i64)> {
    (1i64..5).prop_flat_map(|size| (1..=size).prop_flat_map(move |part| (Just(size), Just(part), 0..=size - part)))
}

/// Elements, processes, distribution and its argument.
fn distribution() -> impl Strategy<Value = (i64, i64, Distribution, DistributionArg)> {
    (1i64..7, 1i64..4, 0..3, 0i64..4).prop_map(|(n, procs, kind, darg)| match kind {
        0 => (n, 1, Distribution::None, DistributionArg::Default),
        1 if darg > 0 && darg * procs >= n => (n, procs, Distribution::Block, DistributionArg::Size(darg)),
        1 => (n, procs, Distribution::Block, DistributionArg::Default),
        _ if darg > 0 => (n, procs, Distribution::Cyclic, DistributionArg::Size(darg)),
        _ => (n, procs, Distribution::Cyclic, DistributionArg::Default),
    })
}

fn grid() -> impl Strategy<Value = Darray> {
    (vec(distribution(), 1..4), any::<prop::sample::Index>(), order()).prop_map(|(dims, rank, order)| {
        let size: i64 = dims.iter().map(|d| d.1).product();
        Darray {
            size,
            rank: rank.index(size as usize) as i64,
            gsizes: dims.iter().map(|d| d.0).collect(),
            distribs: dims.iter().map(|d| d.2).collect(),
            dargs: dims.iter().map(|d| d.3).collect(),
            psizes: dims.iter().map(|d| d.1).collect(),
            order,
        }
    })
}

/// A count or a block length; 0 too.
fn small() -> impl Strategy<Value = i64> {
    0i64..4
}

/// A displacement or a stride in bytes; small, so that blocks often overlap.
fn disp() -> impl Strategy<Value = i64> {
    -40i64..40
}

/// A lower bound and an extent: of any sign, and often smaller than the data.
fn bounds() -> impl Strategy<Value = (i64, i64)> {
    (disp(), -60i64..60)
}

/// A struct of one or two types in turn, some of them with bounds of their own and half of them with block lengths
/// alike: neighbours are then made of one type and differ in nothing but their extents.
fn relatives(inner: impl Strategy<Value = TypeSpec>) -> impl Strategy<Value = TypeSpec> {
    let member = (small(), disp(), any::<prop::sample::Index>(), prop::option::of(bounds()));
    (vec(inner, 1..3), prop::option::of(small()), vec(member, 0..6)).prop_map(|(family, alike, members)| {
        let spec = |(length, disp, which, bounds): (i64, i64, prop::sample::Index, Option<(i64, i64)>)| {
            let old = which.get(&family).clone();
            let bounded = bounds.map(|(lb, extent)| TypeSpec::Resized(lb, extent, Box::new(old.clone())));
            (alike.unwrap_or(length), disp, bounded.unwrap_or(old))
        };
        TypeSpec::Struct(members.into_iter().map(spec).collect())
    })
}

/// A struct of nothing but MPI-1's markers: bounds without data.
fn markers() -> impl Strategy<Value = TypeSpec> {
    let marker = prop::sample::select(&[Basic::Lb, Basic::Ub][..]).prop_map(TypeSpec::Basic);
    vec((small(), disp(), marker), 1..4).prop_map(TypeSpec::Struct)
}

fn spec() -> impl Strategy<Value = TypeSpec> {
    let leaf = prop_oneof![
        9 => prop::sample::select(&BASICS[..]).prop_map(TypeSpec::Basic),
        1 => markers(),
    ];
    leaf.prop_recursive(4, 24, 3, |inner| {
        let old = inner.clone().prop_map(Box::new).boxed();
        prop_oneof![
            1 => old.clone().prop_map(TypeSpec::Dup),
            1 => (small(), old.clone()).prop_map(|(n, o)| TypeSpec::Contiguous(n, o)),
            1 => (small(), small(), -4i64..5, old.clone()).prop_map(|(n, b, s, o)| TypeSpec::Vector(n, b, s, o)),
            1 => (small(), small(), disp(), old.clone()).prop_map(|(n, b, s, o)| TypeSpec::Hvector(n, b, s, o)),
            1 => (vec((small(), -5i64..6), 0..4), old.clone()).prop_map(|(b, o)| TypeSpec::Indexed(b, o)),
            1 => (vec((small(), disp()), 0..4), old.clone()).prop_map(|(b, o)| TypeSpec::Hindexed(b, o)),
            1 => (small(), vec(-5i64..6, 0..4), old.clone()).prop_map(|(b, d, o)| TypeSpec::IndexedBlock(b, d, o)),
            1 => (small(), vec(disp(), 0..4), old.clone()).prop_map(|(b, d, o)| TypeSpec::HindexedBlock(b, d, o)),
            1 => vec((small(), disp(), inner.clone()), 0..4).prop_map(TypeSpec::Struct),
            3 => relatives(inner),
            1 => (bounds(), old.clone()).prop_map(|((lb, e), o)| TypeSpec::Resized(lb, e, o)),
            1 => (vec(dimension(), 1..4), order(), old.clone()).prop_map(|(d, order, o)| TypeSpec::Subarray(d, order, o)),
            1 => (grid(), old).prop_map(|(g, o)| TypeSpec::Darray(g, o)),
        ]
    })
}

/// Memory around a message, with the address that displacements count from.
#[derive(Clone, Debug, PartialEq)]
struct TestBuffer {
    bytes: Vec<u8>,
    first: i64,
}

/// Memory on either side of a message that nothing may touch, in bytes: more than an extent here can be wrong by, so
/// that what a wrong one writes is seen here.
const MARGIN: i64 = 2048;

impl TestBuffer {
    fn new(places: &[i64], fill: impl Fn(usize) -> u8) -> TestBuffer {
        let first = places.iter().copied().min().unwrap_or(0) - MARGIN;
        let last = places.iter().copied().max().unwrap_or(0) + MARGIN;
        TestBuffer { bytes: (0..(last - first) as usize).map(fill).collect(), first }
    }

    fn ptr(&mut self) -> UserPtr<'static> {
        // SAFETY: `bytes` covers every place of the message that the buffer was made for, and outlives its uses below.
        unsafe { UserPtr::new(self.bytes.as_mut_ptr().wrapping_offset(-self.first as isize)) }
    }

    fn at(&self, disp: i64) -> u8 {
        self.bytes[(disp - self.first) as usize]
    }

    fn packed(&self, places: &[i64]) -> Vec<u8> {
        places.iter().map(|&p| self.at(p)).collect()
    }

    /// Tells whether a buffer of zeroes received `packed` and nothing else changed. Where a place is named twice, any
    /// of its bytes may be left there: such a type must not receive (MPI-5.0 §5.1.11).
    fn received(&self, places: &[i64], packed: &[u8]) -> bool {
        let mut named: Vec<(i64, u8)> = places.iter().copied().zip(packed.iter().copied()).collect();
        named.sort_unstable();
        let mut rest = &named[..];
        self.bytes.iter().zip(self.first..).all(|(&byte, disp)| {
            let here = rest.iter().take_while(|(place, _)| *place == disp).count();
            let (candidates, behind) = rest.split_at(here);
            rest = behind;
            if candidates.is_empty() { byte == 0 } else { candidates.iter().any(|(_, wanted)| *wanted == byte) }
        })
    }
}

/// A byte that depends on its place.
fn mark(i: usize) -> u8 {
    (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes()[0]
}

fn check_queries(datatype: &Datatype, map: &Typemap) {
    assert_eq!(datatype.size(), map.size(), "size");
    assert_eq!((datatype.lb(), datatype.ub(), datatype.extent()), (map.lb(), map.ub(), map.extent()), "lb, ub, extent");
    assert_eq!(datatype.true_lb(), map.true_lb(), "true lb");
    assert_eq!(datatype.true_extent(), map.true_ub() - map.true_lb(), "true extent");
    assert_eq!(datatype.elements(), map.data().count() as u64, "elements");
    assert_eq!(datatype.external_size(), map.data().map(|(b, _)| b.external_size()).sum::<u64>(), "external size");
}

/// MPI_Get_elements at every length up to two elements and some, and its inverse.
fn check_elements(datatype: &Datatype, map: &Typemap) {
    let (size, n) = (map.size(), map.data().count() as u64);
    let mut ends = vec![0];
    for _ in 0..3 {
        for (basic, _) in map.data() {
            ends.push(ends[ends.len() - 1] + basic.size());
        }
    }
    for bytes in 0..=3 * size {
        let expected = ends.binary_search(&bytes).ok().map(|i| i as u64);
        assert_eq!(datatype.elements_of(bytes), expected, "elements of {bytes} bytes");
        let count = if size == 0 { Some(0) } else { (bytes % size == 0).then(|| bytes / size) };
        assert_eq!(datatype.count_of(bytes), count);
    }
    for elements in 0..=3 * n {
        assert_eq!(datatype.bytes_of_elements(elements), Some(ends[elements as usize]), "{elements} elements");
    }
}

fn check_pack(datatype: &Datatype, places: &[i64], count: u64, cuts: &[(usize, usize)]) {
    let mut buffer = TestBuffer::new(places, mark);
    let expected = buffer.packed(places);
    let total = expected.len();
    assert_eq!(datatype.packed_size(count), total as u64);
    for &(at, len) in cuts.iter().chain(&[(0, total), (0, total + 5), (total, 3)]) {
        let at = at % (total + 1);
        let n = len.min(total - at);
        let mut packed = vec![0xee; len];
        assert_eq!(datatype.pack(buffer.ptr(), count, at as u64, &mut packed[..]), n);
        assert_eq!(packed[..n], expected[at..at + n], "packed {at}+{n}");
        assert!(packed[n..].iter().all(|&b| b == 0xee), "nothing behind the message");
    }
    if let Some((disp, len)) = datatype.is_contiguous(count) {
        assert_eq!(len, total as u64);
        assert!(places.iter().enumerate().all(|(i, &p)| p == disp + i as i64), "is_contiguous tells the place");
    }
}

fn check_runs(datatype: &Datatype, places: &[i64], count: u64, cuts: &[(usize, usize)]) {
    assert_eq!(datatype.runs(count, 0).count() as u64, datatype.run_count(count));
    let mut all = datatype.runs(count, 0);
    for index in 0..datatype.run_count(count).min(200) {
        assert_eq!(datatype.run_start(count, index), all.offset(), "start of run {index}");
        assert_eq!(datatype.runs_within(count, all.offset()), index, "runs before run {index}");
        let run = all.next().unwrap();
        assert_eq!(datatype.runs_within(count, all.offset() - 1), index, "run {index} of {} is cut", run.len);
    }
    assert_eq!(datatype.run_start(count, u64::MAX), places.len() as u64);
    assert_eq!(datatype.runs_within(count, u64::MAX), datatype.run_count(count));
    for at in cuts.iter().map(|c| c.0 % (places.len() + 1)).chain([0]) {
        let runs = datatype.runs(count, at as u64);
        let found: Vec<i64> = runs.flat_map(|r| r.disp..r.disp + r.len as i64).collect();
        assert_eq!(found, places[at..], "runs from {at} on");
    }
}

fn check_unpack(datatype: &Arc<Datatype>, places: &[i64], count: u64, cuts: &[(usize, usize)]) {
    let packed: Vec<u8> = (0..places.len()).map(mark).collect();
    // One behind the other, in uneven pieces.
    let mut buffer = TestBuffer::new(places, |_| 0);
    let mut cursor = PackCursor::new(datatype.clone(), buffer.ptr(), count);
    let mut sizes = cuts.iter().map(|c| c.1.max(1)).cycle();
    while cursor.remaining() > 0 {
        let at = cursor.position() as usize;
        let n = sizes.next().unwrap_or(1).min(packed.len() - at);
        assert_eq!(cursor.unpack(&packed[at..at + n]), n);
    }
    assert!(buffer.received(places, &packed), "unpacked in order");
    let mut buffer = TestBuffer::new(places, |_| 0);
    for at in (0..packed.len()).step_by(7).collect::<Vec<_>>().into_iter().rev() {
        let piece = &packed[at..(at + 7).min(packed.len())];
        assert_eq!(datatype.unpack(buffer.ptr(), count, at as u64, piece), piece.len());
    }
    assert!(buffer.received(places, &packed), "unpacked backwards");
}

/// A collective's blocks: each element by itself is an extent behind the one before.
fn check_blocks(datatype: &Datatype, places: &[i64], count: u64) {
    let mut buffer = TestBuffer::new(places, mark);
    let (expected, size) = (buffer.packed(places), datatype.size() as usize);
    for i in 0..count as usize {
        let mut packed = vec![0; size];
        let at = buffer.ptr().moved(i as i64 * datatype.extent());
        assert_eq!(datatype.pack(at, 1, 0, &mut packed[..]), size);
        assert_eq!(packed, expected[i * size..][..size], "block {i}");
    }
}

/// The temporary memory of collectives, on which user operations work: two buffers side by side, of which the second
/// is filled last and leaves the first as it is.
fn check_scratch(datatype: &Datatype, places: &[i64], count: u64) {
    let bytes = ScratchBuffer::bytes_for(datatype, count).unwrap();
    let mut scratch = ScratchBuffer::default();
    scratch.reserve(2 * bytes);
    let mut packs = [0, bytes].map(|at| {
        let marks: Vec<u8> = (0..places.len()).map(|i| mark(i + at)).collect();
        let user = scratch.elements(at, datatype, count);
        assert_eq!(datatype.unpack(user, count, 0, &marks[..]), marks.len());
        let mut packed = vec![0; marks.len()];
        datatype.pack(user, count, 0, &mut packed[..]);
        assert!(overlap(places) || packed == marks, "what was unpacked is there");
        packed
    });
    let before = packs[0].clone();
    datatype.pack(scratch.elements(0, datatype, count), count, 0, &mut packs[0][..]);
    assert_eq!(packs[0], before, "the second buffer reaches into the first");
}

/// Predefined operations take a type only where it is a row of a predefined one: then they do to each value what they
/// do to it alone.
fn check_reductions(spec: &TypeSpec, datatype: &Datatype, map: &Typemap, count: u64) {
    let places = map.bytes(count);
    // Not every 16 bytes are a long double; the kernels' own tests have their values.
    let plain = map.data().all(|(basic, _)| basic != Basic::LongDouble);
    // No byte makes a NaN: which of two survives does not matter here.
    let fill = |seed: usize| move |i: usize| if plain { mark(i + seed) & 0x3f } else { 0 };
    for op in PredefinedOp::ALL.into_iter().filter(|op| op.is_elementwise()) {
        let Ok(reduction) = ReduceKernel::of(op, datatype) else { continue };
        let basic = spec.basic().unwrap_or_else(|| panic!("{} of a struct", op.name()));
        let alone = ReduceKernel::of(op, Datatype::basic(basic)).unwrap();
        let (mut input, mut whole) = (TestBuffer::new(&places, fill(1)), TestBuffer::new(&places, fill(2)));
        let mut one_by_one = whole.clone();
        let step = if matches!(basic.repr(), hawser_datatype::Repr::Pair(..)) { 2 } else { 1 };
        for i in 0..count as i64 {
            for (_, at) in map.data().step_by(step) {
                let at = i * map.extent() + at;
                alone.apply_at(one_by_one.ptr().moved(at), input.ptr().moved(at), 1);
            }
        }
        reduction.apply_at(whole.ptr(), input.ptr(), count);
        assert_eq!(whole, one_by_one, "{}", op.name());
    }
}

/// Tells whether a place is named twice.
fn overlap(places: &[i64]) -> bool {
    let mut sorted = places.to_vec();
    sorted.sort_unstable();
    sorted.windows(2).any(|w| w[0] == w[1])
}

/// Values that survive external32 come back as they were.
fn check_external(datatype: &Arc<Datatype>, map: &Typemap, places: &[i64], count: u64) {
    // Not every 16 bytes are a long double; `packing` tests their values.
    let plain = map.data().all(|(basic, _)| basic != Basic::LongDouble);
    let mut buffer = TestBuffer::new(places, |i| if plain { mark(i) } else { 0 });
    let before = buffer.packed(places);
    let mut external = vec![0u8; (datatype.external_size() * count) as usize + 3];
    // SAFETY: `external` outlives the view.
    let view = unsafe { UserMem::new(external.as_mut_ptr(), external.len()) };
    let end = datatype.pack_external(buffer.ptr(), count, view, 3).unwrap();
    assert_eq!(end, view.len());
    buffer.bytes.fill(0);
    assert_eq!(datatype.unpack_external(view, 3, buffer.ptr(), count).unwrap(), end);
    assert!(buffer.received(places, &before), "back from external32");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, max_shrink_iters: 4000, ..ProptestConfig::default() })]

    #[test]
    fn a_type_is_its_typemap(spec in spec(), count in 0u64..4, cuts in vec((0usize..4000, 0usize..300), 1..6)) {
        let (datatype, map) = (spec.build(), spec.typemap());
        prop_assume!(map.data().count() < 3000);
        check_queries(&datatype, &map);
        check_elements(&datatype, &map);
        let places = map.bytes(count);
        check_pack(&datatype, &places, count, &cuts);
        check_runs(&datatype, &places, count, &cuts);
        check_unpack(&datatype, &places, count, &cuts);
        check_external(&datatype, &map, &places, count);
        check_blocks(&datatype, &places, count);
        check_scratch(&datatype, &places, count);
        check_reductions(&spec, &datatype, &map, count);
    }

    #[test]
    fn a_copy_between_two_types_is_pack_and_unpack(a in spec(), b in spec(), counts in (0u64..4, 0u64..4)) {
        let (from, to) = (a.build(), b.build());
        prop_assume!(from.size() < 20_000 && to.size() < 20_000);
        let (source, target) = (a.typemap().bytes(counts.0), b.typemap().bytes(counts.1));
        let (mut input, mut output) = (TestBuffer::new(&source, mark), TestBuffer::new(&target, |_| 0));
        let copied = copy_typed((input.ptr(), counts.0, &from), (output.ptr(), counts.1, &to));
        let bytes = source.len().min(target.len()) as u64;
        prop_assert_eq!(copied, CopyOutcome { bytes, truncated: source.len() > target.len() });
        let moved = bytes as usize;
        prop_assert!(output.received(&target[..moved], &input.packed(&source[..moved])));
    }
}
