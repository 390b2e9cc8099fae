//! Recognizes a step of several components within one job of Slurm (`srun a : b`), whose ranks do not reach each other
//! by Slurm's plugin pmi2.
//!
//! There srun has a server for each component, of which one answers, and every fence waits for ever, whatever MPI asks
//! for it (seen with Slurm 22.05; setup.c of the plugin treats only components of a heterogeneous job as one step). No
//! variable names such a step, but the process of Slurm above the task has its number in its title. The time limit of
//! the fence remains where that cannot be read. Used by `pmi` itself and by `host::ways`.

use super::variables::VERSION_VARIABLE;
use hawser_base::{Class, Error, Result};
use hawser_os::{host, process_tree};

/// The variable of each step of Slurm, and that of the components of a heterogeneous job.
const STEP_VARIABLE: &str = "SLURM_STEP_ID";
const COMPONENTS_VARIABLE: &str = "SLURM_HET_SIZE";
/// The beginning of the title of a task's ancestor.
const STEP_DAEMON: &str = "slurmstepd";

/// Returns an error if this process belongs to such a step, unless the user has chosen a version of PMI, which tries
/// it nevertheless.
pub fn refuse(environment: impl Fn(&str) -> Option<String>) -> Result<()> {
    let is_set = |name| environment(name).is_some();
    if !is_set(STEP_VARIABLE) || is_set(COMPONENTS_VARIABLE) || is_set(VERSION_VARIABLE) {
        return Ok(());
    }
    let title = |pid| process_tree::arguments(pid).into_iter().next();
    let titles = process_tree::ancestors(host::pid()).into_iter().filter_map(title);
    refuse_below(titles.map(|title| String::from_utf8_lossy(&title).into_owned()))
}

/// Returns the error if one of these titles of ancestors is that of a component's process.
fn refuse_below(mut titles: impl Iterator<Item = String>) -> Result<()> {
    match titles.find_map(|title| step(&title).map(str::to_owned)).filter(|step| step.contains('+')) {
        Some(step) => Err(refusal(&step)),
        None => Ok(()),
    }
}

/// The number of the step in a title such as `slurmstepd: [7.0+1]`: the job, the step and the component.
fn step(title: &str) -> Option<&str> {
    let (_, rest) = title.strip_prefix(STEP_DAEMON)?.split_once('[')?;
    rest.split_once(']').map(|(step, _)| step)
}

#[cold]
fn refusal(step: &str) -> Error {
    let text = format!(
        "this process is one of a step of several components within one job of Slurm (step {step}), whose ranks do not \
         reach each other by Slurm's plugin pmi2; start the step by srun --mpi=pmix, allocate each component as one of \
         a heterogeneous job (salloc ... : ...), or set {VERSION_VARIABLE}=1 to try it nevertheless"
    );
    Error::new(Class::Other, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_component_of_one_jobs_step_is_refused_by_the_title_above_it() {
        let below = |titles: &[&str]| refuse_below(titles.iter().map(|&title| title.to_owned()));
        let text = below(&["sh", "slurmstepd-wlm: [1.0+1]      ", "init"]).unwrap_err().cause().to_owned();
        assert!(text.contains("(step 1.0+1)") && text.contains("--mpi=pmix") && !text.contains('\n'), "{text}");
        for titles in [
            &[][..],
            &["slurmstepd: [1.0]"],
            &["slurmstepd: [1.batch]"],
            &["slurmstepd"],
            &["slurmstepd: [1.0+"],
            &["sh -c [1.0+0]"],
            &["slurmstepd: [2.0]", "slurmstepd: [1.0+0]"],
        ] {
            assert!(below(titles).is_ok(), "{titles:?}");
        }
    }

    #[test]
    fn other_steps_and_those_whose_version_is_chosen_are_not_looked_at() {
        for set in [&[][..], &[STEP_VARIABLE, COMPONENTS_VARIABLE], &[STEP_VARIABLE, VERSION_VARIABLE]] {
            assert!(refuse(|asked| set.contains(&asked).then(|| "1".to_owned())).is_ok());
        }
    }
}
