//! The connection of a rank to its agent: a process finds its agent, receives its identity, and keeps the connection
//! for life.
//!
//! The agent learns of the process's end from the kernel, not from the connection, which a forked child may hold
//! open. Dropping an `AgentConnection` reports nothing; `notify` and `abort` report how the rank ends. Used by
//! `host::launched` and `host::join`.

use crate::bootstrap::{Bootstrap, Identity, Notification};
use crate::job_settings::JobSettings;
use crate::pmix::PmixConnection;
use crate::protocol::{
    ADDRESS_VARIABLE, AgentAddress, AgentMessage, BOOTSTRAP_FILE_VARIABLE, LOST_RANK, MESSAGE_MAX,
    PROGRAM_SIZE_VARIABLE, RANK_VARIABLE, SIZE_VARIABLE, VERSION, Welcome,
};
use crate::{ancestors, foreign_launcher, launcher_server, loaded_mpi, pmi};
use hawser_base::{Class, Error, Peer, Result};
use hawser_os::unix::SeqpacketSocket;
use hawser_os::{host, membarrier, process_vm};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, OnceLock};

/// The identity of this process in its job, and its connection to the agent.
pub struct AgentConnection {
    identity: Identity,
    /// The descriptor of this host's segment (`job::Segment::open`); None if the process is alone or the segment was
    /// taken.
    segment: Option<OwnedFd>,
    /// The connection to the agent; None if the process is alone.
    connection: Option<Arc<SeqpacketSocket>>,
    /// The process id of the process that attached: a forked child is not the rank.
    pid: i32,
}

/// The means by which a process that cannot go on after it has attached can end the job.
enum AbortTarget {
    Connection(AgentConnection),
    Bootstrap(Arc<dyn Bootstrap>),
}

static ABORT_TARGET: OnceLock<AbortTarget> = OnceLock::new();

/// Keeps the `Bootstrap` of a process that cannot go on, so that `abort_job` can end the job by it. Has no effect if
/// a connection or a `Bootstrap` is kept already.
pub fn keep_for_abort(boot: Arc<dyn Bootstrap>) {
    let _ = ABORT_TARGET.set(AbortTarget::Bootstrap(boot));
}

/// Ends the job as `AgentConnection::abort` does, for a process that is not yet a rank or cannot become one. Returns
/// if the process is alone.
pub fn abort_job(code: i32, text: &str) {
    match ABORT_TARGET.get() {
        Some(AbortTarget::Connection(world)) if !world.is_alone() => world.abort(code, text),
        Some(AbortTarget::Bootstrap(boot)) if boot.identity().appnum.is_some() || boot.identity().size > 1 => {
            boot.abort(code, text)
        }
        _ => {}
    }
    let environment = |variable: &str| std::env::var(variable).ok();
    if let Some(abort) = launcher_server::abort_fn() {
        host::print_error(&format!("hawser: {text}"));
        abort(exit_code(code));
        host::exit_now(exit_code(code))
    }
    if pmi::abort_job(environment, exit_code(code), text) {
        host::exit_now(exit_code(code))
    }
    if PmixConnection::is_named(environment) {
        // Its launcher ends the job when this process fails; the agent above it has another job.
        return;
    }
    if let Ok(world) = attach()
        && !world.is_alone()
    {
        world.abort(code, text)
    }
}

/// Determines this process's identity, without sending job settings.
pub fn attach() -> Result<AgentConnection> {
    attach_with_settings(&JobSettings::default())
}

/// Determines this process's identity: attaches to the agent, to which it sends `settings`, or finds that the process
/// is alone. To be called once, by MPI_Init or the first session. If the settings of two ranks differ, mpiexec ends
/// the job.
pub fn attach_with_settings(settings: &JobSettings) -> Result<AgentConnection> {
    loaded_mpi::refuse_second_mpi(attach as *const () as usize)?;
    attach_from(|variable| std::env::var(variable).ok(), settings)
}

