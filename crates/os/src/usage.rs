//! Processor time that this process has used (getrusage(2)), or one thread of it.

/// Returns the process's seconds, including those that the kernel spent for it.
pub fn cpu_s() -> f64 {
    // SAFETY: a plain structure, for which zeroes are valid.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: a valid place for the answer.
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut usage) };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 * 1e-6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

/// Returns the seconds of the calling thread alone.
pub fn thread_cpu_s() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a valid place for the answer; the clock always exists.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_sleeps_uses_nothing_of_what_another_uses() {
        let busy = std::thread::spawn(|| while thread_cpu_s() < 0.02 {});
        busy.join().unwrap();
        assert!(cpu_s() >= 0.02 && thread_cpu_s() < cpu_s());
    }
}
