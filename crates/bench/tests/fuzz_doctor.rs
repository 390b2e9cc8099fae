//! Fuzzes the frames that arrive at a port while the doctor listens on it, and the lines with which a process on
//! another host answers.
//!
//! A frame that has its head is read as it was written, whatever follows; all others have none. Ports that are trusted
//! are those of a business card, one for one. Examinations give results for any facts. There must never be a panic. The
//! program has no library, so its files are compiled here once more. The input is bytes of any kind, also behind the
//! magic number; tests `doctor::frame`, `orders`, `ports` and `machine`.

use bolero::check;

#[allow(dead_code)]
#[path = "../src/doctor/facts.rs"]
mod facts;
#[allow(dead_code)]
#[path = "../src/doctor/finding.rs"]
mod finding;
#[allow(dead_code)]
#[path = "../src/doctor/frame.rs"]
mod frame;
#[allow(dead_code)]
#[path = "../src/hex.rs"]
mod hex;
#[path = "../src/doctor/machine.rs"]
mod machine;
#[allow(dead_code)]
#[path = "../src/net/addresses.rs"]
mod net;
#[allow(dead_code)]
#[path = "../src/doctor/orders.rs"]
mod orders;
#[allow(dead_code)]
#[path = "../src/doctor/ports.rs"]
mod ports;

use frame::Head;
use orders::Reply;

#[test]
fn any_frame_has_a_head_that_is_written_as_it_was_or_none() {
    check!().with_type().cloned().for_each(|(is_ours, bytes): (bool, Vec<u8>)| {
        let bytes = if is_ours { [b"Hdoc", bytes.as_slice()].concat() } else { bytes };
        let Some(head) = Head::of(&bytes) else { return };
        let again = head.frame(bytes.len());
        assert_eq!((Head::of(&again), &again[..11]), (Some(head), &bytes[..11]));
        // The byte between kind and number is not used.
        assert_eq!(&again[12..24], &bytes[12..24]);
    });
}

#[test]
fn any_answer_is_understood_or_refused() {
    check!().for_each(|line: &[u8]| match serde_json::from_slice(line) {
        Ok(Reply::Ports(ends)) => {
            let Some(ports) = ports::Ports::of(0, ends) else { return };
            let own = ports.card.ends();
            assert_eq!(own.len(), ports.ends.len());
            for (own, told) in own.iter().zip(&ports.ends) {
                assert_eq!((usize::from(own.frame_max), own.rail), (told.frame_max, told.rail));
            }
        }
        Ok(Reply::Facts(facts)) => {
            assert!(!finding::examine(machine::EXAMINATIONS, &facts).is_empty());
        }
        _ => {}
    });
}
