//! The messages between a rank and the agent of its host, over a local socket that keeps message bounds.
//!
//! The rank sends Hello, and the agent replies with Welcome (with the segment's descriptor), Alone or Refused. After
//! Welcome the connection stays open for the rank's life; the rank sends BusinessCard, Reachability, Finalize, Back
//! or Abort on it. A tool (`hawser-info`) sends Inspect instead of Hello and gets Text until the end of the stream.
//! Decoding never trusts a length: a message that does not parse is `None`.

/// The version of the protocol, raised with every change. `Hello` begins with it in every version.
pub const VERSION: u32 = 9;

/// The environment variable with a rank's number and the socket of its agent: `VERSION:RANK:SOCKET`.
pub const ADDRESS_VARIABLE: &str = "HAWSER_BOOT";

/// The rank in the Hello of a process that has lost its environment: the agent finds the rank by the ancestors of the
/// process.
pub const LOST_RANK: u32 = u32::MAX;

/// The first argument of an agent, by which its descendants recognize it.
pub const AGENT_ARGUMENT: &str = "__agent";

/// The environment variable with the number of ranks that run this rank's program, for MPI_Info_create_env before
/// MPI_Init.
pub const PROGRAM_SIZE_VARIABLE: &str = "HAWSER_PROGRAM_SIZE";

/// The environment variables with the rank and the number of ranks, for scripts; every rank has them.
pub const RANK_VARIABLE: &str = "HAWSER_RANK";
pub const SIZE_VARIABLE: &str = "HAWSER_SIZE";

/// The environment variable with the bootstrap file, by which ranks that are started without a launcher find each
/// other. Each of these ranks also has its `RANK_VARIABLE` and `SIZE_VARIABLE`.
pub const BOOTSTRAP_FILE_VARIABLE: &str = "HAWSER_RENDEZVOUS";
/// The environment variable with the seconds that ranks without a launcher wait for each other.
pub const BOOTSTRAP_TIMEOUT_VARIABLE: &str = "HAWSER_RENDEZVOUS_S";

/// The time, in seconds, for which processes wait for each other: that of `BOOTSTRAP_TIMEOUT_VARIABLE`, at most
/// `max_s`, else `default_s`. The error is a line for the user.
pub fn bootstrap_timeout_s(
    environment: impl Fn(&str) -> Option<String>,
    default_s: u64,
    max_s: u64,
) -> Result<u64, String> {
    let Some(text) = environment(BOOTSTRAP_TIMEOUT_VARIABLE) else { return Ok(default_s) };
    let number = text.trim().parse().ok().filter(|number| (1..=max_s).contains(number));
    number.ok_or_else(|| {
        let name = BOOTSTRAP_TIMEOUT_VARIABLE;
        format!("{name} is {text}, and must be a number of seconds from 1 to {max_s}; unset it for {default_s}")
    })
}

/// The prefix of the names of all agents' sockets; a user's number, the job's name and a random number follow.
pub const SOCKET_PREFIX: &str = "hawser-";

/// The start of the text of an Abort that the program itself has requested by MPI_Abort.
pub const ABORT_CALLED: &str = "MPI_Abort was called";

/// The maximum length of a message, in bytes.
pub const MESSAGE_MAX: usize = 32 << 10;

/// The address of a rank's agent, with the rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentAddress {
    pub rank: u32,
    pub socket: String,
}

impl AgentAddress {
    pub fn encode(&self) -> String {
        format!("{VERSION}:{}:{}", self.rank, self.socket)
    }

    /// Decodes an address of this version; an error's text names the fault.
    pub fn decode(text: &str) -> Result<AgentAddress, String> {
        let wrong = || format!("{ADDRESS_VARIABLE}={text} was not set by Hawser's mpiexec; unset it to run alone");
        let mut fields = text.splitn(3, ':');
        let version: u32 = fields.next().and_then(|f| f.parse().ok()).ok_or_else(wrong)?;
        if version != VERSION {
            return Err(format!(
                "mpiexec uses version {version} of Hawser's bootstrap protocol, and this library uses version \
                 {VERSION}; use the mpiexec that was installed with the library"
            ));
        }
        let rank = fields.next().and_then(|f| f.parse().ok()).ok_or_else(wrong)?;
        let socket = fields.next().filter(|socket| !socket.is_empty()).ok_or_else(wrong)?;
        Ok(AgentAddress { rank, socket: socket.into() })
    }
}

