//! The hosts and slots that Flux has given to the instance or job in which mpiexec runs.
//!
//! Flux names no hosts in variables: its command `flux` prints them, and is ended at a time limit. Used by `allocation`
//! and `foreign_variables`, and by `args`, where Flux starts the agents (`flux_exec`).

use crate::foreign_variables::Environment;
use crate::hosts::HostEntry;
use crate::{allocation, host_list, own_host};
use hawser_os::signals::{self, SIGCHLD, SIGKILL};
use hawser_os::spawn::{self, SpawnOptions};
use hawser_os::{host, process_tree};
use serde_json::Value;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

/// The variable with the address of the instance in which a process runs.
pub const VARIABLE: &str = "FLUX_URI";
/// The number of tasks of the job of which this process is a task; not set in the script of an instance.
const TASKS: &str = "FLUX_JOB_SIZE";
const JOB: &str = "FLUX_JOB_ID";
/// The variable that makes `flux kvs` read what belongs to a job.
const NAMESPACE: &str = "FLUX_KVS_NAMESPACE";

/// The time that the command may take. It takes a tenth of a second, and more where its Python is read from afar.
const LIMIT_S: u64 = 7;
/// The maximum number of brokers of an instance.
const BROKERS_MAX: usize = 1 << 20;

/// A broker of an instance. Several may be on one host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broker {
    pub host: String,
    pub rank: u32,
    cores: u32,
}

/// Whether this process is one of several tasks of a job of Flux.
pub fn is_one_of_several(environment: Environment) -> bool {
    environment(TASKS).and_then(|tasks| tasks.trim().parse::<u32>().ok()).is_some_and(|tasks| tasks > 1)
}

/// Whether Flux is nearer to this process than Slurm, where variables of both are set. Each may run in a job of the
/// other: Flux has removed Slurm's variables since 2023, and Slurm keeps those of Flux.
pub fn is_innermost() -> bool {
    let titles = process_tree::ancestors(host::pid()).into_iter();
    is_nearest(titles.filter_map(|pid| process_tree::arguments(pid).into_iter().next()))
}

/// Whether the first of these titles of ancestors that is of Flux or Slurm is of Flux, or none is.
fn is_nearest(titles: impl Iterator<Item = Vec<u8>>) -> bool {
    let manager = |title: Vec<u8>| {
        let title = String::from_utf8_lossy(&title).into_owned();
        let program = title.split_whitespace().next()?.rsplit('/').next()?.to_owned();
        let is_slurms = ["slurmstepd", "salloc", "srun"].iter().any(|name| program.starts_with(name));
        (is_slurms || program.starts_with("flux")).then_some(!is_slurms)
    };
    titles.into_iter().find_map(manager).unwrap_or(true)
}

/// The hosts of this process's job, if it is the job's only task, else those of its instance. A host has as many slots
/// as cores. The hosts that are down, or that the instance gives no jobs, are left out.
pub fn hosts(environment: Environment) -> Result<Vec<HostEntry>, String> {
    let job = environment(JOB).filter(|_| environment(TASKS).is_some());
    let brokers = match job {
        Some(job) => brokers(FluxCommand::start(&["job", "info", &job, "R"])?)?,
        None => brokers_of_instance()?,
    };
    sums(brokers)
}

/// The brokers of the instance that are up and may have jobs. The commands run once in this process.
fn brokers_of_instance() -> Result<Vec<Broker>, String> {
    static BROKERS: OnceLock<Result<Vec<Broker>, String>> = OnceLock::new();
    let read = || {
        let up = FluxCommand::start(&["resource", "list", "--states=up", "--no-header", "--format={ranks}"])?;
        // Neither command is left running if the other one fails.
        let (brokers, ranks) = (FluxCommand::start(&["kvs", "get", "resource.R"]).and_then(brokers), up.output());
        let (mut brokers, ranks) = (brokers?, ranks?);
        let ranks: Option<Vec<Vec<u32>>> = ranks.lines().map(ids).collect();
        let ranks = ranks.ok_or_else(|| up.nonsense("ranks"))?.concat();
        brokers.retain(|broker| ranks.contains(&broker.rank));
        Ok(brokers)
    };
    BROKERS.get_or_init(read).clone()
}

fn brokers(command: FluxCommand) -> Result<Vec<Broker>, String> {
    let output = command.output()?;
    let resources = serde_json::from_str(&output).ok();
    resources.and_then(|resources| parsed(&resources)).ok_or_else(|| command.nonsense("resources"))
}

/// The ranks of the brokers on the hosts with these names.
pub fn ranks(mut names: Vec<&str>) -> Result<Vec<(String, u32)>, String> {
    names.sort_unstable();
    names.dedup();
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let advice = "name other hosts, or another launcher (-launcher ssh)";
    let brokers = brokers_of_instance().map_err(|why| format!("the hosts of Flux are not known: {why}; {advice}"))?;
    let rank = |name: &str| {
        let broker = brokers.iter().find(|broker| own_host::is_same(&broker.host, name));
        let missing = || format!("host {name} is none of those of this instance of Flux that are up; {advice}");
        broker.map(|broker| (name.to_owned(), broker.rank)).ok_or_else(missing)
    };
    names.into_iter().map(rank).collect()
}

