//! Holds the order of the parts of an original, so that it can be made again.
//!
//! The file is a list of numbers (LEB128): for each run of bytes or rows its length times two, plus
//! one if it was removed. A zero is followed by the length of a run that a filter added to what it
//! kept. Runs of one kind that follow one another are one run.

use crate::error::{Error, Kind, Result};
use crate::filter::part::Part;
use std::fs::File;
use std::io::{BufReader, Read, Write};
use std::path::{Path, PathBuf};

/// Where a part of the original goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Into the filtered file.
    Kept = 0,
    /// Out of it: into the file of what was removed, if there is one.
    Removed = 1,
}

/// What a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Run {
    /// A part of the original.
    Of(Side),
    /// Not from the original: a filter added it to the filtered file.
    Added,
}

/// An order that is being written.
pub struct Order {
    part: Part,
    run: Option<(Run, u64)>,
}

impl Order {
    /// The order that will be at `path`.
    pub fn create(path: &Path) -> Result<Order> {
        Ok(Order { part: Part::create(path)?.hashed(), run: None })
    }

    /// Adds a run of `length`.
    pub fn push(&mut self, run: Run, length: u64) -> Result<()> {
        match &mut self.run {
            _ if length == 0 => Ok(()),
            Some((last, so_far)) if *last == run => {
                *so_far += length;
                Ok(())
            }
            _ => {
                self.flush()?;
                self.run = Some((run, length));
                Ok(())
            }
        }
    }

    fn flush(&mut self) -> Result<()> {
        let Some((run, length)) = self.run.take() else { return Ok(()) };
        let (mut number, mut bytes) = match run {
            Run::Added => (u128::from(length), vec![0]),
            Run::Of(side) => (u128::from(length) * 2 + side as u128, Vec::new()),
        };
        while number >= 0x80 {
            bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        bytes.push(number as u8);
        self.part.write_all(&bytes).map_err(|e| self.part.failed(e))
    }

    /// Ends the file. It gets its name by [`Part::place`].
    pub fn finish(mut self) -> Result<Part> {
        self.flush()?;
        Ok(self.part)
    }
}

/// The runs of a written order, one after the other.
pub struct Runs {
    path: PathBuf,
    file: BufReader<File>,
}

impl Runs {
    /// Opens the order at `path`.
    pub fn open(path: &Path) -> Result<Runs> {
        let file = File::open(path).map_err(|e| Error::input("open", path, e))?;
        Ok(Runs { path: path.to_owned(), file: BufReader::new(file) })
    }

    /// The error for an order that is not as it was written.
    pub fn damaged(&self) -> Error {
        Error::new(
            Kind::Data,
            format!("{}: damaged; the original cannot be made", self.path.display()),
        )
    }

    /// The next run.
    pub fn next(&mut self) -> Result<Option<(Run, u64)>> {
        let Some(number) = self.number()? else { return Ok(None) };
        let (run, length) = match number {
            0 => (Run::Added, self.number()?.ok_or_else(|| self.damaged())?),
            _ if number % 2 == 0 => (Run::Of(Side::Kept), number / 2),
            _ => (Run::Of(Side::Removed), number / 2),
        };
        u64::try_from(length).map(|length| Some((run, length))).map_err(|_| self.damaged())
    }

    fn number(&mut self) -> Result<Option<u128>> {
        let (mut number, mut shift) = (0u128, 0);
        loop {
            let mut byte = [0];
            match self.file.read(&mut byte) {
                Ok(0) if shift == 0 => return Ok(None),
                Ok(0) => return Err(self.damaged()),
                Ok(_) => {}
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(e) => return Err(Error::io("read", &self.path, e)),
            }
            number |= u128::from(byte[0] & 0x7f) << shift;
            shift += 7;
            if byte[0] & 0x80 == 0 {
                break;
            }
            if shift > 66 {
                return Err(self.damaged());
            }
        }
        Ok(Some(number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs are read as they were written, joined if neighbours are of one kind. A truncated file
    /// is damaged.
    #[test]
    fn runs_come_back() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("order");
        let mut order = Order::create(&path).expect("made");
        let runs = [
            (Run::Of(Side::Kept), 1),
            (Run::Of(Side::Kept), 2),
            (Run::Of(Side::Removed), 0),
            (Run::Of(Side::Removed), u64::MAX),
            (Run::Added, 9),
            (Run::Of(Side::Kept), 300),
        ];
        runs.into_iter().try_for_each(|(run, length)| order.push(run, length)).expect("written");
        order.finish().and_then(Part::place).expect("placed");
        let read = || {
            let mut runs = Runs::open(&path)?;
            let mut found = Vec::new();
            while let Some(run) = runs.next()? {
                found.push(run);
            }
            Ok::<_, Error>(found)
        };
        assert_eq!(
            read().expect("sound"),
            [
                (Run::Of(Side::Kept), 3),
                (Run::Of(Side::Removed), u64::MAX),
                (Run::Added, 9),
                (Run::Of(Side::Kept), 300)
            ]
        );
        let bytes = std::fs::read(&path).expect("there");
        std::fs::write(&path, &bytes[..bytes.len() - 1]).expect("written");
        assert_eq!(read().expect_err("cut off").kind(), Kind::Data);
    }
}
