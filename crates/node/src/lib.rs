//! Layer 7: assembly of a process: profile and parameters → boot → devices → transport → `mpi::process`.
//!
//! This is the only crate that knows every device. A new device is one row of `DEVICES`. Used by the ABI crates, for
//! MPI_Init and the first session, and by `hawser-info`, which lists the devices and the parameters. It takes no part
//! once the process is assembled.

#![forbid(unsafe_code)]

mod byte_shares;
mod device_selection;
pub mod job_settings;
pub mod methods;
mod mpit_categories;
mod params;
pub mod profile;
pub mod unknown_variables;

pub use byte_shares::{CountedBytes, Counter, ReceivedBytes, byte_shares};
pub use mpit_categories::{changed as counters_of_changes, groups as tools};
pub use params::{all as params, check as check_params};

use device_selection::DeviceSelection;
use hawser_base::Result;
use hawser_base::param::Param;
use hawser_boot::KvsKey as Published;
use hawser_boot::{Bootstrap, Identity, Notification};
use hawser_dev_ether::port::RankCredentials;
use hawser_dev_ether::{EtherConfig, EtherDevice, EtherDeviceSetup, LocalRank, OpenPort, StatusReport};
use hawser_dev_shm::ShmDevice;
use hawser_device::{Device, Loopback, business_card};
use hawser_host::join::{self, Joined};
use hawser_job::Segment;
use hawser_link::frame::JobKey;
use hawser_mpi::process::{self, Process, ProcessParts};
use hawser_p2p::matching::PeerLimits;
use hawser_p2p::{counters, progress_thread};
use hawser_transport::{Fabric, ProgressSleep, RankPages, Transport, WaitPolicy};
use std::sync::{Arc, Mutex, MutexGuard};

/// The lock by which there is one initialisation at a time.
static STARTING: Mutex<()> = Mutex::new(());

/// Makes this process a rank, if it is none yet. Returns the process.
pub fn start() -> Result<&'static Process> {
    let _alone = STARTING.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if let Some(process) = process::started() {
        return Ok(process);
    }
    profile::of_rank()?;
    params::check()?;
    let joined = join::join(&job_settings::of_rank()?)?;
    // If mpiexec has started this process, mpiexec warns, once for all ranks and all that they start.
    if joined.prints_warnings {
        let variables = std::env::vars_os().map(|(name, _)| name);
        unknown_variables::warnings(variables)
            .iter()
            .for_each(|line| hawser_os::host::print_error(&format!("hawser: {line}")));
    }
    let boot = joined.bootstrap.clone();
    make_parts(joined).and_then(process::start).inspect_err(|_| hawser_boot::keep_for_abort(boot))
}

/// The transport of this process: its devices and their users. None before it is a rank.
static SERVICE: Mutex<Option<&'static Transport>> = Mutex::new(None);

fn lock_service() -> MutexGuard<'static, Option<&'static Transport>> {
    SERVICE.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Returns the transport of this process, which users other than MPI open by their names; None before the process is
/// a rank.
pub fn service() -> Option<&'static Transport> {
    *lock_service()
}

/// Makes the process's parts from what it gets from its host.
fn make_parts(Joined { bootstrap: boot, segment, .. }: Joined) -> Result<ProcessParts> {
    let me = *boot.identity();
    let page = segment.rank(me.local_rank as usize);
    let names: Vec<String> = mpit_categories::entries().map(|entry| entry.name).collect();
    segment.name_counters(&names);
    let selection = DeviceSelection::from_environment()?;
    let mut devices = Vec::new();
    for (_, make) in DEVICES.iter().filter(|(name, _)| selection.has(name)) {
        devices.extend(make(&boot, &segment, &selection)?);
    }
    publish_business_cards(&boot, &segment, &devices)?;
    // The transport is never freed, because users other than MPI may open it by their names at any time.
    let service: &'static Transport = Box::leak(Box::new(Transport::new(devices, segment.clone())));
    let fabric = Box::leak(Box::new(service.open_mpi(&boot.world())?));
    *lock_service() = Some(service);
    let cores = segment.facts().cores / me.local_size;
    let asleep = counters::sleep_counters(&page.counters());
    let wait_policy = WaitPolicy::new(cores, &page, other_pages(&segment, me.local_rank as usize), asleep, fabric)?;
    let standby =
        progress_thread::is_enabled(cores)?.then(|| ProgressSleep::new(page.doorbell(), fabric)).transpose()?;
    let limits = limits(fabric)?;
    Ok(ProcessParts { boot, segment, fabric, limits, wait_policy, standby })
}

