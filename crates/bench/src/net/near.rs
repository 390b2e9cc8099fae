//! The near process: makes the hosts and the far process, measures, and prints the table.

use super::{ROWS, Row, bulk, pingpong, read, written};
use crate::far::Far;
use crate::{hex, sample};
use hawser_os::cable::{Cable, Host};
use hawser_os::host;
use std::io;
use std::process::Command;
use std::time::Duration;

/// The round trips in a repetition: about a hundredth of a second.
const ROUNDS: u32 = 2000;
const BULK_TIME: Duration = Duration::from_millis(400);

/// Measures over a cable of this MTU the rows whose names are given, or those of one rank each.
pub fn run(mtu: usize, names: &[String], repetitions: usize) -> io::Result<()> {
    hawser_os::netns::become_root()?;
    let cable = Cable::new(mtu)?;
    let mut far = started(&cable.b)?;
    sample::pin(&hawser_os::cpus::allowed()?, 0);
    println!("veth, MTU {mtu}; half round trip of 64 bytes in us, medians; CPU in seconds, near + far");
    println!(
        "{:>10} {:>9} {:>9} {:>13} | {:>9} {:>15} {:>7}",
        "port", "spinning", "sleeping", "CPU/1e6 turns", "bulk GB/s", "CPU/GB", "lost"
    );
    let chosen = |row: &&Row| if names.is_empty() { row.ranks == 1 } else { names.iter().any(|name| name == row.name) };
    for row in ROWS.iter().filter(chosen) {
        cable.a.within(|| measure(row, &mut far, repetitions))?;
    }
    Ok(())
}

fn measure(row: &Row, far: &mut Far, repetitions: usize) -> io::Result<()> {
    let secret = host::random()?;
    let mut ports = row.open(true, secret)?;
    let port = ports.last_mut().ok_or_else(|| io::Error::other("no port"))?.as_mut();
    let address = ask(far, &format!("{} {} {}", row.name, hex::written(&secret), written(&port.address())))?;
    let address = read(&address).ok_or_else(|| io::Error::other(format!("the far process says: {address}")))?;
    let median = |samples: Vec<f64>| samples[samples.len() / 2];
    let spinning = median(pingpong::run(port, &address, false, repetitions, ROUNDS)?);
    far.tell(&"sleep")?;
    let before = cpu(far)?;
    let sleeping = median(pingpong::run(port, &address, true, repetitions, ROUNDS)?);
    let slept = since(far, before)?;
    let turns = 1.1e-6 * f64::from(ROUNDS) * repetitions as f64;
    far.tell(&"spin")?;
    let before = cpu(far)?;
    let (size, room) = (port.frame_max(), port.room() / port.frame_max());
    let flow = bulk::run(port, &address, size, room, BULK_TIME, Duration::ZERO)
        .map_err(|refused| io::Error::other(format!("{refused:?}")))?;
    let flowed = since(far, before)?;
    far.tell(&"end")?;
    println!(
        "{:>10} {spinning:9.2} {sleeping:9.2} {:6.2} +{:5.2} | {:9.2} {:7.3} +{:6.3} {:7}",
        row.name,
        slept.0 / turns,
        slept.1 / turns,
        flow.gbyte_s,
        flowed.0 / flow.gbytes,
        flowed.1 / flow.gbytes,
        flow.lost_frames,
    );
    Ok(())
}

fn started(host: &Host) -> io::Result<Far> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("net-far");
    host.within(|| Far::start(command, ""))
}

/// Sends a line to the far process and returns its answer.
fn ask(far: &mut Far, line: &str) -> io::Result<String> {
    far.tell(&line)?;
    far.hear()
}

/// The CPU seconds that both processes have used.
fn cpu(far: &mut Far) -> io::Result<(f64, f64)> {
    let far = ask(far, "cpu")?.parse().map_err(io::Error::other)?;
    Ok((hawser_os::usage::cpu_s(), far))
}

fn since(far: &mut Far, before: (f64, f64)) -> io::Result<(f64, f64)> {
    let now = cpu(far)?;
    Ok((now.0 - before.0, now.1 - before.1))
}
