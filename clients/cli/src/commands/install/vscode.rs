//! Visual Studio Code and compatible editors: installs the packaged extension with the editor's command.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::error::missing;
use super::place;
use super::plan::{Direction, Plan};
use crate::failure::Failure;

/// Compatible editors, by preference.
const EDITORS: [&str; 6] = ["code", "code-insiders", "codium", "cursor", "windsurf", "code-server"];
/// The extension's id, `publisher.name`.
const EXTENSION: &str = "longhaul.longhaul";

pub(super) fn plan(direction: Direction, from: Option<&Path>) -> Result<Plan, Failure> {
    let editor = EDITORS.into_iter().find(|editor| place::on_path(editor).is_some());
    let hint =
        "install its command line first (in the editor: Shell Command: Install 'code' command)";
    let word = |word: &str| word.to_owned();
    let mut plan = Plan::new(direction);
    let command = match (direction, editor) {
        (Direction::Install, None) => return Err(missing("the command `code`", hint)),
        (Direction::Install, Some(editor)) => {
            let package = package(from).ok_or_else(|| {
                let hint =
                    "build it (npm run package in clients/vscode) and name its folder with --from";
                missing("the extension", hint)
            })?;
            let package = package.to_string_lossy().into_owned();
            vec![word(editor), word("--install-extension"), package, word("--force")]
        }
        (Direction::Uninstall, Some(editor)) if has_extension(editor) => {
            vec![word(editor), word("--uninstall-extension"), word(EXTENSION)]
        }
        (Direction::Uninstall, _) => return Ok(plan),
    };
    plan.last.push(command);
    Ok(plan)
}

/// Whether an editor lists the extension.
fn has_extension(editor: &str) -> bool {
    let listed = Command::new(editor).arg("--list-extensions").output();
    let listed = listed.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    listed.is_ok_and(|listed| listed.lines().any(|line| line.trim() == EXTENSION))
}

/// The newest package of the extension; packages of examples may be next to it.
fn package(from: Option<&Path>) -> Option<PathBuf> {
    let folder = from.map(Path::to_owned).or_else(|| place::asset("vscode"))?;
    let files = std::fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
    let is_package = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("longhaul") && name.ends_with(".vsix")
    };
    files.filter(is_package).max_by_key(|path| modified(path))
}

fn modified(path: &Path) -> Option<std::time::SystemTime> {
    path.metadata().and_then(|file| file.modified()).ok()
}
