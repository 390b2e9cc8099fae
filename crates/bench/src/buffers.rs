//! The memory that messages are sent from and received into: places that are used in turn, each dirtied or filled before it is sent,
//! as worker/mpi.c has it.
//!
//! Before it: `duet` and `layer`; after it: nothing.

/// As in worker/mpi.c.
const POOL_BYTES: usize = 1 << 20;
const PLACES_MAX: usize = 64;
const LINE: usize = 64;
const PAGE: usize = 4096;

/// One side of a pair of pools.
pub struct Pool {
    memory: Vec<u8>,
    bytes: usize,
    step: usize,
    places: usize,
}

impl Pool {
    /// For messages of so many bytes.
    pub fn new(bytes: usize) -> Pool {
        let step = bytes.next_multiple_of(LINE) + LINE;
        let places = (POOL_BYTES / step).clamp(2, PLACES_MAX);
        Pool { memory: vec![1; step * places], bytes, step, places }
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
    (number as usize).wrapping_mul(7).wrapping_add(at.wrapping_mul(13)).wrapping_add(at >> 8) as u8
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
        let mut pool = Pool::new(1 << 20);
        let [first, second, third] = [0, 1, 2].map(|number| pool.place(number).as_ptr() as usize);
        assert!(first != second && first == third);
        assert_eq!(Pool::new(1).places, PLACES_MAX);
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
}
