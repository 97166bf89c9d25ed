//! Divides the inputs of an epoch into splits, so that every worker has work and small files do not
//! cost a split each.
//!
//! A finished split costs some fsyncs, whatever its size. So a split has several whole inputs, or a
//! part of one large input. It never has both, because an input that changes while it is read must
//! be left out of the epoch as a whole. The division of inputs changes no result.

use crate::error::Result;
use crate::plan::inputs::Input;
use crate::read::{self, Split};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;

/// A part of one input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// The index of the input.
    pub input: usize,
    /// The offset of its first byte.
    pub start: u64,
    /// The offset behind its last byte.
    pub end: u64,
}

/// What one worker reads at a time: several whole inputs, or a part of one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedSplit {
    /// The parts, in the order of the inputs.
    pub parts: Vec<Part>,
}

/// The most bytes of a split, if its input can be cut.
pub const SPLIT_BYTES_MAX: u64 = 64 << 20;
/// The least bytes of a split, unless there is less to read.
pub const SPLIT_BYTES_MIN: u64 = 256 << 10;
/// The most inputs of a split.
pub const SPLIT_INPUTS_MAX: usize = 4096;
/// The splits of each worker when inputs are divided. So the split that ends last delays the other
/// workers by at most one such share.
const SPLITS_OF_WORKER: u64 = 4;

impl PlannedSplit {
    /// Its size in bytes.
    pub fn bytes(&self) -> u64 {
        self.parts.iter().map(|part| part.end - part.start).sum()
    }
}

/// Divides `inputs` among `workers` workers. The splits are in the order of the inputs.
pub fn divide(inputs: &[Input], workers: usize) -> Result<Vec<PlannedSplit>> {
    let total: u64 = inputs.iter().map(|input| input.bytes).sum();
    let share = share_of(total, workers);
    let mut splits = Vec::new();
    // Inputs that are little larger than a share stay whole, because their halves would be small.
    let (mut parts, mut bytes) = (Vec::new(), 0);
    for (index, input) in inputs.iter().enumerate() {
        let is_full = bytes + input.bytes > share || parts.len() == SPLIT_INPUTS_MAX;
        if is_full && !parts.is_empty() {
            splits.push(PlannedSplit { parts: std::mem::take(&mut parts) });
            bytes = 0;
        }
        if input.bytes <= share + share / 2 {
            parts.push(Part { input: index, start: 0, end: input.bytes });
            bytes += input.bytes;
            continue;
        }
        let cut = match read::splits(&input.file(), input.bytes, share) {
            // The worker that opens it leaves it to a later run.
            Err(_) if input.has_changed()? => {
                vec![Split { path: input.file(), start: 0, end: input.bytes }]
            }
            cut => cut?,
        };
        for split in cut {
            splits.push(PlannedSplit {
                parts: vec![Part { input: index, start: split.start, end: split.end }],
            });
        }
    }
    if !parts.is_empty() {
        splits.push(PlannedSplit { parts });
    }
    Ok(splits)
}

/// The split of an input that cannot be cut, such as a compressed file that is one stream, if it
/// keeps one of `workers` busy while others have nothing left to read.
pub fn uncut(splits: &[PlannedSplit], workers: usize) -> Option<&PlannedSplit> {
    let total: u64 = splits.iter().map(PlannedSplit::bytes).sum();
    let largest = splits.iter().max_by_key(|split| split.bytes())?;
    let (most, others) = (largest.bytes(), workers.max(1) as u64 - 1);
    let could_be_cut = most <= share_of(total, workers) * 3 / 2;
    let has_company = most.saturating_mul(others) <= (total - most) / 4 * 5;
    (others > 0 && largest.parts.len() == 1 && !could_be_cut && !has_company).then_some(largest)
}

/// The bytes of a split when `total` bytes are divided among `workers` workers. The number is
/// rounded up, so that one input gives each worker as many splits.
fn share_of(total: u64, workers: usize) -> u64 {
    let workers = workers.max(1) as u64;
    let splits = total.div_ceil(workers * SPLIT_BYTES_MAX).max(SPLITS_OF_WORKER);
    total.div_ceil(workers * splits).max(SPLIT_BYTES_MIN)
}

/// The splits, the largest first. They are dealt to the processes in turn.
pub fn by_size(splits: &[PlannedSplit]) -> Vec<usize> {
    let mut ids: Vec<usize> = (0..splits.len()).collect();
    ids.sort_by_key(|&id| (Reverse(splits[id].bytes()), id));
    ids
}

