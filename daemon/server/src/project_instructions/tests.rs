//! The behavior that Codex's own tests pin for AGENTS.md.

use std::path::PathBuf;

use super::*;

/// The agent's home, and a project `repo/a/b` next to it.
struct Desk {
    folder: tempfile::TempDir,
}

impl Desk {
    fn new() -> Self {
        let desk = Self { folder: tempfile::tempdir().unwrap() };
        fs::create_dir_all(desk.path("home")).unwrap();
        fs::create_dir_all(desk.path("repo/.git")).unwrap();
        fs::create_dir_all(desk.path("repo/a/b")).unwrap();
        desk
    }

    fn path(&self, inside: &str) -> PathBuf {
        self.folder.path().join(inside)
    }

    fn write(&self, inside: &str, text: &str) -> &Self {
        fs::write(self.path(inside), text).unwrap();
        self
    }

    fn read(&self) -> String {
        read(&self.path("home"), &self.path("repo/a/b")).unwrap_or_default()
    }
}

#[test]
fn from_the_root_to_the_folder_and_nothing_above() {
    let desk = Desk::new();
    assert_eq!(desk.read(), "");
    desk.write("AGENTS.md", "above the root").write("repo/AGENTS.md", "root");
    desk.write("repo/a/b/AGENTS.md", "leaf\n");
    assert_eq!(desk.read(), "root\n\nleaf");
    desk.write("home/AGENTS.md", "everywhere\n");
    assert_eq!(desk.read(), "everywhere\n\n--- project-doc ---\n\nroot\n\nleaf");
}

#[test]
fn an_override_is_preferred_and_a_fallback_name_comes_last() {
    let desk = Desk::new();
    desk.write("home/config.toml", "project_doc_fallback_filenames = [\"NOTES.md\"]\n");
    desk.write("repo/a/NOTES.md", "notes");
    assert_eq!(desk.read(), "notes");
    desk.write("repo/a/AGENTS.md", "agents");
    assert_eq!(desk.read(), "agents");
    desk.write("repo/a/AGENTS.override.md", "override");
    assert_eq!(desk.read(), "override");
    desk.write("home/AGENTS.override.md", " \n").write("home/AGENTS.md", "everywhere");
    assert!(desk.read().starts_with("everywhere\n"), "a blank override is none");
}

#[test]
fn a_bound_of_zero_disables_and_text_over_the_bound_is_cut() {
    let desk = Desk::new();
    desk.write("repo/AGENTS.md", "0123456789").write("repo/a/AGENTS.md", "abcdefghij");
    desk.write("home/config.toml", "project_doc_max_bytes = 13\n");
    assert_eq!(desk.read(), "0123456789\n\nabc");
    desk.write("home/config.toml", "project_doc_max_bytes = 0\n");
    assert_eq!(desk.read(), "");
    desk.write("home/config.toml", "project_doc_max_bytes = \"many\"\n");
    assert_eq!(desk.read(), "0123456789\n\nabcdefghij", "what is no number counts as not said");
}

#[test]
fn folders_and_special_files_are_skipped() {
    let desk = Desk::new();
    fs::create_dir_all(desk.path("repo/AGENTS.override.md")).unwrap();
    desk.write("repo/AGENTS.md", "root");
    let pipe = desk.path("repo/a/AGENTS.md");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    assert_eq!(desk.read(), "root", "and a pipe without a writer does not block");
}

#[test]
fn the_users_markers_define_the_root() {
    let desk = Desk::new();
    desk.write("repo/AGENTS.md", "root").write("repo/a/AGENTS.md", "middle");
    desk.write("repo/a/b/AGENTS.md", "leaf").write("repo/a/Makefile", "");
    desk.write("home/config.toml", "project_root_markers = [\"Makefile\"]\n");
    assert_eq!(desk.read(), "middle\n\nleaf");
    desk.write("home/config.toml", "project_root_markers = []\n");
    assert_eq!(desk.read(), "leaf");
    desk.write("home/config.toml", "project_root_markers = [\"none\"]\n");
    assert_eq!(desk.read(), "leaf", "no root is found: the folder alone");
}

#[test]
fn a_link_out_of_the_project_is_not_followed() {
    let desk = Desk::new();
    desk.write("passwd", "root:x:0:0").write("repo/README.md", "read me");
    let link = |to: &str, from: &str| {
        std::os::unix::fs::symlink(desk.path(to), desk.path(from)).unwrap();
    };
    link("passwd", "repo/AGENTS.md");
    link("passwd", "repo/a/AGENTS.override.md");
    // A folder of the project that is a link can lead out of it, too.
    link("repo/README.md", "repo/a/b/AGENTS.md");
    assert_eq!(desk.read(), "read me", "a link inside the project is followed");
    link("passwd", "home/AGENTS.md");
    assert!(desk.read().contains("root:x"), "the person's own home is the person's");
}
