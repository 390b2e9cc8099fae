//! Fuzzes the connection between mpiexec and an agent with any bytes.
//!
//! A frame decodes or it does not; a decoded frame encodes to the same, can be shown to the user, and takes no more
//! memory than its bytes warrant. A stream is cut into the same frames wherever the kernel cuts it.

use bolero::check;
use hawser_launch::channel::{AgentChannel, HEARTBEAT, Received};
use hawser_launch::frames::{FromAgent, ToAgent};
use hawser_launch::{report, stats};
use std::io::Write;
use std::os::unix::net::UnixStream;

/// The item that takes the most memory for its bytes is a rank's state: 17 bytes of a frame, some 130 in memory, and
/// a list that grows holds its items twice, with a capacity for twice as many.
const MEMORY_PER_BYTE: u64 = 64;

/// The same value as in `channel`.
const FRAME_MAX: usize = 64 << 20;

fn decoded<T>(bytes: &[u8], decode: fn(&[u8]) -> Option<T>) -> Option<T> {
    let mut value = None;
    let memory = allocation_counter::measure(|| value = decode(bytes));
    assert!(memory.bytes_max <= MEMORY_PER_BYTE * bytes.len() as u64, "{} bytes", memory.bytes_max);
    value
}

#[test]
fn to_the_agent() {
    check!().with_iterations(5000).for_each(|bytes| {
        if let Some(frame) = decoded(bytes, ToAgent::decode) {
            assert_eq!(ToAgent::decode(&frame.encode()), Some(frame));
        }
    });
}

#[test]
fn from_the_agent() {
    check!().with_iterations(5000).for_each(|bytes| {
        let Some(frame) = decoded(bytes, FromAgent::decode) else { return };
        assert_eq!(FromAgent::decode(&frame.encode()).as_ref(), Some(&frame));
        handle_frame(&frame);
    });
}

/// Handles a frame as mpiexec does.
fn handle_frame(frame: &FromAgent) {
    match frame {
        FromAgent::Failure(failure) => {
            assert!(!failure.line("host").is_empty());
            let _ = failure.exit_code();
        }
        FromAgent::Snapshot(states) => {
            let located: Vec<_> = states.iter().map(|state| ("host", state)).collect();
            assert!(report::report("job", &located).lines().count() > states.len());
        }
        FromAgent::Counters(counters) => drop(stats::text(counters)),
        _ => {}
    }
}

#[test]
fn streams_of_frames() {
    check!().with_type::<(Vec<u8>, Vec<u8>)>().with_iterations(2000).for_each(|(lengths, cuts)| {
        let stream = stream(lengths);
        let (ours, theirs) = UnixStream::pair().unwrap();
        let mut theirs = Some(theirs);
        let input = ours.try_clone().unwrap().into();
        let mut channel = AgentChannel::new(input, ours.into()).unwrap();
        let mut frames = Vec::new();
        let mut rest = &stream[..];
        for cut in cuts.iter().map(|&cut| usize::from(cut)).chain([stream.len()]) {
            let (now, later) = rest.split_at(cut.min(rest.len()));
            theirs.as_mut().unwrap().write_all(now).unwrap();
            rest = later;
            if rest.is_empty() {
                theirs = None;
            }
            let ended = loop {
                match channel.receive() {
                    Received::Frame(frame) => frames.push(frame),
                    Received::Nothing => break false,
                    Received::End => break true,
                }
            };
            if ended || rest.is_empty() {
                break;
            }
        }
        assert_eq!(frames, cut(&stream));
    });
}

/// A stream of pieces of these lengths, one byte each: its low half is a length, and from 0xf0 on one that is
/// impossible, or longer than the bytes that follow. 0xfe is a heartbeat, and from 0xe0 on another piece follows.
fn stream(lengths: &[u8]) -> Vec<u8> {
    let mut stream = Vec::new();
    for &byte in lengths {
        let header = match byte {
            0xff => FRAME_MAX + 1,
            0xfe => {
                stream.extend(HEARTBEAT);
                continue;
            }
            0xf0.. => usize::from(byte) * 16,
            0xe0.. => usize::from(byte % 16) | 1 << 31,
            _ => usize::from(byte % 16),
        };
        stream.extend((header as u32).to_le_bytes());
        stream.extend(vec![byte; usize::from(byte % 16)]);
    }
    stream
}

/// The frames of a whole stream, up to an impossible length.
fn cut(mut stream: &[u8]) -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    let mut frame = Vec::new();
    while let Some((header, rest)) = stream.split_first_chunk() {
        let len = (u32::from_le_bytes(*header) & !(1 << 31)) as usize;
        if *header == HEARTBEAT {
            stream = rest;
            continue;
        }
        if len > FRAME_MAX || len > rest.len() {
            break;
        }
        let (piece, rest) = rest.split_at(len);
        frame.extend(piece);
        stream = rest;
        if u32::from_le_bytes(*header) >> 31 == 0 {
            frames.push(std::mem::take(&mut frame));
        }
    }
    frames
}
