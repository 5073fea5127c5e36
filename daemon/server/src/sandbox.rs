//! This program as a child process that may do little: it reads one repository.

pub mod git;
