//! A diff that was printed shows what others changed, which is often what the running turn is about.

use std::iter;

use super::super::code;
use super::super::documents;
use super::super::evidence::Line;
use super::super::kinds::EvidenceKind;
use super::super::lines;
use super::super::spot::Spot;
use super::Briefing;
use crate::rollout::patch::ANOTHER_PLACE;

/// Heading of code in a diff.
const IN_A_DIFF: &str = "in a diff";

/// Maximum files of one diff, and bytes of a line.
const FILES_MAX: usize = 16;
const LINE_BYTES: usize = 260;

/// Percentage of the strength of code: it is read once more before it is edited.
const CODE_PERCENT: u16 = 60;

impl Briefing {
    /// Records what a printed diff adds to files that the thread itself did not edit. Whoever wrote it chose the paths, so
    /// it gives neither rules nor tasks.
    pub(in crate::briefing) fn record_diff(&mut self, seq: u64, printed: &str) {
        let turn = self.turn;
        for (path, added) in files_in(printed).take(FILES_MAX) {
            if self.effects.of(path).is_some() {
                continue;
            }
            let mut lines = Vec::new();
            let mut add = |heading: &str, text: &str, strength: u16, spot: Spot| {
                lines.push(Line {
                    seq,
                    turn,
                    strength,
                    group: path.to_owned(),
                    heading: heading.to_owned(),
                    text: lines::cut(text, LINE_BYTES).into_owned(),
                    spot,
                    is_cut: false,
                });
            };
            if documents::is_document(path) {
                let percent = documents::percent_of(path);
                documents::passages(path, &added, |passage| {
                    let strength = passage.strength * percent / 100;
                    add(passage.heading, passage.text, strength, passage.spot);
                });
            } else {
                code::added_lines(
                    &added,
                    |_| false,
                    |text, strength, spot| {
                        let spot = Spot { opens: true, ..spot };
                        add(IN_A_DIFF, &text, strength * CODE_PERCENT / 100, spot);
                    },
                );
            }
            self.replace_known(path, &mut lines);
            for line in lines {
                self.documents.add(EvidenceKind::Document, line);
            }
        }
    }
}

/// The files of a diff in git's form, each with the lines that it adds.
fn files_in(printed: &str) -> impl Iterator<Item = (&str, String)> {
    let mut rest = printed.lines().peekable();
    iter::from_fn(move || {
        let path = rest.find_map(|line| line.strip_prefix("+++ b/"))?.trim_end();
        let mut added = String::new();
        while let Some(line) = rest.next_if(|line| !line.starts_with("diff --git ")) {
            let place = line.strip_prefix("@@ ").and_then(|line| line.split_once(" @@"));
            let line = match (line.strip_prefix('+'), place) {
                (Some(text), _) => text.to_owned(),
                (None, Some((_, context))) if !added.is_empty() => {
                    format!("{ANOTHER_PLACE}{}", context.trim())
                }
                _ => continue,
            };
            added.push_str(&line);
            added.push('\n');
        }
        Some((path, added))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_added_lines_of_each_file_are_found() {
        let printed = "diff --git a/PLAN.md b/PLAN.md\n--- a/PLAN.md\n+++ b/PLAN.md\n@@ -1,2 +1,3 @@\n # Plan\n-Old.\n+New.\n@@ -9 +10 @@ # Later\n+More.\ndiff --git a/x.png b/x.png\nBinary files differ\ndiff --git a/a.rs b/a.rs\n--- /dev/null\n+++ b/a.rs\n@@ -0,0 +1 @@\n+fn a() {}\n";
        let found: Vec<_> = files_in(printed).collect();
        let plan = format!("New.\n{ANOTHER_PLACE}# Later\nMore.\n");
        assert_eq!(found, [("PLAN.md", plan), ("a.rs", "fn a() {}\n".to_owned())]);
        assert_eq!(files_in("a + b\n+++ c\n").count(), 0);
    }
}
