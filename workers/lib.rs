//! The work of pagefold, one stage a file, in the order in which data passes. `README.md` beside this file draws the road, the
//! tables and the promises; `src` of the root package starts the work.

pub mod bands;
pub mod buckets;
pub mod clusters;
pub mod commit;
pub mod components;
pub mod confirm;
pub mod contents;
pub mod document;
pub mod epoch;
pub mod error;
pub mod export;
pub mod extract;
pub mod features;
pub mod gather;
pub mod gc;
pub mod groups;
pub mod guards;
pub mod hamming;
pub mod ingest;
pub mod inputs;
pub mod job;
pub mod keep;
pub mod merge;
pub mod mesh;
pub mod normalize;
#[cfg(test)]
mod oracle;
pub mod pages;
pub mod pairs;
pub mod panics;
pub mod plan;
pub mod propagate;
pub mod read;
pub mod resolve;
pub mod rollback;
pub mod run;
pub mod simhash;
pub mod store;
pub mod tables;
pub mod unionfind;
pub mod verify;
pub mod wire;
