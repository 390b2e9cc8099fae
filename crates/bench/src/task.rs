//! The tasks of a system and its answers, a line each: the protocol of all workers (`worker` here, worker/mpi.c).
//!
//! Used by `run`, which makes tasks, and `system`, which carries the lines.

use std::fmt;
use std::str::FromStr;

/// A pattern of messages, or a collective operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
#[value(rename_all = "lowercase")]
pub enum Pattern {
    /// There and back between two ranks
    PingPong,
    /// One way, 64 under way at once
    Stream,
    /// Both ways at once
    Bidirectional,
    /// One way, of as many pairs of ranks as there are
    Rate,
    /// One way, with a computation of twice the time between the beginning and the wait
    Overlap,
    Barrier,
    Bcast,
    Reduce,
    Allreduce,
    Allgather,
    Alltoall,
}

impl Pattern {
    /// The name, as curves have it.
    pub fn name(self) -> &'static str {
        match self {
            Pattern::PingPong => "pingpong",
            Pattern::Stream => "stream",
            Pattern::Bidirectional => "bidirectional",
            Pattern::Rate => "rate",
            Pattern::Overlap => "overlap",
            Pattern::Barrier => "barrier",
            Pattern::Bcast => "bcast",
            Pattern::Reduce => "reduce",
            Pattern::Allreduce => "allreduce",
            Pattern::Allgather => "allgather",
            Pattern::Alltoall => "alltoall",
        }
    }

    /// The pattern's name in a task: a rate is a stream of several pairs.
    fn word(self) -> &'static str {
        if self == Pattern::Rate { Pattern::Stream.name() } else { self.name() }
    }

    /// Whether all ranks take part at once.
    pub fn is_collective(self) -> bool {
        !matches!(self, Pattern::PingPong | Pattern::Stream | Pattern::Bidirectional | Pattern::Rate | Pattern::Overlap)
    }

    /// Whether it can be played with messages of this length: sums of 8-byte integers need a multiple of 8.
    pub fn takes(self, bytes: u64) -> bool {
        match self {
            Pattern::Barrier => bytes == 0,
            Pattern::Reduce | Pattern::Allreduce => bytes > 0 && bytes.is_multiple_of(8),
            _ => bytes > 0,
        }
    }
}

/// A task, as a line to a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Task {
    pub pattern: Pattern,
    pub bytes: u64,
    /// The number of messages, each there and back in a ping-pong; of operations in a collective pattern.
    pub count: u64,
    pub pairs: usize,
    /// Every byte is filled and compared; not to be timed.
    pub check: bool,
}

impl Task {
    /// The number of messages whose times, one after the other, make up the time of the play.
    pub fn messages(&self) -> u64 {
        match self.pattern {
            Pattern::PingPong => 2 * self.count,
            Pattern::Rate => self.count * self.pairs as u64,
            _ => self.count,
        }
    }
}

impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let purpose = if self.check { "check" } else { "time" };
        write!(f, "{} {} {} {} {purpose}", self.pattern.word(), self.bytes, self.count, self.pairs)
    }
}

impl FromStr for Task {
    type Err = String;

    fn from_str(line: &str) -> Result<Task, String> {
        let unread = || format!("no task: {line}");
        let [pattern, bytes, count, pairs, purpose] =
            line.split_whitespace().collect::<Vec<_>>().try_into().map_err(|_| unread())?;
        Ok(Task {
            pattern: <Pattern as clap::ValueEnum>::from_str(pattern, false).map_err(|_| unread())?,
            bytes: bytes.parse().map_err(|_| unread())?,
            count: count.parse().map_err(|_| unread())?,
            pairs: pairs.parse().map_err(|_| unread())?,
            check: purpose == "check",
        })
    }
}

/// The result of a task.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Played {
    pub seconds: f64,
    /// The CPU time of all ranks.
    pub cpu_s: f64,
    /// The part of a transfer that a computation hid.
    pub hidden: f64,
}

