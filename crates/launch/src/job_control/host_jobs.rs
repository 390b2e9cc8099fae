//! Translates the command line into the job that each host's agent must run.

use crate::allocation;
use crate::args::{AppOptions, EnvInheritance, JobOptions};
use crate::frames::{App, HostJob};
use crate::hosts::RankPlacer;
use crate::params;
use crate::worker::token;
use hawser_boot::protocol::JobSecret;
use hawser_job::layout::{MAX_LOCAL, MAX_WORLD};
use hawser_os::host;
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;

/// Makes the part of the job for each host that has ranks, in the order of the hosts' first ranks. If no hosts are
/// named, there is one part, for this host under its own name. It is an error if there are too many ranks for the
/// job, a host, the hosts' max_slots or the slots of an allocation.
pub fn host_jobs<'a>(options: &'a JobOptions, stats: bool) -> io::Result<Vec<HostJob>> {
    let size: u64 = options.apps.iter().map(|app| u64::from(app.ranks)).sum();
    if size > MAX_WORLD as u64 {
        return Err(io::Error::other(format!("{size} ranks are too many; a job has at most {MAX_WORLD}")));
    }
    let template = job_template(options, size as u32, stats)?;
    let mut jobs: Vec<HostJob> = Vec::new();
    let mut numbers: HashMap<&'a str, usize> = HashMap::new();
    let mut number = |host: &'a str, jobs: &mut Vec<HostJob>| {
        *numbers.entry(host).or_insert_with(|| {
            jobs.push(HostJob { host: host.into(), ..template.clone() });
            jobs.len() - 1
        })
    };
    let mut hosts = Vec::new();
    for (rank, (host, app)) in (0..).zip(assign_ranks(options)?) {
        let number = number(host, &mut jobs);
        jobs[number].ranks.push((rank, app));
        hosts.push(number as u32);
    }
    if options.apps.is_empty() {
        // Without a program, mpiexec only requests every host to report what it detects.
        for host in &options.hosts {
            number(&host.name, &mut jobs);
        }
    }
    let has_several_hosts = jobs.len() > 1;
    for job in &mut jobs {
        if has_several_hosts {
            job.hosts.clone_from(&hosts);
        }
        if job.ranks.len() > MAX_LOCAL {
            let (ranks, host) = (job.ranks.len(), if job.host.is_empty() { "one host" } else { &job.host });
            let text = format!("{ranks} ranks on {host} are too many; a host has at most {MAX_LOCAL}");
            return Err(io::Error::other(text));
        }
        job.readers.retain(|reader| job.ranks.binary_search_by_key(reader, |(rank, _)| *rank).is_ok());
    }
    Ok(jobs)
}

/// The part of the job that is the same for all hosts.
fn job_template(options: &JobOptions, size: u32, stats: bool) -> io::Result<HostJob> {
    let directory = std::env::current_dir().unwrap_or_else(|_| "/".into());
    // The process id of mpiexec distinguishes jobs for people, the random number for programs.
    let id = format!("{}-{:08x}", host::pid(), u32::from_ne_bytes(host::random()?));
    Ok(HostJob {
        id,
        host: String::new(),
        secret: JobSecret(host::random()?),
        size,
        ranks: Vec::new(),
        hosts: Vec::new(),
        apps: options.apps.iter().map(|app| self::app(app, own_environment(options))).collect(),
        directory: directory.as_os_str().as_bytes().to_vec(),
        binding: options.binding.clone(),
        readers: options.readers.clone(),
        stats,
        membarrier: params::may_membarrier(),
        continues_after_fault: options.continues_after_fault,
        profile_line: options.profile.line(),
    })
}

/// The host of each rank and the number of its program, in rank order; an empty host name is this host.
fn assign_ranks(options: &JobOptions) -> io::Result<Vec<(&str, u32)>> {
    let mut assigned = Vec::new();
    let mut shared_placer = RankPlacer::new(&options.hosts, options.per_host);
    for (number, app) in (0..).zip(&options.apps) {
        let mut own_placer = RankPlacer::new(&app.hosts, options.per_host);
        let placer = if app.hosts.is_empty() { &mut shared_placer } else { &mut own_placer };
        for _ in 0..app.ranks {
            let host = if options.hosts.is_empty() && app.hosts.is_empty() { Some("") } else { placer.next() };
            let host = host.ok_or_else(|| {
                let is_of_manager = |name: &&str| app.hosts.is_empty() && allocation::is_of_manager(name);
                io::Error::other(match options.hosts_variable.filter(is_of_manager) {
                    Some(variable) => too_many_for_allocation(options, variable),
                    None => format!("the hosts' max_slots allow no more than {} ranks", assigned.len()),
                })
            })?;
            assigned.push((host, number));
        }
    }
    Ok(assigned)
}

/// The error of a job with more ranks than the allocation has slots.
fn too_many_for_allocation(options: &JobOptions, variable: &str) -> String {
    let ranks: u64 = options.apps.iter().filter(|app| app.hosts.is_empty()).map(|app| u64::from(app.ranks)).sum();
    let slots: u64 = options.hosts.iter().map(|host| u64::from(host.max)).sum();
    format!(
        "{ranks} ranks are more than the {slots} slots of this allocation ({variable}); allocate more, or add \
         -oversubscribe"
    )
}

