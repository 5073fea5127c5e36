//! Edits the files of memory with the daemon's model, as a client of the job table.
//!
//! # Theory of operation
//! *Steps.* Claims a `curate` job → asks the daemon for the model's next step → runs the file tools that it names
//! (`files`, on copies in memory) → asks again with their answers (`conversation`) → delivers the files. If the daemon
//! rejects them and the job may continue, the model gets the reason.
//!
//! *Trust.* The model can only change the copies: the process opens no file and runs no program for it, and has given
//! up the right to do either. The daemon has the keys and budgets, and checks the result.
//!
//! *A crash* leaves nothing: the claim expires, and the next run gets the same answers.

mod conversation;
mod files;
mod work;

pub use work::work_off;
