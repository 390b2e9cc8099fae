//! Tests a rank server without a launcher and without MPI: this test is the first process of a host, and starts
//! itself again as the ranks. They join by `join`, as every rank does.

use hawser_base::Peer;
use hawser_boot::job_settings::JobSettings;
use hawser_boot::protocol::{
    ADDRESS_VARIABLE, AgentAddress, AgentMessage, InspectRequest, MESSAGE_MAX, PeerReachability, RANK_VARIABLE,
    VERSION, Welcome,
};
use hawser_boot::{KvsKey, Notification};
use hawser_host::facts;
use hawser_host::join::{Joined, join};
use hawser_host::rank_process::ExitFault;
use hawser_host::rank_server::{CallContext, EventSource, RankEvent, RankFault, RankServer, RankServerSpec};
use hawser_job::layout::BUSINESS_CARD_MAX;
use hawser_job::{ExitKind, NetworkStatus, RankPhase, UnreachablePeer};
use hawser_os::epoll::Epoll;
use hawser_os::signals::{self, SIGKILL};
use hawser_os::spawn::{self, ExitStatus, Leads, SpawnOptions};
use hawser_os::tether::Tether;
use hawser_os::unix::SeqpacketSocket;
use hawser_os::{clock, host, pidfd};
use std::io::{ErrorKind, Write};
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The part that a process which this test has started plays, in words with commas between them; in its
/// environment.
const PART: &str = "GATE_TEST_PART";
/// The time that anything may take, on a machine that is busy.
const TIMEOUT: Duration = Duration::from_secs(60);
/// More than the rank server waits for the end of a program whose rank has exited, and than the time between two
/// polls of a page.
const LATER_NS: u64 = 2_000_000_000;

/// Not a test: a rank that plays its part. Without one it does nothing.
#[test]
fn rank() {
    let Ok(part) = std::env::var(PART) else { return };
    let mut words = part.split(',').peekable();
    if words.next_if_eq(&"call").is_some() {
        let address = AgentAddress::decode(&std::env::var(ADDRESS_VARIABLE).unwrap()).unwrap();
        let line = SeqpacketSocket::connect(&address.socket).unwrap();
        line.send(&hello(address.rank).encode(), None).unwrap();
        signals::send(host::pid(), SIGKILL).unwrap();
    }
    match words.next_if(|word| ["absent", "refused"].contains(word)) {
        Some("absent") => std::process::exit(0),
        Some(_) => {
            let text = join(&JobSettings::default()).err().expect("it is refused").cause().to_owned();
            assert!(text.contains("already; another process cannot become that rank"), "{text}");
            std::process::exit(5)
        }
        None => {}
    }
    let terms = words.next_if(|word| word.starts_with("A=")).unwrap_or("A=1");
    let joined = join(&JobSettings::from_text(format!("test\n{terms}"))).unwrap();
    words.for_each(|word| play(&joined, word));
    std::process::exit(0)
}

fn play(joined: &Joined, word: &str) {
    let Joined { bootstrap: boot, segment, .. } = joined;
    let fields: Vec<&str> = word.split(':').collect();
    let number = || fields[1].parse::<u32>().unwrap();
    match fields[0] {
        "card" => boot.publish(KvsKey::BusinessCard, fields[1].as_bytes()).unwrap(),
        "see" => wait_for(word, || boot.look_up(Peer(number()), KvsKey::BusinessCard) == Some(fields[2].into())),
        "silent" => {
            let what = PeerReachability { peer: number(), pairs: "eth0".into(), ..PeerReachability::default() };
            assert!(boot.notify(Notification::Reachability(what)));
        }
        "left" => assert!(boot.notify(Notification::Left)),
        "back" => assert!(boot.notify(Notification::Back)),
        "failed" => wait_for(word, || segment.exit_log().has_failed(Peer(number()))),
        "all-left" => wait_for(word, || segment.all_finalized()),
        "abort" => boot.abort(number() as i32, fields[2]),
        "exit" => std::process::exit(number() as i32),
        "kill" => signals::send(host::pid(), SIGKILL).unwrap(),
        "stay" => host::sleep_ms(u32::MAX),
        // A child of a rank is no rank.
        "child" => assert!(this_program("alone").status().unwrap().success()),
        "alone" => assert_eq!((boot.identity().size, boot.identity().appnum), (1, None)),
        _ => panic!("{word}?"),
    }
}

