//! Opens the ports of a rank: on each rail of its host one for raw Ethernet, where that is allowed, and with each
//! family of addresses one for UDP, one for UDP by raw frames, where they are allowed, and one for TCP. For raw frames
//! xdp and xdp-udp are taken if they are requested and available, otherwise packet and packet-udp.
//!
//! Which of them reach a peer, the connection finds out. Used by `node`; uses `wishes` and `survey`.

use crate::card::Card;
use crate::port::{FramePort, Seal};
use crate::rails::Verdict;
use crate::survey::{Attempt, Found, survey};
use crate::wishes::{Method, Wishes};
use hawser_base::{Class, Error, Result};
use hawser_link::frame::Key;
use std::io;

/// The job and the rank of its host that own the ports.
#[derive(Clone)]
pub struct Who {
    /// A number that distinguishes frames of this job from those of others on the same wire; it is no secret.
    pub job: u32,
    pub local_rank: u16,
    /// The number of ranks on its host.
    pub local_ranks: u16,
    /// The rank's identity, for the peers that it connects to.
    pub seal: Seal,
}

/// A port, its host's rail, the rail's name, and its properties for `link`.
pub struct Opened {
    pub port: Box<dyn FramePort>,
    pub rail: u8,
    pub interface: String,
    pub traits: hawser_link::Rail,
}

/// Opens the ports. Returns at least one, and one of each kind that is named, or an error with everything that was
/// tried.
pub fn ports(who: &Who, wishes: &Wishes) -> Result<Vec<Opened>> {
    let found = survey(wishes, &wishes.methods, who)?;
    let strays = wishes.rails.astray(&wishes.of_rails(), found.iter().map(|found| &found.rail.interface));
    let left_out = left_out(&found, wishes);
    let replaced: Vec<_> = found.iter().filter_map(replaced).collect();
    let ports = choose(found, wishes)?;
    // Print one line per host, as Open MPI does for btl_tcp_if_include: hosts of one job may differ in their
    // interfaces' names.
    for text in strays.into_iter().chain(left_out).chain(replaced).filter(|_| who.local_rank == 0) {
        eprintln!("hawser: on host {}: {text}", hawser_os::host::name());
    }
    Ok(ports)
}

/// Returns the ports that a rank would have, each by its rail and attempt, and how many of them, the first ones, its
/// card has space for. Those that may not be needed come last.
pub fn ranked(found: &[Found], wishes: &Wishes) -> (Vec<(usize, usize)>, usize) {
    let is_wanted =
        |on: &Found, attempt: &Attempt| attempt.made.is_ok() && wishes.permits(&on.rail.interface, attempt.method);
    let each = found.iter().enumerate().flat_map(|(rail, found)| (0..found.attempts.len()).map(move |at| (rail, at)));
    let mut places: Vec<_> = each.filter(|&(rail, at)| is_wanted(&found[rail], &found[rail].attempts[at])).collect();
    let attempt = |&(rail, at): &(usize, usize)| &found[rail].attempts[at];
    places.sort_by_key(|place| Need::of(attempt(place), wishes));
    let addresses = places.iter().filter_map(|place| Some(attempt(place).made.as_ref().ok()?.address()));
    let fits = Card::room_for(addresses);
    (places, fits)
}

/// The need for a port.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Need {
    Always,
    Reserve,
    Spare,
}

impl Who {
    /// Returns the only rank of a dummy job, to list what is available.
    pub fn nobody() -> Who {
        let seal = Seal { key: Key::new([0; 16]), me: 0, ranks: 1 };
        Who { job: 0, local_rank: 0, local_ranks: 1, seal }
    }
}

impl Need {
    fn of(attempt: &Attempt, wishes: &Wishes) -> Need {
        match attempt.spare {
            true => Need::Spare,
            false if wishes.reserves(attempt.method) => Need::Reserve,
            false => Need::Always,
        }
    }
}

/// Returns a text about ports that are left out because a card has no space for them.
fn left_out(found: &[Found], wishes: &Wishes) -> Option<String> {
    let (places, fits) = ranked(found, wishes);
    let missed = places[fits..].iter().map(|&(rail, at)| (&found[rail].rail, &found[rail].attempts[at]));
    let missed = missed.filter(|(_, attempt)| Need::of(attempt, wishes) == Need::Always);
    let names: Vec<_> = missed.map(|(rail, attempt)| name(&rail.interface.name, attempt.method)).collect();
    (!names.is_empty()).then(|| {
        format!(
            "a rank has room for {fits} of the {} ports of this host; left out are {}; name the rails to use in HAWSER_RAILS",
            places.len(),
            names.join(", ")
        )
    })
}

/// Returns a text if packet replaces xdp on a rail, with the reason: of several such methods with one reason, the
/// first.
fn replaced(found: &Found) -> Option<String> {
    let replaced = |attempt: &Attempt| {
        let (error, stand_in) = (attempt.made.as_ref().err()?, attempt.method.stand_in()?);
        let is_there = found.attempts.iter().any(|other| other.method == stand_in && other.made.is_ok());
        let name = || name(&found.rail.interface.name, attempt.method);
        is_there.then(|| format!("{} takes the place of {}: {error}", stand_in.name(), name()))
    };
    found.attempts.iter().find_map(replaced)
}

