//! Looks up a few rows by key in a table whose rows are large.
//!
//! Opening a segment checks only the keys of its batches. A batch is decoded when one of its rows
//! is requested, and its digest is not compared, so an epoch does not read what it does not need:
//! the rows have digests of their own, which the caller compares. [`crate::store::runs::Table`] is
//! the counterpart that decodes all batches at once.

use crate::error::Result;
use crate::store::column::Column;
use crate::store::manifest::TableState;
use crate::store::open::OpenSegments;
use crate::store::segment::SegmentRef;
use crate::store::segment::layout::{Layout, check_mapped, damaged, mapped, rows_after, undamaged};
use crate::store::table::Row;
use arrow_array::Array;
use arrow_ipc::reader::FileDecoder;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// The position of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    segment: usize,
    position: usize,
}

/// The segments of one or several states of a table.
pub struct Lookup<R: Row> {
    segments: Vec<Arc<Sparse<R>>>,
    rows_read: Arc<AtomicU64>,
}

impl<R: Row> Default for Lookup<R> {
    fn default() -> Self {
        Lookup { segments: Vec::new(), rows_read: Arc::default() }
    }
}

impl<R: Row> Lookup<R> {
    /// Maps the segments that `state` names in the table's `folder`; `open` shares them with other
    /// workers. The number of rows that are found is added to `rows_read`.
    pub fn open(
        open: &OpenSegments,
        folder: &Path,
        state: Option<&TableState>,
        rows_read: Arc<AtomicU64>,
    ) -> Result<Lookup<R>> {
        let mut lookup = Lookup { segments: Vec::new(), rows_read };
        for segment in state.into_iter().flat_map(TableState::segments) {
            lookup.push_shared(open, folder, segment)?;
        }
        Ok(lookup)
    }

    /// Maps another segment.
    pub fn push(&mut self, folder: &Path, segment: &SegmentRef) -> Result<()> {
        self.segments.push(Arc::new(Sparse::open(folder, segment)?));
        Ok(())
    }

    /// Adds another segment; `open` shares it with other workers.
    pub fn push_shared(&mut self, open: &OpenSegments, folder: &Path, segment: &SegmentRef) -> Result<()> {
        self.segments.push(open.get(folder, segment, || Sparse::open(folder, segment))?);
        Ok(())
    }

    /// Finds for each of the ascending `keys` the position of a row with that key, added or
    /// retracted, without reading rows.
    pub fn places(&self, keys: &[R::Key]) -> Vec<Option<Place>> {
        let mut places = vec![None; keys.len()];
        self.each_place(keys, |at, place| _ = places[at].get_or_insert(place));
        self.rows_read.fetch_add(places.iter().flatten().count() as u64, Ordering::Relaxed);
        places
    }

    /// Calls `found` with the index of a key and the position of a row with it, for every segment
    /// and every one of the ascending `keys` in it. Both the keys and the rows of a segment are
    /// galloped through, so few keys in a large segment and many in a small one cost little.
    pub fn each_place(&self, keys: &[R::Key], mut found: impl FnMut(usize, Place)) {
        for (number, segment) in self.segments.iter().enumerate() {
            let (mut at, mut position) = (0, 0);
            while at < keys.len() {
                position = segment.seek(keys[at], position);
                if position == segment.rows {
                    break;
                }
                let key = segment.key(position);
                at = crate::gallop::gallop(keys.len(), at, |at| keys[at] < key);
                if at < keys.len() && keys[at] == key {
                    found(at, Place { segment: number, position });
                    at += 1;
                }
            }
        }
    }

    /// The mapped columns of the batch with the row at `place`, and the row's place in them.
    ///
    /// # Errors
    ///
    /// `Io` if the batch is damaged.
    pub fn row(&self, place: Place) -> Result<(&R::Columns, usize)> {
        let segment = &self.segments[place.segment];
        Ok((segment.batch(place.position / R::BATCH_ROWS)?, place.position % R::BATCH_ROWS))
    }
}

/// A mapped segment whose batches are decoded on demand.
struct Sparse<R: Row> {
    path: PathBuf,
    layout: Layout,
    decoder: FileDecoder,
    keys: Vec<<R::Key as Column>::Array>,
    batches: Vec<OnceLock<R::Columns>>,
    rows: usize,
}

impl<R: Row> Sparse<R> {
    fn open(folder: &Path, segment: &SegmentRef) -> Result<Sparse<R>> {
        let path = segment.path(folder);
        let bytes = mapped(&path, segment)?;
        let (layout, keys, rows) = undamaged(&path, || {
            let layout = Layout::read(bytes, &R::schema())?;
            let (mut keys, mut rows) = (Vec::new(), 0);
            // Only the first column, which is the key.
            let decoder = layout.decoder().with_projection(vec![0]);
            for span in &layout.spans {
                let (data, batch) = layout.batch(span, &decoder)?;
                rows = rows_after::<R>(rows, batch.num_rows())?;
                let column = batch.column(0).as_any().downcast_ref::<<R::Key as Column>::Array>();
                let column = column.filter(|column| column.len() == batch.num_rows() && column.nulls().is_none());
                let column = column.ok_or("another table's columns")?;
                let at = data.as_ptr().wrapping_add(span.meta);
                if column.to_data().buffers().iter().any(|buffer| buffer.as_ptr() != at) {
                    return Err("a column is not mapped, or not in its place".into());
                }
                keys.push(column.clone());
            }
            Ok((layout, keys, rows))
        })?;
        if rows as u64 != segment.rows {
            return Err(damaged(&path, &format!("{rows} rows, the manifest says {}", segment.rows)));
        }
        let batches = keys.iter().map(|_| OnceLock::new()).collect();
        Ok(Sparse { path, decoder: layout.decoder(), layout, keys, batches, rows })
    }

