//! The tables of `hawser-bench npb`, in Markdown, as the paper of MPI/MBCF has them: times with speed-ups (tables 4.4
//! to 4.10), and the characteristics of the programs (table 4.3) with the methods by which their bytes went.
//!
//! It must not print; its caller does. Used by `command`; reads the `record`.

use super::program::{NpbProgram, ProblemClass};
use super::record::{Counted, NpbRecord};
use hawser_node::Counter;
use std::fmt::Write;

/// Returns all tables of a record, and its notes.
pub fn text(record: &NpbRecord) -> String {
    let mut out = String::new();
    for class in record.classes() {
        write_times(&mut out, record, class);
        write_comparison(&mut out, record, class);
        for library in record.libraries.iter().filter(|library| library.is_hawser) {
            write_characteristics(&mut out, record, class, &library.name);
        }
        write_methods(&mut out, record, class);
        if let Some(ours) = record.ours() {
            write_lengths(&mut out, record, class, ours);
        }
    }
    for note in &record.notes {
        let _ = writeln!(out, "note: {note}");
    }
    out
}

/// Writes a table: its title, its head and its rows; nothing if it has no rows.
fn write_table(out: &mut String, title: &str, heads: &[String], rows: &[Vec<String>]) {
    if rows.is_empty() {
        return;
    }
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let rule = vec!["--".to_string(); heads.len()];
    let rows: String = rows.iter().map(|row| line(row)).collect();
    let _ = write!(out, "{title}\n\n{}{}{rows}\n", line(heads), line(&rule));
}

fn heads(first: &[&str], ranks: &[u32]) -> Vec<String> {
    let ranks = ranks.iter().map(|ranks| if *ranks == 1 { "1 rank".into() } else { format!("{ranks} ranks") });
    first.iter().map(|head| (*head).to_string()).chain(ranks).collect()
}

fn write_times(out: &mut String, record: &NpbRecord, class: ProblemClass) {
    let ranks = record.ranks(class);
    let mut rows = Vec::new();
    for program in record.programs(class) {
        for library in &record.libraries {
            let seconds = |ranks| record.seconds(&library.name, (program, class, ranks));
            let alone = seconds(1);
            let cell = |&ranks: &u32| {
                let Some(time) = seconds(ranks) else { return "-".to_string() };
                let speed_up = alone.map_or(String::new(), |alone| format!(" [{:.2}]", alone / time));
                format!("{}{speed_up}", figure(time))
            };
            let cells: Vec<String> = ranks.iter().map(cell).collect();
            if cells.iter().any(|cell| cell != "-") {
                rows.push([vec![program.name().to_uppercase(), library.name.clone()], cells].concat());
            }
        }
    }
    let title = format!("Class {}: time in seconds, and in brackets the speed-up over one rank", class.name());
    write_table(out, &title, &heads(&["program", "library"], &ranks), &rows);
}

/// Writes the time of the first Hawser library over that of the fastest other one, and its geometric mean.
fn write_comparison(out: &mut String, record: &NpbRecord, class: ProblemClass) {
    let Some(ours) = record.ours() else { return };
    let ranks = record.ranks(class);
    let ratio = |program: NpbProgram, ranks: u32| {
        let of = (program, class, ranks);
        let best = record.others().filter_map(|other| Some((record.mop_s(other, of)?, other)));
        let (best, name) = best.max_by(|a, b| a.0.total_cmp(&b.0))?;
        Some((best / record.mop_s(ours, of)?, name))
    };
    let programs = record.programs(class);
    let cell = |ratio: Option<(f64, &str)>| ratio.map_or("-".into(), |(ratio, name)| format!("{ratio:.3} ({name})"));
    let mut rows: Vec<Vec<String>> = Vec::new();
    for &program in &programs {
        let cells = ranks.iter().map(|&ranks| cell(ratio(program, ranks)));
        rows.push([program.name().to_uppercase()].into_iter().chain(cells).collect());
    }
    let mean = |&ranks: &u32| {
        let logs: Vec<f64> = programs.iter().filter_map(|&program| Some(ratio(program, ranks)?.0.ln())).collect();
        if logs.is_empty() {
            "-".into()
        } else {
            format!("{:.3}", (logs.iter().sum::<f64>() / logs.len() as f64).exp())
        }
    };
    rows.push(["geometric mean".to_string()].into_iter().chain(ranks.iter().map(mean)).collect());
    if record.others().next().is_some() {
        let title = format!(
            "Class {}: time of {ours} over that of the fastest other library, in brackets (below 1 {ours} is faster)",
            class.name()
        );
        write_table(out, &title, &heads(&["program"], &ranks), &rows);
    }
}

