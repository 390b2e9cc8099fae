//! A world whose process numbers differ from its ranks: 5, 3 and 9 of the job. Code that takes a rank for a process or
//! a process for a rank fails here. Three processes, this program started again, share a segment that the test has made
//! for them.

use hawser_base::handle::{comm, datatype, op};
use hawser_base::value::{ANY_SOURCE, COMM_TYPE_SHARED, IDENT, THREAD_MULTIPLE, UNDEFINED};
use hawser_base::{Class, Handle, Peer, Peers, Result};
use hawser_boot::{Bootstrap, Identity, KvsKey, Notification};
use hawser_datatype::UserPtr;
use hawser_dev_shm::ShmDevice;
use hawser_device::{Device, Loopback};
use hawser_job::{ExitKind, Segment, SegmentSpec};
use hawser_mpi::buffer::BufferArg;
use hawser_mpi::collective::{self, CallForm};
use hawser_mpi::errhandler::Errhandler;
use hawser_mpi::group::Group;
use hawser_mpi::info::Info;
use hawser_mpi::process::{self, Process, ProcessParts};
use hawser_mpi::request::SendMode;
use hawser_mpi::{comm_create, env, group_bootstrap, inter, pt2pt, session};
use hawser_p2p::counters::sleep_counters;
use hawser_p2p::matching;
use hawser_transport::{Fabric, WaitPolicy};
use std::fs::OpenOptions;
use std::os::fd::{AsRawFd, OwnedFd};
use std::process::{Command, Stdio, exit};
use std::sync::Arc;

/// The processes of the world, by rank.
const WORLD: [u32; 3] = [5, 3, 9];
/// Processes of the job, those of other worlds with them.
const JOB: usize = 10;
/// Set for the members: the descriptor's path, and which rank it is.
const MEMBER: &str = "TEST_WORLD_MEMBER";

#[test]
fn ranks_and_processes_are_told_apart() {
    if let Ok(member) = std::env::var(MEMBER) {
        let (segment, rank) = member.split_once(' ').unwrap();
        return be_member(segment, rank.parse().unwrap());
    }
    let spec = SegmentSpec::without_spares("world", "host", JOB, WORLD.to_vec());
    let segment = Segment::create(&SegmentSpec { spare_local_slots: 1, spare_numbers: 1, ..spec }).unwrap();
    // One that has come later and ended, which members are to give back.
    let exited = Peer(JOB as u32);
    segment.reserve_local_slot(exited, 0).unwrap();
    segment.announce(exited);
    segment.record_exit(exited, ExitKind::InOrder);
    segment.request_release(exited);
    let path = format!("/proc/{}/fd/{}", std::process::id(), segment.fd().as_raw_fd());
    let start = |rank: usize| {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "--nocapture", "ranks_and_processes_are_told_apart"]);
        command.env(MEMBER, format!("{path} {rank}")).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let members: Vec<_> = (0..WORLD.len()).map(start).collect();
    for (rank, member) in members.into_iter().enumerate() {
        let output = member.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "rank {rank}, {}: {text}", output.status);
    }
    assert!(segment.is_released(exited), "each member has made communicators since then");
}

/// The process that has started a member.
struct Started {
    identity: Identity,
}

impl Bootstrap for Started {
    fn identity(&self) -> &Identity {
        &self.identity
    }
    fn world(&self) -> Peers {
        Peers::from_list(WORLD.map(Peer).to_vec())
    }
    fn publish(&self, _: KvsKey, _: &[u8]) -> Result<()> {
        Ok(())
    }
    fn look_up(&self, _: Peer, _: KvsKey) -> Option<Vec<u8>> {
        None
    }
    fn fence(&self) -> Result<()> {
        Ok(())
    }
    fn notify(&self, _: Notification) -> bool {
        true
    }
    fn abort(&self, code: i32, text: &str) -> ! {
        eprintln!("{text}");
        exit(code)
    }
}

/// Makes this process a rank.
fn start(path: &str, rank: u32) -> &'static Process {
    let file = OpenOptions::new().read(true).write(true).open(path).unwrap();
    let segment = Segment::open(OwnedFd::from(file)).unwrap();
    let (size, peer) = (WORLD.len() as u32, Peer(WORLD[rank as usize]));
    let (local_rank, local_size, universe_size) = (rank, size, size);
    let identity = Identity { peer, rank, size, local_rank, local_size, universe_size, ..Identity::default() };
    let boot = Arc::new(Started { identity: Identity { program_size: size, ..identity } });
    let page = segment.rank(rank as usize);
    page.set_pid(std::process::id() as i32);
    let devices: Vec<Box<dyn Device>> =
        vec![Box::new(Loopback::new(peer)), Box::new(ShmDevice::new(segment.clone(), rank as usize))];
    let fabric = Box::leak(Box::new(Fabric::new(devices, &boot.world()).unwrap()));
    let limits = matching::ProtocolLimits {
        packet: 1024,
        eager: 4096,
        first: 1024,
        rtr_from: 4097,
        read_from: 1025,
        write_from: 1025,
        credit: 1 << 16,
        ..matching::ProtocolLimits::DEFAULT
    }
    .into();
    let wait_policy = WaitPolicy::new(0, &page, Arc::new(|_| None), sleep_counters(&page.counters()), fabric).unwrap();
    let process = process::start(ProcessParts { boot, segment, fabric, limits, wait_policy, standby: None }).unwrap();
    env::init(process, THREAD_MULTIPLE).unwrap();
    process
}

