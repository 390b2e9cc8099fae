//! The doctor's process on a host: obeys orders, a line each, over its standard input and output.
//!
//! mpiexec starts it as it would start a rank, so it finds what a rank would find. It ends when its input does,
//! whatever it is doing. Used by `hosts`, at the other end; uses `look`, `call`, `answer`, `measure`.

use super::beside::Beside;
use super::facts::Network;
use super::orders::{End, Order, Reply, WayTo};
use super::{answer, call, look, measure};
use crate::net;
use hawser_dev_ether::port::{Address, Seal};
use hawser_dev_ether::{Opened, Who};
use hawser_link::frame::Key;
use std::io::{self, BufRead, Write};
use std::process;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

/// The time limit of an answer: a port that went down meanwhile may be waited for indefinitely.
const ANSWERS_AT_MOST: Duration = Duration::from_secs(60);

pub fn run() -> io::Result<()> {
    // This must run before there are threads.
    let mut facts = Some(look::here());
    let orders = orders();
    let mut ports = Vec::new();
    while let Ok(order) = orders.recv() {
        let reply = match order {
            Order::Look => {
                facts.take().map_or_else(|| Reply::Failed("it has told all".into()), |it| Reply::Facts(Box::new(it)))
            }
            Order::Open { job, secret, rank, ranks } => {
                let seal = Seal { key: Key::new(secret), me: rank, ranks };
                open(Who { job, local_rank: 0, local_ranks: 1, seal }, &mut ports)
            }
            Order::Call { token, ways } => call::run(&mut ports, token, &ways).map_or_else(Reply::Failed, Reply::Heard),
            Order::Answer { token, way } => match port_of(&mut ports, &way) {
                Some((mut port, to)) => {
                    say(&Reply::Ready)?;
                    let begin = std::time::Instant::now();
                    let is_over = || begin.elapsed() > ANSWERS_AT_MOST || orders.try_recv().is_ok();
                    Reply::Answered(answer::run(&mut port, &to, token, &way, is_over))
                }
                None => no_port(),
            },
            Order::Measure { token, way } => match port_of(&mut ports, &way) {
                Some((mut port, to)) => Reply::Figures(measure::run(&mut port, &to, token, &way)),
                None => no_port(),
            },
            Order::Rest => Reply::Ready,
            Order::Sync(number) => Reply::Synced(number),
        };
        say(&reply)?;
    }
    Ok(())
}

/// Receives orders. When there are no more, the sender is gone, and nothing else must be done.
fn orders() -> Receiver<Order> {
    let (tell, told) = channel();
    thread::spawn(move || {
        for line in io::stdin().lock().lines().map_while(Result::ok) {
            match serde_json::from_str(&line) {
                Ok(order) => drop(tell.send(order)),
                Err(_) => break,
            }
        }
        process::exit(0);
    });
    told
}

fn say(reply: &Reply) -> io::Result<()> {
    let mut out = io::stdout().lock();
    serde_json::to_writer(&mut out, reply)?;
    writeln!(out)?;
    out.flush()
}

fn no_port() -> Reply {
    Reply::Failed("an order names no port".into())
}

fn open(who: Who, ports: &mut Vec<Opened>) -> Reply {
    match hawser_node::ports(&who) {
        Ok(opened) => *ports = opened,
        Err(error) => return Reply::Failed(error.cause().to_string()),
    }
    let interfaces = hawser_os::interfaces::all().unwrap_or_default();
    let networks = |name: &str| {
        let of =
            interfaces.iter().filter(|interface| interface.name == name).flat_map(|interface| &interface.addresses);
        of.map(Network::of).collect()
    };
    let end = |opened: &Opened| End {
        rail: opened.rail,
        interface: opened.interface.clone(),
        networks: networks(&opened.interface),
        method: opened.port.name().into(),
        address: net::written(&opened.port.address()),
        frame_max: opened.port.frame_max(),
        room: opened.port.room() / opened.port.frame_max().max(1),
    };
    Reply::Ports(ports.iter().map(end).collect())
}

fn port_of<'a>(ports: &'a mut [Opened], way: &WayTo) -> Option<(Beside<'a>, Address)> {
    let to = net::read(&way.address)?;
    ports.get_mut(way.port)?.port.turn_to(way.peer());
    Some((Beside::of(ports, way.port)?, to))
}
