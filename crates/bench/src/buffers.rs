//! The memory that messages are sent from and received into: places that are used in turn, each dirtied or filled before it is sent,
//! as worker/mpi.c has it.
//!
//! Before it: `duet` and `layer`; after it: nothing.

/// As in worker/mpi.c.
const POOL_BYTES: usize = 1 << 20;
const PLACES_MAX: usize = 64;
const LINE: usize = 64;
const PAGE: usize = 4096;

/// One side of a pair of pools, which lives through all plays.
#[derive(Default)]
pub struct Pool {
    memory: Vec<u8>,
    bytes: usize,
    step: usize,
    places: usize,
}

impl Pool {
    /// Of messages of so many bytes from now on.
    pub fn reserve(&mut self, bytes: usize) {
        self.bytes = bytes;
        self.step = bytes.next_multiple_of(LINE) + LINE;
        self.places = (POOL_BYTES / self.step).clamp(2, PLACES_MAX);
        let needed = self.step * self.places;
        if needed > self.memory.len() {
            self.memory.resize(needed, 1);
        }
    }

    /// What an earlier play left there must not pass for what the next one brings.
    pub fn clear(&mut self) {
        self.memory.fill(0xa5);
    }

    /// Where the message of this number lies.
    pub fn place(&mut self, number: u64) -> &mut [u8] {
        let at = (number % self.places as u64) as usize * self.step;
        &mut self.memory[at..at + self.bytes]
    }
}

/// A store in each page, so that no two messages are the same.
pub fn dirty(message: &mut [u8], number: u64) {
    message.iter_mut().step_by(PAGE).for_each(|byte| *byte = number as u8);
}

fn expected(number: u64, at: usize) -> u8 {
    (number as usize * 7).wrapping_add(at * 13 + (at >> 8) + (at >> 16) * 5) as u8
}

pub fn fill(message: &mut [u8], number: u64) {
    message.iter_mut().enumerate().for_each(|(at, byte)| *byte = expected(number, at));
}

/// The first byte that is not as `fill` wrote it.
pub fn compare(message: &[u8], number: u64) -> Result<(), String> {
    match message.iter().enumerate().find(|&(at, &byte)| byte != expected(number, at)) {
        None => Ok(()),
        Some((at, byte)) => Err(format!("byte {at} of message {number} is {byte}, not {}", expected(number, at))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_follow_each_other_and_come_again() {
        let mut pool = Pool::default();
        pool.reserve(1 << 20);
        let [first, second, third] = [0, 1, 2].map(|number| pool.place(number).as_ptr() as usize);
        assert!(first != second && first == third);
        pool.reserve(1);
        assert_eq!((pool.places, pool.place(7).len()), (PLACES_MAX, 1));
    }

    #[test]
    fn a_byte_that_changed_is_found() {
        let mut message = vec![0; 5000];
        fill(&mut message, 3);
        assert_eq!(compare(&message, 3), Ok(()));
        assert!(compare(&message, 4).is_err());
        message[4097] ^= 1;
        assert!(compare(&message, 3).unwrap_err().starts_with("byte 4097 of message 3"));
    }

    /// Pieces of as many bytes as anybody cuts messages into.
    #[test]
    fn pieces_that_took_each_others_place_are_found() {
        let mut message = vec![0; 1 << 20];
        for piece in (8..20).map(|power| 1 << power) {
            fill(&mut message, 0);
            message.rotate_left(piece);
            assert!(compare(&message, 0).is_err(), "{piece}");
        }
    }
}
