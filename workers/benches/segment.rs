//! Measures segments of the store on one core: rows written per second, and the cost of finding
//! some keys among many by galloping, against a binary search for each in the same run.
//!
//! `cargo bench --bench segment`; without `--bench` sizes are tiny.

use std::hint::black_box;
use std::time::Instant;
use workers::id::Id;
use workers::store::segment::{Segment, write};
use workers::tables::ContentRow;

fn main() {
    let rows: u64 =
        if std::env::args().any(|argument| argument == "--bench") { 4_000_000 } else { 40_000 };
    let folder = tempfile::tempdir().expect("a folder");
    let mut ids: Vec<Id> = (0..rows).map(|n| Id::of(&n.to_le_bytes())).collect();
    ids.sort_unstable();
    let row = |&content: &Id| ContentRow {
        content,
        fingerprint: content.low,
        chars: 9,
        letters: 9,
        gathered_pages: 0,
        flags: 0,
        diff: 1,
    };
    let start = Instant::now();
    let written =
        write(folder.path(), "bench", ids.iter().map(row)).expect("written").expect("rows");
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "write   {rows} rows of 30 bytes, fsync included: {:.1} M rows/s",
        rows as f64 / 1e6 / seconds
    );
    let start = Instant::now();
    let segment = Segment::<ContentRow>::open(folder.path(), &written).expect("opened");
    println!("open    {:.2} ms", start.elapsed().as_secs_f64() * 1e3);
    for one_in in [1, 33, 1000] {
        let keys: Vec<Id> = ids.iter().copied().step_by(one_in).collect();
        let start = Instant::now();
        let mut position = 0;
        for key in &keys {
            position = segment.seek(*key, position);
            black_box(segment.row(position));
        }
        let gallop = start.elapsed().as_secs_f64() / keys.len() as f64;
        let start = Instant::now();
        for key in &keys {
            let (mut low, mut high) = (0, segment.len());
            while low < high {
                let middle = low + (high - low) / 2;
                if segment.key(middle) < *key {
                    low = middle + 1;
                } else {
                    high = middle;
                }
            }
            black_box(segment.row(low));
        }
        let search = start.elapsed().as_secs_f64() / keys.len() as f64;
        println!(
            "find    1 key in {one_in:4}: {:.2} us by galloping, {:.1} times as fast as a search for each",
            gallop * 1e6,
            search / gallop
        );
    }
}
