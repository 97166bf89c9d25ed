//! Commands that write what a store holds: `export`, `filter` and `report`.

use super::{JobArguments, values};
use clap::Args;
use std::path::PathBuf;

/// `pagefold export`.
#[derive(Args)]
pub struct Export {
    /// The job.
    #[command(flatten)]
    pub shared: JobArguments,
    /// Write only the changes of all epochs after EPOCH, as `changes_since` beside the other
    /// tables.
    #[arg(long, value_name = "EPOCH", value_parser = values::whole::<u32>(0, u64::MAX))]
    pub since: Option<u32>,
}

/// `pagefold filter`.
#[derive(Args)]
pub struct Filter {
    /// The job.
    #[command(flatten)]
    pub shared: JobArguments,
    /// Write copies of the inputs into this folder, under their names, without the records that
    /// fold.
    #[arg(long, value_name = "DIR", value_parser = values::place())]
    pub to: Option<PathBuf>,
    /// Write the records that are left out into this folder.
    #[arg(long, value_name = "DIR", requires = "to", value_parser = values::place())]
    pub removed: Option<PathBuf>,
    /// Write a table for each input into this folder: what became of each of its records.
    #[arg(long, value_name = "DIR", value_parser = values::place())]
    pub records: Option<PathBuf>,
    /// Leave out no record, and add to each row its cluster, the size of the cluster and the URL of
    /// its representative. For JSON lines and Parquet.
    #[arg(long, requires = "to", conflicts_with_all = ["removed", "undo"])]
    pub annotate: bool,
    /// In a WARC write a revisit in place of each record that folds into a record of a WARC, so
    /// that it can be replayed. The archives are read twice.
    #[arg(long, requires = "to", conflicts_with_all = ["annotate", "undo"])]
    pub revisits: bool,
    /// Delete what earlier filters of the store wrote for inputs that are gone. These may be the
    /// last copies.
    #[arg(long, conflicts_with = "undo")]
    pub prune: bool,
    /// Succeed even if a damaged file is copied as a whole, with records that fold.
    #[arg(long, conflicts_with = "undo")]
    pub allow_whole: bool,
    /// The names of these fields: those of `members`, or minhash_cluster_id, minhash_cluster_size
    /// and representative.
    #[arg(long, value_enum, default_value_t = LabelNames::Members, requires = "annotate")]
    pub names: LabelNames,
    /// Restore the inputs in this folder, from the folders of --to and --removed.
    #[arg(long, value_name = "DIR", requires_all = ["to", "removed"], conflicts_with = "records")]
    #[arg(value_parser = values::place())]
    pub undo: Option<PathBuf>,
    /// Threads [default: all cores].
    #[arg(long, value_name = "N", value_parser = values::whole::<u16>(1, 1024))]
    pub threads: Option<u16>,
    /// Print only warnings and errors.
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
    pub shared: JobArguments,
    /// The file to write. A file of that name is replaced [default: report.html in the folder of
    /// results].
    #[arg(long, value_name = "FILE.html", value_parser = values::place())]
    pub out: Option<PathBuf>,
}
