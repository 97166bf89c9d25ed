//! Commands that look after a store: `verify`, `rollback` and `gc`.

use super::{OfJob, values};
use clap::Args;
use workers::upkeep::gc::{KEEP_DAYS, KEEP_EPOCHS};

/// `pagefold verify`.
#[derive(Args)]
pub struct Verify {
    /// The job.
    #[command(flatten)]
    pub of: OfJob,
    /// Read every byte.
    #[arg(long)]
    pub full: bool,
    /// Read every byte; if all are sound, hold the tables against one another, and a sample of
    /// fingerprints against all.
    #[arg(long)]
    pub deep: bool,
    /// Fingerprints that --deep holds against all others; another epoch has another sample.
    #[arg(long, value_name = "N", default_value_t = 1000, requires = "deep")]
    #[arg(value_parser = values::whole::<u32>(1, 1_000_000))]
    pub sample: u32,
}

/// `pagefold rollback`.
#[derive(Args)]
pub struct Rollback {
    /// The job.
    #[command(flatten)]
    pub of: OfJob,
    /// The epoch to go back to.
    #[arg(value_parser = values::whole::<u64>(0, u64::MAX))]
    pub epoch: u64,
    /// Let the next run read again what was consumed since.
    #[arg(long)]
    pub forget_inputs: bool,
}

/// `pagefold gc`.
#[derive(Args)]
pub struct Gc {
    /// The job.
    #[command(flatten)]
    pub of: OfJob,
    /// Delete, and do not just say.
    #[arg(long)]
    pub delete: bool,
    /// Also what an unfinished epoch has read so far; the next run reads it again.
    #[arg(long)]
    pub unfinished: bool,
    /// Keep so many last epochs.
    #[arg(long, value_name = "N", default_value_t = KEEP_EPOCHS as u32)]
    #[arg(value_parser = values::whole::<u32>(1, u64::MAX))]
    pub keep_epochs: u32,
    /// And the epochs of so many last days.
    #[arg(long, value_name = "DAYS", default_value_t = KEEP_DAYS, value_parser = values::whole::<u32>(0, u64::MAX))]
    pub keep_days: u32,
}
