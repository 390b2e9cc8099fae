//! Attributes without a process: keys, order, functions that fail.

use super::*;

const OLD: Handle = Handle::dynamic(1000, 0);
const NEW: Handle = Handle::dynamic(1001, 0);

type Log = Arc<Mutex<Vec<(Handle, usize)>>>;

/// A key whose attributes are copied with 100 added and log their deletion.
fn logging(log: &Log) -> Handle {
    let log = log.clone();
    let delete = move |object, _, value| {
        log.lock().unwrap().push((object, value));
        Ok(())
    };
    let copy = CopyRule::Call(Box::new(|_, _, value| Ok(Some(value + 100))));
    new_keyval(ObjectKind::Comm, copy, DeleteRule::Call(Box::new(delete))).unwrap()
}

fn plain(copy: CopyRule) -> Handle {
    new_keyval(ObjectKind::Comm, copy, DeleteRule::Null).unwrap()
}

fn get(attributes: &Attributes, keyval: Handle) -> Option<usize> {
    attributes.get(ObjectKind::Comm, keyval).unwrap()
}

fn class<T>(result: Result<T>) -> Class {
    result.err().expect("it should have been refused").class()
}

#[test]
fn a_value_is_set_replaced_and_deleted() {
    let (log, attributes) = (Log::default(), Attributes::default());
    let key = logging(&log);
    assert_eq!(get(&attributes, key), None);
    attributes.set(ObjectKind::Comm, OLD, key, 1).unwrap();
    attributes.set(ObjectKind::Comm, OLD, key, 2).unwrap();
    assert_eq!(*log.lock().unwrap(), [(OLD, 1)], "the first value was deleted when it was replaced");
    assert_eq!(get(&attributes, key), Some(2));
    attributes.delete(ObjectKind::Comm, OLD, key).unwrap();
    attributes.delete(ObjectKind::Comm, OLD, key).unwrap();
    assert_eq!(*log.lock().unwrap(), [(OLD, 1), (OLD, 2)]);
    free_keyval(ObjectKind::Comm, key).unwrap();
}

#[test]
fn all_are_deleted_in_the_reverse_order_of_setting() {
    let (log, attributes) = (Log::default(), Attributes::default());
    let keys = [logging(&log), logging(&log), logging(&log)];
    for (i, &key) in keys.iter().enumerate() {
        attributes.set(ObjectKind::Comm, OLD, key, i).unwrap();
    }
    attributes.set(ObjectKind::Comm, OLD, keys[0], 9).unwrap();
    log.lock().unwrap().clear();
    attributes.delete_all(OLD).unwrap();
    assert_eq!(*log.lock().unwrap(), [(OLD, 9), (OLD, 2), (OLD, 1)]);
}

#[test]
fn copies_are_what_the_keys_say() {
    let (log, old, new) = (Log::default(), Attributes::default(), Attributes::default());
    let keys = [plain(CopyRule::Null), plain(CopyRule::Dup), logging(&log)];
    let refusing = plain(CopyRule::Call(Box::new(|_, _, _| Ok(None))));
    for key in keys.into_iter().chain([refusing]) {
        old.set(ObjectKind::Comm, OLD, key, 5).unwrap();
    }
    new.copy_from(&old, OLD).unwrap();
    assert_eq!(keys.map(|key| get(&new, key)), [None, Some(5), Some(105)]);
    assert_eq!(get(&new, refusing), None);
    new.delete_all(NEW).unwrap();
    assert_eq!(*log.lock().unwrap(), [(NEW, 105)]);
    assert_eq!(get(&old, keys[2]), Some(5));
}

#[test]
fn a_failing_copy_keeps_its_code_and_leaves_the_earlier_ones_to_delete() {
    let (log, old, new) = (Log::default(), Attributes::default(), Attributes::default());
    let first = logging(&log);
    let failing = plain(CopyRule::Call(Box::new(|_, _, _| Err(-12345))));
    let last = plain(CopyRule::Dup);
    for key in [first, failing, last] {
        old.set(ObjectKind::Comm, OLD, key, 1).unwrap();
    }
    let error = new.copy_from(&old, OLD).unwrap_err();
    assert_eq!((error.class(), error.code()), (Class::Other, -12345));
    assert_eq!(get(&new, last), None);
    new.delete_all(NEW).unwrap();
    assert_eq!(*log.lock().unwrap(), [(NEW, 101)]);
}

