//! Monotonic time of this host, in nanoseconds. All processes of a host share it.

/// Returns the nanoseconds since some moment before this host's processes began (CLOCK_MONOTONIC, through the vDSO).
#[inline]
pub fn now_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for the result; CLOCK_MONOTONIC always exists.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Returns the resolution of `now_ns`, in seconds (MPI_Wtick).
pub fn tick_s() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 1 };
    // SAFETY: as in `now_ns`.
    unsafe { libc::clock_getres(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_does_not_run_backwards() {
        let first_ns = now_ns();
        std::thread::sleep(std::time::Duration::from_millis(2));
        assert!(now_ns() >= first_ns + 2_000_000);
        assert!(tick_s() > 0.0 && tick_s() <= 0.01);
    }
}