/// Returns a function that gives the pages of this host's ranks except `me`, by number, each with whether the rank
/// lives; None behind the last one. By it the wait policy (`WaitPolicy`) checks whether other ranks compute.
fn other_pages(segment: &Segment, me: usize) -> RankPages {
    let segment = segment.clone();
    Arc::new(move |number| {
        let local = number + usize::from(number >= me);
        let lives = |local| segment.process_in(local).is_some_and(|peer| !segment.exit_log().has_ended(peer));
        (local < segment.local_size()).then(|| (segment.rank(local), lives(local)))
    })
}

/// A device's name, and the function that makes this rank's device of that name; None if the job does not need it.
type DeviceEntry =
    (&'static str, fn(&Arc<dyn Bootstrap>, &Segment, &DeviceSelection) -> Result<Option<Box<dyn Device>>>);

/// All devices, the best first: a peer is reached by the first one that can.
static DEVICES: [DeviceEntry; 3] = [
    (Loopback::NAME, |boot, _, _| Ok(Some(Box::new(Loopback::new(boot.identity().peer))))),
    (ShmDevice::NAME, |boot, segment, _| {
        let Identity { peer, local_rank, .. } = *boot.identity();
        if segment.joined_late(peer) {
            ShmDevice::clean(segment, local_rank as usize)?;
        }
        Ok(Some(Box::new(ShmDevice::new(segment.clone(), local_rank as usize))))
    }),
    (EtherDevice::NAME, |boot, segment, selection| match segment.spans_hosts() {
        true => ethernet(boot, segment, selection).map(Some),
        false => Ok(None),
    }),
];

/// Makes the device between hosts, with the ports of this host.
fn ethernet(boot: &Arc<dyn Bootstrap>, segment: &Segment, selection: &DeviceSelection) -> Result<Box<dyn Device>> {
    let Identity { peer, local_rank, local_size, secret, .. } = *boot.identity();
    let (me, numbers) = (peer.0, segment.layout().numbers as u32);
    let secret = secret.0;
    // From one of these derived numbers nobody can derive another one, or the secret.
    let derive = |purpose: &[u8]| JobKey::new(secret).derive(purpose);
    let (local_rank, local_ranks) = (local_rank as u16, local_size as u16);
    let seal = RankCredentials { key: JobKey::new(secret), me, ranks: numbers };
    let who = LocalRank { job: derive(b"job") as u32, local_rank, local_ranks, credentials: seal };
    let ports = hawser_dev_ether::open_ports(&who, &selection.ethernet_config)?;
    let (known, hosts, teller) = (boot.clone(), segment.clone(), boot.clone());
    let page = segment.rank(local_rank as usize);
    let (reachability, network_status, doorbell) = (page.clone(), page.network_status(), page.doorbell());
    let counters = (page.counters(), counters::NAMES.len());
    let device = EtherDevice::new(EtherDeviceSetup {
        me,
        ranks: numbers,
        key: JobKey::new(secret),
        seed: derive(b"numbers"),
        ports,
        card_lookup: Box::new(move |peer, name| {
            business_card::find(&known.look_up(peer, Published::BusinessCard)?, name).map(<[u8]>::to_vec)
        }),
        on_all_polled: Box::new(move || page.count_net_poll()),
        wake_rank: Box::new(move || doorbell.ring()),
        report_status: Box::new(move |event| match event {
            StatusReport::Reachability(what) => teller.notify(Notification::Reachability(what)),
            StatusReport::NetworkStatus(said) => {
                network_status.write(said);
                true
            }
        }),
        report_reachability: Box::new(move |text| reachability.set_reachability(text)),
        counters,
        exit_log: segment.exit_log().clone(),
        reaches: Box::new(move |peer| hosts.is_known(peer) && hosts.local_slot_of(peer).is_none()),
    });
    Ok(Box::new(device))
}

/// Publishes the business cards of this rank's devices, if there are ranks on other hosts.
fn publish_business_cards(boot: &Arc<dyn Bootstrap>, segment: &Segment, devices: &[Box<dyn Device>]) -> Result<()> {
    if segment.spans_hosts() {
        let business_cards: Vec<_> = devices.iter().flat_map(|device| device.card_entries()).collect();
        boot.publish(Published::BusinessCard, &business_card::pack(&business_cards))?;
        boot.fence()?;
    }
    Ok(())
}

/// Returns the names of all devices, in the order in which they are tried.
pub fn devices() -> impl Iterator<Item = &'static str> {
    DEVICES.iter().map(|&(name, _)| name)
}

/// Returns the configuration (`EtherConfig`) of the network between hosts that this process's environment requests,
/// for tools.
pub fn ethernet_config() -> Result<EtherConfig> {
    DeviceSelection::from_environment().map(|selection| selection.ethernet_config)
}

/// Opens the ports between hosts that this process's environment requests, as a rank does.
pub fn ports(rank: &LocalRank) -> Result<Vec<OpenPort>> {
    hawser_dev_ether::open_ports(rank, &ethernet_config()?)
}

