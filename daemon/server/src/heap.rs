//! The heap of the process: how it is laid out, and giving back what nobody uses.
//!
//! The allocator of the GNU C library keeps what is freed for later, in a heap for each thread that ever met
//! another in its own. After a first ingestion that is more than what is in use. Other C libraries and systems
//! have neither question nor calls, and nothing happens there.

/// Heaps at most: one that the threads share, and one beside it for when they meet.
///
/// # Source
/// Measured on two processors: ingestion is as fast, and a third less is held after it.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const HEAPS_MAX: libc::c_int = 2;

/// Bytes from which an allocation is a mapping of its own, which goes back to the system when it is freed.
///
/// # Source
/// Chosen: below a large answer, above what ingestion allocates for a line. Left alone, the library raises it to
/// 32 MiB once a large one was freed, and keeps what large answers took.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const MAPPED_BYTES_MIN: libc::c_int = 1024 * 1024;

/// Bounds the number of heaps and what they keep; to be called before there are threads. What a person set by `MALLOC_ARENA_MAX` is left.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub fn bound() {
    if std::env::var_os("MALLOC_ARENA_MAX").is_none() {
        #[expect(unsafe_code, reason = "a call into C without a safe form: it takes two numbers")]
        // SAFETY: mallopt may be called at any time, and refuses values that it does not know.
        let _is_set = unsafe { libc::mallopt(libc::M_ARENA_MAX, HEAPS_MAX) };
    }
    #[expect(unsafe_code, reason = "a call into C without a safe form: it takes two numbers")]
    // SAFETY: as above.
    let _is_set = unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, MAPPED_BYTES_MIN) };
}

/// Gives back to the system every page that holds nothing. Takes a few milliseconds, in which whoever allocates waits.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub fn release() {
    #[expect(unsafe_code, reason = "a call into C without a safe form: it takes a number")]
    // SAFETY: malloc_trim may be called at any time, by any thread, and changes nothing that is in use.
    let _is_any = unsafe { libc::malloc_trim(0) };
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn bound() {}

/// Nothing to give back here.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn release() {}
