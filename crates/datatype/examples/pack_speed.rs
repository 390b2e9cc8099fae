//! The cost of packing compared with memcpy: layouts by block length, the price of a fragment, and reductions.
//!
//! `cargo run --release -p hawser-datatype --example pack_speed`. Figures are medians of many rounds over data that
//! stays in the second-level cache.

use hawser_base::UserMem;
use hawser_datatype::{Basic, CountForm, Datatype, PredefinedOp, ReduceKernel, UserPtr};
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

/// Packed bytes of a round: with gaps of the same size the user's side is twice that.
const ROUND_BYTES: usize = 256 << 10;
const ROUNDS: usize = 200;

/// Median nanoseconds of a round.
fn time_ns(mut round: impl FnMut()) -> f64 {
    let mut times: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            round();
            start.elapsed().as_nanos() as f64
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[ROUNDS / 2]
}

fn gb_per_s(bytes: usize, ns: f64) -> f64 {
    bytes as f64 / ns
}

fn user(memory: &mut [u8]) -> UserPtr<'_> {
    // SAFETY: the types below stay inside the buffers they are used with.
    unsafe { UserPtr::new(memory.as_mut_ptr()) }
}

fn layouts(source: &mut [u8], packed: &mut [u8]) {
    let memcpy = time_ns(|| black_box(&mut *packed).copy_from_slice(black_box(&source[..ROUND_BYTES])));
    println!("{:<28} {:>10.1} GB/s", "memcpy", gb_per_s(ROUND_BYTES, memcpy));
    println!("{:<28} {:>10} {:>10} {:>12}", "block of a vector, gap alike", "pack", "unpack", "listed pack");
    let byte = Datatype::basic(Basic::Byte);
    for block in [1, 2, 4, 8, 12, 16, 32, 48, 64, 100, 128, 256, 1024, 4096] {
        let n = (ROUND_BYTES / block) as i64;
        let block = block as i64;
        let vector = build(Datatype::vector(n, block, 2 * block, byte, CountForm::Int));
        let jumps: Vec<i64> = (0..n).map(|i| 2 * block * i + if i % 2 == 0 { 0 } else { block / 2 }).collect();
        let listed = build(Datatype::hindexed_block(block, &jumps, byte, CountForm::Int));
        let at = user(source);
        let pack = time_ns(|| _ = black_box(vector.pack(at, 1, 0, &mut packed[..])));
        let unpack = time_ns(|| _ = black_box(vector.unpack(at, 1, 0, &packed[..])));
        let list = time_ns(|| _ = black_box(listed.pack(at, 1, 0, &mut packed[..])));
        let [pack, unpack, list] = [pack, unpack, list].map(|ns| gb_per_s(ROUND_BYTES, ns));
        println!("{block:>20} bytes {pack:>15.1} {unpack:>10.1} {list:>12.1}");
    }
}

/// Arrays of records, which have a few short runs each, and long irregular lists cut into fragments.
fn records(source: &mut [u8], packed: &mut [u8]) {
    let (c, i, d) = (Basic::Char, Basic::Int, Basic::Double);
    let of = |basic| Datatype::basic(basic).clone();
    let record = build(Datatype::structure(&[1, 1, 3], &[0, 4, 16], &[of(c), of(i), of(d)], CountForm::Int));
    let mixed = build(Datatype::structure(&[1, 5, 1], &[0, 8, 56], &[of(d), of(c), of(d)], CountForm::Int));
    let rows = [
        ("MPI_SHORT_INT", of(Basic::ShortInt)),
        ("MPI_DOUBLE_INT", of(Basic::DoubleInt)),
        ("{char, int, 3 double}", record),
        ("{double, 5 char, double}", mixed),
    ];
    println!("\n{:<28} {:>10} {:>10} {:>12}", "array of records", "pack", "unpack", "4 KiB cuts");
    for (name, datatype) in rows {
        let n = ROUND_BYTES as u64 / datatype.size();
        let at = user(source);
        let pack = time_ns(|| _ = black_box(datatype.pack(at, n, 0, &mut packed[..])));
        let unpack = time_ns(|| _ = black_box(datatype.unpack(at, n, 0, &packed[..])));
        let cut = time_ns(|| in_fragments(&datatype, at, n, packed));
        let [pack, unpack, cut] = [pack, unpack, cut].map(|ns| gb_per_s(ROUND_BYTES, ns));
        println!("{name:<28} {pack:>10.1} {unpack:>10.1} {cut:>12.1}");
    }
    for inner in [1, 2, 4, 8] {
        let faces = subarray(Datatype::basic(d), inner);
        let pack = time_ns(|| _ = black_box(faces.pack(user(source), 1, 0, &mut packed[..])));
        let unpack = time_ns(|| _ = black_box(faces.unpack(user(source), 1, 0, &packed[..])));
        let cut = time_ns(|| in_fragments(&faces, user(source), 1, packed));
        let [pack, unpack, cut] = [pack, unpack, cut].map(|ns| gb_per_s(faces.size() as usize, ns));
        println!("{:<28} {pack:>10.1} {unpack:>10.1} {cut:>12.1}", format!("30 x 30 x {inner} of 32^3 doubles"));
    }
    let lengths: Vec<i64> = (0..8192).map(|i| 1 + i % 7).collect();
    let disps: Vec<i64> = (0..8192).map(|i| 10 * i).collect();
    let listed = build(Datatype::indexed(&lengths, &disps, Datatype::basic(Basic::Double), CountForm::Int));
    let pack = time_ns(|| _ = black_box(listed.pack(user(source), 1, 0, &mut packed[..])));
    let cut = time_ns(|| in_fragments(&listed, user(source), 1, packed));
    let [pack, cut] = [pack, cut].map(|ns| gb_per_s(listed.size() as usize, ns));
    println!("{:<28} {pack:>10.1} {:>10} {cut:>12.1}", "1 to 7 doubles, listed", "");
}