/// The secret by which a rank proves that its frames on the network belong to this job: random bytes from the kernel
/// of mpiexec's host. mpiexec sends them over its channel to each agent, and each agent sends them over the local
/// socket to its ranks. They are never in an argument or a variable.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct JobSecret(pub [u8; 16]);

impl std::fmt::Debug for JobSecret {
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
    /// The number of this rank's program among mpiexec's `:`-separated programs (MPI_APPNUM).
    pub appnum: u32,
    /// The number of ranks of that program (`maxprocs` of MPI_INFO_ENV).
    pub program_size: u32,
    /// MPI_UNIVERSE_SIZE.
    pub universe: u32,
    /// All ranks of the host register for membarrier(2).
    pub membarrier: bool,
    /// All ranks of the host let their peers copy from their memory.
    pub process_vm: bool,
    pub secret: JobSecret,
}

/// A tool's request to an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InspectRequest {
    /// A report of what each rank does.
    Report,
    /// The counters of each rank.
    Stats,
}

/// A rank's report whether a peer on another host is reachable (dev-ether/src/unreachable.rs).
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct PeerReachability {
    pub peer: u32,
    /// No port of this rank can be paired with one of the peer's, so there is no path to try.
    pub has_no_port_pair: bool,
    /// A path to the peer was open before, and frames that were sent since then are not acknowledged.
    pub was_open: bool,
    /// The peer is reachable now: the earlier report is withdrawn.
    pub is_reachable: bool,
    /// A line for each pair of ports that was tried.
    pub pairs: String,
}

