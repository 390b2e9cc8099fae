//! Whatever comes to a port while the doctor listens on it.
//!
//! What has its head is read as it was written, whatever stands behind; all else has none; never a panic. The program has no library,
//! so the frames are compiled here once more. Before it: bytes of any kind, also behind the magic word; after it: `doctor::frame`.

use bolero::check;

#[allow(dead_code)]
#[path = "../src/doctor/frame.rs"]
mod frame;

use frame::Head;

#[test]
fn any_frame_has_a_head_that_is_written_as_it_was_or_none() {
    check!().with_type().cloned().for_each(|(is_ours, bytes): (bool, Vec<u8>)| {
        let bytes = if is_ours { [b"Hdoc", bytes.as_slice()].concat() } else { bytes };
        let Some(head) = Head::of(&bytes) else { return };
        let again = head.frame(bytes.len());
        assert_eq!((Head::of(&again), &again[..11]), (Some(head), &bytes[..11]));
        // A byte between kind and number is nobody's.
        assert_eq!(&again[12..24], &bytes[12..24]);
    });
}
