//! Connects the two ends of a layer over the ports that a rank would have. The local end makes a secret, and each end
//! sends the other its business card (`hawser_dev_ether::port_list`) over the remote process's standard input and
//! output.
//!
//! Used by `link` and `transport`; uses `two_processes`, and `hawser-dev-ether`, which opens the ports as for a rank.

use super::layer_entry::LayerEntry;
use super::two_processes::{TwoProcesses, serve_tasks, start};
use crate::pattern_driver::PatternEndpoint;
use crate::worker::print_line;
use hawser_base::hex;
use hawser_dev_ether::endpoint::RankConfig;
use hawser_dev_ether::port::RankCredentials;
use hawser_dev_ether::{EtherCardLookup, LocalRank, OpenPort};
use hawser_link::frame::JobKey;
use hawser_os::host;
use std::io::{self, BufRead};
use std::sync::{Arc, OnceLock};

/// The parts from which an end is made: its rank, its ports, and the source of the other end's card.
pub struct EndpointParts {
    pub rank: RankConfig,
    pub ports: Vec<OpenPort>,
    pub cards: EtherCardLookup,
}

/// An end, and its business card.
pub type EndpointResult<E> = io::Result<(E, Vec<u8>)>;

type Secret = [u8; 16];
type RemoteCard = Arc<OnceLock<Vec<u8>>>;

fn make_parts(me: u32, secret: Secret, remote_card: &RemoteCard) -> io::Result<EndpointParts> {
    let key = JobKey::new(secret);
    let seal = RankCredentials { key: key.clone(), me, ranks: 2 };
    let local_rank = LocalRank { job: key.derive(b"job") as u32, local_rank: 0, local_ranks: 1, credentials: seal };
    let ports = hawser_node::ports(&local_rank).map_err(|error| io::Error::other(error.cause().to_string()))?;
    let remote_card = remote_card.clone();
    let seed = u64::from_le_bytes(host::random()?);
    Ok(EndpointParts {
        rank: RankConfig { me, ranks: 2, key, seed },
        ports,
        cards: Box::new(move |_| remote_card.get().cloned()),
    })
}

/// Starts the remote process, and makes the local end.
pub fn open_local<E: PatternEndpoint>(
    entry: &LayerEntry,
    make: fn(EndpointParts) -> EndpointResult<E>,
) -> io::Result<TwoProcesses<E>> {
    let mut remote = start(entry)?;
    let (secret, remote_card) = (host::random()?, RemoteCard::default());
    let (local, card) = make(make_parts(0, secret, &remote_card)?)?;
    remote.send_line(&format!("{} {}", hex::encode(&secret), hex::encode(&card)))?;
    let line = remote.receive_line()?;
    let card = hex::decode(&line).ok_or_else(|| io::Error::other(format!("the remote end replied: {line}")))?;
    remote_card.get_or_init(|| card);
    Ok(TwoProcesses::new(local, remote))
}

/// The main function of the remote process: makes the remote end, and runs the tasks.
pub fn run_remote<E: PatternEndpoint>(make: fn(EndpointParts) -> EndpointResult<E>) -> io::Result<()> {
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    let (secret, card) = parse_line(line.trim()).ok_or_else(|| io::Error::other("the other end sent no card"))?;
    let (end, own) = make(make_parts(1, secret, &RemoteCard::from(OnceLock::from(card)))?)?;
    print_line(&hex::encode(&own))?;
    serve_tasks(end)
}

fn parse_line(line: &str) -> Option<(Secret, Vec<u8>)> {
    let (secret, card) = line.split_once(' ')?;
    Some((hex::decode(secret)?.try_into().ok()?, hex::decode(card)?))
}