fn name(interface: &str, method: Method) -> String {
    format!("{interface} by {}", method.name())
}

fn choose(found: Vec<Found>, wishes: &Wishes) -> Result<Vec<Opened>> {
    let told = tried(&found);
    unnamed(&found, wishes)?;
    if let Some(error) = full_range(&found, wishes) {
        return Err(Error::new(Class::Other, error.to_string()));
    }
    let (places, fits) = ranked(&found, wishes);
    let lacks = |method: Method| places.iter().all(|&(rail, at)| !found[rail].attempts[at].method.serves_as(method));
    if let Some(method) = wishes.named.iter().find(|method| lacks(**method)) {
        let text = format!("{} names {}, which no rail of this host has: {told}", wishes.of_methods(), method.name());
        return Err(Error::new(Class::Other, text));
    }
    if places.is_empty() {
        return Err(Error::new(Class::Other, format!("no interface of this host leads to others: {told}")));
    }
    let mut found: Vec<_> =
        found.into_iter().map(|found| (found.rail, found.attempts.into_iter().map(Some).collect::<Vec<_>>())).collect();
    let opened = places[..fits].iter().filter_map(|&(rail, at)| {
        let (on, attempts) = &mut found[rail];
        let Attempt { method, made, .. } = attempts[at].take()?;
        let (rail, interface) = (rail as u8, on.interface.name.clone());
        let traits = wishes.traits(method, rail);
        made.ok().map(|port| traits.map(|traits| Opened { port, rail, interface, traits }))
    });
    let mut ports: Vec<Opened> = opened.collect::<Result<_>>()?;
    // The places are those of the card, which has the ports in this order.
    for (place, opened) in ports.iter_mut().enumerate() {
        if let Some(stream) = opened.port.as_stream() {
            stream.set_place(place as u8);
        }
    }
    Ok(ports)
}

/// Lists each interface that is no rail and each port that could not be opened, with the reason.
fn tried(found: &[Found]) -> String {
    let each = found.iter().flat_map(|Found { rail, attempts }| {
        let name = &rail.interface.name;
        let verdict = (!rail.verdict.serves()).then(|| format!("{name} {}", rail.verdict.text()));
        let failed = attempts.iter().filter_map(|attempt| Some((attempt.method, attempt.made.as_ref().err()?)));
        verdict.into_iter().chain(failed.map(move |(method, error)| format!("{}: {error}", self::name(name, method))))
    });
    each.collect::<Vec<_>>().join("; ")
}

/// Returns an error if HAWSER_RAILS names no interface of this host.
fn unnamed(found: &[Found], wishes: &Wishes) -> Result<()> {
    if found.iter().any(|found| found.rail.verdict != Verdict::NotWanted) {
        return Ok(());
    }
    let all: Vec<_> = found.iter().map(|found| found.rail.to_string()).collect();
    let (said, all) = (wishes.of_rails(), all.join("; "));
    let text = format!("{said} names none of this host's interfaces or their networks, which are {all}");
    Err(Error::new(Class::Other, text))
}

/// Returns the error if all ports of HAWSER_PORT_RANGE are taken: reported even where another method would do, except
/// for methods that were not requested.
fn full_range<'a>(found: &'a [Found], wishes: &Wishes) -> Option<&'a io::Error> {
    let asked_for =
        |attempt: &&Attempt| wishes.names(attempt.method) || matches!(attempt.method, Method::Udp | Method::Stream);
    let attempts = found.iter().flat_map(|found| &found.attempts).filter(asked_for);
    let errors = attempts.filter_map(|attempt| attempt.made.as_ref().err());
    errors.into_iter().find(|error| error.kind() == io::ErrorKind::AddrInUse)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes `count` rails, each with the loopback interface's ports.
    fn rails(count: usize, wishes: &Wishes) -> Vec<Found> {
        let who = Who::nobody();
        let loopback =
            || survey(wishes, &wishes.methods, &who).unwrap().into_iter().find(|f| f.rail.interface.name == "lo");
        (0..count).filter_map(|_| loopback()).collect()
    }

    /// A card has space for 25 ports of UDP over IPv4.
    #[test]
    fn ports_that_a_card_has_no_room_for_are_told_but_not_those_in_reserve() {
        let wishes = Wishes::parse("", "127.0.0.0/8", "").unwrap();
        let found = rails(25, &wishes);
        assert_eq!((ranked(&found, &wishes).1, left_out(&found, &wishes)), (25, None));
        assert!(choose(found, &wishes).unwrap().iter().all(|opened| opened.port.name() == "udp"));
        let told = left_out(&rails(27, &wishes), &wishes).unwrap();
        let expected =
            "a rank has room for 25 of the 54 ports of this host; left out are lo by udp, lo by udp; name the rails";
        assert!(told.starts_with(expected), "{told}");
    }
}
