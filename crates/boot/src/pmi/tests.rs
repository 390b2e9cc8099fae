//! Tests of the choice of a version, and of the client of version 1, against a server in a thread, which knows the
//! protocol and nothing of the client.

use super::*;
use crate::pmi_interface::JobPlace;
use std::collections::HashMap;
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::thread::{self, JoinHandle};

#[path = "tests_of_pmi2.rs"]
mod of_pmi2;

/// Reads a request: a line, without its end, or the words of a frame. None at the end of the connection.
pub(super) fn read_request(server: &mut UnixStream) -> Option<String> {
    let mut begin = [0; 6];
    server.read_exact(&mut begin).ok()?;
    let mut text = String::from_utf8(begin.to_vec()).unwrap();
    if let Ok(len) = text.trim().parse() {
        let mut words = vec![0; len];
        server.read_exact(&mut words).unwrap();
        return Some(String::from_utf8(words).unwrap());
    }
    let mut byte = [0];
    while !text.ends_with('\n') {
        server.read_exact(&mut byte).unwrap();
        text.push(byte[0].into());
    }
    Some(text.trim_end().to_owned())
}

/// Replies to each request by the rule `reply`; the connection ends where that gives None. Returns what it was asked.
pub(super) fn serve(reply: impl Fn(&str) -> Option<String> + Send + 'static) -> (UnixStream, JoinHandle<Vec<String>>) {
    let (client, mut server) = UnixStream::pair().unwrap();
    let thread = thread::spawn(move || {
        let mut asked = Vec::new();
        while let Some(request) = read_request(&mut server) {
            asked.push(request.clone());
            match reply(&request) {
                Some(text) => server.write_all(text.as_bytes()).unwrap(),
                None => break,
            }
        }
        asked
    });
    (client, thread)
}

/// The replies of Hydra to a job of four processes on two nodes.
fn hydra(line: &str) -> Option<String> {
    let command = line.strip_prefix("cmd=").unwrap().split(' ').next().unwrap();
    let values = HashMap::from([
        ("init", "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0"),
        ("get_maxes", "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024"),
        ("get_appnum", "cmd=appnum appnum=1"),
        ("get_universe_size", "cmd=universe_size size=-1"),
        ("get_my_kvsname", "cmd=my_kvsname kvsname=kvs_7_0"),
        ("put", "cmd=put_result rc=0 msg=success"),
        ("barrier_in", "cmd=barrier_out"),
        ("finalize", "cmd=finalize_ack"),
    ]);
    let got = match line.rsplit_once("key=") {
        Some((_, "PMI_process_mapping")) => "cmd=get_result rc=0 msg=success value=(vector,(0,2,2))",
        Some((_, "theirs-3-0")) => "cmd=get_result rc=0 msg=success value=2:12",
        Some((_, "theirs-3-1")) => "cmd=get_result rc=0 msg=success value=3456",
        Some((_, "odd-3-0")) => "cmd=get_result rc=0 msg=success value=1:123",
        _ => "cmd=get_result rc=-1 msg=key_not_found value=unknown",
    };
    // There is no reply to a request that ends the job.
    Some(if command == "abort" { String::new() } else { format!("{}\n", values.get(command).copied().unwrap_or(got)) })
}

pub(super) fn open(stream: &UnixStream, first: Version) -> Result<Box<dyn LauncherServer>> {
    let place = PmiPlace { fd: stream.as_raw_fd(), rank: 2, size: 4 };
    super::open(place, first, |variable| (variable == "PMI_JOBID").then(|| "7.0".into()))
}

pub(super) fn error_of(stream: &UnixStream, first: Version) -> String {
    let text = open(stream, first).err().unwrap().cause().to_owned();
    assert!(!text.contains('\n'), "{text}");
    text
}

#[test]
fn a_process_learns_its_place_and_exchanges_values() {
    let (stream, server) = serve(hydra);
    let mut pmi = open(&stream, Version::One).unwrap();
    let job_name = "kvs_7_0".to_owned();
    assert_eq!(*pmi.place(), JobPlace { rank: 2, size: 4, job_name, appnum: Some(1), universe_size: None });
    assert_eq!(pmi.nodes().unwrap(), Some(vec![0, 0, 1, 1]));
    pmi.put("mine", &[0xff; 1000]).unwrap();
    pmi.publish(10).unwrap();
    assert_eq!(pmi.get(3, "theirs", 10).unwrap(), [0x12, 0x34, 0x56]);
    let text = pmi.get(3, "other", 10).unwrap_err().cause().to_owned();
    assert!(text.contains("does not know other-3-0 after a fence"), "{text}");
    let text = pmi.get(3, "odd", 10).unwrap_err().cause().to_owned();
    assert!(text.contains("has changed the value of odd-3"), "{text}");
    pmi.abort_fn()(7);
    pmi.finalize();
    drop((pmi, stream));
    let asked = server.join().unwrap();
    assert_eq!(asked[0], "cmd=init pmi_version=1 pmi_subversion=1");
    let puts: Vec<&String> = asked.iter().filter(|line| line.starts_with("cmd=put ")).collect();
    assert!(puts[0].starts_with("cmd=put kvsname=kvs_7_0 key=mine-2-0 value=3:ff"), "{}", puts[0]);
    assert_eq!(puts.iter().map(|line| line.matches("ff").count()).sum::<usize>(), 1000);
    assert!(puts.len() == 3 && puts[2].contains("key=mine-2-2 "), "{}", puts[2]);
    assert!(puts[..2].iter().all(|line| (850..1024).contains(&line.len())), "{puts:?}");
    assert_eq!(asked[asked.len() - 2..], ["cmd=abort exitcode=7", "cmd=finalize"]);
}

#[test]
fn a_server_that_ends_or_talks_otherwise_is_named_in_one_line() {
    for (reply, named) in [
        (None, "the connection has ended"),
        (Some("cmd=kick\n"), "instead of \"response_to_init\""),
        (Some("hello\n"), "no message of PMI: \"hello\""),
        (Some("cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=-1\n"), "refuses a request (init: code -1)"),
        (Some("cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=ERR\n"), "refuses a request (init: code ERR)"),
    ] {
        let (stream, _server) = serve(move |_| reply.map(str::to_owned));
        let text = error_of(&stream, Version::One);
        assert!(text.contains(named) && text.contains("mpiexec"), "{text}");
    }
    let error = super::open(PmiPlace { fd: 999_999, rank: 0, size: 2 }, Version::One, |_| None).err().unwrap();
    assert!(error.cause().contains("PMI_FD: 999999: Bad file descriptor"), "{}", error.cause());
}

#[test]
fn a_fence_that_others_do_not_enter_ends_at_its_time() {
    let (stream, _server) =
        serve(|line| Some(if line == "cmd=barrier_in" { String::new() } else { hydra(line).unwrap() }));
    let error = open(&stream, Version::One).unwrap().fence(1).unwrap_err();
    assert!(
        error.cause().contains("not all 4 processes of the job have called MPI_Init within 1 s"),
        "{}",
        error.cause()
    );
}