fn wait_for(what: &str, is_there: impl Fn() -> bool) {
    let end = Instant::now() + TIMEOUT;
    while !is_there() {
        assert!(Instant::now() < end, "{what} never came");
        host::sleep_ms(1);
    }
}

/// This program again, to play a part.
fn this_program(part: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "rank", "--nocapture", "-q"]).env(PART, part).stdout(Stdio::null());
    command
}

/// The first process of a host.
struct FirstProcess {
    rank_server: RankServer,
    epoll: Epoll,
    /// Its children that it has not reaped.
    children: Vec<Child>,
    /// Events that no test has taken yet.
    events: Vec<RankEvent>,
}

impl Drop for FirstProcess {
    fn drop(&mut self) {
        for child in &mut self.children {
            let _ = signals::send(-(child.id() as i32), SIGKILL);
            let _ = child.wait();
        }
    }
}

impl FirstProcess {
    /// For ranks 0 to `local - 1` of `size`; all others are on another host.
    fn open(local: u32, size: u32) -> FirstProcess {
        FirstProcess::open_as(local, size, |_| ())
    }

    /// The same with changes of the spec by `change`.
    fn open_as(local: u32, size: u32, change: impl FnOnce(&mut RankServerSpec)) -> FirstProcess {
        let mut epoll = Epoll::new().unwrap();
        let mut spec = RankServerSpec {
            job_id: "gate-test".into(),
            host: "here".into(),
            socket_label: "gate-test".into(),
            size,
            ranks: (0..local).map(|rank| (rank, 0)).collect(),
            hosts: (0..size).map(|rank| u32::from(rank >= local)).collect(),
            programs: vec![size],
            has_tethers: true,
            ..RankServerSpec::default()
        };
        change(&mut spec);
        let gate = RankServer::open(spec, facts::without_fork(), &mut epoll).unwrap();
        FirstProcess { rank_server: gate, epoll, children: Vec::new(), events: Vec::new() }
    }

    /// The same with ranks that play these parts.
    fn with(parts: &[&str], size: u32) -> FirstProcess {
        FirstProcess::open(parts.len() as u32, size).playing(parts)
    }

    fn playing(mut self, parts: &[&str]) -> FirstProcess {
        for (local, part) in parts.iter().enumerate() {
            self.start(local, this_program(part));
        }
        self
    }

    /// Starts the program of a rank; its process.
    fn start(&mut self, local: usize, mut command: Command) -> i32 {
        let address = AgentAddress { rank: local as u32, socket: self.rank_server.socket().into() };
        command.env(ADDRESS_VARIABLE, address.encode()).env(RANK_VARIABLE, local.to_string());
        let tether = self.rank_server.loose_tether();
        let ends = tether.as_ref().map(Tether::ends);
        let options = SpawnOptions { leads: Leads::Group, tether: ends, ..SpawnOptions::default() };
        let child = spawn::spawn(&mut command, options).unwrap();
        let pid = child.id() as i32;
        self.rank_server.set_started(local, pid, tether);
        self.children.push(child);
        pid
    }

    /// Starts a shell for a rank, which runs `script` with this program as $0, its arguments as $@.
    fn start_shell(&mut self, local: usize, script: &str) -> i32 {
        let again = this_program("");
        let mut shell = Command::new("sh");
        shell.args(["-c", script]).arg(again.get_program()).args(again.get_args());
        self.start(local, {
            shell.stdin(Stdio::piped()).stdout(Stdio::null()).env_remove(PART);
            shell
        })
    }

    /// One turn of the first process's loop, at the time `now_ns`.
    fn turn_at(&mut self, now_ns: u64) {
        let (FirstProcess { rank_server: gate, epoll, children, events }, mut happened) = (self, Vec::new());
        epoll.wait(&mut happened, Some(5)).unwrap();
        let mut ended = Vec::new();
        children.retain_mut(|child| {
            let status = child.try_wait().unwrap();
            ended.extend(status.map(|status| (child.id() as i32, ExitStatus::from_status(status.into_raw()))));
            status.is_none()
        });
        for event in happened {
            let source = EventSource::decode(event.token).expect("all descriptors are the rank server's");
            gate.handle_event(&mut CallContext { epoll, now_ns }, source);
        }
        gate.handle_reaped(&mut CallContext { epoll, now_ns }, &ended);
        gate.handle_timeout(&mut CallContext { epoll, now_ns });
        events.extend(std::iter::from_fn(|| gate.poll_event()));
    }

