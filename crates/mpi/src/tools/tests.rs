use super::*;
use hawser_base::param::{ParamKind, ReadTime};
use hawser_base::value::{T_PVAR_CLASS_COUNTER, T_PVAR_CLASS_TIMER};
use hawser_base::value::{T_SCOPE_LOCAL, T_VERBOSITY_USER_ALL};
use hawser_job::counters::{CounterInfo, CounterUnit};
use pvar::PvarSpec;
use std::sync::MutexGuard;

const NUMBER: Param = Param {
    name: "HAWSER_TEST_TOOL_NUMBER",
    kind: ParamKind::Bytes { min: 1, max: 1 << 20 },
    default: "",
    help: "",
    scope: T_SCOPE_LOCAL,
    verbosity: T_VERBOSITY_USER_ALL,
    read: ReadTime::AtStart,
};
static PARAMS: [Param; 3] = [
    NUMBER,
    Param { name: "HAWSER_TEST_TOOL_CHOICE", kind: ParamKind::Choice(&["auto", "ring"]), default: "auto", ..NUMBER },
    Param { name: "HAWSER_TEST_TOOL_TEXT", kind: ParamKind::Text, default: "eth0", ..NUMBER },
];

fn groups() -> Vec<CategorySpec> {
    let entry = |name: &str, unit| CounterInfo { name: name.into(), unit, about: "".into() };
    let variables = vec![
        PvarSpec::counter(0, entry("packets (short) of the peer's", CounterUnit::Events)),
        PvarSpec::counter(1, entry("nanoseconds asleep", CounterUnit::Nanoseconds)),
    ];
    let params = PARAMS.iter().collect();
    vec![
        CategorySpec {
            name: "all",
            about: "",
            parent: None,
            params: vec![],
            variables: PvarSpec::queue_lengths().into(),
        },
        CategorySpec { name: "some", about: "", parent: Some("all"), params, variables },
    ]
}

