//! The text of what the doctor found, in lines for people.
//!
//! No I/O. Used by `command`; uses no other module than `choice`.

use super::choice::rate_text;
use super::finding::{Finding, Verdict};
use super::pair::{Pair, Way};
use super::plain::plain;
use super::record::{Between, Host, Record};
use std::fmt::Write;

pub fn host(host: &Host) -> String {
    let Some(facts) = &host.facts else {
        return format!("host {}: not looked at\n", host.name);
    };
    let own = if facts.name == host.name { String::new() } else { format!(" ({})", facts.name) };
    let heading = format!("host {}{own}: Linux {}, Hawser {}", host.name, facts.kernel, facts.version);
    host.findings.iter().fold(plain(&heading) + "\n", |text, finding| text + &line(finding))
}

fn line(finding: &Finding) -> String {
    plain(&format!("  {} {:<15} {}", mark(finding.verdict), finding.name, finding.found)) + "\n"
}

fn mark(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Well => "      ",
        Verdict::Advice => "advice",
        Verdict::Broken => "BROKEN",
    }
}

pub fn between(between: &Between) -> String {
    let pair = &between.pair;
    let mut text = format!("{} - {}\n", pair.hosts[0], pair.hosts[1]);
    let shown: Vec<&Way> = pair.ways.iter().filter(|way| pair.matters(way)).collect();
    if !shown.is_empty() {
        let _ = writeln!(
            text,
            "  {:<11} {:<15} {:<17} {:>11} {:>13} {:>12} {:>10}",
            "port", "rails", "direction", "half trip", "frame", "lost", "bulk"
        );
    }
    for way in shown {
        text += &direction(pair, way, 0);
        text += &direction(pair, way, 1);
    }
    for finding in &between.findings {
        text += &line(finding);
    }
    for choice in &between.choice {
        let _ = writeln!(text, "  Hawser would choose: {choice}");
    }
    text
}

fn direction(pair: &Pair, way: &Way, from: usize) -> String {
    let found = &way.directions[from];
    let to = 1 - from;
    let names = format!("{} -> {}", pair.hosts[from], pair.hosts[to]);
    let rails = format!("{} - {}", way.rails[from], way.rails[to]);
    let begin = format!("  {:<11} {rails:<15} {names:<17}", way.method);
    let Some(figures) = found.figures else {
        let word = match found.heard.frames {
            0 => "nothing comes",
            _ if pair.cut_off.is_some() => "passes, not measured",
            _ => "passes, and nothing comes back",
        };
        return plain(&format!("{begin} {word}")) + "\n";
    };
    let half = figures.half_us.map_or_else(|| "-".into(), |half_us| format!("{half_us:.1} us"));
    let frame = match figures.largest {
        Some(largest) if largest == figures.frame => format!("{largest}"),
        Some(largest) => format!("{largest} of {}", figures.frame),
        None => format!("not {}", figures.frame),
    };
    let lost = found.lost().map_or_else(|| "-".into(), |(lost, of)| format!("{lost} of {of}"));
    let bulk = figures.gbyte_s.map_or_else(|| "-".into(), rate_text);
    let bulk_lost = if figures.bulk_lost > 0 { format!(", {} lost", figures.bulk_lost) } else { String::new() };
    plain(&format!("{begin} {half:>11} {frame:>13} {lost:>12} {bulk:>10}{bulk_lost}")) + "\n"
}

/// The changes to make, of all hosts and pairs; a change that is the same for several is printed once.
pub fn changes(record: &Record) -> String {
    let mut told: Vec<(Vec<String>, &Finding)> = Vec::new();
    for (place, finding) in record.changes() {
        match told.iter_mut().find(|(_, other)| other.found == finding.found && other.change == finding.change) {
            Some((places, _)) => places.push(place),
            None => told.push((vec![place], finding)),
        }
    }
    if told.is_empty() {
        let nothing =
            if record.complete { "nothing that is known here" } else { "nothing so far, and not all was examined" };
        return format!("what to change for more: {nothing}\n");
    }
    told.sort_by_key(|(_, finding)| std::cmp::Reverse(finding.verdict));
    let lines = told.iter().enumerate().map(|(at, (places, finding))| {
        let found = format!("  {}. {}: {}", at + 1, places.join(", "), finding.found);
        let change = finding
            .change
            .as_ref()
            .map(|change| [format!("     change: {}", change.how), format!("     gives: {}", change.gives)]);
        std::iter::once(found).chain(change.into_iter().flatten()).map(|line| plain(&line) + "\n").collect::<String>()
    });
    lines.fold("what to change for more\n".into(), |text, line| text + &line)
}

#[cfg(test)]
mod tests {
    use super::super::facts::Facts;
    use super::super::orders::{Figures, Heard};
    use super::super::pair::Direction;
    use super::*;

    #[test]
    fn what_another_host_says_is_one_plain_line() {
        let facts = Facts { name: "b".into(), kernel: "6\u{1b}c\nBROKEN".into(), ..Facts::default() };
        let told = host(&Host::found("b", facts));
        let is_plain = |line: &str| line.starts_with("  ") && !line.contains(char::is_control);
        assert!(told.starts_with("host b: Linux 6\u{fffd}c\u{fffd}BROKEN, Hawser"), "{told}");
        assert!(told.lines().skip(1).all(is_plain), "{told}");
    }

    #[test]
    fn what_was_lost_in_bulk_and_what_was_not_measured_is_shown() {
        let figures = Figures { gbyte_s: Some(0.00125), bulk_lost: 18, ..Figures::default() };
        let measured = Direction { heard: Heard { frames: 3, refused: None }, figures: Some(figures), answered: None };
        let left = Direction { figures: None, ..measured };
        let way = Way { neighbours: true, directions: [measured, left], ..Way::default() };
        let cut_off = Some(super::super::hosts::Lost::Interrupted);
        let told = between(&Between::found(Pair { ways: vec![way], cut_off, ..Pair::default() }));
        assert!(told.contains("1.25 MB/s, 18 lost\n") && told.contains("passes, not measured\n"), "{told}");
    }

    #[test]
    fn nothing_is_to_be_changed_only_if_all_was_examined() {
        let mut record = Record::begun();
        assert!(changes(&record).contains("not all was examined"));
        record.complete = true;
        assert!(changes(&record).contains("nothing that is known here"));
    }
}