/// The counters of a library for a program, on the most ranks on which it ran.
fn counted(record: &NpbRecord, class: ProblemClass, program: NpbProgram, library: &str) -> Option<(u32, Counted)> {
    let of_ranks = |&ranks: &u32| Some((ranks, record.counted(library, (program, class, ranks))?));
    record.ranks(class).iter().rev().find_map(of_ranks)
}

/// Writes the paper's table 4.3 for a Hawser library, beside the paper's own figures.
fn write_characteristics(out: &mut String, record: &NpbRecord, class: ProblemClass, library: &str) {
    let head = [
        "program",
        "ranks",
        "Mbyte/s",
        "messages/s",
        "bytes in reply to an RTR, %",
        "found their receive posted, %",
        "never lay in the library's memory, %",
        "RTRs sent",
        "of these stale",
        "paper: Mbyte/s",
        "paper: messages/s",
        "paper: availability, %",
    ];
    let mut rows = Vec::new();
    for program in record.programs(class) {
        let Some((ranks, counted)) = counted(record, class, program, library) else { continue };
        let bytes = counted.bytes();
        let sent: u64 = bytes.by_length().iter().map(|(_, bytes, _)| bytes).sum();
        let messages: u64 = bytes.by_length().iter().map(|(messages, ..)| messages).sum();
        let received = bytes.received();
        let mut row = vec![program.name().to_uppercase(), ranks.to_string()];
        row.extend([figure(sent as f64 / 1e6 / counted.elapsed_s), figure(messages as f64 / counted.elapsed_s)]);
        row.push(percent(bytes.of(Counter::BytesReplied), sent));
        row.extend([percent(received.posted, received.all), percent(received.direct, received.all)]);
        row.extend([Counter::RtrsSent, Counter::RtrsRefused].map(|counter| bytes.of(counter).to_string()));
        let paper = program.paper().map(|row| [row.mbyte_s, row.messages_s, row.availability]);
        row.extend(paper.map_or_else(|| vec!["-".into(); 3], |row| row.map(|value| value.to_string()).to_vec()));
        rows.push(row);
    }
    let title = format!(
        "Class {}: messages on {library}, per second of the whole job; the paper's are of class W on 8 or 9 processes",
        class.name()
    );
    write_table(out, &title, &head.map(String::from), &rows);
}

/// Writes the shares of bytes by the method by which they were sent, for each Hawser library.
fn write_methods(out: &mut String, record: &NpbRecord, class: ProblemClass) {
    let mut head = ["program", "library", "ranks"].map(String::from).to_vec();
    let mut rows = Vec::new();
    for program in record.programs(class) {
        for library in record.libraries.iter().filter(|library| library.is_hawser) {
            let Some((ranks, counted)) = counted(record, class, program, &library.name) else { continue };
            let by_method = counted.bytes().by_method();
            let sent = by_method.iter().map(|(bytes, _)| bytes).sum();
            head.truncate(3);
            head.extend(by_method.iter().map(|(_, method)| (*method).to_string()));
            let row = vec![program.name().to_uppercase(), library.name.clone(), ranks.to_string()];
            rows.push([row, by_method.iter().map(|&(bytes, _)| percent(bytes, sent)).collect()].concat());
        }
    }
    write_table(out, &format!("Class {}: bytes sent by each method, %", class.name()), &head, &rows);
}

/// Writes messages and bytes per second by length.
fn write_lengths(out: &mut String, record: &NpbRecord, class: ProblemClass, library: &str) {
    let mut head = vec!["program".to_string(), "ranks".to_string()];
    let mut rows = Vec::new();
    for program in record.programs(class) {
        let Some((ranks, counted)) = counted(record, class, program, library) else { continue };
        let by_length = counted.bytes().by_length();
        head.truncate(2);
        head.extend(by_length.iter().map(|(.., length)| (*length).to_string()));
        let per_s = |count: u64| count as f64 / counted.elapsed_s;
        let cell = |&(messages, bytes, _): &(u64, u64, &str)| match messages {
            0 => "-".to_string(),
            _ => format!("{} ({})", figure(per_s(messages)), figure(per_s(bytes) / 1e6)),
        };
        rows.push(
            [vec![program.name().to_uppercase(), ranks.to_string()], by_length.iter().map(cell).collect()].concat(),
        );
    }
    let title = format!("Class {}: messages per second by length on {library}, in brackets Mbyte/s", class.name());
    write_table(out, &title, &head, &rows);
}

fn percent(part: u64, whole: u64) -> String {
    if whole == 0 { "-".into() } else { format!("{:.2}", part.min(whole) as f64 * 100.0 / whole as f64) }
}

