//! Shares the evidence of contents between workers.
//!
//! A pair's contents may have different owners. So every worker broadcasts the segment of evidence
//! that it wrote, and each can read the evidence of all contents. [`crate::visit::evidence`] builds
//! it.

use crate::error::{Error, Result};
use crate::fold::epoch::Epoch;
use crate::store::segment::SegmentRef;
use crate::store::table::{MultisetHash, Row};
use crate::tables::EvidenceRow;
use crate::tables::evidence::StoredEvidence;

/// A reference to the segment of evidence that one worker wrote, sent to another worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct EvidenceSegment {
    to: u64,
    bytes: u64,
    rows: u64,
    live: i64,
    multiset: [u64; 2],
    keys: [u64; 2],
    digest: [u64; 4],
}

impl EvidenceSegment {
    fn new(to: u64, segment: &SegmentRef) -> Result<EvidenceSegment> {
        let digest = blake3::Hash::from_hex(&segment.digest)
            .map_err(|e| Error::internal(format!("digest {:?}", segment.digest)).caused_by(e))?;
        let MultisetHash(multiset) = segment.multiset;
        Ok(EvidenceSegment {
            to,
            bytes: segment.bytes,
            rows: segment.rows,
            live: segment.live,
            multiset: [(multiset >> 64) as u64, multiset as u64],
            keys: [segment.first, segment.last],
            digest: bytemuck::cast(*digest.as_bytes()),
        })
    }

    /// The leading bits of the first key that the receiving worker owns.
    pub fn to(&self) -> u64 {
        self.to
    }

    /// The segment.
    pub fn segment(&self) -> SegmentRef {
        let digest: [u8; 32] = bytemuck::cast(self.digest);
        let multiset = u128::from(self.multiset[0]) << 64 | u128::from(self.multiset[1]);
        SegmentRef {
            digest: blake3::Hash::from(digest).to_hex().to_string(),
            bytes: self.bytes,
            rows: self.rows,
            live: self.live,
            multiset: MultisetHash(multiset),
            first: self.keys[0],
            last: self.keys[1],
        }
    }
}

/// Emits a reference to the segment that this worker wrote, for every worker.
pub fn broadcast(epoch: &Epoch, emit: &mut dyn FnMut(EvidenceSegment)) -> Result<()> {
    let Some(segment) = epoch.written::<EvidenceRow>() else { return Ok(()) };
    for to in epoch.all_workers() {
        emit(EvidenceSegment::new(to, &segment)?);
    }
    Ok(())
}

/// The evidence after the epoch: the table before it and the `segments` that all workers wrote.
/// Rows are read when they are looked up.
pub fn stored(epoch: &Epoch, segments: &[SegmentRef]) -> Result<StoredEvidence> {
    let mut rows = epoch.lookup::<EvidenceRow>()?;
    for segment in segments {
        rows.push_shared(&epoch.shared.open, &epoch.folder(EvidenceRow::NAME), segment)?;
    }
    Ok(StoredEvidence::new(rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reference equals the original after it was broadcast.
    #[test]
    fn segments_survive_broadcast() {
        let digest = blake3::hash(b"x").to_hex().to_string();
        let multiset = MultisetHash(5 << 90 | 3);
        let segment =
            SegmentRef { digest, bytes: 9, rows: 8, live: -7, multiset, first: 3, last: 4 };
        assert_eq!(EvidenceSegment::new(1, &segment).expect("sound").segment(), segment);
    }
}
