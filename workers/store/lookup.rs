//! Looks up a few rows by key in a table whose rows are large.
//!
//! The digests of batches are not compared, so that an epoch reads only the rows that it needs. The
//! rows have digests of their own, which the caller compares. [`crate::store::runs::Table`] is the
//! counterpart that reads whole batches.

use crate::error::Result;
use crate::gallop::gallop;
use crate::store::damage::end_reading;
use crate::store::manifest::TableState;
use crate::store::map::Access;
use crate::store::open::OpenSegments;
use crate::store::segment::{Segment, SegmentRef};
use crate::store::table::Row;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// If at least this many rows of a batch are wanted, it is read in one go, because they lie in most
/// of its pages.
const ROWS_TO_PREFETCH: usize = 64;

/// The position of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    segment: usize,
    position: usize,
}

/// The segments of one or several states of a table.
pub struct Lookup<R: Row> {
    segments: Vec<Arc<Segment<R>>>,
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
        let few =
            |segment| open.get(folder, segment, || Segment::open_for(folder, segment, Access::Few));
        let segments =
            state.into_iter().flat_map(TableState::segments).map(few).collect::<Result<_>>()?;
        Ok(Lookup { segments, rows_read })
    }

    /// Maps another segment, most of which is going to be read.
    pub fn push(&mut self, folder: &Path, segment: &SegmentRef) -> Result<()> {
        self.segments.push(Arc::new(Segment::open(folder, segment)?));
        Ok(())
    }

    /// As [`Lookup::push`]; `open` shares the segment with other workers.
    pub fn push_shared(
        &mut self,
        open: &OpenSegments,
        folder: &Path,
        segment: &SegmentRef,
    ) -> Result<()> {
        self.segments.push(open.get(folder, segment, || Segment::open(folder, segment))?);
        Ok(())
    }

    /// For each of the ascending `keys`, finds the position of the row with that key that was added
    /// last, or else of the row that was retracted last. Reads no rows. Rows of one key may have
    /// different bytes with the same meaning, such as those of two versions of a compressor; only
    /// this row can be live.
    pub fn places(&self, keys: &[R::Key]) -> Vec<Option<Place>> {
        let mut places = vec![None; keys.len()];
        self.each_place(keys, |at, place| places[at] = Some(place));
        self.rows_read.fetch_add(places.iter().flatten().count() as u64, Ordering::Relaxed);
        self.prefetch(&places);
        places
    }

    /// Prefetches the batches of which many rows are requested.
    fn prefetch(&self, places: &[Option<Place>]) {
        let mut batches: Vec<(usize, usize)> = places
            .iter()
            .flatten()
            .map(|place| (place.segment, place.position / R::BATCH_ROWS))
            .collect();
        batches.sort_unstable();
        for same in batches.chunk_by(|a, b| a == b).filter(|same| same.len() >= ROWS_TO_PREFETCH) {
            let (segment, start) = (same[0].0, same[0].1 * R::BATCH_ROWS);
            self.segments[segment].prefetch(start..start + 1);
        }
    }

    /// For every segment, from the oldest run on, and every one of the ascending `keys` in it,
    /// calls `found` with the index of the key and the position of a row with it. It is the row
    /// that was added, if the segment has one. The search gallops through both the keys and the
    /// rows, so few keys in a large segment cost little, and many keys in a small one.
    pub fn each_place(&self, keys: &[R::Key], mut found: impl FnMut(usize, Place)) {
        for (number, segment) in self.segments.iter().enumerate() {
            let (mut at, mut position) = (0, 0);
            while at < keys.len() {
                position = segment.seek_in(
                    position,
                    keys[at],
                    |key| *key < keys[at],
                    |batch| columns(segment, batch),
                );
                if position == segment.len() {
                    break;
                }
                let key = key(segment, position);
                at = gallop(keys.len(), at, |at| keys[at] < key);
                if at < keys.len() && keys[at] == key {
                    found(at, Place { segment: number, position: added(segment, position) });
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
        Ok((segment.unchecked(place.position / R::BATCH_ROWS)?, place.position % R::BATCH_ROWS))
    }
}

/// Among the rows with the key of the row at `position`, which is the first of them: the position
/// of the row that was added, or else `position`.
fn added<R: Row>(segment: &Segment<R>, position: usize) -> usize {
    let same = (position + 1..segment.len())
        .take_while(|next| key(segment, *next) == key(segment, position))
        .count();
    let is_added =
        |at: &usize| R::diffs(columns(segment, at / R::BATCH_ROWS))[at % R::BATCH_ROWS] > 0;
    match same {
        0 => position,
        _ => (position..=position + same).rfind(is_added).unwrap_or(position),
    }
}

fn key<R: Row>(segment: &Segment<R>, position: usize) -> R::Key {
    R::key_at(columns(segment, position / R::BATCH_ROWS), position % R::BATCH_ROWS)
}

/// The columns of a batch. A damaged one ends the reading.
fn columns<R: Row>(segment: &Segment<R>, number: usize) -> &R::Columns {
    segment.unchecked(number).unwrap_or_else(|error| end_reading(error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::Id;
    use crate::store::damage::caught;
    use crate::store::manifest::Run;
    use crate::store::segment;
    use crate::store::testing::BytesRow;

    fn row(n: u64, diff: i8) -> BytesRow {
        let bytes = |byte: u8, count: usize| vec![byte; count].into();
        let (first, second) = (bytes(1, n as usize % 5 * 9), bytes(2, n as usize % 7));
        let third = bytes(3, n as usize % 300);
        BytesRow { id: Id { high: n * 3, low: 0 }, number: n, first, second, third, diff }
    }

    fn state(folder: &Path) -> TableState {
        let mut state = TableState::default();
        let batch = BytesRow::BATCH_ROWS as u64;
        let first: Vec<BytesRow> = (0..2 * batch + 5).map(|n| row(n, 1)).collect();
        let second: Vec<BytesRow> = [row(7, -1), row(9000, 1)].into();
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
        let lookup = Lookup::<BytesRow>::open(
            &OpenSegments::default(),
            folder.path(),
            Some(&state(folder.path())),
            count.clone(),
        )
        .expect("opened");
        let keys: Vec<Id> = (0..30_000).map(|high| Id { high, low: 0 }).collect();
        let mut found = 0;
        for (key, place) in keys.iter().zip(lookup.places(&keys)) {
            let written = key.high % 3 == 0
                && (key.high / 3 < 2 * BytesRow::BATCH_ROWS as u64 + 5 || key.high == 27_000);
            assert_eq!(place.is_some(), written, "{key}");
            if let Some(place) = place {
                let (columns, at) = lookup.row(place).expect("sound");
                assert_eq!(BytesRow::row(columns, at).with_diff(1), row(key.high / 3, 1));
                found += 1;
            }
        }
        assert_eq!(count.load(Ordering::Relaxed), found);
        assert_eq!(Lookup::<BytesRow>::default().places(&keys[..2]), [None, None]);
    }

    /// A content that went and came back may have other bytes, because a newer program compresses
    /// its text in another way. The row that is found is the live one, whichever runs the rows are
    /// in. So what is retracted later is what was added.
    #[test]
    fn the_live_row_is_found() {
        let folder = tempfile::tempdir().expect("a folder");
        let text = |text: &[u8], diff| BytesRow { third: text.into(), ..row(5, diff) };
        let (old, gone, new) = (text(b"0old", 1), text(b"0old", -1), text(b"0a newer one", 1));
        let other = row(2, 1);
        let histories = [
            vec![vec![other.clone(), old.clone()], vec![gone.clone()], vec![new.clone()]],
            vec![vec![other.clone(), old.clone()], vec![gone.clone(), new.clone()]],
            vec![vec![gone, new.clone()], vec![other.clone()]],
            vec![vec![other, new.clone()]],
        ];
        for runs in histories {
            let mut lookup = Lookup::<BytesRow>::default();
            for mut rows in runs {
                rows.sort();
                let written = segment::write(folder.path(), "test", rows).expect("written");
                lookup.push(folder.path(), &written.expect("rows")).expect("opened");
            }
            let place = lookup.places(&[new.id])[0].expect("there");
            let (columns, at) = lookup.row(place).expect("sound");
            assert_eq!(BytesRow::row(columns, at), new);
        }
    }

    /// Looking for a row of a damaged batch ends in an error that names the file. Rows of other
    /// batches are still read.
    #[test]
    fn damage_is_found_where_it_is_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let state = state(folder.path());
        let path = state.segments().next().expect("a segment").path(folder.path());
        let mut bytes = std::fs::read(&path).expect("readable");
        let open = || {
            let segments = OpenSegments::default();
            Lookup::<BytesRow>::open(&segments, folder.path(), Some(&state), Arc::default())
                .expect("opened")
        };
        let (sound, first, last) = (open(), Id { high: 0, low: 0 }, Id { high: 6000, low: 0 });
        let (columns, at) = sound.row(sound.places(&[first])[0].expect("there")).expect("sound");
        assert_eq!(BytesRow::row(columns, at), row(0, 1));
        drop(sound);
        // The offsets of the byte strings in the first batch: for small n, the string of row n has
        // n bytes.
        let offsets: Vec<u8> =
            (0..4u64).map(|n| n * (n - n.min(1)) / 2).flat_map(u64::to_le_bytes).collect();
        let at =
            bytes.windows(offsets.len()).position(|window| window == offsets).expect("offsets");
        bytes[at + 15] = 0x7f;
        std::fs::write(&path, bytes).expect("written");
        let damaged = open();
        let find =
            |key| caught(|| damaged.row(damaged.places(&[key])[0].expect("there")).map(drop));
        let error = find(first).expect_err("damaged").to_string();
        assert!(error.contains("damaged segment") && error.contains(".arrow"), "{error}");
        find(last).expect("sound");
    }
}
