//! MPI_Exscan.
//!
//! | algorithm | source | rounds | bytes that a rank sends at most |
//! |---|---|---|---|
//! | recursive_doubling | Hillis, Steele 1986; MPICH "recursive_doubling" | ⌈log2 p⌉ | n ⌈log2 p⌉ |
//!
//! Keeps rank order. The receive buffer of rank 0 is not touched.

use crate::call::{Place, Reduction};
use crate::schedule::{Buffer, Order, Schedule, Span};
use crate::select::{Algorithm, Tuning};

pub(crate) const ALGORITHMS: &[Algorithm<Reduction>] = &[Algorithm {
    name: "recursive_doubling",
    fits: |_| true,
    cost: |s, t| s.levels() * (t.model.message(s.n()) + 2.0 * s.n() * t.model.reduce_us),
    build: recursive_doubling,
}];

/// `partial` is the reduction of the 2^k ranks up to this one, as a scan has it; `Recv` is the same
/// without this rank.
fn recursive_doubling(data: &Reduction, place: Place, _: &Tuning, s: &mut Schedule) {
    let count = data.elements();
    if count == 0 || place.size == 1 {
        return;
    }
    let mut partial = Span::elements(data.input(), 0, count);
    let result = Span::elements(Buffer::Recv, 0, count);
    // What reaches rank 0 from below is nothing: it only gives its own operand away.
    if place.rank > 0 {
        let own = Span::elements(s.scratch_elements(count), 0, count);
        s.copy(partial, own);
        partial = own;
    }
    let tmp = (place.rank > 0).then(|| Span::elements(s.scratch_elements(count), 0, count));
    let mut distance = 1;
    while distance < place.size {
        let (to, last) = (place.rank + distance, place.rank + 2 * distance >= place.size);
        if to < place.size {
            s.send(to, partial);
        }
        if let Some(tmp) = tmp.filter(|_| place.rank >= distance) {
            s.recv(place.rank - distance, tmp);
            if distance == 1 {
                s.copy(tmp, result);
            } else {
                s.reduce(tmp, result, Order::FromFirst);
            }
            if !last {
                s.reduce(tmp, partial, Order::FromFirst);
            }
        }
        s.end_round();
        distance *= 2;
    }
}