fn be_member(path: &str, rank: u32) {
    let process = start(path, rank);
    assert_eq!((process.me(), process.world().rank()), (Peer(WORLD[rank as usize]), rank));
    on_a_communicator(comm::WORLD, rank, 3);
    let again = comm_create::dup(comm::WORLD).unwrap();
    on_a_communicator(again, rank, 3);
    let turned = comm_create::split(comm::WORLD, 0, -(rank as i32)).unwrap();
    on_a_communicator(turned, 2 - rank, 3);
    let here = comm_create::split_type(comm::WORLD, COMM_TYPE_SHARED, 0, Handle::NULL).unwrap();
    on_a_communicator(here, rank, 3);
    groups(process, turned);
    between(process, rank);
    sessions(process, rank);
    collective::barrier(CallForm::Blocking, comm::WORLD).unwrap();
    env::finalize().unwrap();
}

/// The memory of a test's numbers, which live until the call is over.
fn at(numbers: &mut [i32]) -> UserPtr<'static> {
    // SAFETY: every call below ends before its numbers do, and names no more of them than there are.
    unsafe { UserPtr::new(numbers.as_mut_ptr().cast()) }
}

fn buf(numbers: &mut [i32]) -> BufferArg {
    BufferArg { at: at(numbers), count: numbers.len() as i64, datatype: datatype::INT }
}

fn size_of(comm: Handle) -> i32 {
    process::get().unwrap().comm(comm).unwrap().size() as i32
}

/// Point to point and collectives, on which this process has rank `me` of `size`.
fn on_a_communicator(comm: Handle, me: u32, size: i32) {
    let found = process::get().unwrap().comm(comm).unwrap();
    assert_eq!((found.rank(), size_of(comm)), (me, size));
    let (me, mut got) = (me as i32, [0]);
    let (next, last) = ((me + 1) % size, (me + size - 1) % size);
    for source in [last, ANY_SOURCE] {
        pt2pt::send("MPI_Send", &buf(&mut [me * 10]), next, 7, comm, SendMode::Standard).unwrap();
        let status = pt2pt::recv(&buf(&mut got), source, 7, comm).unwrap();
        assert_eq!((status.source, got), (last, [last * 10]));
    }
    let mut long = vec![me; 100_000];
    let mut from = vec![-1; 100_000];
    let status = pt2pt::sendrecv(&buf(&mut long), next, 1, &buf(&mut from), last, 1, comm).unwrap();
    assert!(status.source == last && from.iter().all(|&number| number == last));
    let mut all = vec![-1; size as usize];
    let own = BufferArg { count: 1, ..buf(&mut all) };
    collective::allgather(CallForm::Blocking, Some(&buf(&mut [me])), &own, comm).unwrap();
    assert_eq!(all, (0..size).collect::<Vec<_>>());
    let mut theirs: Vec<i32> = (0..size).map(|to| me * 100 + to).collect();
    collective::alltoall(CallForm::Blocking, Some(&BufferArg { count: 1, ..buf(&mut theirs) }), &own, comm).unwrap();
    assert_eq!(all, (0..size).map(|from| from * 100 + me).collect::<Vec<_>>());
    for root in 0..size {
        let mut values = [if me == root { root + 50 } else { 0 }];
        collective::bcast(CallForm::Blocking, &buf(&mut values), root, comm).unwrap();
        assert_eq!(values, [root + 50]);
    }
    let (mut mine, mut sum) = ([me + 1], [0]);
    let vectors = |send: &mut [i32], recv: &mut [i32]| collective::ReductionBuffers {
        send: Some(at(send)),
        recv: at(recv),
        count: 1,
        datatype: datatype::INT,
        op: op::SUM,
    };
    collective::allreduce(CallForm::Blocking, &vectors(&mut mine, &mut sum), comm).unwrap();
    assert_eq!(sum, [size * (size + 1) / 2]);
    collective::scan(CallForm::Blocking, &vectors(&mut mine, &mut sum), comm).unwrap();
    assert_eq!(sum, [(me + 1) * (me + 2) / 2]);
    collective::barrier(CallForm::Blocking, comm).unwrap();
}

