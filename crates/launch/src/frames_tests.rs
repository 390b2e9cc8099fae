//! Tests of the frames between mpiexec and its agents: each comes back as it was encoded.

use super::*;
use crate::trouble::What;
use hawser_host::life::Fault;

fn ways() -> Ways {
    let silent = Silent { peer: 3, was_open: true, pairs: "a\nb".into() };
    Ways { gone: true, faults: "eth0".into(), silent: vec![silent.clone(), silent] }
}

fn bindings() -> Vec<Binding> {
    let units = [Unit::Thread, Unit::Core, Unit::Cache(3), Unit::Numa, Unit::Socket];
    let units = units.into_iter().map(|unit| Binding::Units { unit, count: 2 });
    units.chain([Binding::None, Binding::User(vec![vec![0, 2], vec![1]])]).collect()
}

fn downs() -> Vec<Down> {
    let app = App {
        ranks: 2,
        program: b"./a".to_vec(),
        args: vec![b"-x".to_vec(), vec![0xff]],
        path: b"/opt/bin:x".to_vec(),
        arch: "x86_64".into(),
        directory: b"/tmp".to_vec(),
        environment: vec![(b"A".to_vec(), b"b=c".to_vec())],
    };
    let job = HostJob {
        id: "7.x".into(),
        host: "far".into(),
        secret: Secret([7; 16]),
        size: 3,
        ranks: vec![(0, 0), (2, 0)],
        hosts: vec![0, 1, 0],
        apps: vec![app],
        directory: b"/".to_vec(),
        readers: vec![0, 2],
        stats: true,
        keeps: true,
        tuned: "date = 1;HAWSER_SPIN = 7;".into(),
        ..HostJob::default()
    };
    let starts = bindings().into_iter().map(|binding| Down::Start(Box::new(HostJob { binding, ..job.clone() })));
    let others = [
        Down::Input(b"line\n".to_vec()),
        Down::Signal(10),
        Down::Snapshot,
        Down::End { signal: 15, code: -1 },
        Down::Cards(vec![(1, vec![0xff]), (0, Vec::new())]),
        Down::AllFinalized { heard: 3 },
        Down::Ended(vec![RankEnd { rank: 3, failed: true }, RankEnd { rank: 0, failed: false }]),
        Down::Counts,
        Down::Info { ranks: 4, settings: vec![(b"A".to_vec(), b"1".to_vec())] },
    ];
    starts.chain(others).collect()
}

fn ups() -> Vec<Up> {
    let facts =
        Facts { cores: 2, process_vm: ProcessVm::Allowed, memcpy_mb_s: 3, membarrier: true, ..Facts::default() };
    let reason = Waiting {
        since_ns: 9,
        polled_ns: 2,
        call: "MPI_Recv".into(),
        peer: WaitPeer::Any,
        remote: Some(4),
        tag: Tag::Is(-1),
        ..Waiting::default()
    };
    let doings =
        [Doing::NotInit, Doing::Initializing, Doing::Computing, Doing::Waiting(reason), Doing::Finalized, Doing::Ended];
    let whats = [
        What::NotStarted { code: 127, text: "x".into() },
        What::Ended(Fault::Killed { signal: 9, core_dumped: true }),
        What::Ended(Fault::Exited { code: 1 }),
        What::Ended(Fault::NoFinalize { code: 0 }),
        What::Ended(Fault::EndUnknown),
        What::NoInit,
        What::Aborted { code: -3, text: "why".into() },
        What::OtherMpi { program: "p".into(), file: "f".into(), ours: "o".into() },
        What::Host { text: "no".into() },
        What::Unlike { text: "A".into() },
    ];
    let mut ups = vec![
        Up::Started { host: "vm".into(), facts, notes: vec!["note".into()] },
        Up::Output { rank: 1, stream: Stream::Err, bytes: vec![1, 2, 3] },
        Up::InputTaken(5),
        Up::RankEnded { rank: 1, pid: 2, code: 3 },
        Up::Snapshot(
            doings
                .into_iter()
                .map(|doing| RankState {
                    rank: 4,
                    pid: 5,
                    doing,
                    looks: 6,
                    changed: vec![("c".into(), 7)],
                    ways: ways(),
                })
                .collect(),
        ),
        Up::Counts(Counts {
            names: vec!["n".into()],
            ranks: vec![Counted { rank: 3, values: vec![u64::MAX], answers: "eth0".into() }],
        }),
        Up::Note("n".into()),
        Up::Finished { clean: true },
        Up::Ready { version: "1".into(), pid: 7 },
        Up::Card((3, b"card".to_vec())),
        Up::Attached,
        Up::Terms { rank: 3, text: "0.1.0\nA=1".into() },
        Up::Finalized,
        Up::Back,
        Up::Ended { end: RankEnd { rank: 3, failed: true }, has_left: false, unclear: true },
        Up::Ended { end: RankEnd { rank: 4, failed: false }, has_left: true, unclear: false },
        Up::Left { rank: 1, pid: 2 },
        Up::Info("i".into()),
        Up::Unanswered {
            rank: 3,
            what: Unanswered { peer: 1, hopeless: true, was_open: true, answers: true, pairs: "a\nb".into() },
        },
    ];
    ups.extend(whats.into_iter().map(|what| Up::Trouble(Trouble { rank: 1, pid: 2, what })));
    ups
}

#[test]
fn frames_come_back_as_sent_and_cut_ones_do_not_parse() {
    for down in downs() {
        let body = down.encode();
        assert!((0..body.len()).all(|len| Down::decode(&body[..len]).as_ref() != Some(&down)));
        assert_eq!(Down::decode(&body), Some(down));
    }
    for up in ups() {
        let body = up.encode();
        assert!((0..body.len()).all(|len| Up::decode(&body[..len]).as_ref() != Some(&up)));
        assert_eq!(Up::decode(&body), Some(up));
    }
}
