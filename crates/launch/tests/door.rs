//! A door that cannot take a caller opens again. In a process of its own: it has no descriptor left for a while.

use hawser_launch::agent::door::{Door, Knock};
use hawser_os::epoll::Epoll;
use hawser_os::limits::{self, Limit, Resource};
use hawser_os::unix::Packets;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::time::Duration;

#[test]
fn a_door_that_has_no_descriptor_for_a_caller_tells_it_once_and_takes_him_later() {
    let mut epoll = Epoll::new().unwrap();
    let mut door = Door::open("door-test", 1, &mut epoll, 7).unwrap();
    let callers = [(); 2].map(|()| Packets::connect(&door.name).unwrap());
    let before = limits::get(Resource::Descriptors);
    let free = File::open("/dev/null").unwrap().as_raw_fd();
    limits::set(Resource::Descriptors, Limit { soft: free as u64, hard: before.hard }).unwrap();
    assert!(matches!(door.answer(&mut epoll), Knock::Rest(Some(_))));
    assert!(matches!(door.answer(&mut epoll), Knock::Rest(None)), "it is told once");
    let mut events = Vec::new();
    epoll.wait(&mut events, Some(10)).unwrap();
    assert!(events.is_empty() && door.deadline_ns().is_some(), "it rests, and is no event for ever");
    limits::set(Resource::Descriptors, before).unwrap();
    while door.deadline_ns().is_some() {
        door.wake(&mut epoll);
        std::thread::sleep(Duration::from_millis(5));
    }
    epoll.wait(&mut events, Some(10_000)).unwrap();
    assert_eq!((events.len(), events[0].token), (1, 7));
    assert!([(); 2].iter().all(|()| matches!(door.answer(&mut epoll), Knock::Caller(_))));
    assert!(matches!(door.answer(&mut epoll), Knock::Nobody));
    drop(callers);
}