#[test]
fn a_failing_delete_leaves_the_attribute_set() {
    let attributes = Attributes::default();
    let fail = DeleteRule::Call(Box::new(|_, _, value| if value == 1 { Err(Class::Io as i32) } else { Ok(()) }));
    let failing = new_keyval(ObjectKind::Comm, CopyRule::Null, fail).unwrap();
    let (before, after) = (plain(CopyRule::Null), plain(CopyRule::Null));
    for key in [before, failing, after] {
        attributes.set(ObjectKind::Comm, OLD, key, 1).unwrap();
    }
    assert_eq!(class(attributes.delete(ObjectKind::Comm, OLD, failing)), Class::Io);
    assert_eq!(class(attributes.set(ObjectKind::Comm, OLD, failing, 2)), Class::Io);
    assert_eq!(class(attributes.delete_all(OLD)), Class::Io);
    assert_eq!([before, failing, after].map(|key| get(&attributes, key)), [Some(1), Some(1), None]);
}

#[test]
fn a_freed_key_lives_until_its_last_attribute_goes() {
    let (old, new) = (Attributes::default(), Attributes::default());
    let key = plain(CopyRule::Dup);
    old.set(ObjectKind::Comm, OLD, key, 7).unwrap();
    free_keyval(ObjectKind::Comm, key).unwrap();
    free_keyval(ObjectKind::Comm, key).unwrap(); // as delete functions do
    new.copy_from(&old, OLD).unwrap();
    old.delete(ObjectKind::Comm, OLD, key).unwrap();
    assert_eq!(get(&new, key), Some(7));
    new.delete_all(NEW).unwrap();
    assert_eq!(class(new.get(ObjectKind::Comm, key)), Class::Keyval);
    assert_eq!(class(free_keyval(ObjectKind::Comm, key)), Class::Keyval);
}

#[test]
fn an_unused_key_dies_when_it_is_freed() {
    let key = plain(CopyRule::Null);
    free_keyval(ObjectKind::Comm, key).unwrap();
    assert_eq!(class(Attributes::default().set(ObjectKind::Comm, OLD, key, 0)), Class::Keyval);
}

#[test]
fn a_key_of_another_kind_or_none_is_refused() {
    let attributes = Attributes::default();
    let of_types = new_keyval(ObjectKind::Datatype, CopyRule::Null, DeleteRule::Null).unwrap();
    for bad in [of_types, keyval::INVALID, keyval::TAG_UB, keyval::WIN_BASE, Handle::predefined(200)] {
        assert_eq!(class(attributes.set(ObjectKind::Comm, OLD, bad, 0)), Class::Keyval);
        assert_eq!(class(attributes.get(ObjectKind::Comm, bad)), Class::Keyval);
        assert_eq!(class(attributes.delete(ObjectKind::Comm, OLD, bad)), Class::Keyval);
        assert_eq!(class(free_keyval(ObjectKind::Comm, bad)), Class::Keyval);
    }
    attributes.set(ObjectKind::Datatype, OLD, of_types, 0).unwrap();
}

#[test]
fn functions_may_use_the_attributes_that_they_are_called_for() {
    let attributes = Arc::new(Attributes::default());
    let other = plain(CopyRule::Null);
    let (inside, seen) = (attributes.clone(), Arc::new(Mutex::new(None)));
    let note = seen.clone();
    let delete = DeleteRule::Call(Box::new(move |object, key, _| {
        *note.lock().unwrap() = Some(inside.get(ObjectKind::Comm, key).unwrap());
        inside.set(ObjectKind::Comm, object, other, 3).unwrap();
        Ok(())
    }));
    let key = new_keyval(ObjectKind::Comm, CopyRule::Null, delete).unwrap();
    attributes.set(ObjectKind::Comm, OLD, key, 1).unwrap();
    attributes.delete(ObjectKind::Comm, OLD, key).unwrap();
    assert_eq!(*seen.lock().unwrap(), Some(None), "an attribute that is being deleted is not set");
    assert_eq!(get(&attributes, other), Some(3));
}