/// The interface is initialised, and no other test uses it.
struct Used(#[allow(dead_code)] MutexGuard<'static, ()>);

fn used() -> Used {
    static ALONE: Mutex<()> = Mutex::new(());
    let alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    init(groups);
    Used(alone)
}

impl Drop for Used {
    fn drop(&mut self) {
        finalize().unwrap();
    }
}

fn class<T>(result: Result<T>) -> Option<Class> {
    result.err().map(|error| error.class())
}

#[test]
fn nothing_is_there_before_the_first_use_and_after_the_last() {
    let used = used();
    init(|| unreachable!("the variables are known by now"));
    let (handle, session) = (cvar::open(0).unwrap().0, pvar::open_session().unwrap());
    finalize().unwrap();
    assert!(cvar::read(handle).is_ok() && pvar::close_session(session).is_ok(), "one use is left");
    drop(used);
    let again = self::used();
    assert_eq!(class(cvar::read(handle)), Some(Class::ToolInvalidHandle));
    // The last use ends while `again` still holds the lock, so that no other test can begin one in between.
    finalize().unwrap();
    let afterwards = [class(finalize()), class(cvar::count())];
    init(groups);
    drop(again);
    assert_eq!(afterwards, [Some(Class::ToolNotInitialized); 2]);
}

#[test]
fn control_variables_take_what_the_environment_could_say() {
    use cvar::CvarValue::*;
    let _used = used();
    let open = |index| cvar::open(index).unwrap().0;
    let set = |id, value| cvar::write(id, |_| value);
    let [number, choice, text] = [0, 1, 2].map(open);
    assert_eq!(cvar::read(number).unwrap(), Count(-1));
    set(number, Count(4096)).unwrap();
    assert_eq!((cvar::read(number).unwrap(), PARAMS[0].number().unwrap()), (Count(4096), 4096));
    for wrong in [0, -2, (1 << 20) + 1] {
        assert!(set(number, Count(wrong)).is_err() && PARAMS[0].number().unwrap() == 4096);
    }
    set(number, Count(-1)).unwrap();
    assert!(!PARAMS[0].is_set());

    set(choice, Int(1)).unwrap();
    assert_eq!((cvar::read(choice).unwrap(), PARAMS[1].choice().unwrap()), (Int(1), "ring"));
    assert_eq!(class(set(choice, Int(2))), Some(Class::ToolInvalid));
    let words = cvar::info(1).unwrap().enumeration.unwrap();
    assert_eq!(enumeration::info(words).unwrap(), (2, PARAMS[1].name));
    assert_eq!(enumeration::item(words, 1).unwrap(), "ring");
    assert_eq!(class(enumeration::item(words, 2)), Some(Class::ToolInvalidIndex));
    assert!(cvar::info(0).unwrap().enumeration.is_none());

    assert_eq!(cvar::read(text).unwrap(), Text(b"eth0".into()));
    set(text, Text(vec![b'x'; 2000])).unwrap();
    assert_eq!(cvar::read(text).unwrap(), Text(vec![b'x'; cvar::TEXT_BYTES - 1]));
    assert_eq!(class(set(text, Text(vec![0xff]))), Some(Class::ToolInvalid));
}

#[test]
fn performance_variables_have_plain_names_and_are_found_by_them() {
    let _used = used();
    let all: Vec<_> = (0..4).map(|index| pvar::info(index).unwrap().name).collect();
    assert_eq!(all, ["unexpected_queue_length", "posted_receives", "packets_short_of_the_peers", "seconds_asleep"]);
    assert_eq!(pvar::index(b"seconds_asleep", T_PVAR_CLASS_TIMER).unwrap(), 3);
    assert_eq!(class(pvar::index(b"seconds_asleep", T_PVAR_CLASS_COUNTER)), Some(Class::ToolInvalidName));
    assert_eq!(class(pvar::info(4).map(drop)), Some(Class::ToolInvalidIndex));
    assert_eq!(class(pvar::info(-1).map(drop)), Some(Class::ToolInvalidIndex));
}

/// Without a process nothing is counted: the values in a handle were written.
#[test]
fn handles_belong_to_their_session() {
    use pvar::PvarValue::*;
    let _used = used();
    let [first, second] = [0; 2].map(|_| pvar::open_session().unwrap());
    let [length, counter, timer] = [0, 2, 3].map(|index| pvar::open(first, index).unwrap());
    pvar::write(first, counter, |_| Unsigned(7)).unwrap();
    pvar::write(first, timer, |_| Double(1.5)).unwrap();
    assert_eq!(pvar::read(first, timer).unwrap(), Double(1.5));
    assert_eq!(class(pvar::read(second, counter)), Some(Class::ToolInvalidHandle));
    assert_eq!(class(pvar::read(first, ALL_HANDLES)), Some(Class::ToolInvalidHandle));
    for all in [pvar::start, pvar::stop] {
        all(first, ALL_HANDLES).unwrap();
        assert_eq!(class(all(first, length)), Some(Class::ToolPvarNoStartstop));
    }
    assert_eq!(pvar::read_and_reset(first, counter).unwrap(), Unsigned(7));
    assert_eq!(pvar::read(first, counter).unwrap(), Unsigned(0));
    assert_eq!(class(pvar::read_and_reset(first, length)), Some(Class::ToolPvarNoAtomic));
    assert_eq!(class(pvar::reset(first, length)), Some(Class::ToolPvarNoWrite));
    pvar::reset(first, ALL_HANDLES).unwrap();
    assert_eq!(pvar::read(first, timer).unwrap(), Double(0.0));
    pvar::close_session(first).unwrap();
    assert_eq!(class(pvar::read(first, counter)), Some(Class::ToolInvalidSession));
    assert_eq!(class(pvar::close(second, counter)), Some(Class::ToolInvalidHandle));
    pvar::close_session(second).unwrap();
}

#[test]
fn categories_are_a_tree_of_all_variables() {
    use category::CategoryItem::*;
    let _used = used();
    assert_eq!(category::index(b"some").unwrap(), 1);
    assert_eq!(category::members(0, Category).unwrap(), [1]);
    assert_eq!(category::members(1, Category).unwrap(), []);
    assert_eq!((category::members(0, Pvar).unwrap(), category::members(1, Pvar).unwrap()), (vec![0, 1], vec![2, 3]));
    assert_eq!((category::members(0, Cvar).unwrap(), category::members(1, Cvar).unwrap()), (vec![], vec![0, 1, 2]));
}