    fn key(&self, position: usize) -> R::Key {
        R::Key::value(&self.keys[position / R::BATCH_ROWS], position % R::BATCH_ROWS)
    }

    /// The first position at or after `from` whose key is not less than `key`.
    fn seek(&self, key: R::Key, from: usize) -> usize {
        crate::gallop::gallop(self.rows, from, |position| self.key(position) < key)
    }

    fn batch(&self, number: usize) -> Result<&R::Columns> {
        if let Some(columns) = self.batches[number].get() {
            return Ok(columns);
        }
        let columns = undamaged(&self.path, || {
            let span = &self.layout.spans[number];
            let (data, batch) = self.layout.batch(span, &self.decoder)?;
            check_mapped(&batch, &data, span.meta)?;
            let columns = R::columns(&batch).filter(|_| batch.num_rows() == self.keys[number].len());
            columns.ok_or_else(|| "another table's columns".to_owned())
        })?;
        Ok(self.batches[number].get_or_init(|| columns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Id;
    use crate::store::manifest::Run;
    use crate::store::segment;
    use crate::tables::EvidenceRow;

    fn row(n: u64, diff: i8) -> EvidenceRow {
        let bytes = |byte: u8, count: usize| vec![byte; count].into();
        let (keys, sketches) = (bytes(1, n as usize % 5 * 9), bytes(2, n as usize % 7));
        let row = EvidenceRow::new(Id { high: n * 3, low: 0 }, n, 1, keys, sketches, bytes(3, n as usize % 300));
        EvidenceRow { diff, ..row }
    }

    fn state(folder: &Path) -> TableState {
        let mut state = TableState::default();
        let batch = EvidenceRow::BATCH_ROWS as u64;
        let first: Vec<EvidenceRow> = (0..2 * batch + 5).map(|n| row(n, 1)).collect();
        let second: Vec<EvidenceRow> = [row(7, -1), row(9000, 1)].into();
        for (epoch, rows) in [(1, first), (2, second)] {
            let segment = segment::write(folder, "test", rows).expect("written");
            state.append(Run { epoch, segments: segment.into_iter().collect() }).expect("appended");
        }
        state
    }

    /// Exactly the keys that some run wrote, added or retracted, are found and counted, each with
    /// its row.
    #[test]
    fn finds_the_rows_of_keys() {
        let folder = tempfile::tempdir().expect("a folder");
        let count = Arc::<AtomicU64>::default();
        let lookup = Lookup::<EvidenceRow>::open(
            &OpenSegments::default(),
            folder.path(),
            Some(&state(folder.path())),
            count.clone(),
        )
        .expect("opened");
        let keys: Vec<Id> = (0..30_000).map(|high| Id { high, low: 0 }).collect();
        let mut found = 0;
        for (key, place) in keys.iter().zip(lookup.places(&keys)) {
            let written =
                key.high % 3 == 0 && (key.high / 3 < 2 * EvidenceRow::BATCH_ROWS as u64 + 5 || key.high == 27_000);
            assert_eq!(place.is_some(), written, "{key}");
            if let Some(place) = place {
                let (columns, at) = lookup.row(place).expect("sound");
                assert_eq!(EvidenceRow::row(columns, at).with_diff(1), row(key.high / 3, 1));
                found += 1;
            }
        }
        assert_eq!(count.load(Ordering::Relaxed), found);
        assert_eq!(Lookup::<EvidenceRow>::default().places(&keys[..2]), [None, None]);
    }

    /// Reading a row of a damaged batch is an error that names the file. Rows of other batches are
    /// still read.
    #[test]
    fn damage_is_found_where_it_is_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let state = state(folder.path());
        let path = state.segments().next().expect("a segment").path(folder.path());
        let mut bytes = std::fs::read(&path).expect("readable");
        let open = || {
            let segments = OpenSegments::default();
            Lookup::<EvidenceRow>::open(&segments, folder.path(), Some(&state), Arc::default()).expect("opened")
        };
        let (sound, first, last) = (open(), Id { high: 0, low: 0 }, Id { high: 6000, low: 0 });
        let (columns, at) = sound.row(sound.places(&[first])[0].expect("there")).expect("sound");
        assert_eq!(EvidenceRow::row(columns, at), row(0, 1));
        drop(sound);
        // The offsets of the byte strings in the first batch: the one of row n has n bytes while n
        // is small.
        let offsets: Vec<u8> = (0..4u64).map(|n| n * (n - n.min(1)) / 2).flat_map(u64::to_le_bytes).collect();
        let at = bytes.windows(offsets.len()).position(|window| window == offsets).expect("offsets");
        bytes[at + 15] = 0x7f;
        std::fs::write(&path, bytes).expect("written");
        let damaged = open();
        let places = damaged.places(&[first, last]);
        let error = damaged.row(places[0].expect("there")).err().expect("damaged").to_string();
        assert!(error.contains("damaged segment") && error.contains(".arrow"), "{error}");
        assert!(damaged.row(places[1].expect("there")).is_ok());
    }
}
