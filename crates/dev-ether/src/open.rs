//! The ports of a rank: on each rail of its host one for raw Ethernet, where that is allowed, and one for UDP and one for TCP with
//! each family of addresses.
//!
//! Which of them reach a peer, the connection finds out. Before it: `node`; after it: `wishes`, `survey`.

use crate::card::Card;
use crate::port::FramePort;
use crate::rails::Verdict;
use crate::survey::{Attempt, Found, survey};
use crate::wishes::Wishes;
use hawser_base::{Class, Error, Result};
use std::io;

/// Of which job and which rank of its host the ports are.
#[derive(Clone, Copy)]
pub struct Who {
    /// What tells frames of this job from those of others on the same wire; no secret.
    pub job: u32,
    pub local_rank: u16,
    /// What connections begin with, from the job's secret.
    pub pass: [u8; 16],
}

/// A port, on which of its host's rails, how that is called, and what it is to `link`.
pub struct Opened {
    pub port: Box<dyn FramePort>,
    pub rail: u8,
    pub interface: String,
    pub traits: hawser_link::Rail,
}

/// Opens them. At least one, and one of each kind that HAWSER_PORT names, or an error that says what was tried.
pub fn ports(who: &Who) -> Result<Vec<Opened>> {
    let wishes = Wishes::from_environment()?;
    let found = survey(&wishes, &wishes.methods, who)?;
    let strays = wishes.rails.astray(found.iter().map(|found| &found.rail.interface));
    let ports = choose(found, &wishes)?;
    // One line a host, as Open MPI has it for btl_tcp_if_include: hosts of one job may differ in their interfaces' names.
    if let Some(text) = strays.filter(|_| who.local_rank == 0) {
        eprintln!("hawser: on host {}: {text}", hawser_os::host::name());
    }
    Ok(ports)
}

fn choose(found: Vec<Found>, wishes: &Wishes) -> Result<Vec<Opened>> {
    let told = tried(&found);
    unnamed(&found, wishes)?;
    if let Some(error) = full_range(&found) {
        return Err(Error::new(Class::Other, error.to_string()));
    }
    let (mut opened, mut reserve, mut spares) = (Vec::new(), Vec::new(), Vec::new());
    for (rail, found) in found.into_iter().enumerate() {
        let name = &found.rail.interface.name;
        for Attempt { method, spare, made, .. } in found.attempts {
            let Ok(port) = made else { continue };
            let traits = wishes.traits(method, rail as u8)?;
            let list = match (spare, traits.reserved) {
                (false, false) => &mut opened,
                (false, true) => &mut reserve,
                (true, _) => &mut spares,
            };
            list.push(Opened { port, rail: rail as u8, interface: name.clone(), traits });
        }
    }
    let lacks = |name: &str| opened.iter().all(|opened: &Opened| opened.port.name() != name);
    if let Some(method) = wishes.methods.iter().find(|method| wishes.named && lacks(method.name())) {
        let text = format!("HAWSER_PORT names {}, which no rail of this host has: {told}", method.name());
        return Err(Error::new(Class::Other, text));
    }
    if opened.is_empty() && reserve.is_empty() {
        return Err(Error::new(Class::Other, format!("no interface of this host leads to others: {told}")));
    }
    // With more than a card holds, those that may not be needed are left out first.
    opened.append(&mut reserve);
    opened.append(&mut spares);
    let fits = Card::room_for(opened.iter().map(|opened| opened.port.address()));
    opened.truncate(fits);
    Ok(opened)
}

/// Each interface that is no rail and each port that could not be opened, with the reason.
fn tried(found: &[Found]) -> String {
    let each = found.iter().flat_map(|Found { rail, attempts }| {
        let name = &rail.interface.name;
        let verdict = (rail.verdict != Verdict::Rail).then(|| format!("{name} {}", rail.verdict.text()));
        let failed = attempts.iter().filter_map(|attempt| Some((attempt.method, attempt.made.as_ref().err()?)));
        verdict.into_iter().chain(failed.map(move |(method, error)| format!("{name} by {}: {error}", method.name())))
    });
    each.collect::<Vec<_>>().join("; ")
}

/// HAWSER_RAILS has nothing to do with this host.
fn unnamed(found: &[Found], wishes: &Wishes) -> Result<()> {
    if found.iter().any(|found| found.rail.verdict != Verdict::NotWanted) {
        return Ok(());
    }
    let all: Vec<_> = found.iter().map(|found| found.rail.to_string()).collect();
    let (rails, all) = (&wishes.rails, all.join("; "));
    let text = format!("HAWSER_RAILS={rails} names none of this host's interfaces or their networks, which are {all}");
    Err(Error::new(Class::Other, text))
}

/// All ports of HAWSER_PORT_RANGE are taken: to be told even where something else would do.
fn full_range(found: &[Found]) -> Option<&io::Error> {
    let errors = found.iter().flat_map(|found| &found.attempts).filter_map(|attempt| attempt.made.as_ref().err());
    errors.into_iter().find(|error| error.kind() == io::ErrorKind::AddrInUse)
}
