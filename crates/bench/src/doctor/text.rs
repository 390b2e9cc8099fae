//! The text of what the doctor found, in lines for people.
//!
//! It does no I/O. Used by `command`; uses `record`, `prediction` and `sanitize`.

use super::check_result::{Finding, Verdict};
use super::pair::{HostPair, PathRecord};
use super::prediction::rate_text;
use super::record::{DoctorRecord, HostRecord, PairRecord};
use super::sanitize::sanitized;
use std::fmt::Write;

pub fn host_text(host: &HostRecord) -> String {
    let Some(facts) = &host.facts else {
        return format!("host {}: not tested\n", host.name);
    };
    let own = if facts.name == host.name { String::new() } else { format!(" ({})", facts.name) };
    let heading = format!("host {}{own}: Linux {}, Hawser {}", host.name, facts.kernel, facts.version);
    host.findings.iter().fold(sanitized(&heading) + "\n", |text, finding| text + &finding_line(finding))
}

fn finding_line(finding: &Finding) -> String {
    sanitized(&format!("  {} {:<15} {}", mark(finding.verdict), finding.name, finding.found)) + "\n"
}

fn mark(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Well => "      ",
        Verdict::Advice => "advice",
        Verdict::Broken => "BROKEN",
    }
}

pub fn pair_text(record: &PairRecord) -> String {
    let pair = &record.pair;
    let mut text = format!("{} - {}\n", pair.hosts[0], pair.hosts[1]);
    let shown: Vec<&PathRecord> = pair.ways.iter().filter(|path| pair.is_shown(path)).collect();
    if !shown.is_empty() {
        let _ = writeln!(
            text,
            "  {:<11} {:<15} {:<17} {:>11} {:>13} {:>12} {:>10}",
            "port", "rails", "direction", "half RTT", "frame", "lost", "bulk"
        );
    }
    for path in shown {
        text += &direction_line(pair, path, 0);
        text += &direction_line(pair, path, 1);
    }
    for finding in &record.findings {
        text += &finding_line(finding);
    }
    for choice in &record.choice {
        let _ = writeln!(text, "  Hawser would choose: {choice}");
    }
    text
}

fn direction_line(pair: &HostPair, path: &PathRecord, from: usize) -> String {
    let found = &path.directions[from];
    let to = 1 - from;
    let names = format!("{} -> {}", pair.hosts[from], pair.hosts[to]);
    let rails = format!("{} - {}", path.rails[from], path.rails[to]);
    let begin = format!("  {:<11} {rails:<15} {names:<17}", path.method);
    let Some(figures) = found.figures else {
        let status = match found.heard.frames {
            0 => "nothing arrives",
            _ if pair.cut_off.is_some() => "passes, not measured",
            _ => "passes, but no reply arrives",
        };
        return sanitized(&format!("{begin} {status}")) + "\n";
    };
    let half = figures.half_us.map_or_else(|| "-".into(), |half_us| format!("{half_us:.1} us"));
    let frame = match figures.largest {
        Some(largest) if largest == figures.frame => format!("{largest}"),
        Some(largest) => format!("{largest} of {}", figures.frame),
        None => format!("not {}", figures.frame),
    };
    let lost = found.lost_frames().map_or_else(|| "-".into(), |(lost, of)| format!("{lost} of {of}"));
    let bulk = figures.gbyte_s.map_or_else(|| "-".into(), rate_text);
    let bulk_lost = if figures.bulk_lost > 0 { format!(", {} lost", figures.bulk_lost) } else { String::new() };
    sanitized(&format!("{begin} {half:>11} {frame:>13} {lost:>12} {bulk:>10}{bulk_lost}")) + "\n"
}

/// The changes to make, of all hosts and pairs; a change that is the same for several is printed once.
pub fn remedies_text(record: &DoctorRecord) -> String {
    let mut entries: Vec<(Vec<String>, &Finding)> = Vec::new();
    for (subject, finding) in record.remedies() {
        match entries.iter_mut().find(|(_, other)| other.found == finding.found && other.change == finding.change) {
            Some((subjects, _)) => subjects.push(subject),
            None => entries.push((vec![subject], finding)),
        }
    }
    if entries.is_empty() {
        let nothing = if record.complete { "none" } else { "none so far, but not everything was tested" };
        return format!("suggested changes: {nothing}\n");
    }
    entries.sort_by_key(|(_, finding)| std::cmp::Reverse(finding.verdict));
    let lines = entries.iter().enumerate().map(|(at, (subjects, finding))| {
        let found = format!("  {}. {}: {}", at + 1, subjects.join(", "), finding.found);
        let change = finding
            .change
            .as_ref()
            .map(|change| [format!("     change: {}", change.how), format!("     effect: {}", change.gives)]);
        std::iter::once(found)
            .chain(change.into_iter().flatten())
            .map(|line| sanitized(&line) + "\n")
            .collect::<String>()
    });
    lines.fold("suggested changes\n".into(), |text, line| text + &line)
}

#[cfg(test)]
mod tests {
    use super::super::facts::DoctorFacts;
    use super::super::pair::DirectionRecord;
    use super::super::protocol::{PathFigures, ReceivedCount};
    use super::*;

    #[test]
    fn what_another_host_says_is_one_plain_line() {
        let facts = DoctorFacts { name: "b".into(), kernel: "6\u{1b}c\nBROKEN".into(), ..DoctorFacts::default() };
        let text = host_text(&HostRecord::examined("b", facts));
        let is_plain = |line: &str| line.starts_with("  ") && !line.contains(char::is_control);
        assert!(text.starts_with("host b: Linux 6\u{fffd}c\u{fffd}BROKEN, Hawser"), "{text}");
        assert!(text.lines().skip(1).all(is_plain), "{text}");
    }

    #[test]
    fn what_was_lost_in_bulk_and_what_was_not_measured_is_shown() {
        let figures = PathFigures { gbyte_s: Some(0.00125), bulk_lost: 18, ..PathFigures::default() };
        let measured = DirectionRecord {
            heard: ReceivedCount { frames: 3, refused: None },
            figures: Some(figures),
            answered: None,
        };
        let left = DirectionRecord { figures: None, ..measured };
        let path = PathRecord { neighbours: true, directions: [measured, left], ..PathRecord::default() };
        let cut_off = Some(super::super::hosts::HostError::Interrupted);
        let text = pair_text(&PairRecord::examined(HostPair { ways: vec![path], cut_off, ..HostPair::default() }));
        assert!(text.contains("1.25 MB/s, 18 lost\n") && text.contains("passes, not measured\n"), "{text}");
    }

    #[test]
    fn nothing_is_to_be_changed_only_if_all_was_examined() {
        let mut record = DoctorRecord::new();
        assert!(remedies_text(&record).contains("none so far, but not everything was tested"));
        record.complete = true;
        assert!(remedies_text(&record).contains("suggested changes: none\n"));
    }
}
