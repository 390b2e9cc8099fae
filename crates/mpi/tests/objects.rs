//! Objects of a running process of one: error handlers, attributes of communicators and datatypes, memory.
//! A case that ends its process runs in a process of its own, this program started again.

use hawser_base::handle::{ObjectKind, comm, datatype, errhandler, keyval};
use hawser_base::{Class, Error, Handle, Peer, Peers};
use hawser_boot::job_settings::JobSettings;
use hawser_device::Loopback;
use hawser_host::join::{Joined, join};
use hawser_mpi::attributes::{self, CopyRule, DeleteRule};
use hawser_mpi::comm_attr::{self, AttributeValue, PredefinedAttribute};
use hawser_mpi::errhandler as objects;
use hawser_mpi::process::{self, ProcessParts};
use hawser_mpi::raise::{self as handlers, ErrorObject};
use hawser_mpi::{alloc, env, errors, info, init_state, types};
use hawser_p2p::counters::sleep_counters;
use hawser_p2p::matching;
use hawser_transport::{Fabric, WaitPolicy};
use std::process::Command;
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};
use std::sync::{Arc, Mutex, Once};

/// Makes this process a rank alone, once.
fn start() {
    static STARTED: Once = Once::new();
    STARTED.call_once(|| {
        let Joined { bootstrap: boot, segment, .. } = join(&JobSettings::default()).unwrap();
        let page = segment.rank(0);
        let fabric = Fabric::new(vec![Box::new(Loopback::new(Peer(0)))], &Peers::from_list(vec![Peer(0)])).unwrap();
        let limits = matching::ProtocolLimits {
            packet: 1024,
            eager: 4096,
            first: 1024,
            rtr_from: 4097,
            credit: 1 << 16,
            ..matching::ProtocolLimits::DEFAULT
        };
        let fabric = Box::leak(Box::new(fabric));
        let wait_policy =
            WaitPolicy::new(1, &page, Arc::new(|_| None), sleep_counters(&page.counters()), fabric).unwrap();
        let process =
            process::start(ProcessParts { boot, segment, fabric, limits: limits.into(), wait_policy, standby: None })
                .unwrap();
        env::init(process, hawser_base::value::THREAD_MULTIPLE).unwrap();
    });
}

fn error() -> Error {
    Error::new(Class::Rank, "rank 9 is outside 0..=0")
}

#[track_caller]
fn class<T>(result: hawser_base::Result<T>) -> Class {
    result.err().expect("it should have been refused").class()
}

/// Runs `case` (a test of this file that ends its process) and gives its exit code and what it printed.
fn in_own_process(case: &str) -> (Option<i32>, String) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    let output = command.args(["--exact", "--nocapture", case]).env("HAWSER_TEST_CASE", case).output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

fn is_own_process() -> bool {
    std::env::var_os("HAWSER_TEST_CASE").is_some()
}

fn the_line(text: &str) -> &str {
    let mut lines = text.lines().filter(|line| line.starts_with("hawser"));
    let line = lines.next().unwrap_or_else(|| panic!("no line of ours in: {text}"));
    assert_eq!(lines.next(), None, "more than one line: {text}");
    line
}

#[test]
fn the_default_handler_ends_the_process_with_one_line() {
    if is_own_process() {
        start();
        handlers::raise(&ErrorObject::Comm(comm::WORLD), "MPI_Send", &error());
        unreachable!("the handler returned");
    }
    let (code, text) = in_own_process("the_default_handler_ends_the_process_with_one_line");
    assert_eq!(code, Some(Class::Rank as i32));
    let line = the_line(&text);
    for part in ["rank 0", "MPI_Send failed on MPI_COMM_WORLD: MPI_ERR_RANK: rank 9 is outside 0..=0"] {
        assert!(line.contains(part), "{line}");
    }
}

