//! eBPF programs that choose which of a NIC's frames a process gets (linux/bpf.h, RFC 9669): instructions, assembled
//! here.
//!
//! This module must never decide which frames are redirected: `dev-ether`, which uses it and knows its frames, does.
//! The kernel checks and compiles the programs; `xdp` loads and attaches them. Uses `bpf` (fields of frames).

use crate::bpf::LoadField;
use std::os::fd::{AsRawFd, BorrowedFd};

/// One instruction: `struct bpf_insn`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct EbpfInsn {
    code: u8,
    /// The numbers of the register that is written and of the register that is read, four bits each.
    registers: u8,
    /// For a jump: how many instructions it skips, counted from the next one. For a load: the offset in bytes.
    offset: i16,
    value: i32,
}

/// The number of a register. R0 holds the result of a program or a call; R1 to R5 hold the arguments of a call, which
/// destroys them.
type Register = u8;
const R0: Register = 0;
const R1: Register = 1;
const R2: Register = 2;
const R3: Register = 3;
const R4: Register = 4;
const R6: Register = 6;

/// The codes of the instructions that are used here: a code consists of class, size and mode, or of class, operation
/// and source (RFC 9669, 3 to 5).
mod code {
    pub const MOVE: u8 = 0xbf;
    pub const SET: u8 = 0xb7;
    pub const ADD: u8 = 0x07;
    pub const AND: u8 = 0x57;
    pub const LOAD_WORD: u8 = 0x61;
    pub const LOAD_HALF: u8 = 0x69;
    pub const LOAD_BYTE: u8 = 0x71;
    pub const LOAD_LONG: u8 = 0x18;
    pub const JUMP_IF_GREATER: u8 = 0x2d;
    pub const JUMP_UNLESS_EQUAL: u8 = 0x55;
    pub const CALL: u8 = 0x85;
    pub const EXIT: u8 = 0x95;
}

/// linux/bpf.h: with the source register OF_MAP (BPF_PSEUDO_MAP_FD), a long load loads the map that its descriptor
/// names; REDIRECT_MAP is the number of the function bpf_redirect_map.
const OF_MAP: Register = 1;
const REDIRECT_MAP: i32 = 51;
/// The results of a program: a frame passes to the kernel, or is redirected (enum xdp_action).
pub const PASS: u32 = 2;
pub const REDIRECT: u32 = 4;
/// Offsets in `struct xdp_md`, which describes a frame to a program.
const DATA: i16 = 0;
const DATA_END: i16 = 4;
const QUEUE: i16 = 16;

fn insn(code: u8, to: Register, from: Register, offset: i16, value: i32) -> EbpfInsn {
    let registers = if cfg!(target_endian = "little") { from << 4 | to } else { to << 4 | from };
    EbpfInsn { code, registers, offset, value }
}

/// A pattern of frames to redirect. A frame matches if it has at least `min_bytes` bytes and every field has its
/// value. All fields must lie within the first `min_bytes` bytes.
#[derive(Clone, Debug)]
pub struct FrameMatch {
    pub min_bytes: usize,
    pub fields: Vec<(LoadField, u32)>,
}

/// Makes a program that redirects each frame that matches one of these patterns to the socket that `map` has for the
/// queue by which the frame came. All other frames pass to the kernel; so do matching frames of a queue without a
/// socket.
pub fn redirect_matching(patterns: &[FrameMatch], map: BorrowedFd) -> Vec<EbpfInsn> {
    let begin = [
        insn(code::MOVE, R6, R1, 0, 0),
        insn(code::LOAD_WORD, R2, R6, DATA, 0),
        insn(code::LOAD_WORD, R3, R6, DATA_END, 0),
    ];
    let pass = [insn(code::SET, R0, 0, 0, PASS as i32), insn(code::EXIT, 0, 0, 0, 0)];
    begin.into_iter().chain(patterns.iter().flat_map(|pattern| redirect(pattern, map))).chain(pass).collect()
}

/// Makes the steps that redirect a frame that matches this pattern. For any other frame the program continues behind
/// them.
fn redirect(pattern: &FrameMatch, map: BorrowedFd) -> Vec<EbpfInsn> {
    let mut steps = vec![
        insn(code::MOVE, R4, R2, 0, 0),
        insn(code::ADD, R4, 0, 0, pattern.min_bytes as i32),
        insn(code::JUMP_IF_GREATER, R4, R3, 0, 0),
    ];
    steps.extend(pattern.fields.iter().flat_map(|&(field, value)| field_test(field, value)));
    let end = [
        insn(code::LOAD_WORD, R2, R6, QUEUE, 0),
        insn(code::LOAD_LONG, R1, OF_MAP, 0, map.as_raw_fd()),
        insn(0, 0, 0, 0, 0),
        insn(code::SET, R3, 0, 0, PASS as i32),
        insn(code::CALL, 0, 0, 0, REDIRECT_MAP),
        insn(code::EXIT, 0, 0, 0, 0),
    ];
    let behind = steps.len() + end.len();
    for (at, step) in steps.iter_mut().enumerate() {
        if matches!(step.code, code::JUMP_IF_GREATER | code::JUMP_UNLESS_EQUAL) {
            step.offset = (behind - at - 1) as i16;
        }
    }
    steps.extend(end);
    steps
}

/// Makes the steps that test a field's value. Each comparison is a jump that is taken if the value differs; the
/// caller sets its target. Panics for `PacketType`, which the kernel determines only after XDP.
fn field_test(field: LoadField, value: u32) -> Vec<EbpfInsn> {
    let load = |code: u8, at: u32| insn(code, R4, R2, at as i16, 0);
    let unless = |value: i32| insn(code::JUMP_UNLESS_EQUAL, R4, 0, 0, value);
    // A load of two bytes of a frame does not reverse their order, and numbers in frames are big-endian: this is the
    // value that the load gives for `half`.
    let loaded = |half: u16| i32::from(u16::from_ne_bytes(half.to_be_bytes()));
    let half = |at: u32, value: u16| vec![load(code::LOAD_HALF, at), unless(loaded(value))];
    match field {
        LoadField::Byte(at) => vec![load(code::LOAD_BYTE, at), unless(value as i32)],
        LoadField::Half(at) => half(at, value as u16),
        LoadField::Bits(at, mask) => {
            vec![load(code::LOAD_HALF, at), insn(code::AND, R4, 0, 0, loaded(mask)), unless(loaded(value as u16))]
        }
        // The word is loaded as two halves, because not every processor can load a word at an odd multiple of two.
        LoadField::Word(at) => [half(at, (value >> 16) as u16), half(at + 2, value as u16)].concat(),
        LoadField::PacketType => panic!("the kernel determines a frame's class later"),
    }
}
