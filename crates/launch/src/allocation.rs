//! The hosts and slots that a resource manager has allocated to the job in which mpiexec runs.
//!
//! Slurm, PBS, LSF and Grid Engine name them in variables, or in files that variables name. The module starts nothing
//! and resolves no name. Used by `args` where neither the command line nor a variable of another launcher
//! (`foreign_variables`) names hosts.

use crate::foreign_variables::{Environment, NamedHosts};
use crate::hosts::{self, HostEntry};
use crate::own_host;
use hawser_boot::protocol::RANK_VARIABLE;
use std::fs;

/// The number of components of a heterogeneous job of Slurm.
const SLURM_COMPONENTS: &str = "SLURM_HET_SIZE";

/// The variable of Slurm. Its allocations are those in which agents are started by `srun`.
pub const SLURM: &str = "SLURM_JOB_NODELIST";

/// A list of Slurm may name at most this many hosts. Slurm's own limit is 65533 (MAX_SLURM_NODES).
const HOSTS_MAX: usize = 1 << 16;
/// The maximum length of a host's name, in bytes (HOST_NAME_MAX of POSIX is 255).
const NAME_BYTES_MAX: usize = 255;
/// The maximum number of brackets in a name. Names of clusters have one or two.
const BRACKETS_MAX: usize = 8;

