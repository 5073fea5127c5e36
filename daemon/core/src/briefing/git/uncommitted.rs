//! Uncommitted files as `git status` lists them: modified, new, deleted and untracked ones apart.

use std::borrow::Cow;

use super::documents;
use crate::rollout::shell;

/// Opens the line of uncommitted files, of which only the newest counts.
pub(in crate::briefing) const UNCOMMITTED: &str = "uncommitted at the last look: ";

/// Maximum uncommitted files to keep, and the suffix of a longer list.
const UNCOMMITTED_MAX: usize = 60;
const AND_MORE: &str = " and more";

/// What can be uncommitted about a file, in the order of a list.
const STATES: [&str; 6] = ["in conflict", MODIFIED, "new", "renamed", "deleted", UNTRACKED];
const MODIFIED: &str = "modified";
const UNTRACKED: &str = "untracked";

/// Opens the list of untracked files in a long status.
const UNTRACKED_TITLE: &str = "Untracked files:";

/// A file with its state.
type Listed<'a> = (&'static str, &'a str);

/// Whether a filter prints other lines than the status did, or only some: `git status -s | awk '{ print $2 }'`.
pub(super) fn is_reshaped(script: &str) -> bool {
    const COPYING: [&str; 4] = ["cat", "head", "sort", "tee"];
    let commands = shell::commands(script);
    let mut pairs = commands.windows(2).filter(|pair| pair[1].is_piped);
    pairs.any(|pair| {
        let filter = pair[1].words.first().map_or("", String::as_str);
        shell::purpose(&pair[0]).as_slice() == ["git", "status"] && !COPYING.contains(&filter)
    })
}

/// The files in the lines of a status.
pub(super) fn files_in<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<Listed<'a>> {
    let mut is_untracked = false;
    let mut found = Vec::new();
    for line in lines {
        match line.strip_prefix('\t') {
            Some(path) if is_untracked => found.push((UNTRACKED, path.trim())),
            _ if line.trim_start().starts_with("(use ") => {}
            _ => {
                is_untracked = line == UNTRACKED_TITLE;
                found.extend(file_in(line));
            }
        }
    }
    found
}

/// The file in a line of `git status`, short or long.
pub(super) fn file_in(line: &str) -> Option<Listed<'_>> {
    let bare = line.trim_start();
    for (word, state) in [
        ("modified:", MODIFIED),
        ("new file:", "new"),
        ("deleted:", "deleted"),
        ("renamed:", "renamed"),
        ("both modified:", "in conflict"),
    ] {
        if let Some(path) = bare.strip_prefix(word) {
            return Some((state, path.trim()));
        }
    }
    let (states, path) = line.split_at_checked(3)?;
    let is_state = states.ends_with(' ')
        && states != "   "
        && states[..2]
            .bytes()
            .all(|byte| matches!(byte, b' ' | b'M' | b'A' | b'D' | b'R' | b'U' | b'?'));
    let has = |letter: char| states.contains(letter);
    let state = match () {
        () if has('U') => "in conflict",
        () if has('?') => UNTRACKED,
        () if has('D') => "deleted",
        () if has('R') => "renamed",
        () if has('A') => "new",
        () => MODIFIED,
    };
    is_state.then(|| (state, path.trim()))
}

/// The files by their state. Those that are only modified need no title.
pub(super) fn list(mut files: Vec<Listed<'_>>) -> String {
    let is_cut = files.len() > UNCOMMITTED_MAX;
    files.truncate(UNCOMMITTED_MAX);
    let of = |state: &'static str| {
        let files = files.iter().filter(move |(of, _)| *of == state);
        files.map(|(_, path)| *path).collect::<Vec<_>>().join(", ")
    };
    let groups = STATES.iter().map(|state| (*state, of(state)));
    let groups: Vec<_> = groups.filter(|(_, paths)| !paths.is_empty()).collect();
    let mut listed = match groups.as_slice() {
        [] => "nothing".to_owned(),
        [(MODIFIED, paths)] => paths.clone(),
        groups => {
            let groups = groups.iter().map(|(state, paths)| format!("{state}: {paths}"));
            groups.collect::<Vec<_>>().join("; ")
        }
    };
    listed.push_str(if is_cut { AND_MORE } else { "" });
    listed
}

/// The most important files of a list, at most `most`: those of `own` first, those of agents last.
pub(in crate::briefing) fn first_of_listed(
    listed: &str,
    own: impl Fn(&str) -> bool,
    most: usize,
) -> String {
    let (listed, is_cut) = match listed.strip_suffix(AND_MORE) {
        Some(listed) => (listed, true),
        None => (listed, false),
    };
    let groups = listed.split("; ").map(|group| match group.split_once(": ") {
        Some((state, paths)) if STATES.contains(&state) => {
            (Cow::Owned(format!("{state}: ")), paths)
        }
        _ => (Cow::Borrowed(""), group),
    });
    let groups: Vec<_> = groups.collect();
    let rank = |path: &str| match () {
        () if own(path) => 0,
        () if documents::is_of_agents(path) => 2,
        () => 1,
    };
    let paths = groups.iter().enumerate();
    let paths = paths.flat_map(|(at, (_, paths))| paths.split(", ").map(move |path| (at, path)));
    let mut chosen: Vec<(usize, &str)> = paths.collect();
    chosen.sort_by_key(|(_, path)| rank(path));
    chosen.truncate(most);
    let shown = groups.iter().enumerate().map(|(at, (title, paths))| {
        let shown = chosen.iter().filter(|(of, _)| *of == at).map(|(_, path)| *path);
        let shown: Vec<&str> = shown.collect();
        let left = paths.split(", ").count() - shown.len();
        let more = match (left, shown.as_slice()) {
            (0, _) => String::new(),
            (1, []) => "1 file".to_owned(),
            (left, []) => format!("{left} files"),
            (left, _) if !is_cut => format!(" and {left} more"),
            (..) => String::new(),
        };
        format!("{title}{}{more}", shown.join(", "))
    });
    let shown = shown.collect::<Vec<_>>().join("; ");
    format!("{shown}{}", if is_cut { AND_MORE } else { "" })
}
