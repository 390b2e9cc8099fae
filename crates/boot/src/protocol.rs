//! The messages between a rank and the agent of its host, over a local socket that keeps message bounds.
//!
//! The rank sends Hello, the agent replies with Welcome (with the segment's descriptor beside it), Alone or Refused.
//! The connection then stays open for the rank's life; the rank sends Card, Unanswered, Finalize, Back or Abort on it.
//! A tool (`hawser-info`) sends Inspect instead of Hello and gets Text until the end of the stream. Decoding never
//! trusts a length: a message that does not parse is `None`.

/// Raised with every change; `Hello` begins with it in every version.
pub const VERSION: u32 = 8;

/// The environment variable with a rank's number and the socket of its agent: `VERSION:RANK:SOCKET`.
pub const ADDRESS_VARIABLE: &str = "HAWSER_BOOT";

/// The rank in the Hello of a process that has lost its environment: the agent finds it by the process's parents.
pub const LOST_RANK: u32 = u32::MAX;

/// The first argument of an agent, by which its descendants recognize it.
pub const AGENT_ARGUMENT: &str = "__agent";

/// The environment variable with the number of ranks that run this rank's program, for MPI_Info_create_env before
/// MPI_Init.
pub const PROGRAM_SIZE_VARIABLE: &str = "HAWSER_PROGRAM_SIZE";

/// The environment variables from which a script may read the rank that it is started for; every rank has them.
pub const RANK_VARIABLE: &str = "HAWSER_RANK";
pub const SIZE_VARIABLE: &str = "HAWSER_SIZE";

/// The file by which ranks meet that are started without a launcher, each with its `RANK_VARIABLE` and `SIZE_VARIABLE`.
pub const RENDEZVOUS_VARIABLE: &str = "HAWSER_RENDEZVOUS";
/// The environment variable with the seconds that they wait for each other.
pub const PATIENCE_VARIABLE: &str = "HAWSER_RENDEZVOUS_S";

/// The prefix of the names of all agents' sockets; a user's number and the job's name follow.
pub const SOCKET_PREFIX: &str = "hawser-";

/// The start of the text of an Abort that the program itself has requested by MPI_Abort.
pub const ABORT_CALLED: &str = "MPI_Abort was called";

/// The longest message.
pub const MESSAGE_MAX: usize = 32 << 10;

/// The address of a rank's agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    pub rank: u32,
    pub socket: String,
}

impl Address {
    pub fn encode(&self) -> String {
        format!("{VERSION}:{}:{}", self.rank, self.socket)
    }

    /// Decodes an address of this version; an error's text names the fault.
    pub fn decode(text: &str) -> Result<Address, String> {
        let wrong = || format!("{ADDRESS_VARIABLE}={text} was not set by an mpiexec of Hawser; unset it to run alone");
        let mut fields = text.splitn(3, ':');
        let version: u32 = fields.next().and_then(|f| f.parse().ok()).ok_or_else(wrong)?;
        if version != VERSION {
            return Err(format!(
                "mpiexec speaks version {version} of Hawser's boot protocol, this library version {VERSION}; \
                 use the mpiexec that was installed with the library"
            ));
        }
        let rank = fields.next().and_then(|f| f.parse().ok()).ok_or_else(wrong)?;
        let socket = fields.next().filter(|socket| !socket.is_empty()).ok_or_else(wrong)?;
        Ok(Address { rank, socket: socket.into() })
    }
}

/// The proof that a frame on the network is of this job: random bytes of mpiexec's kernel. They travel in mpiexec's
/// channel to each agent and from there over the local socket to each rank, never in an argument or a variable.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Secret(pub [u8; 16]);

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}

/// The agent's information for a rank about itself and its job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Welcome {
    pub rank: u32,
    pub size: u32,
    pub local_rank: u32,
    pub local_size: u32,
    /// Which of mpiexec's `:`-separated programs this is (MPI_APPNUM).
    pub appnum: u32,
    /// The number of ranks of that program (`maxprocs` of MPI_INFO_ENV).
    pub program_size: u32,
    /// MPI_UNIVERSE_SIZE.
    pub universe: u32,
    /// The number of ranks on the host of the job that has the most.
    pub widest_host: u32,
    /// All ranks of the host register for membarrier(2).
    pub membarrier: bool,
    /// All ranks of the host let their peers copy from their memory.
    pub process_vm: bool,
    pub secret: Secret,
}

/// A tool's request to an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inspect {
    /// A report of what each rank does.
    Report,
    /// The counters of each rank.
    Stats,
}

/// A rank's report of its paths to a peer on another host (dev-ether/src/unanswered.rs).
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Unanswered {
    pub peer: u32,
    /// No port of ours goes with one of the peer's: there is nothing to try.
    pub hopeless: bool,
    /// It has answered before; what was sent since then is not acknowledged.
    pub was_open: bool,
    /// It answers now: the earlier report is taken back.
    pub answers: bool,
    /// A line for each pair of ports that was tried.
    pub pairs: String,
}

