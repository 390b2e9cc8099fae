//! Fits the extra time of one system over another by as few straight pieces over the sizes as the noise allows: a cost
//! for each message and one for each byte, from one size to another.
//!
//! Least squares weighted by each point's noise, pieces by dynamic programming, their number by Schwarz's criterion: a
//! further piece or slope must explain more than chance would. Used by `explain`; uses no other module.

/// A size, the extra time there, and the noise of that; bytes and microseconds.
#[derive(Clone, Copy, Debug)]
pub struct Loss {
    pub bytes: f64,
    pub us: f64,
    pub noise_us: f64,
}

/// A straight piece.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Piece {
    /// The indices of the losses that it fits, both ends included.
    pub first: usize,
    pub last: usize,
    pub each_us: f64,
    pub per_byte_us: f64,
}

impl Piece {
    pub fn at(&self, bytes: f64) -> f64 {
        self.each_us + self.per_byte_us * bytes
    }
}

/// The fewest points that give a slope that can be trusted.
const POINTS_MIN: usize = 3;

/// A straight line through losses: flat, or with a slope.
fn line(losses: &[Loss], sloped: bool) -> (f64, f64) {
    let weight = |loss: &Loss| loss.noise_us.powi(-2);
    let sum = |of: &dyn Fn(&Loss) -> f64| losses.iter().map(|loss| weight(loss) * of(loss)).sum::<f64>();
    let all = sum(&|_| 1.0);
    let (x, y) = (sum(&|loss| loss.bytes) / all, sum(&|loss| loss.us) / all);
    let across = sum(&|loss| (loss.bytes - x).powi(2));
    if !sloped || across == 0.0 {
        return (y, 0.0);
    }
    let slope = sum(&|loss| (loss.bytes - x) * (loss.us - y)) / across;
    (y - slope * x, slope)
}

/// The better of both lines, and its cost: the error that it leaves, and its parameters (`each` for one).
fn best(losses: &[Loss], first: usize, each: f64) -> (f64, Piece) {
    let candidate = |sloped: bool| {
        let (each_us, per_byte_us) = line(losses, sloped);
        let piece = Piece { first, last: first + losses.len() - 1, each_us, per_byte_us };
        let off = |loss: &Loss| ((loss.us - piece.at(loss.bytes)) / loss.noise_us).powi(2);
        // Its border is a parameter too.
        let parameters = if sloped { 3.0 } else { 2.0 };
        (losses.iter().map(off).sum::<f64>() + parameters * each, piece)
    };
    let (flat, sloped) = (candidate(false), candidate(true));
    if sloped.0 < flat.0 { sloped } else { flat }
}

/// The sloped line through times, as one piece.
pub fn through(times: &[Loss], first: usize) -> Piece {
    let (each_us, per_byte_us) = line(times, true);
    Piece { first, last: first + times.len() - 1, each_us, per_byte_us }
}

/// The pieces of losses in ascending order of size.
pub fn pieces(losses: &[Loss]) -> Vec<Piece> {
    let each = (losses.len().max(2) as f64).ln();
    // The cheapest split up to each end: its cost and its last piece.
    let mut ways: Vec<(f64, Option<Piece>)> = vec![(0.0, None)];
    for end in 1..=losses.len() {
        let starts = (0..end).filter(|start| end - start >= POINTS_MIN.min(losses.len()));
        let way = |start: usize| {
            let (cost, piece) = best(&losses[start..end], start, each);
            (ways[start].0 + cost, Some(piece))
        };
        let cheapest = starts.map(way).min_by(|one, other| one.0.total_cmp(&other.0));
        ways.push(cheapest.unwrap_or((f64::INFINITY, None)));
    }
    let mut pieces = Vec::new();
    let mut end = losses.len();
    while let Some(piece) = ways[end].1 {
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
    fn losses(us: impl Fn(f64) -> f64) -> Vec<Loss> {
        let noise_us = |bytes: f64| 0.02 * (0.1 + bytes * 2e-5);
        let loss = |power: u32| {
            let bytes = f64::from(1 << (power / 2)) * if power.is_multiple_of(2) { 1.0 } else { 1.5 };
            let sign = [0.5, -0.5, 0.2, -0.7, 0.6][power as usize % 5];
            Loss { bytes, us: us(bytes) + sign * noise_us(bytes), noise_us: noise_us(bytes) }
        };
        (0..41).map(loss).collect()
    }

    #[test]
    fn one_constant_loss_is_one_flat_piece() {
        let pieces = pieces(&losses(|_| 0.5));
        assert_eq!(pieces.len(), 1, "{pieces:?}");
        assert!((pieces[0].each_us - 0.5).abs() < 0.01 && pieces[0].per_byte_us == 0.0);
    }

    #[test]
    fn a_loss_a_byte_is_one_sloped_piece() {
        let pieces = pieces(&losses(|bytes| 0.1 + bytes * 1e-5));
        assert_eq!(pieces.len(), 1, "{pieces:?}");
        assert!((pieces[0].per_byte_us / 1e-5 - 1.0).abs() < 0.05 && (pieces[0].each_us - 0.1).abs() < 0.01);
    }

    #[test]
    fn a_step_is_found_where_it_is() {
        let losses = losses(|bytes| if bytes >= 4096.0 { 2.05 } else { 0.05 });
        let pieces = pieces(&losses);
        assert_eq!(pieces.len(), 2, "{pieces:?}");
        assert_eq!(losses[pieces[1].first].bytes, 4096.0);
        assert!((pieces[1].at(4096.0) - pieces[0].at(4096.0) - 2.0).abs() < 0.02);
    }

    #[test]
    fn few_points_have_a_piece_all_the_same() {
        let losses = losses(|_| 1.0);
        assert_eq!(pieces(&losses[..1]).len(), 1);
        assert_eq!(pieces(&losses[..2]).len(), 1);
        assert!(pieces(&[]).is_empty());
    }
}
