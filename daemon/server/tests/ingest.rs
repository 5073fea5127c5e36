//! Ingests transcripts into the store through the public handle.

mod change;
mod corpus;
mod document;
mod lineage;
mod lines;
mod many;
mod rig;
mod sync;
mod watch;
