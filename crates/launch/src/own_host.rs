//! The names by which users, files and resource managers call the host on which mpiexec runs: a rank there needs no
//! remote shell.
//!
//! Nothing here asks a name server: a name may be slow to resolve, or lead to a virtual address. Used by `hosts`,
//! `srun`, `flux` and `allocation`.

use hawser_os::host;
use std::sync::OnceLock;

/// Whether `name` is this host's: its own name, that without its domain, or one that /etc/hosts gives it. There pods of
/// Kubernetes have their names with a domain, of which the MPI Operator writes the first part into its host file.
pub fn is_name(name: &str) -> bool {
    let own = host::name();
    name == own || Some(name) == own.split('.').next() || is_alias(own_lines(), &own, name)
}

/// The lines of /etc/hosts that have this host's own name. They are read once: a job may have many hosts.
fn own_lines() -> &'static str {
    static LINES: OnceLock<String> = OnceLock::new();
    LINES.get_or_init(|| {
        let (table, own) = (std::fs::read_to_string("/etc/hosts").unwrap_or_default(), host::name());
        table.lines().filter(|line| line.contains(&own)).map(|line| format!("{line}\n")).collect()
    })
}

/// Whether a line of `table` (hosts(5)) that names `own` also has `name`, or `name` with a further domain behind it.
fn is_alias(table: &str, own: &str, name: &str) -> bool {
    let is_same = |alias: &str| alias.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    table.lines().any(|line| {
        let names = || line.split('#').next().unwrap_or_default().split_whitespace().skip(1);
        // A name without a domain is too short to have one added: `a` is not `a.b`.
        names().any(|alias| alias == own) && names().any(|alias| alias == name || name.contains('.') && is_same(alias))
    })
}

/// Returns this host's own name for `name`, if a resource manager calls it so: the names differ only in a domain that
/// one of them has. Other hosts of one cluster differ in more than the domain.
pub fn of_manager(name: &str) -> Option<String> {
    let own = host::name();
    differ_in_domain(&own, name).then_some(own)
}

/// Whether two names are one host's of a cluster: they are the same, or differ only in a domain that one of them has.
pub fn is_same(one: &str, other: &str) -> bool {
    one == other || differ_in_domain(one, other)
}

fn differ_in_domain(own: &str, name: &str) -> bool {
    match (name.split_once('.'), own.split_once('.')) {
        (Some((label, _)), None) => label == own,
        (None, Some((label, _))) => label == name,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_etc_hosts_gives_this_host_its_names() {
        let table = "127.0.0.1 localhost\n10.1.2.3\tjob-0.job.default.svc.cluster.local job-0 # job-0.commented\n\
                     10.1.2.4 job-1.job.default.svc.cluster.local job-1\n";
        for own in ["job-0", "job-0.job.default.svc", "job-0.job.default.svc.cluster.local", "job-0.job"] {
            assert!(is_alias(table, "job-0", own), "{own}");
        }
        for other in ["job-1", "job-1.job", "job-0.jo", "job", "job-0.commented", "localhost", "10.1.2.3", ""] {
            assert!(!is_alias(table, "job-0", other), "{other}");
        }
        assert!(!is_alias("", "a", "a") && !is_alias("10.0.0.1 a.b a", "a", "c"));
    }

    #[test]
    fn a_manager_may_add_a_domain_or_leave_it_out() {
        assert!(differ_in_domain("a", "a.b.c") && differ_in_domain("a.b", "a"));
        assert!(
            !differ_in_domain("a", "a")
                && is_same("a", "a")
                && !differ_in_domain("a", "ab.c")
                && !differ_in_domain("a.b", "a.c")
        );
    }
}
