//! Finds the running jobs of this user and queries their agents. Used by `hawser-info`, and by `agent::run`, which
//! names its socket by `host_part`.

use hawser_boot::protocol::{AgentMessage, InspectRequest, MESSAGE_MAX, SOCKET_PREFIX};
use hawser_os::unix::SeqpacketSocket;
use hawser_os::{clock, host};
use std::collections::BTreeSet;
use std::io;

/// A socket at which tools are answered: by the agent of a job that has only mpiexec's host, by mpiexec for a job
/// with other hosts, or by an agent for its host's part of such a job. `job` is the name of the job or of the part
/// (`host_part`).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AgentSocket {
    pub job: String,
    pub socket: String,
}

/// The name of a host's part of a job of several hosts; the whole job goes by the job's name.
pub fn host_part(job: &str, host: &str) -> String {
    // The name of a socket must be short.
    let short: String = host.chars().filter(char::is_ascii_alphanumeric).take(16).collect();
    format!("{job}@{short}")
}

/// The sockets on this host (in this network namespace) of the jobs that this user has started.
pub fn agents() -> Vec<AgentSocket> {
    let sockets = std::fs::read_to_string("/proc/net/unix").unwrap_or_default();
    agents_in(&sockets, host::user())
}

/// The sockets in the text of /proc/net/unix, each once. The text shows an abstract name, with an '@' in front, at
/// the end of a line; the lines of connections repeat the name of their listener.
fn agents_in(sockets: &str, user: u32) -> Vec<AgentSocket> {
    let prefix = format!("@{SOCKET_PREFIX}{user}-");
    let found = sockets.lines().filter_map(|line| {
        let name = line.split_whitespace().last()?.strip_prefix(&prefix)?;
        let (job, _secret) = name.rsplit_once('-')?;
        Some(AgentSocket { job: job.into(), socket: format!("{SOCKET_PREFIX}{user}-{name}") })
    });
    found.collect::<BTreeSet<_>>().into_iter().collect()
}

/// Selects the agents of the job that `wanted` names by its name or by the process id of its mpiexec; the agents of
/// all jobs if `wanted` is None. The agent of a host's part is left out if the whole job can be queried.
pub fn select(agents: Vec<AgentSocket>, wanted: Option<&str>) -> Vec<AgentSocket> {
    let whole_job = |agent: &AgentSocket| agent.job.split('@').next().unwrap_or_default().to_owned();
    let is_named = |agent: &AgentSocket, name: &str| {
        agent.job == name || whole_job(agent) == name || agent.job.split('-').next() == Some(name)
    };
    let is_best =
        |agent: &AgentSocket| agent.job == whole_job(agent) || agents.iter().all(|other| other.job != whole_job(agent));
    agents.iter().filter(|agent| is_best(agent) && wanted.is_none_or(|name| is_named(agent, name))).cloned().collect()
}

/// The time limit of a query: an agent that is stopped never replies, and must not delay the queries of other jobs.
const REPLY_TIMEOUT_NS: u64 = 5_000_000_000;

/// Sends a request to an agent and returns its reply. It is an error if the whole reply does not come within
/// `REPLY_TIMEOUT_NS`, or if the process at the other end belongs to another user, who could otherwise reply in the
/// agent's place.
pub fn query(agent: &AgentSocket, request: InspectRequest) -> io::Result<String> {
    let deadline_ns = clock::now_ns() + REPLY_TIMEOUT_NS;
    query_until(agent, request, deadline_ns).map_err(|error| match error.kind() {
        io::ErrorKind::WouldBlock => io::Error::other(format!(
            "no answer within {} s; is its mpiexec stopped (kill -CONT), or its host too busy?",
            REPLY_TIMEOUT_NS / 1_000_000_000
        )),
        _ => error,
    })
}

fn query_until(agent: &AgentSocket, request: InspectRequest, deadline_ns: u64) -> io::Result<String> {
    let left_ms = || match deadline_ns.saturating_sub(clock::now_ns()) / 1_000_000 {
        0 => Err(io::Error::from(io::ErrorKind::WouldBlock)),
        left_ms => Ok(left_ms),
    };
    let socket = SeqpacketSocket::connect_timeout(&agent.socket, left_ms()?)?;
    if socket.peer()?.user != host::user() {
        return Err(io::Error::other(format!("job {} belongs to another user", agent.job)));
    }
    socket.send(&AgentMessage::Inspect(request).encode(), None)?;
    let mut text = String::new();
    let mut bytes = vec![0; MESSAGE_MAX];
    loop {
        socket.set_timeout(left_ms()?)?;
        match socket.receive(&mut bytes)? {
            (0, _) => return Ok(text),
            (len, _) => match AgentMessage::decode(&bytes[..len]) {
                Some(AgentMessage::Text(piece)) => text.push_str(&piece),
                _ => return Err(io::Error::other(format!("the agent of job {} is of another version", agent.job))),
            },
        }
    }
}

/// The maximum number of agents that are queried at once: another user may have made any number of sockets with names
/// that look like those of agents.
const QUERIES_AT_ONCE: usize = 256;

/// Sends all requests of `wanted` to each agent. Returns the replies of each agent, in the order of `agents`. Up to
/// `QUERIES_AT_ONCE` agents are queried at once, so that agents that never reply are waited for together and not one
/// after the other.
pub fn query_all(agents: &[AgentSocket], wanted: &[InspectRequest]) -> Vec<Vec<io::Result<String>>> {
    let query_some = |some: &[AgentSocket]| {
        std::thread::scope(|scope| {
            let query_one = |agent| move || wanted.iter().map(|&request| query(agent, request)).collect();
            let threads: Vec<_> = some.iter().map(|agent| scope.spawn(query_one(agent))).collect();
            threads.into_iter().map(|reply| reply.join().unwrap_or_default()).collect::<Vec<_>>()
        })
    };
    agents.chunks(QUERIES_AT_ONCE).flat_map(query_some).collect()
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
        let agent = |job: &str| AgentSocket { job: job.into(), socket: String::new() };
        let parts = vec![agent(&host_part("7-aa", "node.0")), agent("7-aa@node1"), agent("8-bb@node0")];
        assert_eq!(parts[0].job, "7-aa@node0");
        assert_eq!(select(parts.clone(), Some("7")), parts[..2]);
        let with_whole = [parts.clone(), vec![agent("7-aa")]].concat();
        assert_eq!(select(with_whole.clone(), None), [agent("8-bb@node0"), agent("7-aa")]);
        assert_eq!(select(with_whole, Some("7-aa")), [agent("7-aa")]);
    }
}
