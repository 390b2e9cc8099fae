//! Time of the processor that this process has used (getrusage(2)).

/// Seconds, those that the kernel spent for it included.
pub fn cpu_s() -> f64 {
    // SAFETY: a plain structure, for which zeroes are valid.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: a valid place for the answer.
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut usage) };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 * 1e-6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}
