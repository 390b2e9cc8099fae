//! The hosts and slots that a resource manager has allocated to the job in which mpiexec runs.
//!
//! Slurm, PBS, LSF and Grid Engine name them in variables, or in files that variables name; Flux is asked (`flux`). The
//! module resolves no name. Used by `args` where neither the command line nor a variable of another launcher
//! (`foreign_variables`) names hosts.

use crate::foreign_variables::{Environment, NamedHosts};
use crate::host_list::{HOSTS_MAX, expanded};
use crate::hosts::{self, HostEntry};
use crate::srun::of_component;
use crate::{flux, own_host};
use hawser_boot::protocol::RANK_VARIABLE;
use std::fs;

/// The variable of Slurm with the hosts of a job. The shell of salloc has none in a heterogeneous job.
const SLURM: &str = "SLURM_JOB_NODELIST";
/// The variable of Slurm with the number of components of a heterogeneous job.
const SLURM_COMPONENTS: &str = "SLURM_HET_SIZE";
/// The number of the step in which a site runs the shell of salloc (SLURM_INTERACTIVE_STEP): its hosts are the job's.
const INTERACTIVE_STEP: &str = "4294967290";

/// A resource manager: its variable, and the function that makes hosts of the variable's value.
type Manager = (&'static str, fn(&str, Environment) -> Result<Vec<HostEntry>, String>);

/// The first manager whose variable is set counts. Flux often runs in an allocation of another one; where it is the
/// other way round with Slurm, it is left out (`flux::is_innermost`). LSF sets both of its variables; the file has no
/// limit of length.
const MANAGERS: [Manager; 7] = [
    (flux::VARIABLE, |_, environment| flux::hosts(environment)),
    (SLURM_COMPONENTS, slurm_components),
    (SLURM, slurm),
    ("PBS_NODEFILE", |file, _| repeated(&read(file)?)),
    ("LSB_DJOB_HOSTFILE", |file, _| repeated(&read(file)?)),
    ("LSB_MCPU_HOSTS", |list, _| counted(list.split_whitespace().collect::<Vec<_>>().chunks(2))),
    ("PE_HOSTFILE", |file, _| {
        let text = read(file)?;
        let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().take(2).collect()).collect();
        counted(lines.iter().map(Vec::as_slice).filter(|words| !words.is_empty()))
    }),
];

/// Returns the hosts of the allocation, each of which takes as many ranks as it has slots, and the variable that has
/// named them. None if mpiexec runs in no allocation, is started by a rank of ours, which must stay on its host, or is
/// one of several tasks of a step, each of which starts a job of its own. The error is one line for the user.
pub fn hosts(environment: Environment) -> Result<Option<NamedHosts>, String> {
    let number = |name| environment(name).and_then(|value| value.trim().parse::<u32>().ok()).unwrap_or(0);
    let is_set = |name: &str| environment(name).is_some_and(|value| !value.trim().is_empty());
    let has_flux = is_set(flux::VARIABLE) && (!is_set("SLURM_JOB_ID") || flux::is_innermost());
    let is_one_of_several =
        if has_flux { flux::is_one_of_several(environment) } else { number("SLURM_STEP_NUM_TASKS") > 1 };
    if environment(RANK_VARIABLE).is_some() || is_one_of_several {
        return Ok(None);
    }
    for (name, hosts) in MANAGERS.into_iter().filter(|(name, _)| has_flux || *name != flux::VARIABLE) {
        let Some(value) = environment(name).filter(|value| !value.trim().is_empty()) else { continue };
        return match hosts(value.trim(), environment) {
            Ok(hosts) if !hosts.is_empty() => Ok(Some((with_own_name(hosts), name))),
            Ok(_) => Err(explained(name, "it names no host")),
            Err(why) => Err(explained(name, &why)),
        };
    }
    Ok(None)
}

/// Gives this host the name that it has itself, so that it needs no remote shell.
fn with_own_name(mut hosts: Vec<HostEntry>) -> Vec<HostEntry> {
    for host in &mut hosts {
        if let Some(own) = own_host::of_manager(&host.name) {
            host.name = own;
        }
    }
    hosts
}

