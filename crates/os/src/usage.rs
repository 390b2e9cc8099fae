//! The CPU time that this process, or the calling thread, has used (getrusage(2), clock_gettime(2)).

/// Returns the CPU time of the process in seconds, including the time that the kernel spent for it.
pub fn cpu_s() -> f64 {
    // SAFETY: a plain structure, for which zeroes are valid.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: a valid place for the answer.
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut usage) };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 * 1e-6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

/// Returns the CPU time of the calling thread in seconds.
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
