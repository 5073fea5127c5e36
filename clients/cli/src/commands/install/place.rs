//! Locates our programs and files, and those of others.

use std::path::{Path, PathBuf};

use directories::BaseDirs;

use crate::failure::{CONFIG, Failure};

/// The folder that a variable names, else one below the home folder.
pub(in crate::commands) fn named_or_home(
    variable: &str,
    below_home: &str,
) -> Result<PathBuf, Failure> {
    match set(variable) {
        Some(folder) => Ok(folder),
        None => Ok(home()?.join(below_home)),
    }
}

pub(super) fn home() -> Result<PathBuf, Failure> {
    let folders = BaseDirs::new();
    folders
        .map(|folders| folders.home_dir().to_owned())
        .ok_or_else(|| Failure::new(CONFIG, "there is no home folder").with_hint("set HOME"))
}

/// The value of a variable; an empty one counts as unset.
pub(super) fn set(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from)
}

pub(super) fn longhaul() -> Result<PathBuf, Failure> {
    Ok(std::env::current_exe()?)
}

/// One of our programs: next to this one, else on the `PATH`.
pub(in crate::commands) fn beside(program: &str) -> Option<PathBuf> {
    let own = std::env::current_exe().and_then(std::fs::canonicalize).ok();
    let beside = own.as_deref().and_then(Path::parent).map(|folder| folder.join(program));
    beside.filter(|path| path.is_file()).or_else(|| on_path(program))
}

pub(super) fn on_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|folder| folder.join(program));
    found.into_iter().find(|path| path.is_file())
}

/// A folder of longhaul's: packaged as `share/longhaul/NAME` next to the folder of this program, or `clients/NAME` in
/// the repository it was built in.
pub(super) fn asset(name: &str) -> Option<PathBuf> {
    let own = std::env::current_exe().and_then(std::fs::canonicalize).ok()?;
    let packaged = own.parent()?.parent().map(|root| root.join("share/longhaul").join(name));
    let built = own.ancestors().map(|folder| folder.join("clients").join(name));
    packaged.into_iter().chain(built).find(|path| path.exists())
}
