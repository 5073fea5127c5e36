//! Locks the calling thread into one folder, for good.
//!
//! Landlock takes all rights on files away, and gives back reading and writing below the folder: no making of
//! links, sockets or devices, and nothing to execute. What Landlock does not cover (datagrams, sockets of the
//! file system, processes, tracing) is not among the system calls that seccomp leaves: a list of what
//! is allowed, so that a call which a later kernel brings is not.

use std::collections::BTreeMap;
use std::path::Path;

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, PathBeneath,
    PathFd, Ruleset, RulesetAttr as _, RulesetCreatedAttr as _, RulesetError, RulesetStatus, Scope,
    make_bitflags,
};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, apply_filter};

/// The first version of Landlock (Linux 5.13) confines reading and writing, which is all that is demanded;
/// what later ones add is taken where it is there. seccomp covers the rest in any case.
const DEMANDED: ABI = ABI::V1;

/// The newest version that is made use of.
const KNOWN: ABI = ABI::V6;

/// Bytes of a file that may be written, seconds of a processor, open files.
const LIMITS: [(Resource, u64); 4] =
    [(Resource::Fsize, 8 << 20), (Resource::Cpu, 300), (Resource::Nofile, 64), (Resource::Core, 0)];

/// What may be done with files below the folder: read, write, make and remove files and folders.
fn file_rights() -> BitFlags<AccessFs> {
    make_bitflags!(AccessFs::{
        ReadFile | ReadDir | WriteFile | Truncate | MakeReg | MakeDir | RemoveFile | RemoveDir | Refer
    })
}

/// Bounds what this whole process may use, for good.
///
/// # Errors
/// Why it cannot be, for a person.
pub fn bound() -> Result<(), String> {
    for (resource, most) in LIMITS {
        let most = getrlimit(resource).maximum.map_or(most, |maximum| maximum.min(most));
        let limit = Rlimit { current: Some(most), maximum: Some(most) };
        setrlimit(resource, limit).map_err(|error| format!("no limit can be set: {error}"))?;
    }
    Ok(())
}

/// Locks the calling thread, and what it starts, into `folder`. It cannot be undone.
///
/// # Errors
/// Why this kernel or system cannot do it, for a person. The thread may be locked in partly then: it is to do
/// nothing more.
pub fn confine(folder: &Path) -> Result<(), String> {
    let folder = PathFd::new(folder).map_err(|error| format!("Landlock: {error}"))?;
    let status = landlock(folder).map_err(|error| format!("Landlock: {error}"))?;
    if status == RulesetStatus::NotEnforced {
        return Err("this kernel has no Landlock (Linux 5.13 or newer, `lsm=landlock`)".to_owned());
    }
    seccomp().map_err(|error| format!("seccomp: {error}"))
}

fn landlock(folder: PathFd) -> Result<RulesetStatus, RulesetError> {
    let handled = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(DEMANDED))?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(KNOWN))?
        .handle_access(AccessNet::from_all(KNOWN))?
        .scope(Scope::from_all(KNOWN))?;
    let rule = PathBeneath::new(folder, file_rights());
    Ok(handled.create()?.add_rule(rule)?.restrict_self()?.ruleset)
}

fn seccomp() -> Result<(), seccompiler::Error> {
    let allowed: BTreeMap<i64, Vec<_>> = ALLOWED.iter().map(|call| (*call, Vec::new())).collect();
    let refused = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    let arch = std::env::consts::ARCH.try_into()?;
    let program: BpfProgram =
        SeccompFilter::new(allowed, refused, SeccompAction::Allow, arch)?.try_into()?;
    apply_filter(&program)
}

/// What reading and writing files and pipes takes, memory, and the end of a thread.
const ALLOWED: &[i64] = &[
    // Pipes and files.
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_readv,
    libc::SYS_writev,
    libc::SYS_pread64,
    libc::SYS_pwrite64,
    libc::SYS_lseek,
    libc::SYS_openat,
    libc::SYS_close,
    libc::SYS_fstat,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_getdents64,
    libc::SYS_ftruncate,
    libc::SYS_fsync,
    libc::SYS_fdatasync,
    libc::SYS_mkdirat,
    libc::SYS_unlinkat,
    #[cfg(not(target_arch = "riscv64"))]
    libc::SYS_renameat,
    libc::SYS_renameat2,
    libc::SYS_readlinkat,
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
    // The forms of the same that older processors have besides.
    #[cfg(target_arch = "x86_64")]
    libc::SYS_open,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_stat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_lstat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_mkdir,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_rmdir,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_unlink,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_rename,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_readlink,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_poll,
];
