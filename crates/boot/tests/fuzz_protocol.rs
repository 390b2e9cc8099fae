//! Any bytes that a rank, an agent or a tool sends, and any text in the environment, either decode or do not.
//!
//! A message that decodes comes back the same when it is sent on, and takes no more memory than its bytes warrant.

use bolero::check;
use hawser_boot::foreign_launcher;
use hawser_boot::job_settings::{CommonSettings, JobSettings, RankSettings, SettingsCheck};
use hawser_boot::loaded_mpi;
use hawser_boot::pmi::{frame, message::Message, node_map};
use hawser_boot::protocol::{AgentAddress, AgentMessage, MESSAGE_MAX};
use std::path::Path;

/// Text that is no UTF-8 is three times as long when it is shown as such, and a text that grows is copied.
const MEMORY_PER_BYTE: u64 = 3 * 3;
/// A word of a frame is two texts, which take 48 bytes for three at least, and a list that grows is copied.
const FRAME_MEMORY_PER_BYTE: u64 = 64;

#[test]
fn messages() {
    check!().with_iterations(5000).for_each(|bytes| {
        let mut message = None;
        let memory = allocation_counter::measure(|| message = AgentMessage::decode(bytes));
        assert!(memory.bytes_max <= MEMORY_PER_BYTE * bytes.len() as u64, "{} bytes", memory.bytes_max);
        let Some(message) = message else { return };
        let sent = message.encode();
        assert!(sent.len() <= MESSAGE_MAX);
        // A text that has grown beyond a message is cut.
        if 3 * bytes.len() < MESSAGE_MAX - 64 {
            assert_eq!(AgentMessage::decode(&sent), Some(message));
        }
    });
}

/// Equal job settings are accepted, and two that differ are reported in one line.
#[test]
fn terms() {
    check!().with_iterations(5000).for_each(|bytes| {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let (first, second) = text.split_once('\0').unwrap_or((&text, &text));
        let party =
            |rank, text: &str| RankSettings { rank, host: "a".into(), settings: JobSettings::from_text(text.into()) };
        let mut agreed = CommonSettings::default();
        let verdict = agreed.check(party(0, first));
        assert_eq!(verdict, if first.is_empty() { SettingsCheck::Same } else { SettingsCheck::First });
        assert_eq!(agreed.check(party(1, first)), SettingsCheck::Same);
        if let SettingsCheck::Different(line) = agreed.check(party(2, second)) {
            assert!(first != second && !line.contains('\n'), "{line}");
        }
    });
}

#[test]
fn environment() {
    check!().with_iterations(5000).for_each(|bytes| {
        let text = String::from_utf8_lossy(bytes).into_owned();
        match AgentAddress::decode(&text) {
            Ok(address) => assert_eq!(AgentAddress::decode(&address.encode()), Ok(address)),
            Err(why) => assert!(!why.is_empty()),
        }
        // A number of processes above one is the only reason to refuse.
        let size = text.trim().parse().unwrap_or(1u64);
        assert_eq!(foreign_launcher::refuse(|_| Some(text.clone())).is_err(), size > 1);
    });
}

#[test]
fn names_of_libraries() {
    check!().with_iterations(5000).for_each(|bytes| {
        let name = String::from_utf8_lossy(bytes).into_owned();
        let is_mpi = loaded_mpi::is_mpi(Path::new(&name));
        let directory = Path::new("/usr/lib").join(&name);
        assert_eq!(loaded_mpi::is_mpi(&directory), is_mpi);
        assert!(!is_mpi || name.contains(".so"));
    });
}

/// A line of a PMI server that is a message is one again when it is sent on, and a map has a node for each rank.
#[test]
fn pmi_lines() {
    check!().with_iterations(5000).for_each(|bytes| {
        if let Some(message) = Message::decode(bytes)
            && let Some(line) = message.encode()
        {
            assert_eq!(Message::decode(&line), Some(message));
        }
        let text = String::from_utf8_lossy(bytes);
        if let Some(nodes) = node_map::parse(&text, 1000) {
            assert_eq!(nodes.len(), 1000);
        }
    });
}

/// The bytes of a server of PMI 2 are taken message by message, none before it is there as a whole. A message is the
/// same when it is sent on.
#[test]
fn pmi_frames() {
    check!().with_iterations(5000).for_each(|bytes| {
        let with_length = [format!("{:>6}", bytes.len()).as_bytes(), bytes].concat();
        if bytes.len() <= frame::RECEIVED_MAX && !bytes.is_empty() {
            assert_eq!(frame::take(&mut with_length[..with_length.len() - 1].to_vec()), Ok(None));
        }
        for bytes in [bytes, &with_length] {
            let (mut received, mut taken) = (bytes.to_vec(), Ok(None));
            let memory = allocation_counter::measure(|| taken = frame::take(&mut received));
            assert!(memory.bytes_max <= FRAME_MEMORY_PER_BYTE * bytes.len() as u64 + 512, "{} bytes", memory.bytes_max);
            assert!(bytes.ends_with(&received));
            let Ok(Some(message)) = taken else { continue };
            assert!(received.len() + 6 < bytes.len());
            if let Some(mut sent) = frame::encode(&message) {
                assert!(sent.len() <= frame::SENT_MAX);
                assert_eq!(frame::take(&mut sent), Ok(Some(message)));
            }
        }
    });
}
