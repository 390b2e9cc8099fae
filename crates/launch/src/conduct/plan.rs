//! From the command line to what an agent is told to run.

use crate::args::{AppOptions, Inherit, Options};
use crate::frames::{App, HostJob};
use hawser_job::plan::MAX_LOCAL;
use hawser_os::host;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;

/// The whole job on this host.
pub fn host_job(options: &Options, stats: bool) -> io::Result<HostJob> {
    let size: u64 = options.apps.iter().map(|app| u64::from(app.ranks)).sum();
    if size > MAX_LOCAL as u64 {
        return Err(io::Error::other(format!("{size} ranks on one host are too many; {MAX_LOCAL} is the most")));
    }
    let directory = std::env::current_dir().unwrap_or_else(|_| "/".into());
    let of_app = options.apps.iter().enumerate().flat_map(|(number, app)| (0..app.ranks).map(move |_| number as u32));
    // Told apart by people by mpiexec's process, and by machines by the rest.
    let id = format!("{}-{:08x}", host::pid(), u32::from_ne_bytes(host::random()?));
    Ok(HostJob {
        id,
        size: size as u32,
        ranks: of_app.enumerate().map(|(rank, app)| (rank as u32, app)).collect(),
        apps: options.apps.iter().map(|app| self::app(app, std::env::vars_os())).collect(),
        directory: directory.as_os_str().as_bytes().to_vec(),
        binding: options.binding.clone(),
        readers: options.readers.clone(),
        stats,
    })
}

fn app(options: &AppOptions, ours: impl Iterator<Item = (OsString, OsString)>) -> App {
    let bytes = |text: &OsStr| text.as_bytes().to_vec();
    App {
        ranks: options.ranks,
        program: bytes(&options.command[0]),
        args: options.command[1..].iter().map(|arg| bytes(arg)).collect(),
        directory: options.directory.as_ref().map_or_else(Vec::new, |directory| bytes(directory.as_os_str())),
        environment: environment(options, ours.collect()).into_iter().map(|(n, v)| (bytes(&n), bytes(&v))).collect(),
    }
}

fn environment(options: &AppOptions, ours: Vec<(OsString, OsString)>) -> Vec<(OsString, OsString)> {
    let inherited = |name: &OsString| match &options.inherit {
        Inherit::All => true,
        Inherit::None => false,
        Inherit::Only(names) => names.contains(name),
    };
    let mut environment: Vec<_> = ours.iter().filter(|(name, _)| inherited(name)).cloned().collect();
    for (name, value) in &options.set {
        let value = value.clone().or_else(|| ours.iter().find(|(n, _)| n == name).map(|(_, value)| value.clone()));
        environment.retain(|(n, _)| n != name);
        environment.extend(value.map(|value| (name.clone(), value)));
    }
    environment
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(list: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
        list.iter().map(|(n, v)| (OsString::from(n), OsString::from(v))).collect()
    }

    #[test]
    fn the_environment_is_inherited_cut_and_set() {
        let ours = || pairs(&[("A", "1"), ("B", "2")]);
        let set = vec![("B".into(), Some("9".into())), ("C".into(), None), ("A".into(), None)];
        let options = |inherit| AppOptions { inherit, set: set.clone(), ..AppOptions::default() };
        assert_eq!(environment(&options(Inherit::All), ours()), pairs(&[("B", "9"), ("A", "1")]));
        assert_eq!(environment(&options(Inherit::None), ours()), pairs(&[("B", "9"), ("A", "1")]));
        let only = AppOptions { inherit: Inherit::Only(vec!["B".into()]), ..AppOptions::default() };
        assert_eq!(environment(&only, ours()), pairs(&[("B", "2")]));
    }

    #[test]
    fn ranks_are_numbered_through_the_apps() {
        let app = |ranks| AppOptions { ranks, command: vec!["a".into()], ..AppOptions::default() };
        let job = host_job(&Options { apps: vec![app(2), app(1)], ..Options::default() }, false).unwrap();
        assert_eq!((job.size, job.ranks), (3, vec![(0, 0), (1, 0), (2, 1)]));
        assert!(host_job(&Options { apps: vec![app(5000)], ..Options::default() }, false).is_err());
    }
}
