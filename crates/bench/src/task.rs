//! The tasks of a system and its replies, a line each: the protocol of all workers (`worker` here, worker/mpi.c).
//!
//! Used by `run`, which makes tasks, and `measured_system`, which carries the lines.

use hawser_node::ReceivedBytes;
use std::fmt;
use std::str::FromStr;

/// A pattern of messages, or a collective operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
#[value(rename_all = "lowercase")]
pub enum TrafficPattern {
    /// A message to another rank and back
    PingPong,
    /// A ping-pong in which each receive is posted before its message is sent
    Posted,
    /// One direction, 64 messages in flight
    Stream,
    /// Both directions at the same time
    Bidirectional,
    /// One direction, `--pairs` pairs of ranks at the same time
    Rate,
    /// One direction, with a computation of twice the transfer time between start and wait
    Overlap,
    Barrier,
    Bcast,
    Reduce,
    Allreduce,
    Allgather,
    Alltoall,
}

impl TrafficPattern {
    /// The name, as curves have it.
    pub fn name(self) -> &'static str {
        match self {
            TrafficPattern::PingPong => "pingpong",
            TrafficPattern::Posted => "posted",
            TrafficPattern::Stream => "stream",
            TrafficPattern::Bidirectional => "bidirectional",
            TrafficPattern::Rate => "rate",
            TrafficPattern::Overlap => "overlap",
            TrafficPattern::Barrier => "barrier",
            TrafficPattern::Bcast => "bcast",
            TrafficPattern::Reduce => "reduce",
            TrafficPattern::Allreduce => "allreduce",
            TrafficPattern::Allgather => "allgather",
            TrafficPattern::Alltoall => "alltoall",
        }
    }

    /// The pattern's name in a task: a rate is a stream of several pairs.
    fn protocol_name(self) -> &'static str {
        if self == TrafficPattern::Rate { TrafficPattern::Stream.name() } else { self.name() }
    }

    /// Whether all ranks take part at once.
    pub fn is_collective(self) -> bool {
        !matches!(
            self,
            TrafficPattern::PingPong
                | TrafficPattern::Posted
                | TrafficPattern::Stream
                | TrafficPattern::Bidirectional
                | TrafficPattern::Rate
                | TrafficPattern::Overlap
        )
    }

    /// Whether the pattern can be measured with messages of this length: sums of 8-byte integers need a multiple of
    /// 8.
    pub fn accepts(self, bytes: u64) -> bool {
        match self {
            TrafficPattern::Barrier => bytes == 0,
            TrafficPattern::Reduce | TrafficPattern::Allreduce => bytes > 0 && bytes.is_multiple_of(8),
            _ => bytes > 0,
        }
    }
}

/// A task, as a line to a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkerTask {
    pub pattern: TrafficPattern,
    pub bytes: u64,
    /// The number of messages; in a ping-pong each goes there and back, and in a collective pattern it is the number
    /// of operations.
    pub count: u64,
    pub pairs: usize,
    /// Whether every byte is filled and compared; such a task is not to be timed.
    pub check: bool,
}

impl WorkerTask {
    /// The number by which the time of the task is divided for the time of one message: each message of a round trip
    /// counts, and the messages of all pairs.
    pub fn messages(&self) -> u64 {
        match self.pattern {
            TrafficPattern::PingPong | TrafficPattern::Posted => 2 * self.count,
            TrafficPattern::Rate => self.count * self.pairs as u64,
            _ => self.count,
        }
    }
}

impl fmt::Display for WorkerTask {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let purpose = if self.check { "check" } else { "time" };
        write!(f, "{} {} {} {} {purpose}", self.pattern.protocol_name(), self.bytes, self.count, self.pairs)
    }
}

impl FromStr for WorkerTask {
    type Err = String;

    fn from_str(line: &str) -> Result<WorkerTask, String> {
        let parse_error = || format!("not a task: {line}");
        let [pattern, bytes, count, pairs, purpose] =
            line.split_whitespace().collect::<Vec<_>>().try_into().map_err(|_| parse_error())?;
        Ok(WorkerTask {
            pattern: <TrafficPattern as clap::ValueEnum>::from_str(pattern, false).map_err(|_| parse_error())?,
            bytes: bytes.parse().map_err(|_| parse_error())?,
            count: count.parse().map_err(|_| parse_error())?,
            pairs: pairs.parse().map_err(|_| parse_error())?,
            check: purpose == "check",
        })
    }
}

/// The result of a task.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Measurement {
    pub seconds: f64,
    /// The CPU time of all ranks.
    pub cpu_s: f64,
    /// The part of a transfer that a computation hid.
    pub hidden: f64,
    /// The bytes that all ranks received; none if the system does not count them.
    pub received: ReceivedBytes,
}

