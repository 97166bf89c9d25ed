//! Answers questions about a store's head: what a text would fold with, and why pages are together
//! or not.
//!
//! It only looks rows up by key, and writes nothing. [`index::Index`] is opened once over a head,
//! and many threads may ask it at once. [`page`] and [`pair`] explain what is stored.

pub mod answer;
mod best_pages;
pub(crate) mod candidates;
mod chain;
pub mod elsewhere;
mod expiry;
pub mod extracted;
mod history;
pub mod index;
mod keep;
mod nearest;
pub mod page;
pub mod pair;
pub mod rejected;
pub mod report;
pub mod rules;
pub mod state;
pub(crate) mod tables;
pub(crate) mod texts;