    fn turn(&mut self) {
        self.turn_at(clock::now_ns());
    }

    /// Continues until `is_wanted` is true of an event, and takes it and those before it.
    fn until(&mut self, what: &str, is_wanted: impl Fn(&RankEvent) -> bool) -> Vec<RankEvent> {
        let end = Instant::now() + TIMEOUT;
        loop {
            if let Some(at) = self.events.iter().position(&is_wanted) {
                return self.events.drain(..=at).collect();
            }
            assert!(Instant::now() < end, "{what} never came: {:?}", self.events);
            self.turn();
        }
    }

    fn until_joined(&mut self, wanted: u32) -> Vec<RankEvent> {
        self.until("a rank", |event| matches!(event, RankEvent::Joined { rank, .. } if *rank == wanted))
    }

    fn until_gone(&mut self, wanted: u32) -> Vec<RankEvent> {
        self.until("an end", |event| matches!(event, RankEvent::Gone { rank, .. } if *rank == wanted))
    }

    /// Continues until nothing of the job is left; returns what happened meanwhile.
    fn until_all_gone(&mut self) -> Vec<String> {
        let end = Instant::now() + TIMEOUT;
        while !self.rank_server.have_all_exited() {
            assert!(Instant::now() < end, "something is left: {:?}", self.events);
            self.turn();
        }
        words(&std::mem::take(&mut self.events))
    }

    /// Returns the next message to an in-process client; none once its connection is closed.
    fn next_message(&mut self, line: &SeqpacketSocket) -> Option<AgentMessage> {
        (0..3).for_each(|_| self.turn());
        let mut bytes = vec![0; MESSAGE_MAX];
        line.set_timeout(TIMEOUT.as_millis() as u64).unwrap();
        // A client that sends more than is received gets a connection reset first, and then its reply.
        let received = line.receive(&mut bytes);
        let received = received.or_else(|error| match error.kind() {
            ErrorKind::ConnectionReset => line.receive(&mut bytes),
            _ => Err(error),
        });
        match received.unwrap() {
            (0, _) => None,
            (len, _) => AgentMessage::decode(&bytes[..len]),
        }
    }

    fn connect(&self, message: &AgentMessage) -> SeqpacketSocket {
        let line = SeqpacketSocket::connect(self.rank_server.socket()).unwrap();
        line.send(&message.encode(), None).unwrap();
        line
    }
}

fn hello(rank: u32) -> AgentMessage {
    AgentMessage::Hello { version: VERSION, rank, settings: String::new() }
}

/// Events without the parts that differ from run to run, one word each.
fn words(events: &[RankEvent]) -> Vec<String> {
    let word = |event: &RankEvent| match event {
        RankEvent::Joined { rank, .. } => format!("came {rank}"),
        RankEvent::Settings { rank, text } => format!("terms {rank} {}", text.replace('\n', " ")),
        RankEvent::BusinessCard { rank, card } => format!("card {rank} {}", String::from_utf8_lossy(card)),
        RankEvent::Reachability { rank, report: what } => format!("unanswered {rank} {} {}", what.peer, what.pairs),
        RankEvent::Left { rank } => format!("left {rank}"),
        RankEvent::Back { rank } => format!("back {rank}"),
        RankEvent::Ended { rank, ending, has_left, is_fault_pending: unclear } => {
            format!("ended {rank} {ending:?} {has_left} {unclear}")
        }
        RankEvent::Reaped { rank } => format!("reaped {rank}"),
        RankEvent::ExitedWithoutInit { rank, .. } => format!("absent {rank}"),
        RankEvent::Fault { rank, fault: what, .. } => format!("wrong {rank} {what:?}"),
        RankEvent::Gone { rank, code, .. } => format!("gone {rank} {code}"),
        RankEvent::InspectRequested { request: what, .. } => format!("asked {what:?}"),
        RankEvent::AcceptPaused { .. } => "resting".into(),
    };
    events.iter().map(word).collect()
}

