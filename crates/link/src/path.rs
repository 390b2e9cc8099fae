//! One path of a connection, from its opening on. HELLO is sent until a HELLO or WELCOME of the peer arrives. It
//! contains the peer's number for the path (P7 of docs/protocol.md), and its length shows that frames of this length
//! pass (P8).
//!
//! Used by `connection`, `endpoint` and `reachability`; uses `established`, `path_mtu` and `goodput`.

use crate::bulk_path::BulkPath;
use crate::established::EstablishedPath;
use crate::frame::{DropReason, FrameKind, HEADER_BYTES};
use crate::frame_pool::{FramePool, FrameQueue};
use crate::goodput::GoodputEstimator;
use crate::marks::{Mark, mark};
use crate::path_credit::CREDIT_MIN;
use crate::path_mtu::{PathMtu, TRIES_PER_MTU};
use crate::port_traits::{LatencyClass, NicPair, PortTraits};
use crate::receive_capacity::ReceiveCapacity;
use crate::rtt::{TIMEOUT_FIRST_NS, TIMEOUT_MAX_NS};
use crate::seq::Seq;

/// The path id: the two ports that a path connects, by their indexes in their owners' business cards, and the flow,
/// which is one of several between these ports.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, PartialOrd, Ord)]
pub struct PathId {
    pub local_port: u8,
    pub remote_port: u8,
    pub flow: u8,
}

impl PathId {
    /// The path id as the peer sees it.
    pub fn reversed(self) -> PathId {
        PathId { local_port: self.remote_port, remote_port: self.local_port, flow: self.flow }
    }
}

/// The far end of a path that is to be opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RemotePort {
    /// The peer's NIC, by the peer's number for it.
    pub nic: u8,
    /// The longest frame that both ends take, in bytes.
    pub frame_max: usize,
}

/// The flow whose path stands for all flows between two ports together; flow 0, the first one, also counts as a path
/// of its own for bulk.
pub const MULTI_FLOW: u8 = 1;

/// The bytes of a HELLO's payload that have a meaning; the rest shows that long frames pass.
pub const HELLO_BYTES: usize = 12;

/// The contents of HELLO and WELCOME.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hello {
    /// The sender's number for the path.
    pub path_number: u32,
    /// The path id as the sender sees it.
    pub path_id: PathId,
    /// The sender's NIC.
    pub nic: u8,
    /// The number of the sender's first frame.
    pub first_seq: Seq,
    pub credit: u16,
}

impl Hello {
    pub fn write(&self, into: &mut [u8]) {
        into.fill(0);
        into[..4].copy_from_slice(&self.path_number.to_le_bytes());
        into[4..8].copy_from_slice(&self.first_seq.0.to_le_bytes());
        let PathId { local_port, remote_port, flow } = self.path_id;
        into[8..HELLO_BYTES].copy_from_slice(&[local_port, remote_port, flow, self.nic]);
    }

    pub fn read(payload: &[u8], credit: u16) -> Result<Hello, DropReason> {
        let bytes: &[u8; HELLO_BYTES] = payload.first_chunk().ok_or(DropReason::Hello)?;
        let u32_at = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let path_id = PathId { local_port: bytes[8], remote_port: bytes[9], flow: bytes[10] };
        Ok(Hello { path_number: u32_at(0), path_id, nic: bytes[11], first_seq: Seq(u32_at(4)), credit })
    }
}

/// The state of a path (P7). A path ends only with its peer.
#[derive(Debug)]
enum PathState {
    /// HELLO is sent only once the path is needed.
    OnDemand,
    /// HELLO is sent again at `hello_at_ns`; it was sent, or refused by the wire, `tries` times.
    Opening { hello_at_ns: u64, tries: u32 },
    /// Frames pass. `remote_number` is the peer's number for the path.
    Open { remote_number: u32, remote_first_seq: Seq, established: Box<EstablishedPath> },
}

hawser_base::state_machine! {
    impl PathState {
        start OnDemand | Opening;
        /// The path is needed: by bulk, by messages that might bypass link, by single frames of its latency class, or
        /// since no other path has a reply; or there are few peers, and bulk may come.
        needed(OnDemand => Opening { hello_at_ns: u64, tries: u32 });
        /// The peer's HELLO or WELCOME has arrived.
        hello_received(OnDemand | Opening => Open {
            remote_number: u32,
            remote_first_seq: Seq,
            established: Box<EstablishedPath>,
        });
    }
}