/// The number of ranks that run this program; None if it is not known before `attach`.
pub fn program_size_before() -> Option<u32> {
    if std::env::var_os(BOOTSTRAP_FILE_VARIABLE).is_some() && std::env::var_os(ADDRESS_VARIABLE).is_none() {
        return std::env::var(SIZE_VARIABLE).ok()?.parse().ok();
    }
    if PmixConnection::is_named(|variable| std::env::var(variable).ok()) {
        return None;
    }
    if std::env::var_os(pmi::FD_VARIABLE).is_some() {
        return std::env::var(pmi::SIZE_VARIABLE).ok()?.parse().ok();
    }
    if std::env::var_os(ADDRESS_VARIABLE).is_none() {
        // If the process is below an agent but has lost its variables, only the agent knows the number.
        let is_alone = std::env::var_os(RANK_VARIABLE).is_some() || ancestors::nearest_agent().is_none();
        return is_alone.then_some(1);
    }
    std::env::var(PROGRAM_SIZE_VARIABLE).ok()?.parse().ok()
}

fn attach_from(environment: impl Fn(&str) -> Option<String>, settings: &JobSettings) -> Result<AgentConnection> {
    match environment(ADDRESS_VARIABLE) {
        Some(text) => {
            let address = AgentAddress::decode(&text).map_err(|text| Error::new(Class::Other, text))?;
            join(&address, settings)
        }
        // `RANK_VARIABLE` without the address shows that the user has unset the address to run the program alone.
        None if environment(RANK_VARIABLE).is_some() => alone_unless_foreign(environment),
        None => {
            let world = alone_unless_foreign(environment)?;
            ancestors::nearest_agent().map_or(Ok(world), |agent| join_agent(agent, settings))
        }
    }
}

fn alone_unless_foreign(environment: impl Fn(&str) -> Option<String>) -> Result<AgentConnection> {
    foreign_launcher::refuse(environment).map(|()| alone())
}

/// The `AgentConnection` of a process that is alone: it has no connection and no segment.
fn alone() -> AgentConnection {
    AgentConnection { identity: Identity::alone(), segment: None, connection: None, pid: host::pid() }
}

/// Joins the job of the agent with process id `agent`. This process runs below that agent, but without the variables
/// that the agent sets.
fn join_agent(agent: i32, settings: &JobSettings) -> Result<AgentConnection> {
    let lost = |why: &str| {
        let text = format!(
            "this process has lost the variables that mpiexec set (env -i, sudo?), and {why}; let the program keep \
             {ADDRESS_VARIABLE} (env -i {ADDRESS_VARIABLE}=\"${ADDRESS_VARIABLE}\" ..., sudo \
             --preserve-env={ADDRESS_VARIABLE} ...)"
        );
        Error::new(Class::Other, text)
    };
    let Some((socket, user)) = ancestors::socket_of(agent) else {
        return Err(lost(&format!("the socket of mpiexec's agent (process {agent}) cannot be found")));
    };
    if ![0, user].contains(&host::user()) {
        let text = format!(
            "this process runs as user {}, and mpiexec as user {user}: it cannot join that user's jobs; run mpiexec \
             itself as the other user (sudo -u USER mpiexec ...)",
            host::user()
        );
        return Err(Error::new(Class::Other, text));
    }
    join(&AgentAddress { rank: LOST_RANK, socket }, settings)
}