impl Unanswered {
    /// The peer answers now.
    pub fn answered(peer: u32) -> Unanswered {
        Unanswered { peer, answers: true, ..Unanswered::default() }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// `terms`: `JobTerms::text`, the settings that must be alike on all ranks.
    Hello {
        version: u32,
        rank: u32,
        terms: String,
    },
    Welcome(Welcome),
    Refused(String),
    /// The process is no rank but a program that one has started: it may run alone.
    Alone,
    /// The rank leaves in good order.
    Finalize,
    /// It is back after that, with another session.
    Back,
    Abort {
        code: i32,
        text: String,
    },
    Inspect(Inspect),
    Text(String),
    /// The business card of this rank, for all ranks of the job.
    Card(Vec<u8>),
    Unanswered(Unanswered),
}

impl Message {
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut put = |kind: u8, words: &[u32], rest: &[u8]| {
            bytes.push(kind);
            words.iter().for_each(|word| bytes.extend(word.to_le_bytes()));
            // A cut text is better than none; the cut may fall within a character, which the reader replaces.
            bytes.extend(&rest[..rest.len().min(MESSAGE_MAX - 64)]);
        };
        match self {
            Message::Hello { version, rank, terms } => put(1, &[*version, *rank], terms.as_bytes()),
            Message::Welcome(w) => put(
                2,
                &[
                    w.rank,
                    w.size,
                    w.local_rank,
                    w.local_size,
                    w.appnum,
                    w.program_size,
                    w.universe,
                    w.widest_host,
                    u32::from(w.membarrier),
                    u32::from(w.process_vm),
                ],
                &w.secret.0,
            ),
            Message::Refused(text) => put(3, &[], text.as_bytes()),
            Message::Alone => put(11, &[], &[]),
            Message::Finalize => put(4, &[], &[]),
            Message::Back => put(10, &[], &[]),
            Message::Abort { code, text } => put(5, &[*code as u32], text.as_bytes()),
            Message::Inspect(what) => put(6, &[*what as u32], &[]),
            Message::Text(text) => put(7, &[], text.as_bytes()),
            Message::Card(bytes) => put(8, &[], bytes),
            Message::Unanswered(Unanswered { peer, hopeless, was_open, answers, pairs }) => {
                let words = [*peer, u32::from(*hopeless), u32::from(*was_open), u32::from(*answers)];
                put(9, &words, pairs.as_bytes())
            }
        }
        bytes
    }

    pub fn decode(bytes: &[u8]) -> Option<Message> {
        let (&kind, rest) = bytes.split_first()?;
        let word = |i: usize| Some(u32::from_le_bytes(rest.get(4 * i..4 * i + 4)?.try_into().ok()?));
        let text = |words: usize| Some(String::from_utf8_lossy(rest.get(4 * words..)?).into_owned());
        Some(match kind {
            1 => Message::Hello { version: word(0)?, rank: word(1)?, terms: text(2)? },
            2 => Message::Welcome(Welcome {
                rank: word(0)?,
                size: word(1)?,
                local_rank: word(2)?,
                local_size: word(3)?,
                appnum: word(4)?,
                program_size: word(5)?,
                universe: word(6)?,
                widest_host: word(7)?,
                membarrier: word(8)? == 1,
                process_vm: word(9)? == 1,
                secret: Secret(rest.get(40..)?.try_into().ok()?),
            }),
            3 => Message::Refused(text(0)?),
            4 => Message::Finalize,
            11 => Message::Alone,
            10 => Message::Back,
            5 => Message::Abort { code: word(0)? as i32, text: text(1)? },
            6 => Message::Inspect(match word(0)? {
                0 => Inspect::Report,
                1 => Inspect::Stats,
                _ => return None,
            }),
            7 => Message::Text(text(0)?),
            8 => Message::Card(rest.to_vec()),
            9 => Message::Unanswered(Unanswered {
                peer: word(0)?,
                hopeless: word(1)? == 1,
                was_open: word(2)? == 1,
                answers: word(3)? == 1,
                pairs: text(4)?,
            }),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_back_as_sent_and_cut_ones_do_not_parse() {
        let welcome = Welcome {
            rank: 3,
            size: 70_000,
            local_rank: 1,
            local_size: 2,
            appnum: 1,
            program_size: 8,
            universe: 9,
            widest_host: 5,
            membarrier: true,
            process_vm: false,
            secret: Secret(*b"0123456789abcdef"),
        };
        for message in [
            Message::Hello { version: VERSION, rank: 7, terms: "0.1.0\nA=1".into() },
            Message::Hello { version: VERSION, rank: 7, terms: String::new() },
            Message::Welcome(welcome),
            Message::Refused("no room".into()),
            Message::Alone,
            Message::Finalize,
            Message::Back,
            Message::Abort { code: -5, text: "MPI_Abort".into() },
            Message::Inspect(Inspect::Report),
            Message::Inspect(Inspect::Stats),
            Message::Text(String::new()),
            Message::Card(vec![0xff; 256]),
            Message::Unanswered(Unanswered {
                peer: 7,
                hopeless: true,
                was_open: false,
                answers: true,
                pairs: "eth0".into(),
            }),
            Message::Unanswered(Unanswered { peer: 7, ..Unanswered::default() }),
        ] {
            let bytes = message.encode();
            assert_eq!(Message::decode(&bytes), Some(message));
        }
        assert_eq!(Message::decode(&[]), None);
        assert_eq!(Message::decode(&[99]), None);
        let bytes = Message::Welcome(welcome).encode();
        assert!((1..bytes.len()).all(|len| Message::decode(&bytes[..len]).is_none()));
    }

    #[test]
    fn a_text_is_cut_to_the_longest_message() {
        assert!(Message::Abort { code: 1, text: "x".repeat(1 << 20) }.encode().len() <= MESSAGE_MAX);
    }

    #[test]
    fn addresses_come_back_and_wrong_ones_say_why() {
        let address = Address { rank: 5, socket: "hawser-0-a:b".into() };
        assert_eq!(Address::decode(&address.encode()), Ok(address));
        assert!(Address::decode("9:1:x").unwrap_err().contains("version 9"));
        let version = VERSION.to_string();
        for rest in ["", ":", ":2", ":2:", ":x:y"] {
            let text = version.clone() + rest;
            assert!(Address::decode(&text).unwrap_err().contains("unset it"), "{text}");
        }
        for text in ["", "x", "x:1:y"] {
            assert!(Address::decode(text).unwrap_err().contains("unset it"), "{text}");
        }
    }
}
