//! Hawser's probable choice between two hosts, from what was measured and by Hawser's own rules (docs/hosts.md;
//! `dev-ether`, config; `link`, slow_network).
//!
//! It does no I/O. A job measures again, with its own traffic. Used by `record` and `text`; uses `pair`.

use super::pair::{HostPair, PathRecord};
use hawser_dev_ether::Method;

/// The rate below which a network counts as slow, so that raw frames carry bulk too (`link`, slow_network).
const SLOW_GBYTE_S: f64 = 0.15;

/// Returns the prediction in lines for people; no line if no path passes, or if the test was not completed.
pub fn text_lines(pair: &HostPair) -> Vec<String> {
    if pair.cut_off.is_some() {
        return Vec::new();
    }
    let passing: Vec<&PathRecord> = pair.ways.iter().filter(|path| path.is_measured()).collect();
    let Some(fastest) = best_for_short(&passing) else { return Vec::new() };
    let mut lines = vec![format!(
        "short messages by {}{}",
        path_text(fastest),
        half_us(fastest).map_or_else(String::new, |half_us| format!(", {half_us:.1} us half a round trip"))
    )];
    let rails = connected_rails(&passing);
    let bulk: Vec<(&PathRecord, f64)> = rails.iter().filter_map(|rails| best_for_bulk(&passing, rails)).collect();
    let texts = bulk.iter().map(|(path, rate)| format!("{} ({})", path_text(path), rate_text(*rate)));
    match bulk.len() {
        0 => lines.push("bulk: no path was measured".into()),
        1 => lines.extend(texts.map(|text| format!("bulk by {text}"))),
        count => {
            let sum: f64 = bulk.iter().map(|(_, rate)| rate).sum();
            let text = texts.collect::<Vec<_>>().join(" and ");
            lines.push(format!("bulk over {count} paths in parallel: {text}; {} if the hosts keep up", rate_text(sum)));
        }
    }
    lines
}

/// Returns the path with the best latency class; of several such paths the fastest.
pub fn best_for_short<'a>(passing: &[&'a PathRecord]) -> Option<&'a PathRecord> {
    let method = |path: &PathRecord| Method::ALL.into_iter().find(|method| method.name() == path.method);
    let latency_class = |path: &PathRecord| method(path).map(Method::latency_class);
    let time = |path: &PathRecord| half_us(path).unwrap_or(f64::INFINITY);
    passing.iter().copied().min_by(|a, b| latency_class(a).cmp(&latency_class(b)).then(time(a).total_cmp(&time(b))))
}

/// Returns the pairs of rails between which some path passes. No rail is in two pairs.
fn connected_rails(passing: &[&PathRecord]) -> Vec<[String; 2]> {
    let mut rails: Vec<[String; 2]> = Vec::new();
    for path in passing {
        if !rails.iter().any(|[one, other]| *one == path.rails[0] || *other == path.rails[1]) {
            rails.push(path.rails.clone());
        }
    }
    rails
}

