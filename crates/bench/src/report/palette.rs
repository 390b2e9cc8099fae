//! Each system's colour, the same in all graphs of a report: Okabe and Ito's colours, which the colour-blind can
//! distinguish, for libraries and layers; greys for raw layers; the same colour for ours in every report.
//!
//! It must not give two systems one colour: `svg` finds a curve by it. Used by `graph`; uses the record.

use crate::record::{BenchmarkRecord, CurveLevel};

use super::group::OURS;

pub type Rgb = (u8, u8, u8);

/// Vermilion.
const OURS_COLOUR: Rgb = (213, 94, 0);
/// Blue, bluish green, reddish purple, sky blue, orange, yellow.
const COLOURS: [Rgb; 6] =
    [(0, 114, 178), (0, 158, 115), (204, 121, 167), (86, 180, 233), (230, 159, 0), (240, 228, 66)];
/// The darkest and the lightest grey that differ visibly from text and grid, and the widest step between two.
const GREYS: (usize, usize, usize) = (0x58, 0xB0, 0x24);

pub struct Palette(Vec<(String, Rgb)>);

impl Palette {
    pub fn of(record: &BenchmarkRecord) -> Self {
        let systems = |level: CurveLevel| {
            let mut found: Vec<&str> = Vec::new();
            for curve in record.curves.iter().filter(|curve| curve.floor == level) {
                if !found.contains(&curve.system.as_str()) {
                    found.push(&curve.system);
                }
            }
            found
        };
        let mut palette = Self(Vec::new());
        let coloured = [systems(CurveLevel::Library), systems(CurveLevel::Layer)].concat();
        let others = coloured.iter().filter(|system| **system != OURS);
        palette.add(OURS, OURS_COLOUR);
        for (i, system) in others.enumerate() {
            palette.add(system, colour(i));
        }
        let raw = systems(CurveLevel::Raw);
        for (i, system) in raw.iter().enumerate() {
            palette.add(system, grey(i, raw.len()));
        }
        palette
    }

    pub fn colour(&self, system: &str) -> Rgb {
        self.0.iter().find(|(name, _)| name == system).map_or(OURS_COLOUR, |(_, colour)| *colour)
    }

    /// Adds a system. A system that occurs at two levels (`CurveLevel`) keeps its first colour. If another system has
    /// the colour, it is changed by a step of blue.
    fn add(&mut self, system: &str, mut colour: Rgb) {
        if self.0.iter().any(|(name, _)| name == system) {
            return;
        }
        while self.0.iter().any(|(_, taken)| *taken == colour) {
            colour.2 = colour.2.wrapping_add(1);
        }
        self.0.push((system.to_owned(), colour));
    }
}

/// The colour of the given index; after the last one the first comes again, darker.
fn colour(i: usize) -> Rgb {
    let (r, g, b) = COLOURS[i % COLOURS.len()];
    let dark = 0.62_f64.powi((i / COLOURS.len()) as i32);
    let part = |value: u8| (f64::from(value) * dark) as u8;
    (part(r), part(g), part(b))
}

fn grey(i: usize, of: usize) -> Rgb {
    let (darkest, lightest, widest) = GREYS;
    let step = widest.min((lightest - darkest) / of.max(2).saturating_sub(1));
    let shade = (darkest + i * step) as u8;
    (shade, shade, shade)
}

#[cfg(test)]
mod tests {
    use super::super::example;
    use super::*;

    #[test]
    fn no_two_systems_share_a_colour() {
        let mut record = example::record(&["hawser"]);
        for i in 0..300 {
            let level = if i % 2 == 0 { CurveLevel::Library } else { CurveLevel::Raw };
            record
                .curves
                .push(crate::record::Curve { floor: level, ..example::curve(&format!("s{i}"), "pingpong", &[1]) });
        }
        let palette = Palette::of(&record);
        let mut colours: Vec<Rgb> = palette.0.iter().map(|(_, colour)| *colour).collect();
        assert_eq!(colours.len(), 301);
        colours.sort_unstable();
        colours.dedup();
        assert_eq!(colours.len(), 301);
    }

    #[test]
    fn ours_has_the_same_colour_in_any_company() {
        for systems in [&["hawser"][..], &["mpich", "hawser"], &["tcp", "mpich", "openmpi", "hawser"]] {
            assert_eq!(Palette::of(&example::record(systems)).colour("hawser"), OURS_COLOUR);
        }
    }
}
