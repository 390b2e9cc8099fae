//! `hawser-bench`: what the machine itself can do, beneath every library (NetPIPE's method: measure each
//! layer, and each library against the layer under it).
//!
//! So far the raw floors of one machine: a cache line there and back, memory copies, the device's ring; and of a network: the frame ports.
//! All figures are half round trips or single copies in microseconds, medians of repetitions.

#![forbid(unsafe_code)]

mod line;
mod memcpy;
mod net;
mod record;
mod report;
mod ring;
mod sample;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "hawser-bench", version, about = "Measures the raw floors beneath message passing on this machine")]
struct Options {
    #[command(subcommand)]
    what: Option<What>,
    /// Repetitions of each figure; the median is printed
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..=1000))]
    repetitions: u32,
}

#[derive(Subcommand, Clone)]
enum What {
    /// One cache line there and back between two cores, halved
    Line,
    /// Copies within one core's memory
    Memcpy,
    /// Messages through the shared-memory device, without MPI above it
    Ring,
    /// Everything of one machine (the default)
    All,
    /// The frame ports, between two processes on two hosts in network namespaces that a cable (veth) joins
    Net {
        /// The cable's MTU
        #[arg(long, default_value_t = 1500, value_parser = clap::value_parser!(u16).range(1280..=9216))]
        mtu: u16,
        /// Rows to measure, as in packet,udp,group-64; without it each port once
        #[arg(long, value_delimiter = ',', value_parser = net::ROWS.iter().map(|row| row.name).collect::<Vec<_>>())]
        rows: Vec<String>,
    },
    /// Tables, graphs and a page from records of runs
    Report(report::Arguments),
    /// The other process of `net`
    #[command(hide = true)]
    NetFar,
}

fn main() {
    let options = Options::parse();
    let cores = hawser_os::cpus::allowed().unwrap_or_default();
    let repetitions = options.repetitions as usize;
    let what = options.what.unwrap_or(What::All);
    if let What::Report(arguments) = what {
        if let Err(error) = report::command(arguments) {
            eprintln!("hawser-bench: report: {error}");
            std::process::exit(1);
        }
        return;
    }
    let net = match &what {
        What::Net { mtu, rows } => Some(net::near(usize::from(*mtu), rows, repetitions)),
        What::NetFar => Some(net::far()),
        _ => None,
    };
    if let Some(result) = net {
        if let Err(error) = result {
            eprintln!("hawser-bench: net: {error}");
            std::process::exit(1);
        }
        return;
    }
    println!("{:>10} {:>12} {:>12}", "floor", "best us", "median us");
    if matches!(what, What::Line | What::All) {
        line::run(&cores, repetitions);
    }
    if matches!(what, What::Memcpy | What::All) {
        memcpy::run(repetitions);
    }
    if matches!(what, What::Ring | What::All) {
        ring::run(&cores, repetitions);
    }
}
