//! The `apply_patch` format: the files, what happens to them, and the changed lines.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::{limits, paths, text};

const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileOp {
    /// As the agent wrote it.
    pub path: String,
    pub op: Op,
    /// Changed lines with their context, at most 16 KiB.
    pub changed: String,
    /// Added lines only, at most 16 KiB, and of a document the headings beyond them, at most 4 KiB more.
    /// [`ANOTHER_PLACE`] marks where the following lines belong.
    pub added: String,
    /// Removed lines, at most 16 KiB.
    pub removed: String,
    /// All added and removed lines, also beyond those bounds.
    pub counts: LineCounts,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LineCounts {
    pub added: u64,
    pub removed: u64,
}

/// Starts a marker line in [`FileOp::added`]: the lines after it are elsewhere in the file, below the heading
/// that follows the mark, if known.
pub const ANOTHER_PLACE: char = '\u{c}';

/// Bytes of a file's changed lines to keep.
const CHANGED_BYTES: usize = 16 * 1_024;

/// Bytes of headings of a document to keep beyond them: otherwise it would seem to end there.
const HEADINGS_BYTES: usize = 4 * 1_024;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Op {
    /// It is new; its content, if the patch has all of it.
    Created {
        content: Option<String>,
    },
    Edited,
    Deleted,
}

/// The lines of `text` minus the lines of `other`, each as often as it occurs there.
fn without<'a>(text: &'a str, other: &'a str) -> Vec<&'a str> {
    let mut others: HashMap<&str, u32> = HashMap::new();
    for line in other.lines() {
        *others.entry(line).or_default() += 1;
    }
    let mut extra = text.lines().collect::<Vec<_>>();
    extra.retain(|line| match others.get_mut(line) {
        Some(left) if *left > 0 => {
            *left -= 1;
            false
        }
        _ => true,
    });
    extra
}

impl FileOp {
    /// An operation without changed lines.
    pub fn new(path: impl Into<String>, op: Op) -> Self {
        Self {
            path: path.into(),
            op,
            changed: String::new(),
            added: String::new(),
            removed: String::new(),
            counts: LineCounts::default(),
        }
    }

    /// A file that is written whole.
    pub fn write(path: impl Into<String>, content: String) -> Self {
        let lines = text::prefix(&content, CHANGED_BYTES).to_owned();
        let counts = LineCounts { added: content.lines().count() as u64, removed: 0 };
        let mut op = Self { added: lines.clone(), changed: lines, ..Self::new(path, Op::Edited) };
        // A line that was cut is completed by none of those that follow.
        let rest = &content[op.added.len()..];
        for line in rest.split_once('\n').map_or("", |(_, rest)| rest).lines() {
            op.keep_heading(line);
        }
        Self { op: Op::Created { content: Some(content) }, counts, ..op }
    }

    /// Records that `new` replaces `old`, without the lines that both have.
    pub fn replace(&mut self, old: &str, new: &str) {
        for part in [old, new].into_iter().filter(|part| !part.is_empty()) {
            let left = CHANGED_BYTES.saturating_sub(self.changed.len());
            self.changed.push_str(text::prefix(part, left));
            self.changed.push('\n');
        }
        let (gone, fresh) = (without(old, new), without(new, old));
        let (gone, fresh) = (gone.into_iter(), fresh.into_iter());
        for (is_added, line) in gone.map(|line| (false, line)).chain(fresh.map(|line| (true, line)))
        {
            let (text, count) = match is_added {
                true => (&mut self.added, &mut self.counts.added),
                false => (&mut self.removed, &mut self.counts.removed),
            };
            *count += 1;
            if text.len() + line.len() < CHANGED_BYTES {
                text.push_str(line);
                text.push('\n');
            }
        }
    }

    /// Adds a line of the file's part of the patch.
    fn push(&mut self, line: &str) {
        let added = line.strip_prefix('+');
        if let (Op::Created { content: Some(content) }, Some(added)) = (&mut self.op, added) {
            content.push_str(added);
            content.push('\n');
        }
        self.counts.added += u64::from(added.is_some());
        self.counts.removed += u64::from(line.starts_with('-'));
        self.note_place(line);
        match added {
            Some(added) if self.added.len() + added.len() < CHANGED_BYTES => {
                self.added.push_str(added);
                self.added.push('\n');
            }
            Some(added) => self.keep_heading(added),
            None => {
                if let Some(removed) = line.strip_prefix('-')
                    && self.removed.len() + removed.len() < CHANGED_BYTES
                {
                    self.removed.push_str(removed);
                    self.removed.push('\n');
                }
            }
        }
        if self.changed.len() + line.len() < CHANGED_BYTES {
            self.changed.push_str(added.unwrap_or(line));
            self.changed.push('\n');
        }
    }

    /// Keeps an added line beyond the bound if it is a heading of a document. A single hash may be a comment in
    /// a block of code.
    fn keep_heading(&mut self, line: &str) {
        let is_heading = line.starts_with("##") && self.path.ends_with(".md");
        if is_heading && self.added.len() + line.len() + 2 < CHANGED_BYTES + HEADINGS_BYTES {
            self.added.push_str(if self.added.ends_with('\n') { "" } else { "\n" });
            self.added.push_str(line);
            self.added.push('\n');
        }
    }

    /// Records where the following added lines are: a new hunk, or a heading that did not change.
    fn note_place(&mut self, line: &str) {
        let heading = line.strip_prefix(' ').filter(|it| it.starts_with('#')).unwrap_or_default();
        let begins = line.starts_with("@@") && !self.added.is_empty() || !heading.is_empty();
        if begins && self.added.len() + heading.len() + 2 < CHANGED_BYTES {
            self.added.push(ANOTHER_PLACE);
            self.added.push_str(heading);
            self.added.push('\n');
        }
    }

    /// Puts `folder` before a relative path.
    pub fn resolve(&mut self, folder: Option<&str>) {
        if let Some(folder) = folder
            && !paths::is_absolute(&self.path)
        {
            self.path = format!("{}/{}", folder.trim_end_matches('/'), self.path);
        }
    }
}

/// The patch inside a script whose purpose is to apply it.
pub fn in_script(script: &str) -> Option<&str> {
    let start = script.find(BEGIN)?;
    let before = &script[..start];
    if !(before.contains("apply_patch") || before.contains("applypatch")) {
        return None;
    }
    let end = script[start..].find(END).map_or(script.len(), |at| start + at + END.len());
    Some(&script[start..end])
}

/// Parses the files of a patch; none if the text is not a patch. A move is a deletion and an edit.
pub fn parse(patch: &str) -> Vec<FileOp> {
    let mut ops: Vec<FileOp> = Vec::new();
    for line in patch.lines() {
        let Some(rest) = line.strip_prefix("*** ") else {
            if let Some(op) = ops.last_mut() {
                op.push(line);
            }
            continue;
        };
        if ops.len() >= limits::FILES {
            break;
        }
        let op = |path: &str, op| FileOp::new(path.trim(), op);
        if let Some(path) = rest.strip_prefix("Add File: ") {
            ops.push(op(path, Op::Created { content: Some(String::new()) }));
        } else if let Some(path) = rest.strip_prefix("Update File: ") {
            ops.push(op(path, Op::Edited));
        } else if let Some(path) = rest.strip_prefix("Delete File: ") {
            ops.push(op(path, Op::Deleted));
        } else if let Some(path) = rest.strip_prefix("Move to: ") {
            if let Some(moved) = ops.last_mut() {
                moved.op = Op::Deleted;
            }
            ops.push(op(path, Op::Edited));
        }
    }
    ops.retain(|op| !op.path.is_empty() && op.path.len() <= limits::PATH_BYTES);
    ops
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_names_the_operation_on_each_file() {
        let ops = parse(
            "*** Begin Patch\n*** Add File: new.rs\n+fn a() {}\n+\n*** Update File: old.rs\n@@\n-x\n+y\n\
             *** Update File: from.rs\n*** Move to: to.rs\n@@\n+z\n*** Delete File: gone.rs\n*** End Patch",
        );
        let of = |path: &str| ops.iter().find(|op| op.path == path).map(|op| op.op.clone());
        assert_eq!(of("new.rs"), Some(Op::Created { content: Some("fn a() {}\n\n".into()) }));
        assert_eq!(of("old.rs"), Some(Op::Edited));
        assert_eq!(of("from.rs"), Some(Op::Deleted));
        assert_eq!(of("to.rs"), Some(Op::Edited));
        assert_eq!(of("gone.rs"), Some(Op::Deleted));
        assert_eq!(ops.len(), 5);
    }

    #[test]
    fn a_file_without_a_name_is_left_out() {
        let long = "x".repeat(limits::PATH_BYTES + 1);
        let ops =
            parse(&format!("*** Add File: \n+x\n*** Add File: {long}\n+x\n*** Delete File: a\n"));
        assert_eq!(ops, [FileOp::new("a", Op::Deleted)]);
    }

    #[test]
    fn a_script_that_only_shows_a_patch_is_no_patch() {
        assert_eq!(in_script("cat x | grep '*** Begin Patch'"), None);
        assert!(in_script("cd w && apply_patch <<E\n*** Begin Patch\n*** End Patch\nE").is_some());
    }

    #[test]
    fn a_replacement_counts_only_the_lines_that_differ() {
        for (old, new, removed, added) in [
            ("a\nb\nc", "a\nx\nc", "b\n", "x\n"),
            ("a\na\na", "a", "a\na\n", ""),
            ("a", "a\na", "", "a\n"),
            ("same", "same", "", ""),
            ("", "x\ny", "", "x\ny\n"),
            ("x", "", "x\n", ""),
        ] {
            let mut op = FileOp::new("a.rs", Op::Edited);
            op.replace(old, new);
            assert_eq!((&*op.removed, &*op.added), (removed, added), "{old:?} {new:?}");
            let count = |lines: &str| lines.lines().count() as u64;
            let expected = LineCounts { added: count(added), removed: count(removed) };
            assert_eq!(op.counts, expected, "{old:?} {new:?}");
        }
    }

    #[test]
    fn added_lines_are_marked_with_their_place() {
        let patch =
            "*** Update File: README.md\n@@\n # Install\n+first\n text\n@@\n-old\n+second\n";
        assert_eq!(parse(patch)[0].added, "\u{c}# Install\nfirst\n\u{c}\nsecond\n");
        let long = format!("+{}\n", "x".repeat(9_000));
        let patch = format!("*** Update File: README.md\n{long} # Usage\n+last\n");
        assert!(parse(&patch)[0].added.ends_with("x\n\u{c}# Usage\nlast\n"));
    }

    #[test]
    fn the_headings_of_a_long_document_are_all_kept() {
        let content = format!("# Plan\n{}\n## Done\nlast\n", "words of it\n".repeat(2_000));
        let written = FileOp::write("plan.md", content.clone());
        let lines: Vec<String> = content.lines().map(|line| format!("+{line}")).collect();
        let patched = parse(&format!("*** Add File: plan.md\n{}\n", lines.join("\n"))).remove(0);
        for op in [written, patched] {
            assert!(op.added.ends_with("\n## Done\n"), "{}", op.added.len());
            assert_eq!(op.counts.added, 2_004);
        }
        assert!(!FileOp::write("plan.py", content).added.contains("Done"));
    }

    /// Sixteen lines of 1 KiB are exactly the bound.
    #[test]
    fn changed_lines_are_kept_up_to_the_bound() {
        let whole = |mark: &str| format!("{mark}{}\n", "x".repeat(1_023 - mark.len())).repeat(15);
        for last in [1_022, 1_023, 1_024] {
            let fits = last <= 1_023;
            for mark in ["+", "-", " "] {
                let last = "y".repeat(last - mark.len());
                let patch = format!("*** Update File: a\n{}{mark}{last}\n@@\n", whole(mark));
                let op = &parse(&patch)[0];
                for kept in [&op.changed, &op.added, &op.removed] {
                    assert!(kept.len() <= CHANGED_BYTES, "{mark}{}", last.len());
                }
                let kept = match mark {
                    "+" => &op.added,
                    "-" => &op.removed,
                    _ => &op.changed,
                };
                assert!(!fits || kept.contains('y'), "{mark}{}", last.len());
            }
            let (mut added, mut removed) =
                (FileOp::new("a", Op::Edited), FileOp::new("a", Op::Edited));
            let text = whole("") + &"y".repeat(last);
            added.replace("", &text);
            removed.replace(&text, "");
            for kept in [added.added, removed.removed] {
                assert_eq!(
                    (kept.len() <= CHANGED_BYTES, kept.contains('y')),
                    (true, fits),
                    "{last}"
                );
            }
        }
    }

    #[test]
    fn added_lines_up_to_the_bound_leave_no_room_for_a_mark() {
        let lines = format!("+{}\n", "x".repeat(1_023)).repeat(15);
        for last in 1_010..1_024 {
            let patch = format!("*** Update File: a\n{lines}+{}\n@@\n+z\n", "y".repeat(last));
            assert!(parse(&patch)[0].added.len() <= CHANGED_BYTES, "{last}");
        }
    }
}
