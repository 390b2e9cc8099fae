//! Layer 7: assembly of a process: profile and parameters → boot → devices → transport → `mpi::process`.
//!
//! The only crate that knows every device. A new device is one row of `DEVICES`. Used by the ABI crates, for MPI_Init
//! and the first session, and by `hawser-info`, which lists the devices and the parameters. It takes no part once the
//! process is assembled.

#![forbid(unsafe_code)]

pub mod misspelt;
mod names;
mod params;
pub mod profile;
pub mod terms;
mod tools;

pub use params::{all as params, check as check_params};
pub use tools::{changed as counters_of_changes, groups as tools};

use hawser_base::Result;
use hawser_base::param::Param;
use hawser_boot::Key as Published;
use hawser_boot::protocol::ADDRESS_VARIABLE;
use hawser_boot::{Boot, Identity, Word};
use hawser_dev_ether::port::Seal;
use hawser_dev_ether::{EtherDevice, Opened, Setup, Told, Who, Wishes};
use hawser_dev_shm::ShmDevice;
use hawser_device::{Device, Loopback, PREFIX_MAX, cards};
use hawser_host::join::{self, Joined};
use hawser_job::Segment;
use hawser_link::frame::Key;
use hawser_mpi::process::{self, Parts, Process};
use hawser_p2p::matching::Limits;
use hawser_p2p::{counters, helper};
use hawser_transport::{Fabric, Pages, Patience, Service, Standby};
use names::Asked;
use std::sync::{Arc, Mutex, MutexGuard};

/// One initialisation at a time.
static STARTING: Mutex<()> = Mutex::new(());

/// Makes this process a rank, if it is none yet.
pub fn start() -> Result<&'static Process> {
    let _alone = STARTING.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if let Some(process) = process::any() {
        return Ok(process);
    }
    profile::of_rank()?;
    params::check()?;
    let joined = join::join(&terms::of_rank()?)?;
    // Below mpiexec, mpiexec warns, once for all ranks and what they start.
    if is_first_without_launcher(&joined) && std::env::var_os(ADDRESS_VARIABLE).is_none() {
        let variables = std::env::vars_os().map(|(name, _)| name);
        misspelt::lines(variables).iter().for_each(|line| eprintln!("hawser: {line}"));
    }
    let boot = joined.boot.clone();
    parts(joined).and_then(process::start).inspect_err(|_| hawser_boot::keep(boot))
}

/// Tells whether this process prints for a job that has no mpiexec to do that.
fn is_first_without_launcher(joined: &Joined) -> bool {
    let me = joined.boot.identity();
    me.appnum.is_none() && me.rank == 0
}

/// The devices of this process and their users, if it is a rank.
static SERVICE: Mutex<Option<&'static Service>> = Mutex::new(None);

fn kept_service() -> MutexGuard<'static, Option<&'static Service>> {
    SERVICE.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// The devices of this process, which users other than MPI open by their names; None before it is a rank.
pub fn service() -> Option<&'static Service> {
    *kept_service()
}

/// Makes the process's parts from what it gets from its host.
fn parts(Joined { boot, segment }: Joined) -> Result<Parts> {
    let me = *boot.identity();
    let page = segment.rank(me.local_rank as usize);
    let names: Vec<String> = tools::entries().map(|entry| entry.name).collect();
    segment.name_counters(&names);
    let asked = Asked::from_environment()?;
    let mut devices = Vec::new();
    for (_, make) in DEVICES.iter().filter(|(name, _)| asked.has(name)) {
        devices.extend(make(&boot, &segment, &asked)?);
    }
    exchange(&boot, &segment, &devices)?;
    // The service stays for as long as the process: other users open it by their names.
    let service: &'static Service = Box::leak(Box::new(Service::new(devices, segment.clone())));
    let fabric = Box::leak(Box::new(service.open_mpi(&boot.world())?));
    *kept_service() = Some(service);
    let cores = segment.facts().cores / me.local_size;
    let asleep = counters::asleep(&page.counters());
    let patience = Patience::new(cores, &page, others(&segment, me.local_rank as usize), asleep, fabric)?;
    let standby = helper::is_wanted(cores)?.then(|| Standby::new(page.doorbell(), fabric)).transpose()?;
    let limits = limits(fabric, me.widest_host as usize)?;
    Ok(Parts { boot, segment, fabric, limits, patience, standby })
}

