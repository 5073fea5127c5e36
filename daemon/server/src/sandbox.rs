//! This program as a confined child process that reads one repository.

pub mod git;
