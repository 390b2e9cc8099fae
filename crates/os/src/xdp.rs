//! eBPF programs on network interfaces (XDP): loading, testing and attaching them, and finding the attached program
//! (bpf(2)).
//!
//! A program of another process is never replaced. A program is attached by a link, and the kernel detaches it with
//! the link's last descriptor, however the process ends. Uses `ebpf`, which makes the programs, and `link_masters`
//! and `netlink`, by which it finds the attached program. The programs redirect frames to the sockets of `xsk`.

use crate::ebpf::EbpfInsn;
use crate::errno::checked;
use crate::netlink::attribute;
use crate::{ErrorContext, link_masters};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// enum bpf_cmd.
mod command {
    pub const MAP_CREATE: i32 = 0;
    pub const MAP_UPDATE: i32 = 2;
    pub const PROGRAM_LOAD: i32 = 5;
    pub const PROGRAM_TEST_RUN: i32 = 10;
    pub const LINK_CREATE: i32 = 28;
    pub const LINK_UPDATE: i32 = 29;
}

/// linux/bpf.h: BPF_MAP_TYPE_XSKMAP, BPF_PROG_TYPE_XDP, BPF_XDP, BPF_F_XDP_HAS_FRAGS.
const MAP_TYPE_XSKMAP: u32 = 17;
const PROG_TYPE_XDP: u32 = 6;
const ATTACH_TYPE_XDP: u32 = 37;
const HAS_FRAGS: u32 = 1 << 5;
/// linux/if_link.h: XDP_FLAGS_SKB_MODE, XDP_FLAGS_DRV_MODE, IFLA_XDP, and in it IFLA_XDP_PROG_ID.
const SKB_MODE: u32 = 1 << 1;
const DRV_MODE: u32 = 1 << 2;
const IFLA_XDP: u16 = 43;
const IFLA_XDP_PROG_ID: u16 = 4;

/// The name that tools show (`bpftool prog`, `ip link`); at most 15 bytes.
const NAME: &[u8; 16] = b"hawser_redirect\0";

/// The maximum length, in bytes, of the verifier's log, which becomes part of the error.
const LOG_BYTES: usize = 4096;

/// The sockets to which a program redirects frames, by the number of the NIC's queue.
pub struct XskMap(OwnedFd);

impl AsFd for XskMap {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl XskMap {
    /// Makes a map for queues 0 to `queues` - 1.
    pub fn new(queues: u32) -> io::Result<XskMap> {
        #[repr(C)]
        struct MapCreateAttr {
            kind: u32,
            key_bytes: u32,
            value_bytes: u32,
            entries: u32,
        }
        let create = MapCreateAttr { kind: MAP_TYPE_XSKMAP, key_bytes: 4, value_bytes: 4, entries: queues };
        create_fd(command::MAP_CREATE, create)
            .context(|| format!("making a map of AF_XDP sockets ({REQUIREMENTS})"))
            .map(XskMap)
    }

    /// Redirects the frames of this queue to this socket (AF_XDP) from now on.
    pub fn set(&self, queue: u32, socket: BorrowedFd) -> io::Result<()> {
        #[repr(C)]
        struct MapUpdateAttr {
            map: i32,
            unused: u32,
            key: u64,
            value: u64,
            flags: u64,
        }
        let fd = socket.as_raw_fd();
        let place = |value: *const u32| value as u64;
        let (key, value) = (place(&raw const queue), place((&raw const fd).cast()));
        bpf(command::MAP_UPDATE, MapUpdateAttr { map: self.0.as_raw_fd(), unused: 0, key, value, flags: 0 })
            .map(drop)
            .context(|| format!("redirecting queue {queue} to a socket"))
    }
}

/// The privileges that loading needs, for error messages. Older kernels count a program's memory as locked memory.
const REQUIREMENTS: &str = "needs CAP_BPF and CAP_NET_ADMIN; before Linux 5.11 also a sufficient `ulimit -l`";

/// A program that the kernel has checked.
pub struct XdpProgram(OwnedFd);

#[repr(C)]
struct ProgLoadAttr {
    kind: u32,
    steps: u32,
    code: u64,
    license: u64,
    log_level: u32,
    log_bytes: u32,
    log: u64,
    version: u32,
    flags: u32,
    name: [u8; 16],
    interface: u32,
    attach: u32,
}

impl XdpProgram {
    /// Loads the program of these steps. It accepts frames in several buffers if the kernel has those (Linux 5.18).
    /// An error contains the verifier's log.
    pub fn load(steps: &[EbpfInsn]) -> io::Result<XdpProgram> {
        let by = |flags| XdpProgram::load_with(steps, flags, &mut []);
        if let Ok(program) = by(HAS_FRAGS).or_else(|_| by(0)) {
            return Ok(XdpProgram(program));
        }
        // Loading is tried once more, now with the verifier's log.
        let mut log = vec![0; LOG_BYTES];
        let result = XdpProgram::load_with(steps, 0, &mut log);
        let words: Vec<u8> = log.into_iter().take_while(|&byte| byte != 0).collect();
        let words = String::from_utf8_lossy(&words).trim().replace('\n', "; ");
        let colon = if words.is_empty() { "" } else { ": " };
        result.context(|| format!("loading an XDP program ({REQUIREMENTS}{colon}{words})")).map(XdpProgram)
    }

