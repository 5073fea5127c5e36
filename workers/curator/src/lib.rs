//! Edits the files of memory with the daemon's model, as a client of the job table.
//!
//! # Theory of operation
//! *Steps.* Claims a `curate` job → asks the daemon for the model's next step → runs the file tools that it names
//! (`files`, on copies in memory) → asks again with their answers (`conversation`) → delivers the files. What
//! the daemon refuses is told to the model while the daemon lets it go on.
//!
//! *Trust.* The words of the model reach nothing but the copies: no file is opened and no program run for them, and
//! the process has taken both away from itself. Keys, budgets and the judgment of what comes back are the daemon's.
//!
//! *A crash* leaves nothing: the claim runs out, and the next run is given the same answers.

mod conversation;
mod files;
mod work;

pub use work::work_off;
