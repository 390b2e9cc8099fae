//! Tests of the client against a server in a thread, which knows the lines of the protocol and nothing of the client.

use super::*;
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::thread::{self, JoinHandle};

/// Replies to each line by the rule `reply`; the connection ends where that gives None. Returns what it was asked.
fn serve(reply: impl Fn(&str) -> Option<String> + Send + 'static) -> (UnixStream, JoinHandle<Vec<String>>) {
    let (client, server) = UnixStream::pair().unwrap();
    let thread = thread::spawn(move || {
        let mut asked = Vec::new();
        let mut out = server.try_clone().unwrap();
        for line in BufReader::new(server).lines().map_while(|line| line.ok()) {
            asked.push(line.clone());
            match reply(&line) {
                Some(text) => out.write_all(text.as_bytes()).unwrap(),
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

fn open(stream: &UnixStream) -> Result<PmiConnection> {
    PmiConnection::open(PmiPlace { fd: stream.as_raw_fd(), rank: 2, size: 4 })
}

#[test]
fn a_process_learns_its_place_and_exchanges_values() {
    let (stream, server) = serve(hydra);
    let mut pmi = open(&stream).unwrap();
    let job_name = "kvs_7_0".to_owned();
    assert_eq!(*pmi.place(), JobPlace { rank: 2, size: 4, job_name, appnum: Some(1), universe_size: None });
    assert!(pmi.value_max > 800 && pmi.value_max <= 1024);
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
    assert_eq!(asked[asked.len() - 2..], ["cmd=abort exitcode=7", "cmd=finalize"]);
}

#[test]
fn a_server_that_ends_or_talks_otherwise_is_named_in_one_line() {
    for (reply, named) in [
        (None, "the connection has ended"),
        (Some("cmd=kick\n"), "instead of \"response_to_init\""),
        (Some("hello\n"), "no message of PMI"),
        (Some("cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=-1\n"), "refuses a request (init: code -1)"),
        (Some("cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=ERR\n"), "refuses a request (init: code ERR)"),
    ] {
        let (stream, _server) = serve(move |_| reply.map(str::to_owned));
        let error = open(&stream).err().unwrap();
        let text = error.cause();
        assert!(text.contains(named) && text.contains("mpiexec") && !text.contains('\n'), "{text}");
    }
    let error = PmiConnection::open(PmiPlace { fd: 999_999, rank: 0, size: 2 }).err().unwrap();
    assert!(error.cause().contains("PMI_FD: 999999: Bad file descriptor"), "{}", error.cause());
}

#[test]
fn a_fence_that_others_do_not_enter_ends_at_its_time() {
    let (stream, _server) =
        serve(|line| Some(if line == "cmd=barrier_in" { String::new() } else { hydra(line).unwrap() }));
    let error = open(&stream).unwrap().fence(1).unwrap_err();
    assert!(
        error.cause().contains("not all 4 processes of the job have called MPI_Init within 1 s"),
        "{}",
        error.cause()
    );
}

#[test]
fn variables_that_do_not_fit_are_an_error_with_the_remedy() {
    let of = |set: &[(&str, &str)]| {
        PmiPlace::from_environment(|asked| {
            set.iter().find(|(name, _)| *name == asked).map(|(_, value)| (*value).to_owned())
        })
    };
    let place = of(&[("PMI_FD", "6"), ("PMI_RANK", "1"), ("PMI_SIZE", "3")]).unwrap().unwrap();
    assert_eq!(place, PmiPlace { fd: 6, rank: 1, size: 3 });
    assert_eq!(of(&[("PMI_RANK", "1"), ("PMI_SIZE", "3")]).unwrap(), None);
    for (set, named) in [
        (&[("PMI_FD", "6"), ("PMI_SIZE", "3")][..], "PMI_RANK is not set"),
        (&[("PMI_FD", "6"), ("PMI_RANK", "3"), ("PMI_SIZE", "3")], "PMI_RANK is \"3\""),
        (&[("PMI_FD", "six"), ("PMI_RANK", "1"), ("PMI_SIZE", "3")], "PMI_FD is \"six\""),
        (&[("PMI_FD", "6"), ("PMI_RANK", "1")], "PMI_SIZE is not set"),
    ] {
        let error = of(set).unwrap_err();
        assert!(error.cause().contains(named) && error.cause().contains("unset PMI_FD"), "{}", error.cause());
    }
}
