//! A change of one file.
//!
//! Steps: check that the file is still as it was read, back up its old content next to it, write the new content to a
//! temporary file in the same folder, sync, rename. A crash at any point leaves the old or the new file, never a part.
//! Links are followed, so that settings kept in another folder stay there.

use std::fs;
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use similar::TextDiff;

use super::error::unreadable;
use crate::failure::{CONFIG, Failure, TRY_LATER};

/// Maximum lines of a new or removed file to show.
const SHOWN_LINES_MAX: usize = 80;
/// Unchanged lines shown around a change.
const CONTEXT_LINES: usize = 2;
/// Mode of a new file: settings may hold secrets later.
const NEW_FILE_MODE: u32 = 0o600;
/// Maximum links to follow, as Linux does.
const LINKS_MAX: usize = 40;
/// Mode of a new folder, and of one that only we write to.
const FOLDER_MODE: u32 = 0o777;
const OWN_FOLDER_MODE: u32 = 0o700;

#[derive(Debug)]
pub(super) struct Change {
    path: PathBuf,
    /// `None` if the file does not exist.
    before: Option<String>,
    /// `None` to remove the file.
    after: Option<String>,
    /// A folder that only we write to: its files are shown in one line each and not backed up, and its empty folders
    /// are removed.
    own_root: Option<PathBuf>,
    /// Removes access by others, since the file will hold a secret.
    is_private: bool,
}

impl Change {
    /// Reads the file and edits its text; `None` means that the file does not exist.
    pub(super) fn edit(
        path: PathBuf,
        edit: impl FnOnce(Option<&str>) -> Result<Option<String>, Failure>,
    ) -> Result<Self, Failure> {
        let path = followed(path);
        let before = read(&path)?;
        let after = edit(before.as_deref())?;
        Ok(Self { path, before, after, own_root: None, is_private: false })
    }

    pub(super) fn write(path: PathBuf, text: &str) -> Result<Self, Failure> {
        Self::edit(path, |_| Ok(Some(text.to_owned())))
    }

    pub(super) fn remove(path: PathBuf) -> Result<Self, Failure> {
        Self::edit(path, |_| Ok(None))
    }

    /// Marks it as a file in a folder that only we write to.
    pub(super) fn own(self, root: &Path) -> Self {
        Self { own_root: Some(fs::canonicalize(root).unwrap_or_else(|_| root.into())), ..self }
    }

    pub(super) fn private(self) -> Self {
        Self { is_private: true, ..self }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn is_effective(&self) -> bool {
        self.before != self.after
    }

    /// A unified diff; a long new or removed file in one line.
    pub(super) fn diff(&self) -> String {
        let path = self.path.display().to_string();
        let lines = |text: &Option<String>| text.as_deref().map_or(0, |text| text.lines().count());
        match (&self.before, &self.after) {
            (None, Some(_)) if self.own_root.is_some() || lines(&self.after) > SHOWN_LINES_MAX => {
                return format!("+++ {path} (new, {} lines)\n", lines(&self.after));
            }
            (Some(_), None) if self.own_root.is_some() || lines(&self.before) > SHOWN_LINES_MAX => {
                return format!("--- {path} (removed, {} lines)\n", lines(&self.before));
            }
            _ => {}
        }
        let side =
            |text: &Option<String>| if text.is_some() { path.clone() } else { "/dev/null".into() };
        let (old, new) = (side(&self.before), side(&self.after));
        let (before, after) = (self.before.as_deref(), self.after.as_deref());
        let diff = TextDiff::from_lines(before.unwrap_or_default(), after.unwrap_or_default());
        let mut diff = diff.unified_diff();
        diff.context_radius(CONTEXT_LINES)
            .missing_newline_hint(false)
            .header(&old, &new)
            .to_string()
    }

    pub(super) fn make(&self) -> Result<(), Failure> {
        if read(&self.path)? != self.before {
            let message = format!("another program has just changed {}", self.path.display());
            return Err(Failure::new(TRY_LATER, message).with_hint("run the command again"));
        }
        let done = match (&self.before, &self.after) {
            (Some(before), Some(after)) => self.back_up(before).and_then(|()| self.put(after)),
            (None, Some(after)) => self.put(after),
            (Some(before), None) => self.back_up(before).and_then(|()| self.remove_file()),
            (None, None) => Ok(()),
        };
        done.map_err(|error| self.failed(&error))
    }

    fn remove_file(&self) -> io::Result<()> {
        fs::remove_file(&self.path)?;
        let Some(root) = &self.own_root else { return Ok(()) };
        let mut folders = self.path.ancestors().skip(1).take_while(|it| it.starts_with(root));
        // Stops at the first that is not empty.
        while folders.next().is_some_and(|folder| fs::remove_dir(folder).is_ok()) {}
        Ok(())
    }

    fn back_up(&self, before: &str) -> io::Result<()> {
        if self.own_root.is_some() {
            return Ok(());
        }
        let beside = |ending: &str| {
            let mut name = self.path.clone().into_os_string();
            name.push(ending);
            PathBuf::from(name)
        };
        // The first backup has the original content and is never overwritten.
        let first = beside(".longhaul-backup");
        let backup = if first.exists() { beside(".longhaul-backup-2") } else { first };
        write_atomically(&backup, before, self.mode())
    }

    fn put(&self, text: &str) -> io::Result<()> {
        if let Some(folder) = self.path.parent() {
            let mode = if self.own_root.is_some() { OWN_FOLDER_MODE } else { FOLDER_MODE };
            fs::DirBuilder::new().recursive(true).mode(mode).create(folder)?;
        }
        write_atomically(&self.path, text, self.mode())
    }

    /// The file's present or future mode.
    fn mode(&self) -> u32 {
        let mode = fs::metadata(&self.path).map(|file| file.permissions().mode());
        let mode = mode.unwrap_or(NEW_FILE_MODE);
        if self.is_private { mode & NEW_FILE_MODE } else { mode }
    }

    fn failed(&self, error: &io::Error) -> Failure {
        Failure::new(CONFIG, format!("{} cannot be written: {error}", self.path.display()))
    }
}

/// Where a path leads, also by a link whose target does not exist yet.
fn followed(mut path: PathBuf) -> PathBuf {
    for _ in 0..LINKS_MAX {
        if let Ok(real) = fs::canonicalize(&path) {
            return real;
        }
        let Ok(target) = fs::read_link(&path) else { break };
        path = path.parent().map_or(target.clone(), |folder| folder.join(&target));
    }
    path
}

fn read(path: &Path) -> Result<Option<String>, Failure> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(unreadable(path, error)),
    }
}

