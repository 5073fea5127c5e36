//! Counts which files and threads of memory an answer used.

use std::collections::BTreeSet;
use std::sync::Arc;

use longhaul_core::memory::cite;
use longhaul_core::memory::consolidate::Project;
use longhaul_core::memory::usage::UsageKind;
use longhaul_protocol::memory::CiteResult;
use longhaul_store::UseTable;

use super::publications::Publications;
use crate::clock::Clock;
use crate::service::error::ServiceError;

pub struct Citations {
    pub(in crate::service) uses: UseTable,
    pub(in crate::service) publications: Arc<Publications>,
    pub(in crate::service) clock: Clock,
}

impl Citations {
    pub async fn count(
        &self,
        answer: Option<&str>,
        thread_ids: Vec<String>,
        paths: Vec<String>,
    ) -> Result<CiteResult, ServiceError> {
        let cited = answer.map(cite::parse).unwrap_or_default();
        let mut paths: BTreeSet<String> = paths.into_iter().collect();
        paths.extend(cited.entries.into_iter().map(|entry| entry.path));
        let mut threads: BTreeSet<String> = thread_ids.into_iter().collect();
        threads.extend(cited.thread_ids);
        let publication = self.publications.newest().await?;
        let tasks = publication.handbook.projects.values().flat_map(Project::threads);
        let mut known = BTreeSet::new();
        for task in tasks {
            if threads.contains(&task.thread_id) || paths.contains(&task.summary_path) {
                known.insert(task.thread_id.clone());
            }
        }
        let kinds: BTreeSet<&str> =
            paths.iter().filter_map(|path| UsageKind::of(path)).map(<&str>::from).collect();
        let (kinds, thread_ids): (Vec<&str>, Vec<String>) =
            (kinds.into_iter().collect(), known.into_iter().collect());
        self.uses.add(&kinds, &thread_ids, self.clock.now_ms()).await?;
        let kinds = kinds.into_iter().map(str::to_owned).collect();
        Ok(CiteResult { kinds, thread_ids, answer: answer.map(cite::strip) })
    }
}
