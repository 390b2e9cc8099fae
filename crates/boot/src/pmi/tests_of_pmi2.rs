//! Tests of the client of version 2: against a script, and against servers of the two kinds that there are, of which
//! one waits in a fence, and the other in a get.

use super::{error_of, hydra, open, read_request, serve};
use crate::pmi::{PmiPlace, Version};
use crate::pmi_interface::JobPlace;
use std::collections::HashMap;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc;
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// The reply of a server to the line of `init`.
const ACCEPTED: &str = "cmd=response_to_init rc=0 pmi_version=2 pmi_subversion=0\n";

fn framed(words: &str) -> String {
    format!("{:<6}{words}", words.len())
}

/// The command of a request.
fn command(request: &str) -> &str {
    request.strip_prefix("cmd=").unwrap().split([' ', ';']).next().unwrap()
}

/// The value of a word of a request.
fn value<'a>(request: &'a str, name: &str) -> &'a str {
    request.split(';').find_map(|word| word.strip_prefix(name)?.strip_prefix('=')).unwrap_or_default()
}

/// The replies of Slurm to a job of four processes on two nodes, with all keys of fences.
fn slurm(request: &str) -> Option<String> {
    Some(framed(match (command(request), value(request, "key")) {
        ("init", _) => return Some(ACCEPTED.into()),
        // There is no reply to a request that ends the job.
        ("abort", _) => return Some(String::new()),
        ("fullinit", _) => {
            "cmd=fullinit-response;rc=0;pmi-version=2;pmi-subversion=0;rank=2;size=4;appnum=-1;debugged=FALSE;"
        }
        ("job-getid", _) => "cmd=job-getid-response;rc=0;jobid=7.0;",
        ("info-getjobattr", "PMI_process_mapping") => {
            "cmd=info-getjobattr-response;rc=0;found=TRUE;value=(vector,(0,2,2));"
        }
        ("info-getjobattr", "universeSize") => "cmd=info-getjobattr-response;rc=0;found=TRUE;value=4;",
        ("kvs-put", _) => "cmd=kvs-put-response;rc=0;",
        ("kvs-fence", _) => "cmd=kvs-fence-response;rc=0;",
        ("kvs-get", "theirs-3-0") => "cmd=kvs-get-response;rc=0;found=TRUE;value=2:12;",
        ("kvs-get", "theirs-3-1") => "cmd=kvs-get-response;rc=0;found=TRUE;value=3456;",
        ("kvs-get", "odd-3-0") => "cmd=kvs-get-response;rc=0;found=TRUE;value=1:12;;;",
        ("kvs-get", "gone-3-0") => "cmd=kvs-get-response;rc=1;",
        ("kvs-get", "flagged-3-0") => "cmd=kvs-get-response;flag=false;value=1:12;rc=0;",
        ("kvs-get", key) if key.starts_with("hawser-all") => "cmd=kvs-get-response;rc=0;found=TRUE;value=1;",
        ("kvs-get", _) => "cmd=kvs-get-response;rc=0;found=FALSE;",
        ("finalize", _) => "cmd=finalize-response;rc=0;",
        other => panic!("{other:?}"),
    }))
}

#[test]
fn a_process_learns_its_place_and_exchanges_values() {
    let (stream, server) = serve(slurm);
    let mut pmi = open(&stream, Version::Two).unwrap();
    let job_name = "7.0".to_owned();
    assert_eq!(*pmi.place(), JobPlace { rank: 2, size: 4, job_name, appnum: None, universe_size: Some(4) });
    assert_eq!(pmi.nodes().unwrap(), Some(vec![0, 0, 1, 1]));
    pmi.put("mine", &[0xff; 1000]).unwrap();
    pmi.publish(10).unwrap();
    assert_eq!(pmi.get(3, "theirs", 10).unwrap(), [0x12, 0x34, 0x56]);
    for key in ["other", "gone", "flagged"] {
        let text = pmi.get(3, key, 10).unwrap_err().cause().to_owned();
        assert!(text.contains(&format!("does not know {key}-3-0 after a fence")), "{text}");
    }
    let text = pmi.get(3, "odd", 10).unwrap_err().cause().to_owned();
    assert!(text.contains("has changed the value of odd-3"), "{text}");
    pmi.abort_fn()(7);
    pmi.finalize();
    drop((pmi, stream));
    let asked = server.join().unwrap();
    assert_eq!(asked[0], "cmd=init pmi_version=2 pmi_subversion=0");
    assert_eq!(asked[1], "cmd=fullinit;pmijobid=7.0;pmirank=2;threaded=FALSE;");
    let puts: Vec<&String> = asked.iter().filter(|request| value(request, "key").starts_with("mine")).collect();
    assert!(puts[0].starts_with("cmd=kvs-put;key=mine-2-0;value=2:ff"), "{}", puts[0]);
    assert_eq!(puts.iter().map(|request| request.matches("ff").count()).sum::<usize>(), 1000);
    assert!(puts.len() == 2 && puts.iter().all(|put| value(put, "value").len() <= 1023), "{puts:?}");
    assert!(asked.contains(&"cmd=kvs-get;jobid=7.0;srcid=3;key=theirs-3-0;".to_owned()));
    assert_eq!(asked[asked.len() - 2..], ["cmd=abort;isworld=TRUE;exitcode=7;", "cmd=finalize;"]);
}

