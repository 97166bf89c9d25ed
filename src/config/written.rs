//! Where something is written: a line of a file, or an option of the command line.

/// Where a value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum At {
    /// On this line of the file, from 1.
    Line(usize),
    /// In this `--set` of the command line, from 0.
    Set(usize),
}

/// The line of the byte at `offset`, from 1.
pub fn line_of(text: &str, offset: usize) -> usize {
    text.as_bytes()[..offset.min(text.len())].iter().filter(|byte| **byte == b'\n').count() + 1
}
