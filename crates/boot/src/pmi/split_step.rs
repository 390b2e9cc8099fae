//! Recognizes a step of several components within one job of Slurm (`srun a : b`), whose ranks do not reach each other
//! by Slurm's plugin pmi2.
//!
//! There srun has a server for each component, of which one answers, and every fence waits for ever, whatever MPI asks
//! for it (seen with Slurm 22.05; setup.c of the plugin treats only components of a heterogeneous job as one step). No
//! variable names such a step, but the process of Slurm that has opened the connection has its number in its title: the
//! server of a launcher that runs within the step is another process. The time limit of the fence remains where that
//! cannot be read. Used by `pmi` itself and by `host::ways`.

use super::variables::{PmiPlace, VERSION_VARIABLE};
use hawser_base::{Class, Error, Result};
use hawser_os::inherited::InheritedStream;
use hawser_os::process_tree;

/// The variable of the components of a heterogeneous job, whose steps may have several.
const COMPONENTS_VARIABLE: &str = "SLURM_HET_SIZE";
/// The beginning of the title of the process that serves the tasks of a step.
const STEP_DAEMON: &str = "slurmstepd";

/// Returns an error if the server of this place is that of such a step, unless the user has chosen a version of PMI,
/// which tries it nevertheless.
pub fn refuse(place: &PmiPlace, environment: impl Fn(&str) -> Option<String>) -> Result<()> {
    let is_set = |name| environment(name).is_some_and(|value| !value.trim().is_empty());
    if is_set(COMPONENTS_VARIABLE) || is_set(VERSION_VARIABLE) {
        return Ok(());
    }
    let opener = InheritedStream::open(place.fd).ok().and_then(|stream| stream.opener());
    let title = opener.and_then(|pid| process_tree::arguments(pid).into_iter().next());
    refuse_server(&String::from_utf8_lossy(&title.unwrap_or_default()))
}

/// Returns the error if this title of a server is that of a component's process.
fn refuse_server(title: &str) -> Result<()> {
    match step(title).filter(|step| step.contains('+')) {
        Some(step) => Err(refusal(step)),
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
    fn a_component_of_one_jobs_step_is_refused_by_the_title_of_its_server() {
        let text = refuse_server("slurmstepd-wlm: [1.0+1]      ").unwrap_err().cause().to_owned();
        assert!(text.contains("(step 1.0+1)") && text.contains("--mpi=pmix") && !text.contains('\n'), "{text}");
        for title in ["", "slurmstepd: [1.0]", "slurmstepd: [1.batch]", "slurmstepd", "slurmstepd: [1.0+", "sh [1.0+0]"]
        {
            assert!(refuse_server(title).is_ok(), "{title:?}");
        }
    }

    #[test]
    fn servers_of_other_processes_are_not_refused() {
        let (ours, _theirs) = std::os::unix::net::UnixStream::pair().unwrap();
        let place = PmiPlace { fd: std::os::fd::AsRawFd::as_raw_fd(&ours), rank: 0, size: 2 };
        assert!(refuse(&place, |_| None).is_ok());
    }
}
