//! The text of what was detected and chosen, for `mpiexec --info` and `hawser-info`.

use crate::agent::libraries;
use crate::params;
use hawser_base::param::{Param, ParamKind};
use hawser_job::layout::LAYOUT_VERSION;
use hawser_job::{HostFacts, ProcessVm};
use hawser_node::job_settings::LIBRARY;
use hawser_node::profile::ProfileStatus;
use hawser_os::{cpus, host};
use std::fmt::Write;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// The properties of a host in one line.
pub fn facts_text(facts: &HostFacts) -> String {
    let rate = |mb_s: u32| if mb_s == 0 { "not measured".to_owned() } else { format!("{mb_s} MB/s") };
    let by_string = if facts.string_copies { " by string instructions" } else { "" };
    let copy = format!("two copies through memory {}{by_string}", rate(facts.through_memory_mb_s));
    let process_vm = match facts.process_vm {
        ProcessVm::Forbidden => "no process_vm_readv".into(),
        ProcessVm::Allowed => {
            let (rate, call_ns) = (rate(facts.process_vm_mb_s), facts.process_vm_call_ns);
            format!("process_vm_readv {rate}, at least {call_ns} ns a call")
        }
    };
    let doorbell_method = if facts.membarrier { "membarrier" } else { "fences" };
    format!("{} cores, {copy}, {process_vm}, doorbells by {doorbell_method}", facts.cores)
}

/// The names and values of an environment.
pub type Environment = [(Vec<u8>, Vec<u8>)];

/// The whole text: the properties of this host, measured for `ranks` ranks, and the parameters.
pub fn text(ranks: usize, profile: &ProfileStatus) -> String {
    host_text(ranks, &own_settings()) + &parameters(profile)
}

/// The Hawser variables in this process's environment.
pub fn own_settings() -> Vec<(Vec<u8>, Vec<u8>)> {
    settings(&std::env::vars_os().map(|(name, value)| (name.into_vec(), value.into_vec())).collect::<Vec<_>>())
}

/// The Hawser variables in an environment.
pub fn settings(environment: &Environment) -> Vec<(Vec<u8>, Vec<u8>)> {
    environment.iter().filter(|(name, _)| name.starts_with(b"HAWSER_")).cloned().collect()
}

/// The properties of this host, measured for `ranks` ranks; `settings` are the Hawser variables of the ranks, by
/// which the rails are chosen.
pub fn host_text(ranks: usize, settings: &Environment) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "Hawser {LIBRARY}, segment layout {LAYOUT_VERSION}");
    let _ = writeln!(text, "host        {}", host::name());
    let allowed = cpus::allowed().unwrap_or_default();
    let quota = cpus::quota().map_or_else(|| "no quota".into(), |quota| format!("quota {quota:.2}"));
    let _ = writeln!(
        text,
        "cores       {} allowed ({quota}), {} usable at the same time",
        allowed.len(),
        cpus::available()
    );
    let _ = writeln!(
        text,
        "measured    {}",
        self::facts_text(&hawser_host::facts::measure(ranks, params::may_membarrier()))
    );
    let _ = writeln!(text, "libraries   {}", libraries());
    let _ = writeln!(text, "devices     {}", hawser_node::devices().collect::<Vec<_>>().join(", "));
    let set = |param: &Param| settings.iter().find(|(name, _)| name == param.name.as_bytes());
    let value = |param: &Param| set(param).map_or(String::new(), |(_, value)| String::from_utf8_lossy(value).into());
    let _ = write!(
        text,
        "rails       interfaces to other hosts; a port that is tried is used if a peer answers on it (see --stats)\n{}",
        hawser_node::rails(value)
    );
    text
}

/// The parameters with their values, from this process's environment, from its profile or by default, and then all
/// other Hawser variables of the environment.
pub fn parameters(profile: &ProfileStatus) -> String {
    let mut text = format!("profile     {profile}\nparameters  (* set in the environment, + by the profile)\n");
    let known = params::all();
    for param in &known {
        let mark = match param.tuned() {
            _ if param.is_set() => '*',
            Some(_) => '+',
            None => ' ',
        };
        let value = param.text();
        let value = if value.is_empty() { "(empty)" } else { &value };
        let words =
            if let ParamKind::Choice(words) = param.kind { format!(": {}", words.join(", ")) } else { String::new() };
        let must_match = if param.must_match_on_all_ranks() { "; same on all ranks" } else { "" };
        let _ = writeln!(text, "  {mark} {}={value}  {}{words}{must_match}", param.name, param.help);
    }
    let mut others: Vec<_> = std::env::vars().filter(|(name, _)| name.starts_with("HAWSER_")).collect();
    others.retain(|(name, _)| known.iter().all(|param| param.name != name));
    others.sort();
    for (name, value) in others {
        let _ = writeln!(text, "  * {name}={value}");
    }
    text
}

/// The directory of our libraries and the ABIs that are in it.
fn libraries() -> String {
    let Some(directory) = libraries::library_directory() else {
        return "none in ../lib of this binary: programs use their own library search path".into();
    };
    let abis = [("libmpi_abi.so.1", "the MPI 5.0 standard ABI"), ("libmpi.so.12", "the MPICH ABI")];
    let installed = abis.into_iter().filter(|(name, _)| directory.join(name).exists());
    let names: Vec<String> = installed.map(|(name, abi)| format!("{name} ({abi})")).collect();
    format!("{}: {}", PathBuf::from(&directory).display(), names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_are_told_in_words() {
        let line = facts_text(&HostFacts {
            cores: 2,
            through_memory_mb_s: 9,
            string_copies: true,
            process_vm: ProcessVm::Allowed,
            process_vm_mb_s: 5,
            process_vm_call_ns: 7,
            membarrier: true,
        });
        assert_eq!(
            line,
            "2 cores, two copies through memory 9 MB/s by string instructions, process_vm_readv 5 MB/s, at least 7 \
             ns a call, doorbells by membarrier"
        );
        let nothing = facts_text(&HostFacts::default());
        assert_eq!(
            nothing,
            "0 cores, two copies through memory not measured, no process_vm_readv, doorbells by fences"
        );
    }

    #[test]
    fn the_whole_text_names_host_cores_and_parameters() {
        let text = text(2, &ProfileStatus::Nothing);
        for part in
            [host::name().as_str(), "cores ", "two copies", "devices     self, shm, ether\n", "HAWSER_HANG_S=60"]
        {
            assert!(text.contains(part), "{part} in {text}");
        }
    }
}
