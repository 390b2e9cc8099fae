//! The names that performance variables had in version 0.1. A tool that looks up a variable by a former name gets the
//! variable, and one line on stderr tells the user its present name. Remove this file in the version after 0.2.
//!
//! Used by `pvar`.

use hawser_os::host;
use std::sync::Once;

/// The former name and the present name of each variable that was renamed.
pub const FORMER_NAMES: [(&str, &str); 23] = [
    ("messages_pushed_in_pieces", "messages_streamed_eagerly"),
    ("messages_that_answered_an_offer_rtr", "messages_sent_in_reply_to_an_rtr"),
    ("messages_sent_from_where_they_lay", "messages_sent_zerocopy"),
    ("offers_made_rtr", "rtrs_sent"),
    ("offers_refused_as_stale", "rtrs_refused_as_stale"),
    ("rendezvous_granted", "ctss_sent"),
    ("messages_that_waited_for_room", "messages_that_waited_for_the_device"),
    ("messages_that_came_before_their_receive", "unexpected_messages"),
    ("packets_that_fitted_nothing", "invalid_packets_dropped"),
    ("collective_steps_through_flags", "collective_steps_by_flags"),
    ("lane_locks_that_were_contended", "contended_lane_locks"),
    ("calls_of_the_helper", "wakeups_of_the_progress_thread"),
    ("frames_lost_and_sent_again", "frames_retransmitted"),
    ("questions_after_a_silence", "probes_sent"),
    ("connections_with_changed_bytes", "corrupted_connections"),
    ("connections_put_off", "connections_deferred"),
    ("messages_that_are_no_packets", "malformed_messages"),
    ("bytes_sent_by_further_flows", "bytes_sent_by_additional_flows"),
    ("frames_dropped_cut_off", "frames_dropped_with_a_wrong_length"),
    ("frames_dropped_that_came_again", "frames_dropped_as_duplicates"),
    ("frames_dropped_with_no_fragment", "frames_dropped_with_an_invalid_fragment"),
    ("frames_dropped_with_no_hello", "frames_dropped_with_an_invalid_hello"),
    ("frames_dropped_without_room", "frames_dropped_without_memory"),
];

/// Returns the present name of the variable that a tool looks up by `name`: `name` itself if it is not a former name.
/// The first call with a former name prints a line on stderr.
pub fn present_name(name: &[u8]) -> &[u8] {
    static REPORTED: Once = Once::new();
    let Some((former, present)) = FORMER_NAMES.iter().find(|(former, _)| former.as_bytes() == name) else {
        return name;
    };
    REPORTED.call_once(|| {
        host::print_error(&format!(
            "hawser: the performance variable {former} is now called {present}; the former names of counters work in \
             this version, and no longer in the next one (docs/hosts.md lists the names)"
        ));
    });
    present.as_bytes()
}
