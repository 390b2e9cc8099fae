//! Classic BPF programs that choose among a packet socket's frames (linux/filter.h). The kernel checks and compiles them.

/// One instruction.
pub type Step = libc::sock_filter;

/// What a load reads.
#[derive(Clone, Copy, Debug)]
pub enum Field {
    /// Two bytes at this offset, big-endian.
    Half(u32),
    /// Four bytes at this offset, big-endian.
    Word(u32),
    /// Whom the medium addressed: PACKET_HOST (0) is this host alone (SKF_AD_OFF + SKF_AD_PKTTYPE).
    PacketType,
}

/// linux/bpf_common.h: class BPF_LD (0) with size W (0) or H (8), mode BPF_ABS (0x20).
const LOAD_WORD: u16 = 0x20;
const LOAD_HALF: u16 = 0x28;
/// BPF_JMP | BPF_JEQ | BPF_K.
const JUMP_IF_EQUAL: u16 = 0x15;
/// BPF_RET with K or with the accumulator.
const RETURN: u16 = 0x06;
const RETURN_LOADED: u16 = 0x16;
/// linux/filter.h: SKF_AD_OFF (-0x1000) + SKF_AD_PKTTYPE (4).
const PACKET_TYPE: u32 = (-0x1000_i32 + 4) as u32;

fn load(field: Field) -> Step {
    let (code, k) = match field {
        Field::Half(at) => (LOAD_HALF, at),
        Field::Word(at) => (LOAD_WORD, at),
        Field::PacketType => (LOAD_WORD, PACKET_TYPE),
    };
    Step { code, jt: 0, jf: 0, k }
}

/// Takes a frame whole if every field has its value, else none of it. A field beyond its end is a no.
pub fn all_of(wanted: &[(Field, u32)]) -> Vec<Step> {
    let mut steps = Vec::new();
    for (nth, &(field, value)) in wanted.iter().enumerate() {
        // To the last step: over the rest of the pairs and the "yes".
        let to_no = 2 * (wanted.len() - 1 - nth) + 1;
        let no = u8::try_from(to_no).expect("a filter of a few fields");
        steps.push(load(field));
        steps.push(Step { code: JUMP_IF_EQUAL, jt: 0, jf: no, k: value });
    }
    steps.push(Step { code: RETURN, jt: 0, jf: 0, k: u32::MAX });
    steps.push(Step { code: RETURN, jt: 0, jf: 0, k: 0 });
    steps
}

/// Gives the value of a field.
pub fn value_of(field: Field) -> Vec<Step> {
    vec![load(field), Step { code: RETURN_LOADED, jt: 0, jf: 0, k: 0 }]
}