#[test]
fn errors_abort_ends_the_process_too() {
    if is_own_process() {
        start();
        handlers::set(&ErrorObject::Comm(comm::SELF), errhandler::ERRORS_ABORT).unwrap();
        handlers::raise(&ErrorObject::Default, "MPI_Op_create", &error());
        unreachable!("the handler returned");
    }
    let (code, text) = in_own_process("errors_abort_ends_the_process_too");
    assert_eq!(code, Some(Class::Rank as i32));
    assert!(the_line(&text).contains("MPI_Op_create failed: MPI_ERR_RANK"), "{text}");
}

#[test]
fn a_call_before_mpi_init_ends_the_process() {
    if is_own_process() {
        let error = process::get().err().unwrap();
        handlers::raise(&ErrorObject::Comm(comm::WORLD), "MPI_Comm_rank", &error);
        unreachable!("the handler returned");
    }
    let (code, text) = in_own_process("a_call_before_mpi_init_ends_the_process");
    assert_eq!(code, Some(Class::Other as i32));
    assert!(the_line(&text).contains("MPI_Comm_rank failed: MPI_ERR_OTHER: called before MPI_Init"), "{text}");
}

#[test]
fn a_code_of_the_application_is_told_with_its_string() {
    if is_own_process() {
        start();
        let added = errors::add_class().unwrap();
        let code = errors::add_code(added).unwrap();
        errors::add_string(code, b"the mesh is torn").unwrap();
        handlers::call(&ErrorObject::Comm(comm::WORLD), "MPI_Comm_call_errhandler", code).unwrap();
        unreachable!("the handler returned");
    }
    let (_, text) = in_own_process("a_code_of_the_application_is_told_with_its_string");
    assert!(the_line(&text).contains("MPI_Comm_call_errhandler failed on MPI_COMM_WORLD: error code"), "{text}");
    assert!(text.contains("the mesh is torn"), "{text}");
}

#[test]
fn attributes_of_mpi_comm_self_are_deleted_first_when_mpi_ends() {
    if is_own_process() {
        start();
        for name in ["first", "second"] {
            let delete = move |object, _, _| {
                assert_eq!(object, comm::SELF);
                eprintln!("deleted {name}, initialised {}", process::get().is_ok());
                Ok(())
            };
            let key =
                comm_attr::create_keyval(ObjectKind::Comm, CopyRule::Null, DeleteRule::Call(Box::new(delete))).unwrap();
            comm_attr::comm_set(comm::SELF, key, 1).unwrap();
        }
        assert!(env::finalize().unwrap().is_none());
        assert!(init_state::was_finalized());
        return;
    }
    let (code, text) = in_own_process("attributes_of_mpi_comm_self_are_deleted_first_when_mpi_ends");
    assert_eq!(code, Some(0), "{text}");
    let deleted: Vec<_> = text.lines().filter(|line| line.starts_with("deleted")).collect();
    assert_eq!(deleted, ["deleted second, initialised true", "deleted first, initialised true"]);
}

