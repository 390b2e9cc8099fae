//! The local process: makes the hosts and the remote process, measures, and prints the table.

use super::{PortEntry, ROWS, bulk, decode_address, encode_address, pingpong};
use crate::remote_process::RemoteProcess;
use crate::sample;
use hawser_base::hex;
use hawser_os::host;
use hawser_os::veth_pair::{NetnsHost, VethPair};
use std::io;
use std::process::Command;
use std::time::Duration;

/// The number of round trips in a repetition, which takes about a hundredth of a second.
const ROUNDS: u32 = 2000;
const BULK_TIME: Duration = Duration::from_millis(400);

/// Measures the entries with these names over a cable of this MTU; without names, all entries with one rank.
pub fn run(mtu: usize, names: &[String], repetitions: usize) -> io::Result<()> {
    hawser_os::netns::become_root()?;
    let cable = VethPair::new(mtu)?;
    let mut remote = start_remote(&cable.b)?;
    sample::pin(&hawser_os::cpus::allowed()?, 0);
    println!("veth, MTU {mtu}; half a round trip of 64 bytes in us, medians; CPU time in seconds, local + remote");
    println!(
        "{:>10} {:>9} {:>9} {:>13} | {:>9} {:>15} {:>7}",
        "port", "spinning", "sleeping", "CPU/1e6 trips", "bulk GB/s", "CPU/GB", "lost"
    );
    let chosen = |entry: &&PortEntry| {
        if names.is_empty() { entry.ranks == 1 } else { names.iter().any(|name| name == entry.name) }
    };
    for entry in ROWS.iter().filter(chosen) {
        cable.a.within(|| measure(entry, &mut remote, repetitions))?;
    }
    Ok(())
}

fn measure(entry: &PortEntry, remote: &mut RemoteProcess, repetitions: usize) -> io::Result<()> {
    let secret = host::random()?;
    let mut ports = entry.open(true, secret)?;
    let port = ports.last_mut().ok_or_else(|| io::Error::other("no port"))?.as_mut();
    let address =
        request_line(remote, &format!("{} {} {}", entry.name, hex::encode(&secret), encode_address(&port.address())))?;
    let address =
        decode_address(&address).ok_or_else(|| io::Error::other(format!("the remote process replied: {address}")))?;
    let median = |samples: Vec<f64>| samples[samples.len() / 2];
    let spinning = median(pingpong::run(port, &address, false, repetitions, ROUNDS)?);
    remote.send_line(&"sleep")?;
    let before = cpu(remote)?;
    let sleeping = median(pingpong::run(port, &address, true, repetitions, ROUNDS)?);
    let slept = cpu_since(remote, before)?;
    let round_trips = 1.1e-6 * f64::from(ROUNDS) * repetitions as f64;
    remote.send_line(&"spin")?;
    let before = cpu(remote)?;
    let (size, capacity_frames) = (port.frame_max(), port.receive_buffer_bytes() / port.frame_max());
    let stream = bulk::run(port, &address, size, capacity_frames, BULK_TIME, Duration::ZERO)
        .map_err(|refused| io::Error::other(format!("{refused:?}")))?;
    let flowed = cpu_since(remote, before)?;
    remote.send_line(&"end")?;
    println!(
        "{:>10} {spinning:9.2} {sleeping:9.2} {:6.2} +{:5.2} | {:9.2} {:7.3} +{:6.3} {:7}",
        entry.name,
        slept.0 / round_trips,
        slept.1 / round_trips,
        stream.gbyte_s,
        flowed.0 / stream.gbytes,
        flowed.1 / stream.gbytes,
        stream.lost_frames,
    );
    Ok(())
}

fn start_remote(host: &NetnsHost) -> io::Result<RemoteProcess> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("net-far");
    host.within(|| RemoteProcess::start(command, ""))
}

/// Sends a line to the remote process and returns its reply.
fn request_line(remote: &mut RemoteProcess, line: &str) -> io::Result<String> {
    remote.send_line(&line)?;
    remote.receive_line()
}

/// The CPU seconds that both processes have used.
fn cpu(remote: &mut RemoteProcess) -> io::Result<(f64, f64)> {
    let remote = request_line(remote, "cpu")?.parse().map_err(io::Error::other)?;
    Ok((hawser_os::usage::cpu_s(), remote))
}

fn cpu_since(remote: &mut RemoteProcess, before: (f64, f64)) -> io::Result<(f64, f64)> {
    let now = cpu(remote)?;
    Ok((now.0 - before.0, now.1 - before.1))
}
