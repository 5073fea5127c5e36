//! The role in which this program becomes git, confined: it reads one repository and cannot run, write or send anything.
//!
//! The daemon starts this program as `longhauld git FOLDER ARGUMENTS…`, with git's environment. Before git runs, our code
//! determines what git may read: the repository of the folder (`places`), the machine's git (`program`) and the user's
//! settings (`settings`). Then it confines itself ([`confine_reader`]) and becomes git in the same process, so killing the
//! process kills git.
//!
//! *Nothing runs unconfined*: any failure before that ends the process.

mod places;
mod program;
mod settings;

use std::ffi::OsString;
use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use longhaul_confine::{Reach, bound_reader, confine_reader};
use places::Places;
pub(crate) use places::{named_git_dir, names_worktree};
use program::Program;

/// The first argument in this role.
pub const ROLE: &str = "git";

/// Exit code: git cannot be confined on this machine, or no trusted git exists. Standard output has the reason. git itself
/// exits with 0, 1, 128 or 129.
pub const UNAVAILABLE: u8 = 77;

/// Exit code: there is no repository. The same as git's own.
const NOTHING: u8 = 128;

/// Folders of system libraries.
const LIBRARIES: [&str; 10] = [
    "/lib",
    "/lib64",
    "/usr/lib",
    "/usr/lib64",
    "/usr/local/lib",
    "/etc/ld.so.cache",
    "/etc/ld.so.preload",
    // Systems that keep each package in a separate folder.
    "/nix/store",
    "/gnu/store",
    "/home/linuxbrew/.linuxbrew",
];

/// Why git was not started.
#[derive(Debug)]
enum Refusal {
    /// A reason that does not concern the machine.
    Nothing,
    /// No repository can be inspected; the reason for a person.
    Unavailable(String),
}

/// The arguments of this role, if the process was started in it. Checked before anything else, since an inspection starts
/// several of these.
pub fn role_arguments() -> Option<impl Iterator<Item = OsString>> {
    let mut arguments = std::env::args_os().skip(1);
    (arguments.next()? == ROLE).then_some(arguments)
}

/// Becomes git; returns only on failure.
pub fn become_git(mut arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let Some(folder) = arguments.next() else { return ExitCode::from(NOTHING) };
    match start(Path::new(&folder), arguments) {
        Refusal::Nothing => ExitCode::from(NOTHING),
        Refusal::Unavailable(reason) => {
            // The exit code suffices if standard output is not read.
            drop(std::io::stdout().write_all(reason.as_bytes()));
            ExitCode::from(UNAVAILABLE)
        }
    }
}

fn start(folder: &Path, arguments: impl Iterator<Item = OsString>) -> Refusal {
    let Some(places) = Places::of(folder) else { return Refusal::Nothing };
    let program = match Program::find(std::env::var_os("PATH").as_deref(), &places) {
        Ok(Some(program)) => program,
        Ok(None) => return Refusal::Nothing,
        Err(reason) => return Refusal::Unavailable(reason),
    };
    let confined = bound_reader().and_then(|()| confine_reader(&reach(&places, &program)));
    if let Err(reason) = confined {
        return Refusal::Unavailable(reason);
    }
    let mut git = Command::new(&program.file);
    git.arg0("git").arg("-C").arg(folder).arg("--no-pager").args(arguments);
    // The repository's own `core.worktree` is ignored.
    git.env("GIT_WORK_TREE", &places.root);
    let error = git.exec();
    Refusal::Unavailable(format!("{} cannot be run: {error}", program.file.display()))
}

fn reach(places: &Places, program: &Program) -> Reach {
    let mut read: Vec<PathBuf> = places.folders().map(Path::to_owned).collect();
    read.extend(LIBRARIES.map(PathBuf::from));
    let prefix = program.prefix();
    read.extend(prefix.map(|prefix| prefix.join("lib")));
    read.extend(settings::files(prefix));
    let run = [Some(&program.file), program.loader.as_ref()].into_iter().flatten();
    Reach { read, run: run.cloned().collect() }
}