#[test]
fn a_rank_comes_in_publishes_looks_up_and_leaves_in_this_order() {
    let mut first = FirstProcess::with(&["card:mine,silent:1,see:0:mine,see:1:theirs,child,left,back,left"], 2);
    assert!(first.rank_server.has_other_hosts());
    let come = first.until("a card", |event| matches!(event, RankEvent::BusinessCard { .. }));
    assert_eq!(words(&come), ["terms 0 test A=1", "came 0", "card 0 mine"]);
    let pid = first.rank_server.ranks()[0].pid();
    assert!(matches!(come[1], RankEvent::Joined { pid: named, .. } if named == pid));
    assert_eq!(first.rank_server.segment().rank(0).pid(), pid);
    assert_eq!(
        first.rank_server.segment().business_card(Peer(0)),
        None,
        "whoever leads the job has not said that all may see it"
    );
    first.rank_server.set_business_cards(&[(0, b"mine".to_vec()), (1, b"theirs".to_vec())]);
    let rest = first.until_gone(0);
    let ends = ["left 0", "back 0", "left 0", "ended 0 InOrder true false", "reaped 0", "gone 0 0"];
    assert_eq!(words(&rest), [&["unanswered 0 1 eth0"][..], &ends].concat());
    assert!(first.rank_server.have_all_exited() && first.rank_server.segment().exit_log().has_ended(Peer(0)));
    assert!(
        !first.rank_server.segment().exit_log().has_failed(Peer(0)) && !first.rank_server.segment().all_finalized()
    );
}

#[test]
fn that_all_have_left_is_believed_only_if_no_rank_has_come_back_since() {
    let mut first = FirstProcess::with(&["left", "left,back,left,all-left,back,left"], 3);
    let mut left = 0;
    while left < 3 {
        first.until("a departure", |event| matches!(event, RankEvent::Left { .. }));
        left += 1;
    }
    first.rank_server.set_all_left(2);
    assert!(!first.rank_server.segment().all_finalized(), "one has been back");
    first.rank_server.set_all_left(3);
    assert!(first.rank_server.segment().all_finalized());
    first.until("a return", |event| matches!(event, RankEvent::Back { .. }));
    assert!(!first.rank_server.segment().all_finalized());
    first.until_all_gone();
}

#[test]
fn an_end_is_seen_by_the_ranks_here_and_told_before_what_was_wrong() {
    // Rank 2 is on another host.
    let mut first = FirstProcess::with(&["kill", "failed:0,failed:2,left"], 3);
    let end = first.until_gone(0);
    let end: Vec<RankEvent> =
        end.into_iter().filter(|event| words(std::slice::from_ref(event))[0].contains(" 0")).collect();
    assert_eq!(
        words(&end)[words(&end).len() - 4..],
        [
            "ended 0 Failed false true",
            "reaped 0",
            "wrong 0 Fault(Killed { signal: 9, core_dumped: false })",
            "gone 0 137"
        ]
    );
    first.rank_server.record_exits([(2, ExitKind::Failed), (0, ExitKind::Failed)]);
    let rest = words(&first.until_gone(1));
    assert_eq!(rest[rest.len() - 4..], ["left 1", "ended 1 InOrder true false", "reaped 1", "gone 1 0"]);
}

#[test]
fn what_a_process_said_before_it_was_reaped_is_heard_before_its_end() {
    let mut first = FirstProcess::open(2, 3);
    first.start(0, this_program("failed:2,left"));
    first.until_joined(0);
    // From now on neither the listener nor the connection is polled.
    first.start(1, this_program("call"));
    first.rank_server.record_exits([(2, ExitKind::Failed)]);
    let ended: Vec<(i32, ExitStatus)> = first
        .children
        .drain(..)
        .map(|mut child| (child.id() as i32, ExitStatus::from_status(child.wait().unwrap().into_raw())))
        .collect();
    first.rank_server.handle_reaped(&mut CallContext { epoll: &mut first.epoll, now_ns: clock::now_ns() }, &ended);
    let events: Vec<RankEvent> = std::iter::from_fn(|| first.rank_server.poll_event()).collect();
    let of = |rank: &str| words(&events).into_iter().filter(|word| word.contains(rank)).collect::<Vec<_>>();
    assert_eq!(of(" 0"), ["left 0", "ended 0 InOrder true false", "reaped 0", "gone 0 0"]);
    assert_eq!(of("came"), ["came 1"]);
    let killed = "wrong 1 Fault(Killed { signal: 9, core_dumped: false })";
    assert_eq!(of(" 1")[1..], ["ended 1 Failed false true", "reaped 1", killed, "gone 1 137"]);
}

