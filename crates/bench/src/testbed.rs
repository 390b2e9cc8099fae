//! The two ends between which a run measures: on this machine, over a cable (veth) between two network namespaces of
//! our own, or between this machine and others.
//!
//! It makes the commands that start programs at either end, but starts none. The namespaces vanish with the value.
//! Used by `command`, `tune` and `doctor`; makes the commands of `library` and `layer`.

use hawser_os::veth_pair::{HOST_ADDRESSES, VethPair};
use hawser_os::{cpus, host, netns};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The remote shell for Hydra over a cable. It gives each end a host name, because MPICH and Intel MPI take ranks
/// with the same host name for ranks of one host.
const CABLE_SHELL: &str = r#"#!/bin/sh
while [ "${1#-}" != "$1" ]; do
    [ "$1" = -l ] && shift
    shift
done
case $1 in
    NEAR_ADDRESS) net=NEAR_NET name=near-end ;;
    FAR_ADDRESS) net=FAR_NET name=far-end ;;
    *) echo "there is no host $1 on this cable" >&2 && exit 1 ;;
esac
shift
exec nsenter --net="$net" unshare -u sh -c "hostname $name; $*"
"#;

/// The test bed of a run; see the module.
pub enum TestBed {
    Here,
    Cable {
        cable: VethPair,
        mtu: usize,
        remote_shell: PathBuf,
    },
    /// The hosts, two for a run; `remote_shell` is used instead of ssh.
    Hosts {
        hosts: Vec<String>,
        remote_shell: Option<PathBuf>,
    },
}

/// The hosts of a job over several hosts.
pub struct MultiHostJob<'a> {
    pub hosts: Vec<&'a str>,
    pub remote_shell: Option<&'a Path>,
}

impl TestBed {
    /// Makes a cable of our own; its remote shell is written to the folder `scratch`.
    pub fn cable(mtu: usize, scratch: &Path) -> io::Result<TestBed> {
        netns::become_root()?;
        let cable = VethPair::new(mtu)?;
        let remote_shell = scratch.join("remote-shell");
        let [local, remote] = [&cable.a, &cable.b].map(|host| host.path().display().to_string());
        let shell = CABLE_SHELL.replace("NEAR_NET", &local).replace("FAR_NET", &remote);
        std::fs::write(
            &remote_shell,
            shell.replace("NEAR_ADDRESS", HOST_ADDRESSES[0]).replace("FAR_ADDRESS", HOST_ADDRESSES[1]),
        )?;
        std::fs::set_permissions(&remote_shell, std::fs::Permissions::from_mode(0o755))?;
        Ok(TestBed::Cable { cable, mtu, remote_shell })
    }

    pub fn is_one_host(&self) -> bool {
        matches!(self, TestBed::Here)
    }

    /// The text for people.
    pub fn describe(&self) -> String {
        match self {
            TestBed::Here => "this machine's memory".into(),
            TestBed::Cable { mtu, .. } => format!("a cable (veth) between two network namespaces, MTU {mtu}"),
            TestBed::Hosts { hosts, .. } => format!("the network between {}", hosts.join(" and ")),
        }
    }

    /// The command of `program` at the local end.
    pub fn local_command(&self, program: &Path) -> Command {
        match self {
            TestBed::Cable { cable, .. } => {
                let mut command = Command::new("nsenter");
                command.arg(format!("--net={}", cable.a.path().display())).arg(program);
                command
            }
            _ => Command::new(program),
        }
    }

    /// The words that, in front of a command, run it at the remote end.
    pub fn remote_prefix(&self) -> Vec<String> {
        match self {
            TestBed::Here => Vec::new(),
            TestBed::Cable { cable, .. } => vec!["nsenter".into(), format!("--net={}", cable.b.path().display())],
            TestBed::Hosts { hosts, remote_shell } => {
                let ssh = || ["ssh", "-o", "BatchMode=yes"].map(String::from).into();
                let shell: Vec<String> =
                    remote_shell.as_ref().map_or_else(ssh, |shell| vec![shell.display().to_string()]);
                // The remote end is not pinned to cores, because the ranks of libraries are not either.
                let prefix = [hosts[1].as_str(), "env", "HAWSER_BENCH_CORES="].map(String::from);
                shell.into_iter().chain(prefix).collect()
            }
        }
    }

    /// The address by which the local end reaches the remote end.
    pub fn remote_address(&self) -> &str {
        match self {
            TestBed::Here => "127.0.0.1",
            TestBed::Cable { .. } => HOST_ADDRESSES[1],
            TestBed::Hosts { hosts, .. } => &hosts[1],
        }
    }

    /// Returns the hosts of a library's job; None if the job has one host.
    pub fn multi_host_job(&self) -> Option<MultiHostJob<'_>> {
        match self {
            TestBed::Here => None,
            TestBed::Cable { remote_shell, .. } => {
                Some(MultiHostJob { hosts: HOST_ADDRESSES.to_vec(), remote_shell: Some(remote_shell) })
            }
            TestBed::Hosts { hosts, remote_shell } => Some(MultiHostJob {
                hosts: hosts.iter().map(String::as_str).collect(),
                remote_shell: remote_shell.as_deref(),
            }),
        }
    }

    /// The cores to which ranks are pinned, one core for each rank: all that this process may use; empty on several
    /// machines.
    pub fn cores(&self) -> String {
        match self {
            TestBed::Hosts { .. } => String::new(),
            _ => cpus::allowed().unwrap_or_default().iter().map(usize::to_string).collect::<Vec<_>>().join(","),
        }
    }
}

/// The installation that this program is part of: PREFIX of PREFIX/bin/hawser-bench.
pub fn own_prefix() -> PathBuf {
    let own = std::env::current_exe().unwrap_or_default();
    own.parent().and_then(Path::parent).map(Path::to_path_buf).unwrap_or_default()
}

/// The description of this machine in the record.
pub fn machine_info(testbed: &TestBed) -> crate::record::MachineInfo {
    let line = |file: &str, key: &str| {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        let found = text
            .lines()
            .find_map(|line| line.strip_prefix(key)?.split_once(':').map(|(_, value)| value.trim().to_string()));
        found.unwrap_or_default()
    };
    let kilobytes = line("/proc/meminfo", "MemTotal").trim_end_matches(" kB").parse::<u64>().unwrap_or(0);
    crate::record::MachineInfo {
        host: host::name(),
        processor: line("/proc/cpuinfo", "model name"),
        cores: cpus::available(),
        memory_bytes: kilobytes << 10,
        kernel: host::release(),
        between: testbed.describe(),
    }
}
