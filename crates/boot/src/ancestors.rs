//! A process that was started below an agent of ours and has lost its environment (`env -i`, sudo) finds that agent.
//!
//! The ancestors of the process are in /proc, and its agent is the nearest ancestor that was started with the
//! argument of an agent. Of all sockets on the host that are named like an agent's, the agent's own is the one whose
//! listener is that process, according to the kernel. The agent then finds the rank by the ancestors of the process.
//! Used by `agent_connection` when no variable names an agent. Without /proc nothing is found.

use crate::protocol::{AGENT_ARGUMENT, SOCKET_PREFIX};
use hawser_os::unix::SeqpacketSocket;
use hawser_os::{clock, host, process_tree};
use std::collections::BTreeSet;

/// The process id of the nearest agent among this process's ancestors; None if there is none.
pub fn nearest_agent() -> Option<i32> {
    process_tree::ancestors(host::pid()).into_iter().find(|&pid| is_agent(&process_tree::arguments(pid)))
}

fn is_agent(arguments: &[Vec<u8>]) -> bool {
    arguments.get(1).is_some_and(|word| word == AGENT_ARGUMENT.as_bytes())
}

/// The time limits, in ms, for one socket to accept this process and for trying all sockets. Any process can listen
/// under such a name and accept no one; an agent that starts a thousand ranks accepts them in less than a second.
const SOCKET_TIMEOUT_MS: u64 = 1000;
const TOTAL_TIMEOUT_MS: u64 = 10_000;

/// The name of the socket at which process `agent` listens, and the user of that process; None if it is not found in
/// time.
pub fn socket_of(agent: i32) -> Option<(String, u32)> {
    let sockets = std::fs::read("/proc/net/unix").unwrap_or_default();
    let deadline_ns = clock::now_ns() + TOTAL_TIMEOUT_MS * 1_000_000;
    let in_time = |_: &String| clock::now_ns() < deadline_ns;
    names(&String::from_utf8_lossy(&sockets)).into_iter().take_while(in_time).find_map(|name| {
        let peer = SeqpacketSocket::connect_timeout(&name, SOCKET_TIMEOUT_MS).and_then(|line| line.peer()).ok()?;
        (peer.pid == agent).then_some((name, peer.user))
    })
}

/// The names of all agents' sockets in the text of /proc/net/unix, which puts '@' for an abstract name's zero byte.
fn names(sockets: &str) -> BTreeSet<String> {
    let name = |line: &str| line.split_whitespace().last()?.strip_prefix('@').map(str::to_owned);
    sockets.lines().filter_map(name).filter(|name| name.starts_with(SOCKET_PREFIX)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hawser_os::unix::SeqpacketListener;

    #[test]
    fn an_agent_is_known_by_its_first_argument_alone() {
        let words = |line: &str| line.split(' ').map(|word| word.as_bytes().to_vec()).collect::<Vec<_>>();
        assert!(is_agent(&words("mpiexec __agent")) && is_agent(&words("mpiexec __agent 7")));
        assert!(!is_agent(&words("mpiexec -n __agent")) && !is_agent(&words("mpiexec")) && !is_agent(&[]));
    }

    #[test]
    fn the_socket_of_a_process_is_told_from_those_of_others() {
        let name = format!("{SOCKET_PREFIX}0-test-lineage-{}", host::pid());
        let _listener = SeqpacketListener::bind(&name).unwrap();
        assert_eq!(socket_of(host::pid()), Some((name.clone(), host::user())));
        assert_eq!(socket_of(1), None);
        // A socket that accepts none comes before it by its name: it delays the search by no more than its limit.
        let silent = format!("{SOCKET_PREFIX}0-a-silent-one-{}", host::pid());
        let _silent = SeqpacketListener::bind_with_backlog(&silent, 0).unwrap();
        let _waits = SeqpacketSocket::connect_timeout(&silent, 50).unwrap();
        assert!(SeqpacketSocket::connect_timeout(&silent, 50).is_err(), "its backlog is full");
        assert_eq!(socket_of(host::pid()), Some((name, host::user())));
        assert_eq!(
            names("0: 2 0 10000 5 1 1 @hawser-0-a\n0: 3 0 0 5 3 2 @hawser-0-a\n0: 2 0 1 5 1 4 /run/x\n").len(),
            1
        );
    }
}