    fn load_with(steps: &[EbpfInsn], flags: u32, log: &mut [u8]) -> io::Result<OwnedFd> {
        let load = ProgLoadAttr {
            kind: PROG_TYPE_XDP,
            steps: steps.len() as u32,
            code: steps.as_ptr() as u64,
            license: c"Apache-2.0".as_ptr() as u64,
            log_level: u32::from(!log.is_empty()),
            log_bytes: log.len() as u32,
            log: if log.is_empty() { 0 } else { log.as_mut_ptr() as u64 },
            version: 0,
            flags,
            name: *NAME,
            interface: 0,
            attach: ATTACH_TYPE_XDP,
        };
        create_fd(command::PROGRAM_LOAD, load)
    }

    /// Runs the program on a frame of at least 14 bytes, without an interface (BPF_PROG_TEST_RUN). Returns its
    /// result: `ebpf::PASS` or `ebpf::REDIRECT`.
    pub fn test_run(&self, frame: &[u8]) -> io::Result<u32> {
        #[repr(C)]
        struct TestRunAttr {
            program: i32,
            result: u32,
            bytes_in: u32,
            bytes_out: u32,
            data_in: u64,
            data_out: u64,
            repeat: u32,
            duration: u32,
        }
        let mut test = TestRunAttr {
            program: self.0.as_raw_fd(),
            result: 0,
            bytes_in: frame.len() as u32,
            bytes_out: 0,
            data_in: frame.as_ptr() as u64,
            data_out: 0,
            repeat: 1,
            duration: 0,
        };
        bpf_syscall(command::PROGRAM_TEST_RUN, &mut test).context(|| "testing an XDP program".into())?;
        Ok(test.result)
    }

    /// Attaches the program to an interface. If `native`, the driver runs it; otherwise the kernel runs it in front
    /// of its own network stack, which works with every driver.
    pub fn attach(&self, interface: u32, native: bool) -> io::Result<XdpLink> {
        let fd = self.attach_with(interface, if native { DRV_MODE } else { SKB_MODE });
        fd.map(|fd| XdpLink { fd, native }).context(|| format!("attaching an XDP program to interface {interface}"))
    }

    fn attach_with(&self, interface: u32, flags: u32) -> io::Result<OwnedFd> {
        #[repr(C)]
        struct LinkCreateAttr {
            program: i32,
            interface: u32,
            kind: u32,
            flags: u32,
        }
        create_fd(
            command::LINK_CREATE,
            LinkCreateAttr { program: self.0.as_raw_fd(), interface, kind: ATTACH_TYPE_XDP, flags },
        )
    }
}

/// The attachment of a program to an interface; dropping this value detaches the program.
pub struct XdpLink {
    fd: OwnedFd,
    native: bool,
}

impl XdpLink {
    /// Returns whether the driver runs the program.
    pub fn is_native(&self) -> bool {
        self.native
    }

