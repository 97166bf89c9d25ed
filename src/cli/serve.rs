//! Commands of the server: `serve` and `send`.

use super::{OfJob, values};
use clap::Args;
use std::net::SocketAddr;
use std::path::PathBuf;

/// The default of `--inbox-mib`: MiB for records that no epoch has taken.
const INBOX_MIB: u32 = 1024;

/// `pagefold serve`.
#[derive(Args)]
pub struct Serve {
    /// The job.
    #[command(flatten)]
    pub of: OfJob,
    /// The address and port to listen on, unless systemd hands over a socket; port 0 is any that is
    /// free, and is printed. HTTP without TLS: put a proxy before it.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7311", value_parser = values::socket)]
    pub bind: SocketAddr,
    /// The file, of mode 0600, with the token that requests must show. Needed unless ADDRESS is of
    /// loopback.
    #[arg(long, value_name = "FILE", value_parser = values::source())]
    pub token_file: Option<PathBuf>,
    /// Insert nothing, though the job has an inbox, and answer by the head alone: another server
    /// may have the inbox.
    #[arg(long)]
    pub read_only: bool,
    /// Read the tables of each head once beside the questions, half of the time, so that later ones
    /// find them in memory and checked: about 800 bytes a page. Kept texts are not read.
    #[arg(long)]
    pub warm: bool,
    /// Hand what was inserted to the next run after so many seconds at most.
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = values::whole::<u32>(1, u64::MAX))]
    pub seal_seconds: u32,
    /// MiB of memory for what was inserted since the last epoch. Beyond, nothing is inserted before
    /// a run takes it.
    #[arg(long, value_name = "N", default_value_t = INBOX_MIB, value_parser = values::whole::<u32>(1, 1 << 20))]
    pub inbox_mib: u32,
    /// Records a second that a client may send, by its address [default: any number]. One that
    /// sends more gets 429.
    #[arg(long, value_name = "N", value_parser = values::whole::<u32>(1, 1_000_000))]
    pub client_rate: Option<u32>,
    /// Threads that compare texts of single records, and as many for batches [default: all cores].
    #[arg(long, value_name = "N", value_parser = values::whole::<u16>(1, 1024))]
    pub threads: Option<u16>,
}

/// `pagefold send`.
#[derive(Args)]
pub struct Send {
    /// What to do, at which server, such as http://127.0.0.1:7311/insert.
    pub url: String,
    /// JSON lines as a run reads them [default: stdin, also called -].
    #[arg(value_name = "FILE", value_parser = values::source())]
    pub file: Option<PathBuf>,
    /// The file with the token that the server wants, of mode 0600.
    #[arg(long, value_name = "FILE", value_parser = values::source())]
    pub token_file: Option<PathBuf>,
}