/// Returns lines for people about the rails and ports of this host, as a rank would have them for which `text`
/// returned the parameters; or about the error in one of these parameters.
pub fn rails(text: impl Fn(&Param) -> String) -> String {
    match DeviceSelection::parse(text) {
        Ok(selection) => hawser_dev_ether::describe(&selection.ethernet_config),
        Err(error) => format!("  {}\n", error.cause()),
    }
}

/// Returns the limits of each peer: those of the route by the device that reaches it.
fn limits(fabric: &'static Fabric) -> Result<PeerLimits> {
    let by_route = fabric.all_limits().iter().map(methods::route_limits).collect::<Result<Vec<_>>>()?;
    Ok(PeerLimits::by_route(by_route, |peer| fabric.route(peer)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hawser_base::{Peer, Peers};
    use hawser_device::{DeviceLimits, PREFIX_MAX};
    use hawser_job::counters::{COUNTERS, NAME_BYTES};
    use hawser_mpi::tools::former_names::FORMER_NAMES;
    use hawser_mpi::tools::pvar::PvarSpec;
    use hawser_p2p::matching::Engine;
    use std::collections::HashSet;

    #[test]
    fn every_counter_has_a_slot_and_a_name_of_its_own_that_fits() {
        let names: Vec<String> = mpit_categories::entries().map(|entry| entry.name).collect();
        let unlike: HashSet<&String> = names.iter().collect();
        assert!(names.len() <= COUNTERS && unlike.len() == names.len(), "{names:?}");
        assert!(names.iter().all(|name| name.len() <= NAME_BYTES), "{names:?}");
    }

    /// A tool that knows a former name must find the variable, and a tool that knows only present ones a single one.
    #[test]
    fn former_names_of_counters_lead_to_present_ones() {
        let variables: Vec<PvarSpec> = tools().into_iter().flat_map(|category| category.variables).collect();
        let exists = |name: &str| variables.iter().any(|variable| variable.name() == name);
        for (former, present) in FORMER_NAMES {
            assert!(exists(present) && !exists(former), "{former} -> {present}");
        }
    }

    #[test]
    fn what_counts_changes_is_found_by_its_slot() {
        let names: Vec<String> = mpit_categories::entries().map(|entry| entry.name).collect();
        let found: Vec<&str> = counters_of_changes().map(|slot| &names[slot][..]).collect();
        let expected = ["corrupted connections", "frames dropped with a wrong tag", "frames dropped with a wrong CRC"];
        assert_eq!(found, expected);
    }

    /// A device to process 1 with limits of its own.
    struct FarDevice;

    impl Device for FarDevice {
        fn name(&self) -> &'static str {
            "far"
        }
        fn reaches(&self, peer: Peer) -> bool {
            peer == Peer(1)
        }
        fn limits(&self) -> DeviceLimits {
            DeviceLimits {
                packet: 2048 + PREFIX_MAX,
                eager: 4096,
                zero_copy_from: Some(5000),
                ..Loopback::new(Peer(1)).limits()
            }
        }
        fn port(&self, lane: hawser_base::Lane) -> Box<dyn hawser_device::DevicePort> {
            Loopback::new(Peer(1)).port(lane)
        }
    }

    /// A second host must not change how two ranks of one host send to each other.
    #[test]
    fn each_route_has_the_limits_of_its_device() {
        let fabric = |devices: Vec<Box<dyn Device>>| -> &'static Fabric {
            let peers = Peers::Consecutive { first: Peer(0), len: devices.len() as u32 };
            Box::leak(Box::new(Fabric::new(devices, &peers).unwrap()))
        };
        let near = || Box::new(Loopback::new(Peer(0)));
        let of = |fabric, peer| *Engine::new(limits(fabric).unwrap()).limits_of(Peer(peer));
        let (alone, both) = (fabric(vec![near()]), fabric(vec![near(), Box::new(FarDevice)]));
        assert_eq!(of(both, 0), of(alone, 0));
        let far = of(both, 1);
        assert_eq!((far.packet, far.eager, far.rtr_from, far.zero_copy_from), (2048, 4096, 4097, 5000));
        assert!(far.credit < of(both, 0).credit);
    }

    #[test]
    fn every_row_makes_the_device_that_it_names() {
        let Joined { bootstrap: boot, segment, .. } =
            join::join(&hawser_boot::job_settings::JobSettings::default()).unwrap();
        let selection = DeviceSelection::from_environment().unwrap();
        let made = DEVICES.iter().map(|(name, make)| (name, make(&boot, &segment, &selection).unwrap()));
        for (name, device) in made {
            let needed = *name != EtherDevice::NAME;
            assert_eq!(device.map(|device| device.name()), needed.then_some(*name), "alone no other host is reached");
        }
    }
}
