//! Tests of the frames between mpiexec and its agents: each comes back as it was encoded.

use super::*;
use crate::failure::FailureKind;
use hawser_host::rank_process::ExitFault;

fn network_status() -> NetworkStatus {
    let silent = UnreachablePeer { peer: 3, was_open: true, pairs: "a\nb".into() };
    NetworkStatus { is_cut_off: true, port_faults: "eth0".into(), unreachable: vec![silent.clone(), silent] }
}

fn bindings() -> Vec<Binding> {
    let units = [
        TopologyLevel::Thread,
        TopologyLevel::Core,
        TopologyLevel::Cache(3),
        TopologyLevel::Numa,
        TopologyLevel::Socket,
    ];
    let units = units.into_iter().map(|unit| Binding::Units { unit, count: 2 });
    units.chain([Binding::None, Binding::User(vec![vec![0, 2], vec![1]])]).collect()
}

fn to_agent_frames() -> Vec<ToAgent> {
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
        secret: JobSecret([7; 16]),
        size: 3,
        ranks: vec![(0, 0), (2, 0)],
        hosts: vec![0, 1, 0],
        apps: vec![app],
        directory: b"/".to_vec(),
        readers: vec![0, 2],
        stats: true,
        continues_after_fault: true,
        profile_line: "date = 1;HAWSER_SPIN = 7;".into(),
        ..HostJob::default()
    };
    let starts = bindings().into_iter().map(|binding| ToAgent::Start(Box::new(HostJob { binding, ..job.clone() })));
    let others = [
        ToAgent::Input(b"line\n".to_vec()),
        ToAgent::Signal(10),
        ToAgent::Snapshot,
        ToAgent::End { signal: 15, code: -1 },
        ToAgent::BusinessCards(vec![(1, vec![0xff]), (0, Vec::new())]),
        ToAgent::AllFinalized { finalized_seen: 3 },
        ToAgent::RanksExited(vec![RankExit { rank: 3, failed: true }, RankExit { rank: 0, failed: false }]),
        ToAgent::Counters,
        ToAgent::Info { ranks: 4, settings: vec![(b"A".to_vec(), b"1".to_vec())] },
    ];
    starts.chain(others).collect()
}

fn from_agent_frames() -> Vec<FromAgent> {
    let facts = HostFacts {
        cores: 2,
        process_vm: ProcessVm::Allowed,
        through_memory_mb_s: 3,
        membarrier: true,
        string_copies: true,
        ..HostFacts::default()
    };
    let reason = OwnedWaitReason {
        since_ns: 9,
        polled_ns: 2,
        call: "MPI_Recv".into(),
        peer: WaitPeer::Any,
        remote: Some(4),
        tag: WaitTag::Is(-1),
        ..OwnedWaitReason::default()
    };
    let activities = [
        RankActivity::NotInit,
        RankActivity::Initializing,
        RankActivity::Computing,
        RankActivity::Waiting(reason),
        RankActivity::Finalized,
        RankActivity::Exited,
    ];
    let failure_kinds = [
        FailureKind::NotStarted { code: 127, text: "x".into() },
        FailureKind::AbnormalExit(ExitFault::Killed { signal: 9, core_dumped: true }),
        FailureKind::AbnormalExit(ExitFault::Exited { code: 1 }),
        FailureKind::AbnormalExit(ExitFault::NoFinalize { code: 0 }),
        FailureKind::AbnormalExit(ExitFault::EndUnknown),
        FailureKind::NoInit,
        FailureKind::Aborted { code: -3, text: "why".into() },
        FailureKind::ForeignMpi { program: "p".into(), file: "f".into(), remedy: "o".into() },
        FailureKind::HostFailed { text: "no".into() },
        FailureKind::SettingsDiffer { text: "A".into() },
    ];
    let mut frames = vec![
        FromAgent::Started { host: "vm".into(), facts, notes: vec!["note".into()] },
        FromAgent::Output { rank: 1, stream: OutputStream::Err, bytes: vec![1, 2, 3] },
        FromAgent::InputTaken(5),
        FromAgent::RankExitCode { rank: 1, pid: 2, code: 3 },
        FromAgent::Snapshot(
            activities
                .into_iter()
                .map(|activity| RankState {
                    rank: 4,
                    pid: 5,
                    activity,
                    net_polls: 6,
                    corruption_counts: vec![("c".into(), 7)],
                    network_status: network_status(),
                })
                .collect(),
        ),
        FromAgent::Counters(HostCounters {
            names: vec!["n".into()],
            ranks: vec![RankCounters { rank: 3, values: vec![u64::MAX], reachability: "eth0".into() }],
        }),
        FromAgent::Note("n".into()),
        FromAgent::Finished { clean: true },
        FromAgent::Ready { version: "1".into(), pid: 7 },
        FromAgent::BusinessCard((3, b"card".to_vec())),
        FromAgent::Attached,
        FromAgent::JobSettings { rank: 3, text: "0.1.0\nA=1".into() },
        FromAgent::Finalized,
        FromAgent::SessionReopened,
        FromAgent::RankExited { exit: RankExit { rank: 3, failed: true }, has_left: false, is_fault_pending: true },
        FromAgent::RankExited { exit: RankExit { rank: 4, failed: false }, has_left: true, is_fault_pending: false },
        FromAgent::ExitedWithoutInit { rank: 1, pid: 2 },
        FromAgent::Info("i".into()),
        FromAgent::Reachability {
            rank: 3,
            report: PeerReachability {
                peer: 1,
                has_no_port_pair: true,
                was_open: true,
                is_reachable: true,
                pairs: "a\nb".into(),
            },
        },
    ];
    frames.extend(failure_kinds.into_iter().map(|kind| FromAgent::Failure(RankFailure { rank: 1, pid: 2, kind })));
    frames
}

#[test]
fn frames_come_back_as_sent_and_cut_ones_do_not_parse() {
    for frame in to_agent_frames() {
        let body = frame.encode();
        assert!((0..body.len()).all(|len| ToAgent::decode(&body[..len]).as_ref() != Some(&frame)));
        assert_eq!(ToAgent::decode(&body), Some(frame));
    }
    for frame in from_agent_frames() {
        let body = frame.encode();
        assert!((0..body.len()).all(|len| FromAgent::decode(&body[..len]).as_ref() != Some(&frame)));
        assert_eq!(FromAgent::decode(&body), Some(frame));
    }
}
