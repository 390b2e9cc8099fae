//! hawser-info: prints what is installed and detected here, and the state and counters of running jobs.
#![forbid(unsafe_code)]

use clap::Parser;
use hawser_boot::protocol::InspectRequest;
use hawser_host::ways;
use hawser_launch::inspect::{self, AgentSocket};
use hawser_launch::{algorithms, info, methods};
use hawser_node::profile;
use hawser_os::cpus;
use std::io::{self, Write};
use std::process::exit;

/// The most ranks for which schedules are written: the algorithms of few and of many ranks differ no more beyond.
const MOST_RANKS: i64 = 65536;

/// Print Hawser's version, parameters and the properties of this host, or the state and counters of your running jobs.
#[derive(Parser)]
#[command(name = "hawser-info", version)]
struct InfoOptions {
    /// Print the counters of the ranks of running jobs
    #[arg(long)]
    stats: bool,
    /// Print which rank of running jobs waits in which call for which rank, and since when
    #[arg(long)]
    report: bool,
    /// Print the algorithms of collectives, and the one that a job of RANKS ranks uses for each message length
    #[arg(long, value_name = "RANKS", value_parser = clap::value_parser!(u32).range(1..=MOST_RANKS))]
    collectives: Option<u32>,
    /// Print how messages of each length go to a kind of peer: to the rank itself (self), to a rank of the same host
    /// (shm), of another host (ether), or to each kind (all, the default)
    #[arg(
        long,
        value_name = "PEER-KIND",
        num_args = 0..=1,
        default_missing_value = methods::ALL,
        value_parser = hawser_node::devices().chain([methods::ALL]).collect::<Vec<_>>(),
    )]
    methods: Option<String>,
    /// Also print by which launcher a program that is started in this program's place joins its job:
    /// srun hawser-info -v
    #[arg(short, long)]
    verbose: bool,
    /// Job, or process id of its mpiexec (default: all your jobs on this host)
    #[arg(value_name = "JOB|PID")]
    job: Option<String>,
}

fn main() {
    let options = InfoOptions::parse();
    if let Some(ranks) = options.collectives {
        return match algorithms::text(ranks, cpus::available() as u32) {
            Ok(text) => print(&text),
            Err(error) => fail(error.cause()),
        };
    }
    if let Some(kind) = options.methods {
        let ranks = cpus::available();
        return match methods::text(&kind, &hawser_host::facts::measure(ranks, false), ranks) {
            Ok(text) => print(&text),
            Err(error) => fail(error.cause()),
        };
    }
    if !options.stats && !options.report && options.job.is_none() {
        return match profile::find() {
            Ok(profile) => {
                print(&info::text(2, &profile));
                if options.verbose {
                    print(&ways::text(&|variable| std::env::var(variable).ok()));
                }
            }
            Err(error) => fail(error.cause()),
        };
    }
    let agents = inspect::select(inspect::agents(), options.job.as_deref());
    if agents.is_empty() {
        let which =
            options.job.map_or_else(|| "no job of yours runs".into(), |job| format!("no job {job} of yours runs"));
        eprintln!("hawser-info: {which} on this host");
        exit(1);
    }
    exit(i32::from(!print_replies(&agents, &options)));
}

/// Prints the replies of the jobs. Returns whether any job replies.
fn print_replies(agents: &[AgentSocket], options: &InfoOptions) -> bool {
    let mut wanted = Vec::new();
    wanted.extend((options.report || !options.stats).then_some(InspectRequest::Report));
    wanted.extend(options.stats.then_some(InspectRequest::Stats));
    let mut has_reply = false;
    for (agent, replies) in agents.iter().zip(inspect::query_all(agents, &wanted)) {
        print(&format!("job {}\n", agent.job));
        for reply in replies {
            match reply {
                Ok(text) => {
                    has_reply = true;
                    print(&text);
                }
                Err(error) => eprintln!("hawser-info: job {} does not answer: {error}", agent.job),
            }
        }
    }
    has_reply
}

fn fail(cause: &str) -> ! {
    eprintln!("hawser-info: {cause}");
    exit(1)
}

/// A reader that has gone away is not an error.
fn print(text: &str) {
    let mut out = io::stdout();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            fail(&format!("standard output cannot be written: {error}; send it elsewhere"));
        }
        _ => {}
    }
}