fn app(options: &AppOptions, own_environment: impl Iterator<Item = (OsString, OsString)>) -> App {
    let bytes = |text: &OsStr| text.as_bytes().to_vec();
    App {
        ranks: options.ranks,
        program: bytes(&options.command[0]),
        args: options.command[1..].iter().map(|arg| bytes(arg)).collect(),
        directory: options.directory.as_ref().map_or_else(Vec::new, |directory| bytes(directory.as_os_str())),
        path: bytes(&options.path),
        arch: options.arch.clone(),
        environment: environment(options, own_environment.collect())
            .into_iter()
            .map(|(n, v)| (bytes(&n), bytes(&v)))
            .collect(),
    }
}

/// The variables of mpiexec. A rank has no use for the token of its job's workers, and may be somebody else's program.
fn own_environment(options: &JobOptions) -> impl Iterator<Item = (OsString, OsString)> {
    let is_token = |variable: &OsStr| variable == token::VARIABLE || variable == token::FILE_VARIABLE;
    let has_workers = options.workers.is_some();
    std::env::vars_os().filter(move |(name, _)| !(has_workers && is_token(name)))
}

fn environment(options: &AppOptions, own_environment: Vec<(OsString, OsString)>) -> Vec<(OsString, OsString)> {
    let inherited = |name: &OsString| match &options.inherit {
        EnvInheritance::All => true,
        EnvInheritance::None => false,
        EnvInheritance::Only(names) => names.contains(name),
    };
    let mut environment: Vec<_> = own_environment.iter().filter(|(name, _)| inherited(name)).cloned().collect();
    for (name, value) in &options.set {
        let value =
            value.clone().or_else(|| own_environment.iter().find(|(n, _)| n == name).map(|(_, value)| value.clone()));
        environment.retain(|(n, _)| n != name);
        environment.extend(value.map(|value| (name.clone(), value)));
    }
    environment
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hosts;

    fn pairs(list: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
        list.iter().map(|(n, v)| (OsString::from(n), OsString::from(v))).collect()
    }

    #[test]
    fn the_environment_is_inherited_cut_and_set() {
        let own_environment = || pairs(&[("A", "1"), ("B", "2")]);
        let set = vec![("B".into(), Some("9".into())), ("C".into(), None), ("A".into(), None)];
        let options = |inherit| AppOptions { inherit, set: set.clone(), ..AppOptions::default() };
        assert_eq!(environment(&options(EnvInheritance::All), own_environment()), pairs(&[("B", "9"), ("A", "1")]));
        assert_eq!(environment(&options(EnvInheritance::None), own_environment()), pairs(&[("B", "9"), ("A", "1")]));
        let only = AppOptions { inherit: EnvInheritance::Only(vec!["B".into()]), ..AppOptions::default() };
        assert_eq!(environment(&only, own_environment()), pairs(&[("B", "2")]));
    }

    #[test]
    fn ranks_are_numbered_through_the_apps() {
        let app = |ranks| AppOptions { ranks, command: vec!["a".into()], ..AppOptions::default() };
        let jobs = host_jobs(&JobOptions { apps: vec![app(2), app(1)], ..JobOptions::default() }, false).unwrap();
        assert_eq!((jobs.len(), jobs[0].size, &jobs[0].ranks), (1, 3, &vec![(0, 0), (1, 0), (2, 1)]));
        assert!(host_jobs(&JobOptions { apps: vec![app(5000)], ..JobOptions::default() }, false).is_err());
    }

    #[test]
    fn each_host_is_told_its_ranks_and_readers() {
        let app = |ranks| AppOptions { ranks, command: vec!["a".into()], ..AppOptions::default() };
        let hosts = hosts::list("a,b:2").unwrap();
        let readers = vec![0, 2];
        let mut options = JobOptions { apps: vec![app(3), app(2)], hosts, readers, ..JobOptions::default() };
        let jobs = host_jobs(&options, false).unwrap();
        let assigned: Vec<_> =
            jobs.iter().map(|job| (job.host.as_str(), job.ranks.clone(), job.readers.clone())).collect();
        assert!(jobs.iter().all(|job| job.hosts == [0, 1, 1, 0, 1]));
        // The second program begins where the first one has ended.
        assert_eq!(assigned, [("a", vec![(0, 0), (3, 1)], vec![0]), ("b", vec![(1, 0), (2, 0), (4, 1)], vec![2])]);
        assert!(
            jobs.iter().all(|job| job.secret == jobs[0].secret && job.secret != JobSecret::default() && job.size == 5)
        );
        options.apps[1].hosts = hosts::list("b").unwrap();
        assert_eq!(host_jobs(&options, false).unwrap()[1].ranks, [(1, 0), (2, 0), (3, 1), (4, 1)]);
        options.hosts[0].max = 1;
        options.hosts[1].max = 1;
        assert!(host_jobs(&options, false).is_err_and(|error| error.to_string().contains("more than 2 ranks")));
    }
}
