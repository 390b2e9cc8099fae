//! What the doctor found, in lines for people.
//!
//! No I/O. Before it: `command`; after it: nothing.

use super::finding::{Finding, Verdict};
use super::pair::{Pair, Way};
use super::record::{Between, Host, Record};
use std::fmt::Write;

pub fn host(host: &Host) -> String {
    let Some(facts) = &host.facts else {
        return format!("host {}: not looked at\n", host.name);
    };
    let own = if facts.name == host.name { String::new() } else { format!(" ({})", facts.name) };
    let heading = format!("host {}{own}: Linux {}, Hawser {}\n", host.name, facts.kernel, facts.version);
    host.findings.iter().fold(heading, |text, finding| text + &line(finding))
}

fn line(finding: &Finding) -> String {
    format!("  {} {:<15} {}\n", mark(finding.verdict), finding.name, finding.found)
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
        let word = if found.heard.frames > 0 { "passes, and nothing comes back" } else { "nothing comes" };
        return format!("{begin} {word}\n");
    };
    let half = figures.half_us.map_or_else(|| "-".into(), |half_us| format!("{half_us:.1} us"));
    let frame = match figures.largest {
        Some(largest) if largest == figures.frame => format!("{largest}"),
        Some(largest) => format!("{largest} of {}", figures.frame),
        None => format!("not {}", figures.frame),
    };
    let lost = found.lost().map_or_else(|| "-".into(), |(lost, of)| format!("{lost} of {of}"));
    let bulk = figures.gbyte_s.map_or_else(|| "-".into(), |rate| format!("{rate:.2} GB/s"));
    format!("{begin} {half:>11} {frame:>13} {lost:>12} {bulk:>10}\n")
}

/// What to change, of all hosts and pairs; what is the same for several is told once.
pub fn changes(record: &Record) -> String {
    let mut told: Vec<(Vec<String>, &Finding)> = Vec::new();
    for (place, finding) in record.changes() {
        match told.iter_mut().find(|(_, other)| other.found == finding.found && other.change == finding.change) {
            Some((places, _)) => places.push(place),
            None => told.push((vec![place], finding)),
        }
    }
    if told.is_empty() {
        return "what to change for more: nothing that is known here\n".into();
    }
    told.sort_by_key(|(_, finding)| std::cmp::Reverse(finding.verdict));
    let lines = told.iter().enumerate().map(|(at, (places, finding))| {
        let change = finding
            .change
            .as_ref()
            .map(|change| format!("     change: {}\n     gives: {}\n", change.how, change.gives));
        format!("  {}. {}: {}\n{}", at + 1, places.join(", "), finding.found, change.unwrap_or_default())
    });
    lines.fold("what to change for more\n".into(), |text, line| text + &line)
}