/// The brokers of a set of resources (R version 1, RFC 20 of Flux). Hosts are listed in the order of ranks.
fn parsed(resources: &Value) -> Option<Vec<Broker>> {
    if resources.get("version")?.as_u64() != Some(1) {
        return None;
    }
    let execution = resources.get("execution")?;
    let mut cores = Vec::new();
    for group in execution.get("R_lite")?.as_array()? {
        let each = group.get("children")?.get("core").map_or(Some(Vec::new()), |cores| ids(cores.as_str()?))?.len();
        cores.extend(ids(group.get("rank")?.as_str()?)?.into_iter().map(|rank| (rank, each as u32)));
    }
    cores.sort_unstable();
    let mut names = Vec::new();
    for list in execution.get("nodelist")?.as_array()? {
        names.extend(host_list::expanded(list.as_str()?)?);
    }
    let is_whole = cores.len() == names.len();
    let brokers = cores.into_iter().zip(names).map(|((rank, cores), host)| Broker { host, rank, cores });
    is_whole.then(|| brokers.collect())
}

/// The hosts of the brokers, each once with the cores of all its brokers.
fn sums(brokers: Vec<Broker>) -> Result<Vec<HostEntry>, String> {
    let mut hosts: Vec<HostEntry> = Vec::new();
    for Broker { host: name, cores, .. } in brokers.into_iter().filter(|broker| broker.cores > 0) {
        allocation::add(&mut hosts, allocation::entry(&name, cores, cores)?);
    }
    Ok(hosts)
}

/// Parses a set of numbers, as in `0-3,7` or `[0-3,7]`. None if the text is malformed or names too many.
fn ids(text: &str) -> Option<Vec<u32>> {
    let text = text.trim();
    let text = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
    let mut ids = Vec::new();
    for range in text.split(',').filter(|_| !text.is_empty()) {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last) = (first.parse::<u32>().ok()?, last.parse::<u32>().ok()?);
        if first > last || (last - first) as usize >= BROKERS_MAX - ids.len() {
            return None;
        }
        ids.extend(first..=last);
    }
    Some(ids)
}

/// A command `flux` that has been started.
struct FluxCommand {
    /// The command, for messages.
    line: String,
    /// The process, which leads a group.
    pid: i32,
    output: Receiver<io::Result<Output>>,
    deadline: Instant,
}

impl FluxCommand {
    fn start(words: &[&str]) -> Result<FluxCommand, String> {
        FluxCommand::start_program("flux", words)
    }

    fn start_program(program: &str, words: &[&str]) -> Result<FluxCommand, String> {
        let mut command = Command::new(program);
        command.args(words).env_remove(NAMESPACE);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        // An end cannot be waited for where the signal is ignored.
        signals::restore_default(SIGCHLD);
        let options = SpawnOptions { die_with_parent: true, ..SpawnOptions::default() };
        let cannot = |error: io::Error| format!("the command {program} cannot be started: {error}");
        let child = spawn::spawn(&mut command, options).map_err(cannot)?;
        let pid = child.id() as i32;
        let (sender, output) = mpsc::channel();
        // Nobody receives what comes behind the time limit.
        let waiter = thread::Builder::new().spawn(move || drop(sender.send(child.wait_with_output())));
        if let Err(error) = waiter {
            let _ = signals::send(-pid, SIGKILL);
            return Err(cannot(error));
        }
        let line = format!("flux {}", words.join(" "));
        Ok(FluxCommand { line, pid, output, deadline: Instant::now() + Duration::from_secs(LIMIT_S) })
    }

    /// Waits for the end of the command, and returns its output. The error is one line without a remedy.
    fn output(&self) -> Result<String, String> {
        let Ok(output) = self.output.recv_timeout(self.deadline.saturating_duration_since(Instant::now())) else {
            // The process has not been waited for, so that the number is still that of its group.
            let _ = signals::send(-self.pid, SIGKILL);
            return Err(format!("`{}` has not ended within {LIMIT_S} s", self.line));
        };
        let output = output.map_err(|error| format!("`{}` cannot be waited for: {error}", self.line))?;
        if !output.status.success() {
            let errors = String::from_utf8_lossy(&output.stderr);
            let last = errors.lines().rfind(|line| !line.trim().is_empty());
            let last = last.map_or_else(String::new, |line| format!(" ({})", line.trim()));
            return Err(format!("`{}` fails with {}{last}", self.line, output.status));
        }
        String::from_utf8(output.stdout).map_err(|_| self.nonsense("text"))
    }

