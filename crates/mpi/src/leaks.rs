//! Objects that a program did not free before MPI_Finalize, which `HAWSER_CHECK` reports.
//!
//! Used by `env`; uses the tables of objects.

use crate::checking::is_enabled;
use crate::ops;
use crate::process::Process;
use crate::request::{Request, RequestKind, RequestState};
use crate::{errhandler, info, types};
use hawser_base::value::{ANY_SOURCE, ANY_TAG};

/// The number of names that the report lists for each kind of object; further objects are only counted.
const NAMES_LISTED: usize = 4;

/// Prints one line that lists the objects that the program has not freed, if HAWSER_CHECK is on and there are any.
pub fn report_leaks(process: &'static Process) {
    if !is_enabled() {
        return;
    }
    let leaks = [
        count_and_names("request", requests(process)),
        count_and_names("communicator", communicators(process)),
        count_and_names("datatype", types::live_names()),
        count_and_names("group", unnamed(process.groups().live().len())),
        count_and_names("operation", unnamed(ops::live_count())),
        count_and_names("info object", unnamed(info::live_count())),
        count_and_names("error handler", unnamed(errhandler::live_count())),
    ];
    let leaks: Vec<String> = leaks.into_iter().flatten().collect();
    if !leaks.is_empty() {
        let me = process.world().rank();
        hawser_os::host::print_error(&format!(
            "hawser: rank {me} called MPI_Finalize without freeing {} (HAWSER_CHECK)",
            leaks.join(", ")
        ));
    }
}

fn unnamed(count: usize) -> Vec<String> {
    vec![String::new(); count]
}

/// Describes the objects of one kind, as in `3 datatypes (cell; face; 1 more)`. None if there are none.
fn count_and_names(what: &str, names: Vec<String>) -> Option<String> {
    let count = names.len();
    if count == 0 {
        return None;
    }
    let mut named: Vec<String> = names.into_iter().filter(|name| !name.is_empty()).collect();
    let more = count - named.len().min(NAMES_LISTED);
    let plural = if count == 1 { "" } else { "s" };
    if named.is_empty() {
        return Some(format!("{count} {what}{plural}"));
    }
    named.truncate(NAMES_LISTED);
    if more > 0 {
        named.push(format!("{more} more"));
    }
    Some(format!("{count} {what}{plural} ({})", named.join("; ")))
}

fn communicators(process: &'static Process) -> Vec<String> {
    let comms = process.comms();
    comms.live().into_iter().filter_map(|handle| comms.get(handle)).map(|comm| comm.display_name()).collect()
}

fn requests(process: &'static Process) -> Vec<String> {
    let mut found = Vec::new();
    for lane in process.lanes().active() {
        let lane = process.lane(lane).enter();
        found.extend(lane.core.requests.iter().filter(|request| !request.freed).map(describe));
    }
    found
}

/// Describes a request, as in `a receive from rank 1, tag 7, MPI_COMM_WORLD`.
fn describe(request: &Request) -> String {
    let persistent = if request.data.persistent_op.is_some() { "persistent " } else { "" };
    let state =
        if matches!(request.state, RequestState::OpEnded(_) | RequestState::UserEnded(_)) { ", complete" } else { "" };
    let (rank, tag) = (request.data.rank, request.data.tag);
    let rank = if rank == ANY_SOURCE { "any rank".to_owned() } else { format!("rank {rank}") };
    let tag = if tag == ANY_TAG { "any tag".to_owned() } else { format!("tag {tag}") };
    let what = match request.data.kind {
        RequestKind::Send => format!("send to {rank}, {tag}"),
        RequestKind::Recv => format!("receive from {rank}, {tag}"),
        RequestKind::Collective => "collective".to_owned(),
        RequestKind::Compound => "operation".to_owned(),
        RequestKind::Grequest => "generalized request".to_owned(),
    };
    format!("a {persistent}{what}, {}{state}", request.data.comm.display_name())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_counted_and_named_as_far_as_it_has_names() {
        let names = |names: &[&str]| names.iter().map(|name| name.to_string()).collect::<Vec<_>>();
        assert_eq!(count_and_names("group", unnamed(0)), None);
        assert_eq!(count_and_names("group", unnamed(1)).unwrap(), "1 group");
        assert_eq!(count_and_names("datatype", names(&["cell"])).unwrap(), "1 datatype (cell)");
        assert_eq!(count_and_names("datatype", names(&["", "cell", ""])).unwrap(), "3 datatypes (cell; 2 more)");
        assert_eq!(
            count_and_names("request", names(&["a", "b", "c", "d", "e"])).unwrap(),
            "5 requests (a; b; c; d; 1 more)"
        );
    }
}
