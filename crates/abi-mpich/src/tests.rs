//! Tests the MPICH ABI's numbers against crates/abi/tables/mpich_constants.tsv, and the codec in both directions.

use super::*;
use hawser_abi::CHandle as _;
use hawser_base::{Class, handle, value};
use hawser_mpi::status::Status;
use std::collections::HashMap;

/// The table of this ABI's constants; a missing one ends the build of the tests.
const TABLE: &str = include_str!("../../abi/tables/mpich_constants.tsv");

/// The value and the kind of each constant, by name.
fn constants() -> HashMap<String, (i64, String)> {
    let rows = TABLE.lines().skip(1).map(|line| line.split('\t').collect::<Vec<_>>());
    let parsed = |r: Vec<&str>| Some((r[0].to_owned(), (r[1].split(' ').next()?.parse().ok()?, r[3].to_owned())));
    rows.filter_map(parsed).collect()
}

fn predefined() -> Vec<(&'static str, Handle, i64)> {
    fn kind<H: hawser_abi::CHandle>(all: &[(&'static str, Handle)], _: Option<H>) -> Vec<(&'static str, Handle, i64)> {
        let checked = |h: Handle| {
            assert_eq!(H::encode(h).decode(), Some(h));
            i64::from(H::encode(h).to_int())
        };
        all.iter().map(|&(name, h)| (name, h, checked(h))).collect()
    }
    let mut all = kind(handle::comm::ALL, None::<<MpichAbi as Abi>::Comm>);
    all.extend(kind(handle::group::ALL, None::<<MpichAbi as Abi>::Group>));
    all.extend(kind(handle::message::ALL, None::<<MpichAbi as Abi>::Message>));
    all.extend(kind(handle::info::ALL, None::<<MpichAbi as Abi>::Info>));
    all.extend(kind(handle::errhandler::ALL, None::<<MpichAbi as Abi>::Errhandler>));
    all.extend(kind(handle::op::ALL, None::<<MpichAbi as Abi>::Op>));
    all.extend(kind(handle::datatype::ALL, None::<<MpichAbi as Abi>::Datatype>));
    all.extend(kind(handle::mpich_datatype::ALL, None::<<MpichAbi as Abi>::Datatype>));
    all.extend(kind(handle::mpich_op::ALL, None::<<MpichAbi as Abi>::Op>));
    all.extend(kind(&[("MPI_WIN_NULL", Handle::NULL)], None::<<MpichAbi as Abi>::Win>));
    all.extend(kind(&[("MPI_FILE_NULL", Handle::NULL)], None::<<MpichAbi as Abi>::File>));
    all.extend(kind(&[("MPI_SESSION_NULL", Handle::NULL)], None::<<MpichAbi as Abi>::Session>));
    all.extend(kind(&[("MPI_REQUEST_NULL", Handle::NULL)], None::<<MpichAbi as Abi>::Request>));
    all.extend(handle::keyval::ALL.iter().map(|&(name, h)| (name, h, MpichAbi::keyval_out(h).into())));
    all
}

/// The constants that MPICH has and Hawser does not: those of the C++ bindings, which MPI-3.0 removed.
const NOT_OURS: [&str; 1] = ["MPIR_ERRORS_THROW_EXCEPTIONS"];

#[test]
fn every_predefined_handle_has_mpichs_value_and_round_trips() {
    let constants = constants();
    let ours: HashMap<_, _> = predefined().into_iter().map(|(name, _, value)| (name.to_owned(), value)).collect();
    let is_key = |name: &str, kind: &str| kind == "attribute key" && name != "MPI_BSEND_OVERHEAD";
    let theirs = constants.iter().filter(|(n, (_, k))| k.starts_with("handle:") || is_key(n, k));
    let theirs = theirs.filter(|(n, _)| !NOT_OURS.contains(&n.as_str()));
    let theirs: HashMap<_, _> = theirs.map(|(name, (value, _))| (name.clone(), *value)).collect();
    assert_eq!(ours, theirs);
}

#[test]
fn every_named_constant_translates_both_ways() {
    let constants = constants();
    for &(set, name, internal_value) in value::ALL {
        let abi_value = MpichAbi::value_out(set, internal_value);
        assert_eq!(i64::from(abi_value), constants[name].0, "{name}");
        assert_eq!(MpichAbi::value_in(set, abi_value), Some(internal_value), "{name}");
    }
    for &class in Class::ALL {
        let abi_value = MpichAbi::code_out(class as i32);
        assert_eq!(i64::from(abi_value), constants[class.name()].0, "{}", class.name());
        assert_eq!(MpichAbi::code_in(abi_value), Some(class as i32), "{}", class.name());
    }
}

#[test]
fn limits_and_sentinels_are_mpichs() {
    let constants = constants();
    let (s, l) = (MpichAbi::SENTINELS, MpichAbi::LIMITS);
    for (name, value) in [
        ("MPI_IN_PLACE", s.in_place),
        ("MPI_BUFFER_AUTOMATIC", s.buffer_automatic),
        ("MPI_STATUS_IGNORE", s.status_ignore),
        ("MPI_STATUSES_IGNORE", s.statuses_ignore),
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
        ("sizeof(MPI_Status)", size_of::<<MpichAbi as Abi>::Status>()),
        ("sizeof(handle)", size_of::<<MpichAbi as Abi>::Comm>()),
    ] {
        assert_eq!(value as isize as i64, constants[name].0, "{name}");
    }
}

#[test]
fn dynamic_handles_round_trip_and_their_integers_are_themselves() {
    for slot in [Handle::FIRST_DYNAMIC, 257, 4711, Handle::SLOTS - 1] {
        for generation in [0, 1, 63] {
            let handle = Handle::dynamic(slot, generation);
            let request = <MpichAbi as Abi>::Request::encode(handle);
            assert_eq!(request.decode(), Some(handle));
            // SAFETY: both are 32-bit integers in C (transparent).
            let bits: i32 = unsafe { std::mem::transmute(request) };
            assert_eq!(request.to_int(), bits, "c2f is the identity");
            assert_eq!(<MpichAbi as Abi>::Request::from_int(bits), request);
            assert_eq!(<MpichAbi as Abi>::Comm::from_int(bits).decode(), None, "another kind's handle");
            let file = <MpichAbi as Abi>::File::encode(handle);
            assert_eq!((file.decode(), <MpichAbi as Abi>::File::from_int(file.to_int())), (Some(handle), file));
            assert_eq!(MpichAbi::keyval_in(MpichAbi::keyval_out(handle)), Some(handle));
        }
    }
}

#[test]
fn what_is_no_handle_does_not_decode() {
    for value in
        [0, -1, 1, 0x4c00_0000, 0x4c00_0405 ^ 0x100, 0x0c00_0001, 0x8c00_0005_u32 as i32, 0x4400_0002, 0x4000_0000]
    {
        assert_eq!(<MpichAbi as Abi>::Datatype::from_int(value).decode(), None, "{value:#x}");
        assert_eq!(<MpichAbi as Abi>::Comm::from_int(value).decode(), None, "{value:#x}");
    }
}

#[test]
fn ranks_of_the_other_abi_do_not_pass() {
    assert_eq!(MpichAbi::rank_in(-2), value::ANY_SOURCE);
    assert!(![value::ANY_SOURCE, value::PROC_NULL, value::ROOT].contains(&MpichAbi::rank_in(-4)));
    assert_eq!((MpichAbi::rank_in(17), MpichAbi::rank_out(17)), (17, 17));
    assert_ne!(MpichAbi::tag_in(-2), value::ANY_TAG);
}

#[test]
fn flags_translate_one_by_one() {
    // The value is MPI_MODE_CREATE | MPI_MODE_WRONLY.
    assert_eq!(MpichAbi::value_in(value::Set::Amode, 1 | 4), Some(value::MODE_CREATE | value::MODE_WRONLY));
    assert_eq!(MpichAbi::value_out(value::Set::Amode, value::MODE_CREATE | value::MODE_WRONLY), 5);
    assert_eq!(MpichAbi::value_in(value::Set::Amode, 1 << 20), None);
}

#[test]
fn added_error_codes_come_after_lastcode() {
    let added = hawser_abi::errors::FIRST_USER_CODE + 3;
    assert_eq!(MpichAbi::code_out(added), 0x4000_0003);
    assert_eq!(MpichAbi::code_in(0x4000_0003), Some(added));
    assert_eq!(MpichAbi::code_in(82), None);
    assert_eq!(MpichAbi::code_out(hawser_abi::errors::LAST), 0x3fff_ffff);
}

#[test]
fn a_status_packs_the_cancelled_bit_under_the_counts_upper_half() {
    use hawser_abi::CStatus;
    let mut status = std::mem::MaybeUninit::<<MpichAbi as Abi>::Status>::uninit();
    let at = status.as_mut_ptr();
    // SAFETY: `at` is a status of five integers; every one that is read was written.
    unsafe {
        CStatus::set_error(at, 77);
        let written = Status { bytes: (5 << 40) + 1, cancelled: true, ..Status::PROC_NULL };
        hawser_abi::status::write::<MpichAbi>(at, &written);
        assert_eq!(*at.cast::<[i32; 5]>(), [1, 5 << 9 | 1, -1, -1, 77]);
        assert_eq!((CStatus::bytes(at), CStatus::cancelled(at)), ((5 << 40) + 1, true));
    }
}

#[test]
fn a_request_that_ended_where_it_began_travels_like_any_other() {
    for handle in [hawser_mpi::request::SENT, hawser_mpi::request::NOTHING_RECEIVED] {
        let request = <MpichAbi as Abi>::Request::encode(handle);
        assert_eq!(request.decode(), Some(handle));
        assert_ne!(request, <MpichAbi as Abi>::Request::encode(Handle::NULL));
        assert_eq!(<MpichAbi as Abi>::Request::from_int(request.to_int()), request);
    }
}