fn in_fragments(datatype: &Datatype, at: UserPtr, count: u64, packed: &mut [u8]) {
    let mut offset = 0;
    while offset < datatype.packed_size(count) {
        offset += datatype.pack(at, count, offset, &mut packed[..4096]) as u64;
    }
    black_box(offset);
}

fn build(made: hawser_base::Result<Arc<Datatype>>) -> Arc<Datatype> {
    made.unwrap_or_else(|e| panic!("{e}"))
}

/// The cost of a fragment beyond its bytes: 64 bytes at random offsets.
fn fragments(source: &mut [u8], packed: &mut [u8]) {
    let double = Datatype::basic(Basic::Double);
    let n = ROUND_BYTES as i64 / 8;
    let disps: Vec<i64> = (0..n / 3).map(|i| 6 * i).collect();
    let lengths: Vec<i64> = (0..n / 3).map(|i| 1 + i % 3).collect();
    let types = [
        ("contiguous", build(Datatype::contiguous(n, double, CountForm::Int))),
        ("vector", build(Datatype::vector(n, 1, 2, double, CountForm::Int))),
        ("indexed, 10923 blocks", build(Datatype::indexed(&lengths, &disps, double, CountForm::Int))),
        ("3-D subarray, innermost cut", subarray(double, 4)),
    ];
    println!("\n{:<28} {:>10}", "fragment of 64 bytes", "ns each");
    for (name, datatype) in types {
        let at = user(source);
        let places = datatype.size() - 64;
        let mut offset = 1u64;
        let ns = time_ns(|| {
            for _ in 0..1000 {
                offset = offset.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                black_box(datatype.pack(at, 1, (offset >> 20) % places, &mut packed[..64]));
            }
        });
        println!("{name:<28} {:>10.1}", ns / 1000.0);
    }
}

fn subarray(double: &Arc<Datatype>, inner: i64) -> Arc<Datatype> {
    let order = hawser_datatype::ArrayOrder::C;
    build(Datatype::subarray(&[32, 32, 32], &[30, 30, inner], &[1, 1, 0], order, double, CountForm::Int))
}

fn reductions(source: &mut [u8], packed: &mut [u8]) {
    println!("\n{:<28} {:>10}", "reduction", "GB/s of in");
    let rows = [
        (PredefinedOp::Sum, Basic::Double),
        (PredefinedOp::Sum, Basic::Float),
        (PredefinedOp::Sum, Basic::Int),
        (PredefinedOp::Max, Basic::Double),
        (PredefinedOp::Max, Basic::Int),
        (PredefinedOp::Max, Basic::Int64),
        (PredefinedOp::Prod, Basic::CDoubleComplex),
        (PredefinedOp::Bxor, Basic::Uint8),
        (PredefinedOp::Land, Basic::Int),
        (PredefinedOp::Maxloc, Basic::DoubleInt),
        (PredefinedOp::Sum, Basic::LongDouble),
        (PredefinedOp::Sum, Basic::CFloat16),
        (PredefinedOp::Sum, Basic::Bfloat16),
    ];
    source.fill(0);
    packed.fill(0);
    // SAFETY: both buffers outlive the views.
    let (inout, input) =
        unsafe { (UserMem::new(packed.as_mut_ptr(), ROUND_BYTES), UserMem::new(source.as_mut_ptr(), ROUND_BYTES)) };
    for (op, basic) in rows {
        let reduction = ReduceKernel::of(op, Datatype::basic(basic)).unwrap_or_else(|e| panic!("{e}"));
        let n = ROUND_BYTES as u64 / reduction.element_bytes();
        let ns = time_ns(|| reduction.apply(inout, input, n));
        let name = format!("{} {}", op.name(), basic.name());
        println!("{name:<28} {:>10.1}", gb_per_s(ROUND_BYTES, ns));
    }
}

fn main() {
    let mut source = vec![1u8; 4 * ROUND_BYTES];
    let mut packed = vec![2u8; ROUND_BYTES];
    layouts(&mut source, &mut packed);
    records(&mut source, &mut packed);
    fragments(&mut source, &mut packed);
    reductions(&mut source, &mut packed);
}