fn join(address: &AgentAddress, settings: &JobSettings) -> Result<AgentConnection> {
    let lifeline =
        SeqpacketSocket::connect(&address.socket).map_err(|error| connection_lost(&address.socket, &error))?;
    // The kernel reports the user of the agent. This process will map memory that the agent hands over, so the agent
    // must not belong to another user.
    let agent = lifeline.peer().map_err(|error| connection_lost(&address.socket, &error))?.user;
    check_agent_user(agent, host::user())?;
    // An agent accepts its own user and root, and closes the connections of others without a reply.
    let gone = |error: io::Error| match host::user() {
        user if user != agent && user != 0 => other_user_error(agent, user),
        _ => connection_lost(&address.socket, &error),
    };
    let hello = AgentMessage::Hello { version: VERSION, rank: address.rank, settings: settings.text().into() };
    lifeline.send(&hello.encode(), None).map_err(gone)?;
    let mut bytes = vec![0; MESSAGE_MAX];
    let (len, segment) = lifeline.receive(&mut bytes).map_err(gone)?;
    match AgentMessage::decode(&bytes[..len]) {
        Some(AgentMessage::Welcome(facts)) if segment.is_some() => {
            apply_welcome(&facts)?;
            Ok(AgentConnection {
                identity: identity(&facts),
                segment,
                connection: Some(Arc::new(lifeline)),
                pid: host::pid(),
            })
        }
        Some(AgentMessage::Welcome(_)) => Err(Error::new(
            Class::Other,
            "the job's shared segment did not arrive: no descriptor is free (`ulimit -n`); raise the limit or close some files",
        )),
        Some(AgentMessage::Alone) => Ok(alone()),
        Some(AgentMessage::Refused(text)) => Err(Error::new(Class::Other, text)),
        _ => Err(gone(io::Error::other("it closed the connection"))),
    }
}

/// The identity from the agent's Welcome.
fn identity(welcome: &Welcome) -> Identity {
    Identity {
        peer: Peer(welcome.rank),
        rank: welcome.rank,
        size: welcome.size,
        local_rank: welcome.local_rank,
        local_size: welcome.local_size,
        appnum: Some(welcome.appnum),
        program_size: welcome.program_size,
        universe_size: welcome.universe,
        secret: welcome.secret,
    }
}

/// Refuses an agent that is neither this user's nor root's.
fn check_agent_user(agent: u32, user: u32) -> Result<()> {
    if agent == user || agent == 0 { Ok(()) } else { Err(other_user_error(agent, user)) }
}

#[cold]
fn other_user_error(agent: u32, user: u32) -> Error {
    let text = format!(
        "this program runs as user {user} and mpiexec as user {agent}, and the ranks of a job share memory: run both as one \
         user (mpiexec under sudo or su, not the program), or unset {ADDRESS_VARIABLE} to run the program alone"
    );
    Error::new(Class::Other, text)
}

/// Does what the agent's Welcome says that every rank of the host does: lets the other ranks copy from its memory,
/// and registers for membarrier(2).
fn apply_welcome(welcome: &Welcome) -> Result<()> {
    if welcome.process_vm {
        process_vm::allow_peers();
    }
    if welcome.membarrier {
        membarrier::register().map_err(|error| {
            let text = format!("membarrier(2) is forbidden to this process but not to its agent ({error}); set HAWSER_MEMBARRIER=0 for mpiexec");
            Error::new(Class::Other, text)
        })?;
    }
    Ok(())
}

#[cold]
fn connection_lost(socket: &str, error: &io::Error) -> Error {
    let text = format!(
        "the agent of this job's mpiexec cannot be reached ({socket}: {error}); if this program is not a rank of a running \
         job, unset {ADDRESS_VARIABLE}"
    );
    Error::new(Class::Other, text)
}

impl AgentConnection {
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Returns whether this process is the only rank of a job of its own: it has no launcher, or is a program that a
    /// rank has started (`AgentMessage::Alone`). It then makes its own segment (`job::Segment::alone`).
    pub fn is_alone(&self) -> bool {
        self.connection.is_none()
    }

    /// Returns the descriptor of this host's segment, to be opened by `job::Segment::open`; None if it was taken
    /// before or the process is alone.
    pub fn take_segment(&mut self) -> Option<OwnedFd> {
        self.segment.take()
    }

    /// Publishes `business_card`, at most `job::layout::BUSINESS_CARD_MAX` bytes, for every rank of the job
    /// (`job::Segment::business_card`). To be called once, and only in a job of several hosts (`spans_hosts`).
    pub fn publish(&self, business_card: &[u8]) -> Result<()> {
        let Some(lifeline) = &self.connection else { return Ok(()) };
        lifeline.send(&AgentMessage::BusinessCard(business_card.to_vec()).encode(), None).map_err(|error| {
            Error::new(Class::Other, format!("the agent of this job's mpiexec is gone ({error}); the job is ending"))
        })
    }

