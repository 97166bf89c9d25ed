//! Measures how right a store's answers are against labels, and how right they would be under other
//! settings.
//!
//! It reads the head's mapped tables, runs no epoch and writes nothing. The logic (`score`,
//! `kinds`, `listing`, `sweep`) consists of pure functions of a [`scene::Scene`]; `differences`
//! reads the texts of pairs; `plot` draws the result. Without labels, `survey` estimates the
//! measures from answers about a sample of pairs.

mod candidates;
pub mod canonical;
pub mod differences;
pub mod kinds;
pub mod labels;
mod listing;
mod places;
pub mod plot;
mod scene;
pub mod score;
pub mod survey;
pub mod sweep;
mod tally;
#[cfg(test)]
mod testing;
mod world;

use crate::error::{Error, Kind, Result};
use crate::eval::differences::Differences;
use crate::eval::kinds::OfKind;
use crate::eval::labels::Labels;
use crate::eval::listing::Wrong;
use crate::eval::scene::{Scale, Truth};
use crate::eval::score::Score;
use crate::eval::sweep::Sweep;
use crate::eval::world::{Unknown, World};
use crate::job::Job;
use crate::store::Store;
use crate::store::manifest::Head;
use crate::store::table::Row;
use crate::tables::PageRow;
use crate::text::signatures;
use serde::Serialize;

/// What to compute in addition to the score.
#[derive(Clone, Copy, Debug, Default)]
pub struct EvaluateOptions {
    /// The greatest number of wrong pairs to list, of each kind.
    pub list: usize,
    /// Whether to try other settings.
    pub sweep: bool,
}

/// Facts about the labels.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Facts {
    /// `labels`, `judged_pairs` or `listed_pairs`.
    pub form: &'static str,
    /// The number of rows.
    pub rows: u64,
    /// The number of URLs that they name.
    pub urls: u64,
    /// The labelled URLs that the store does not have.
    pub unknown: Unknown,
}

/// A wrong pair of texts with an example of its pages.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Example {
    /// A page.
    pub a: String,
    /// The other page.
    pub b: String,
    /// The number of wrong page pairs of these two texts.
    pub page_pairs: u64,
    /// The similarity, if the pair was decided.
    pub similarity: Option<f64>,
    /// The rule that decided; `identical` or `not_proposed`; `not_compared` if one of the texts
    /// says too little, is too short, was gathered from the whole page, or was cut.
    pub reason: &'static str,
}

/// How right a store is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// The epoch.
    pub epoch: u64,
    /// The labels.
    pub labels: Facts,
    /// The measures.
    #[serde(flatten)]
    pub score: Score,
    /// The decided pairs by what differs; `None` if the store has no texts to read.
    pub differences: Option<Differences>,
    /// By the kind that the labels name, in their order.
    pub kinds: Vec<OfKind>,
    /// Pairs that are joined and not the same.
    pub false_accepts: Vec<Example>,
    /// Pairs that are the same and not joined.
    pub misses: Vec<Example>,
    /// The measures of other settings, if they were tried.
    pub sweep: Option<Sweep>,
}

/// Compares the head of `store` with `labels`.
///
/// # Errors
///
/// `Data` if the store has no page, or no labelled page, `Config` if the job's `[confirm]` or
/// `[clusters]` is not that of the head, `Io` if a table is damaged.
pub fn evaluate(
    store: &Store,
    head: &Head,
    job: &Job,
    labels: &Labels,
    asked: EvaluateOptions,
) -> Result<Report> {
    job.check_folded(store.root(), &head.manifest)?;
    if head.manifest.tables.get(PageRow::NAME).is_none_or(|table| table.rows == 0) {
        return Err(Error::new(
            Kind::Data,
            format!("{}: the store has no page", store.root().display()),
        ));
    }
    let world = world::gather(store, head, &job.clusters, labels)?;
    if world.unknown.urls == labels.urls.len() as u64 {
        let named = world.unknown.first.first().map_or("", String::as_str);
        let line = format!(
            "{}: the store has none of the {} labelled pages, such as {named}; {} says what a page is",
            store.root().display(),
            labels.urls.len(),
            if job.read.key.is_own() { "`[read] key`" } else { "`[read.fields] url`" }
        );
        return Err(Error::new(Kind::Data, line));
    }
    let scale = Scale::new(&world.scene);
    let signatures: Vec<signatures::SignatureKind> =
        job.signatures.iter().filter_map(signatures::Options::kind).collect();
    let examples =
        |wrong: Vec<Wrong>| wrong.into_iter().map(|wrong| example(&world, wrong)).collect();
    Ok(Report {
        epoch: head.manifest.epoch,
        labels: Facts {
            form: match labels.truth {
                Truth::Labels(_) => "labels",
                Truth::Judged(_) => "judged_pairs",
                Truth::Listed(_) => "listed_pairs",
            },
            rows: labels.rows,
            urls: labels.urls.len() as u64,
            unknown: world.unknown.clone(),
        },
        score: score::score(&scale, &signatures),
        differences: differences::differences(store, head, job, &world, &scale)?,
        kinds: kinds::of_kinds(&scale, &labels.kinds, &world.of_kind),
        false_accepts: examples(listing::false_accepts(&scale, asked.list)),
        misses: examples(listing::misses(&scale, asked.list)),
        sweep: if asked.sweep {
            Some(sweep::sweep(store, head, job, &world, &scale)?)
        } else {
            None
        },
    })
}

fn example(world: &World, wrong: Wrong) -> Example {
    let is_known = |page: u32| world.texts[world.scene.pages[page as usize].text as usize].is_known;
    let reason = match wrong.reason {
        "not_proposed" if !(is_known(wrong.x) && is_known(wrong.y)) => "not_compared",
        reason => reason,
    };
    Example {
        a: world.urls[wrong.x as usize].clone(),
        b: world.urls[wrong.y as usize].clone(),
        page_pairs: wrong.page_pairs,
        similarity: wrong.similarity.map(|similarity| f64::from(similarity) / 10_000.0),
        reason,
    }
}
