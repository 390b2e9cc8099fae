//! Classic BPF programs for sockets (linux/filter.h): filters, which accept or drop a frame, and programs that return
//! a field of a frame. The kernel checks and compiles them.

/// One instruction.
pub type BpfInsn = libc::sock_filter;

/// The operand of a load.
#[derive(Clone, Copy, Debug)]
pub enum LoadField {
    /// A byte at this offset.
    Byte(u32),
    /// Two bytes at this offset, big-endian.
    Half(u32),
    /// The two bytes at the offset that comes first, big-endian, ANDed with the mask that comes second.
    Bits(u32, u16),
    /// Four bytes at this offset, big-endian.
    Word(u32),
    /// The class of the frame's destination; PACKET_HOST (0) is a frame for this host alone (SKF_AD_OFF +
    /// SKF_AD_PKTTYPE).
    PacketType,
}

/// linux/bpf_common.h: class BPF_LD (0) with size W (0), H (8) or B (0x10), mode BPF_ABS (0x20).
const LOAD_WORD: u16 = 0x20;
const LOAD_HALF: u16 = 0x28;
const LOAD_BYTE: u16 = 0x30;
/// BPF_ALU | BPF_AND | BPF_K.
const AND: u16 = 0x54;
/// BPF_JMP | BPF_JEQ | BPF_K.
const JUMP_IF_EQUAL: u16 = 0x15;
/// BPF_RET that returns the constant K, and BPF_RET that returns the accumulator.
const RETURN: u16 = 0x06;
const RETURN_LOADED: u16 = 0x16;
/// linux/filter.h: SKF_AD_OFF (-0x1000) + SKF_AD_PKTTYPE (4).
const PACKET_TYPE: u32 = (-0x1000_i32 + 4) as u32;

fn insn(code: u16, k: u32) -> BpfInsn {
    BpfInsn { code, jt: 0, jf: 0, k }
}

fn load(field: LoadField) -> Vec<BpfInsn> {
    match field {
        LoadField::Byte(at) => vec![insn(LOAD_BYTE, at)],
        LoadField::Half(at) => vec![insn(LOAD_HALF, at)],
        LoadField::Bits(at, mask) => vec![insn(LOAD_HALF, at), insn(AND, mask.into())],
        LoadField::Word(at) => vec![insn(LOAD_WORD, at)],
        LoadField::PacketType => vec![insn(LOAD_WORD, PACKET_TYPE)],
    }
}

/// Makes a filter that accepts the whole frame if every field has its value, and drops the frame otherwise. A field
/// that lies beyond the frame's end does not match.
pub fn match_all(wanted: &[(LoadField, u32)]) -> Vec<BpfInsn> {
    let mut steps = Vec::new();
    let mut left: usize = wanted.iter().map(|&(field, _)| load(field).len() + 1).sum();
    for &(field, value) in wanted {
        let loaded = load(field);
        left -= loaded.len() + 1;
        steps.extend(loaded);
        // If the field differs, jump over the remaining tests and the return that accepts, to the last step: it drops
        // the frame.
        let jf = u8::try_from(left + 1).expect("a filter of a few fields");
        steps.push(BpfInsn { jf, ..insn(JUMP_IF_EQUAL, value) });
    }
    steps.push(insn(RETURN, u32::MAX));
    steps.extend(match_none());
    steps
}

/// Makes a filter that drops every frame.
pub fn match_none() -> Vec<BpfInsn> {
    vec![insn(RETURN, 0)]
}

/// Makes a program that returns the value of a field.
pub fn load_value(field: LoadField) -> Vec<BpfInsn> {
    let mut steps = load(field);
    steps.push(insn(RETURN_LOADED, 0));
    steps
}