/// A path from its opening on. See the module.
#[derive(Debug)]
pub struct Path {
    pub id: PathId,
    pub port: PortTraits,
    /// The peer's NIC.
    remote_nic: u8,
    /// Our number for the path.
    pub local_number: u32,
    first_seq: Seq,
    mtu: PathMtu,
    /// The length of a WELCOME that must be sent; None if none must be sent.
    pending_welcome: Option<usize>,
    /// Whether a frame of the peer other than HELLO has arrived on the path, so that the peer has opened it too.
    is_open_at_peer: bool,
    goodput: GoodputEstimator,
    /// Whether the wire refused a frame: then the path is not tried again in the same call of `transmit`.
    pub is_full: bool,
    /// Whether the path is a further flow that takes no bulk now, because it would congest the network (P39).
    pub is_suspended: bool,
    /// Whether at least one flow between the path's ports responds; it is known only of further flows.
    pub has_responding_flow: bool,
    state: PathState,
}

impl Path {
    /// A path that is to be opened.
    pub fn new(id: PathId, port: PortTraits, local_number: u32, first_seq: Seq, remote: RemotePort) -> Path {
        let RemotePort { nic: remote_nic, frame_max } = remote;
        assert!(frame_max >= HEADER_BYTES + HELLO_BYTES);
        let state =
            if port.is_on_demand { PathState::OnDemand } else { PathState::Opening { hello_at_ns: 0, tries: 0 } };
        Path {
            id,
            port,
            remote_nic,
            local_number,
            first_seq,
            mtu: PathMtu::new(frame_max),
            pending_welcome: None,
            is_open_at_peer: false,
            goodput: GoodputEstimator::default(),
            is_full: false,
            is_suspended: false,
            has_responding_flow: false,
            state,
        }
    }

    /// The NICs that the path connects: ours and the peer's.
    pub fn nic_pair(&self) -> NicPair {
        NicPair { local: self.port.nic, remote: self.remote_nic }
    }

    /// Whether the path is not the first of the flows between two ports: then it is for bulk alone (P39).
    pub fn is_additional_flow(&self) -> bool {
        self.id.flow > 0
    }

    /// Whether the path stands for all flows between its two ports, as one path for bulk: the path of the second flow
    /// does.
    pub fn is_multi_flow(&self) -> bool {
        self.id.flow == MULTI_FLOW
    }

    /// Whether both paths connect the same two ports; they may be the same path.
    pub fn shares_ports_with(&self, other: &Path) -> bool {
        (self.id.local_port, self.id.remote_port) == (other.id.local_port, other.id.remote_port)
    }

    /// Returns the further flows that may be opened between the ports of this first flow, with their far end; none if
    /// this path is a further flow itself.
    pub fn additional_flows(&self) -> impl Iterator<Item = (PathId, RemotePort)> + use<> {
        let (id, remote) = (self.id, RemotePort { nic: self.remote_nic, frame_max: self.mtu.max_bytes() });
        let flows = if self.is_additional_flow() { 1 } else { self.port.flows_max };
        (1..flows).map(move |flow| (PathId { flow, ..id }, remote))
    }

    pub fn is_on_demand(&self) -> bool {
        matches!(self.state, PathState::OnDemand)
    }

    /// Begins to open an on-demand path.
    pub fn start_opening(&mut self) {
        self.state.needed(0, 0);
    }

    /// Makes HELLO due at once, if the path is being opened: the peer has answered on another path, so it is
    /// reachable now. At most one earlier HELLO counts as tried (P7).
    pub fn restart_hello(&mut self) {
        if let PathState::Opening { hello_at_ns: at_ns, tries } = &mut self.state {
            (*at_ns, *tries) = (0, (*tries).min(1));
        }
    }

    /// Whether HELLO was sent often enough for a reply (more than TRIES_PER_MTU times), and there was none.
    pub fn is_hello_exhausted(&self) -> bool {
        matches!(&self.state, PathState::Opening { tries, .. } if *tries > TRIES_PER_MTU)
    }

    /// Whether nothing answers on the path: it is still to be opened on demand, HELLO was sent often enough without a
    /// reply, or the established path is silent.
    pub fn has_no_reply(&self) -> bool {
        match &self.state {
            PathState::OnDemand => true,
            PathState::Opening { .. } => self.is_hello_exhausted(),
            PathState::Open { established, .. } => established.is_silent(),
        }
    }

    /// The path MTU: the longest frame, header included, in bytes. Once the path is open, a frame of at least this
    /// length has passed.
    pub fn mtu(&self) -> usize {
        self.mtu.bytes()
    }

    pub fn mtu_mut(&mut self) -> &mut PathMtu {
        &mut self.mtu
    }

    pub fn established(&self) -> Option<&EstablishedPath> {
        match &self.state {
            PathState::Open { established, .. } => Some(established),
            PathState::OnDemand | PathState::Opening { .. } => None,
        }
    }

    pub fn established_mut(&mut self) -> Option<&mut EstablishedPath> {
        match &mut self.state {
            PathState::Open { established, .. } => Some(established),
            PathState::OnDemand | PathState::Opening { .. } => None,
        }
    }

