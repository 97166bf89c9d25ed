//! Reads the rows that `pagefold send` sends, and puts them into batches.

use std::io::{BufRead, Read};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;
use workers::error::{Error, Result};
use workers::read::jsonl::unmarked;

/// The most rows of a batch.
const BATCH_ROWS: usize = 500;
/// Rows that are read ahead. A row may be large.
const ROWS_AHEAD: usize = 4;
/// A batch is sent if no row follows for so long, because a pipe may stay open without rows.
const IDLE_MAX: Duration = Duration::from_secs(1);

/// A row of the input that is not blank.
#[derive(Debug, PartialEq, Eq)]
pub enum Row {
    /// The bytes of this line, from 1.
    Whole(u64, Vec<u8>),
    /// This line is longer than a server takes.
    Long(u64),
}

/// The rows of a file or a pipe.
pub struct Rows {
    input: Box<dyn BufRead + Send>,
    name: PathBuf,
    bytes_max: usize,
    line: u64,
}

/// What came next.
pub enum Next {
    /// A row.
    Row(Row),
    /// No row for a while. There may be more.
    Nothing,
    /// No row follows.
    End,
}

/// Rows that a thread reads while others are sent.
pub struct Arriving(Receiver<Result<Row>>);

impl Rows {
    /// The rows of `input`, which messages call `name`. Rows with more than `bytes_max` bytes are
    /// not held in memory.
    pub fn new(input: Box<dyn BufRead + Send>, name: PathBuf, bytes_max: usize) -> Rows {
        Rows { input, name, bytes_max, line: 0 }
    }

    /// The next row; `None` at the end.
    pub fn next(&mut self) -> Result<Option<Row>> {
        self.read().map_err(|error| Error::input("read", &self.name, error))
    }

    /// Reads the rows in a thread of its own, which ends with the last row or the first error.
    pub fn arriving(mut self) -> Arriving {
        let (sender, receiver) = sync_channel(ROWS_AHEAD);
        thread::spawn(move || {
            while let Some(row) = self.next().transpose() {
                let is_last = row.is_err();
                if sender.send(row).is_err() || is_last {
                    break;
                }
            }
        });
        Arriving(receiver)
    }

    fn read(&mut self) -> std::io::Result<Option<Row>> {
        loop {
            let mut row = Vec::new();
            let most = self.bytes_max as u64 + 1;
            if self.input.by_ref().take(most).read_until(b'\n', &mut row)? == 0 {
                return Ok(None);
            }
            self.line += 1;
            if row.len() > self.bytes_max && !row.ends_with(b"\n") {
                self.input.skip_until(b'\n')?;
                return Ok(Some(Row::Long(self.line)));
            }
            // A run accepts a byte order mark there, too.
            let row = if self.line == 1 { unmarked(&row) } else { &row[..] }.trim_ascii();
            if !row.is_empty() {
                return Ok(Some(Row::Whole(self.line, row.to_vec())));
            }
        }
    }
}

impl Arriving {
    /// Waits for the next row; if `is_patient`, for as long as it takes.
    pub fn next(&self, is_patient: bool) -> Result<Next> {
        let row = if is_patient {
            self.0.recv().map_err(RecvTimeoutError::from)
        } else {
            self.0.recv_timeout(IDLE_MAX)
        };
        match row {
            Ok(row) => Ok(Next::Row(row?)),
            Err(RecvTimeoutError::Timeout) => Ok(Next::Nothing),
            Err(RecvTimeoutError::Disconnected) => Ok(Next::End),
        }
    }
}

/// Rows that are sent together.
#[derive(Default)]
pub struct Batch {
    /// Their bytes, with a newline after each.
    pub bytes: Vec<u8>,
    /// The line of each row in the input, and its place in the bytes.
    pub rows: Vec<(u64, Range<usize>)>,
}

impl Batch {
    /// Whether a row of this many `bytes` may go with the others. A longer row is sent alone.
    pub fn has_room(&self, bytes: usize, bytes_max: usize) -> bool {
        self.rows.is_empty() || self.bytes.len() + bytes <= bytes_max
    }

    /// Whether no row may follow, so that the batch need not wait for another row.
    pub fn is_full(&self, bytes_max: usize) -> bool {
        self.rows.len() >= BATCH_ROWS || self.bytes.len() >= bytes_max
    }

    /// Adds the row of a line.
    pub fn push(&mut self, line: u64, row: &[u8]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(row);
        self.rows.push((line, start..self.bytes.len()));
        self.bytes.push(b'\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    /// A row over the limit was cut in two. It is reported by its line, is not held in memory, and
    /// the rows around it are whole.
    #[test]
    fn long_rows_are_reported() {
        let text = format!("abc\n\n{}\n  d \r\n12345678\n123456789", "x".repeat(100));
        let mut rows = Rows::new(Box::new(Cursor::new(text)), "stdin".into(), 8);
        let mut all = Vec::new();
        while let Some(row) = rows.next().expect("readable") {
            all.push(row);
        }
        let whole = |line, row: &str| Row::Whole(line, row.into());
        let expected =
            [whole(1, "abc"), Row::Long(3), whole(4, "d"), whole(5, "12345678"), Row::Long(6)];
        assert_eq!(all, expected);
    }

    /// A byte order mark at the beginning of a file made its first row no JSON. Elsewhere it is
    /// part of the row.
    #[test]
    fn marks_are_left_out() {
        let mark = "\u{feff}";
        let mut rows =
            Rows::new(Box::new(Cursor::new(format!("{mark}a\n{mark}b\n"))), "stdin".into(), 100);
        assert_eq!(rows.next().expect("readable"), Some(Row::Whole(1, b"a".into())));
        assert_eq!(rows.next().expect("readable"), Some(Row::Whole(2, format!("{mark}b").into())));
    }

    /// A batch ends before a row that would make it too large. A long row is sent alone.
    #[test]
    fn batches_are_cut_by_bytes() {
        let mut batch = Batch::default();
        assert!(batch.has_room(100, 10));
        batch.push(1, b"abcd");
        assert!(batch.has_room(5, 10) && !batch.has_room(6, 10));
        batch.push(3, b"efghi");
        assert_eq!(batch.rows, [(1, 0..4), (3, 5..10)]);
        assert_eq!(batch.bytes, b"abcd\nefghi\n");
        assert!(!batch.is_full(12) && batch.is_full(11));
        (2..BATCH_ROWS as u64).for_each(|line| batch.push(line, b"x"));
        assert!(batch.is_full(usize::MAX));
    }
}
