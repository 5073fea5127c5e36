//! Frequent calls of the tests, which must succeed.

use std::ops::RangeBounds;

use longhaul_protocol::event::EventKind;
use longhaul_protocol::{ErrorKind, Method};
use longhaul_protocol::{compaction, context, daemon, event, history, job, thread};
use serde_json::Value;
use serde_json::value::RawValue;

use super::{Client, found, soon, until};

/// Params of a compaction of a thread.
pub fn of_thread(thread_id: &str) -> compaction::RunParams {
    compaction::RunParams { thread_id: Some(thread_id.to_owned()), ..Default::default() }
}

/// Params of a compaction of given items.
pub fn of_items(items: impl Into<Vec<Value>>) -> compaction::RunParams {
    compaction::RunParams { items: Some(items.into()), ..Default::default() }
}

fn values(items: &[Box<RawValue>]) -> Vec<Value> {
    items.iter().map(|item| serde_json::from_str(item.get()).unwrap()).collect()
}

impl Client {
    /// Waits until the thread's transcript is read to its end.
    pub async fn sync(&mut self, thread_id: &str) -> thread::SyncResult {
        self.sync_with(Some(thread_id.to_owned()), None).await
    }

    /// Waits until the transcript is read to its end.
    pub async fn sync_file(&mut self, path: &std::path::Path) -> thread::SyncResult {
        self.sync_with(None, Some(path.to_str().unwrap().to_owned())).await
    }

    async fn sync_with(
        &mut self,
        thread_id: Option<String>,
        path: Option<String>,
    ) -> thread::SyncResult {
        let timeout_ms = Some(15_000);
        let params = thread::SyncParams { thread_id, path, timeout_ms, ..Default::default() };
        self.call::<thread::Sync>(params).await.unwrap()
    }

    pub async fn thread(&mut self, thread_id: &str) -> thread::ThreadSummary {
        let params = thread::ThreadGetParams { thread_id: thread_id.to_owned() };
        self.call::<thread::ThreadGet>(params).await.unwrap().thread
    }

    pub async fn threads(&mut self) -> Vec<thread::ThreadSummary> {
        let params = thread::ThreadListParams { limit: Some(100), ..Default::default() };
        self.call::<thread::ThreadList>(params).await.unwrap().threads
    }

    /// Threads of one source.
    pub async fn threads_of(&mut self, source: &str) -> Vec<thread::ThreadSummary> {
        let params = thread::ThreadListParams { source: Some(source.into()), ..Default::default() };
        self.call::<thread::ThreadList>(params).await.unwrap().threads
    }

    /// The history of a thread as it is now, all of it.
    pub async fn history(&mut self, thread_id: &str) -> Vec<Value> {
        let params =
            history::HistoryGetParams { thread_id: thread_id.to_owned(), ..Default::default() };
        let page = self.call::<history::HistoryGet>(params).await.unwrap();
        assert_eq!(page.next_cursor, None, "one page holds it");
        values(&page.items)
    }

    /// All items behind a handle, page by page.
    pub async fn expand(&mut self, handle: &str) -> Vec<Value> {
        let mut params = history::ExpandParams { handle: handle.to_owned(), ..Default::default() };
        let mut items = Vec::new();
        loop {
            let page = self.call::<history::Expand>(params.clone()).await.unwrap();
            items.extend(values(&page.items));
            let Some(cursor) = page.next_cursor else { return items };
            params.cursor = Some(cursor);
        }
    }

    pub async fn usage(&mut self, thread_id: &str) -> context::UsageResult {
        let params =
            context::UsageParams { thread_id: Some(thread_id.to_owned()), ..Default::default() };
        self.call::<context::Usage>(params).await.unwrap()
    }

    pub async fn compact(&mut self, params: compaction::RunParams) -> compaction::RunResult {
        soon("a compaction", self.call::<compaction::Run>(params)).await.unwrap()
    }

    /// Requests a background compaction; returns its id.
    pub async fn start_compaction(&mut self, params: compaction::RunParams) -> String {
        self.call::<compaction::Start>(params).await.unwrap().compaction_id
    }

    pub async fn compaction(&mut self, compaction_id: &str) -> compaction::CompactionGetResult {
        let params = compaction::CompactionGetParams { compaction_id: compaction_id.to_owned() };
        self.call::<compaction::CompactionGet>(params).await.unwrap()
    }

    pub async fn compactions(&mut self) -> Vec<compaction::CompactionSummary> {
        let params = compaction::CompactionListParams { limit: Some(100), ..Default::default() };
        self.call::<compaction::CompactionList>(params).await.unwrap().compactions
    }

    pub async fn undo(&mut self, compaction_id: &str) -> compaction::UndoResult {
        let params = compaction::UndoParams { compaction_id: compaction_id.to_owned() };
        self.call::<compaction::Undo>(params).await.unwrap()
    }

    /// Calls a method of a file that is opened after the socket: the index of the archive, or of the search.
    pub async fn once_open<M: Method>(&mut self, params: M::Params) -> M::Result
    where
        M::Params: Clone,
    {
        found("the index is open", async || match self.call::<M>(params.clone()).await {
            Ok(result) => Some(result),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::StoreBusy, "{error:?}");
                None
            }
        })
        .await
    }

    /// What the search finds.
    pub async fn hits(&mut self, query: &str) -> Vec<thread::SearchHit> {
        let params = thread::SearchParams { query: query.into(), ..Default::default() };
        self.once_open::<thread::Search>(params).await.hits
    }

    /// Waits until the search index has so many items and nothing to do.
    pub async fn indexed(&mut self, items: impl RangeBounds<u64>) {
        until("the index has everything", async || {
            let search = self.status().await.search;
            let is_idle = (search.state, search.files_behind) == (thread::IndexState::Idle, 0);
            is_idle && items.contains(&search.items)
        })
        .await;
    }

    pub async fn status(&mut self) -> daemon::StatusResult {
        self.call::<daemon::Status>(daemon::NoParams {}).await.unwrap()
    }

    /// Continues a thread in an agent, and checks that the new thread has the old one's checkpoint.
    pub async fn continues_in(&mut self, thread_id: &str, to: &str, known: &[&str]) {
        let (thread_id, to) = (thread_id.to_owned(), Some(to.to_owned()));
        let params =
            thread::ContinueParams { thread_id: thread_id.clone(), to, ..Default::default() };
        let agent = params.to.clone().unwrap();
        let continued = self.call::<thread::Continue>(params).await.unwrap();
        assert_eq!(continued.command[0], agent);
        let new = self.thread(&continued.thread_id).await;
        assert_eq!(
            (new.source.as_str(), new.continues.as_deref()),
            (agent.as_str(), Some(thread_id.as_str()))
        );
        let history = self.history(&continued.thread_id).await;
        let first = super::text_of(&history[0]);
        for words in known {
            assert!(first.contains(words), "{words} in {agent}:\n{first}");
        }
    }

    /// Subscribes this connection to events of these kinds.
    pub async fn subscribe(&mut self, kinds: &[EventKind]) -> event::SubscribeResult {
        let params = event::SubscribeParams { kinds: Some(kinds.to_vec()), since_seq: None };
        self.call::<event::Subscribe>(params).await.unwrap()
    }

    /// Waits until a job is in `state`.
    pub async fn job_in(&mut self, job: &str, state: &str) -> job::Job {
        let params = job::JobParams { job: job.to_owned() };
        found(&format!("{job} is {state}"), async || {
            let found = self.call::<job::JobGet>(params.clone()).await.unwrap().job;
            (found.state == state).then_some(found)
        })
        .await
    }
}