#[test]
fn handlers_are_set_got_called_and_freed() {
    if !is_own_process() {
        let (code, text) = in_own_process("handlers_are_set_got_called_and_freed");
        return assert_eq!(code, Some(0), "{text}");
    }
    start();
    let world = ErrorObject::Comm(comm::WORLD);
    assert_eq!(handlers::get(&world).unwrap(), errhandler::ERRORS_ARE_FATAL);
    handlers::set(&world, errhandler::ERRORS_RETURN).unwrap();
    assert_eq!(handlers::raise(&world, "MPI_Send", &error()), Class::Rank as i32);

    let seen = Arc::new(Mutex::new(Vec::new()));
    let seen_clone = seen.clone();
    let function = Box::new(move |object, code| {
        // MPI may be called in it: nothing is locked.
        objects::free(handlers::get(&ErrorObject::Comm(object)).unwrap()).unwrap();
        seen_clone.lock().unwrap().push((object, code));
    });
    let handle = objects::create(ObjectKind::Comm, function).unwrap();
    handlers::set(&world, handle).unwrap();
    objects::free(handle).unwrap();
    assert_eq!(class(objects::free(handle)), Class::Errhandler);
    assert_eq!(class(handlers::set(&world, handle)), Class::Errhandler);
    assert_eq!(handlers::raise(&world, "MPI_Send", &error()), Class::Rank as i32);
    handlers::call(&world, "MPI_Comm_call_errhandler", Class::Tag as i32).unwrap();
    assert_eq!(class(handlers::call(&world, "MPI_Comm_call_errhandler", -1)), Class::Arg);
    assert_eq!(*seen.lock().unwrap(), [(comm::WORLD, Class::Rank as i32), (comm::WORLD, Class::Tag as i32)]);

    let (again, more) = (handlers::get(&world).unwrap(), handlers::get(&world).unwrap());
    assert_eq!(again, more, "one handler has one handle");
    objects::free(again).unwrap();
    seen.lock().unwrap().clear();
    // A communicator that is none, and MPI_COMM_SELF has no handler yet: MPI_COMM_WORLD's.
    handlers::raise(&ErrorObject::Comm(Handle::dynamic(300, 0)), "MPI_Send", &error());
    assert_eq!(*seen.lock().unwrap(), [(comm::WORLD, Class::Rank as i32)]);
    handlers::set(&ErrorObject::Comm(comm::SELF), more).unwrap();
    objects::free(more).unwrap();
    assert_eq!(class(objects::free(more)), Class::Errhandler);
    seen.lock().unwrap().clear();
    // A communicator that does not exist: the handler of MPI_COMM_SELF is called, with MPI_COMM_SELF.
    handlers::raise(&ErrorObject::Comm(Handle::dynamic(300, 0)), "MPI_Send", &error());
    assert_eq!(*seen.lock().unwrap(), [(comm::SELF, Class::Rank as i32)]);
    assert!(Arc::strong_count(&seen) > 1);
    handlers::set(&world, errhandler::ERRORS_RETURN).unwrap();
    handlers::set(&ErrorObject::Comm(comm::SELF), errhandler::ERRORS_RETURN).unwrap();
    assert_eq!(Arc::strong_count(&seen), 1, "the handler is gone with its last use");
}

#[test]
fn a_handler_of_another_kind_is_refused() {
    start();
    let of_files = objects::create(ObjectKind::File, Box::new(|_, _| ())).unwrap();
    assert_eq!(class(handlers::set(&ErrorObject::Comm(comm::WORLD), of_files)), Class::Errhandler);
    let no_file = ErrorObject::File(Handle::NULL);
    assert_eq!(handlers::get(&no_file).unwrap(), errhandler::ERRORS_RETURN, "files return errors by default");
    handlers::set(&no_file, of_files).unwrap();
    handlers::set(&no_file, errhandler::ERRORS_RETURN).unwrap();
    objects::free(of_files).unwrap();
    for predefined in [errhandler::ERRORS_ARE_FATAL, errhandler::ERRORS_ABORT, errhandler::ERRORS_RETURN] {
        objects::free(predefined).unwrap();
    }
    assert_eq!(class(objects::free(Handle::NULL)), Class::Errhandler);
    assert_eq!(class(handlers::get(&ErrorObject::Win(Handle::dynamic(300, 0)))), Class::Win);
    assert_eq!(class(handlers::get(&ErrorObject::Comm(Handle::NULL))), Class::Comm);
}

#[test]
fn predefined_attributes_are_integers_behind_addresses() {
    start();
    let get = |key| {
        comm_attr::comm_get(comm::WORLD, key, |value| match value {
            PredefinedAttribute::Number(number) => number,
            PredefinedAttribute::Rank(rank) => rank - 100,
            PredefinedAttribute::Code(code) => code + 1000,
        })
    };
    let integer = |key| match get(key).unwrap() {
        Some(AttributeValue::Integer(at)) => Some((at as *const AtomicI32, at.load(Relaxed))),
        Some(AttributeValue::Value(_)) => panic!("a value of the application"),
        None => None,
    };
    assert_eq!(integer(keyval::TAG_UB).unwrap().1, i32::MAX);
    assert_eq!(integer(keyval::TAG_UB), integer(keyval::TAG_UB), "the address stays");
    assert_eq!(integer(keyval::HOST).unwrap().1, hawser_base::value::PROC_NULL - 100);
    assert_eq!(integer(keyval::IO).unwrap().1, hawser_base::value::ANY_SOURCE - 100);
    assert_eq!(integer(keyval::WTIME_IS_GLOBAL).unwrap().1, 1);
    assert_eq!(integer(keyval::UNIVERSE_SIZE).unwrap().1, 1);
    assert_eq!(integer(keyval::APPNUM), None, "no launcher has set it");
    assert_eq!(integer(keyval::LASTUSEDCODE).unwrap().1, errors::last_used() + 1000);
    assert_eq!(class(get(keyval::WIN_BASE)), Class::Keyval);
    assert_eq!(class(get(keyval::INVALID)), Class::Keyval);
    assert_eq!(class(comm_attr::comm_set(comm::WORLD, keyval::TAG_UB, 1)), Class::Keyval);
}