fn write_atomically(path: &Path, text: &str, mode: u32) -> io::Result<()> {
    let folder = path.parent().unwrap_or_else(|| Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(text.as_bytes())?;
    file.as_file().set_permissions(fs::Permissions::from_mode(mode))?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn change_keeps_backup_mode_and_link() {
        let folder = tempfile::tempdir().unwrap();
        let (real, link) = (folder.path().join("real.toml"), folder.path().join("link.toml"));
        fs::write(&real, "a = 1\n").unwrap();
        fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        let change = Change::write(link.clone(), "a = 2\n").unwrap();
        assert!(change.diff().contains("-a = 1\n+a = 2\n"), "{}", change.diff());
        change.make().unwrap();
        assert_eq!(fs::read_to_string(&real).unwrap(), "a = 2\n");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
        let backup = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
        assert_eq!(backup("real.toml.longhaul-backup"), "a = 1\n");

        for (text, before) in [("a = 3\n", "a = 2\n"), ("a = 4\n", "a = 3\n")] {
            Change::write(link.clone(), text).unwrap().make().unwrap();
            assert_eq!(backup("real.toml.longhaul-backup"), "a = 1\n", "the first one stays");
            assert_eq!(backup("real.toml.longhaul-backup-2"), before);
        }
    }

    #[test]
    fn link_to_a_missing_file_stays_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("agent")).unwrap();
        std::os::unix::fs::symlink("../dot/settings.json", at("agent/settings.json")).unwrap();
        std::os::unix::fs::symlink(at("agent/settings.json"), at("link.json")).unwrap();
        Change::write(at("link.json"), "{}\n").unwrap().make().unwrap();
        assert_eq!(fs::read_to_string(at("dot/settings.json")).unwrap(), "{}\n");
        for link in ["agent/settings.json", "link.json"] {
            assert!(fs::symlink_metadata(at(link)).unwrap().is_symlink(), "{link}");
        }
        std::os::unix::fs::symlink("loop.json", at("loop.json")).unwrap();
        assert!(Change::write(at("loop.json"), "{}\n").is_err(), "a link to itself");
    }

    #[test]
    fn file_changed_by_another_program_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("settings.json");
        let change = Change::write(path.clone(), "{}\n").unwrap();
        fs::write(&path, "{\"theme\": 1}\n").unwrap();
        assert!(change.make().is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "{\"theme\": 1}\n");
    }
}