impl Played {
    /// The result of this end, with the CPU time of the other one added.
    pub fn with(self, other: &Played) -> Played {
        Played { cpu_s: self.cpu_s + other.cpu_s, ..self }
    }
}

/// An answer, as a line from a worker.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// Sent before it is ready: a parameter that may divide short messages from long ones, and its value, in bytes.
    Threshold {
        name: String,
        bytes: u64,
    },
    /// It is ready; with the number of its ranks and the version that it reports.
    Ready {
        ranks: usize,
        version: String,
    },
    Played(Played),
    /// It is still ready, but this was not played, or not right.
    Failed(String),
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Answer::Threshold { name, bytes } => write!(f, "threshold {name} {bytes}"),
            Answer::Ready { ranks, version } => write!(f, "ready {ranks} {version}"),
            Answer::Played(Played { seconds, cpu_s, hidden }) => {
                write!(f, "played {seconds:.9} {cpu_s:.6} {hidden:.4}")
            }
            Answer::Failed(cause) => write!(f, "failed {cause}"),
        }
    }
}

impl FromStr for Answer {
    type Err = String;

    fn from_str(line: &str) -> Result<Answer, String> {
        let unread = || format!("no answer: {line}");
        let (word, rest) = line.split_once(' ').ok_or_else(unread)?;
        let numbers = || rest.split(' ').map(|text| text.parse().ok()).collect::<Option<Vec<f64>>>();
        match word {
            "threshold" => {
                let (name, bytes) = rest.split_once(' ').ok_or_else(unread)?;
                Ok(Answer::Threshold { name: name.into(), bytes: bytes.parse().map_err(|_| unread())? })
            }
            "ready" => {
                let (ranks, version) = rest.split_once(' ').ok_or_else(unread)?;
                let ranks = ranks.parse().map_err(|_| unread())?;
                Ok(Answer::Ready { ranks, version: version.trim().into() })
            }
            "played" => match numbers().as_deref() {
                Some(&[seconds, cpu_s, hidden]) => Ok(Answer::Played(Played { seconds, cpu_s, hidden })),
                _ => Err(unread()),
            },
            "failed" => Ok(Answer::Failed(rest.into())),
            _ => Err(unread()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_and_an_answer_are_read_as_they_were_written() {
        let task = Task { pattern: Pattern::PingPong, bytes: 4096, count: 77, pairs: 1, check: true };
        assert_eq!(task.to_string(), "pingpong 4096 77 1 check");
        assert_eq!(task.to_string().parse(), Ok(task));
        let answers = [
            Answer::Threshold { name: "btl_sm_eager_limit".into(), bytes: 4096 },
            Answer::Ready { ranks: 2, version: "MPICH Version: 5.0.2".into() },
            Answer::Played(Played { seconds: 0.25, cpu_s: 0.5, hidden: 1.0 }),
            Answer::Failed("rank 1: byte 7 of message 0 of rank 0 is 3, not 4".into()),
        ];
        for answer in answers {
            assert_eq!(answer.to_string().parse(), Ok(answer));
        }
    }

    #[test]
    fn a_line_of_somebody_else_is_no_answer() {
        for line in [
            "",
            "played",
            "played 1 2",
            "played 1 x 2",
            "ready",
            "ready 2",
            "threshold x",
            "threshold x y",
            "WARNING: no network",
        ] {
            assert!(line.parse::<Answer>().is_err(), "{line}");
        }
    }

    #[test]
    fn a_rate_is_a_stream_of_pairs_and_a_round_trip_two_messages() {
        let task = |pattern| Task { pattern, bytes: 8, count: 100, pairs: 3, check: false };
        assert_eq!(task(Pattern::Rate).to_string(), "stream 8 100 3 time");
        assert_eq!(task(Pattern::Rate).messages(), 300);
        assert_eq!(task(Pattern::PingPong).messages(), 200);
        assert_eq!(task(Pattern::Bcast).messages(), 100);
    }
}