#[test]
fn on_one_host_all_have_left_once_those_that_can_have_after_one_that_went_without() {
    let mut first = FirstProcess::open_as(2, 2, |spec| spec.continues_after_fault = true)
        .playing(&["exit:3", "failed:0,left,all-left"]);
    assert!(!first.rank_server.has_other_hosts());
    let end = words(&first.until_gone(0));
    assert!(end.contains(&"wrong 0 Fault(NoFinalize { code: 3 })".into()), "{end:?}");
    let rest = words(&first.until_gone(1));
    assert_eq!(rest.last().unwrap(), "gone 1 0");
    assert!(first.rank_server.segment().all_finalized());
}

/// Their output then would follow from the end of that one.
#[test]
fn none_leaves_a_job_that_is_ended_for_one_that_went_without() {
    for part in ["exit:3", "kill", "absent", "abort:3:it hurts"] {
        let mut first = FirstProcess::open_as(2, 2, |spec| spec.continues_after_fault = part.starts_with("abort"));
        first.start(1, this_program("left,stay"));
        first.until("a departure", |event| matches!(event, RankEvent::Left { rank: 1 }));
        first.start(0, this_program(part));
        let end = words(&first.until_gone(0));
        assert!(end.iter().any(|word| word.starts_with("wrong 0")), "{part}: {end:?}");
        assert!(!first.rank_server.segment().all_finalized(), "{part}");
    }
}

#[test]
fn a_program_that_ends_well_without_finalize_holds_nobody_up() {
    let mut first = FirstProcess::with(&["exit:0", "left,all-left"], 2);
    assert!(words(&first.until_gone(0)).contains(&"wrong 0 Fault(NoFinalize { code: 0 })".into()));
    first.until_gone(1);
    assert!(first.rank_server.segment().all_finalized());
}

#[test]
fn a_rank_that_aborts_is_heard_once_and_its_end_is_no_further_trouble() {
    let mut first = FirstProcess::with(&["abort:7:it hurts", "stay"], 2);
    let told = first.until("an abort", |event| matches!(event, RankEvent::Fault { .. }));
    assert_eq!(words(&told).last().unwrap(), "wrong 0 Aborted { code: 7, text: \"it hurts\" }");
    assert_eq!(first.rank_server.segment().rank(0).phase(), RankPhase::Aborted);
    while first.rank_server.ranks()[1].attached.is_none() {
        first.turn();
    }
    first.rank_server.begin_job_end(7);
    assert_eq!(first.rank_server.segment().abort_code(), Some(7));
    first.rank_server.signal_all(SIGKILL);
    let told = first.until_all_gone();
    assert_eq!(told.iter().filter(|word| word.starts_with("wrong 0")).count(), 0, "{told:?}");
    // Others act on an end before its fault is reported: for rank 0 there will be no report.
    assert!(told.contains(&"ended 0 Failed false false".into()), "{told:?}");
    assert!(told.contains(&"ended 1 Failed false true".into()), "{told:?}");
}

#[test]
fn a_rank_below_a_shell_is_known_by_its_own_process() {
    let mut first = FirstProcess::open(1, 1);
    let shell = first.start_shell(0, "GATE_TEST_PART=kill \"$0\" \"$@\"; exit $?");
    first.until_joined(0);
    let pid = first.rank_server.ranks()[0].pid();
    assert!(pid != shell);
    let end = first.until_gone(0);
    let wrong = end.iter().find_map(|event| match event {
        RankEvent::Fault { pid, fault: what, .. } => Some((*pid, what.clone())),
        _ => None,
    });
    assert_eq!(wrong, Some((pid, RankFault::Fault(ExitFault::Killed { signal: 9, core_dumped: false }))));
    assert_eq!(words(&end)[0], "ended 0 Failed false true");
}

#[test]
fn ranks_and_what_was_started_for_them_end_with_the_gate() {
    let (mut first, mut other) = (FirstProcess::open(1, 1), FirstProcess::open(1, 1));
    // It is in no process group that this test has started.
    first.start_shell(0, "GATE_TEST_PART=stay setsid \"$0\" \"$@\"; sleep 600");
    first.until_joined(0);
    let rank = pidfd::open(first.rank_server.ranks()[0].pid()).unwrap();
    std::mem::swap(&mut first.rank_server, &mut other.rank_server);
    assert!(!pidfd::has_ended(rank.as_fd()));
    drop(other);
    assert_eq!(first.children[0].wait().unwrap().signal(), Some(SIGKILL));
    let has_ended = (0..10_000).any(|_| {
        host::sleep_ms(1);
        pidfd::has_ended(rank.as_fd())
    });
    let _ = pidfd::signal(rank.as_fd(), SIGKILL);
    assert!(has_ended);
}