#[test]
fn version_2_follows_a_refusal_of_1_on_the_same_connection() {
    for refusal in ["rc=-1 pmi_version=2 pmi_subversion=0", "pmi_version=2 pmi_subversion=0 rc=0"] {
        let (stream, server) = serve(move |request| match command(request) {
            "init" => Some(format!("cmd=response_to_init {refusal}\n")),
            _ => slurm(request),
        });
        assert_eq!(open(&stream, Version::One).unwrap().place().size, 4);
        drop(stream);
        let asked = server.join().unwrap();
        assert_eq!(asked[0], "cmd=init pmi_version=1 pmi_subversion=1");
        assert!(asked[1].starts_with("cmd=fullinit;"), "{asked:?}");
    }
    // A server that does not go on there is named with the remedy.
    let (stream, _server) = serve(|request| {
        let refusal = "cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=-1\n";
        request.starts_with("cmd=init").then(|| refusal.to_owned())
    });
    let text = error_of(&stream, Version::One);
    for named in ["refuses version 1 (code -1)", "(fullinit: the connection has ended)", "set HAWSER_PMI=2"] {
        assert!(text.contains(named), "{text}");
    }
}

#[test]
fn a_server_that_refuses_version_2_is_named_in_one_line() {
    let other_init = |reply: &'static str| {
        serve(move |request| if command(request) == "init" { Some(reply.into()) } else { slurm(request) }).0
    };
    for (reply, named) in [
        ("cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n", "refuses version 2 (it has version 1)"),
        ("cmd=response_to_init rc=-1 pmi_version=1 pmi_subversion=1\n", "refuses version 2 (code -1)"),
        ("cmd=response_to_init rc=1 pmi_version=2 pmi_subversion=0 msg=no more\n", "refuses version 2 (no more)"),
    ] {
        let text = error_of(&other_init(reply), Version::Two);
        assert!(text.contains(named) && text.contains("unset HAWSER_PMI"), "{text}");
    }
}

#[test]
fn a_server_that_ends_or_talks_otherwise_is_named_in_one_line() {
    for (at, reply, named) in [
        ("fullinit", None, "(PMI 2: fullinit: the connection has ended)"),
        ("fullinit", Some(framed("cmd=kick;")), "replies \"kick\" instead of \"fullinit-response\""),
        (
            "fullinit",
            Some("cmd=fullinit-response rc=0\n".into()),
            "no message of PMI 2: \"cmd=fu\" in place of a length",
        ),
        ("fullinit", Some("999999cmd=x;".into()), "no message of PMI 2: \"999999\" in place of a length"),
        ("fullinit", Some(framed("hello")), "no message of PMI 2: \"5     hello\""),
        ("fullinit", Some(framed("cmd=fullinit-response;rc=3;errmsg=a;;b;")), "refuses a request (fullinit: a;b)"),
        ("job-getid", Some(framed("cmd=job-getid-response;rc=0;")), "(job-getid: the job has no name)"),
        ("job-getid", Some(framed("cmd=job-getid-response;rc=9;")), "refuses a request (job-getid: code 9)"),
        ("info-getjobattr", Some(framed("cmd=x;")), "(info-getjobattr universeSize: it replies \"x\""),
    ] {
        let rule = move |request: &str| if command(request) == at { reply.clone() } else { slurm(request) };
        let text = error_of(&serve(rule).0, Version::Two);
        assert!(text.contains(named) && text.contains("mpiexec"), "{text}");
    }
}

#[test]
fn a_fence_that_others_do_not_enter_ends_at_its_time() {
    for silent in ["kvs-fence", "kvs-get"] {
        let rule = move |request: &str| if command(request) == silent { Some(String::new()) } else { slurm(request) };
        let (stream, _server) = serve(rule);
        let error = open(&stream, Version::Two).unwrap().fence(1).unwrap_err();
        let text = error.cause();
        assert!(text.contains("not all 4 processes of the job have called MPI_Init within 1 s"), "{silent}: {text}");
    }
}

