//! Texts of policies and compactions: built in, or a person's own files, in a folder per group.
//!
//! Files are read whenever a text is needed, so changes apply at once. If a file is unusable (an unknown
//! placeholder, too long, unreadable), the previous text stays in use, and `policy/templates`,
//! `compaction/templates` and every compaction report the problem. Secrets are replaced: models and views get the texts.

use std::collections::BTreeMap;
use std::fs;
use std::io::{ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use longhaul_core::redact::redact;
use longhaul_core::template::{Kind, TEMPLATE_BYTES, TemplateGroup, Texts, check};

/// The last usable texts.
#[derive(Debug)]
pub struct TextStore {
    folder: PathBuf,
    good: Mutex<BTreeMap<Kind, String>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextStatus {
    pub kind: Kind,
    pub path: PathBuf,
    pub is_of_file: bool,
    pub problem: Option<String>,
}

impl TextStore {
    /// Texts whose files are in `folder`, which need not exist.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder, good: Mutex::default() }
    }

    pub fn folder(&self, group: TemplateGroup) -> PathBuf {
        self.folder.join(group.into_str())
    }

    pub fn current(&self, group: TemplateGroup) -> Texts {
        for status in self.statuses(group) {
            if let Some(problem) = status.problem {
                tracing::warn!(path = %status.path.display(), problem, "cannot use a text file: keeping the previous text");
            }
        }
        Texts::of(|kind| self.text(kind))
    }

    /// The text when it was last read.
    pub fn text(&self, kind: Kind) -> String {
        let good = self.good.lock().unwrap_or_else(PoisonError::into_inner);
        let stand_in = || kind.stand_in().and_then(|kind| good.get(&kind));
        good.get(&kind).or_else(stand_in).map_or_else(|| built_in(kind).to_owned(), Clone::clone)
    }

    /// Reads every file and adopts the usable ones.
    pub fn statuses(&self, group: TemplateGroup) -> Vec<TextStatus> {
        let mut good = self.good.lock().unwrap_or_else(PoisonError::into_inner);
        let look = |kind: Kind| {
            let path = self.path(kind);
            let problem = match read(&path) {
                Ok(None) => {
                    good.remove(&kind);
                    None
                }
                Ok(Some(text)) => match check(kind, &text) {
                    Ok(()) => {
                        good.insert(kind, redact(&text).text.into_owned());
                        None
                    }
                    Err(error) => Some(error.to_string()),
                },
                Err(error) => Some(error.to_string()),
            };
            let is_of_file = good.contains_key(&kind);
            TextStatus { kind, path, is_of_file, problem }
        };
        group.kinds().map(look).collect()
    }

    /// Writes the built-in text of every kind without a file; existing files are not touched. A kind that falls
    /// back to another text is skipped: a copy would only diverge from it.
    pub fn seed(&self, group: TemplateGroup) -> Result<Vec<Kind>, (PathBuf, std::io::Error)> {
        let folder = self.folder(group);
        fs::create_dir_all(&folder).map_err(|error| (folder, error))?;
        let mut seeded = Vec::new();
        for kind in group.kinds().filter(|kind| kind.stand_in().is_none()) {
            let path = self.path(kind);
            let made = fs::OpenOptions::new().write(true).create_new(true).open(&path);
            match made.and_then(|mut file| file.write_all(built_in(kind).as_bytes())) {
                Ok(()) => seeded.push(kind),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err((path, error)),
            }
        }
        Ok(seeded)
    }

    fn path(&self, kind: Kind) -> PathBuf {
        self.folder(kind.group()).join(format!("{}.md", kind.into_str()))
    }
}

fn read(path: &Path) -> std::io::Result<Option<String>> {
    let file = match fs::File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    let mut text = String::new();
    file.take(TEMPLATE_BYTES as u64 + 1).read_to_string(&mut text)?;
    Ok(Some(text))
}

fn built_in(kind: Kind) -> &'static str {
    match kind {
        Kind::Judgment | Kind::JudgmentEarly | Kind::JudgmentReady | Kind::JudgmentAsap => {
            include_str!("../../../../templates/policy/judgment.md")
        }
        Kind::JudgmentContext => {
            include_str!("../../../../templates/policy/judgment_context.md")
        }
        Kind::Packet => include_str!("../../../../templates/policy/packet.md"),
        Kind::Scratch => include_str!("../../../../templates/policy/scratch.md"),
        Kind::Handoff => include_str!("../../../../templates/policy/handoff.md"),
        Kind::WatcherPacket => include_str!("../../../../templates/policy/watcher_packet.md"),
        Kind::SummaryPrompt => include_str!("../../../../templates/compaction/summary_prompt.md"),
        Kind::SummaryPrefix => include_str!("../../../../templates/compaction/summary_prefix.md"),
        Kind::CheckpointGuide => {
            include_str!("../../../../templates/compaction/checkpoint_guide.md")
        }
    }
}