#[test]
fn a_program_that_says_nothing_of_its_rank_is_waited_for_and_not_for_ever() {
    let mut first = FirstProcess::open(1, 1);
    // No parent reaps the rank, so the kernel has no status either.
    first.start_shell(0, "GATE_TEST_PART=kill \"$0\" \"$@\" & exec sleep 600");
    let end = words(&first.until("the end", |event| matches!(event, RankEvent::Ended { .. })));
    assert_eq!(end, ["terms 0 test A=1", "came 0", "ended 0 Failed false true"]);
    assert!(first.events.is_empty() && first.rank_server.deadline_ns().is_some(), "{:?}", first.events);
    first.turn_at(clock::now_ns() + LATER_NS);
    assert_eq!(words(&std::mem::take(&mut first.events)), ["wrong 0 Fault(EndUnknown)"]);
    assert!(first.rank_server.deadline_ns().is_none() && !first.rank_server.have_all_exited(), "the program goes on");
}

#[test]
fn a_program_beside_the_rank_is_refused() {
    let mut first = FirstProcess::open(1, 1);
    let script = "GATE_TEST_PART=stay \"$0\" \"$@\" & read x; GATE_TEST_PART=refused \"$0\" \"$@\"; test $? = 5";
    first.start_shell(0, script);
    first.until_joined(0);
    first.children[0].stdin.as_mut().unwrap().write_all(b"\n").unwrap();
    while !first.children.is_empty() {
        first.turn();
    }
    // The shell ended well; the rank lives on, so nothing has been reported of its end.
    assert_eq!(first.rank_server.ranks()[0].child_status, Some(ExitStatus::Exited(0)));
    assert_eq!(words(&std::mem::take(&mut first.events)), ["reaped 0"]);
    first.rank_server.kill_attached();
    let end = first.until_all_gone();
    assert!(end.contains(&"ended 0 Failed false true".into()), "{end:?}");
}

#[test]
fn a_rank_that_never_comes_is_missed_once_another_one_has_come() {
    let mut first = FirstProcess::open(2, 3);
    first.start(0, this_program("absent"));
    let absent = words(&first.until_gone(0));
    assert_eq!(absent, ["reaped 0", "absent 0", "gone 0 0"]);
    first.start(1, this_program("failed:0,left"));
    let missed = words(&first.until("what is wrong", |event| matches!(event, RankEvent::Fault { .. })));
    assert_eq!(missed, ["terms 1 test A=1", "came 1", "ended 0 Failed false true", "wrong 0 NoInit"]);
    first.until_gone(1);
}

#[test]
fn in_a_job_that_is_being_ended_nobody_is_missed() {
    let mut first = FirstProcess::with(&["absent", "stay"], 3);
    first.rank_server.begin_job_end(1);
    let (mut gone, mut came) = (false, false);
    while !(gone && came) {
        first.turn();
        gone |= first.events.iter().any(|event| matches!(event, RankEvent::Gone { rank: 0, .. }));
        came |= first.events.iter().any(|event| matches!(event, RankEvent::Joined { rank: 1, .. }));
    }
    assert!(!first.events.iter().any(|event| matches!(event, RankEvent::Fault { .. })), "{:?}", first.events);
    first.rank_server.signal_all(SIGKILL);
}

#[test]
fn ranks_with_unlike_terms_are_told_apart_and_the_second_gets_no_answer() {
    let mut first = FirstProcess::open(2, 2);
    first.start(0, this_program("A=1,stay"));
    first.until_joined(0);
    first.start(1, this_program("A=2,stay"));
    let unlike = first.until("a difference", |event| matches!(event, RankEvent::Fault { .. }));
    let Some(RankEvent::Fault { rank: 1, fault: RankFault::SettingsDiffer { text }, .. }) = unlike.last() else {
        panic!("{unlike:?}")
    };
    assert!(text.starts_with("A is 1 for rank 0 on host here and 2 for rank 1 on host here"), "{text}");
    (0..20).for_each(|_| first.turn());
    assert!(first.events.is_empty() && first.rank_server.ranks()[1].attached.is_none(), "{:?}", first.events);
    first.rank_server.begin_job_end(1);
    first.rank_server.signal_all(SIGKILL);
    let ends = first.until_all_gone();
    assert!(!ends.iter().any(|word| word.starts_with("wrong 1")), "{ends:?}");
}

