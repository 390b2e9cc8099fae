//! Finding the running jobs of this user and asking their agents: for `hawser-info`.

use hawser_boot::protocol::{Inspect, MESSAGE_MAX, Message, SOCKET_PREFIX};
use hawser_os::host;
use hawser_os::unix::Packets;
use std::collections::BTreeSet;
use std::io;

/// Who answers for a job, or for this host's part of it: its socket and the job's name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Agent {
    pub job: String,
    pub socket: String,
}

/// How a host's part of a job of several hosts is called; the whole has the job's name.
pub fn part(job: &str, host: &str) -> String {
    // A socket's name is short.
    let short: String = host.chars().filter(char::is_ascii_alphanumeric).take(16).collect();
    format!("{job}@{short}")
}

/// Jobs on this host (in this network namespace) that `user` started.
pub fn agents() -> Vec<Agent> {
    let sockets = std::fs::read_to_string("/proc/net/unix").unwrap_or_default();
    agents_in(&sockets, host::user())
}

/// /proc/net/unix shows abstract names with an '@' at the end of a line; connections repeat the listener's name.
fn agents_in(sockets: &str, user: u32) -> Vec<Agent> {
    let prefix = format!("@{SOCKET_PREFIX}{user}-");
    let found = sockets.lines().filter_map(|line| {
        let name = line.split_whitespace().last()?.strip_prefix(&prefix)?;
        let (job, _secret) = name.rsplit_once('-')?;
        Some(Agent { job: job.into(), socket: format!("{SOCKET_PREFIX}{user}-{name}") })
    });
    found.collect::<BTreeSet<_>>().into_iter().collect()
}

/// Those that `wanted` names: a job, or the process of its mpiexec; all without one. A part of a job is left out where
/// the whole can be asked.
pub fn select(agents: Vec<Agent>, wanted: Option<&str>) -> Vec<Agent> {
    let whole = |agent: &Agent| agent.job.split('@').next().unwrap_or_default().to_owned();
    let named = |agent: &Agent, name: &str| {
        agent.job == name || whole(agent) == name || agent.job.split('-').next() == Some(name)
    };
    let is_best = |agent: &Agent| agent.job == whole(agent) || agents.iter().all(|other| other.job != whole(agent));
    agents.iter().filter(|agent| is_best(agent) && wanted.is_none_or(|name| named(agent, name))).cloned().collect()
}

/// What an agent answers. Its end of the connection must be this user's, so that nobody else can answer for it.
pub fn ask(agent: &Agent, what: Inspect) -> io::Result<String> {
    let line = Packets::connect(&agent.socket)?;
    if line.peer()?.user != host::user() {
        return Err(io::Error::other(format!("job {} belongs to somebody else", agent.job)));
    }
    line.send(&Message::Inspect(what).encode(), None)?;
    let mut text = String::new();
    let mut bytes = vec![0; MESSAGE_MAX];
    loop {
        match line.receive(&mut bytes)? {
            (0, _) => return Ok(text),
            (len, _) => match Message::decode(&bytes[..len]) {
                Some(Message::Text(part)) => text.push_str(&part),
                _ => return Err(io::Error::other(format!("the agent of job {} speaks another version", agent.job))),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOCKETS: &str = "Num RefCount Protocol Flags Type St Inode Path\n\
        0: 2 0 10000 5 1 1 @hawser-0-77-aa-0123\n\
        0: 3 0 0 5 3 2 @hawser-0-77-aa-0123\n\
        0: 2 0 10000 5 1 3 @hawser-5-78-bb-0123\n\
        0: 2 0 10000 5 1 4 /run/x\n\
        0: 2 0 10000 5 1 5 @hawser-0-79-cc-9\n";

    #[test]
    fn this_users_jobs_are_found_once_each() {
        let agents = agents_in(SOCKETS, 0);
        assert_eq!(agents.iter().map(|a| a.job.as_str()).collect::<Vec<_>>(), ["77-aa", "79-cc"]);
        assert_eq!(agents[0].socket, "hawser-0-77-aa-0123");
        assert_eq!(select(agents.clone(), Some("79")), select(agents.clone(), Some("79-cc")));
        assert_eq!(select(agents.clone(), Some("7")).len(), 0);
        assert_eq!(select(agents, None).len(), 2);
    }

    #[test]
    fn a_part_answers_where_the_whole_does_not() {
        let agent = |job: &str| Agent { job: job.into(), socket: String::new() };
        let parts = vec![agent(&part("7-aa", "node.0")), agent("7-aa@node1"), agent("8-bb@node0")];
        assert_eq!(parts[0].job, "7-aa@node0");
        assert_eq!(select(parts.clone(), Some("7")), parts[..2]);
        let with_whole = [parts.clone(), vec![agent("7-aa")]].concat();
        assert_eq!(select(with_whole.clone(), None), [agent("8-bb@node0"), agent("7-aa")]);
        assert_eq!(select(with_whole, Some("7-aa")), [agent("7-aa")]);
    }
}
