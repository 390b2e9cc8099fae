//! Recognizes foreign launchers whose server cannot be reached, or whose protocol we do not have, by their environment
//! variables: these are the proof that this process is one of several.
//!
//! Our own launcher sets some of these variables too, for scripts; such variables are no proof (`is_ours`). Used by
//! `agent_connection`, for a process without an agent.

use crate::protocol::{RANK_VARIABLE, SIZE_VARIABLE};
use hawser_base::{Class, Error, Result};

/// The variables of a launcher. `size` is the variable with the number of processes of a job step (None if the
/// launcher sets none), `rank` that with this process's number (empty if it is not used).
struct ForeignLauncher {
    size: Option<&'static str>,
    rank: &'static str,
    name: &'static str,
    /// The command by which that launcher starts programs that run on Hawser; empty if there is none.
    instead: &'static str,
}

const fn launcher(size: &'static str, rank: &'static str, name: &'static str) -> ForeignLauncher {
    ForeignLauncher { size: Some(size), rank, name, instead: "" }
}

/// The launchers, with the variables that their documentation names. Slurm's SLURM_PROCID is not among them, because
/// a batch script has it without being a step; the shell of salloc has SLURM_STEP_NUM_TASKS=1.
const LAUNCHERS: [ForeignLauncher; 10] = [
    launcher("PMI_SIZE", "PMI_RANK", "a PMI launcher whose server cannot be reached (PMI_FD is not set)"),
    ForeignLauncher {
        size: None,
        instead: "mpiexec without -pmi-port or ",
        ..launcher("", "PMI_ID", "a PMI launcher that listens at a port (mpiexec -pmi-port)")
    },
    launcher("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "Open MPI's mpirun"),
    ForeignLauncher {
        instead: "srun --mpi=pmi2, srun --mpi=pmix or ",
        ..launcher("SLURM_STEP_NUM_TASKS", "", "Slurm's srun")
    },
    ForeignLauncher { instead: "flux run -o pmi=simple or ", ..launcher("FLUX_JOB_SIZE", "FLUX_TASK_RANK", "Flux") },
    launcher("JSM_NAMESPACE_SIZE", "JSM_NAMESPACE_RANK", "IBM's jsrun"),
    launcher("MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_RANK", "MVAPICH's mpirun_rsh"),
    ForeignLauncher {
        size: None,
        ..launcher("", "PMIX_RANK", "a PMIx launcher whose server cannot be reached (PMIX_NAMESPACE is not set)")
    },
    ForeignLauncher { size: None, ..launcher("", "PALS_RANKID", "HPE's PALS (aprun, mpiexec)") },
    ForeignLauncher { size: None, ..launcher("", "ALPS_APP_PE", "Cray's aprun") },
];

/// The variables of MPICH and Open MPI that our mpiexec sets for scripts: `RANK_NAMES` have the value of
/// `RANK_VARIABLE`, `SIZE_NAMES` that of `SIZE_VARIABLE`.
pub const RANK_NAMES: [&str; 2] = ["PMI_RANK", "OMPI_COMM_WORLD_RANK"];
pub const SIZE_NAMES: [&str; 2] = ["PMI_SIZE", "OMPI_COMM_WORLD_SIZE"];

/// The variables that lead to a foreign launcher's server: if one of these is set, the variables above are not from
/// our mpiexec.
pub const SERVERS: [&str; 5] = ["PMI_FD", "PMI_PORT", "PMI_ID", "PMIX_NAMESPACE", "PMIX_RANK"];

/// Returns an error if this process is one of several processes of a launcher that is not ours, because it must not
/// run alone then.
pub fn refuse(environment: impl Fn(&str) -> Option<String>) -> Result<()> {
    let number = |variable: &str| environment(variable)?.trim().parse::<u64>().ok();
    let is_ours = is_ours(&environment);
    let theirs = || LAUNCHERS.iter().filter(|launcher| !(is_ours && RANK_NAMES.contains(&launcher.rank)));
    let sizes = || theirs().filter_map(|launcher| Some((launcher, launcher.size?, number(launcher.size?)?)));
    if let Some((launcher, variable, size)) = sizes().find(|&(_, _, size)| size > 1) {
        let what = format!("one of {size} processes started by {}", launcher.name);
        return Err(refusal(&what, launcher.instead, variable, size));
    }
    // If a size says that the step has one process, that counts, whatever other variables are set.
    let is_one = sizes().next().is_some();
    let ranks = theirs().find_map(|launcher| Some((launcher, number(launcher.rank)?)));
    match ranks.filter(|_| !is_one) {
        Some((launcher, rank)) => {
            let what = format!("process {rank} of a job step of unknown size, started by {}", launcher.name);
            Err(refusal(&what, launcher.instead, launcher.rank, rank))
        }
        None => Ok(()),
    }
}

#[cold]
fn refusal(what: &str, instead: &str, variable: &str, value: u64) -> Error {
    let text = format!(
        "this process is {what} ({variable}={value}), whose jobs Hawser cannot join; start the program with {instead}\
         Hawser's mpiexec, or unset {variable} to run it alone"
    );
    Error::new(Class::Other, text)
}

/// Returns whether the variables with MPICH's and Open MPI's names are those that our mpiexec has set.
fn is_ours(environment: impl Fn(&str) -> Option<String>) -> bool {
    let repeats = |ours: &str, names: &[&str]| {
        environment(ours).is_some_and(|value| names.iter().all(|name| environment(name).is_none_or(|it| it == value)))
    };
    let has_server = SERVERS.iter().any(|variable| environment(variable).is_some());
    !has_server && repeats(RANK_VARIABLE, &RANK_NAMES) && repeats(SIZE_VARIABLE, &SIZE_NAMES)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(set: &'static [(&'static str, &'static str)]) -> impl Fn(&str) -> Option<String> {
        move |asked| set.iter().find(|(name, _)| *name == asked).map(|(_, value)| (*value).to_owned())
    }

    fn refused(environment: impl Fn(&str) -> Option<String>) -> String {
        refuse(environment).unwrap_err().cause().to_owned()
    }

    #[test]
    fn a_foreign_step_of_several_is_refused_with_the_remedy() {
        for variable in LAUNCHERS.iter().filter_map(|launcher| launcher.size) {
            let text = refused(|asked| (asked == variable).then(|| "4".to_owned()));
            assert!(
                text.contains("one of 4 processes started by") && text.contains(&format!("({variable}=4)")),
                "{text}"
            );
            assert_eq!(text.contains("srun --mpi=pmi2"), variable.starts_with("SLURM"), "{text}");
            assert_eq!(text.contains("flux run -o pmi=simple"), variable.starts_with("FLUX"), "{text}");
            assert!(text.contains("mpiexec") && text.contains(&format!("unset {variable}")) && !text.contains('\n'));
        }
    }

    #[test]
    fn a_rank_alone_is_proof_where_no_size_says_that_it_is_the_only_one() {
        for variable in LAUNCHERS.iter().map(|launcher| launcher.rank).filter(|rank| !rank.is_empty()) {
            let text = refused(|asked| (asked == variable).then(|| "0".to_owned()));
            assert!(text.contains("unknown size") && text.contains(&format!("({variable}=0)")), "{text}");
        }
        assert!(refuse(with(&[("PMIX_RANK", "0"), ("SLURM_STEP_NUM_TASKS", "1")])).is_ok());
        assert!(refuse(with(&[("PMI_RANK", "0"), ("PMI_SIZE", "1"), ("PALS_RANKID", "0")])).is_ok());
        assert!(refuse(with(&[("PMI_SIZE", "1"), ("PMI_RANK", "0"), ("FLUX_JOB_SIZE", "3")])).is_err());
    }

    #[test]
    fn a_step_of_one_a_batch_script_and_nonsense_are_no_proof() {
        assert!(refuse(with(&[("PMI_SIZE", "1")])).is_ok());
        assert!(refuse(with(&[("SLURM_STEP_NUM_TASKS", "")])).is_ok());
        assert!(refuse(with(&[("OMPI_COMM_WORLD_SIZE", "many")])).is_ok());
        assert!(refuse(with(&[("SLURM_PROCID", "0"), ("SLURM_NTASKS", "8"), ("MV2_ENABLE_AFFINITY", "1")])).is_ok());
        assert!(refuse(|_| None).is_ok());
    }

    #[test]
    fn what_our_mpiexec_sets_for_scripts_is_no_proof_and_what_a_foreign_one_sets_below_it_is() {
        const OURS: &[(&str, &str)] = &[
            ("HAWSER_RANK", "2"),
            ("HAWSER_SIZE", "4"),
            ("PMI_RANK", "2"),
            ("PMI_SIZE", "4"),
            ("OMPI_COMM_WORLD_RANK", "2"),
            ("OMPI_COMM_WORLD_SIZE", "4"),
        ];
        assert!(refuse(with(OURS)).is_ok());
        let below = |asked: &str| if asked == "PMI_SIZE" { Some("3".to_owned()) } else { with(OURS)(asked) };
        assert!(refused(below).contains("PMI_SIZE=3"));
        let same = |asked: &str| if asked == "PMI_FD" { Some("6".to_owned()) } else { with(OURS)(asked) };
        assert!(refused(same).contains("PMI_SIZE=4"));
        // Without HAWSER_RANK they belong to another launcher.
        assert!(refused(|asked| with(OURS)(asked).filter(|_| !asked.starts_with("HAWSER_"))).contains("PMI_SIZE=4"));
    }
}
