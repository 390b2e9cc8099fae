//! Handles of datatypes, without a process.

use super::*;
use crate::attributes::{self, CopyRule, DeleteRule};
use hawser_datatype::CountForm;

fn class<T>(result: Result<T>) -> Class {
    result.err().expect("it should have been refused").class()
}

fn new_keyval(kind: ObjectKind, copy: CopyRule) -> Handle {
    attributes::new_keyval(kind, copy, DeleteRule::Null).unwrap()
}

fn pair_of_ints() -> Arc<Datatype> {
    Datatype::contiguous(2, Datatype::basic(Basic::Int), CountForm::Int).unwrap()
}

#[test]
fn every_predefined_type_has_a_handle_and_its_name() {
    let types = DatatypeTable::new();
    for &of in Basic::ALL {
        let handle = handle_of(of);
        assert_eq!(basic(handle), Some(of));
        assert_eq!(types.name(handle).unwrap(), of.name().as_bytes());
        assert_eq!(types.insert(Datatype::basic(of).clone()).unwrap(), handle);
        assert_eq!(class(types.free(handle)), Class::Type);
    }
    assert_eq!(basic(Handle::NULL), None);
}

#[test]
fn every_handle_of_either_abi_has_a_type() {
    for (name, handle) in datatype::ALL.iter().chain(mpich_datatype::ALL).filter(|(_, h)| !h.is_null()) {
        assert!(basic(*handle).is_some(), "{name}");
    }
    assert_eq!(basic(datatype::LONG_LONG), Some(Basic::LongLong));
    assert_eq!(basic(mpich_datatype::UB), Some(Basic::Ub));
}

#[test]
fn a_type_has_no_name_until_it_is_given_one() {
    let types = DatatypeTable::new();
    let handle = types.insert(pair_of_ints()).unwrap();
    assert_eq!(types.name(handle).unwrap(), b"");
    types.extras(handle, |extras| *extras.name() = Some(b"mine".to_vec())).unwrap();
    assert_eq!(types.name(handle).unwrap(), b"mine");
    let copy = types.dup(handle).unwrap();
    assert_eq!(types.name(copy).unwrap(), b"", "a name is not copied");
    types.extras(datatype::INT, |extras| *extras.name() = Some(b"int".to_vec())).unwrap();
    assert_eq!(types.name(datatype::INT).unwrap(), b"int");
}

#[test]
fn a_freed_type_is_gone_but_what_was_made_of_it_works() {
    let types = DatatypeTable::new();
    let old = types.insert(pair_of_ints()).unwrap();
    let new = Datatype::contiguous(3, &types.get(old).unwrap(), CountForm::Int).unwrap();
    let new = types.insert(new).unwrap();
    types.free(old).unwrap();
    for dead in [old, Handle::NULL] {
        assert_eq!(class(types.get(dead)), Class::Type);
        assert_eq!(class(types.free(dead)), Class::Type);
        assert_eq!(class(types.dup(dead)), Class::Type);
        assert_eq!(class(types.contents(dead)), Class::Type);
    }
    assert_eq!(class(types.name(old)), Class::Type);
    assert_eq!(types.name(Handle::NULL).unwrap(), b"MPI_DATATYPE_NULL");
    assert_eq!(types.get(new).unwrap().size(), 24);
}

#[test]
fn contents_name_predefined_types_by_their_handles_and_others_by_new_ones() {
    let types = DatatypeTable::new();
    let inner = types.insert(pair_of_ints()).unwrap();
    let members = [types.get(inner).unwrap(), Datatype::basic(Basic::Double).clone()];
    let outer = types.insert(Datatype::structure(&[1, 1], &[0, 8], &members, CountForm::Int).unwrap()).unwrap();
    let (contents, handles) = types.contents(outer).unwrap();
    assert_eq!(contents.types.len(), 2);
    assert_eq!(handles[1], datatype::DOUBLE);
    assert_ne!(handles[0], inner);
    assert_eq!(types.get(handles[0]).unwrap().size(), 8);
    types.free(handles[0]).unwrap();
    types.free(inner).unwrap();
    assert_eq!(types.contents(outer).unwrap().1.len(), 2);
    assert_eq!(class(types.contents(datatype::INT)), Class::Type);
}

#[test]
fn equal_arguments_give_fortrans_kinds_again() {
    let types = DatatypeTable::new();
    let real = |p| types.insert(Datatype::f90_real(Some(p), None).unwrap()).unwrap();
    assert_eq!(real(7), real(7));
    assert_ne!(real(7), real(8));
    assert_eq!(class(types.free(real(7))), Class::Type);
    let row = types.insert(Datatype::contiguous(2, &types.get(real(7)).unwrap(), CountForm::Int).unwrap()).unwrap();
    assert_eq!(types.contents(row).unwrap().1, [real(7)]);
}

#[test]
fn a_copy_has_the_attributes_that_its_keys_say_and_the_commit_state() {
    let types = DatatypeTable::new();
    let (kept, left) =
        (new_keyval(ObjectKind::Datatype, CopyRule::Dup), new_keyval(ObjectKind::Datatype, CopyRule::Null));
    let old = types.insert(pair_of_ints()).unwrap();
    types.get(old).unwrap().commit();
    for key in [kept, left] {
        types.extras(old, |e| e.attributes.set(ObjectKind::Datatype, old, key, 4)).unwrap().unwrap();
    }
    let new = types.dup(old).unwrap();
    let get = |key| types.extras(new, |e| e.attributes.get(ObjectKind::Datatype, key)).unwrap().unwrap();
    assert_eq!((get(kept), get(left)), (Some(4), None));
    assert!(types.get(new).unwrap().is_committed());
}

#[test]
fn a_copy_whose_attributes_fail_is_given_up() {
    let types = DatatypeTable::new();
    let failing = new_keyval(ObjectKind::Datatype, CopyRule::Call(Box::new(|_, _, _| Err(Class::NoSpace as i32))));
    let old = types.insert(pair_of_ints()).unwrap();
    types.extras(old, |e| e.attributes.set(ObjectKind::Datatype, old, failing, 4)).unwrap().unwrap();
    assert_eq!(class(types.dup(old)), Class::NoSpace);
    assert_eq!(types.entries.live(), [old]);
}

#[test]
fn a_type_whose_attribute_does_not_go_is_not_freed() {
    let types = DatatypeTable::new();
    let refusing = DeleteRule::Call(Box::new(|_, _, value| if value == 1 { Err(Class::Io as i32) } else { Ok(()) }));
    let key = attributes::new_keyval(ObjectKind::Datatype, CopyRule::Null, refusing).unwrap();
    let handle = types.insert(pair_of_ints()).unwrap();
    let set = |value| types.extras(handle, |e| e.attributes.set(ObjectKind::Datatype, handle, key, value)).unwrap();
    set(1).unwrap();
    assert_eq!(class(types.free(handle)), Class::Io);
    assert!(types.get(handle).is_ok());
}

#[test]
fn a_function_gets_a_handle_that_works_though_its_own_was_freed() {
    let types = DatatypeTable::new();
    let handle = types.insert(pair_of_ints()).unwrap();
    let datatype = types.get(handle).unwrap();
    assert!(types.is_handle_of(handle, &datatype));
    types.free(handle).unwrap();
    assert!(!types.is_handle_of(handle, &datatype));
    let size = types.with_temporary_handle(handle, &datatype, |other| types.get(other).unwrap().size());
    assert_eq!(size, 8);
    assert!(types.entries.live().is_empty());
}
