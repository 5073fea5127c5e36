//! The async runtime, with few threads, since each idle one costs memory.

use std::io;

use tokio::runtime::{Builder, Runtime};

/// Maximum threads for blocking work: files, the database, and computations.
///
/// # Source
/// Chosen: twice the concurrent computations (`service`), so that files and the store always find a thread.
const BLOCKING_THREADS_MAX: usize = 8;

/// Starts a runtime with `worker_threads`, at most one per processor.
pub fn start(worker_threads: usize) -> io::Result<Runtime> {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    Builder::new_multi_thread()
        .worker_threads(worker_threads.min(processors))
        .max_blocking_threads(BLOCKING_THREADS_MAX)
        .thread_name("longhauld")
        .enable_all()
        .build()
}