    /// Whether the path is open and not silent (P24).
    pub fn is_responding(&self) -> bool {
        self.established().is_some_and(|established| !established.is_silent())
    }

    /// The peer's number for the path, and the established path; None if the path is not open.
    pub fn numbered_mut(&mut self) -> Option<(u32, &mut EstablishedPath)> {
        match &mut self.state {
            PathState::Open { remote_number, established, .. } => Some((*remote_number, established)),
            PathState::OnDemand | PathState::Opening { .. } => None,
        }
    }

    /// The number of HELLOs that were sent or that the wire refused; None once the path is open.
    pub fn hello_tries(&self) -> Option<u32> {
        match &self.state {
            PathState::OnDemand => Some(0),
            PathState::Opening { tries, .. } => Some(*tries),
            PathState::Open { .. } => None,
        }
    }

    /// Returns the contents of our HELLO or WELCOME, with the credit that it grants.
    pub fn hello(&mut self, capacity: &mut ReceiveCapacity) -> Hello {
        let credit = match &mut self.state {
            PathState::Open { remote_first_seq, established, .. } => {
                established.advertised_credit(capacity, *remote_first_seq)
            }
            PathState::OnDemand | PathState::Opening { .. } => CREDIT_MIN as u16,
        };
        Hello {
            path_number: self.local_number,
            path_id: self.id,
            nic: self.port.nic,
            first_seq: self.first_seq,
            credit,
        }
    }

    /// Closes the path, as the peer is gone. Returns the frames in flight, and releases the peer's part of the
    /// receive capacity.
    pub fn close(self, pool: &FramePool, capacity: &mut ReceiveCapacity) -> FrameQueue {
        match self.state {
            PathState::Open { established, .. } => established.close(pool, capacity),
            PathState::OnDemand | PathState::Opening { .. } => FrameQueue::default(),
        }
    }

    /// Takes the peer's HELLO or WELCOME of `len` bytes, header included. A HELLO is answered by a WELCOME of the
    /// same length. Returns an error if the path is open with other values.
    pub fn handle_hello(&mut self, hello: &Hello, kind: FrameKind, len: usize) -> Result<(), DropReason> {
        match &self.state {
            PathState::OnDemand | PathState::Opening { .. } => {
                mark(if kind == FrameKind::Hello { Mark::OpenedByHello } else { Mark::OpenedByWelcome });
                let established = EstablishedPath::new(self.first_seq, hello.first_seq, hello.credit);
                let established = Box::new(if self.port.is_lossless { established.lossless() } else { established });
                self.state.hello_received(hello.path_number, hello.first_seq, established);
                self.mtu.set_opened(len);
            }
            // The peer opens each path once, so other values are invalid (P7).
            PathState::Open { remote_number, remote_first_seq, .. }
                if (*remote_number, *remote_first_seq) != (hello.path_number, hello.first_seq) =>
            {
                return Err(DropReason::Hello);
            }
            PathState::Open { .. } if kind == FrameKind::Welcome => self.mtu.on_welcome(len),
            PathState::Open { .. } => mark(Mark::OpenedAlready),
        }
        if kind == FrameKind::Hello {
            self.pending_welcome = Some(len);
        } else {
            self.is_open_at_peer = true;
        }
        Ok(())
    }

    /// Records that a frame of the peer other than HELLO and WELCOME has arrived.
    pub fn on_numbered_or_ack(&mut self) {
        self.is_open_at_peer = true;
    }

    /// Whether no payload may be sent before the WELCOME that is due: the peer might not have opened the path, and
    /// would drop the payload (P7). A probe may be sent, and must be: if the wire never takes the WELCOME, the reply to
    /// a probe is the only sign that the peer has opened the path.
    pub fn must_send_welcome_first(&self) -> bool {
        self.pending_welcome.is_some() && !self.is_open_at_peer
    }

    /// Returns the length, header included, of a WELCOME that is to be sent now; None if none is.
    pub fn poll_welcome(&mut self) -> Option<usize> {
        self.pending_welcome.take()
    }

    /// Records that the wire refused the WELCOME: it must still be sent.
    pub fn retry_welcome(&mut self, len: usize) {
        mark(Mark::WelcomeRefused);
        self.pending_welcome = Some(len);
    }

