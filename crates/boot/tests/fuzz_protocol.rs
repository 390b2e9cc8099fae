//! Any bytes that a rank, an agent or a tool sends, and any text in the environment, either decode or do not.
//!
//! A message that decodes comes back the same when it is sent on, and takes no more memory than its bytes warrant.

use bolero::check;
use hawser_boot::foreign;
use hawser_boot::mapped;
use hawser_boot::protocol::{Address, MESSAGE_MAX, Message};
use hawser_boot::terms::{Agreed, JobTerms, Party, Verdict};
use std::path::Path;

/// Text that is no UTF-8 is three times as long when it is shown as such, and a text that grows is copied.
const MEMORY_PER_BYTE: u64 = 3 * 3;

#[test]
fn messages() {
    check!().with_iterations(5000).for_each(|bytes| {
        let mut message = None;
        let memory = allocation_counter::measure(|| message = Message::decode(bytes));
        assert!(memory.bytes_max <= MEMORY_PER_BYTE * bytes.len() as u64, "{} bytes", memory.bytes_max);
        let Some(message) = message else { return };
        let sent = message.encode();
        assert!(sent.len() <= MESSAGE_MAX);
        // A text that has grown beyond a message is cut.
        if 3 * bytes.len() < MESSAGE_MAX - 64 {
            assert_eq!(Message::decode(&sent), Some(message));
        }
    });
}

/// The same terms go together, and two that do not are reported in one line.
#[test]
fn terms() {
    check!().with_iterations(5000).for_each(|bytes| {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let (first, second) = text.split_once('\0').unwrap_or((&text, &text));
        let party = |rank, text: &str| Party { rank, host: "a".into(), terms: JobTerms::from_text(text.into()) };
        let mut agreed = Agreed::default();
        let verdict = agreed.judge(party(0, first));
        assert_eq!(verdict, if first.is_empty() { Verdict::Alike } else { Verdict::First });
        assert_eq!(agreed.judge(party(1, first)), Verdict::Alike);
        if let Verdict::Unlike(line) = agreed.judge(party(2, second)) {
            assert!(first != second && !line.contains('\n'), "{line}");
        }
    });
}

#[test]
fn environment() {
    check!().with_iterations(5000).for_each(|bytes| {
        let text = String::from_utf8_lossy(bytes).into_owned();
        match Address::decode(&text) {
            Ok(address) => assert_eq!(Address::decode(&address.encode()), Ok(address)),
            Err(why) => assert!(!why.is_empty()),
        }
        // A number of processes above one is the only reason to refuse.
        let size = text.trim().parse().unwrap_or(1u64);
        assert_eq!(foreign::refuse(|_| Some(text.clone())).is_err(), size > 1);
    });
}

#[test]
fn names_of_libraries() {
    check!().with_iterations(5000).for_each(|bytes| {
        let name = String::from_utf8_lossy(bytes).into_owned();
        let is_mpi = mapped::is_mpi(Path::new(&name));
        let directory = Path::new("/usr/lib").join(&name);
        assert_eq!(mapped::is_mpi(&directory), is_mpi);
        assert!(!is_mpi || name.contains(".so"));
    });
}
