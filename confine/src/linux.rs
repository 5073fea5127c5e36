//! Confines the calling thread permanently.
//!
//! Landlock removes all rights on files ([`confine_client`]), or all but reading some places and executing one
//! program ([`confine_reader`]). seccomp denies what Landlock does not cover (datagrams, sockets of the file system,
//! processes, tracing).

use std::path::Path;

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, CompatLevel, Compatible as _, PathBeneath, PathFd,
    Ruleset, RulesetAttr as _, RulesetCreatedAttr as _, RulesetError, RulesetStatus, Scope,
};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, apply_filter};

use super::Reach;
use super::calls::{self, Calls};

/// The first version of Landlock (Linux 5.13) confines reading and writing, which is all that is required; later
/// features are used if available. seccomp covers the rest in any case.
const DEMANDED: ABI = ABI::V1;

/// The newest version that is used.
const KNOWN: ABI = ABI::V6;

/// Maximum use of each resource: bytes of a written file, processor seconds, and so on.
type Limits = [(Resource, u64)];

/// For a process that talks over a connection: it writes no file, and waiting for a model uses no processor time.
const OF_CLIENT: &Limits = &[
    (Resource::Fsize, 0),
    (Resource::Cpu, 300),
    (Resource::Nofile, 64),
    (Resource::Core, 0),
    (Resource::Data, 1 << 30),
];

/// For a program that reads: a large repository has many packs, and an index of some hundred megabytes.
const OF_READER: &Limits = &[
    (Resource::Fsize, 0),
    (Resource::Cpu, 60),
    (Resource::Nofile, 256),
    (Resource::Core, 0),
    (Resource::Data, 2 << 30),
];

/// Limits this process's resources permanently.
///
/// # Errors
/// The reason, for a person.
pub fn bound_client() -> Result<(), String> {
    set(OF_CLIENT)
}

/// Limits this process's resources permanently, for a reader.
///
/// # Errors
/// As [`bound_client`].
pub fn bound_reader() -> Result<(), String> {
    set(OF_READER)
}

fn set(limits: &Limits) -> Result<(), String> {
    for (resource, most) in limits {
        let most = getrlimit(*resource).maximum.map_or(*most, |maximum| maximum.min(*most));
        let limit = Rlimit { current: Some(most), maximum: Some(most) };
        setrlimit(*resource, limit).map_err(|error| format!("no limit can be set: {error}"))?;
    }
    Ok(())
}

/// Leaves the calling thread and its descendants only open connections and memory: no file, no new socket, no program.
/// It cannot be undone.
///
/// # Errors
/// Why this kernel or system cannot do it, for a person. The thread may then be partly confined and must not continue.
pub fn confine_client() -> Result<(), String> {
    landlock(Vec::new())?;
    seccomp(calls::of_client(), libc::EPERM)
}

/// Confines the calling thread, so that it can only execute a program of `reach` and read its places. It cannot be
/// undone.
///
/// # Errors
/// As [`confine_client`].
pub fn confine_reader(reach: &Reach) -> Result<(), String> {
    let mut rules = Vec::new();
    let mut allow = |path: &Path, rights| {
        // What cannot be opened stays out of reach.
        if let Ok(opened) = PathFd::new(path) {
            rules.push(PathBeneath::new(opened, rights));
        }
    };
    for path in &reach.read {
        match path.is_dir() {
            true => allow(path, AccessFs::ReadFile | AccessFs::ReadDir),
            false => allow(path, AccessFs::ReadFile.into()),
        }
    }
    for path in &reach.run {
        allow(path, AccessFs::ReadFile | AccessFs::Execute);
    }
    // git opens it for reading and writing before anything else.
    allow(Path::new("/dev/null"), AccessFs::ReadFile | AccessFs::WriteFile);
    landlock(rules)?;
    // Like an older kernel: the C library then creates threads by `clone`, whose flags can be checked.
    seccomp(calls::of_reader().map_err(|error| format!("seccomp: {error}"))?, libc::ENOSYS)
}

fn landlock(rules: Vec<PathBeneath<PathFd>>) -> Result<(), String> {
    let status = restrict(rules).map_err(|error| format!("Landlock: {error}"))?;
    match status {
        RulesetStatus::NotEnforced => {
            Err("this kernel has no Landlock (Linux 5.13 or newer, `lsm=landlock`)".to_owned())
        }
        RulesetStatus::PartiallyEnforced | RulesetStatus::FullyEnforced => Ok(()),
    }
}

fn restrict(rules: Vec<PathBeneath<PathFd>>) -> Result<RulesetStatus, RulesetError> {
    let handled = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(DEMANDED))?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(KNOWN))?
        .handle_access(AccessNet::from_all(KNOWN))?
        .scope(Scope::from_all(KNOWN))?;
    let rules = rules.into_iter().map(Ok::<_, RulesetError>);
    Ok(handled.create()?.add_rules(rules)?.restrict_self()?.ruleset)
}

fn seccomp(allowed: Calls, refusal: libc::c_int) -> Result<(), String> {
    let refused = SeccompAction::Errno(refusal.unsigned_abs());
    apply(allowed, SeccompAction::Allow, refused).map_err(|error| format!("seccomp: {error}"))
}

fn apply(
    calls: Calls,
    listed: SeccompAction,
    others: SeccompAction,
) -> Result<(), seccompiler::Error> {
    let arch = std::env::consts::ARCH.try_into()?;
    let program: BpfProgram = SeccompFilter::new(calls, others, listed, arch)?.try_into()?;
    apply_filter(&program)
}

/// Simulates a kernel without Landlock for the calling thread and the programs it starts.
///
/// # Errors
/// seccomp is not available.
#[cfg(feature = "test-util")]
pub fn without_landlock() -> Result<(), seccompiler::Error> {
    let calls = [libc::SYS_landlock_create_ruleset, libc::SYS_landlock_restrict_self];
    let rules = calls.into_iter().map(|call| (call, Vec::new())).collect();
    let missing = SeccompAction::Errno(libc::ENOSYS.unsigned_abs());
    apply(rules, missing, SeccompAction::Allow)
}
