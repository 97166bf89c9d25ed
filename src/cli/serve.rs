//! Commands of the server: `serve` and `send`.

use super::{JobArguments, values};
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
    pub shared: JobArguments,
    /// The address and port to listen on, unless systemd hands over a socket. Port 0 is any free
    /// port, which is printed. There is no TLS: put a proxy in front.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7311", value_parser = values::socket)]
    pub bind: SocketAddr,
    /// A file of mode 0600 with the token that requests must show. Needed unless ADDRESS is a
    /// loopback address.
    #[arg(long, value_name = "FILE", value_parser = values::source())]
    pub token_file: Option<PathBuf>,
    /// Insert nothing, even if the job has an inbox, and answer only by the latest epoch. Another
    /// server may then use the inbox.
    #[arg(long)]
    pub read_only: bool,
    /// Read all tables once after the start, and the additions of each epoch, while questions are
    /// answered. Later questions then find them in memory: about 800 bytes a page. Kept texts are
    /// not read.
    #[arg(long)]
    pub warm: bool,
    /// Seal a file of inserted records after SECONDS, so that the next run reads it.
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = values::whole::<u32>(1, 43_200))]
    pub seal_seconds: u32,
    /// MiB of memory for records that were inserted since the last epoch. If it is full, nothing is
    /// inserted until a run has read them.
    #[arg(long, value_name = "N", default_value_t = INBOX_MIB, value_parser = values::whole::<u32>(1, 1 << 20))]
    pub inbox_mib: u32,
    /// Records a second that a client, by its address, may send [default: any number]. A client
    /// that sends more gets 429.
    #[arg(long, value_name = "N", value_parser = values::whole::<u32>(1, 1_000_000))]
    pub client_rate: Option<u32>,
    /// Threads that compare texts of single records, and as many for batches [default: all cores].
    #[arg(long, value_name = "N", value_parser = values::whole::<u16>(1, 1024))]
    pub threads: Option<u16>,
}

/// `pagefold send`.
#[derive(Args)]
pub struct Send {
    /// The address of the server with the path of the action, such as http://127.0.0.1:7311/insert.
    pub url: String,
    /// JSON lines as a run reads them [default: stdin, or -].
    #[arg(value_name = "FILE", value_parser = values::source())]
    pub file: Option<PathBuf>,
    /// A file of mode 0600 with the token of the server.
    #[arg(long, value_name = "FILE", value_parser = values::source())]
    pub token_file: Option<PathBuf>,
}