/// The process, of `processes`, that reads split `id`.
pub fn reader_of(splits: &[PlannedSplit], id: usize, processes: usize) -> usize {
    by_size(splits).iter().position(|&other| other == id).map_or(0, |at| at % processes.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file that cannot be cut is reported where other workers wait for it, and not where it is
    /// small or one of many.
    #[test]
    fn what_is_uncut() {
        let of = |sizes: &[u64], workers: usize| {
            let part = |(input, &end): (usize, &u64)| PlannedSplit {
                parts: vec![Part { input, start: 0, end }],
            };
            let splits: Vec<PlannedSplit> = sizes.iter().enumerate().map(part).collect();
            uncut(&splits, workers).map(PlannedSplit::bytes)
        };
        let mib = 1 << 20;
        assert_eq!(of(&[3 * mib], 2), Some(3 * mib));
        assert_eq!(of(&[3 * mib, mib], 2), Some(3 * mib));
        assert_eq!(of(&[100 * mib], 8), Some(100 * mib));
        for (sizes, workers) in [
            (&[3 * mib][..], 1),
            (&[3 * mib, 3 * mib], 2),
            (&[100 << 10], 8),
            (&[mib, mib, mib, mib], 4),
            (&[], 4),
        ] {
            assert_eq!(of(sizes, workers), None, "{sizes:?}");
        }
    }
    use std::path::Path;

    fn input(path: &Path, bytes: u64) -> Input {
        std::fs::File::create(path).and_then(|file| file.set_len(bytes)).expect("written");
        if bytes > 0 {
            use std::os::unix::fs::FileExt;
            std::fs::File::options()
                .write(true)
                .open(path)
                .and_then(|f| f.write_all_at(b"{}\n", 0))
                .expect("written");
        }
        Input::stat(path).expect("there")
    }

    /// One file of 46 MB was one split, so a second worker had nothing to do; and each of many
    /// small files was a split of its own, with its fsyncs. Splits follow bytes and workers.
    #[test]
    fn splits_follow_bytes_and_workers() {
        let folder = tempfile::tempdir().expect("a folder");
        let large = [input(&folder.path().join("large.jsonl"), 46 << 20)];
        for workers in [1, 2, 8, 256] {
            let splits = divide(&large, workers).expect("divided");
            assert!(splits.len() >= (4 * workers).min(184), "{workers}: {}", splits.len());
            assert!(splits.windows(2).all(|pair| pair[0].parts[0].end == pair[1].parts[0].start));
            assert_eq!(splits.iter().map(PlannedSplit::bytes).sum::<u64>(), 46 << 20);
        }
        let small: Vec<Input> = (0..400)
            .map(|n| input(&folder.path().join(format!("{n:03}.jsonl")), 10_000 + n))
            .collect();
        let splits = divide(&small, 2).expect("divided");
        assert!((8..12).contains(&splits.len()), "{}", splits.len());
        let inputs: Vec<usize> =
            splits.iter().flat_map(|split| &split.parts).map(|part| part.input).collect();
        assert!(inputs.into_iter().eq(0..400));
        let empty: Vec<Input> = (0..5000).map(|_| input(&folder.path().join("empty"), 0)).collect();
        assert_eq!(divide(&empty, 2).expect("divided").len(), 2);
    }

    /// One file was divided into nine equal splits for two workers: one of them read five, and the
    /// other waited. Now each worker has as many splits.
    #[test]
    fn one_input_is_divided_evenly() {
        let folder = tempfile::tempdir().expect("a folder");
        for bytes in [9_000_001, 46 << 20, 214_274_700, (1 << 30) + 1, 5_000_000_019] {
            let file = [input(&folder.path().join("one.jsonl"), bytes)];
            for workers in [1, 2, 3, 7] {
                let splits = divide(&file, workers).expect("divided");
                assert_eq!(splits.len() % workers, 0, "{bytes} bytes, {workers} workers");
                let sizes = splits.iter().map(PlannedSplit::bytes);
                let (least, most) = (sizes.clone().min(), sizes.max());
                assert!(most.zip(least).is_some_and(|(most, least)| most - least <= 1));
                assert!(most.is_some_and(|most| most <= SPLIT_BYTES_MAX));
            }
        }
    }

    /// A split has a part of one input or several whole ones, never both: an input that changes is
    /// left out by leaving out its splits, or by reading one split without it.
    #[test]
    fn parts_and_whole_inputs_are_apart() {
        let folder = tempfile::tempdir().expect("a folder");
        let size = |n: u64| if n.is_multiple_of(3) { 3 << 20 } else { 1000 * n };
        let inputs: Vec<Input> =
            (0..9).map(|n| input(&folder.path().join(format!("{n}.jsonl")), size(n))).collect();
        for split in divide(&inputs, 2).expect("divided") {
            let is_whole = |part: &Part| (part.start, part.end) == (0, inputs[part.input].bytes);
            assert!(split.parts.len() == 1 || split.parts.iter().all(is_whole), "{split:?}");
        }
    }

    /// A large file that was renamed or cut after it was planned failed the whole run. It is left
    /// to the worker that opens it, which leaves it out.
    #[test]
    fn an_input_that_changed_is_one_split() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("large.jsonl");
        let large = [input(&path, 46 << 20)];
        assert!(divide(&large, 2).expect("divided").len() > 1);
        std::fs::File::create(&path).and_then(|file| file.set_len(10)).expect("cut");
        assert_eq!(divide(&large, 2).expect("divided").len(), 1);
        std::fs::remove_file(&path).expect("removed");
        assert_eq!(divide(&large, 2).expect("divided").len(), 1);
    }
}