fn explained(name: &str, why: &str) -> String {
    format!("{name}: {why}; unset {name}, or name hosts by -hosts or -f")
}

/// Whether the variable with this name is a resource manager's.
pub fn is_of_manager(name: &str) -> bool {
    MANAGERS.iter().any(|(of_manager, _)| *of_manager == name)
}

/// Whether the variable with this name is Slurm's. Its allocations are those in which agents are started by `srun`.
pub fn is_of_slurm(name: &str) -> bool {
    [SLURM, SLURM_COMPONENTS].contains(&name)
}

fn read(file: &str) -> Result<String, String> {
    fs::read_to_string(file).map_err(|error| format!("the file {file} cannot be read: {error}"))
}

/// The hosts of a file that names each once for each of its slots.
fn repeated(text: &str) -> Result<Vec<HostEntry>, String> {
    let mut hosts: Vec<HostEntry> = Vec::new();
    for name in text.split_whitespace() {
        add(&mut hosts, entry(name, 1, 1)?);
    }
    Ok(hosts)
}

/// Adds a host, or its slots to those of the host with that name.
pub fn add(hosts: &mut Vec<HostEntry>, host: HostEntry) {
    match hosts.iter_mut().find(|other| other.name == host.name) {
        Some(other) => {
            other.slots = other.slots.saturating_add(host.slots);
            other.max = other.max.saturating_add(host.max);
        }
        None => hosts.push(host),
    }
}

/// The hosts of pairs of a name and a number of slots.
fn counted<'a>(mut pairs: impl Iterator<Item = &'a [&'a str]>) -> Result<Vec<HostEntry>, String> {
    pairs.try_fold(Vec::new(), |mut hosts, pair| {
        let &[name, slots] = pair else { return Err(format!("{:?} has no number of slots", pair.join(" "))) };
        let slots = slots.parse().map_err(|_| format!("{slots:?} is not a number of slots"))?;
        // A queue may have given none of its slots on a host.
        if slots > 0 {
            hosts.push(entry(name, slots, slots)?);
        }
        Ok(hosts)
    })
}

/// Makes an entry. The name is checked, because it becomes a word of the remote shell.
pub fn entry(name: &str, slots: u32, max: u32) -> Result<HostEntry, String> {
    let wrong = || format!("{name:?} is not the name of a host");
    let mut checked = hosts::list(name).map_err(|_| wrong())?;
    let host = checked.pop().filter(|host| host.name == name && checked.is_empty()).ok_or_else(wrong)?;
    Ok(HostEntry { slots, max, ..host })
}

/// The hosts of Slurm's list. In a step on some of the job's hosts the numbers of tasks are the step's, and only its
/// hosts count. An interactive step has one host and the job's numbers: its hosts are the job's.
fn slurm(list: &str, environment: Environment) -> Result<Vec<HostEntry>, String> {
    let of_job = expanded(list).ok_or_else(|| not_a_list(list))?;
    let is_of_step = numbers("SLURM_TASKS_PER_NODE", environment).is_some_and(|tasks| tasks.len() != of_job.len());
    let of_step = environment("SLURM_STEP_NODELIST").filter(|_| is_of_step);
    let of_step = of_step.map(|list| expanded(&list).ok_or_else(|| not_a_list(&list))).transpose()?;
    with_slots(&of_step.unwrap_or(of_job), environment)
}

/// The hosts of all components of a heterogeneous job of Slurm. A host of several components has the sum of their
/// slots. A step of one component has its own hosts.
fn slurm_components(_number: &str, environment: Environment) -> Result<Vec<HostEntry>, String> {
    let is_of_step = environment("SLURM_STEP_ID").is_some_and(|step| step.trim() != INTERACTIVE_STEP);
    let components = components(environment)?;
    if is_of_step || components.is_empty() {
        return environment(SLURM).map_or(Ok(Vec::new()), |list| slurm(list.trim(), environment));
    }
    let mut hosts: Vec<HostEntry> = Vec::new();
    for (group, names) in components.iter().enumerate() {
        for host in with_slots(names, &|name| environment(&of_component(name, group)))? {
            add(&mut hosts, host);
        }
    }
    Ok(hosts)
}

