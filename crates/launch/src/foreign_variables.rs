//! The hosts and the remote shell that the variables of other launchers name: they count where the command line names
//! none.
//!
//! MPICH's Hydra, Intel MPI and Open MPI read these variables, and the MPI Operator of Kubernetes sets them, for the
//! one of them that its job is written for. Nothing here reads a variable of a resource manager, nor resolves a name.
//! Used by `args`.

use crate::hosts::{self, HostEntry, Launcher, LauncherKind};
use crate::{allocation, flux};
use std::path::Path;

/// The variables for each purpose: Hydra's, those of Intel MPI, those of Open MPI up to version 4 and from version 5
/// on. The first one that is set counts.
const HOST_FILES: [&str; 4] =
    ["HYDRA_HOST_FILE", "I_MPI_HYDRA_HOST_FILE", "OMPI_MCA_orte_default_hostfile", "PRTE_MCA_prte_default_hostfile"];
const KINDS: [&str; 3] = ["HYDRA_LAUNCHER", "HYDRA_BOOTSTRAP", "I_MPI_HYDRA_BOOTSTRAP"];
const COMMANDS: [&str; 6] = [
    "HYDRA_LAUNCHER_EXEC",
    "HYDRA_BOOTSTRAP_EXEC",
    "I_MPI_HYDRA_BOOTSTRAP_EXEC",
    "OMPI_MCA_plm_rsh_agent",
    "OMPI_MCA_plm_ssh_agent",
    "PRTE_MCA_plm_ssh_agent",
];
/// Hydra reads the first one, and its older versions the second one.
const ARGUMENTS: [&str; 6] = [
    "HYDRA_LAUNCHER_EXTRA_ARGS",
    "HYDRA_LAUNCH_EXTRA_ARGS",
    "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS",
    "OMPI_MCA_plm_rsh_args",
    "OMPI_MCA_plm_ssh_args",
    "PRTE_MCA_plm_ssh_args",
];

