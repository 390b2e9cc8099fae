//! Hawser's probable choice between two hosts, from what was measured and by Hawser's own rules (docs/hosts.md;
//! `dev-ether`, wishes; `link`, pace).
//!
//! No I/O. A job measures again, with its own traffic. Used by `command`; uses no other module.

use super::pair::{Pair, Way};
use hawser_dev_ether::Method;

/// The rate up to which a network counts as slow, so that raw frames carry bulk too (`link`, pace).
const SLOW_GBYTE_S: f64 = 0.15;

/// Lines for people; none where no path passes, or not all is known.
pub fn of(pair: &Pair) -> Vec<String> {
    if pair.cut_off.is_some() {
        return Vec::new();
    }
    let passing: Vec<&Way> = pair.ways.iter().filter(|way| way.carries()).collect();
    let Some(quickest) = short(&passing) else { return Vec::new() };
    let mut lines = vec![format!(
        "short messages by {}{}",
        place(quickest),
        half_us(quickest).map_or_else(String::new, |half_us| format!(", {half_us:.1} us half a round trip"))
    )];
    let rails = joined(&passing);
    let bulk: Vec<(&Way, f64)> = rails.iter().filter_map(|rails| bulk(&passing, rails)).collect();
    let told = bulk.iter().map(|(way, rate)| format!("{} ({})", place(way), rate_text(*rate)));
    match bulk.len() {
        0 => lines.push("bulk by whatever carries it: none was measured".into()),
        1 => lines.extend(told.map(|told| format!("bulk by {told}"))),
        count => {
            let sum: f64 = bulk.iter().map(|(_, rate)| rate).sum();
            let told = told.collect::<Vec<_>>().join(" and ");
            lines.push(format!("bulk over {count} ways at once: {told}; {} if the hosts keep up", rate_text(sum)));
        }
    }
    lines
}

/// The best kind of port that passes; of several such the fastest.
pub fn short<'a>(passing: &[&'a Way]) -> Option<&'a Way> {
    let method = |way: &Way| Method::ALL.into_iter().find(|method| method.name() == way.method);
    let grade = |way: &Way| method(way).map(Method::grade);
    let time = |way: &Way| half_us(way).unwrap_or(f64::INFINITY);
    passing.iter().copied().min_by(|a, b| grade(a).cmp(&grade(b)).then(time(a).total_cmp(&time(b))))
}

/// The pairs of rails between which some path passes; each rail once.
fn joined(passing: &[&Way]) -> Vec<[String; 2]> {
    let mut rails: Vec<[String; 2]> = Vec::new();
    for way in passing {
        if !rails.iter().any(|[one, other]| *one == way.rails[0] || *other == way.rails[1]) {
            rails.push(way.rails.clone());
        }
    }
    rails
}

/// The path that carries bulk best between two rails, and its rate in the slower direction.
fn bulk<'a>(passing: &[&'a Way], rails: &[String; 2]) -> Option<(&'a Way, f64)> {
    let of_rails = || passing.iter().copied().filter(|way| way.rails == *rails);
    let rates = || of_rails().filter_map(|way| Some((way, rate(way)?)));
    let best =
        rates().filter(|(way, _)| matches!(way.method.as_str(), "udp" | "stream")).max_by(|a, b| a.1.total_cmp(&b.1));
    let raw = || rates().filter(|(way, _)| way.is_raw_ethernet()).max_by(|a, b| a.1.total_cmp(&b.1));
    match best {
        Some((_, rate)) if rate < SLOW_GBYTE_S => raw().or(best),
        Some(_) => best,
        None => rates().max_by(|a, b| a.1.total_cmp(&b.1)),
    }
}

/// Formats a rate with about three digits.
pub fn rate_text(gbyte_s: f64) -> String {
    match gbyte_s * 1e3 {
        mbyte_s @ 1000.0.. => format!("{:.2} GB/s", mbyte_s / 1e3),
        mbyte_s @ 10.0.. => format!("{mbyte_s:.0} MB/s"),
        mbyte_s => format!("{mbyte_s:.2} MB/s"),
    }
}