#[test]
fn the_job_is_ended_while_another_thread_waits() {
    for (first, fence) in [(Version::One, "barrier_in"), (Version::Two, "kvs-fence")] {
        let rule = if first == Version::One { hydra } else { slurm };
        let (in_fence, fence_is_entered) = mpsc::channel();
        let (stream, server) = serve(move |request| match command(request) {
            // The connection ends when the job does.
            "abort" => None,
            it if it == fence => {
                let _ = in_fence.send(());
                Some(String::new())
            }
            _ => rule(request),
        });
        let mut pmi = open(&stream, first).unwrap();
        let abort = pmi.abort_fn();
        let waiting = thread::spawn(move || pmi.fence(60));
        fence_is_entered.recv().unwrap();
        abort(7);
        assert!(waiting.join().unwrap().unwrap_err().cause().contains("the connection has ended"));
        let asked = server.join().unwrap();
        assert!(asked.iter().any(|request| command(request) == fence), "{asked:?}");
        assert!(asked.last().unwrap().contains("exitcode=7"), "{asked:?}");
    }
}

/// The kinds of servers.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    /// Slurm's, which waits in a fence.
    Fence,
    /// MPICH's, which waits in a get until the key is there or all have sent as many fences as its process.
    Get,
    /// MPICH's in a job of several hosts, which never finds that all have sent as many fences.
    GetForEver,
}

/// The state of a server of several processes.
#[derive(Default)]
struct Kept {
    put: HashMap<String, String>,
    /// The number of fences that each process has sent.
    fences: [u32; SIZE as usize],
}

/// The number of its processes.
const SIZE: u32 = 3;

/// The reply to a request of `rank`; the others are those of Slurm.
fn kept(kind: Kind, rank: u32, kept: &(Mutex<Kept>, Condvar), request: &str) -> Option<String> {
    let (state, changed) = kept;
    let mut state = state.lock().unwrap();
    changed.notify_all();
    match command(request) {
        "kvs-put" => _ = state.put.insert(value(request, "key").into(), value(request, "value").into()),
        "kvs-fence" => {
            state.fences[rank as usize] += 1;
            let number = state.fences[rank as usize];
            let is_over = |state: &mut Kept| state.fences.iter().all(|&fences| fences >= number);
            drop(changed.wait_while(state, |state| kind == Kind::Fence && !is_over(state)).unwrap());
        }
        "kvs-get" => {
            let key = value(request, "key");
            let number = state.fences[rank as usize];
            assert!(number > 0, "MPICH's server fails at a get before a fence");
            let is_over = |state: &Kept| match kind {
                Kind::Fence => true,
                Kind::Get => state.fences.iter().all(|&fences| fences >= number),
                Kind::GetForEver => false,
            };
            state = changed.wait_while(state, |state| !state.put.contains_key(key) && !is_over(state)).unwrap();
            let reply = match state.put.get(key) {
                Some(value) => format!("cmd=kvs-get-response;rc=0;found=TRUE;value={value};"),
                None => "cmd=kvs-get-response;rc=1;".into(),
            };
            return Some(framed(&reply));
        }
        _ => {}
    }
    slurm(request)
}

/// Starts a server of SIZE processes, and returns their connections.
fn serve_all(kind: Kind) -> (Vec<UnixStream>, Vec<JoinHandle<()>>) {
    let state = Arc::new((Mutex::new(Kept::default()), Condvar::new()));
    let process = |rank| {
        let (client, mut server) = UnixStream::pair().unwrap();
        let state = state.clone();
        let serve = move || {
            while let Some(request) = read_request(&mut server) {
                let reply = kept(kind, rank, &state, &request).unwrap();
                server.write_all(reply.as_bytes()).unwrap();
            }
        };
        (client, thread::spawn(serve))
    };
    (0..SIZE).map(process).unzip()
}

#[test]
fn no_process_passes_a_fence_before_all_have_come() {
    for kind in [Kind::Fence, Kind::Get, Kind::GetForEver] {
        let (streams, servers) = serve_all(kind);
        let come = AtomicUsize::new(0);
        let process = |rank: u32, stream: UnixStream| {
            let place = PmiPlace { fd: stream.as_raw_fd(), rank, size: SIZE };
            let mut pmi = crate::pmi::open(place, Version::Two, |_| None).unwrap();
            for number in 1..=6 {
                // Another one is the last to come each time.
                thread::sleep(Duration::from_millis(u64::from((rank + number) % SIZE) * 20));
                pmi.put(&format!("card-{number}"), &[rank as u8; 600]).unwrap();
                come.fetch_add(1, SeqCst);
                pmi.fence(60).unwrap();
                assert!(come.load(SeqCst) >= (SIZE * number) as usize, "{kind:?}: fence {number}");
                for other in 0..SIZE {
                    let card = pmi.get(other, &format!("card-{number}"), 60).unwrap();
                    assert_eq!(card, [other as u8; 600], "{kind:?}");
                }
            }
        };
        let process = &process;
        thread::scope(|scope| {
            for (rank, stream) in (0..).zip(streams) {
                scope.spawn(move || process(rank, stream));
            }
        });
        servers.into_iter().for_each(|server| server.join().unwrap());
    }
}