/// The pages of this host's ranks but `me`, and whether they live, for the wait policy (`Patience`) of a rank that
/// checks whether they work.
fn others(segment: &Segment, me: usize) -> Pages {
    let segment = segment.clone();
    Box::new(move |number| {
        let local = number + usize::from(number >= me);
        let lives = |local| segment.process_in(local).is_some_and(|peer| !segment.lives().has_ended(peer));
        (local < segment.local_size()).then(|| (segment.rank(local), lives(local)))
    })
}

/// A device's name, and the function with which a rank makes its own, if the job needs it.
type Row = (&'static str, fn(&Arc<dyn Boot>, &Segment, &Asked) -> Result<Option<Box<dyn Device>>>);

/// All devices, the best first: a peer is reached by the first one that can.
static DEVICES: [Row; 3] = [
    (Loopback::NAME, |boot, _, _| Ok(Some(Box::new(Loopback::new(boot.identity().peer))))),
    (ShmDevice::NAME, |boot, segment, _| {
        let Identity { peer, local_rank, .. } = *boot.identity();
        if segment.is_late(peer) {
            ShmDevice::clean(segment, local_rank as usize)?;
        }
        Ok(Some(Box::new(ShmDevice::new(segment.clone(), local_rank as usize))))
    }),
    (EtherDevice::NAME, |boot, segment, asked| match segment.is_spread() {
        true => ethernet(boot, segment, asked).map(Some),
        false => Ok(None),
    }),
];

/// The device between hosts, with the rails of this one.
fn ethernet(boot: &Arc<dyn Boot>, segment: &Segment, asked: &Asked) -> Result<Box<dyn Device>> {
    let Identity { peer, local_rank, local_size, secret, .. } = *boot.identity();
    let (me, numbers) = (peer.0, segment.plan().numbers as u32);
    let secret = secret.0;
    // The holder of one of these keys can derive none of the others, nor the secret.
    let derive = |purpose: &[u8]| Key::new(secret).derive(purpose);
    let (local_rank, local_ranks) = (local_rank as u16, local_size as u16);
    let seal = Seal { key: Key::new(secret), me, ranks: numbers };
    let who = Who { job: derive(b"job") as u32, local_rank, local_ranks, seal };
    let ports = hawser_dev_ether::ports(&who, &asked.wishes)?;
    let (known, hosts, teller) = (boot.clone(), segment.clone(), boot.clone());
    let page = segment.rank(local_rank as usize);
    let (answers, ways) = (page.clone(), page.ways());
    let counters = (page.counters(), counters::NAMES.len());
    let device = EtherDevice::new(Setup {
        me,
        ranks: numbers,
        key: Key::new(secret),
        seed: derive(b"numbers"),
        ports,
        cards: Box::new(move |peer, name| {
            cards::find(&known.look_up(peer, Published::Card)?, name).map(<[u8]>::to_vec)
        }),
        looked: Box::new(move || page.looked()),
        tell: Box::new(move |told| match told {
            Told::Unanswered(what) => teller.tell(Word::Unanswered(what)),
            Told::Ways(said) => {
                ways.write(said);
                true
            }
        }),
        answers: Box::new(move |text| answers.set_answers(text)),
        counters,
        lives: segment.lives().clone(),
        serves: Box::new(move |peer| hosts.knows(peer) && hosts.room_of(peer).is_none()),
    });
    Ok(Box::new(device))
}

/// Publishes the cards of this rank's devices, if there are ranks on other hosts.
fn exchange(boot: &Arc<dyn Boot>, segment: &Segment, devices: &[Box<dyn Device>]) -> Result<()> {
    if segment.is_spread() {
        let cards: Vec<_> = devices.iter().flat_map(|device| device.cards()).collect();
        boot.publish(Published::Card, &cards::pack(&cards))?;
        boot.fence()?;
    }
    Ok(())
}

/// The names of all devices, in the order in which they are tried.
pub fn devices() -> impl Iterator<Item = &'static str> {
    DEVICES.iter().map(|&(name, _)| name)
}

/// The configuration (`Wishes`) of this process's environment for the network between hosts, for tools.
pub fn wishes() -> Result<Wishes> {
    Asked::from_environment().map(|asked| asked.wishes)
}