impl PeerReachability {
    /// Makes the report of a peer that is reachable again.
    pub fn reachable(peer: u32) -> PeerReachability {
        PeerReachability { peer, is_reachable: true, ..PeerReachability::default() }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgentMessage {
    /// `settings`: `JobSettings::text`, the settings that must be alike on all ranks.
    Hello {
        version: u32,
        rank: u32,
        settings: String,
    },
    Welcome(Welcome),
    Refused(String),
    /// The process is no rank: it is a program that a rank has started, and may run alone.
    Alone,
    /// The rank leaves in good order.
    Finalize,
    /// The rank, which had sent `Finalize`, is back with another session.
    Back,
    Abort {
        code: i32,
        text: String,
    },
    Inspect(InspectRequest),
    Text(String),
    /// The business card of this rank, for all ranks of the job.
    BusinessCard(Vec<u8>),
    Reachability(PeerReachability),
}

impl AgentMessage {
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut put = |kind: u8, words: &[u32], rest: &[u8]| {
            bytes.push(kind);
            words.iter().for_each(|word| bytes.extend(word.to_le_bytes()));
            // A cut text is better than no text; the cut may fall within a character, which the reader replaces.
            bytes.extend(&rest[..rest.len().min(MESSAGE_MAX - 64)]);
        };
        match self {
            AgentMessage::Hello { version, rank, settings: terms } => put(1, &[*version, *rank], terms.as_bytes()),
            AgentMessage::Welcome(w) => put(
                2,
                &[
                    w.rank,
                    w.size,
                    w.local_rank,
                    w.local_size,
                    w.appnum,
                    w.program_size,
                    w.universe,
                    u32::from(w.membarrier),
                    u32::from(w.process_vm),
                ],
                &w.secret.0,
            ),
            AgentMessage::Refused(text) => put(3, &[], text.as_bytes()),
            AgentMessage::Alone => put(11, &[], &[]),
            AgentMessage::Finalize => put(4, &[], &[]),
            AgentMessage::Back => put(10, &[], &[]),
            AgentMessage::Abort { code, text } => put(5, &[*code as u32], text.as_bytes()),
            AgentMessage::Inspect(what) => put(6, &[*what as u32], &[]),
            AgentMessage::Text(text) => put(7, &[], text.as_bytes()),
            AgentMessage::BusinessCard(bytes) => put(8, &[], bytes),
            AgentMessage::Reachability(PeerReachability {
                peer,
                has_no_port_pair: hopeless,
                was_open,
                is_reachable: answers,
                pairs,
            }) => {
                let words = [*peer, u32::from(*hopeless), u32::from(*was_open), u32::from(*answers)];
                put(9, &words, pairs.as_bytes())
            }
        }
        bytes
    }

    pub fn decode(bytes: &[u8]) -> Option<AgentMessage> {
        let (&kind, rest) = bytes.split_first()?;
        let word = |i: usize| Some(u32::from_le_bytes(rest.get(4 * i..4 * i + 4)?.try_into().ok()?));
        let text = |words: usize| Some(String::from_utf8_lossy(rest.get(4 * words..)?).into_owned());
        Some(match kind {
            1 => AgentMessage::Hello { version: word(0)?, rank: word(1)?, settings: text(2)? },
            2 => AgentMessage::Welcome(Welcome {
                rank: word(0)?,
                size: word(1)?,
                local_rank: word(2)?,
                local_size: word(3)?,
                appnum: word(4)?,
                program_size: word(5)?,
                universe: word(6)?,
                membarrier: word(7)? == 1,
                process_vm: word(8)? == 1,
                secret: JobSecret(rest.get(36..)?.try_into().ok()?),
            }),
            3 => AgentMessage::Refused(text(0)?),
            4 => AgentMessage::Finalize,
            11 => AgentMessage::Alone,
            10 => AgentMessage::Back,
            5 => AgentMessage::Abort { code: word(0)? as i32, text: text(1)? },
            6 => AgentMessage::Inspect(match word(0)? {
                0 => InspectRequest::Report,
                1 => InspectRequest::Stats,
                _ => return None,
            }),
            7 => AgentMessage::Text(text(0)?),
            8 => AgentMessage::BusinessCard(rest.to_vec()),
            9 => AgentMessage::Reachability(PeerReachability {
                peer: word(0)?,
                has_no_port_pair: word(1)? == 1,
                was_open: word(2)? == 1,
                is_reachable: word(3)? == 1,
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
            membarrier: true,
            process_vm: false,
            secret: JobSecret(*b"0123456789abcdef"),
        };
        for message in [
            AgentMessage::Hello { version: VERSION, rank: 7, settings: "0.1.0\nA=1".into() },
            AgentMessage::Hello { version: VERSION, rank: 7, settings: String::new() },
            AgentMessage::Welcome(welcome),
            AgentMessage::Refused("no room".into()),
            AgentMessage::Alone,
            AgentMessage::Finalize,
            AgentMessage::Back,
            AgentMessage::Abort { code: -5, text: "MPI_Abort".into() },
            AgentMessage::Inspect(InspectRequest::Report),
            AgentMessage::Inspect(InspectRequest::Stats),
            AgentMessage::Text(String::new()),
            AgentMessage::BusinessCard(vec![0xff; 256]),
            AgentMessage::Reachability(PeerReachability {
                peer: 7,
                has_no_port_pair: true,
                was_open: false,
                is_reachable: true,
                pairs: "eth0".into(),
            }),
            AgentMessage::Reachability(PeerReachability { peer: 7, ..PeerReachability::default() }),
        ] {
            let bytes = message.encode();
            assert_eq!(AgentMessage::decode(&bytes), Some(message));
        }
        assert_eq!(AgentMessage::decode(&[]), None);
        assert_eq!(AgentMessage::decode(&[99]), None);
        let bytes = AgentMessage::Welcome(welcome).encode();
        assert!((1..bytes.len()).all(|len| AgentMessage::decode(&bytes[..len]).is_none()));
    }

    #[test]
    fn a_text_is_cut_to_the_longest_message() {
        assert!(AgentMessage::Abort { code: 1, text: "x".repeat(1 << 20) }.encode().len() <= MESSAGE_MAX);
    }

    #[test]
    fn addresses_come_back_and_wrong_ones_say_why() {
        let address = AgentAddress { rank: 5, socket: "hawser-0-a:b".into() };
        assert_eq!(AgentAddress::decode(&address.encode()), Ok(address));
        let later = VERSION + 1;
        let refusal = AgentAddress::decode(&format!("{later}:1:x")).unwrap_err();
        assert!(refusal.contains(&format!("version {later}")), "{refusal}");
        let version = VERSION.to_string();
        for rest in ["", ":", ":2", ":2:", ":x:y"] {
            let text = version.clone() + rest;
            assert!(AgentAddress::decode(&text).unwrap_err().contains("unset it"), "{text}");
        }
        for text in ["", "x", "x:1:y"] {
            assert!(AgentAddress::decode(text).unwrap_err().contains("unset it"), "{text}");
        }
    }
}
