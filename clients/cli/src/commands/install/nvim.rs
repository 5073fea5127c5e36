//! Neovim: the plugin as a package of its own, which Neovim loads at its start without further settings.

use std::path::{Path, PathBuf};

use super::change::Change;
use super::plan::{Direction, Plan};
use super::{missing, place};
use crate::failure::Failure;

/// Folders of a plugin that Neovim reads.
const PARTS: [&str; 5] = ["doc", "ftplugin", "lua", "plugin", "syntax"];
/// What Neovim makes of the help.
const TAGS: &str = "doc/tags";
/// Folders in each other that are walked.
const DEPTH_MAX: usize = 8;

pub(super) fn plan(direction: Direction, from: Option<&Path>) -> Result<Plan, Failure> {
    let data = place::named_or_home("XDG_DATA_HOME", ".local/share")?;
    let package = data.join("nvim/site/pack/longhaul/start/longhaul");
    let mut plan = Plan::new(direction);
    let installed = files(&package)?;
    match direction {
        Direction::Install => {
            let hint = "name its folder: --from clients/nvim of the repository";
            let source = from.map(Path::to_owned).or_else(|| place::asset("nvim"));
            let source = source.filter(|folder| folder.join("plugin").is_dir());
            let source = source.ok_or_else(|| missing("the plugin (clients/nvim)", hint))?;
            let wanted = files(&source)?;
            for file in &wanted {
                let text = std::fs::read_to_string(source.join(file))?;
                plan.change(Change::write(package.join(file), &text)?);
            }
            let is_gone = |file: &&PathBuf| !wanted.contains(file);
            for file in installed.iter().filter(is_gone) {
                plan.change(Change::remove(package.join(file))?);
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
                plan.change(Change::remove(package.join(file))?);
            }
            plan.change(Change::remove(package.join(TAGS))?);
        }
    }
    Ok(plan)
}

/// Has Neovim index the help: without it `:help longhaul` finds nothing.
fn helptags(package: &Path) -> Vec<String> {
    let folder = package.join("doc").to_string_lossy().replace(' ', "\\ ");
    let words = ["nvim", "--headless", "-u", "NONE", "-i", "NONE", "-c"];
    let words = words.into_iter().map(str::to_owned);
    words.chain([format!("helptags {folder}"), "-c".to_owned(), "qall".to_owned()]).collect()
}

/// The files of a plugin, relative to its folder, sorted; none for a folder that is not there.
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