#[test]
fn strangers_are_answered_or_hung_up_on_and_leave_no_trace() {
    let mut first = FirstProcess::open(1, 2);
    let mut refused = |message: &AgentMessage| {
        let line = first.connect(message);
        let answer = first.next_message(&line);
        assert_eq!(first.next_message(&line), None, "{message:?}");
        answer
    };
    let Some(AgentMessage::Refused(text)) = refused(&hello(7)) else { panic!("rank 7 was accepted") };
    assert!(text.starts_with("there is no rank 7 on host here"), "{text}");
    // Rank 1 is on another host.
    assert!(matches!(refused(&hello(1)), Some(AgentMessage::Refused(_))));
    let old = AgentMessage::Hello { version: VERSION - 1, rank: 0, settings: String::new() };
    assert!(matches!(refused(&old), Some(AgentMessage::Refused(text)) if text.contains("uses version")));
    // Notifications of ranks from a client that is no rank.
    for message in [
        AgentMessage::Finalize,
        AgentMessage::BusinessCard(Vec::new()),
        AgentMessage::Abort { code: 1, text: String::new() },
    ] {
        assert_eq!(refused(&message), None);
    }
    let rubbish = SeqpacketSocket::connect(first.rank_server.socket()).unwrap();
    rubbish.send(&[255; 9], None).unwrap();
    assert_eq!(first.next_message(&rubbish), None);
    assert!(first.events.is_empty() && first.rank_server.ranks()[0].attached.is_none(), "{:?}", first.events);
}

#[test]
fn a_tool_is_answered_once_and_may_be_gone() {
    let mut first = FirstProcess::open(1, 2);
    let line = first.connect(&AgentMessage::Inspect(InspectRequest::Report));
    (0..50).for_each(|_| line.send(&AgentMessage::Inspect(InspectRequest::Stats).encode(), None).unwrap());
    let asked = first.until("a question", |event| matches!(event, RankEvent::InspectRequested { .. }));
    let Some(RankEvent::InspectRequested { client: caller, request: InspectRequest::Report }) = asked.last() else {
        panic!("{asked:?}")
    };
    first.rank_server.reply_to_client(*caller, "all is well");
    assert_eq!(first.next_message(&line), Some(AgentMessage::Text("all is well\n".into())));
    assert!(first.events.is_empty(), "its end of the connection is closed: {:?}", first.events);
    first.rank_server.reply_to_client(*caller, "still");
    assert_eq!(first.rank_server.deadline_ns(), None, "no client is left for a report");
}

#[test]
fn a_rank_whose_connection_is_closed_is_read_from_its_page() {
    // This process is the rank, and would end with its tether.
    let mut first = FirstProcess::open_as(1, 3, |spec| spec.has_tethers = false);
    let line = first.connect(&hello(0));
    let Some(AgentMessage::Welcome(welcome)) = first.next_message(&line) else { panic!("it was not accepted") };
    let expected = Welcome { size: 3, local_size: 1, program_size: 3, universe: 3, ..Welcome::default() };
    assert_eq!(welcome, expected);
    // Its further messages on a closed connection are not received.
    line.send(&AgentMessage::BusinessCard(vec![0; BUSINESS_CARD_MAX + 1]).encode(), None).unwrap();
    assert_eq!(first.next_message(&line), None);
    let page = first.rank_server.segment().rank(0);
    let silent = UnreachablePeer { peer: 2, was_open: true, pairs: "eth0".into() };
    page.network_status().write(&NetworkStatus { unreachable: vec![silent], ..NetworkStatus::default() });
    page.set_phase(RankPhase::Finalized);
    assert!(first.rank_server.deadline_ns().is_some());
    assert_eq!(words(&std::mem::take(&mut first.events)), ["came 0"]);
    first.turn_at(clock::now_ns() + LATER_NS);
    let said = words(&std::mem::take(&mut first.events));
    assert_eq!(said, ["left 0", "unanswered 0 2 eth0"]);
}
