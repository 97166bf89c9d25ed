//! Commands that answer questions about a store: `status`, `explain`, `query` and `eval`.

use super::{JobArguments, values};
use clap::{Args, ColorChoice};
use std::path::PathBuf;

/// `pagefold status`.
#[derive(Args)]
pub struct Status {
    /// The job.
    #[command(flatten)]
    pub shared: JobArguments,
    /// Exit 65 if the last epoch is older: a number with s, m, h or d.
    #[arg(long, value_name = "AGE", value_parser = seconds)]
    pub max_age: Option<i64>,
    /// List the tables: rows, bytes and runs.
    #[arg(long, conflicts_with = "files")]
    pub tables: bool,
    /// Read all groups and keys, and name for each signature the largest bucket of which the pivot
    /// rule does not compare all pairs.
    #[arg(long, conflicts_with = "files")]
    pub pivots: bool,
    /// Print the paths of a table's files instead, one a line; with --json as a list.
    #[arg(long, value_name = "TABLE", conflicts_with = "max_age")]
    pub files: Option<String>,
}

/// `pagefold explain`.
#[derive(Args)]
pub struct Explain {
    /// The job.
    #[command(flatten)]
    pub shared: JobArguments,
    /// One page, or two. If the store lacks a URL, other spellings of it are tried: http or https,
    /// www., a slash at the end, the query.
    #[arg(value_name = "URL", required = true, num_args = 1..=2)]
    pub urls: Vec<String>,
    /// Whether to use colours; `auto`: on a terminal, unless NO_COLOR is set.
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub color: ColorChoice,
}

/// `pagefold query`.
#[derive(Args)]
pub struct Query {
    /// The job.
    #[command(flatten)]
    pub shared: JobArguments,
    /// A text or an HTML page. With --json, or if its name says so, JSON lines as a run reads them:
    /// each line gets an answer [default: stdin, or -].
    #[arg(value_name = "FILE", value_parser = values::source())]
    pub file: Option<PathBuf>,
    /// Ask for the text of a stored page instead.
    #[arg(long, value_name = "URL", conflicts_with = "file")]
    pub url: Option<String>,
    /// List also the texts that were compared and refused; of a stored text, all its pairs.
    #[arg(long)]
    pub all: bool,
    /// Print the text that a run takes of the page, and ask nothing; of JSON lines one object each.
    /// This needs no store, except with --url: then it is the kept text, which is normalised.
    #[arg(long, conflicts_with = "all")]
    pub text: bool,
}

/// `pagefold eval`.
#[derive(Args)]
pub struct Eval {
    /// The job.
    #[command(flatten)]
    pub shared: JobArguments,
    /// The true answers, as JSON lines: `url` and `label`; or `a`, `b` and `same`; or `a` and `b`,
    /// for all pairs that are the same.
    #[arg(long, value_name = "FILE", value_parser = values::source())]
    pub labels: PathBuf,
    /// Write FILE instead of reading it, from the inputs. Two pages count as the same if they name
    /// the same canonical address (rel=canonical, in the page or in HTTP's Link), if one redirected
    /// to the other, or if a revisit says that they had the same bytes. FILE must not exist.
    #[arg(long, conflicts_with_all = ["ask", "list", "sweep"])]
    pub canonical: bool,
    /// Ask about N pairs of texts, keep the answers in the file of labels, and estimate precision
    /// and recall from them. Pairs that the file answers already are not asked. y: the same; n: not
    /// the same; s: skip; q: stop. Answers may come from stdin, one a line.
    #[arg(long, value_name = "N", conflicts_with_all = ["list", "sweep"])]
    #[arg(value_parser = values::whole::<u32>(1, 1_000_000))]
    pub ask: Option<u32>,
    /// The number of the random sample that --ask draws.
    #[arg(long, value_name = "N", default_value_t = 0, requires = "ask", value_parser = values::whole::<u64>(0, u64::MAX))]
    pub seed: u64,
    /// List N pairs that are joined but not the same, and N that are the same but not joined.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = values::whole::<u32>(0, 1_000_000))]
    pub list: u32,
    /// Try other settings: SimHash's k, MinHash's bins, the thresholds of confirm.
    #[arg(long)]
    pub sweep: bool,
    /// Draw the results of --sweep. FILE is replaced if pagefold drew it.
    #[arg(long, value_name = "FILE.svg", requires = "sweep", value_parser = values::place())]
    pub plot: Option<PathBuf>,
}

fn seconds(age: &str) -> Result<i64, String> {
    let (number, unit) =
        age.split_at(age.len() - age.chars().next_back().map_or(0, char::len_utf8));
    let seconds = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 86_400,
        _ => return Err("a number with s, m, h or d, such as 26h".into()),
    };
    let digits = Some(number).filter(|number| number.bytes().all(|byte| byte.is_ascii_digit()));
    let number: Option<i64> = digits.and_then(|number| number.parse().ok());
    let number = number.ok_or("a number with s, m, h or d, such as 26h")?;
    number.checked_mul(seconds).ok_or_else(|| "too long an age".into())
}
