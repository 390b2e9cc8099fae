//! Launchers that we cannot speak to: their environment is the proof that this process is one of several.

use hawser_base::{Class, Error, Result};

/// A variable that holds the number of processes of a step, and the launcher that sets it.
const SIZES: [(&str, &str); 3] = [
    ("PMI_SIZE", "a PMI launcher (Hydra, srun --mpi=pmi2)"),
    ("OMPI_COMM_WORLD_SIZE", "Open MPI's mpirun"),
    ("SLURM_STEP_NUM_TASKS", "Slurm's srun"),
];

/// Refuses to run alone as one of several processes of a launcher that is not ours.
pub fn refuse(environment: impl Fn(&str) -> Option<String>) -> Result<()> {
    for (variable, launcher) in SIZES {
        let size = environment(variable).and_then(|text| text.trim().parse::<u64>().ok()).unwrap_or(1);
        if size > 1 {
            return Err(Error::new(
                Class::Other,
                format!(
                    "this process is one of {size} started by {launcher} ({variable}={size}), which Hawser cannot join; \
                     start the program with Hawser's mpiexec, or unset {variable} to run it alone"
                ),
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with<'a>(name: &'a str, value: &'a str) -> impl Fn(&str) -> Option<String> + 'a {
        move |asked| (asked == name).then(|| value.to_owned())
    }

    #[test]
    fn a_foreign_step_of_several_is_refused_with_the_remedy() {
        for (variable, _) in SIZES {
            let text = refuse(with(variable, "4")).unwrap_err().cause().to_owned();
            assert!(
                text.contains(&format!("({variable}=4)")) && text.contains("mpiexec") && text.contains("unset"),
                "{text}"
            );
            assert!(!text.contains('\n'));
        }
    }

    #[test]
    fn a_step_of_one_and_nonsense_are_no_proof() {
        assert!(refuse(with("PMI_SIZE", "1")).is_ok());
        assert!(refuse(with("SLURM_STEP_NUM_TASKS", "")).is_ok());
        assert!(refuse(with("OMPI_COMM_WORLD_SIZE", "many")).is_ok());
        assert!(refuse(|_| None).is_ok());
    }
}
