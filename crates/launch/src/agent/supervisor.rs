//! The supervisor of an agent on another host. It is the agent's parent, as mpiexec is the parent of the agent on its
//! own host.
//!
//! A remote shell starts the supervisor, and the supervisor starts the agent, with the same streams. The supervisor
//! does three things: it writes heartbeats into the agent's output (`heartbeat`); when the agent is gone, or the
//! heartbeats can no longer be written, it ends every process below itself; and it returns the agent's exit code,
//! with a last line on its standard error if a signal has killed the agent. The agent, in turn, ends every process
//! below itself when its supervisor is gone.

use super::{KILL_LIMIT_MS, SUBCOMMAND as AGENT};
use crate::failure::{EXIT_FAILURE, EXIT_SIGNAL};
use crate::heartbeat;
use hawser_os::epoll::{Epoll, Interest};
use hawser_os::signals::{self, SIGCHLD, SIGHUP, SignalFd};
use hawser_os::spawn::{self, ExitStatus, Leads, Reaped, SpawnOptions};
use hawser_os::{clock, host, pipe, process_tree};
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

/// The subcommand by which a remote shell starts the supervisor.
pub const SUBCOMMAND: &str = "__guard";

/// Starts an agent, supervises it to its end and returns its exit code, or 128 plus the number of the signal that
/// killed it. Returns `EXIT_FAILURE` if heartbeats can no longer be written.
pub fn main(output: BorrowedFd) -> i32 {
    match serve(output) {
        Ok(ExitStatus::Exited(code)) => code,
        Ok(ExitStatus::Killed { signal, .. }) => EXIT_SIGNAL + signal,
        Err(error) => {
            eprintln!("mpiexec's agent cannot start: {error}");
            1
        }
    }
}

fn serve(output: BorrowedFd) -> io::Result<ExitStatus> {
    // mpiexec starts a remote shell so that the shell dies with mpiexec. A shell that runs this command on mpiexec's
    // own host may become this process by exec, and this process must not die before it has ended the agent.
    spawn::outlive_parent()?;
    spawn::become_subreaper();
    signals::restore_default(SIGCHLD);
    // SIGHUP is read, so that the processes below are ended before this one (`AgentContext::open`).
    let signals = SignalFd::block(&[SIGCHLD, SIGHUP])?;
    let mut epoll = Epoll::new()?;
    epoll.add(signals.as_fd(), 0, Interest::Read)?;
    let channel = output.try_clone_to_owned()?;
    pipe::set_nonblocking(channel.as_fd())?;
    let mut command = Command::new(host::program());
    command.arg0("mpiexec").args([AGENT, &host::pid().to_string()]);
    let spawn_options =
        SpawnOptions { mask: Some(signals.saved_mask()), leads: Leads::Group, ..SpawnOptions::default() };
    let agent = spawn::spawn(&mut command, spawn_options)?.id() as i32;
    let mut events = Vec::new();
    let mut last_ns = clock::now_ns();
    loop {
        epoll.wait(&mut events, Some(heartbeat::next_heartbeat_ms(last_ns)))?;
        if signals.drain(SIGHUP) {
            process_tree::kill_descendants(KILL_LIMIT_MS, |_, _| {});
            signals::die_of(SIGHUP);
        }
        while let Reaped::Ended(pid, end) = spawn::reap() {
            if pid == agent {
                process_tree::kill_descendants(KILL_LIMIT_MS, |_, _| {});
                report_end(agent, end);
                return Ok(end);
            }
        }
        if heartbeat::next_heartbeat_ms(last_ns) == 0 {
            last_ns = clock::now_ns();
            if !heartbeat::send_heartbeat(&channel) {
                // Unless the agent is stopped, it has noticed too that mpiexec is gone, and ends within
                // `KILL_LIMIT_MS`.
                if !process_tree::await_children(KILL_LIMIT_MS) {
                    process_tree::kill_descendants(KILL_LIMIT_MS, |_, _| {});
                }
                let _ = writeln!(io::stderr(), "the output of the agent there cannot be sent to mpiexec");
                return Ok(ExitStatus::Exited(EXIT_FAILURE));
            }
        }
    }
}

fn report_end(agent: i32, end: ExitStatus) {
    if let ExitStatus::Killed { signal, .. } = end {
        eprintln!("the agent (pid {agent}) was killed by signal {signal} ({})", signals::description(signal));
    }
}