/// The names of the hosts of each component of the heterogeneous job of Slurm in which mpiexec runs; none in any other
/// job. The variables of another job, whose shell has submitted this one, do not count.
pub fn components(environment: Environment) -> Result<Vec<Vec<String>>, String> {
    let number = environment(SLURM_COMPONENTS).and_then(|number| number.trim().parse::<usize>().ok()).unwrap_or(0);
    let (job, first) = (environment("SLURM_JOB_ID"), environment(&of_component("SLURM_JOB_ID", 0)));
    if number < 2 || job.is_some() && first.is_some() && job != first {
        return Ok(Vec::new());
    }
    let of_group = |group| {
        let name = of_component(SLURM, group);
        let list = environment(&name).ok_or_else(|| format!("{name} is not set"))?;
        expanded(list.trim()).ok_or_else(|| not_a_list(&list))
    };
    (0..number).map(of_group).collect()
}

/// Hosts of Slurm with their slots. A host takes as many ranks in its turn as it has tasks, and as many in all as it
/// has tasks or processors for tasks, whichever is more (sbatch(1), output environment variables).
fn with_slots(names: &[String], environment: Environment) -> Result<Vec<HostEntry>, String> {
    let each = |name| numbers(name, environment).filter(|each| each.len() == names.len());
    let processors_a_task = environment("SLURM_CPUS_PER_TASK").and_then(|value| value.parse().ok()).unwrap_or(1).max(1);
    let processors = each("SLURM_JOB_CPUS_PER_NODE").unwrap_or_default();
    let tasks = each("SLURM_TASKS_PER_NODE").unwrap_or_default();
    let entry = |(at, name): (usize, &String)| {
        let for_tasks = processors.get(at).map_or(1, |number| number / processors_a_task).max(1);
        let slots = tasks.get(at).copied().unwrap_or(for_tasks).max(1);
        entry(name, slots, slots.max(for_tasks))
    };
    names.iter().enumerate().map(entry).collect()
}

fn not_a_list(text: &str) -> String {
    format!("{text:?} is not a list of hosts")
}

/// The numbers for each host in a variable of Slurm. None if it is not set, or malformed.
fn numbers(name: &str, environment: Environment) -> Option<Vec<u32>> {
    environment(name).and_then(|value| repeats(&value))
}

