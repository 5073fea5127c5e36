//! Neovim: installs the plugin as a package, which Neovim loads at startup without further settings.

use std::path::{Path, PathBuf};

use super::change::Change;
use super::error::missing;
use super::plan::{Direction, Plan};
use super::{place, plugin_files};
use crate::failure::{CONFIG, Failure};

/// Folders that Neovim reads.
const PARTS: [&str; 5] = ["doc", "ftplugin", "lua", "plugin", "syntax"];
/// Neovim's index of the help.
const TAGS: &str = "doc/tags";
/// Maximum depth of folders.
const DEPTH_MAX: usize = 8;

pub(super) fn plan(direction: Direction, from: Option<&Path>) -> Result<Plan, Failure> {
    let data = place::named_or_home("XDG_DATA_HOME", ".local/share")?;
    let root = data.join("nvim/site/pack/longhaul");
    let package = root.join("start/longhaul");
    if package.is_symlink() {
        let place = package.display();
        return Err(Failure::new(
            CONFIG,
            format!("{place} is a link that longhaul did not create"),
        )
        .with_hint("remove the link; its target is not touched"));
    }
    let mut plan = Plan::new(direction);
    // The plugin works without the index of its help.
    plan.is_forgiving = true;
    let installed = files(&package)?;
    match direction {
        Direction::Install => {
            let wanted = wanted(from)?;
            for (file, text) in &wanted {
                plan.change(Change::write(package.join(file), text)?.own(&root));
            }
            let is_gone = |file: &&PathBuf| wanted.iter().all(|(path, _)| path != *file);
            for file in installed.iter().filter(is_gone) {
                plan.change(Change::remove(package.join(file))?.own(&root));
            }
            let has_neovim = place::on_path("nvim").is_some();
            if has_neovim && !plan.is_empty() {
                plan.last.push(helptags(&package));
            }
            let first = if has_neovim { "" } else { ":helptags ALL, then " };
            plan.notes.push(format!("In Neovim: {first}:checkhealth longhaul"));
        }
        Direction::Uninstall => {
            for file in &installed {
                plan.change(Change::remove(package.join(file))?.own(&root));
            }
            plan.change(Change::remove(package.join(TAGS))?.own(&root));
        }
    }
    Ok(plan)
}

/// The plugin's files with their texts, from a folder or built in.
fn wanted(from: Option<&Path>) -> Result<Vec<(PathBuf, String)>, Failure> {
    let Some(source) = from else {
        let built_in = plugin_files::NVIM_FILES.iter();
        return Ok(built_in.map(|&(path, text)| (path.into(), text.to_owned())).collect());
    };
    if !source.join("plugin").is_dir() {
        let hint = "name a folder like clients/nvim of the repository, or omit --from";
        return Err(missing("the plugin", hint));
    }
    let texts = files(source)?.into_iter().map(|file| {
        let text = std::fs::read_to_string(source.join(&file))?;
        Ok((file, text))
    });
    texts.collect()
}

/// The command that indexes the help, for `:help longhaul`.
fn helptags(package: &Path) -> Vec<String> {
    let folder = package.join("doc").to_string_lossy().replace(' ', "\\ ");
    let words = ["nvim", "--headless", "-u", "NONE", "-i", "NONE", "-c"];
    let words = words.into_iter().map(str::to_owned);
    words.chain([format!("helptags {folder}"), "-c".to_owned(), "qall".to_owned()]).collect()
}

/// The plugin's files in a folder, relative and sorted; none if the folder does not exist.
fn files(root: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut found = Vec::new();
    for part in PARTS {
        walk(root, Path::new(part), DEPTH_MAX, &mut found)?;
    }
    found.sort();
    Ok(found)
}

fn walk(root: &Path, below: &Path, depth: usize, found: &mut Vec<PathBuf>) -> Result<(), Failure> {
    let folder = root.join(below);
    if depth == 0 || !folder.is_dir() {
        return Ok(());
    }
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let path = below.join(entry.file_name());
        let is_text =
            path.extension().is_some_and(|end| end == "lua" || end == "txt" || end == "vim");
        if entry.file_type()?.is_dir() {
            walk(root, &path, depth - 1, found)?;
        } else if is_text {
            found.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_plugin_is_built_in() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../nvim");
        let built_in = plugin_files::NVIM_FILES.iter().map(|(path, _)| PathBuf::from(path));
        assert_eq!(built_in.collect::<Vec<_>>(), files(&folder).unwrap());
    }
}