    /// Sends a notification to the agent; returns whether it was sent. `Reachability`, which may come from any place
    /// in the process, is sent without waiting. A process that is alone and a forked child, which is not the rank,
    /// send nothing, and the result is true.
    pub fn notify(&self, notification: Notification) -> bool {
        let Some(lifeline) = self.connection.as_ref().filter(|_| self.is_attached_process()) else { return true };
        match notification {
            Notification::Reachability(what) => lifeline.try_send(&AgentMessage::Reachability(what).encode()).is_ok(),
            // An agent that is gone needs no notification: the job is ending.
            Notification::Left => lifeline.send(&AgentMessage::Finalize.encode(), None).is_ok(),
            Notification::Back => lifeline.send(&AgentMessage::Back.encode(), None).is_ok(),
        }
    }

    /// Keeps the connection of a process that cannot go on, so that `abort_job` can end the job over it.
    pub fn keep_for_abort(self) {
        let _ = ABORT_TARGET.set(AbortTarget::Connection(self));
    }

    /// Returns whether this process is the one that attached, not a fork of it.
    pub fn is_attached_process(&self) -> bool {
        host::pid() == self.pid
    }

    /// Ends the whole job with `code`, from a forked child too. The launcher prints `text`, one line with the cause,
    /// with rank and host.
    pub fn abort(&self, code: i32, text: &str) -> ! {
        let child = format!(" (in process {}, a forked child)", host::pid());
        let text = format!("{text}{}", if self.is_attached_process() { "" } else { &child });
        let is_notified = self.connection.as_ref().is_some_and(|lifeline| {
            lifeline.send(&AgentMessage::Abort { code, text: text.clone() }.encode(), None).is_ok()
        });
        if is_notified {
            // The agent ends this process at once. The sleep is bounded in case the agent is stopped or gone.
            host::sleep_ms(2000);
        } else {
            host::print_error(&format!(
                "hawser: rank {} (pid {}) aborts with code {code}: {text}",
                self.identity.rank,
                host::pid()
            ));
        }
        host::exit_now(exit_code(code))
    }
}

