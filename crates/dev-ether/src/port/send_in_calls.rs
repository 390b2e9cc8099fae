//! Sends the frames of a run by several calls, each of which takes only so many frames.
//!
//! Used by the ports `packet`, `udp` and `stream`.

use std::io::{self, IoSlice};

/// Passes frames to `send`, at most `frames_a_call` at once, until it has taken fewer than it was given. Returns the
/// number of frames that were taken: they are the first ones of `frames`. If `send` fails before any frame was taken,
/// returns its error; a later error shows in the next run.
///
/// No frame may be sent behind one that was not taken. The caller believes that the first frames were sent, and sends
/// the others again under numbers that the receiver has already accepted.
pub(super) fn send_in_calls(
    frames: &[IoSlice<'_>],
    frames_a_call: usize,
    mut send: impl FnMut(&[IoSlice<'_>]) -> io::Result<usize>,
) -> io::Result<usize> {
    let mut taken = 0;
    for run in frames.chunks(frames_a_call) {
        match send(run) {
            Ok(count) => {
                taken += count;
                if count < run.len() {
                    break;
                }
            }
            Err(error) if taken == 0 => return Err(error),
            Err(_) => break,
        }
    }
    Ok(taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends eight frames, three a call. `answers` are the results of the calls. Returns the result, and the frames
    /// that were taken.
    fn sent(answers: &[Result<usize, io::ErrorKind>]) -> (Result<usize, io::ErrorKind>, Vec<u8>) {
        let bytes: Vec<[u8; 1]> = (0..8).map(|byte| [byte]).collect();
        let frames: Vec<IoSlice<'_>> = bytes.iter().map(|bytes| IoSlice::new(bytes)).collect();
        let (mut answers, mut taken) = (answers.iter(), Vec::new());
        let result = send_in_calls(&frames, 3, |run| {
            let count = (*answers.next().unwrap())?;
            taken.extend(run[..count].iter().map(|frame| frame[0]));
            Ok(count)
        });
        (result.map_err(|error| error.kind()), taken)
    }

    #[test]
    fn the_frames_that_are_taken_are_the_first_ones() {
        assert_eq!(sent(&[Ok(3), Ok(3), Ok(2)]), (Ok(8), (0..8).collect()));
        // There is space again by the time of a further call, which therefore must not be made.
        for answers in [&[Ok(0), Ok(3), Ok(2)], &[Ok(1), Ok(3), Ok(2)], &[Ok(3), Ok(0), Ok(2)], &[Ok(3), Ok(2), Ok(2)]]
        {
            let (result, taken) = sent(answers);
            assert_eq!(taken, (0..result.unwrap() as u8).collect::<Vec<_>>(), "{answers:?}");
        }
    }

    #[test]
    fn an_error_is_reported_if_nothing_was_taken() {
        let broken = Err(io::ErrorKind::BrokenPipe);
        assert_eq!(sent(&[broken]), (broken, vec![]));
        assert_eq!(sent(&[Ok(3), broken]), (Ok(3), vec![0, 1, 2]));
    }
}
