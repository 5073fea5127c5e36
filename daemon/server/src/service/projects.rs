//! Determines the project of threads, compactions and folders, which decides what an agent may ask about.

use std::path::Path;

use longhaul_core::compaction::handle::Handle;
use longhaul_store::{CompactionTable, ThreadTable};

use super::error::ServiceError;
use super::item_index::ItemIndex;
use super::memory::project_or_folder;
use super::preimage;

/// Maximum folders of one project to search: an index expression holds this many words.
const FOLDERS_MAX: usize = 128;

pub struct Projects {
    pub(super) threads: ThreadTable,
    pub(super) compactions: CompactionTable,
    pub(super) index: ItemIndex,
}

#[derive(Debug, Clone, Copy)]
pub enum ProjectSubject<'a> {
    Thread(&'a str),
    /// The id of a compaction, which has its thread's project.
    Compaction(&'a str),
    Handle(&'a str),
    Folder(&'a str),
}

impl Projects {
    /// The project of `subject`; `None` for a thread without a folder or a compaction without a thread.
    pub async fn of(&self, subject: ProjectSubject<'_>) -> Result<Option<String>, ServiceError> {
        let folder = match subject {
            ProjectSubject::Folder(folder) => Some(folder.to_owned()),
            ProjectSubject::Thread(id) => self.folder_of_thread(id).await?,
            ProjectSubject::Compaction(id) => self.folder_of_compaction(id).await?,
            ProjectSubject::Handle(handle) => {
                let handle: Handle = handle.parse().map_err(ServiceError::Handle)?;
                match preimage::is_id(&handle.of) {
                    true => self.folder_of_compaction(&handle.of).await?,
                    false => self.folder_of_thread(&handle.of).await?,
                }
            }
        };
        let Some(folder) = folder else { return Ok(None) };
        Ok(Some(tokio::task::spawn_blocking(move || project_at(&folder)).await?))
    }

    /// The folders with threads in the project of `folder`: that folder first, then those with the newest threads.
    pub async fn folders_of(&self, folder: &str) -> Result<Vec<String>, ServiceError> {
        let (own, known) = (folder.to_owned(), self.threads.folders().await?);
        let sorting = move || {
            let project = project_at(&own);
            let others = known.into_iter().filter(|other| *other != own);
            let others: Vec<String> = others.filter(|other| project_at(other) == project).collect();
            std::iter::once(own).chain(others).take(FOLDERS_MAX).collect()
        };
        Ok(tokio::task::spawn_blocking(sorting).await?)
    }

    async fn folder_of_thread(&self, id: &str) -> Result<Option<String>, ServiceError> {
        let not_found = || ServiceError::ThreadNotFound(id.to_owned());
        let row = self.threads.get(id).await?.ok_or_else(not_found)?;
        Ok(row.file.head.and_then(|head| head.cwd))
    }

    async fn folder_of_compaction(&self, id: &str) -> Result<Option<String>, ServiceError> {
        let not_found = || ServiceError::CompactionNotFound(id.to_owned());
        let (row, _) = self.compactions.get(id).await?.ok_or_else(not_found)?;
        match row.thread_id {
            Some(thread_id) => self.folder_of_thread(&thread_id).await,
            None => Ok(None),
        }
    }
}

/// The project of a folder, under one name however it is reached: a transcript may name it by a link.
pub fn project_at(folder: &str) -> String {
    let real = Path::new(folder).canonicalize().ok();
    let real = real.and_then(|path| path.into_os_string().into_string().ok());
    project_or_folder(real.as_deref().unwrap_or(folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_reached_by_a_link_has_the_same_project() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("app/.git")).unwrap();
        std::fs::create_dir_all(root.join("app/src")).unwrap();
        std::os::unix::fs::symlink(root.join("app/src"), root.join("link")).unwrap();
        let expected = root.join("app").display().to_string();
        for folder in ["app", "app/src", "link"] {
            assert_eq!(project_at(&root.join(folder).display().to_string()), expected);
        }
        assert_ne!(project_at(&root.display().to_string()), expected);
    }
}
