//! Operations without a process.

use super::*;
use hawser_base::handle::datatype;
use hawser_base::{SharedMem, UserMem};
use hawser_datatype::{Basic, CountForm};
use std::sync::Mutex;

fn int() -> &'static Arc<Datatype> {
    Datatype::basic(Basic::Int)
}

fn over<'a>(bytes: &'a mut [u8], datatype: &Datatype) -> UserPtr<'a> {
    let count = bytes.len() as u64 / datatype.size();
    UserPtr::over(SharedMem::of_slice(bytes), datatype, count)
}

fn bytes_of(values: &[i32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_ne_bytes()).collect()
}

fn class<T>(result: Result<T>) -> Class {
    result.err().expect("it should have been refused").class()
}

fn created(commutes: bool, count_max: u64, function: UserOpFunction) -> ReduceOp {
    ReduceOp::User(Arc::new(UserOp { function, is_commutative: commutes, count_max }))
}

#[test]
fn every_predefined_handle_is_an_operation_of_the_same_name() {
    for (name, handle) in op::ALL.iter().chain(mpich_op::ALL) {
        assert_eq!(predefined(*handle).map(PredefinedOp::name), (!handle.is_null()).then_some(*name));
    }
    assert_eq!(predefined(Handle::predefined(200)), None);
}

#[test]
fn a_predefined_operation_reduces_into_the_second_buffer() {
    let reducer = Reducer::of(ReduceOp::Predefined(PredefinedOp::Sum), int(), datatype::INT).unwrap();
    let (mut from, mut into) = (bytes_of(&[1, 2, 3]), bytes_of(&[10, 20, 30]));
    reducer.apply(over(&mut from, int()), over(&mut into, int()), 2);
    assert_eq!(into, bytes_of(&[11, 22, 30]));
    assert!(reducer.is_commutative() && reducer.is_elementwise() && reducer.predefined().is_some());
}

#[test]
fn an_operation_that_is_not_defined_on_the_type_is_refused_with_both_names() {
    let double = Datatype::basic(Basic::Double);
    let error = Reducer::of(ReduceOp::Predefined(PredefinedOp::Band), double, datatype::DOUBLE).err().unwrap();
    assert_eq!(error.class(), Class::Op);
    assert!(error.cause().contains("MPI_BAND") && error.cause().contains("MPI_DOUBLE"), "{error}");
    let spread = Datatype::vector(2, 1, 2, int(), CountForm::Int).unwrap();
    assert_eq!(
        class(Reducer::of(ReduceOp::Predefined(PredefinedOp::Sum), &spread, Handle::dynamic(300, 0))),
        Class::Op
    );
    for op in [PredefinedOp::Replace, PredefinedOp::NoOp] {
        assert_eq!(class(Reducer::of(ReduceOp::Predefined(op), int(), datatype::INT)), Class::Op);
    }
}

#[test]
fn a_function_gets_both_buffers_the_count_and_the_datatypes_handle() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let note = seen.clone();
    let function = Box::new(move |from: UserPtr, into: UserPtr, count, handle| {
        note.lock().unwrap().push((from.addr(), into.addr(), count, handle));
    });
    let reducer = Reducer::of(created(false, 1 << 31, function), int(), datatype::INT).unwrap();
    let (mut from, mut into) = ([0; 12], [0; 12]);
    let (from, into) = (over(&mut from, int()), over(&mut into, int()));
    reducer.apply(from, into, 3);
    reducer.apply(from, into, 0);
    assert_eq!(*seen.lock().unwrap(), [(from.addr(), into.addr(), 3, datatype::INT)]);
    assert!(!reducer.is_commutative() && reducer.predefined().is_none());
}

#[test]
fn more_elements_than_the_count_argument_says_are_several_calls() {
    let add = Box::new(|from: UserPtr, into: UserPtr, count: i64, _| {
        let sum = ReduceKernel::of(PredefinedOp::Sum, int()).unwrap();
        sum.apply_at(into, from, count as u64);
    });
    let calls = Arc::new(Mutex::new(Vec::new()));
    let (note, inner): (_, UserOpFunction) = (calls.clone(), add);
    let function = Box::new(move |from: UserPtr, into: UserPtr, count, handle| {
        note.lock().unwrap().push(count);
        inner(from, into, count, handle);
    });
    let reducer = Reducer::of(created(true, 2, function), int(), datatype::INT).unwrap();
    let (mut from, mut into) = (bytes_of(&[1, 2, 3, 4, 5]), bytes_of(&[10, 20, 30, 40, 50]));
    reducer.apply(over(&mut from, int()), over(&mut into, int()), 5);
    assert_eq!(*calls.lock().unwrap(), [2, 2, 1]);
    assert_eq!(into, bytes_of(&[11, 22, 33, 44, 55]));
}

#[test]
fn pairs_with_gaps_are_reduced_in_place() {
    let pair = Datatype::basic(Basic::DoubleInt);
    let reducer = Reducer::of(ReduceOp::Predefined(PredefinedOp::Maxloc), pair, datatype::DOUBLE_INT).unwrap();
    let element = |value: f64, index: i32| {
        let mut bytes = [0u8; 16];
        UserMem::of_slice(&mut bytes[..8]).write(&value.to_ne_bytes());
        UserMem::of_slice(&mut bytes[8..12]).write(&index.to_ne_bytes());
        bytes
    };
    let (mut from, mut into) =
        ([element(2.0, 5), element(1.0, 6)].concat(), [element(1.0, 7), element(1.0, 8)].concat());
    reducer.apply(over(&mut from, int()), over(&mut into, int()), 2);
    assert_eq!(into, [element(2.0, 5), element(1.0, 6)].concat());
}
