//! Commands that look after a store: `verify`, `rollback` and `gc`.

use super::{JobArguments, values};
use clap::Args;
use workers::upkeep::gc::{KEEP_DAYS, KEEP_EPOCHS};

/// `pagefold verify`.
#[derive(Args)]
pub struct Verify {
    /// The job.
    #[command(flatten)]
    pub shared: JobArguments,
    /// Read every byte.
    #[arg(long)]
    pub full: bool,
    /// Read every byte. If all are sound, compare the tables with one another, and a sample of
    /// fingerprints with all.
    #[arg(long)]
    pub deep: bool,
    /// The number of fingerprints that --deep compares with all others. Another epoch has another
    /// sample.
    #[arg(long, value_name = "N", default_value_t = 1000, requires = "deep")]
    #[arg(value_parser = values::whole::<u32>(1, 1_000_000))]
    pub sample: u32,
}

/// `pagefold rollback`.
#[derive(Args)]
pub struct Rollback {
    /// The job.
    #[command(flatten)]
    pub shared: JobArguments,
    /// The epoch to go back to.
    #[arg(value_parser = values::whole::<u64>(0, u64::MAX))]
    pub epoch: u64,
    /// Let the next run read again the inputs that were read since that epoch.
    #[arg(long)]
    pub forget_inputs: bool,
}

/// `pagefold gc`.
#[derive(Args)]
pub struct Gc {
    /// The job.
    #[command(flatten)]
    pub shared: JobArguments,
    /// Delete the files, and do not only list them.
    #[arg(long)]
    pub delete: bool,
    /// Also files of an unfinished epoch. The next run reads its inputs again.
    #[arg(long)]
    pub unfinished: bool,
    /// Keep the last N epochs.
    #[arg(long, value_name = "N", default_value_t = KEEP_EPOCHS as u32)]
    #[arg(value_parser = values::whole::<u32>(1, u64::MAX))]
    pub keep_epochs: u32,
    /// Keep also the epochs of the last DAYS days.
    #[arg(long, value_name = "DAYS", default_value_t = KEEP_DAYS, value_parser = values::whole::<u32>(0, u64::MAX))]
    pub keep_days: u32,
}
