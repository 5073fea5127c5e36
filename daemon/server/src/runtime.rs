//! The async runtime: as few threads as serve, since each that idles costs memory.

use std::io;

use tokio::runtime::{Builder, Runtime};

/// Threads for blocking work at most: files, the database, and what keeps a processor busy.
///
/// # Source
/// Chosen: twice the calls that may keep a processor busy (`service`), so that files and the store find one.
const BLOCKING_THREADS_MAX: usize = 8;

/// A runtime with `worker_threads`, and no more of them than processors.
pub fn start(worker_threads: usize) -> io::Result<Runtime> {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    Builder::new_multi_thread()
        .worker_threads(worker_threads.min(processors))
        .max_blocking_threads(BLOCKING_THREADS_MAX)
        .thread_name("longhauld")
        .enable_all()
        .build()
}
