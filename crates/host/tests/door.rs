//! A listener that cannot accept a client accepts again later, and a long reply is not cut short. The test has a
//! process of its own: it has no descriptor left for a while, and the two tests take turns.

use hawser_boot::protocol::{AgentMessage, MESSAGE_MAX};
use hawser_host::listener::{Accepted, ClientListener};
use hawser_os::epoll::Epoll;
use hawser_os::limits::{self, Limit, Resource};
use hawser_os::unix::SeqpacketSocket;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Held by the test that runs.
static TURN: Mutex<()> = Mutex::new(());

#[test]
fn a_door_that_has_no_descriptor_for_a_caller_tells_it_once_and_takes_him_later() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let mut epoll = Epoll::new().unwrap();
    let mut door = ClientListener::open("door-test", 1, &mut epoll, 7).unwrap();
    let callers = [(); 2].map(|()| SeqpacketSocket::connect(&door.name).unwrap());
    let before = limits::get(Resource::Descriptors);
    let free = File::open("/dev/null").unwrap().as_raw_fd();
    limits::set(Resource::Descriptors, Limit { soft: free as u64, hard: before.hard }).unwrap();
    assert!(matches!(door.accept_client(&mut epoll, u64::from), Accepted::Paused(Some(_))));
    assert!(matches!(door.accept_client(&mut epoll, u64::from), Accepted::Paused(None)), "it is reported once");
    let mut events = Vec::new();
    epoll.wait(&mut events, Some(10)).unwrap();
    assert!(events.is_empty() && door.deadline_ns().is_some(), "it pauses, and is no event for ever");
    limits::set(Resource::Descriptors, before).unwrap();
    while door.deadline_ns().is_some() {
        door.handle_timeout(&mut epoll);
        std::thread::sleep(Duration::from_millis(5));
    }
    epoll.wait(&mut events, Some(10_000)).unwrap();
    assert_eq!((events.len(), events[0].token), (1, 7));
    assert!([(); 2].iter().all(|()| matches!(door.accept_client(&mut epoll, u64::from), Accepted::Client(_))));
    assert!(matches!(door.accept_client(&mut epoll, u64::from), Accepted::None));
    drop(callers);
}

#[test]
fn an_answer_that_is_longer_than_what_a_socket_holds_arrives_whole() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let mut epoll = Epoll::new().unwrap();
    let mut door = ClientListener::open("door-test-long", 1, &mut epoll, 7).unwrap();
    let caller = SeqpacketSocket::connect(&door.name).unwrap();
    let Accepted::Client(number) = door.accept_client(&mut epoll, u64::from) else { panic!("none was accepted") };
    let text: String = (0..100_000).map(|line| format!("line {line}\n")).collect();
    door.reply_and_close(number, &text);
    assert!(door.connection(number).is_some() && door.deadline_ns().is_some(), "its socket is full");
    // It gets one reply only.
    door.reply_and_close(number, "more");
    let (mut got, mut bytes) = (String::new(), vec![0; MESSAGE_MAX]);
    loop {
        door.handle_timeout(&mut epoll);
        match caller.receive(&mut bytes).unwrap() {
            (0, _) => break,
            (len, _) => match AgentMessage::decode(&bytes[..len]) {
                Some(AgentMessage::Text(part)) => got.push_str(&part),
                other => panic!("{other:?}"),
            },
        }
    }
    assert!(got == text, "{} of {} bytes", got.len(), text.len());
    assert!(door.connection(number).is_none() && door.deadline_ns().is_none());
    // It has exited before a second reply, and is not waited for.
    door.reply_and_close(number, "more");
    assert!(door.deadline_ns().is_none());
}