/// A resource manager: its variable, and the function that makes hosts of the variable's value.
type Manager = (&'static str, fn(&str, Environment) -> Result<Vec<HostEntry>, String>);

/// The first manager whose variable is set counts. LSF sets both of its variables; the file has no limit of length.
const MANAGERS: [Manager; 5] = [
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
    if environment(RANK_VARIABLE).is_some() || number("SLURM_STEP_NUM_TASKS") > 1 {
        return Ok(None);
    }
    if number(SLURM_COMPONENTS) > 1 {
        return Err(explained(SLURM_COMPONENTS, "the hosts of a heterogeneous job are not read"));
    }
    for (name, hosts) in MANAGERS {
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

fn read(file: &str) -> Result<String, String> {
    fs::read_to_string(file).map_err(|error| format!("the file {file} cannot be read: {error}"))
}

/// The hosts of a file that names each once for each of its slots.
fn repeated(text: &str) -> Result<Vec<HostEntry>, String> {
    let mut hosts: Vec<HostEntry> = Vec::new();
    for name in text.split_whitespace() {
        match hosts.iter_mut().find(|host| host.name == name) {
            Some(host) => (host.slots, host.max) = (host.slots + 1, host.max + 1),
            None => hosts.push(entry(name, 1, 1)?),
        }
    }
    Ok(hosts)
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
fn entry(name: &str, slots: u32, max: u32) -> Result<HostEntry, String> {
    let wrong = || format!("{name:?} is not the name of a host");
    let mut checked = hosts::list(name).map_err(|_| wrong())?;
    let host = checked.pop().filter(|host| host.name == name && checked.is_empty()).ok_or_else(wrong)?;
    Ok(HostEntry { slots, max, ..host })
}

/// The hosts of Slurm's list. A host takes as many ranks in its turn as it has tasks, and as many in all as it has
/// tasks or processors for tasks, whichever is more (sbatch(1), output environment variables).
///
/// In a step on some of the job's hosts the numbers of tasks are the step's, and only its hosts count. An interactive
/// step has one host and the job's numbers: its hosts are the job's.
fn slurm(list: &str, environment: Environment) -> Result<Vec<HostEntry>, String> {
    let expanded = |list: &str| expanded(list).ok_or_else(|| format!("{list:?} is not a list of hosts"));
    let counts = |name| environment(name).and_then(|value| repeats(&value));
    let of_job = expanded(list)?;
    let is_of_step = counts("SLURM_TASKS_PER_NODE").is_some_and(|tasks| tasks.len() != of_job.len());
    let of_step = environment("SLURM_STEP_NODELIST").filter(|_| is_of_step);
    let names = of_step.map(|list| expanded(&list)).transpose()?.unwrap_or(of_job);
    let each = |name| counts(name).filter(|each| each.len() == names.len());
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

/// Expands Slurm's list of hosts, as in `a[01-03,7]-ib,b`. None if the text is malformed or names too many hosts.
fn expanded(list: &str) -> Option<Vec<String>> {
    let mut names = Vec::new();
    let mut depth = 0;
    // Commas within brackets separate numbers, others separate hosts.
    let parts = list.split(|c| {
        depth += i32::from(c == '[') - i32::from(c == ']');
        c == ',' && depth == 0
    });
    for part in parts {
        if part.is_empty() || part.matches('[').count() > BRACKETS_MAX {
            return None;
        }
        names.extend(expanded_part(part)?);
        if names.len() > HOSTS_MAX {
            return None;
        }
    }
    Some(names)
}

/// Expands the brackets of one part of a list, or of the end of one.
fn expanded_part(part: &str) -> Option<Vec<String>> {
    let Some((front, rest)) = part.split_once('[') else {
        return (part.len() <= NAME_BYTES_MAX && !part.contains(']')).then(|| vec![part.to_owned()]);
    };
    let (ranges, behind) = rest.split_once(']')?;
    let tails = expanded_part(behind)?;
    let mut names = Vec::new();
    for range in ranges.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let is_number = |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        let (from, to) = (first.parse::<usize>().ok()?, last.parse::<usize>().ok()?);
        let width = first.len();
        let is_long = front.len() + width.max(last.len()) + tails[0].len() > NAME_BYTES_MAX;
        let count = to.checked_sub(from).and_then(|more| more.checked_add(1)?.checked_mul(tails.len()));
        if !is_number(first) || !is_number(last) || is_long || count.is_none_or(|count| count > HOSTS_MAX) {
            return None;
        }
        let numbers = (from..=to).flat_map(|number| tails.iter().map(move |tail| (number, tail)));
        names.extend(numbers.map(|(number, tail)| format!("{front}{number:0width$}{tail}")));
        if names.len() > HOSTS_MAX {
            return None;
        }
    }
    Some(names)
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
    fn lists_of_slurm_are_expanded() {
        let names = |list: &str| expanded(list).map(|names| names.join(" "));
        assert_eq!(names("a"), Some("a".into()));
        assert_eq!(names("n[1-3,05],m7"), Some("n1 n2 n3 n05 m7".into()));
        assert_eq!(
            names("r[0-1]n[08-10]-ib,x"),
            Some("r0n08-ib r0n09-ib r0n10-ib r1n08-ib r1n09-ib r1n10-ib x".into())
        );
        assert_eq!(names("n[98-101]"), Some("n98 n99 n100 n101".into()));
        for wrong in
            ["", "a,", "a[", "a]", "a[1", "a[]", "a[x]", "a[2-1]", "a[1-]", "a[+1-2]", "a[0-99999999]", "[[1]]"]
        {
            assert_eq!(names(wrong), None, "{wrong}");
        }
        let zeros = format!("a[{}-65535]", "0".repeat(300));
        let nested = "[1]".repeat(100_000);
        let name = "a".repeat(300);
        for too_large in [
            "a[0-9999][0-9999][0-9999]",
            "a[0-18446744073709551615]",
            "a[0-281474976710655][0-65535]",
            &zeros,
            &nested,
            &name,
        ] {
            assert_eq!(names(too_large), None);
        }
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
        assert!(text(&[(SLURM_COMPONENTS, "2")]).unwrap_err().starts_with("SLURM_HET_SIZE: the hosts of a heterog"));
        assert_eq!(text(&set("x", "4(x")).unwrap(), "n1:1/1 n2:1/1 m:1/1");
        for many in ["1(x99999999999)", "1,1(x18446744073709551615)"] {
            assert_eq!(text(&set(many, many)).unwrap(), "n1:1/1 n2:1/1 m:1/1");
        }
    }

    #[test]
    fn the_benchmark_knows_every_manager() {
        assert!(MANAGERS.iter().all(|(name, _)| hosts::ALLOCATION_VARIABLES.contains(name)));
        assert!(hosts::ALLOCATION_VARIABLES.contains(&SLURM_COMPONENTS));
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
