//! The system calls that a confined process may make. Allowlists, so that calls of later kernels are denied.

use std::collections::BTreeMap;

use seccompiler::{
    BackendError, SeccompCmpArgLen as Width, SeccompCmpOp as Is, SeccompCondition as Condition,
    SeccompRule,
};

/// Calls by number; a call with rules is allowed if one of them matches.
pub(super) type Calls = BTreeMap<i64, Vec<SeccompRule>>;

/// Flags that create, truncate or open a file write-only. `/dev/null` is opened for reading and writing.
const CHANGING: libc::c_int =
    libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC | (libc::O_TMPFILE & !libc::O_DIRECTORY);

/// For a process that talks over an open connection: it opens and starts nothing.
pub(super) fn of_client() -> Calls {
    BASE.iter().chain(TALKING).map(|call| (*call, Vec::new())).collect()
}

/// For a program that reads files: it executes one program, may have threads, and starts no process. It can open no
/// file to create, truncate or only write it, whatever Landlock covers on this kernel.
pub(super) fn of_reader() -> Result<Calls, BackendError> {
    let mut calls: Calls =
        BASE.iter().chain(READING).chain(PROGRAM).map(|call| (*call, Vec::new())).collect();
    let mut allow = |call, conditions| -> Result<(), BackendError> {
        calls.insert(call, vec![SeccompRule::new(conditions)?]);
        Ok(())
    };
    let without = |argument, flags: libc::c_int| {
        Condition::new(argument, Width::Dword, Is::MaskedEq(bits(flags)), 0)
    };
    allow(libc::SYS_openat, vec![without(2, CHANGING)?])?;
    #[cfg(target_arch = "x86_64")]
    allow(libc::SYS_open, vec![without(1, CHANGING)?])?;
    let thread = bits(libc::CLONE_THREAD);
    let is_thread = Condition::new(0, Width::Qword, Is::MaskedEq(thread), thread)?;
    allow(libc::SYS_clone, vec![is_thread])?;
    // A process may read its own limits, but not set them.
    let own = Condition::new(0, Width::Dword, Is::Eq, 0)?;
    let asked = Condition::new(2, Width::Qword, Is::Eq, 0)?;
    allow(libc::SYS_prlimit64, vec![own, asked])?;
    Ok(calls)
}

fn bits(flags: libc::c_int) -> u64 {
    u64::from(flags.cast_unsigned())
}

/// Reading and writing what is open, memory, time, and the end of a thread.
const BASE: &[i64] = &[
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_readv,
    libc::SYS_writev,
    libc::SYS_close,
    libc::SYS_fstat,
    libc::SYS_fcntl,
    libc::SYS_ppoll,
    // Memory, locks, time.
    libc::SYS_brk,
    libc::SYS_mmap,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_mprotect,
    libc::SYS_madvise,
    libc::SYS_futex,
    libc::SYS_getrandom,
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    libc::SYS_sched_yield,
    // Signals, and the end.
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    libc::SYS_gettid,
    libc::SYS_getpid,
    libc::SYS_restart_syscall,
    libc::SYS_exit,
    libc::SYS_exit_group,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_poll,
];

/// Additional calls to read files.
const READING: &[i64] = &[
    libc::SYS_pread64,
    libc::SYS_lseek,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_getdents64,
    libc::SYS_readlinkat,
    // Older forms of these calls on x86-64.
    #[cfg(target_arch = "x86_64")]
    libc::SYS_stat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_lstat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_readlink,
];

/// Additional calls to talk over an open socket and wait for it.
const TALKING: &[i64] = &[
    libc::SYS_recvfrom,
    libc::SYS_sendto,
    libc::SYS_shutdown,
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_pwait,
    libc::SYS_epoll_pwait2,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_epoll_wait,
];

/// Additional calls of a program and its C library: exec, threads, working folder, user.
const PROGRAM: &[i64] = &[
    libc::SYS_execve,
    libc::SYS_set_tid_address,
    libc::SYS_set_robust_list,
    libc::SYS_rseq,
    libc::SYS_sched_getaffinity,
    libc::SYS_getcwd,
    libc::SYS_chdir,
    libc::SYS_fchdir,
    libc::SYS_faccessat,
    libc::SYS_dup,
    libc::SYS_dup3,
    libc::SYS_uname,
    libc::SYS_sysinfo,
    libc::SYS_getuid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getegid,
    libc::SYS_getppid,
    libc::SYS_gettimeofday,
    libc::SYS_clock_getres,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_arch_prctl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_access,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_dup2,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_time,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_getrlimit,
];