    /// Replaces the attached program by another one: each frame is seen by exactly one of them.
    pub fn replace(&self, program: &XdpProgram) -> io::Result<()> {
        #[repr(C)]
        struct LinkUpdateAttr {
            link: i32,
            program: i32,
            flags: u32,
            old: u32,
        }
        let update = LinkUpdateAttr { link: self.fd.as_raw_fd(), program: program.0.as_raw_fd(), flags: 0, old: 0 };
        bpf(command::LINK_UPDATE, update).map(drop).context(|| "replacing an XDP program".into())
    }
}

/// Returns the number of the program that is attached to an interface, whichever process has attached it; None if
/// there is no program.
pub fn attached_program_id(interface: u32) -> io::Result<Option<u32>> {
    let found = link_masters::attributes_of(IFLA_XDP)?;
    let nested = found.get(&interface).map(Vec::as_slice).unwrap_or_default();
    let id = attribute(nested, IFLA_XDP_PROG_ID).and_then(|value| value.try_into().ok());
    Ok(id.map(u32::from_ne_bytes).filter(|&id| id != 0))
}

/// Makes a bpf(2) call that returns a new descriptor.
fn create_fd<T>(command: i32, attributes: T) -> io::Result<OwnedFd> {
    let fd = bpf(command, attributes)?;
    // SAFETY: the descriptor is new and nobody else's; the kernel closes it on exec by itself.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) })
}

fn bpf<T>(command: i32, mut attributes: T) -> io::Result<i64> {
    bpf_syscall(command, &mut attributes)
}

/// Makes a bpf(2) call. `attributes` is the command's structure in `union bpf_attr`, or the front of it. Each address
/// in it must point to live memory, as long as the command reads or writes there.
fn bpf_syscall<T>(command: i32, attributes: &mut T) -> io::Result<i64> {
    let (place, len) = (std::ptr::from_mut(attributes), size_of::<T>());
    // SAFETY: `len` bytes, readable and writable; each caller in this file keeps what they point to alive for the
    // call.
    checked(unsafe { libc::syscall(libc::SYS_bpf, command, place, len) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bpf::LoadField;
    use crate::ebpf::{FrameMatch, PASS, REDIRECT, redirect_matching};
    use crate::xsk;

    const WANTED: [(LoadField, u32); 6] = [
        (LoadField::Half(0), 0x0203),
        (LoadField::Half(12), 0x88b5),
        (LoadField::Word(18), 0x0009_8a07),
        (LoadField::Byte(23), 17),
        (LoadField::Bits(24, 0x3fff), 0),
        (LoadField::Byte(26), 0xff),
    ];
    /// The bits of a frame that are checked.
    const BITS: [(usize, u8); 12] = [
        (0, 0xff),
        (1, 0xff),
        (12, 0xff),
        (13, 0xff),
        (18, 0xff),
        (19, 0xff),
        (20, 0xff),
        (21, 0xff),
        (23, 0xff),
        (24, 0x3f),
        (25, 0xff),
        (26, 0xff),
    ];

    fn wanted() -> FrameMatch {
        FrameMatch { min_bytes: 27, fields: WANTED.into() }
    }

    fn frame() -> Vec<u8> {
        let mut frame = vec![0; 60];
        frame[..2].copy_from_slice(&[2, 3]);
        frame[12..14].copy_from_slice(&[0x88, 0xb5]);
        frame[18..22].copy_from_slice(&[0, 9, 0x8a, 7]);
        frame[23] = 17;
        frame[24] = 0xc0;
        frame[26] = 0xff;
        frame
    }

    /// Loads a program of these patterns, and makes the socket of its first queue if it is to have one. Without the
    /// privilege it prints that, and tests nothing.
    fn program(any: &[FrameMatch], with_socket: bool) -> Option<(XdpProgram, OwnedFd)> {
        let made = || {
            let (sockets, socket) = (XskMap::new(1)?, xsk::open_unbound()?);
            if with_socket {
                sockets.set(0, socket.as_fd())?;
            }
            Ok((XdpProgram::load(&redirect_matching(any, sockets.as_fd()))?, socket))
        };
        match made() {
            Ok(made) => Some(made),
            Err(error) if io::Error::kind(&error) == io::ErrorKind::PermissionDenied => {
                println!("NOT TESTED: {error}");
                None
            }
            Err(error) => panic!("{error}"),
        }
    }

    #[test]
    fn only_frames_that_have_all_that_is_wanted_are_redirected() {
        let Some((program, _socket)) = program(&[wanted()], true) else { return };
        assert_eq!(program.test_run(&frame()).unwrap(), REDIRECT);
        assert_eq!(program.test_run(&frame()[..27]).unwrap(), REDIRECT);
        for short in [14, 18, 26] {
            assert_eq!(program.test_run(&frame()[..short]).unwrap(), PASS, "{short} bytes");
        }
        for at in 0..frame().len() {
            let looked_at = BITS.iter().find(|bits| bits.0 == at).map_or(0, |bits| bits.1);
            for bit in 0..8 {
                let mut other = frame();
                other[at] ^= 1 << bit;
                let expected = if looked_at >> bit & 1 == 1 { PASS } else { REDIRECT };
                assert_eq!(program.test_run(&other).unwrap(), expected, "byte {at}, bit {bit}");
            }
        }
    }

    #[test]
    fn what_is_as_any_of_several_patterns_is_redirected() {
        let of = |least, value| FrameMatch { min_bytes: least, fields: vec![(LoadField::Half(12), value)] };
        let Some((several, _socket)) = program(&[of(40, 0x0800), wanted(), of(14, 0x86dd)], true) else { return };
        let typed = |ether_type: u16, len: usize| {
            let mut frame = vec![0; len];
            frame[12..14].copy_from_slice(&ether_type.to_be_bytes());
            several.test_run(&frame).unwrap()
        };
        assert_eq!(
            (several.test_run(&frame()).unwrap(), typed(0x0800, 40), typed(0x86dd, 14)),
            (REDIRECT, REDIRECT, REDIRECT)
        );
        assert_eq!((typed(0x0800, 39), typed(0x88b5, 60), typed(0x0806, 60)), (PASS, PASS, PASS));
        let (none, _socket) = program(&[], true).unwrap();
        assert_eq!(none.test_run(&frame()).unwrap(), PASS);
    }

    #[test]
    fn a_queue_without_a_socket_passes_all() {
        let Some((program, _)) = program(&[wanted()], false) else { return };
        assert_eq!(program.test_run(&frame()).unwrap(), PASS);
    }

    #[test]
    fn what_the_verifier_says_is_told() {
        let Some(_) = program(&[], false) else { return };
        let sockets = XskMap::new(1).unwrap();
        let mut steps = redirect_matching(&[wanted()], sockets.as_fd());
        // Without the check of the frame's end.
        steps.remove(5);
        let told = XdpProgram::load(&steps).err().unwrap().to_string();
        assert!(told.contains("invalid access to packet"), "{told}");
    }
}