/// Returns the path that carries bulk best between two rails, and its rate in the slower direction; None if no rate
/// is known.
fn best_for_bulk<'a>(passing: &[&'a PathRecord], rails: &[String; 2]) -> Option<(&'a PathRecord, f64)> {
    let of_rails = || passing.iter().copied().filter(|path| path.rails == *rails);
    let rates = || of_rails().filter_map(|path| Some((path, rate(path)?)));
    let best =
        rates().filter(|(path, _)| matches!(path.method.as_str(), "udp" | "stream")).max_by(|a, b| a.1.total_cmp(&b.1));
    let raw = || rates().filter(|(path, _)| path.is_raw_ethernet()).max_by(|a, b| a.1.total_cmp(&b.1));
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

fn rate(path: &PathRecord) -> Option<f64> {
    let [there, back] = path.directions.map(|direction| direction.figures.and_then(|figures| figures.gbyte_s));
    Some(there?.min(back?))
}

/// The half round trip of the slower direction.
fn half_us(path: &PathRecord) -> Option<f64> {
    let [there, back] = path.directions.map(|direction| direction.figures.and_then(|figures| figures.half_us));
    Some(there?.max(back?))
}

fn path_text(path: &PathRecord) -> String {
    let [one, other] = &path.rails;
    if one == other { format!("{} over {one}", path.method) } else { format!("{} over {one} - {other}", path.method) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::pair::DirectionRecord;
    use crate::doctor::protocol::{PathFigures, ReceivedCount};

    fn path(method: &str, rail: &str, half_us: f64, gbyte_s: f64) -> PathRecord {
        let figures = PathFigures { half_us: Some(half_us), gbyte_s: Some(gbyte_s), ..PathFigures::default() };
        let direction = DirectionRecord {
            heard: ReceivedCount { frames: 3, refused: None },
            figures: Some(figures),
            answered: None,
        };
        PathRecord {
            method: method.into(),
            rails: [rail.into(), rail.into()],
            directions: [direction; 2],
            ..PathRecord::default()
        }
    }

    fn prediction(paths: Vec<PathRecord>) -> String {
        text_lines(&HostPair { ways: paths, ..HostPair::default() }).join("; ")
    }

    #[test]
    fn short_messages_take_the_best_port_that_passes_and_bulk_the_fastest() {
        let all =
            vec![path("packet", "eth0", 2.0, 0.6), path("udp", "eth0", 4.0, 5.0), path("stream", "eth0", 9.0, 3.0)];
        let text = prediction(all.clone());
        assert_eq!(
            text,
            "short messages by packet over eth0, 2.0 us half a round trip; bulk by udp over eth0 (5.00 GB/s)"
        );
        let no_raw = all.into_iter().skip(1).collect();
        assert!(prediction(no_raw).starts_with("short messages by udp over eth0, 4.0 us"));
        assert_eq!(prediction(Vec::new()), "");
    }

    #[test]
    fn rails_add_up_and_the_quickest_takes_short_messages() {
        let all = vec![
            path("packet", "eth0", 3.0, 0.6),
            path("udp", "eth0", 5.0, 1.0),
            path("packet", "eth1", 2.0, 0.6),
            path("udp", "eth1", 5.0, 2.0),
        ];
        let text = prediction(all);
        assert!(text.starts_with("short messages by packet over eth1, 2.0 us"), "{text}");
        assert!(
            text.contains(
                "bulk over 2 paths in parallel: udp over eth0 (1.00 GB/s) and udp over eth1 (2.00 GB/s); 3.00 GB/s"
            ),
            "{text}"
        );
    }

    #[test]
    fn on_a_slow_network_raw_frames_carry_bulk() {
        let text = prediction(vec![path("packet", "eth0", 30.0, 0.11), path("udp", "eth0", 35.0, 0.12)]);
        assert!(text.ends_with("bulk by packet over eth0 (110 MB/s)"), "{text}");
    }

    #[test]
    fn slow_rates_are_told_in_units_that_show_them() {
        assert_eq!([7.52, 1.0, 0.35, 0.00125].map(rate_text), ["7.52 GB/s", "1.00 GB/s", "350 MB/s", "1.25 MB/s"]);
        let cut_off = Some(crate::doctor::hosts::HostError::Interrupted);
        assert!(
            text_lines(&HostPair { ways: vec![path("udp", "eth0", 2.0, 1.0)], cut_off, ..HostPair::default() })
                .is_empty()
        );
    }

    #[test]
    fn what_passes_one_way_only_is_not_chosen() {
        let mut deaf = path("packet", "eth0", 2.0, 0.6);
        deaf.directions[1].heard.frames = 0;
        assert!(prediction(vec![deaf, path("udp", "eth0", 4.0, 1.0)]).starts_with("short messages by udp"));
    }
}
