//! The command from outside: one binary, a module for each promise.

/// Whatever a crawl brings, the run goes on and says what became of it.
mod bad_input;
/// Chains of texts, large clusters, buckets beyond the pivots: what is told, and what parts them.
mod chains;
/// What an epoch changed, against the definitions.
mod changes;
/// Killed at any moment, the next run gives the same answer.
mod crash;
/// A worker or a host that fails costs an attempt and not the run; `check`.
mod crew;
/// The demo crawl against its known truth.
mod demo;
/// Epoch after epoch equals a run from scratch.
mod epochs;
/// How right a store is, held against labels.
mod eval;
/// Real data, where it lies beside the checkout.
mod fixtures;
/// One page in every format and charset is one content.
mod formats;
/// Hosts on a network of their own, and what befalls them.
mod hosts;
/// What looks at a store: export, status, verify.
mod inspect;
/// Files of word counts, the signatures that read them, each signature alone, and the fast job.
mod lexicon;
/// Every mistake is one line, the right exit code, and nothing written.
mod mistakes;
/// Processes that a scheduler starts are one run.
mod ranks;
/// What cron and systemd are told works as they would do it.
mod schedule;
/// A signal stops a run, and the next one goes on.
mod stop;
/// The same bytes from any number of processes and workers and any order of inputs.
mod topology;
/// Expiry, snapshots, guards, rebuild, rollback, garbage.
mod upkeep;

/// Metrics and pings tell how a run ended, and never fail it.
mod watch;

/// What all of them use: a folder with a job in it, and the command run there.
mod workbench;
mod world;