/// Ranks are translated by processes.
fn groups(process: &'static Process, turned: Handle) {
    let (world, turned) = (process.world().group().clone(), process.comm(turned).unwrap().group().clone());
    assert_eq!([0, 1, 2].map(|rank| world.peer(rank)), WORLD.map(|number| Some(Peer(number))));
    assert_eq!([0, 1, 2].map(|rank| world.translate(rank, &turned).unwrap()), [2, 1, 0]);
    let part = world.include(&[2, 0], process.me()).unwrap();
    assert_eq!([0, 1].map(|rank| part.translate(rank, &world).unwrap()), [2, 0]);
    assert_eq!([0, 1, 2].map(|rank| world.translate(rank, &part).unwrap()), [1, UNDEFINED, 0]);
    assert_eq!(process.peer_name(Peer(9)), "rank 2 of MPI_COMM_WORLD");
    assert_eq!(process.peer_name(Peer(2)), "process 2 of another MPI_COMM_WORLD");
}

/// Ranks 0 and 2 on one side, rank 1 on the other.
fn between(process: &'static Process, rank: u32) {
    let sides: [&[i32]; 2] = [&[0, 2], &[1]];
    let mine = rank as usize % 2;
    let local = comm_create::split(comm::WORLD, mine as i32, 0).unwrap();
    let intercomm = inter::create(local, 0, comm::WORLD, sides[1 - mine][0], 3).unwrap();
    let world = process.world().group();
    let ranks = |group: &Group| (0..group.size() as i32).map(|at| group.translate(at, world).unwrap()).collect();
    let remote: Vec<i32> = ranks(&inter::remote_group(intercomm).unwrap());
    assert_eq!(remote, sides[1 - mine]);
    // Each to each of the other side, by rank there.
    for to in 0..remote.len() as i32 {
        pt2pt::send("MPI_Send", &buf(&mut [rank as i32]), to, 4, intercomm, SendMode::Standard).unwrap();
    }
    for (from, &expected) in (0..).zip(&remote) {
        let mut got = [-1];
        let status = pt2pt::recv(&buf(&mut got), from, 4, intercomm).unwrap();
        assert_eq!((status.source, got), (from, [expected]));
    }
    let mut all = vec![-1; remote.len()];
    let into = BufferArg { count: 1, ..buf(&mut all) };
    collective::allgather(CallForm::Blocking, Some(&buf(&mut [rank as i32])), &into, intercomm).unwrap();
    assert_eq!(all, remote);
    let merged = inter::merge(intercomm, mine == 1).unwrap();
    on_a_communicator(merged, [0, 2, 1][rank as usize], 3);
    let refused = inter::create(comm::WORLD, 0, comm::WORLD, 0, 5).unwrap_err();
    assert_eq!(refused.class(), Class::Rank, "the leader cannot lead both sides");
}

/// Communicators of groups that have none in common yet.
fn sessions(process: &'static Process, rank: u32) {
    let handle = session::init(|| Ok(process), &Info::default(), Errhandler::Return).unwrap();
    let world = session::group(handle, b"mpi://WORLD").unwrap();
    assert_eq!(world.compare(process.world().group()), IDENT);
    assert_eq!(session::group(handle, b"mpix://SHARED").unwrap().compare(&world), IDENT);
    assert_eq!(session::group(handle, b"mpi://SELF").unwrap().peer(0), Some(process.me()));
    let add = |group: Group| process.add_group(Arc::new(group)).unwrap();
    let all = group_bootstrap::create_from_group(add(world), b"all", Handle::NULL, Errhandler::Return).unwrap();
    on_a_communicator(all, rank, 3);
    let part = |ranks: &[i32]| process.world().group().include(ranks, process.me()).unwrap();
    let [one, other] = [part(&[2, 1]), part(&[0])];
    let overlap = process.peer_name(Peer(WORLD[1]));
    let (mine, theirs) = if one.rank().is_some() { (one, other) } else { (other, one) };
    let both = part(&[0, 1, 2]);
    let refused = |local: Group, remote: Group| {
        let (local, remote) = ((add(local), 0), (add(remote), 0));
        inter::create_from_groups(local, remote, b"x", Handle::NULL, Errhandler::Return).unwrap_err().cause().to_owned()
    };
    let text = refused(both, part(&[1]));
    assert!(text.starts_with(&format!("{overlap} is in both groups")), "{text}");
    let size = theirs.size();
    let (mine, theirs) = ((add(mine), 0), (add(theirs), 0));
    let intercomm = inter::create_from_groups(mine, theirs, b"two", Handle::NULL, Errhandler::Return).unwrap();
    let mut numbers = vec![-1; size as usize];
    let into = BufferArg { count: 1, ..buf(&mut numbers) };
    collective::allgather(CallForm::Blocking, Some(&buf(&mut [rank as i32])), &into, intercomm).unwrap();
    assert_eq!(numbers, if rank == 0 { vec![2, 1] } else { vec![0] });
    session::finalize(handle).unwrap();
}
