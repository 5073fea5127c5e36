//! Bounds the process's heap, and releases unused pages.
//!
//! The allocator of the GNU C library keeps freed memory, in a separate heap for each thread that ever met another in
//! its own. After a first ingestion, that is more than the memory in use. Other C libraries and systems neither have the
//! problem nor the calls, and nothing happens there.

/// Maximum heaps: one that the threads share, and a second one for contention.
///
/// # Source
/// Measured on two processors: ingestion is as fast, and takes a third less memory afterwards.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const HEAPS_MAX: libc::c_int = 2;

/// Minimum bytes of an allocation with its own mapping, which returns to the system when it is freed.
///
/// # Source
/// Chosen: below a large answer, above what ingestion allocates for a line. By default, the library raises it to 32 MiB
/// once a large allocation was freed, and then keeps the memory of large answers.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const MAPPED_BYTES_MIN: libc::c_int = 1024 * 1024;

/// Bounds the number of heaps and the memory they keep; must be called before threads start. Respects `MALLOC_ARENA_MAX`.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub fn bound() {
    if std::env::var_os("MALLOC_ARENA_MAX").is_none() {
        #[expect(unsafe_code, reason = "a call into C without a safe form: it takes two numbers")]
        // SAFETY: mallopt may be called at any time, and rejects unknown values.
        let _is_set = unsafe { libc::mallopt(libc::M_ARENA_MAX, HEAPS_MAX) };
    }
    #[expect(unsafe_code, reason = "a call into C without a safe form: it takes two numbers")]
    // SAFETY: as above.
    let _is_set = unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, MAPPED_BYTES_MIN) };
}

/// Returns all unused pages to the system. Takes a few milliseconds, during which allocations wait.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub fn release() {
    #[expect(unsafe_code, reason = "a call into C without a safe form: it takes a number")]
    // SAFETY: malloc_trim may be called at any time, by any thread, and does not change memory in use.
    let _is_any = unsafe { libc::malloc_trim(0) };
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn bound() {}

/// Other allocators need no release.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn release() {}