#[cfg(test)]
mod tests {
    use longhaul_core::policy::Tier;
    use longhaul_core::policy::judgment::text_of;

    use super::*;

    #[test]
    fn built_in_texts_use_only_known_placeholders() {
        for &kind in Kind::ALL {
            assert_eq!(check(kind, built_in(kind)), Ok(()), "{kind:?}");
        }
    }

    #[test]
    fn a_secret_in_a_file_is_not_passed_on() {
        let temp = tempfile::tempdir().unwrap();
        let texts = TextStore::new(temp.path().to_owned());
        fs::create_dir_all(texts.folder(TemplateGroup::Policy)).unwrap();
        fs::write(temp.path().join("policy/packet.md"), "password=let!me1n for {thread_id}")
            .unwrap();
        let text = texts.current(TemplateGroup::Policy).get(Kind::Packet).to_owned();
        assert_eq!(text, "password=[REDACTED_SECRET] for {thread_id}");
    }

    #[test]
    fn a_bad_file_keeps_the_old_text_and_seeding_overwrites_nothing() {
        let temp = tempfile::tempdir().unwrap();
        let texts = TextStore::new(temp.path().to_owned());
        assert_eq!(texts.seed(TemplateGroup::Policy).unwrap().len(), 6);
        // A tier's judge uses the general text unless it has its own.
        let judge = |tier| texts.current(TemplateGroup::Policy).get(text_of(tier)).to_owned();
        fs::write(temp.path().join("policy/judgment.md"), "any judge").unwrap();
        fs::write(temp.path().join("policy/judgment_early.md"), "at {tier}").unwrap();
        assert_eq!(
            (judge(Tier::Early), judge(Tier::Ready)),
            ("at {tier}".into(), "any judge".into())
        );
        let path = temp.path().join("policy/packet.md");
        fs::write(&path, "mine for {thread_id}").unwrap();
        assert_eq!(texts.seed(TemplateGroup::Policy).unwrap(), []);
        assert_eq!(texts.current(TemplateGroup::Policy).get(Kind::Packet), "mine for {thread_id}");

        fs::write(&path, "bad {nonsense}").unwrap();
        assert_eq!(texts.current(TemplateGroup::Policy).get(Kind::Packet), "mine for {thread_id}");
        let status = texts
            .statuses(TemplateGroup::Policy)
            .into_iter()
            .find(|status| status.kind == Kind::Packet)
            .unwrap();
        assert!(status.problem.unwrap().contains("unknown placeholder {nonsense}"));
        fs::write(&path, "x".repeat(TEMPLATE_BYTES + 1)).unwrap();
        assert_eq!(
            texts.current(TemplateGroup::Policy).get(Kind::Packet),
            "mine for {thread_id}",
            "a text that is too long is not cut"
        );
        fs::remove_file(&path).unwrap();
        assert!(texts.current(TemplateGroup::Policy).get(Kind::Packet).contains("Next step"));
    }
}
