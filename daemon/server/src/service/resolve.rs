//! Completes ids and handles as people write them: a unique prefix of an id, and an item number in a thread named
//! next to it.

use std::sync::Arc;

use longhaul_core::compaction::handle::{Handle, call_of};
use longhaul_core::item::ItemKind;

use super::error::ServiceError;
use super::prefix::{CANDIDATES_MAX, only};
use super::preimage;
use super::projects::{ProjectSubject, Projects};

/// Length of a complete thread id (a UUID), which needs no lookup.
const ID_CHARS: usize = 36;

pub struct Resolver {
    pub projects: Arc<Projects>,
}

impl Resolver {
    /// The complete id of the only thread whose id begins with `named`; `named` itself if there is none, so that
    /// the caller reports it as missing. With `own`, only threads of that project count.
    ///
    /// # Errors
    /// [`ServiceError::Ambiguous`]; the store cannot be read.
    pub async fn thread(&self, named: &str, own: Option<&str>) -> Result<String, ServiceError> {
        if named.is_empty() || named.len() >= ID_CHARS {
            return Ok(named.to_owned());
        }
        self.thread_by_pages(named, own, CANDIDATES_MAX).await
    }

    /// Most threads with the prefix may be of other projects, so the first page need not have one of `own`.
    async fn thread_by_pages(
        &self,
        named: &str,
        own: Option<&str>,
        page_rows: u32,
    ) -> Result<String, ServiceError> {
        let (mut ids, mut after) = (Vec::new(), String::new());
        loop {
            let page = self.projects.threads.with_prefix(named, &after, page_rows).await?;
            let is_last = page.len() < page_rows as usize;
            for (id, folder) in page {
                after.clone_from(&id);
                let subject = folder.as_deref().map(ProjectSubject::Folder);
                if id == named || self.is_of(subject, own).await? {
                    ids.push(id);
                }
            }
            if is_last || ids.len() > 1 {
                return only("thread", named, ids);
            }
        }
    }

    /// Same as [`Resolver::thread`], for a compaction.
    pub async fn compaction(&self, named: &str, own: Option<&str>) -> Result<String, ServiceError> {
        if named.is_empty() || named.len() >= preimage::PREFIX.len() + ID_CHARS {
            return Ok(named.to_owned());
        }
        // With or without the common prefix of all compaction ids.
        let beginning = match named.starts_with(preimage::PREFIX) {
            true => named.to_owned(),
            false => format!("{}{named}", preimage::PREFIX),
        };
        let (mut ids, mut after) = (Vec::new(), String::new());
        loop {
            let page = self.projects.compactions.with_prefix(&beginning, &after, CANDIDATES_MAX);
            let page = page.await?;
            let is_last = page.len() < CANDIDATES_MAX as usize;
            for (id, thread) in page {
                after.clone_from(&id);
                if self.is_of(thread.as_deref().map(ProjectSubject::Thread), own).await? {
                    ids.push(id);
                }
            }
            if is_last || ids.len() > 1 {
                return only("compaction", named, ids);
            }
        }
    }

    /// The handle with its thread or compaction completed; one that names neither belongs to `thread`.
    ///
    /// # Errors
    /// The text is not a handle, or names no thread; [`ServiceError::Ambiguous`]; the store cannot be read.
    pub async fn handle(
        &self,
        named: &str,
        thread: Option<&str>,
        own: Option<&str>,
    ) -> Result<String, ServiceError> {
        if let Some((of, call)) = call_of(named, thread) {
            let of = self.thread(of, own).await?;
            if let Some(handle) = self.output_of(&of, call).await? {
                return Ok(handle.to_string());
            }
        }
        let mut handle = Handle::parse_in(named, thread).map_err(ServiceError::Handle)?;
        handle.of = match preimage::is_id(&handle.of) {
            true => self.compaction(&handle.of, own).await?,
            false => self.thread(&handle.of, own).await?,
        };
        Ok(handle.to_string())
    }

    async fn output_of(&self, thread: &str, call: &str) -> Result<Option<Handle>, ServiceError> {
        let Some(row) = self.projects.threads.get(thread).await? else { return Ok(None) };
        let rows = self.projects.index.rows(&row.file, 0, u64::MAX).await?;
        let mut outputs = rows.into_iter().rev().filter(|row| row.kind == ItemKind::ToolOutput);
        let found = outputs.find(|row| row.call_id.as_deref() == Some(call));
        Ok(found.map(|row| Handle::new(thread, (row.seq, row.seq), row.digest)))
    }

    /// Whether `subject` belongs to the project `own`, if given.
    async fn is_of(
        &self,
        subject: Option<ProjectSubject<'_>>,
        own: Option<&str>,
    ) -> Result<bool, ServiceError> {
        match (own, subject) {
            (None, _) => Ok(true),
            (Some(_), None) => Ok(false),
            (Some(own), Some(subject)) => {
                Ok(self.projects.of(subject).await?.as_deref() == Some(own))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::tests::fixture::{Fixture, conversation};

    #[tokio::test]
    async fn a_thread_of_the_project_is_found_behind_those_of_others() {
        let fixture = Fixture::new().await;
        let mut ids = Vec::new();
        for folder in ["/w/a", "/w/b", "/w/c", "/w/d"] {
            ids.push((fixture.thread_in(folder, &conversation(1)).await, folder));
        }
        ids.sort_unstable();
        let resolver = Resolver { projects: Arc::clone(&fixture.services.projects) };
        for (id, folder) in &ids {
            assert_eq!(&resolver.thread_by_pages("0", Some(folder), 1).await.unwrap(), id);
        }
        let nowhere = resolver.thread_by_pages("0", Some("/elsewhere"), 1).await.unwrap();
        assert_eq!(nowhere, "0", "none is of that project");
        let again = fixture.thread_in("/w/a", &conversation(1)).await;
        let both = resolver.thread_by_pages("0", Some("/w/a"), 1).await;
        assert!(matches!(both, Err(ServiceError::Ambiguous { .. })), "{both:?} {again}");
    }

    #[test]
    fn a_prefix_stands_for_the_only_id_and_an_exact_id_for_itself() {
        let resolve = |named: &str, ids: &[&str]| {
            only("thread", named, ids.iter().map(|id| (*id).to_owned()).collect())
        };
        assert_eq!(resolve("0199", &["0199-a"]).unwrap(), "0199-a");
        assert_eq!(resolve("0199", &["0199", "0199-a"]).unwrap(), "0199", "it is an id itself");
        assert_eq!(resolve("0199", &[]).unwrap(), "0199", "the caller reports it as missing");
        match resolve("0199", &["0199-a", "0199-b"]).unwrap_err() {
            ServiceError::Ambiguous { named, candidates, .. } => {
                assert_eq!((named.as_str(), candidates.len()), ("0199", 2));
            }
            error => panic!("{error}"),
        }
    }
}
