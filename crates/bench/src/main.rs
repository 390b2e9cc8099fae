//! `hawser-bench`: what the machine and the network can do, what each library delivers over them, and why (NetPIPE's method: measure
//! each layer, and each library against the layer under it).
//!
//! The command line; the work is in the modules: `command` (run), `explain`, `report`, `import` (other tools' results), `tune`,
//! `doctor`, and `net` (the frame ports in detail).

#![forbid(unsafe_code)]

mod buffers;
mod command;
mod doctor;
mod duet;
mod explain;
mod far;
mod hex;
mod import;
mod layer;
mod library;
mod net;
mod place;
mod record;
mod report;
mod run;
mod said;
mod sample;
mod sizes;
mod system;
mod task;
mod tune;
mod whole;
mod worker;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

#[derive(Parser)]
#[command(name = "hawser-bench", version, about = "Measures MPI libraries and the raw layers beneath them, in turns")]
struct Options {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Measures libraries and raw layers in one run, in turns, and writes a report
    Run(command::Options),
    /// Says how much is lost between a library or layer and the one beneath it, at which sizes
    Explain(explain::command::Options),
    /// Tables, graphs and a page from records of runs
    Report(report::Arguments),
    /// Turns what NetPIPE, OSU's micro-benchmarks or IMB wrote into a record like that of `run`, to be drawn with it
    Import(import::command::Options),
    /// Finds by measuring which parameters suit this machine better than their defaults, and writes them as its profile
    Tune(tune::command::Options),
    /// The frame ports in detail, between two processes on two hosts in network namespaces that a cable (veth) joins
    Net {
        /// The cable's MTU
        #[arg(long, default_value_t = 1500, value_parser = clap::value_parser!(u16).range(1280..=9216))]
        mtu: u16,
        /// Rows to measure, as in packet,udp,group-64; without it each port once
        #[arg(long, value_delimiter = ',', value_parser = net::ROWS.iter().map(|row| row.name).collect::<Vec<_>>())]
        rows: Vec<String>,
        /// Repetitions of each figure; the median is printed
        #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..=1000))]
        repetitions: u32,
    },
    /// Before a job: tests hosts and the ways between each two of them, says what Hawser would choose and what to change for more
    Doctor(doctor::command::Options),
    /// The process of `doctor` on a host
    #[command(hide = true)]
    DoctorWorker,
    /// The other process of `net`
    #[command(hide = true)]
    NetFar,
    /// The process in which a raw layer of `run` lives
    #[command(hide = true)]
    Worker {
        layer: String,
        #[arg(long)]
        far: bool,
    },
}

fn main() -> ExitCode {
    let (name, result) = match Options::parse().what {
        What::Run(options) => ("run", command::run(&options).map(|(_, code)| code)),
        What::Explain(options) => ("explain", explain::command::run(&options)),
        What::Import(options) => ("import", done(import::command::run(&options))),
        What::Tune(options) => ("tune", tune::command::run(&options)),
        What::Report(arguments) => ("report", done(report::command(arguments))),
        What::Net { mtu, rows, repetitions } => ("net", done(net::near(usize::from(mtu), &rows, repetitions as usize))),
        What::Doctor(options) => ("doctor", doctor::command::run(&options)),
        What::DoctorWorker => ("doctor", done(doctor::serve())),
        What::NetFar => ("net", done(net::far())),
        What::Worker { layer, far } => ("worker", done(work(&layer, far))),
    };
    result.map_or_else(
        |cause| {
            eprintln!("hawser-bench: {name}: {cause}");
            ExitCode::FAILURE
        },
        ExitCode::from,
    )
}

/// The exit code of a function that either succeeds or fails.
fn done(result: Result<(), impl std::fmt::Display>) -> Result<u8, String> {
    result.map(|()| 0).map_err(|error| error.to_string())
}

fn work(name: &str, far: bool) -> std::io::Result<()> {
    let row = layer::Row::named(name).ok_or_else(|| std::io::Error::other(format!("there is no layer {name}")))?;
    if far { worker::far(row) } else { worker::near(row) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    /// A release build does not check the options, and an unchecked one may take one option for another.
    #[test]
    fn the_commands_and_their_options_go_together() {
        Options::command().debug_assert();
    }
}