/// Returns a figure with three significant digits, and at most five behind the point.
fn figure(value: f64) -> String {
    match value {
        _ if value >= 100.0 => format!("{value:.0}"),
        _ if value >= 10.0 => format!("{value:.1}"),
        _ if value >= 1.0 => format!("{value:.2}"),
        _ if value >= 0.1 || value == 0.0 => format!("{value:.3}"),
        _ if value >= 0.01 => format!("{value:.4}"),
        _ => format!("{value:.5}"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::record::{FORMAT, JobRecord, LibraryRecord};
    use super::*;
    use crate::record::MachineInfo;

    fn job(library: &str, program: NpbProgram, ranks: u32, seconds: f64, mop_s: f64) -> JobRecord {
        let counted = [("bytes sent", 4_000_000), ("messages sent eagerly", 1000), ("bytes received", 4_000_000)];
        let long = [("messages of 1 to 8 KiB", 600), ("bytes in messages of 1 to 8 KiB", 3_000_000)];
        let replied = [("bytes sent in reply to an RTR", 1_000_000), ("RTRs sent", 9), ("RTRs refused as stale", 2)];
        let counters = counted.into_iter().chain(long).chain(replied);
        let is_counted = library.starts_with("hawser") && ranks > 1;
        JobRecord {
            library: library.into(),
            program,
            class: ProblemClass::W,
            ranks,
            seconds,
            mop_s,
            elapsed_s: 2.0,
            counters: counters.filter(|_| is_counted).map(|(name, count)| (name.into(), count)).collect(),
        }
    }

    fn record(jobs: Vec<JobRecord>) -> NpbRecord {
        NpbRecord {
            format: FORMAT,
            command: "hawser-bench npb".into(),
            date: String::new(),
            machine: MachineInfo::default(),
            complete: false,
            notes: vec!["mpich, is.W on 2 ranks: it ended".into()],
            libraries: [("hawser", true), ("mpich", false), ("impi", false)]
                .map(|(name, is_hawser)| LibraryRecord { name: name.into(), is_hawser })
                .into(),
            jobs,
        }
    }

    #[test]
    fn times_have_the_resolution_of_the_rates() {
        let mg = |library, ranks, seconds, mop_s| job(library, NpbProgram::Mg, ranks, seconds, mop_s);
        let text = text(&record(vec![
            mg("hawser", 1, 4.0, 100.0),
            mg("hawser", 2, 0.02, 16_000.0),
            mg("hawser", 2, 0.03, 12_500.0),
            mg("hawser", 2, 0.03, 10_000.0),
            mg("mpich", 2, 0.05, 8000.0),
            mg("impi", 2, 0.04, 10_000.0),
        ]));
        for line in [
            "| program | library | 1 rank | 2 ranks |",
            "| MG | hawser | 4.00 [1.00] | 0.0320 [125.00] |",
            "| MG | mpich | - | 0.0500 |",
            "| MG | - | 0.800 (impi) |",
            "| geometric mean | - | 0.800 |",
            "note: mpich, is.W on 2 ranks: it ended",
        ] {
            assert!(text.lines().any(|other| other == line), "{line}\n{text}");
        }
    }

    #[test]
    fn messages_stand_beside_those_of_the_paper() {
        let text = text(&record(vec![
            job("hawser", NpbProgram::Cg, 2, 1.0, 10.0),
            job("hawser", NpbProgram::Cg, 1, 1.0, 10.0),
            job("hawser", NpbProgram::Ft, 2, 1.0, 10.0),
            job("mpich", NpbProgram::Cg, 2, 1.0, 10.0),
        ]));
        for line in [
            "| CG | 2 | 2.00 | 500 | 25.00 | 100.00 | 0.00 | 9 | 2 | 12.69 | 2138 | 53.33 |",
            "| FT | 2 | 2.00 | 500 | 25.00 | 100.00 | 0.00 | 9 | 2 | - | - | - |",
            "| program | library | ranks | eagerly in one packet | streamed eagerly | in reply to an RTR \
             | by rendezvous in packets | exposed to the receiver | written to the receive buffer |",
            "| CG | hawser | 2 | 75.00 | 0.00 | 25.00 | 0.00 | 0.00 | 0.00 |",
            "| program | ranks | of at most 64 B | of 65 B to 1 KiB | of 1 to 8 KiB | of 8 to 64 KiB | of 64 KiB to 1 MiB \
             | above 1 MiB |",
            "| CG | 2 | 200 (0.500) | - | 300 (1.50) | - | - | - |",
        ] {
            assert!(text.lines().any(|other| other == line), "{line}\n{text}");
        }
    }
}