/// The variables of a process, by name.
pub type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The first of these variables that is set, with its value.
fn first(environment: Environment, names: &[&'static str]) -> Option<(&'static str, String)> {
    names.iter().find_map(|&name| Some((name, environment(name).filter(|value| !value.trim().is_empty())?)))
}

/// Hosts, and the variable that has named them or their file.
pub type NamedHosts = (Vec<HostEntry>, &'static str);

/// The hosts in the file that a variable names; None if no variable names one. The error is one line for the user.
pub fn hosts(environment: Environment) -> Result<Option<NamedHosts>, String> {
    // Open MPI and PRRTE take "none" for no file.
    let is_none = |name: &str, file: &str| name.contains("_MCA_") && file.trim() == "none";
    let set = first(environment, &HOST_FILES).filter(|(name, file)| !is_none(name, file));
    let Some((name, file)) = set else { return Ok(None) };
    match hosts::read(Path::new(file.trim())) {
        Ok(hosts) => Ok(Some((hosts, name))),
        Err(why) => Err(format!("{name}: {why}; correct the file, unset {name}, or name hosts by -hosts or -f")),
    }
}

/// Completes `launcher`: its remote shell, unless the command line has named one (`is_named`), and the arguments of the
/// shell. In an allocation of Slurm or Flux, the manager starts the agents if no variable names another shell. It is an
/// error, one line for the user, if a variable names a kind that there is not and the hosts are those of a variable
/// (`hosts_variable`): where the user names hosts, a kind that a site sets for another launcher does not count, nor do
/// the command and the arguments that belong to it.
pub fn complete(
    environment: Environment,
    launcher: &mut Launcher,
    is_named: bool,
    hosts_variable: Option<&str>,
) -> Result<(), String> {
    if is_named && (launcher.exec.is_some() || launcher.kind != LauncherKind::Ssh) {
        return Ok(());
    }
    let set = first(environment, &KINDS);
    let kind = set.as_ref().and_then(|(_, kind)| LauncherKind::parse(kind.trim()));
    if let Some((name, text)) = set.filter(|_| !is_named && kind.is_none()) {
        return match hosts_variable {
            None => Ok(()),
            Some(_) => Err(format!(
                "{name}={text} is not supported, ssh, rsh, slurm, flux and fork are; unset {name}, or name a remote \
                 shell by --launcher or --launcher-exec"
            )),
        };
    }
    // Hydra's command and arguments are those of Hydra's kind, and Open MPI's are of a remote shell.
    let of_hydra = kind.and_then(LauncherKind::command_of_manager);
    let fitting = |manager: Option<&str>, names: &[&'static str]| {
        let is_fitting = |name: &&&str| if name.contains("_MCA_") { manager.is_none() } else { of_hydra == manager };
        first(environment, &names.iter().filter(is_fitting).copied().collect::<Vec<_>>()).map(|(_, value)| value)
    };
    if !is_named {
        let by_shell = fitting(None, &COMMANDS).and_then(|commands| command(&commands));
        let of_allocation = match hosts_variable {
            Some(variable) if allocation::is_of_slurm(variable) => Some(LauncherKind::Slurm),
            Some(flux::VARIABLE) => Some(LauncherKind::Flux),
            _ => None,
        };
        // Slurm sets its kind for all that runs in its jobs, and Flux, which may run in one, leaves it there.
        let is_of_outer =
            |kind: LauncherKind| kind.command_of_manager().is_some() && of_allocation.is_some_and(|own| own != kind);
        let kind = kind.filter(|&kind| !is_of_outer(kind));
        let wanted = kind.or(of_allocation.filter(|_| by_shell.is_none())).unwrap_or_default();
        let manager = wanted.command_of_manager();
        let by_manager = manager.and_then(|_| fitting(manager, &COMMANDS)).and_then(|commands| command(&commands));
        let is_missing = manager.is_some_and(|command| by_manager.is_none() && !is_installed(command));
        launcher.kind = if is_missing { LauncherKind::Ssh } else { wanted };
        launcher.exec = if launcher.kind.command_of_manager().is_some() { by_manager } else { by_shell };
    }
    if let Some(arguments) = fitting(launcher.kind.command_of_manager(), &ARGUMENTS) {
        launcher.arguments = arguments.split_whitespace().map(str::to_owned).collect();
    }
    Ok(())
}

/// Whether a variable of Open MPI permits more ranks than slots.
pub fn may_oversubscribe(environment: Environment) -> bool {
    let is_true = |value: String| ["1", "true", "yes"].contains(&value.trim().to_lowercase().as_str());
    let policies = ["PRTE_MCA_rmaps_default_mapping_policy", "OMPI_MCA_rmaps_base_mapping_policy"];
    environment("OMPI_MCA_rmaps_base_oversubscribe").is_some_and(is_true)
        || first(environment, &policies).is_some_and(|(_, policy)| policy.to_lowercase().contains(":oversubscribe"))
}

/// The remote shell of a list such as `ssh : rsh`, of which Open MPI takes the first one that is installed. None for
/// plain `ssh`, which is the default with options of its own.
fn command(commands: &str) -> Option<String> {
    let commands: Vec<&str> = commands.split(':').map(str::trim).filter(|command| !command.is_empty()).collect();
    let found = commands.iter().find(|command| is_installed(command)).or(commands.first())?;
    (*found != "ssh").then(|| (*found).to_owned())
}

/// Whether the program of a command is in PATH, or is named with its folder.
fn is_installed(command: &str) -> bool {
    let program = command.split_whitespace().next().unwrap_or_default();
    let folders = std::env::var_os("PATH").unwrap_or_default();
    program.contains('/') || std::env::split_paths(&folders).any(|folder| folder.join(program).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with<'a>(set: &'a [(&'a str, &'a str)]) -> impl Fn(&str) -> Option<String> + 'a {
        move |asked| set.iter().find(|(name, _)| *name == asked).map(|(_, value)| (*value).to_owned())
    }

    fn completed(set: &[(&str, &str)], mut launcher: Launcher) -> Result<Launcher, String> {
        let is_named = launcher != Launcher::default();
        complete(&with(set), &mut launcher, is_named, Some(HOST_FILES[0])).map(|()| launcher)
    }

    #[test]
    fn a_file_of_hosts_is_read_and_a_missing_one_named_with_its_variable() {
        let file = std::env::temp_dir().join(format!("hawser-foreign-hosts-{}", std::process::id()));
        std::fs::write(&file, "worker-0.job:2\nworker-1.job slots=3\n").unwrap();
        let name = file.to_str().unwrap().to_owned();
        for variable in HOST_FILES {
            let (found, by) = hosts(&with(&[(variable, &name)])).unwrap().unwrap();
            assert_eq!(by, variable);
            let found: Vec<_> = found.iter().map(|host| (host.name.as_str(), host.slots)).collect();
            assert_eq!(found, [("worker-0.job", 2), ("worker-1.job", 3)]);
        }
        std::fs::remove_file(&file).unwrap();
        let why = hosts(&with(&[("HYDRA_HOST_FILE", &name)])).unwrap_err();
        assert!(why.starts_with("HYDRA_HOST_FILE: the host file ") && why.contains("cannot be read"), "{why}");
        assert_eq!(hosts(&with(&[("HYDRA_HOST_FILE", " ")])), Ok(None));
        assert_eq!(hosts(&with(&[(HOST_FILES[2], "none")])), Ok(None));
    }

    #[test]
    fn the_operators_variables_add_arguments_to_ssh() {
        for variable in ARGUMENTS {
            let launcher = completed(&[(variable, "-o ConnectionAttempts=10")], Launcher::default()).unwrap();
            let words = launcher.shell("far", true).unwrap();
            assert_eq!(words[words.len() - 3..], ["-o", "ConnectionAttempts=10", "far"], "{variable}");
            assert_eq!(words[0], "ssh");
        }
    }

    #[test]
    fn a_command_is_taken_unless_the_command_line_names_a_shell() {
        for variable in COMMANDS {
            let launcher = completed(&[(variable, "/etc/mpi/kubexec.sh : rsh")], Launcher::default()).unwrap();
            let words = launcher.shell("far", true).unwrap().join(" ");
            assert_eq!(words, "/etc/mpi/kubexec.sh far", "{variable}");
        }
        let installed = completed(&[(COMMANDS[3], "no-such-shell:sh")], Launcher::default()).unwrap();
        assert_eq!(installed.exec.as_deref(), Some("sh"));
        assert_eq!(completed(&[(COMMANDS[3], "ssh")], Launcher::default()).unwrap(), Launcher::default());
        let set = [("HYDRA_LAUNCHER_EXEC", "a"), ("HYDRA_LAUNCHER", "rsh")];
        let given = Launcher { exec: Some("b".into()), ..Launcher::default() };
        assert_eq!(completed(&set, given.clone()).unwrap(), given);
        let mut ssh = Launcher::default();
        complete(&with(&[set[0], (ARGUMENTS[0], "-v")]), &mut ssh, true, Some(HOST_FILES[0])).unwrap();
        assert_eq!(ssh, Launcher { arguments: vec!["-v".into()], ..Launcher::default() }, "--launcher ssh");
        let rsh = Launcher { kind: LauncherKind::Rsh, ..Launcher::default() };
        assert_eq!(completed(&set, rsh.clone()).unwrap(), rsh);
    }

    #[test]
    fn a_kind_is_taken_and_an_unknown_one_refused_with_its_variable() {
        for variable in KINDS {
            assert_eq!(completed(&[(variable, "fork")], Launcher::default()).unwrap().kind, LauncherKind::Fork);
            let why = completed(&[(variable, "ll")], Launcher::default()).unwrap_err();
            assert!(why.starts_with(&format!("{variable}=ll is not supported")), "{why}");
            let mut launcher = Launcher::default();
            let of_ll = [(variable, "ll"), (ARGUMENTS[0], "-x"), (COMMANDS[2], "llspawn")];
            complete(&with(&of_ll), &mut launcher, false, None).unwrap();
            assert_eq!(launcher, Launcher::default(), "the command line names the hosts");
            // Slurm sets these in allocations, for MPICH's mpiexec.
            let of_slurm = [(variable, "slurm"), (ARGUMENTS[0], "--external-launcher"), (COMMANDS[0], "/opt/srun")];
            complete(&with(&of_slurm), &mut launcher, false, None).unwrap();
            let (exec, arguments) = (Some("/opt/srun".to_owned()), vec!["--external-launcher".to_owned()]);
            assert_eq!(launcher, Launcher { kind: LauncherKind::Slurm, exec, arguments, ..Launcher::default() });
            let of_flux = [(variable, "flux"), (COMMANDS[0], "/opt/flux")];
            launcher = Launcher::default();
            complete(&with(&of_flux), &mut launcher, false, None).unwrap();
            assert_eq!((launcher.kind, launcher.exec.as_deref()), (LauncherKind::Flux, Some("/opt/flux")));
            // They are not those of a shell that the command line names, and Open MPI's are not those of srun.
            launcher = Launcher::default();
            complete(&with(&of_slurm), &mut launcher, true, None).unwrap();
            assert_eq!(launcher, Launcher::default());
            let of_both = [(variable, "slurm"), (COMMANDS[0], "/opt/srun"), ("OMPI_MCA_plm_rsh_args", "-o x=y")];
            complete(&with(&of_both), &mut launcher, false, None).unwrap();
            assert_eq!((launcher.kind, launcher.arguments), (LauncherKind::Slurm, vec![]));
        }
    }

    #[test]
    fn variables_of_open_mpi_permit_more_ranks_than_slots() {
        for (name, value, may) in [
            ("OMPI_MCA_rmaps_base_oversubscribe", "true", true),
            ("OMPI_MCA_rmaps_base_oversubscribe", "0", false),
            ("PRTE_MCA_rmaps_default_mapping_policy", "core:OVERSUBSCRIBE", true),
            ("PRTE_MCA_rmaps_default_mapping_policy", "core", false),
        ] {
            assert_eq!(may_oversubscribe(&with(&[(name, value)])), may, "{name}={value}");
        }
    }

    /// `srun` and `flux` are not in PATH where this runs, or they are: only what keeps them out can be tested here.
    #[test]
    fn hosts_of_slurm_or_flux_are_reached_by_the_shell_that_a_variable_names() {
        for (set, kind) in [((COMMANDS[0], "rsh"), LauncherKind::Ssh), ((KINDS[0], "rsh"), LauncherKind::Rsh)] {
            for variable in ["SLURM_JOB_NODELIST", flux::VARIABLE] {
                let mut launcher = Launcher::default();
                complete(&with(&[set]), &mut launcher, false, Some(variable)).unwrap();
                assert_eq!(launcher.kind, kind);
            }
        }
    }
}
