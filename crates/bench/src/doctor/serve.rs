//! The doctor's process on a host: carries out commands, a line each, over its standard input and output.
//!
//! mpiexec starts the process as it would start a rank, so it finds what a rank would find. It ends when its input
//! ends, whatever it is doing. Used by `hosts`, at the other end; uses `collect`, `reachability`, `echo`, `measure`.

use super::facts::InterfaceAddress;
use super::port_group::PortGroup;
use super::protocol::{DoctorCommand, DoctorReply, PathSpec, PortInfo};
use super::{collect, echo, measure, reachability};
use crate::net;
use hawser_dev_ether::port::{PortAddress, RankCredentials};
use hawser_dev_ether::{LocalRank, OpenPort};
use hawser_link::frame::JobKey;
use std::io::{self, BufRead, Write};
use std::process;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

/// The time limit of `echo`: without it, a port that went down meanwhile might be waited for indefinitely.
const ECHO_TIME_LIMIT: Duration = Duration::from_secs(60);

pub fn run() -> io::Result<()> {
    // This must run before there are threads.
    let mut facts = Some(collect::host_facts());
    let commands = command_receiver();
    let mut ports = Vec::new();
    while let Ok(command) = commands.recv() {
        let reply = match command {
            DoctorCommand::Look => facts
                .take()
                .map_or_else(|| DoctorReply::Failed("facts sent before".into()), |it| DoctorReply::Facts(Box::new(it))),
            DoctorCommand::Open { job, secret, rank, ranks } => {
                let seal = RankCredentials { key: JobKey::new(secret), me: rank, ranks };
                open(LocalRank { job, local_rank: 0, local_ranks: 1, credentials: seal }, &mut ports)
            }
            DoctorCommand::Call { token, ways: paths } => {
                reachability::run(&mut ports, token, &paths).map_or_else(DoctorReply::Failed, DoctorReply::Heard)
            }
            DoctorCommand::Answer { token, way: path } => match port_group(&mut ports, &path) {
                Some((mut port, to)) => {
                    send_reply(&DoctorReply::Ready)?;
                    let begin = std::time::Instant::now();
                    let is_over = || begin.elapsed() > ECHO_TIME_LIMIT || commands.try_recv().is_ok();
                    DoctorReply::Answered(echo::run(&mut port, &to, token, &path, is_over))
                }
                None => no_port_error(),
            },
            DoctorCommand::Measure { token, way: path } => match port_group(&mut ports, &path) {
                Some((mut port, to)) => DoctorReply::Figures(measure::run(&mut port, &to, token, &path)),
                None => no_port_error(),
            },
            DoctorCommand::Rest => DoctorReply::Ready,
            DoctorCommand::Sync(number) => DoctorReply::Synced(number),
        };
        send_reply(&reply)?;
    }
    Ok(())
}

/// Starts a thread that reads the commands. The process ends at the end of its input, because the sender of commands
/// is gone then, and at a line that is no command.
fn command_receiver() -> Receiver<DoctorCommand> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        for line in io::stdin().lock().lines().map_while(Result::ok) {
            match serde_json::from_str(&line) {
                Ok(command) => drop(sender.send(command)),
                Err(_) => break,
            }
        }
        process::exit(0);
    });
    receiver
}

fn send_reply(reply: &DoctorReply) -> io::Result<()> {
    let mut out = io::stdout().lock();
    serde_json::to_writer(&mut out, reply)?;
    writeln!(out)?;
    out.flush()
}

fn no_port_error() -> DoctorReply {
    DoctorReply::Failed("a command names no port".into())
}

fn open(local_rank: LocalRank, ports: &mut Vec<OpenPort>) -> DoctorReply {
    match hawser_node::ports(&local_rank) {
        Ok(opened) => *ports = opened,
        Err(error) => return DoctorReply::Failed(error.cause().to_string()),
    }
    let interfaces = hawser_os::interfaces::all().unwrap_or_default();
    let networks = |name: &str| {
        let addresses =
            interfaces.iter().filter(|interface| interface.name == name).flat_map(|interface| &interface.addresses);
        addresses.map(InterfaceAddress::of).collect()
    };
    let port_info = |opened: &OpenPort| PortInfo {
        rail: opened.rail,
        interface: opened.interface.clone(),
        networks: networks(&opened.interface),
        method: opened.port.name().into(),
        address: net::encode_address(&opened.port.address()),
        frame_max: opened.port.frame_max(),
        room: opened.port.receive_buffer_bytes() / opened.port.frame_max().max(1),
    };
    DoctorReply::Ports(ports.iter().map(port_info).collect())
}

fn port_group<'a>(ports: &'a mut [OpenPort], path: &PathSpec) -> Option<(PortGroup<'a>, PortAddress)> {
    let to = net::decode_address(&path.address)?;
    ports.get_mut(path.port)?.port.set_peer(path.peer());
    Some((PortGroup::of(ports, path.port)?, to))
}
