//! Commands that write what a store holds: `export`, `filter` and `report`.

use super::{OfJob, values};
use clap::Args;
use std::path::PathBuf;

/// `pagefold export`.
#[derive(Args)]
pub struct Export {
    /// The job.
    #[command(flatten)]
    pub of: OfJob,
    /// Write only what all epochs after EPOCH changed, as `changes_since` beside the other tables.
    #[arg(long, value_name = "EPOCH", value_parser = values::whole::<u32>(0, u64::MAX))]
    pub since: Option<u32>,
}

/// `pagefold filter`.
#[derive(Args)]
pub struct Filter {
    /// The job.
    #[command(flatten)]
    pub of: OfJob,
    /// Write the inputs into this folder, under their names, without the records that fold.
    #[arg(long, value_name = "DIR", value_parser = values::place())]
    pub to: Option<PathBuf>,
    /// Write what is left out into this folder.
    #[arg(long, value_name = "DIR", requires = "to", value_parser = values::place())]
    pub removed: Option<PathBuf>,
    /// Write a table for each input into this folder: what became of each of its records.
    #[arg(long, value_name = "DIR", value_parser = values::place())]
    pub records: Option<PathBuf>,
    /// Leave nothing out, and write beside each row its cluster, the size of it and the URL that
    /// represents it. For JSON lines and Parquet.
    #[arg(long, requires = "to", conflicts_with_all = ["removed", "undo"])]
    pub annotate: bool,
    /// In a WARC write a revisit in place of each record that folds into another one of a WARC, so
    /// that it can be replayed from there. The archives are read twice.
    #[arg(long, requires = "to", conflicts_with_all = ["annotate", "undo"])]
    pub revisits: bool,
    /// Delete what earlier filters of the store wrote of inputs that are gone. It may be all there
    /// is of them.
    #[arg(long, conflicts_with = "undo")]
    pub prune: bool,
    /// Succeed though a damaged file is copied whole, with records that fold.
    #[arg(long, conflicts_with = "undo")]
    pub allow_whole: bool,
    /// The names of these fields: those of `members`, or minhash_cluster_id, minhash_cluster_size
    /// and representative.
    #[arg(long, value_enum, default_value_t = LabelNames::Members, requires = "annotate")]
    pub names: LabelNames,
    /// Make the inputs again in this folder, of what --to and --removed have.
    #[arg(long, value_name = "DIR", requires_all = ["to", "removed"], conflicts_with = "records")]
    #[arg(value_parser = values::place())]
    pub undo: Option<PathBuf>,
    /// Threads [default: all cores].
    #[arg(long, value_name = "N", value_parser = values::whole::<u16>(1, 1024))]
    pub threads: Option<u16>,
    /// Print warnings and errors alone.
    #[arg(short, long, conflicts_with = "json")]
    pub quiet: bool,
}

/// The names of the fields that `pagefold filter --annotate` adds.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum LabelNames {
    /// As in `members`.
    Members,
    /// As datatrove has them.
    Minhash,
}

/// `pagefold report`.
#[derive(Args)]
pub struct Report {
    /// The job.
    #[command(flatten)]
    pub of: OfJob,
    /// The file to write, in place of what has that name [default: report.html in the folder of
    /// results].
    #[arg(long, value_name = "FILE.html", value_parser = values::place())]
    pub out: Option<PathBuf>,
}
