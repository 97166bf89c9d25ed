//! Segments through `store::segment::Segment`, which maps what arrow wrote and reads it row by row.
//!
//! Input: a control byte for the table; the number of rows in the manifest, a little-endian `u32`;
//! a byte that is added to the size in the manifest; then the segment's file.
//!
//! arrow panics on some damaged metadata, which `Segment` turns into an error by
//! `workers::panics`; a panic elsewhere is a finding.

#![no_main]

use libfuzzer_sys::fuzz_target;
use std::path::Path;
use support::{control, file, let_guarded_panics_pass, pick};
use workers::store::damage::caught;
use workers::store::segment::{Segment, SegmentRef};
use workers::store::table::{MultisetHash, Row};
use workers::tables::{EvidenceRow, KeyRow, PageRow, UrlRow, Visit};

fuzz_target!(init: let_guarded_panics_pass(), |input: &[u8]| {
    let Some(([table, a, b, c, d, more], content)) = control(input) else { return };
    let claimed = SegmentRef {
        digest: "segment".into(),
        bytes: content.len() as u64 + u64::from(more),
        rows: u64::from(u32::from_le_bytes([a, b, c, d])),
        live: 0,
        multiset: MultisetHash::default(),
        first: 0,
        last: u64::MAX,
    };
    let path = file("segment.arrow", content);
    let folder = path.parent().expect("a file lies in a folder");
    let tables =
        [check::<PageRow>, check::<UrlRow>, check::<Visit>, check::<EvidenceRow>, check::<KeyRow>];
    pick(table, &tables)(folder, &claimed);
});

/// A segment is refused as damaged, when it is opened or read, or every row that it claims can be
/// read and found.
fn check<R: Row>(folder: &Path, claimed: &SegmentRef) {
    let read = caught(|| {
        let segment = Segment::<R>::open(folder, claimed)?;
        assert_eq!(segment.len() as u64, claimed.rows);
        assert_eq!(segment.is_empty(), claimed.rows == 0);
        assert_eq!(segment.batches(), segment.len().div_ceil(R::BATCH_ROWS));
        for position in 0..segment.len() {
            let row = segment.row(position);
            assert_eq!(row.key(), segment.key(position));
            assert!(segment.seek(row.key(), 0) <= segment.len());
            assert!(segment.start_of(row.key(), 0).is_some());
        }
        Ok(())
    });
    if let Err(error) = read {
        assert!(error.to_string().contains("damaged segment"), "{error}");
    }
}
