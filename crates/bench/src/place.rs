//! The two ends between which a run measures: on this machine, over a cable (veth) between two network namespaces of
//! our own, or between this machine and others.
//!
//! It tells how a program is started at either end; it starts none. The namespaces vanish with the value. Used by
//! `command`; makes the commands of `library` and `layer`.

use hawser_os::cable::{ADDRESSES, Cable};
use hawser_os::{cpus, host, netns};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Hydra's remote shell over a cable. Its host name is another one than ours: MPICH and Intel MPI take ranks of one
/// name for one host's.
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

/// The place of a run; see the module.
pub enum Place {
    Here,
    Cable {
        cable: Cable,
        mtu: usize,
        remote_shell: PathBuf,
    },
    /// The two hosts; `remote_shell` is used instead of ssh.
    Hosts {
        hosts: Vec<String>,
        remote_shell: Option<PathBuf>,
    },
}

/// The hosts of a job over several.
pub struct Across<'a> {
    pub hosts: Vec<&'a str>,
    pub remote_shell: Option<&'a Path>,
}

impl Place {
    /// Makes a cable of our own; `scratch` keeps what its remote shell needs.
    pub fn cable(mtu: usize, scratch: &Path) -> io::Result<Place> {
        netns::become_root()?;
        let cable = Cable::new(mtu)?;
        let remote_shell = scratch.join("remote-shell");
        let [near, far] = [&cable.a, &cable.b].map(|host| host.path().display().to_string());
        let shell = CABLE_SHELL.replace("NEAR_NET", &near).replace("FAR_NET", &far);
        std::fs::write(
            &remote_shell,
            shell.replace("NEAR_ADDRESS", ADDRESSES[0]).replace("FAR_ADDRESS", ADDRESSES[1]),
        )?;
        std::fs::set_permissions(&remote_shell, std::fs::Permissions::from_mode(0o755))?;
        Ok(Place::Cable { cable, mtu, remote_shell })
    }

    pub fn is_one_host(&self) -> bool {
        matches!(self, Place::Here)
    }

    /// The text for people.
    pub fn describe(&self) -> String {
        match self {
            Place::Here => "this machine's memory".into(),
            Place::Cable { mtu, .. } => format!("a cable (veth) between two network namespaces, MTU {mtu}"),
            Place::Hosts { hosts, .. } => format!("the network between {}", hosts.join(" and ")),
        }
    }

    /// The command of `program` at the near end.
    pub fn near_command(&self, program: &Path) -> Command {
        match self {
            Place::Cable { cable, .. } => {
                let mut command = Command::new("nsenter");
                command.arg(format!("--net={}", cable.a.path().display())).arg(program);
                command
            }
            _ => Command::new(program),
        }
    }

    /// The words in front of a command that run it at the far end.
    pub fn far_words(&self) -> Vec<String> {
        match self {
            Place::Here => Vec::new(),
            Place::Cable { cable, .. } => vec!["nsenter".into(), format!("--net={}", cable.b.path().display())],
            Place::Hosts { hosts, remote_shell } => {
                let ssh = || ["ssh", "-o", "BatchMode=yes"].map(String::from).into();
                let shell: Vec<String> =
                    remote_shell.as_ref().map_or_else(ssh, |shell| vec![shell.display().to_string()]);
                // The far end is not pinned, as libraries' ranks are not.
                let words = [hosts[1].as_str(), "env", "HAWSER_BENCH_CORES="].map(String::from);
                shell.into_iter().chain(words).collect()
            }
        }
    }

    /// The address by which the near end reaches the far one.
    pub fn far_address(&self) -> &str {
        match self {
            Place::Here => "127.0.0.1",
            Place::Cable { .. } => ADDRESSES[1],
            Place::Hosts { hosts, .. } => &hosts[1],
        }
    }

    /// The hosts that a library's job must have, if it must have several.
    pub fn across(&self) -> Option<Across<'_>> {
        match self {
            Place::Here => None,
            Place::Cable { remote_shell, .. } => {
                Some(Across { hosts: ADDRESSES.to_vec(), remote_shell: Some(remote_shell) })
            }
            Place::Hosts { hosts, remote_shell } => Some(Across {
                hosts: hosts.iter().map(String::as_str).collect(),
                remote_shell: remote_shell.as_deref(),
            }),
        }
    }

    /// The cores of the ranks, a core a rank; empty on several machines.
    pub fn cores(&self) -> String {
        match self {
            Place::Hosts { .. } => String::new(),
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
pub fn machine(place: &Place) -> crate::record::Machine {
    let line = |file: &str, key: &str| {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        let found = text
            .lines()
            .find_map(|line| line.strip_prefix(key)?.split_once(':').map(|(_, value)| value.trim().to_string()));
        found.unwrap_or_default()
    };
    let kilobytes = line("/proc/meminfo", "MemTotal").trim_end_matches(" kB").parse::<u64>().unwrap_or(0);
    crate::record::Machine {
        host: host::name(),
        processor: line("/proc/cpuinfo", "model name"),
        cores: cpus::available(),
        memory_bytes: kilobytes << 10,
        kernel: host::release(),
        between: place.describe(),
    }
}
