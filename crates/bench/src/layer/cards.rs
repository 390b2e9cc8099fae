//! Connects both ends of a layer over a rank's own ports: the near one makes a secret, and each sends the other its
//! business card (`hawser_dev_ether::card`) over the far process's standard input and output.
//!
//! Used by `link` and `transport`; uses `apart`, and `hawser-dev-ether`, which opens the ports as for a rank.

use super::apart::{Apart, follow, start};
use super::row::Row;
use crate::duet::End;
use crate::hex;
use crate::worker::say;
use hawser_dev_ether::endpoint::Rank;
use hawser_dev_ether::port::Seal;
use hawser_dev_ether::{Cards, Opened, Who};
use hawser_link::frame::Key;
use hawser_os::host;
use std::io::{self, BufRead};
use std::sync::{Arc, OnceLock};

/// The parts from which an end is made: its rank, its ports, and the source of the other's card.
pub struct Parts {
    pub rank: Rank,
    pub ports: Vec<Opened>,
    pub cards: Cards,
}

/// An end, and its business card.
pub type Made<E> = io::Result<(E, Vec<u8>)>;

type Secret = [u8; 16];
type Theirs = Arc<OnceLock<Vec<u8>>>;

fn parts(me: u32, secret: Secret, theirs: &Theirs) -> io::Result<Parts> {
    let key = Key::new(secret);
    let seal = Seal { key: key.clone(), me, ranks: 2 };
    let who = Who { job: key.derive(b"job") as u32, local_rank: 0, local_ranks: 1, seal };
    let ports = hawser_node::ports(&who).map_err(|error| io::Error::other(error.cause().to_string()))?;
    let theirs = theirs.clone();
    let seed = u64::from_le_bytes(host::random()?);
    Ok(Parts { rank: Rank { me, ranks: 2, key, seed }, ports, cards: Box::new(move |_| theirs.get().cloned()) })
}

/// Makes the near end, with the far one's process.
pub fn near<E: End>(row: &Row, make: fn(Parts) -> Made<E>) -> io::Result<Apart<E>> {
    let mut far = start(row)?;
    let (secret, theirs) = (host::random()?, Theirs::default());
    let (near, card) = make(parts(0, secret, &theirs)?)?;
    far.tell(&format!("{} {}", hex::written(&secret), hex::written(&card)))?;
    let said = far.hear()?;
    let card = hex::read(&said).ok_or_else(|| io::Error::other(format!("the far end says: {said}")))?;
    theirs.get_or_init(|| card);
    Ok(Apart::new(near, far))
}

/// Runs the far process.
pub fn far<E: End>(make: fn(Parts) -> Made<E>) -> io::Result<()> {
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    let (secret, card) = read(line.trim()).ok_or_else(|| io::Error::other("the near end said no card"))?;
    let (end, own) = make(parts(1, secret, &Theirs::from(OnceLock::from(card)))?)?;
    say(&hex::written(&own))?;
    follow(end)
}

fn read(line: &str) -> Option<(Secret, Vec<u8>)> {
    let (secret, card) = line.split_once(' ')?;
    Some((hex::read(secret)?.try_into().ok()?, hex::read(card)?))
}