fn rate(way: &Way) -> Option<f64> {
    let [there, back] = way.directions.map(|direction| direction.figures.and_then(|figures| figures.gbyte_s));
    Some(there?.min(back?))
}

/// The half round trip of the slower direction.
fn half_us(way: &Way) -> Option<f64> {
    let [there, back] = way.directions.map(|direction| direction.figures.and_then(|figures| figures.half_us));
    Some(there?.max(back?))
}

fn place(way: &Way) -> String {
    let [one, other] = &way.rails;
    if one == other { format!("{} over {one}", way.method) } else { format!("{} over {one} - {other}", way.method) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::orders::{Figures, Heard};
    use crate::doctor::pair::Direction;

    fn way(method: &str, rail: &str, half_us: f64, gbyte_s: f64) -> Way {
        let figures = Figures { half_us: Some(half_us), gbyte_s: Some(gbyte_s), ..Figures::default() };
        let direction = Direction { heard: Heard { frames: 3, refused: None }, figures: Some(figures), answered: None };
        Way { method: method.into(), rails: [rail.into(), rail.into()], directions: [direction; 2], ..Way::default() }
    }

    fn chosen(ways: Vec<Way>) -> String {
        of(&Pair { ways, ..Pair::default() }).join("; ")
    }

    #[test]
    fn short_messages_take_the_best_port_that_passes_and_bulk_the_fastest() {
        let all = vec![way("packet", "eth0", 2.0, 0.6), way("udp", "eth0", 4.0, 5.0), way("stream", "eth0", 9.0, 3.0)];
        let told = chosen(all.clone());
        assert_eq!(
            told,
            "short messages by packet over eth0, 2.0 us half a round trip; bulk by udp over eth0 (5.00 GB/s)"
        );
        let no_raw = all.into_iter().skip(1).collect();
        assert!(chosen(no_raw).starts_with("short messages by udp over eth0, 4.0 us"));
        assert_eq!(chosen(Vec::new()), "");
    }

    #[test]
    fn rails_add_up_and_the_quickest_takes_short_messages() {
        let all = vec![
            way("packet", "eth0", 3.0, 0.6),
            way("udp", "eth0", 5.0, 1.0),
            way("packet", "eth1", 2.0, 0.6),
            way("udp", "eth1", 5.0, 2.0),
        ];
        let told = chosen(all);
        assert!(told.starts_with("short messages by packet over eth1, 2.0 us"), "{told}");
        assert!(
            told.contains(
                "bulk over 2 ways at once: udp over eth0 (1.00 GB/s) and udp over eth1 (2.00 GB/s); 3.00 GB/s"
            ),
            "{told}"
        );
    }

    #[test]
    fn on_a_slow_network_raw_frames_carry_bulk() {
        let told = chosen(vec![way("packet", "eth0", 30.0, 0.11), way("udp", "eth0", 35.0, 0.12)]);
        assert!(told.ends_with("bulk by packet over eth0 (110 MB/s)"), "{told}");
    }

    #[test]
    fn slow_rates_are_told_in_units_that_show_them() {
        assert_eq!([7.52, 1.0, 0.35, 0.00125].map(rate_text), ["7.52 GB/s", "1.00 GB/s", "350 MB/s", "1.25 MB/s"]);
        let cut_off = Some(crate::doctor::hosts::Lost::Interrupted);
        assert!(of(&Pair { ways: vec![way("udp", "eth0", 2.0, 1.0)], cut_off, ..Pair::default() }).is_empty());
    }

    #[test]
    fn what_passes_one_way_only_is_not_chosen() {
        let mut deaf = way("packet", "eth0", 2.0, 0.6);
        deaf.directions[1].heard.frames = 0;
        assert!(chosen(vec![deaf, way("udp", "eth0", 4.0, 1.0)]).starts_with("short messages by udp"));
    }
}