    fn nonsense(&self, expected: &str) -> String {
        format!("`{}` prints no {expected} that can be read", self.line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(resources: &str) -> Option<String> {
        let hosts = sums(parsed(&serde_json::from_str(resources).ok()?)?).unwrap();
        let texts = hosts.iter().map(|HostEntry { name, slots, max }| format!("{name}:{slots}/{max}"));
        Some(texts.collect::<Vec<_>>().join(" "))
    }

    /// The output of flux-core 0.88: of `flux kvs get resource.R` in an instance of two brokers on one host, and of
    /// `flux job info ID R`.
    const TWO_BROKERS: &str = r#"{"version":1,"execution":{"R_lite":[{"rank":"0-1","children":{"core":"0-1"}}],"starttime":0.0,"expiration":0.0,"nodelist":["vm,vm"]}}"#;
    const JOB: &str = r#"{"version": 1, "execution": {"R_lite": [{"rank": "0-1", "children": {"core": "0-7"}}], "starttime": 1795994501.723911, "expiration": 0.0, "nslots": 2, "nodelist": ["vm,vm"]}}"#;

    #[test]
    fn the_resources_of_flux_are_read() {
        assert_eq!(text(TWO_BROKERS).unwrap(), "vm:4/4");
        assert_eq!(text(JOB).unwrap(), "vm:16/16");
        let lists = |lite: &str, nodes: &str| {
            text(&format!(
                r#"{{"version":1,"execution":{{"R_lite":[{lite}],"nodelist":[{nodes}]}},"scheduling":{{}}}}"#
            ))
        };
        let lite = r#"{"rank":"0,2","children":{"core":"0-3","gpu":"0"}},{"rank":"[1,3]","children":{"core":"0,7"}}"#;
        assert_eq!(lists(lite, r#""n[08-10]","m""#).unwrap(), "n08:4/4 n09:2/2 n10:4/4 m:2/2");
        assert_eq!(lists(r#"{"rank":"0-1","children":{"gpu":"0"}}"#, r#""a,b""#).unwrap(), "");
        for (lite, nodes) in [
            (lite, r#""n[08-10]""#),
            (lite, r#""n[08-12]""#),
            (lite, r#""n[""#),
            (lite, "7"),
            (r#"{"rank":"0-","children":{"core":"0"}}"#, r#""a""#),
            (r#"{"rank":"0","children":{"core":7}}"#, r#""a""#),
            (r#"{"rank":"0"}"#, r#""a""#),
        ] {
            assert_eq!(lists(lite, nodes), None, "{lite} {nodes}");
        }
        assert_eq!(text(&TWO_BROKERS.replace("\"version\":1", "\"version\":2")), None);
        let wrong = TWO_BROKERS.replace("vm,vm", "-oProxyCommand=x,vm");
        assert!(
            sums(parsed(&serde_json::from_str(&wrong).unwrap()).unwrap())
                .unwrap_err()
                .contains("is not the name of a host")
        );
    }

    #[test]
    fn sets_of_numbers_are_read() {
        assert_eq!(ids("0-3,7\n"), Some(vec![0, 1, 2, 3, 7]));
        assert_eq!((ids("[5]"), ids(""), ids("[]")), (Some(vec![5]), Some(vec![]), Some(vec![])));
        for wrong in ["a", "1-", "-1", "3-1", "1,,2", "[1", "0-4294967295", "0-1048576"] {
            assert_eq!(ids(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_task_of_several_is_known_by_the_number_of_tasks() {
        let with = |set: &'static [(&str, &str)]| {
            move |asked: &str| set.iter().find(|(name, _)| *name == asked).map(|(_, value)| (*value).to_owned())
        };
        assert!(!is_one_of_several(&with(&[])) && !is_one_of_several(&with(&[(TASKS, "1")])));
        assert!(is_one_of_several(&with(&[(TASKS, "2")])));
    }

    #[test]
    fn the_manager_whose_process_is_nearest_counts() {
        let nearest = |titles: &[&str]| is_nearest(titles.iter().map(|title| title.as_bytes().to_vec()));
        assert!(nearest(&["sh", "/usr/libexec/flux/cmd/flux-broker", "slurmstepd: [7.0]", "init"]));
        assert!(
            nearest(&["/usr/libexec/flux/flux-shell", "flux-broker"]) && nearest(&["sh", "init"]) && nearest(&[""])
        );
        assert!(!nearest(&["sh", "slurmstepd: [7.batch]", "slurmd"]));
        assert!(
            !nearest(&["/usr/bin/salloc", "bash", "flux-broker"]) && !nearest(&["slurmstepd-wlm: [1.0+1]   ", "flux"])
        );
    }

    #[test]
    fn a_command_that_fails_is_named_with_its_last_line() {
        let output =
            |script: &str| FluxCommand::start_program("sh", &["-c", script]).and_then(|command| command.output());
        assert_eq!(output("echo said"), Ok("said\n".into()));
        let why = output("echo first >&2; echo; echo 'no broker' >&2; exit 3").unwrap_err();
        assert!(why.starts_with("`flux -c ") && why.ends_with("fails with exit status: 3 (no broker)"), "{why}");
        assert!(output("printf '\\377'").unwrap_err().ends_with("prints no text that can be read"));
        let why = FluxCommand::start_program("/no/flux", &[]).err().unwrap();
        assert!(why.starts_with("the command /no/flux cannot be started: No such file"), "{why}");
    }
}
