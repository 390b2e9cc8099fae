//! Fits the extra time that one system takes over another, as a function of the message size, by straight pieces: a
//! cost for each message and one for each byte, from one size to another. There are as few pieces as the noise
//! allows.
//!
//! Each line is found by least squares, weighted by the noise of each point; dynamic programming finds the pieces,
//! and Schwarz's criterion their number: a further piece or slope must explain more than chance would. Used by
//! `explain`; uses no other module.

/// A size, the extra time at this size, and the noise of the extra time; in bytes and microseconds.
#[derive(Clone, Copy, Debug)]
pub struct Overhead {
    pub bytes: f64,
    pub us: f64,
    pub noise_us: f64,
}

/// A straight piece.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinearPiece {
    /// The indices of the overheads that it fits, both ends included.
    pub first: usize,
    pub last: usize,
    pub per_message_us: f64,
    pub per_byte_us: f64,
}

impl LinearPiece {
    pub fn at(&self, bytes: f64) -> f64 {
        self.per_message_us + self.per_byte_us * bytes
    }
}

/// The minimum number of points from which a slope can be trusted.
const POINTS_MIN: usize = 3;

/// Returns the straight line through overheads, as its cost for each message and for each byte. The cost for each
/// byte is 0 if the line is not `sloped`.
fn fit_line(overheads: &[Overhead], sloped: bool) -> (f64, f64) {
    let weight = |overhead: &Overhead| overhead.noise_us.powi(-2);
    let sum =
        |of: &dyn Fn(&Overhead) -> f64| overheads.iter().map(|overhead| weight(overhead) * of(overhead)).sum::<f64>();
    let all = sum(&|_| 1.0);
    let (x, y) = (sum(&|loss| loss.bytes) / all, sum(&|loss| loss.us) / all);
    let across = sum(&|loss| (loss.bytes - x).powi(2));
    if !sloped || across == 0.0 {
        return (y, 0.0);
    }
    let slope = sum(&|loss| (loss.bytes - x) * (loss.us - y)) / across;
    (y - slope * x, slope)
}

/// Returns the better of the flat and the sloped line, and its cost: the error that it leaves, and `each` for every
/// parameter of the line.
fn best_piece(overheads: &[Overhead], first: usize, each: f64) -> (f64, LinearPiece) {
    let candidate = |sloped: bool| {
        let (each_us, per_byte_us) = fit_line(overheads, sloped);
        let piece = LinearPiece { first, last: first + overheads.len() - 1, per_message_us: each_us, per_byte_us };
        let off = |overhead: &Overhead| ((overhead.us - piece.at(overhead.bytes)) / overhead.noise_us).powi(2);
        // The border of the piece is a parameter, too.
        let parameters = if sloped { 3.0 } else { 2.0 };
        (overheads.iter().map(off).sum::<f64>() + parameters * each, piece)
    };
    let (flat, sloped) = (candidate(false), candidate(true));
    if sloped.0 < flat.0 { sloped } else { flat }
}

/// The sloped line through times, as one piece.
pub fn sloped_line(times: &[Overhead], first: usize) -> LinearPiece {
    let (each_us, per_byte_us) = fit_line(times, true);
    LinearPiece { first, last: first + times.len() - 1, per_message_us: each_us, per_byte_us }
}

/// The pieces that fit these overheads, which are in ascending order of size.
pub fn pieces(overheads: &[Overhead]) -> Vec<LinearPiece> {
    let each = (overheads.len().max(2) as f64).ln();
    // For each end, the cheapest split of the overheads before it: its cost and its last piece.
    let mut splits: Vec<(f64, Option<LinearPiece>)> = vec![(0.0, None)];
    for end in 1..=overheads.len() {
        let starts = (0..end).filter(|start| end - start >= POINTS_MIN.min(overheads.len()));
        let split = |start: usize| {
            let (cost, piece) = best_piece(&overheads[start..end], start, each);
            (splits[start].0 + cost, Some(piece))
        };
        let cheapest = starts.map(split).min_by(|one, other| one.0.total_cmp(&other.0));
        splits.push(cheapest.unwrap_or((f64::INFINITY, None)));
    }
    let mut pieces = Vec::new();
    let mut end = overheads.len();
    while let Some(piece) = splits[end].1 {
        pieces.push(piece);
        end = piece.first;
    }
    pieces.reverse();
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sizes 1 B to 1 MiB, noise of 2 % of a time of 0.1 us and 0.02 us a KiB, with alternating signs.
    fn overheads(us: impl Fn(f64) -> f64) -> Vec<Overhead> {
        let noise_us = |bytes: f64| 0.02 * (0.1 + bytes * 2e-5);
        let overhead = |power: u32| {
            let bytes = f64::from(1 << (power / 2)) * if power.is_multiple_of(2) { 1.0 } else { 1.5 };
            let sign = [0.5, -0.5, 0.2, -0.7, 0.6][power as usize % 5];
            Overhead { bytes, us: us(bytes) + sign * noise_us(bytes), noise_us: noise_us(bytes) }
        };
        (0..41).map(overhead).collect()
    }

    #[test]
    fn one_constant_loss_is_one_flat_piece() {
        let pieces = pieces(&overheads(|_| 0.5));
        assert_eq!(pieces.len(), 1, "{pieces:?}");
        assert!((pieces[0].per_message_us - 0.5).abs() < 0.01 && pieces[0].per_byte_us == 0.0);
    }

    #[test]
    fn a_loss_a_byte_is_one_sloped_piece() {
        let pieces = pieces(&overheads(|bytes| 0.1 + bytes * 1e-5));
        assert_eq!(pieces.len(), 1, "{pieces:?}");
        assert!((pieces[0].per_byte_us / 1e-5 - 1.0).abs() < 0.05 && (pieces[0].per_message_us - 0.1).abs() < 0.01);
    }

    #[test]
    fn a_step_is_found_where_it_is() {
        let overheads = overheads(|bytes| if bytes >= 4096.0 { 2.05 } else { 0.05 });
        let pieces = pieces(&overheads);
        assert_eq!(pieces.len(), 2, "{pieces:?}");
        assert_eq!(overheads[pieces[1].first].bytes, 4096.0);
        assert!((pieces[1].at(4096.0) - pieces[0].at(4096.0) - 2.0).abs() < 0.02);
    }

    #[test]
    fn few_points_have_a_piece_all_the_same() {
        let overheads = overheads(|_| 1.0);
        assert_eq!(pieces(&overheads[..1]).len(), 1);
        assert_eq!(pieces(&overheads[..2]).len(), 1);
        assert!(pieces(&[]).is_empty());
    }
}
