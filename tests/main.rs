//! Tests of the command from outside: one binary, one module for each promise.

/// Answers agree with the store and with the next epoch, and questions leave no trace.
mod ask;
/// Bad input never stops a run; each record that is not read is reported.
mod bad_input;
/// A report in a browser runs nothing, asks for nothing, and can be read.
mod browser;
/// Chains of texts, large clusters and buckets beyond the pivots are reported, and a radius splits
/// them.
mod chains;
/// The export `changes` equals its definitions.
mod changes;
/// Consumed inputs are not read again, except those that must be.
mod consumed;
/// Copies that a reader calls the same fold by default, also short ones.
mod copies;
/// Reports on corpora account for every row, and the job for corpora keeps the right ones.
mod corpus;
/// After a crash at any moment the next run gives the same answer.
mod crash;
/// The demo crawl is folded as its known truth says.
mod demo;
/// Words that a job adds to the dictionary.
mod dictionary;
/// A history of epochs equals one run from scratch.
mod epochs;
/// A forecast is the result of the model for the given pages.
mod estimate;
/// `eval` measures a store against labels.
mod eval;
/// The output of `explain` for every kind of pair and page, as a text that people read.
mod explained;
/// What a filter keeps and removes is right, and can be undone.
mod filter;
/// Files are folded without a job, and a job is made for them.
mod first_minute;
/// Samples that are kept with the tests, and real data if there is any.
mod fixtures;
/// One page in every format and charset is one content.
mod formats;
/// Links to pages that are gone lead to where their texts live on.
mod gone;
/// Failures of hosts on a network of their own.
mod hosts;
/// Inputs change, vanish, are touched, and are divided in any way, and no answer depends on it.
mod inputs;
/// Commands that look at a store: `export`, `status`, `verify`.
mod inspect;
/// The keep rule names the page that represents a cluster.
mod keep;
/// The key of a page, and the fields that are found without being named.
mod keys;
/// Pairs are counted by the way they were made and by what differs, in agreement with the exports.
mod kinds;
/// A store that keeps nothing of texts gives the same answers as others.
mod lean;
/// Files of word counts, every signature alone, and the fast job.
mod lexicon;
/// The page of limits names constants with the values that they have.
mod limits;
/// Texts that say nothing fold nothing, and lines that hosts repeat are taken off.
mod little;
/// A mistake is reported in words of the user, with file, line, key, value and remedy.
mod messages;
/// Every user's mistake gives one line and the right exit code, and nothing is written.
mod mistakes;
/// Outputs replace no file of another program.
mod outputs;
/// The pages beside the code name files that exist.
mod pages;
/// The times that a run reports for its parts are true.
mod profile;
/// Processes that a scheduler starts are one run.
mod ranks;
/// The examples of the first page give the results that it claims, quality included.
mod readme;
/// The recipes for users of other tools give the results that the pages claim.
mod recipes;
/// Files that refused runs, other programs and wrong clocks leave do no harm.
mod remains;
/// Lines for cron and units for systemd work as these programs run them.
mod schedule;
/// A server answers by the rules of a run, for any behaviour of its clients.
mod serve;
/// A signal stops a run, and the next run continues it.
mod stop;
/// A failed worker or host costs one attempt, not the run; `check` finds such failures beforehand.
mod supervisor;
/// What commands show on terminals of some widths, and without one.
mod terminal;
/// The same bytes from any number of processes and workers and any order of inputs.
mod topology;
/// Expiry, snapshots, guards, rebuild, rollback and garbage collection.
mod upkeep;
/// Metrics and pings report how a run ended, and never make it fail.
mod watch;

// Helpers of the tests.

/// ZIP files and frames of lz4.
mod containers;
/// Perturbed texts and templates with labels.
#[path = "../workers/examples/support/labelled.rs"]
mod labelled;
#[path = "../workers/examples/support/perturb.rs"]
mod perturb;
/// Random numbers.
#[path = "../workers/examples/support/random.rs"]
mod random;
#[path = "../workers/examples/support/templates.rs"]
mod templates;
/// Made-up texts.
mod texts;
#[path = "../workers/examples/support/traditional.rs"]
mod traditional;
/// Shared by all: a folder with a job in it, in which the command runs.
mod workbench;
/// A model of a web, as the oracle of long histories.
mod world;