/// Parses Slurm's numbers for each host, as in `2(x3),1`. None if the text is malformed.
fn repeats(text: &str) -> Option<Vec<u32>> {
    let mut numbers = Vec::new();
    for part in text.split(',') {
        let (number, times) = part
            .split_once("(x")
            .map_or(Some((part, "1")), |(number, times)| Some((number, times.strip_suffix(')')?)))?;
        let times = times.parse().ok().filter(|&times: &usize| times <= HOSTS_MAX - numbers.len())?;
        numbers.extend(std::iter::repeat_n(number.parse::<u32>().ok()?, times));
    }
    Some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hawser_os::host;

    fn with<'a>(set: &'a [(&'a str, &'a str)]) -> impl Fn(&str) -> Option<String> + 'a {
        move |asked| set.iter().find(|(name, _)| *name == asked).map(|(_, value)| (*value).to_owned())
    }

    /// The hosts as `name:slots/max`.
    fn text(set: &[(&str, &str)]) -> Result<String, String> {
        let (hosts, variable) = hosts(&with(set))?.ok_or("none")?;
        assert_eq!(variable, set[0].0);
        let texts = hosts.iter().map(|HostEntry { name, slots, max }| format!("{name}:{slots}/{max}"));
        Ok(texts.collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn hosts_of_slurm_take_their_tasks_and_at_most_their_processors() {
        let set = |tasks, processors| {
            [(SLURM, "n[1-2],m"), ("SLURM_TASKS_PER_NODE", tasks), ("SLURM_JOB_CPUS_PER_NODE", processors)]
        };
        assert_eq!(text(&set("2(x2),1", "8(x2),4")).unwrap(), "n1:2/8 n2:2/8 m:1/4");
        assert_eq!(text(&set("9,2,1", "8(x2),4")).unwrap(), "n1:9/9 n2:2/8 m:1/4");
        let threads = [&set("2(x2),1", "8(x2),4")[..], &[("SLURM_CPUS_PER_TASK", "4")]].concat();
        assert_eq!(text(&threads).unwrap(), "n1:2/2 n2:2/2 m:1/1");
        let of_step = [&set("2", "4(x3)")[..], &[("SLURM_STEP_NODELIST", "n2")]].concat();
        assert_eq!(text(&of_step).unwrap(), "n2:2/2", "a step on one of three hosts");
        let interactive = [&set("2(x3)", "4(x3)")[..], &[("SLURM_STEP_NODELIST", "n1")]].concat();
        assert_eq!(text(&interactive).unwrap(), "n1:2/4 n2:2/4 m:2/4");
        for own in [("SLURM_STEP_NUM_TASKS", "2"), (RANK_VARIABLE, "0")] {
            assert_eq!(hosts(&with(&[&set("2(x3)", "4(x3)")[..], &[own]].concat())), Ok(None));
        }
        assert_eq!(text(&set("x", "4(x")).unwrap(), "n1:1/1 n2:1/1 m:1/1");
        for many in ["1(x99999999999)", "1,1(x18446744073709551615)"] {
            assert_eq!(text(&set(many, many)).unwrap(), "n1:1/1 n2:1/1 m:1/1");
        }
    }

    /// The variables of a heterogeneous job, as Slurm 22.05 sets them in the shell of salloc.
    const OF_COMPONENTS: [(&str, &str); 9] = [
        (SLURM_COMPONENTS, "2"),
        ("SLURM_JOB_ID", "7"),
        ("SLURM_JOB_ID_HET_GROUP_0", "7"),
        ("SLURM_JOB_NODELIST_HET_GROUP_0", "n1"),
        ("SLURM_TASKS_PER_NODE_HET_GROUP_0", "1"),
        ("SLURM_JOB_CPUS_PER_NODE_HET_GROUP_0", "8"),
        ("SLURM_CPUS_PER_TASK_HET_GROUP_0", "4"),
        ("SLURM_JOB_NODELIST_HET_GROUP_1", "n[2-3]"),
        ("SLURM_TASKS_PER_NODE_HET_GROUP_1", "2(x2)"),
    ];

    #[test]
    fn hosts_of_a_heterogeneous_job_are_those_of_all_components() {
        let plus = |more: &[(&'static str, &'static str)]| [&OF_COMPONENTS[..], more].concat();
        assert_eq!(text(&OF_COMPONENTS).unwrap(), "n1:1/2 n2:2/2 n3:2/2");
        let batch = [(SLURM, "n1"), ("SLURM_TASKS_PER_NODE", "1"), ("SLURM_CPUS_PER_TASK", "4")];
        assert_eq!(text(&plus(&batch)).unwrap(), "n1:1/2 n2:2/2 n3:2/2");
        let interactive = [("SLURM_STEP_ID", INTERACTIVE_STEP), ("SLURM_STEP_NUM_TASKS", "1")];
        assert_eq!(text(&plus(&[&batch[..], &interactive].concat())).unwrap(), "n1:1/2 n2:2/2 n3:2/2");
        let step = [("SLURM_STEP_ID", "0"), (SLURM, "n[2-3]"), ("SLURM_STEP_NODELIST", "n3")];
        let step = [&step[..], &[("SLURM_TASKS_PER_NODE", "1"), ("SLURM_STEP_NUM_TASKS", "1")]].concat();
        assert_eq!(text(&plus(&step)).unwrap(), "n3:1/1", "a step of the second component");
        assert_eq!(hosts(&with(&plus(&[("SLURM_STEP_NUM_TASKS", "3")]))), Ok(None), "a step of both");
        let shared: Vec<_> =
            OF_COMPONENTS.iter().map(|&(name, value)| (name, value.replace("n[2-3]", "m,n1"))).collect();
        let shared: Vec<_> = shared.iter().map(|(name, value)| (*name, value.as_str())).collect();
        assert_eq!(text(&shared).unwrap(), "n1:3/4 m:2/2", "a host of both components");
    }

    #[test]
    fn variables_of_a_heterogeneous_job_that_do_not_fit_are_no_hosts() {
        let other: Vec<_> = OF_COMPONENTS.iter().filter(|(name, _)| *name != "SLURM_JOB_ID").copied().collect();
        let other = [&other[..], &[("SLURM_JOB_ID", "8"), (SLURM, "n9")]].concat();
        assert_eq!(text(&other).unwrap(), "n9:1/1", "another job's shell has submitted this one");
        assert_eq!(components(&with(&other)), Ok(Vec::new()));
        let missing = text(&OF_COMPONENTS[..7]).unwrap_err();
        assert!(missing.starts_with("SLURM_HET_SIZE: SLURM_JOB_NODELIST_HET_GROUP_1 is not set; unset"), "{missing}");
        let malformed = [&OF_COMPONENTS[..7], &[("SLURM_JOB_NODELIST_HET_GROUP_1", "n[")]].concat();
        assert!(text(&malformed).unwrap_err().contains("\"n[\" is not a list of hosts"));
    }

    #[test]
    fn the_benchmark_knows_every_manager() {
        assert!(MANAGERS.iter().all(|(name, _)| hosts::ALLOCATION_VARIABLES.contains(name)));
    }

    #[test]
    fn files_and_lists_of_other_managers_are_read() {
        let file = std::env::temp_dir().join(format!("hawser-allocation-{}", std::process::id()));
        let of = |variable: &str, content: &str| {
            fs::write(&file, content).unwrap();
            text(&[(variable, file.to_str().unwrap())])
        };
        for variable in ["PBS_NODEFILE", "LSB_DJOB_HOSTFILE"] {
            assert_eq!(of(variable, "a\nb.c\na\na\n").unwrap(), "a:3/3 b.c:1/1");
            assert!(of(variable, "\n").unwrap_err().contains("names no host"));
            assert!(of(variable, "-oProxyCommand=x\n").unwrap_err().contains("is not the name of a host"));
        }
        let grid = "a.b 4 all.q@a.b UNDEFINED\nc 2 all.q@c <NULL>\nd 0 all.q@d UNDEFINED\n";
        assert_eq!(of("PE_HOSTFILE", grid).unwrap(), "a.b:4/4 c:2/2");
        assert!(of("PE_HOSTFILE", "a\n").unwrap_err().contains("has no number of slots"));
        let own = host::name();
        let label = own.split('.').next().unwrap();
        assert!(of("PBS_NODEFILE", &format!("{label}\n{label}.x\n")).unwrap().starts_with(&format!("{own}:1/1")));
        fs::remove_file(&file).unwrap();
        assert_eq!(text(&[("LSB_MCPU_HOSTS", "a 2 b 1")]).unwrap(), "a:2/2 b:1/1");
        assert!(text(&[("LSB_MCPU_HOSTS", "a 2 b")]).unwrap_err().starts_with("LSB_MCPU_HOSTS: \"b\" has no"));
        assert!(text(&[("LSB_MCPU_HOSTS", "a two")]).unwrap_err().contains("\"two\" is not a number of slots"));
        let missing = text(&[("PBS_NODEFILE", "/no/such")]).unwrap_err();
        assert!(missing.starts_with("PBS_NODEFILE: the file /no/such cannot be read"), "{missing}");
        assert!(text(&[(SLURM, "a[1-")]).unwrap_err().contains("is not a list of hosts"));
        assert!(text(&[(SLURM, "a:2")]).unwrap_err().contains("is not the name of a host"));
        assert_eq!(hosts(&with(&[(SLURM, " ")])), Ok(None));
    }
}
