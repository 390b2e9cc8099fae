//! Slurm's srun as the remote shell: starts an agent as a step of one task on its host.
//!
//! In a heterogeneous job the step names the component in which its host lies. The module starts nothing itself. Used
//! by `hosts`, where Slurm is the launcher (docs/adr/0073-slots-are-limits.md), and by `allocation`.

use crate::own_host;
use std::process::Command;

/// The options of a step for one agent. Its output is passed on at once, its ranks may use all processors that the job
/// has on the host, and the agent is no rank. (Without `--unbuffered` Slurm keeps bytes until a line ends.)
pub const OPTIONS: [&str; 5] = ["--nodes=1", "--ntasks=1", "--mpi=none", "--cpu-bind=none", "--unbuffered"];

/// The variable that lets a step share the host's processors with other steps. Versions of Slurm before 20.11 do not
/// know it.
const OVERLAP: &str = "SLURM_OVERLAP";

/// The variables of the job that would change a step of one agent (srun(1), input environment variables): they give it
/// fewer processors or GPUs, refuse it, or change what it writes.
const OF_THE_JOB: [&str; 28] = [
    "SLURM_EXACT",
    "SLURM_EXCLUSIVE",
    "SLURM_NTASKS_PER_NODE",
    "SLURM_NTASKS_PER_CORE",
    "SLURM_NTASKS_PER_SOCKET",
    "SLURM_NTASKS_PER_GPU",
    "SLURM_NTASKS_PER_TRES",
    "SLURM_CPUS_PER_TASK",
    "SRUN_CPUS_PER_TASK",
    "SLURM_TRES_PER_TASK",
    "SLURM_GPUS_PER_TASK",
    "SLURM_CPUS_PER_GPU",
    "SLURM_GPU_BIND",
    "SLURM_HINT",
    "SLURM_THREADS_PER_CORE",
    "SLURM_DISTRIBUTION",
    "SLURM_HOSTFILE",
    "SLURM_WAIT",
    "SLURM_LABELIO",
    "SLURM_STDINMODE",
    "SLURM_STDOUTMODE",
    "SLURM_STDERRMODE",
    "SRUN_INPUT",
    "SRUN_OUTPUT",
    "SRUN_ERROR",
    "SLURM_EXPORT_ENV",
    "SRUN_EXPORT_ENV",
    "SLURM_WORKING_DIR",
];

/// The time limit, in seconds, from starting srun to the agent's first frame: Slurm may have to wait for a host that
/// boots, or for its prolog.
pub const CONNECT_S: u64 = 180;

/// The name of a variable of Slurm for the component with this number.
pub fn of_component(name: &str, group: usize) -> String {
    format!("{name}_HET_GROUP_{group}")
}

/// Changes the environment of `srun`, the command: that of mpiexec is the job's. A heterogeneous job has its variables
/// for each of its components too, whose number is `components`.
pub fn adapt(srun: &mut Command, components: usize) {
    for name in OF_THE_JOB {
        srun.env_remove(name);
        for group in 0..components {
            srun.env_remove(of_component(name, group));
        }
    }
    srun.env(OVERLAP, "1");
}

/// The words that precede the command for the host `name`, behind all options. `components` are the names of the hosts
/// of each component of a heterogeneous job.
pub fn last_words(name: &str, components: &[Vec<String>]) -> Vec<String> {
    let group = components.iter().position(|hosts| hosts.iter().any(|host| own_host::is_same(host, name)));
    let group = group.map(|group| format!("--het-group={group}"));
    group.into_iter().chain([format!("--nodelist={name}"), "/bin/sh".into(), "-c".into()]).collect()
}

/// A command of sh that gives `agent` a pipe for its output, passes on what it writes, and ends with its code. Slurm
/// would give it a terminal (`--unbuffered`), into which a write may put a part of its bytes, but several processes
/// write to the channel, each a whole piece at a time.
pub fn through_pipe(agent: &str) -> String {
    format!("exec 5>&1; exit $({{ {{ {agent} 4>&- 5>&-; echo $? >&4; }} | cat >&5 4>&-; }} 4>&1)")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::process::Stdio;

    #[test]
    fn a_step_names_the_component_of_its_host() {
        let components = [vec!["a".to_owned()], vec!["b".to_owned(), "c".to_owned()]];
        let words = |name| last_words(name, &components).join(" ");
        assert_eq!(words("a"), "--het-group=0 --nodelist=a /bin/sh -c");
        assert_eq!(words("c.d"), "--het-group=1 --nodelist=c.d /bin/sh -c");
        assert_eq!(words("e"), "--nodelist=e /bin/sh -c", "a host of no component");
        assert_eq!(last_words("a", &[]).len(), 3);
        let mut srun = Command::new("srun");
        adapt(&mut srun, 2);
        let removed: Vec<_> = srun.get_envs().filter(|(_, value)| value.is_none()).map(|(name, _)| name).collect();
        for name in ["SLURM_CPUS_PER_TASK", "SLURM_CPUS_PER_TASK_HET_GROUP_0", "SLURM_CPUS_PER_TASK_HET_GROUP_1"] {
            assert!(removed.iter().any(|other| *other == name), "{name}");
        }
    }

    #[test]
    fn the_output_of_an_agent_of_slurm_is_passed_on_with_its_code() {
        for (agent, code) in [("sh -c 'echo said; exit 7'", 7), ("no-such-program", 127), ("cat", 0)] {
            let mut command = Command::new("sh");
            let mut child = command
                .args(["-c", &through_pipe(agent)])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            child.stdin.take().unwrap().write_all(b"said\n").unwrap();
            let output = child.wait_with_output().unwrap();
            assert_eq!(output.status.code(), Some(code), "{agent}");
            assert_eq!(output.stdout, if code == 127 { &b""[..] } else { b"said\n" }, "{agent}");
        }
    }
}
