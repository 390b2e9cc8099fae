//! `hawser-bench`: what the machine and the network can do, what each library delivers over them, and why
//! (NetPIPE's method: measure each layer, and each library against the layer under it).
//!
//! The command line; the work is in the modules: `command` (run), `explain`, `report`, `import` (other tools'
//! results), `tune`, `doctor`, `npb` (programs of others), and `net` (the frame ports in detail).

#![forbid(unsafe_code)]

mod atomic_file;
mod buffers;
mod command;
mod doctor;
mod explain;
mod import;
mod layer;
mod library;
#[cfg(test)]
mod man_pages;
mod measured_system;
mod net;
mod npb;
mod pattern_driver;
mod process_output;
mod record;
mod remote_process;
mod report;
mod run;
mod sample;
mod sizes;
mod task;
mod testbed;
mod tune;
mod worker;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

#[derive(Parser)]
#[command(
    name = "hawser-bench",
    version,
    about = "Measure MPI libraries and the raw layers below them, in alternating rounds"
)]
struct CommandLine {
    #[command(subcommand)]
    what: BenchCommand,
}

#[derive(Subcommand)]
enum BenchCommand {
    /// Measure libraries and raw layers in one run, in alternating rounds, and write a report
    Run(command::RunOptions),
    /// Report how much slower a library or layer is than the one below it, and at which sizes
    Explain(explain::command::ExplainOptions),
    /// Make tables, graphs and an HTML page from the records of runs
    Report(report::ReportOptions),
    /// Convert output of NetPIPE, the OSU micro-benchmarks or IMB into a record for `report`, like those of `run`
    Import(import::command::ImportOptions),
    /// Measure which parameter values are better than the defaults on this machine, and write them to its profile
    Tune(tune::command::TuneOptions),
    /// Measure the frame ports in detail, between two network namespaces that a cable (veth) connects
    Net {
        /// The cable's MTU
        #[arg(long, default_value_t = 1500, value_parser = clap::value_parser!(u16).range(1280..=9216))]
        mtu: u16,
        /// Rows to measure, for example packet,udp,group-64 (default: each port once)
        #[arg(long, value_delimiter = ',', value_parser = net::ROWS.iter().map(|row| row.name).collect::<Vec<_>>())]
        rows: Vec<String>,
        /// Repetitions of each figure; the median is printed
        #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..=1000))]
        repetitions: u32,
    },
    /// Run the NAS Parallel Benchmarks on each library, in turns, and show how their messages went
    Npb(npb::command::NpbOptions),
    /// Test hosts and the paths between them before a job: report Hawser's choice of paths, and what to improve
    Doctor(doctor::command::DoctorOptions),
    /// The process of `doctor` on a host
    #[command(hide = true)]
    DoctorWorker,
    /// The other process of `net`
    #[command(hide = true)]
    NetFar,
    /// The process that runs a raw layer of `run`
    #[command(hide = true)]
    Worker {
        layer: String,
        #[arg(long)]
        far: bool,
    },
}

fn main() -> ExitCode {
    let (name, result) = match CommandLine::parse().what {
        BenchCommand::Run(options) => ("run", command::run(&options).map(|(_, code)| code)),
        BenchCommand::Explain(options) => ("explain", explain::command::run(&options)),
        BenchCommand::Import(options) => ("import", exit_code(import::command::run(&options))),
        BenchCommand::Tune(options) => ("tune", tune::command::run(&options)),
        BenchCommand::Report(arguments) => ("report", exit_code(report::command(arguments))),
        BenchCommand::Net { mtu, rows, repetitions } => {
            ("net", exit_code(net::run_local(usize::from(mtu), &rows, repetitions as usize)))
        }
        BenchCommand::Npb(options) => ("npb", npb::command::run(&options)),
        BenchCommand::Doctor(options) => ("doctor", doctor::command::run(&options)),
        BenchCommand::DoctorWorker => ("doctor", exit_code(doctor::serve())),
        BenchCommand::NetFar => ("net", exit_code(net::run_remote())),
        BenchCommand::Worker { layer, far } => ("worker", exit_code(run_worker(&layer, far))),
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
fn exit_code(result: Result<(), impl std::fmt::Display>) -> Result<u8, String> {
    result.map(|()| 0).map_err(|error| error.to_string())
}

fn run_worker(name: &str, is_remote: bool) -> std::io::Result<()> {
    let entry =
        layer::LayerEntry::by_name(name).ok_or_else(|| std::io::Error::other(format!("there is no layer {name}")))?;
    if is_remote { worker::run_remote(entry) } else { worker::run_local(entry) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    /// A release build does not check the options, and an unchecked one may take one option for another.
    #[test]
    fn the_commands_and_their_options_go_together() {
        CommandLine::command().debug_assert();
    }
}
