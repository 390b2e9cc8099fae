//! Fuzzes the frames that arrive at a port while the doctor listens on it, and the lines with which a process on
//! another host replies.
//!
//! A frame that has its header is read as it was written, whatever follows; all others have none. Ports that are
//! trusted are those of a business card, one for one. Checks give results for any facts. There must never be a
//! panic. The program has no library, so its files are compiled here once more. The input is bytes of any kind,
//! also behind the magic number; tests `doctor::test_frame`, `protocol`, `ports` and `host_checks`.

use bolero::check;

#[allow(dead_code)]
#[path = "../src/doctor/check_result.rs"]
mod check_result;
#[allow(dead_code)]
#[path = "../src/doctor/facts.rs"]
mod facts;
#[path = "../src/doctor/host_checks.rs"]
mod host_checks;
#[allow(dead_code)]
#[path = "../src/net/addresses.rs"]
mod net;
#[allow(dead_code)]
#[path = "../src/doctor/ports.rs"]
mod ports;
#[allow(dead_code)]
#[path = "../src/doctor/protocol.rs"]
mod protocol;
#[allow(dead_code)]
#[path = "../src/doctor/test_frame.rs"]
mod test_frame;

use protocol::DoctorReply;
use test_frame::TestFrameHeader;

#[test]
fn any_frame_has_a_head_that_is_written_as_it_was_or_none() {
    check!().with_type().cloned().for_each(|(is_ours, bytes): (bool, Vec<u8>)| {
        let bytes = if is_ours { [b"Hdoc", bytes.as_slice()].concat() } else { bytes };
        let Some(head) = TestFrameHeader::parse(&bytes) else { return };
        let again = head.frame(bytes.len());
        assert_eq!((TestFrameHeader::parse(&again), &again[..11]), (Some(head), &bytes[..11]));
        // The byte between kind and number is not used.
        assert_eq!(&again[12..24], &bytes[12..24]);
    });
}

#[test]
fn any_answer_is_understood_or_refused() {
    check!().for_each(|line: &[u8]| match serde_json::from_slice(line) {
        Ok(DoctorReply::Ports(ends)) => {
            let Some(ports) = ports::RankPorts::of(0, ends) else { return };
            let own = ports.business_card.ports();
            assert_eq!(own.len(), ports.infos.len());
            for (own, told) in own.iter().zip(&ports.infos) {
                assert_eq!((usize::from(own.frame_max), own.rail), (told.frame_max, told.rail));
            }
        }
        Ok(DoctorReply::Facts(facts)) => {
            assert!(!check_result::run_checks(host_checks::CHECKS, &facts).is_empty());
        }
        _ => {}
    });
}