    /// Returns the length, header included, of a HELLO that is to be sent now; None if none is. On an open path a
    /// HELLO tries longer frames, but only if `in_use`: data is being sent to the peer (P25).
    pub fn poll_hello(&mut self, now_ns: u64, in_use: bool) -> Option<usize> {
        let (at_ns, tries) = match &mut self.state {
            PathState::Opening { hello_at_ns: at_ns, tries } if *at_ns <= now_ns => (at_ns, tries),
            PathState::Open { established, .. } if in_use && !established.is_silent() => {
                return self.mtu.poll_longer_hello(now_ns);
            }
            _ => return None,
        };
        // A random delay of up to half as much is added: otherwise HELLOs, and replies to them, that were lost
        // together in a full buffer would be lost together again.
        let wait_ns = TIMEOUT_FIRST_NS << (*tries).min(8);
        let chance = u64::from(self.first_seq.0.rotate_left(7 * *tries) % 1024);
        *at_ns = now_ns + (wait_ns + wait_ns / 2 * chance / 1024).min(TIMEOUT_MAX_NS);
        *tries += 1;
        Some(self.mtu.hello_bytes(*tries - 1))
    }

    pub fn deadline_ns(&self) -> Option<u64> {
        if self.pending_welcome.is_some() {
            return Some(0);
        }
        match &self.state {
            PathState::OnDemand => None,
            PathState::Opening { hello_at_ns: at_ns, .. } => Some(*at_ns),
            PathState::Open { established, .. } => established.deadline_ns(),
        }
    }
}

impl BulkPath for Path {
    fn local_port(&self) -> u8 {
        self.id.local_port
    }

    fn nic_pair(&self) -> NicPair {
        self.nic_pair()
    }

    fn latency_class(&self) -> LatencyClass {
        self.port.latency_class
    }

    fn is_usable(&self, nic_pair: NicPair) -> bool {
        let is_responding = match self.id.flow {
            0 => self.is_responding(),
            flow => flow == MULTI_FLOW && self.has_responding_flow && self.established().is_some(),
        };
        is_responding && self.nic_pair() == nic_pair
    }

    fn is_multi_flow(&self) -> bool {
        self.is_multi_flow()
    }

    fn is_suspended(&self) -> bool {
        self.is_suspended
    }

    fn may_be_bypassed(&self) -> bool {
        // Bytes that bypass link have no CRC (P36), so no port qualifies whose payload must have one.
        self.port.is_lossless && !self.port.has_full_crc
    }

    fn goodput(&self) -> &GoodputEstimator {
        &self.goodput
    }

    fn goodput_mut(&mut self) -> &mut GoodputEstimator {
        &mut self.goodput
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH_ID: PathId = PathId { local_port: 1, remote_port: 2, flow: 3 };

    fn test_path() -> Path {
        Path::new(PATH_ID, PortTraits::default(), 77, Seq(5), RemotePort { nic: 0, frame_max: 9000 })
    }

    /// P7
    #[test]
    fn a_hello_comes_back_as_it_was_and_a_short_one_is_none() {
        let hello = test_path().hello(&mut ReceiveCapacity::new(9));
        let mut payload = [1; 40];
        hello.write(&mut payload);
        assert_eq!(Hello::read(&payload, 2), Ok(hello));
        assert_eq!(Hello::read(&payload[..HELLO_BYTES - 1], 9), Err(DropReason::Hello));
    }

    /// P8
    #[test]
    fn shorter_frames_are_tried_when_long_ones_are_not_answered() {
        let mut path = test_path();
        let mut lengths = vec![];
        let mut at = vec![];
        for _ in 0..15 {
            let now_ns = path.deadline_ns().unwrap();
            at.push(now_ns);
            lengths.push(path.poll_hello(now_ns, false).unwrap());
            assert_eq!(path.poll_hello(now_ns, false), None);
        }
        assert_eq!(lengths, [9000, 9000, 9000, 1452, 1452, 1452, 1232, 1232, 1232, 548, 548, 548, 548, 548, 548]);
        assert!(at.windows(3).all(|w| w[2] - w[1] >= w[1] - w[0]));
        assert_eq!(path.hello_tries(), Some(15));
        let hello = Hello { path_number: 1, path_id: PATH_ID.reversed(), nic: 0, first_seq: Seq(9), credit: 4 };
        path.handle_hello(&hello, FrameKind::Welcome, 1232).unwrap();
        assert_eq!((path.mtu(), path.established().is_some(), path.hello_tries()), (1232, true, None));
    }

    /// P7
    #[test]
    fn a_path_is_opened_once() {
        let mut path = test_path();
        let hello = Hello { path_number: 1, path_id: PATH_ID.reversed(), nic: 0, first_seq: Seq(9), credit: 4 };
        path.handle_hello(&hello, FrameKind::Hello, 9000).unwrap();
        assert_eq!((path.poll_welcome(), path.poll_welcome()), (Some(9000), None));
        assert_eq!(path.handle_hello(&hello, FrameKind::Hello, 9000), Ok(()), "again, since our WELCOME was lost");
        assert_eq!(path.poll_welcome(), Some(9000));
        let other = Hello { first_seq: Seq(10), ..hello };
        assert_eq!(path.handle_hello(&other, FrameKind::Welcome, 9000), Err(DropReason::Hello));
    }
}