/// Opens the ports between hosts that this process's environment requests, as a rank does.
pub fn ports(who: &Who) -> Result<Vec<Opened>> {
    hawser_dev_ether::ports(who, &wishes()?)
}

/// The rails and ports of this host in lines for people, as a rank would have them if `text` returned its parameters;
/// or the error in one of these.
pub fn rails(text: impl Fn(&Param) -> String) -> String {
    match Asked::of(text) {
        Ok(asked) => hawser_dev_ether::describe(&asked.wishes),
        Err(error) => format!("  {}\n", error.cause()),
    }
}

/// The limits of the matching engine: figures that suit every route of every rank, since the job's ranks must have them
/// alike. They follow from the parameters that are alike (`terms`), from the devices, and from `widest_host`, the ranks
/// of the host that has the most: shared memory among them has the least figures.
fn limits(fabric: &Fabric, widest_host: usize) -> Result<Limits> {
    let widest = (widest_host > 1).then(|| hawser_dev_shm::limits(widest_host));
    let least = |figure: fn(&hawser_device::Limits) -> usize| {
        fabric.all_limits().chain(&widest).map(figure).min().unwrap_or(0) as u64
    };
    let packet = least(|limits| limits.packet - PREFIX_MAX).min(params::PACKET.number()?);
    let eager = params::EAGER.number_or(least(|limits| limits.eager))?.max(packet);
    let window = params::WINDOW.number_or(params::WINDOW_EAGERS * eager)?.max(eager);
    Ok(Limits { packet, eager, first: packet.min(params::FIRST.number()?), offer: eager + 1, window })
}

#[cfg(test)]
mod tests {
    use super::*;
    use hawser_base::{Peer, Peers};
    use hawser_job::Spec;
    use hawser_job::counters::{COUNTERS, NAME_ROOM};
    use std::collections::HashSet;

    #[test]
    fn every_counter_has_a_slot_and_a_name_of_its_own_that_fits() {
        let names: Vec<String> = tools::entries().map(|entry| entry.name).collect();
        let unlike: HashSet<&String> = names.iter().collect();
        assert!(names.len() <= COUNTERS && unlike.len() == names.len(), "{names:?}");
        assert!(names.iter().all(|name| name.len() <= NAME_ROOM), "{names:?}");
    }

    #[test]
    fn what_counts_changes_is_found_by_its_slot() {
        let names: Vec<String> = tools::entries().map(|entry| entry.name).collect();
        let found: Vec<&str> = counters_of_changes().map(|slot| &names[slot][..]).collect();
        let expected =
            ["connections with changed bytes", "frames dropped with a wrong tag", "frames dropped with a wrong CRC"];
        assert_eq!(found, expected);
    }

    /// A sender counts the credit of its receiver's window, so both must have the same one.
    #[test]
    fn a_rank_alone_on_its_host_has_the_limits_of_ranks_that_are_many() {
        let fabric = |devices: Vec<Box<dyn Device>>, ranks| {
            Box::leak(Box::new(Fabric::new(devices, &Peers::Run { first: Peer(0), len: ranks }).unwrap()))
        };
        let own = || Box::new(Loopback::new(Peer(0)));
        let alone = fabric(vec![own()], 1);
        let limits_of = |ranks: usize| {
            let spec = Spec { world: ranks, world_ranks: (0..ranks as u32).collect(), ..Spec::alone("a", "test") };
            let shm = ShmDevice::new(Segment::create(&spec).unwrap(), 0);
            limits(fabric(vec![own(), Box::new(shm)], ranks as u32), ranks).unwrap()
        };
        for ranks in [2, 10, 64] {
            assert_eq!(limits(alone, ranks).unwrap(), limits_of(ranks), "{ranks} ranks");
        }
        assert!(limits(alone, 64).unwrap().window < limits(alone, 2).unwrap().window, "or nothing is tested");
    }

    #[test]
    fn every_row_makes_the_device_that_it_names() {
        let Joined { boot, segment } = join::join(&hawser_boot::terms::JobTerms::default()).unwrap();
        let asked = Asked::from_environment().unwrap();
        let made = DEVICES.iter().map(|(name, make)| (name, make(&boot, &segment, &asked).unwrap()));
        for (name, device) in made {
            let needed = *name != EtherDevice::NAME;
            assert_eq!(device.map(|device| device.name()), needed.then_some(*name), "alone no other host is reached");
        }
    }
}
