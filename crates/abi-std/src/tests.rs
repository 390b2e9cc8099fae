//! Tests the standard ABI's numbers against crates/abi/tables/abi_constants.tsv, and the codec in both directions.

use super::*;
use hawser_abi::CHandle as _;
use hawser_base::{Class, handle, value};
use hawser_mpi::status::Status;
use std::collections::HashMap;

/// The table of this ABI's constants; a missing one ends the build of the tests.
const TABLE: &str = include_str!("../../abi/tables/abi_constants.tsv");

/// The value and the kind of each constant, by name.
fn constants() -> HashMap<String, (i64, String)> {
    let rows = TABLE.lines().skip(1).map(|line| line.split('\t').collect::<Vec<_>>());
    let parsed = |r: Vec<&str>| Some((r[0].to_owned(), (r[1].split(' ').next()?.parse().ok()?, r[3].to_owned())));
    rows.filter_map(parsed).collect()
}

/// The integer value of a C handle.
fn number(handle: impl hawser_abi::CHandle) -> i64 {
    handle.to_int().into()
}

fn predefined() -> Vec<(&'static str, Handle, i64)> {
    fn kind<H: hawser_abi::CHandle>(all: &[(&'static str, Handle)], _: Option<H>) -> Vec<(&'static str, Handle, i64)> {
        all.iter().map(|&(name, h)| (name, h, number(H::encode(h)))).collect()
    }
    let mut all = kind(handle::comm::ALL, None::<<StdAbi as Abi>::Comm>);
    all.extend(kind(handle::group::ALL, None::<<StdAbi as Abi>::Group>));
    all.extend(kind(handle::message::ALL, None::<<StdAbi as Abi>::Message>));
    all.extend(kind(handle::info::ALL, None::<<StdAbi as Abi>::Info>));
    all.extend(kind(handle::errhandler::ALL, None::<<StdAbi as Abi>::Errhandler>));
    all.extend(kind(handle::op::ALL, None::<<StdAbi as Abi>::Op>));
    all.extend(kind(handle::datatype::ALL, None::<<StdAbi as Abi>::Datatype>));
    all.extend(kind(&[("MPI_WIN_NULL", Handle::NULL)], None::<<StdAbi as Abi>::Win>));
    all.extend(kind(&[("MPI_FILE_NULL", Handle::NULL)], None::<<StdAbi as Abi>::File>));
    all.extend(kind(&[("MPI_SESSION_NULL", Handle::NULL)], None::<<StdAbi as Abi>::Session>));
    all.extend(kind(&[("MPI_REQUEST_NULL", Handle::NULL)], None::<<StdAbi as Abi>::Request>));
    all.extend(handle::keyval::ALL.iter().map(|&(name, h)| (name, h, StdAbi::keyval_out(h).into())));
    all
}

#[test]
fn every_predefined_handle_has_the_standards_value() {
    let constants = constants();
    let ours: HashMap<_, _> = predefined().into_iter().map(|(name, _, value)| (name.to_owned(), value)).collect();
    let is_key = |name: &str, kind: &str| kind == "attribute key" && name != "MPI_BSEND_OVERHEAD";
    let theirs = constants.iter().filter(|(n, (_, k))| k.starts_with("handle:") || is_key(n, k));
    let theirs: HashMap<_, _> = theirs.map(|(name, (value, _))| (name.clone(), *value)).collect();
    assert_eq!(ours, theirs);
}

#[test]
fn every_named_constant_has_the_standards_value() {
    let constants = constants();
    let mut seen = 0;
    for &(set, name, value) in value::ALL {
        assert_eq!(i64::from(StdAbi::value_out(set, value)), constants[name].0, "{name}");
        assert_eq!(StdAbi::value_in(set, value), Some(value), "{name}");
        seen += 1;
    }
    for &class in Class::ALL {
        assert_eq!(i64::from(StdAbi::code_out(class as i32)), constants[class.name()].0, "{}", class.name());
    }
    let kinds = ["int const", "thread level", "combiner", "typeclass", "mode flag", "MPI_T int const"];
    let theirs =
        constants.iter().filter(|(name, (_, k))| kinds.contains(&k.as_str()) && *name != "MPIX_TYPECLASS_LOGICAL");
    assert_eq!(seen, theirs.count(), "constants that Hawser does not know");
}

#[test]
fn limits_and_sentinels_are_the_standards() {
    let constants = constants();
    let (s, l) = (StdAbi::SENTINELS, StdAbi::LIMITS);
    for (name, value) in [
        ("MPI_IN_PLACE", s.in_place),
        ("MPI_BUFFER_AUTOMATIC", s.buffer_automatic),
        ("MPI_STATUS_IGNORE", s.status_ignore),
        ("MPI_STATUSES_IGNORE", s.statuses_ignore),
        ("MPI_UNWEIGHTED", s.unweighted),
        ("MPI_WEIGHTS_EMPTY", s.weights_empty),
        ("MPI_COMM_DUP_FN", s.dup_fn.unwrap()),
        ("MPI_MAX_PROCESSOR_NAME", l.processor_name),
        ("MPI_MAX_PORT_NAME", l.port_name),
        ("MPI_MAX_STRINGTAG_LEN", l.stringtag),
        ("MPI_MAX_PSET_NAME_LEN", l.pset_name),
        ("MPI_MAX_INFO_KEY", l.info_key),
        ("MPI_BSEND_OVERHEAD", l.bsend_overhead),
        ("MPI_MAX_LIBRARY_VERSION_STRING", hawser_abi::MAX_LIBRARY_VERSION_STRING),
        ("MPI_MAX_ERROR_STRING", hawser_abi::MAX_ERROR_STRING),
        ("MPI_MAX_OBJECT_NAME", hawser_abi::MAX_OBJECT_NAME),
        ("MPI_MAX_INFO_VAL", hawser_abi::MAX_INFO_VAL),
        ("MPI_MAX_DATAREP_STRING", hawser_abi::MAX_DATAREP_STRING),
        ("MPI_ERR_LASTCODE", hawser_abi::errors::LAST as usize),
        ("sizeof(MPI_Status)", size_of::<<StdAbi as Abi>::Status>()),
        ("sizeof(any handle)", size_of::<<StdAbi as Abi>::Comm>()),
    ] {
        assert_eq!(value as i64, constants[name].0, "{name}");
    }
}

#[test]
fn predefined_handles_round_trip_and_nothing_else_below_4096_decodes() {
    let known = predefined();
    for value in 0..4096 {
        let comm = <StdAbi as Abi>::Comm::from_int(value).decode();
        let datatype = <StdAbi as Abi>::Datatype::from_int(value).decode();
        let find = |all: &[(&str, Handle)], first: i64| {
            let named = known.iter().filter(|(name, ..)| all.iter().any(|(n, _)| n == name));
            named.into_iter().find(|(_, _, v)| *v == i64::from(value) && *v >= first).map(|(_, h, _)| *h)
        };
        assert_eq!(comm, find(handle::comm::ALL, 0x100), "{value:#x} as a communicator");
        assert_eq!(datatype, find(handle::datatype::ALL, 0x200), "{value:#x} as a datatype");
    }
    assert_eq!(<StdAbi as Abi>::Request::from_int(0).decode(), None, "zero is no handle");
}

#[test]
fn dynamic_handles_round_trip_through_a_c_int_and_are_of_one_kind() {
    for slot in [Handle::FIRST_DYNAMIC, 257, 4711, Handle::SLOTS - 1] {
        for generation in [0, 1, 63] {
            let handle = Handle::dynamic(slot, generation);
            let comm = <StdAbi as Abi>::Comm::encode(handle);
            assert_eq!(comm.decode(), Some(handle));
            assert!(comm.to_int() >= 4096, "positive and not predefined");
            assert_eq!(<StdAbi as Abi>::Comm::from_int(comm.to_int()), comm);
            assert_eq!(<StdAbi as Abi>::Datatype::from_int(comm.to_int()).decode(), None, "another kind's handle");
            assert_eq!(StdAbi::keyval_in(StdAbi::keyval_out(handle)), Some(handle));
        }
    }
}

#[test]
fn a_wrong_constant_is_refused() {
    assert_eq!(StdAbi::value_in(value::Set::ThreadLevel, 3), None);
    assert_eq!(StdAbi::value_in(value::Set::Amode, value::MODE_CREATE | value::MODE_WRONLY), Some(258));
    assert_eq!(StdAbi::value_in(value::Set::Amode, 1 << 20), None);
    assert_eq!(StdAbi::code_in(9999), None);
    assert_eq!(StdAbi::keyval_in(500), None);
}

#[test]
fn a_status_keeps_large_counts_and_leaves_the_error_alone() {
    use hawser_abi::CStatus;
    let mut status = std::mem::MaybeUninit::<<StdAbi as Abi>::Status>::uninit();
    let at = status.as_mut_ptr();
    // SAFETY: `at` is a status; every field that is read was written.
    unsafe {
        CStatus::set_error(at, 77);
        let written = Status { source: 3, tag: 9, error: None, bytes: (5 << 40) + 1, cancelled: true };
        hawser_abi::status::write::<StdAbi>(at, &written);
        assert_eq!((CStatus::source(at), CStatus::tag(at), CStatus::error(at)), (3, 9, 77));
        assert_eq!((CStatus::bytes(at), CStatus::cancelled(at)), ((5 << 40) + 1, true));
    }
}

#[test]
fn a_request_that_ended_where_it_began_travels_like_any_other() {
    for handle in [hawser_mpi::request::SENT, hawser_mpi::request::NOTHING_RECEIVED] {
        let request = <StdAbi as Abi>::Request::encode(handle);
        assert_eq!(request.decode(), Some(handle));
        assert_ne!(request, <StdAbi as Abi>::Request::encode(Handle::NULL));
        assert_eq!(<StdAbi as Abi>::Request::from_int(request.to_int()), request);
    }
}
