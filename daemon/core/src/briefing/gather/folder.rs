//! Shortens commands that enter the thread's folder.

use super::super::kinds::EvidenceKind;
use super::super::select::Quote;
use super::Builder;

/// What joins the entering of a folder to a command.
const JOINTS: [&str; 2] = [" && ", "; "];

impl Builder<'_> {
    /// Leaves out that a command enters the thread's folder, which the view begins with.
    pub(super) fn leave_out_folder(&mut self) {
        let Some(folder) = self.host.folder else { return };
        let folders =
            [Some(folder.to_owned()), below_home(folder).map(|below| format!("~/{below}"))];
        let enters = folders.into_iter().flatten();
        let enters: Vec<String> =
            enters.flat_map(|folder| JOINTS.map(|joint| format!("cd {folder}{joint}"))).collect();
        let is_command = |quote: &&mut Quote<'_>| {
            use EvidenceKind::{Check, FailedCommand, Now, Ran, Seen};
            matches!(quote.kind, Check | FailedCommand | Now | Ran | Seen)
        };
        for quote in self.candidates.iter_mut().filter(is_command) {
            for text in [&mut quote.text, &mut quote.group] {
                for enters in &enters {
                    if let Some(at) = text.find(enters) {
                        text.to_mut().replace_range(at..at + enters.len(), "");
                    }
                }
            }
        }
    }
}

/// The part of a folder's path below its owner's home.
fn below_home(folder: &str) -> Option<&str> {
    let mut parts = folder.splitn(4, '/').skip(1);
    let is_home = parts.next().is_some_and(|homes| homes == "home" || homes == "Users");
    parts.nth(1).filter(|_| is_home)
}
