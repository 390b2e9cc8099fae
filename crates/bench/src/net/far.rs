//! The far process: echoes short frames, counts long ones and reports how many arrived.
//!
//! It reads orders, one a line: a row's name, a secret and the near address begin a row, `spin` and `sleep` tell how to
//! wait, `cpu` requests the seconds that it has used, `end` ends the row.

use super::{ROWS, Sleep, bulk, read, written};
use crate::{hex, sample};
use hawser_dev_ether::port::FramePort;
use std::io::{self, BufRead};
use std::sync::mpsc::{Receiver, TryRecvError, channel};

/// The number of empty polls after which an order is looked for.
const TURNS: u32 = 1000;

pub fn run() -> io::Result<()> {
    let cores = hawser_os::cpus::allowed()?;
    sample::pin(&cores, 1);
    let (orders, from_orders) = channel();
    std::thread::spawn(move || io::stdin().lock().lines().map_while(Result::ok).all(|line| orders.send(line).is_ok()));
    while let Ok(line) = from_orders.recv() {
        let (name, rest) = line.split_once(' ').unwrap_or_default();
        let (secret, near) = rest.split_once(' ').unwrap_or_default();
        let row = ROWS.iter().find(|row| row.name == name).ok_or_else(|| io::Error::other("no such row"))?;
        let secret = hex::read(secret).and_then(|bytes| bytes.try_into().ok());
        let mut ports = row.open(false, secret.ok_or_else(|| io::Error::other("no secret"))?)?;
        let mut port = ports.pop().ok_or_else(|| io::Error::other("no port"))?;
        println!("{}", written(&port.address()));
        let near = read(near).ok_or_else(|| io::Error::other("no such address"))?;
        answer(port.as_mut(), &near, &from_orders)?;
    }
    Ok(())
}

fn answer(
    port: &mut dyn FramePort,
    near: &hawser_dev_ether::port::Address,
    orders: &Receiver<String>,
) -> io::Result<()> {
    let mut sleep = Sleep::on(port)?;
    let (mut sleeps, mut idle) = (false, 0);
    let mut counter = bulk::Counter::default();
    let mut echo = Vec::new();
    loop {
        let came = port.receive(&mut |frame| match frame {
            [b'?', ..] => {
                echo.clear();
                echo.extend_from_slice(frame);
            }
            _ => counter.count(frame),
        });
        if !echo.is_empty() {
            // A frame for which there is no room counts as lost.
            let _ = port.send(near, &echo);
            echo.clear();
        }
        idle = if came > 0 { 0 } else { idle + 1 };
        if let Some(word) = counter.word(port.room(), idle == TURNS) {
            let _ = port.send(near, &word);
        }
        if idle > 0 && (sleeps || idle % TURNS == 0) {
            match orders.try_recv().as_deref() {
                Ok("spin") => sleeps = false,
                Ok("sleep") => sleeps = true,
                Ok("cpu") => println!("{}", hawser_os::usage::cpu_s()),
                Ok(_) | Err(TryRecvError::Disconnected) => return Ok(()),
                Err(TryRecvError::Empty) if sleeps => sleep.until_something_comes(),
                Err(TryRecvError::Empty) => {}
            }
        }
    }
}