#[test]
fn attributes_of_communicators_and_datatypes_have_their_own_keys() {
    start();
    let of_comms = comm_attr::create_keyval(ObjectKind::Comm, CopyRule::Null, DeleteRule::Null).unwrap();
    let of_types = comm_attr::create_keyval(ObjectKind::Datatype, CopyRule::Null, DeleteRule::Null).unwrap();
    comm_attr::comm_set(comm::WORLD, of_comms, 5).unwrap();
    types::set_attr(datatype::INT, of_types, 6).unwrap();
    let found = comm_attr::comm_get(comm::WORLD, of_comms, |_| 0).unwrap();
    assert!(matches!(found, Some(AttributeValue::Value(5))));
    assert_eq!(types::get_attr(datatype::INT, of_types).unwrap(), Some(6));
    assert_eq!(class(types::set_attr(datatype::INT, of_comms, 0)), Class::Keyval);
    assert_eq!(class(comm_attr::comm_set(comm::WORLD, of_types, 0)), Class::Keyval);
    assert_eq!(class(comm_attr::comm_set(Handle::NULL, of_comms, 0)), Class::Comm);
    comm_attr::comm_delete(comm::WORLD, of_comms).unwrap();
    types::delete_attr(datatype::INT, of_types).unwrap();
    assert!(comm_attr::comm_get(comm::WORLD, of_comms, |_| 0).unwrap().is_none());
    attributes::free_keyval(ObjectKind::Comm, of_comms).unwrap();
    attributes::free_keyval(ObjectKind::Datatype, of_types).unwrap();
}

#[test]
fn memory_heeds_its_info_and_its_arguments() {
    start();
    let hints = info::create().unwrap();
    let limits = info::InfoLimits { key: 255, value: 1024 };
    info::set(hints, b"mpi_minimum_memory_alignment", b"65536", limits).unwrap();
    let at = alloc::alloc(100, hints).unwrap();
    assert!(at.addr().is_multiple_of(65536));
    alloc::free(at).unwrap();
    assert_eq!(class(alloc::free(at)), Class::Base);
    info::set(hints, b"mpi_minimum_memory_alignment", b"many", limits).unwrap();
    assert_eq!(class(alloc::alloc(100, hints)), Class::InfoValue);
    info::free(hints).unwrap();
    assert_eq!(class(alloc::alloc(100, hints)), Class::Info);
    assert_eq!(class(alloc::alloc(-1, Handle::NULL)), Class::Arg);
    assert_eq!(class(alloc::alloc(i64::MAX, Handle::NULL)), Class::NoMem);
    alloc::free(alloc::alloc(0, Handle::NULL).unwrap()).unwrap();
}

#[test]
fn a_process_alone_knows_how_many_it_is() {
    start();
    let limits = info::InfoLimits { key: 255, value: 1024 };
    let get = |key: &[u8]| info::get(hawser_base::handle::info::ENV, key, limits).unwrap();
    assert_eq!(get(b"maxprocs").as_deref(), Some(&b"1"[..]));
    assert_eq!(get(b"soft").as_deref(), Some(&b"1"[..]));
    assert_eq!(get(b"thread_level"), None, "it is what mpiexec was asked for, not what MPI_Init gave");
}