impl Measurement {
    /// Returns the result of this end, with the CPU time of the other end added.
    pub fn with_cpu_of(self, other: &Measurement) -> Measurement {
        Measurement { cpu_s: self.cpu_s + other.cpu_s, ..self }
    }
}

/// A reply, as a line from a worker.
#[derive(Clone, Debug, PartialEq)]
pub enum WorkerReply {
    /// Sent before the worker is ready: a parameter that may divide short messages from long ones, and its value, in
    /// bytes.
    Threshold {
        name: String,
        bytes: u64,
    },
    /// The worker is ready; with the number of its ranks and the version that it reports.
    Ready {
        ranks: usize,
        version: String,
    },
    Measured(Measurement),
    /// The worker is still ready, but the task was not done, or bytes were wrong.
    Failed(String),
}

impl fmt::Display for WorkerReply {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            WorkerReply::Threshold { name, bytes } => write!(f, "threshold {name} {bytes}"),
            WorkerReply::Ready { ranks, version } => write!(f, "ready {ranks} {version}"),
            WorkerReply::Measured(Measurement { seconds, cpu_s, hidden, received }) => {
                let ReceivedBytes { all, posted, direct } = received;
                write!(f, "played {seconds:.9} {cpu_s:.6} {hidden:.4} {all} {posted} {direct}")
            }
            WorkerReply::Failed(cause) => write!(f, "failed {cause}"),
        }
    }
}

impl FromStr for WorkerReply {
    type Err = String;

    fn from_str(line: &str) -> Result<WorkerReply, String> {
        let parse_error = || format!("not a reply: {line}");
        let (keyword, rest) = line.split_once(' ').ok_or_else(parse_error)?;
        let numbers = || rest.split(' ').map(|text| text.parse().ok()).collect::<Option<Vec<f64>>>();
        match keyword {
            "threshold" => {
                let (name, bytes) = rest.split_once(' ').ok_or_else(parse_error)?;
                Ok(WorkerReply::Threshold { name: name.into(), bytes: bytes.parse().map_err(|_| parse_error())? })
            }
            "ready" => {
                let (ranks, version) = rest.split_once(' ').ok_or_else(parse_error)?;
                let ranks = ranks.parse().map_err(|_| parse_error())?;
                Ok(WorkerReply::Ready { ranks, version: version.trim().into() })
            }
            "played" => match numbers().as_deref() {
                Some(&[seconds, cpu_s, hidden, all, posted, direct]) => {
                    let [all, posted, direct] = [all, posted, direct].map(|bytes| bytes as u64);
                    let received = ReceivedBytes { all, posted, direct };
                    Ok(WorkerReply::Measured(Measurement { seconds, cpu_s, hidden, received }))
                }
                _ => Err(parse_error()),
            },
            "failed" => Ok(WorkerReply::Failed(rest.into())),
            _ => Err(parse_error()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_and_an_answer_are_read_as_they_were_written() {
        let task = WorkerTask { pattern: TrafficPattern::PingPong, bytes: 4096, count: 77, pairs: 1, check: true };
        assert_eq!(task.to_string(), "pingpong 4096 77 1 check");
        assert_eq!(task.to_string().parse(), Ok(task));
        let replies = [
            WorkerReply::Threshold { name: "btl_sm_eager_limit".into(), bytes: 4096 },
            WorkerReply::Ready { ranks: 2, version: "MPICH Version: 5.0.2".into() },
            WorkerReply::Measured(Measurement {
                seconds: 0.25,
                cpu_s: 0.5,
                hidden: 1.0,
                received: ReceivedBytes { all: 1 << 40, posted: 9, direct: 7 },
            }),
            WorkerReply::Failed("rank 1: byte 7 of message 0 of rank 0 is 3, not 4".into()),
        ];
        for reply in replies {
            assert_eq!(reply.to_string().parse(), Ok(reply));
        }
    }

    #[test]
    fn a_line_of_somebody_else_is_no_answer() {
        for line in [
            "",
            "played",
            "played 1 2",
            "played 1 2 3",
            "played 1 x 2",
            "ready",
            "ready 2",
            "threshold x",
            "threshold x y",
            "WARNING: no network",
        ] {
            assert!(line.parse::<WorkerReply>().is_err(), "{line}");
        }
    }

    #[test]
    fn a_rate_is_a_stream_of_pairs_and_a_round_trip_two_messages() {
        let task = |pattern| WorkerTask { pattern, bytes: 8, count: 100, pairs: 3, check: false };
        assert_eq!(task(TrafficPattern::Rate).to_string(), "stream 8 100 3 time");
        assert_eq!(task(TrafficPattern::Rate).messages(), 300);
        assert_eq!(task(TrafficPattern::PingPong).messages(), 200);
        assert_eq!(task(TrafficPattern::Bcast).messages(), 100);
    }
}
