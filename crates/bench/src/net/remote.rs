//! The remote process: echoes short frames, counts long ones and reports how many arrived.
//!
//! The process reads commands, one a line: an entry's name, a secret and the address of the local process begin the
//! measurements of the entry, `spin` and `sleep` choose how the process waits, `cpu` requests the CPU seconds that it
//! has used, and `end` ends the measurements.

use super::{PortSleeper, ROWS, bulk, decode_address, encode_address};
use crate::sample;
use hawser_base::hex;
use hawser_dev_ether::port::FramePort;
use std::io::{self, BufRead};
use std::sync::mpsc::{Receiver, TryRecvError, channel};

/// The number of empty polls after which a command is looked for.
const EMPTY_POLLS: u32 = 1000;

pub fn run() -> io::Result<()> {
    let cores = hawser_os::cpus::allowed()?;
    sample::pin(&cores, 1);
    let (sender, commands) = channel();
    std::thread::spawn(move || io::stdin().lock().lines().map_while(Result::ok).all(|line| sender.send(line).is_ok()));
    while let Ok(line) = commands.recv() {
        let (name, rest) = line.split_once(' ').unwrap_or_default();
        let (secret, local) = rest.split_once(' ').unwrap_or_default();
        let row = ROWS.iter().find(|row| row.name == name).ok_or_else(|| io::Error::other("no such row"))?;
        let secret = hex::decode(secret).and_then(|bytes| bytes.try_into().ok());
        let mut ports = row.open(false, secret.ok_or_else(|| io::Error::other("no secret"))?)?;
        let mut port = ports.pop().ok_or_else(|| io::Error::other("no port"))?;
        println!("{}", encode_address(&port.address()));
        let local = decode_address(local).ok_or_else(|| io::Error::other("no such address"))?;
        echo(port.as_mut(), &local, &commands)?;
    }
    Ok(())
}

fn echo(
    port: &mut dyn FramePort,
    local: &hawser_dev_ether::port::PortAddress,
    commands: &Receiver<String>,
) -> io::Result<()> {
    let mut sleeper = PortSleeper::new(port)?;
    let (mut sleeps, mut idle) = (false, 0);
    let mut counter = bulk::ReceiveCounter::default();
    let mut echo = Vec::new();
    loop {
        let received = port.receive(&mut |frame| match frame {
            [b'?', ..] => {
                echo.clear();
                echo.extend_from_slice(frame);
            }
            _ => counter.count(frame),
        });
        if !echo.is_empty() {
            // A frame for which there is no room counts as lost.
            let _ = port.send(local, &echo);
            echo.clear();
        }
        idle = if received > 0 { 0 } else { idle + 1 };
        if let Some(report) = counter.report(port.receive_buffer_bytes(), idle == EMPTY_POLLS) {
            let _ = port.send(local, &report);
        }
        if idle > 0 && (sleeps || idle % EMPTY_POLLS == 0) {
            match commands.try_recv().as_deref() {
                Ok("spin") => sleeps = false,
                Ok("sleep") => sleeps = true,
                Ok("cpu") => println!("{}", hawser_os::usage::cpu_s()),
                Ok(_) | Err(TryRecvError::Disconnected) => return Ok(()),
                Err(TryRecvError::Empty) if sleeps => sleeper.wait(),
                Err(TryRecvError::Empty) => {}
            }
        }
    }
}