/// The exit code of a process that calls MPI_Abort with `code`: the low byte of `code`, as the system keeps no more,
/// but 1 if that byte is 0 and `code` is not.
pub fn exit_code(code: i32) -> i32 {
    match code & 0xff {
        0 if code != 0 => 1,
        low => low,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{JobSecret, PeerReachability};
    use hawser_os::memfd;
    use hawser_os::unix::SeqpacketListener;
    use std::os::fd::AsFd;
    use std::thread;
    use std::time::{Duration, Instant};

    /// An agent for one connection that replies with `reply`, and returns the rank's later messages. Its name must
    /// not be like those of real agents: a test of `ancestors` connects to all of those, and would be taken for the
    /// rank.
    fn agent(name: &str, reply: AgentMessage, with_segment: bool) -> thread::JoinHandle<Vec<AgentMessage>> {
        let listener = SeqpacketListener::bind(name).unwrap();
        thread::spawn(move || {
            let deadline = Instant::now() + Duration::from_secs(10);
            let connection = loop {
                match listener.accept().unwrap() {
                    Some(connection) => break connection,
                    None => assert!(Instant::now() < deadline, "no rank has connected"),
                }
            };
            let mut said = Vec::new();
            let mut bytes = [0; 256];
            while Instant::now() < deadline {
                match connection.receive(&mut bytes) {
                    Ok((0, _)) => return said,
                    Ok((len, _)) => said.push(AgentMessage::decode(&bytes[..len]).unwrap()),
                    Err(_) => continue,
                }
                if said.len() == 1 {
                    let memory = memfd::create(c"test", 4096).unwrap();
                    connection.send(&reply.encode(), with_segment.then(|| memory.as_fd())).unwrap();
                }
            }
            panic!("the rank has not left");
        })
    }

    fn environment(name: &str) -> impl Fn(&str) -> Option<String> {
        let text = AgentAddress { rank: 3, socket: name.into() }.encode();
        move |variable| (variable == ADDRESS_VARIABLE).then(|| text.clone())
    }

    #[test]
    fn a_rank_learns_who_it_is_and_says_when_it_leaves() {
        let name = format!("test-of-world-welcome-{}", host::pid());
        let facts = Welcome {
            rank: 3,
            size: 5,
            local_rank: 1,
            local_size: 2,
            appnum: 1,
            universe: 6,
            secret: JobSecret([9; 16]),
            ..Welcome::default()
        };
        let agent = agent(&name, AgentMessage::Welcome(facts), true);
        let mut world = attach_from(environment(&name), &JobSettings::new("0.1.0")).unwrap();
        let me = *world.identity();
        assert_eq!((me.rank, me.size, me.local_rank, me.local_size), (3, 5, 1, 2));
        assert_eq!((me.appnum, me.universe_size, world.is_alone()), (Some(1), 6, false));
        assert_eq!((me.secret, me.spans_hosts()), (JobSecret([9; 16]), true));
        world.publish(b"card").unwrap();
        let unanswered = PeerReachability { peer: 4, pairs: "eth0".into(), ..PeerReachability::default() };
        assert!(world.notify(Notification::Reachability(unanswered.clone())));
        assert!(world.take_segment().is_some() && world.take_segment().is_none());
        assert!(world.notify(Notification::Left) && world.notify(Notification::Back));
        drop(world);
        assert_eq!(
            agent.join().unwrap(),
            [
                AgentMessage::Hello { version: VERSION, rank: 3, settings: "0.1.0".into() },
                AgentMessage::BusinessCard(b"card".to_vec()),
                AgentMessage::Reachability(unanswered),
                AgentMessage::Finalize,
                AgentMessage::Back
            ]
        );
    }

    #[test]
    fn a_refusal_is_passed_on() {
        let name = format!("test-of-world-refused-{}", host::pid());
        let agent = agent(&name, AgentMessage::Refused("taken by process 9".into()), false);
        assert_eq!(
            attach_from(environment(&name), &JobSettings::default()).err().unwrap().cause(),
            "taken by process 9"
        );
        agent.join().unwrap();
    }

    #[test]
    fn an_agent_of_another_user_is_refused_and_roots_is_not() {
        assert!(check_agent_user(1000, 1000).is_ok() && check_agent_user(0, 1000).is_ok());
        for user in [0, 1001] {
            let cause = check_agent_user(1000, user).err().unwrap().cause().to_owned();
            assert!(cause.contains(&format!("as user {user} and mpiexec as user 1000")), "{cause}");
        }
    }

    #[test]
    fn a_missing_segment_and_a_missing_agent_are_explained() {
        let name = format!("test-of-world-nosegment-{}", host::pid());
        let agent = agent(&name, AgentMessage::Welcome(Welcome::default()), false);
        let text = attach_from(environment(&name), &JobSettings::default()).err().unwrap().cause().to_owned();
        assert!(text.contains("ulimit -n"), "{text}");
        agent.join().unwrap();
        let text = attach_from(environment(&name), &JobSettings::default()).err().unwrap().cause().to_owned();
        assert!(text.contains("cannot be reached") && text.contains("unset HAWSER_BOOT"), "{text}");
    }

    #[test]
    fn without_a_launcher_a_process_is_alone() {
        let world = attach_from(|_| None, &JobSettings::default()).unwrap();
        assert_eq!((*world.identity(), world.is_alone()), (Identity::alone(), true));
        assert!(attach_from(|v| (v == "PMI_SIZE").then(|| "2".into()), &JobSettings::default()).is_err());
    }

    #[test]
    fn an_abort_code_never_turns_into_success() {
        assert_eq!([0, 1, 255, 256, -1, 512 + 7].map(exit_code), [0, 1, 255, 1, 255, 7]);
    }
}
