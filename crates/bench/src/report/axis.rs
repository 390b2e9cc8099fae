//! An axis: the position of a value on it, its range, and its ticks. Sizes are in powers of two, with a position
//! for size 0 left of them; other values are in decades or linear.
//!
//! It must not draw. Used by `graph`, `chart`, `page` and `table`.

/// The distance of the position for size 0 from the smallest size, in powers of two: its label needs room.
const ZERO_APART: f64 = 2.0;
/// The minimum range of an axis, for example over a single value, in decades or in powers of two: in it there is
/// always a tick (in decades at 1, 2 or 5).
const LEAST_DECADES: f64 = 0.6;
const LEAST_POWERS: f64 = 2.0;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scale {
    /// Powers of two; 0 is allowed.
    Bytes,
    /// Decades.
    Log,
    /// A linear scale that includes 0.
    Linear,
}

#[derive(Clone)]
pub struct Axis {
    scale: Scale,
    /// The position of size 0.
    zero: f64,
    pub low: f64,
    pub high: f64,
    /// The positions and labels of the ticks.
    pub ticks: Vec<(f64, String)>,
}

impl Axis {
    /// An axis on which all of these values lie.
    pub fn over(scale: Scale, values: &[f64]) -> Self {
        match scale {
            Scale::Bytes => Self::bytes(values),
            Scale::Log => Self::log(values),
            Scale::Linear => Self::linear(values),
        }
    }

    /// The position of a value, between `low` and `high`.
    pub fn position(&self, value: f64) -> f64 {
        match self.scale {
            Scale::Bytes if value == 0.0 => self.zero,
            Scale::Bytes => value.log2(),
            Scale::Log => value.log10(),
            Scale::Linear => value,
        }
    }

    pub fn label(&self, position: f64) -> String {
        let tick = self.ticks.iter().find(|(at, _)| (at - position).abs() < 1e-9);
        tick.map(|(_, label)| label.clone()).unwrap_or_default()
    }

    fn bytes(values: &[f64]) -> Self {
        let positive: Vec<f64> = values.iter().filter(|value| **value > 0.0).map(|value| value.log2()).collect();
        let (least, most) = if positive.is_empty() { (0.0, 0.0) } else { ends(&positive) };
        let zero = least.floor() - ZERO_APART;
        let has_zero = values.contains(&0.0);
        let (first, last) = widened(if has_zero { zero } else { least }, most, LEAST_POWERS);
        let step = [(6.0, 1), (13.0, 2), (f64::INFINITY, 4)].iter().find(|(span, _)| most - least <= *span);
        let step: i32 = step.map_or(4, |(_, step)| *step);
        let from = if has_zero { least.floor() } else { first.ceil() };
        let mut ticks: Vec<(f64, String)> = ((from as i32).max(0)..=last.floor() as i32)
            .filter(|power| power % step == 0)
            .map(|power| (f64::from(power), size(2_f64.powi(power))))
            .collect();
        if has_zero {
            ticks.retain(|_| !positive.is_empty());
            ticks.push((zero, "0".to_owned()));
        }
        let margin = (last - first) * 0.025;
        Self { scale: Scale::Bytes, zero, low: first - margin, high: last + margin, ticks }
    }

    fn log(values: &[f64]) -> Self {
        let positions: Vec<f64> = values.iter().map(|value| value.log10()).collect();
        let (least, most) = if positions.is_empty() { (0.0, 1.0) } else { ends(&positions) };
        let (first, last) = widened(least, most, LEAST_DECADES);
        let margin = (last - first) * 0.04;
        let (low, high) = (first - margin, last + margin);
        let within: &[f64] = if high - low <= 2.2 { &[1.0, 2.0, 5.0] } else { &[1.0] };
        let decades = low.floor() as i32..=high.ceil() as i32;
        let ticks = decades
            .flat_map(|decade| within.iter().map(move |digit| digit * 10_f64.powi(decade)))
            .filter(|value| (low..=high).contains(&value.log10()))
            .map(|value| (value.log10(), number(value)))
            .collect();
        Self { scale: Scale::Log, zero: 0.0, low, high, ticks }
    }

