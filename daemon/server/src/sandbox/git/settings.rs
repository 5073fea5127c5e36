//! Git's configuration files of the user and the machine, and the files they refer to.
//!
//! git fails if it cannot read an included file. These files belong to no one else, so their includes, and the lists of
//! ignored names and attributes they name, may be read too. They are parsed roughly, without conditions: an extra file is
//! one that its owner gave to git anyway.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// Maximum files, and bytes of each; further ones are left out.
const FILES_MAX: usize = 64;
const FILE_BYTES: u64 = 256 * 1_024;

/// Keys whose value is a file that git reads.
const NAMING: [&str; 3] = ["path", "excludesfile", "attributesfile"];

/// The configuration files, and git's folder in the user's configuration.
pub(super) fn files(prefix: Option<&Path>) -> Vec<PathBuf> {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let own = std::env::var_os("XDG_CONFIG_HOME").filter(|folder| !folder.is_empty());
    let own = own.map(PathBuf::from).or_else(|| Some(home.as_deref()?.join(".config")));
    let own = own.map(|folder| folder.join("git"));
    let system = prefix.map(|prefix| prefix.join("etc"));
    let system = [Some(PathBuf::from("/etc")), system].into_iter().flatten();
    let mut configs: Vec<PathBuf> = system.clone().map(|at| at.join("gitconfig")).collect();
    configs.extend(home.as_deref().map(|home| home.join(".gitconfig")));
    configs.extend(own.as_deref().map(|own| own.join("config")));
    let mut files = with_named(configs, home.as_deref());
    files.extend(system.map(|at| at.join("gitattributes")));
    files.extend(own);
    files.into_iter().filter(|path| path.is_absolute()).collect()
}

/// These files and all that they refer to, directly or indirectly.
fn with_named(configs: Vec<PathBuf>, home: Option<&Path>) -> BTreeSet<PathBuf> {
    let (mut found, mut next) = (BTreeSet::new(), configs);
    while let Some(path) = next.pop() {
        if found.len() >= FILES_MAX || found.contains(&path) {
            continue;
        }
        let text = text(&path).unwrap_or_default();
        let folder = path.parent().unwrap_or(Path::new("/"));
        next.extend(text.lines().filter_map(|line| named(line, folder, home)));
        found.insert(path);
    }
    found
}

fn text(path: &Path) -> Option<String> {
    if !path.metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(FILE_BYTES).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The file that a line refers to.
fn named(line: &str, folder: &Path, home: Option<&Path>) -> Option<PathBuf> {
    let (before, value) = line.split_once('=')?;
    let key = before.rsplit([']', ' ', '\t']).find(|word| !word.is_empty())?;
    if !NAMING.iter().any(|naming| key.eq_ignore_ascii_case(naming)) {
        return None;
    }
    let value = value.trim();
    let value = match value.strip_prefix('"') {
        Some(quoted) => quoted.split('"').next()?,
        None => value.split(['#', ';']).next()?.trim_end(),
    };
    match value.strip_prefix("~/") {
        Some(below) => Some(home?.join(below)),
        None if value.is_empty() => None,
        None => Some(folder.join(value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_named_by_the_users_own_files_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let text = "[core]\n\texcludesFile = ~/ignored # all of them\n[include] path = work\n\
                    [includeIf \"gitdir:~/a/\"]\n\tpath=\"with # sign\"\n[user]\n\tname = path\n\tpath\n";
        std::fs::write(at("config"), text).unwrap();
        std::fs::write(at("work"), "[include]\npath = config\npath = /deep\n").unwrap();
        let home = Path::new("/home/a");
        let found = with_named(vec![at("config")], Some(home));
        let expected = [
            PathBuf::from("/deep"),
            PathBuf::from("/home/a/ignored"),
            at("config"),
            at("with # sign"),
            at("work"),
        ];
        assert_eq!(found, expected.into_iter().collect());
    }
}