    fn linear(values: &[f64]) -> Self {
        let (least, most) = if values.is_empty() { (0.0, 1.0) } else { ends(values) };
        let (least, most) = (least.min(0.0), if most > 0.0 { most } else { 1.0 });
        let (low, high) = (least, most + (most - least) * 0.06);
        let rough = (high - low) / 7.0;
        let decade = 10_f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 2.5, 5.0, 10.0].iter().map(|digit| digit * decade).find(|step| *step >= rough * 0.999);
        let step = step.unwrap_or(rough);
        let from = (low / step).ceil() as i64;
        let to = (high / step).floor() as i64;
        let ticks = (from..=to).map(|i| i as f64 * step).map(|value| (value, number(value))).collect();
        Self { scale: Scale::Linear, zero: 0.0, low, high, ticks }
    }
}

fn ends(values: &[f64]) -> (f64, f64) {
    values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(*value), high.max(*value)))
}

/// Widens the range around its middle to at least `least`.
fn widened(low: f64, high: f64, least: f64) -> (f64, f64) {
    let lacking = (least - (high - low)).max(0.0) / 2.0;
    (low - lacking, high + lacking)
}

/// A size as text for an axis or a table: 1, 16, 4 Ki, 1 Mi; a size that is no multiple of 1 Ki is in bytes.
pub fn size(bytes: f64) -> String {
    for (unit, name) in [(30, " Gi"), (20, " Mi"), (10, " Ki")] {
        let unit = 2_f64.powi(unit);
        if bytes >= unit && bytes % unit == 0.0 {
            return format!("{}{name}", bytes / unit);
        }
    }
    format!("{bytes}")
}

/// A value as text for an axis: 0.1, 20, 10 000, 200 k, 5 M.
fn number(value: f64) -> String {
    let round = |value: f64| (value * 1e6).round() / 1e6;
    match value.abs() {
        big if big >= 999_999.5 => format!("{} M", round(value / 1e6)),
        big if big >= 99_999.5 => format!("{} k", round(value / 1e3)),
        big if big >= 9_999.5 => format!("{} {:03}", (value / 1e3) as i64, (value.abs() % 1e3) as i64),
        _ => format!("{}", round(value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis) -> Vec<&str> {
        axis.ticks.iter().map(|(_, label)| label.as_str()).collect()
    }

    #[test]
    fn sizes_have_powers_of_two() {
        let axis = Axis::over(Scale::Bytes, &[1.0, 4_194_304.0]);
        assert_eq!(labels(&axis), ["1", "16", "256", "4 Ki", "64 Ki", "1 Mi"]);
        assert!(axis.low < 0.0 && axis.high > 22.0);
        assert_eq!(axis.label(axis.position(4096.0)), "4 Ki");
    }

    #[test]
    fn size_zero_has_a_place_of_its_own() {
        let axis = Axis::over(Scale::Bytes, &[0.0, 1.0, 1024.0]);
        assert_eq!(axis.label(axis.position(0.0)), "0");
        assert!(axis.low < axis.position(0.0) && axis.position(0.0) < axis.position(1.0));
        for one in [1.0, 3.0, 5.0, 1000.0] {
            let two = Axis::over(Scale::Bytes, &[0.0, one]);
            assert!(labels(&two).len() >= 2 && labels(&two).contains(&"0"), "{one}: {:?}", labels(&two));
        }
        let alone = Axis::over(Scale::Bytes, &[0.0]);
        assert_eq!(labels(&alone), ["0"]);
        assert!(alone.low < alone.position(0.0) && alone.position(0.0) < alone.high);
    }

    #[test]
    fn one_value_has_an_axis_with_a_tick() {
        for value in [0.003, 0.7, 1.0, 3.3, 42.0, 1e6] {
            for scale in [Scale::Log, Scale::Linear, Scale::Bytes] {
                let value = if scale == Scale::Bytes { f64::ceil(value) } else { value };
                let axis = Axis::over(scale, &[value]);
                assert!(!axis.ticks.is_empty(), "{scale:?} {value}");
                assert!(axis.low < axis.position(value) && axis.position(value) < axis.high, "{scale:?} {value}");
            }
        }
    }

    #[test]
    fn values_have_decades_or_round_steps() {
        assert_eq!(labels(&Axis::over(Scale::Log, &[0.5, 20_000.0])), ["1", "10", "100", "1000", "10 000"]);
        assert_eq!(labels(&Axis::over(Scale::Log, &[1.0, 9.0])), ["1", "2", "5"]);
        assert_eq!(labels(&Axis::over(Scale::Linear, &[0.9, 1.4])), ["0", "0.25", "0.5", "0.75", "1", "1.25"]);
        assert_eq!(labels(&Axis::over(Scale::Linear, &[100.0])), ["0", "20", "40", "60", "80", "100"]);
        assert_eq!(number(12_000_000.0), "12 M");
    }
}
