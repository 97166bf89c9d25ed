//! The numeral veto: two texts that each have numbers which the other lacks are not
//! near-duplicates.
//!
//! They are often the same bulletin of another day or the same notice of another year, and no other
//! signal separates them. [`crate::text::numerals`] says how the numbers of a text are kept and
//! compared.

use crate::confirm::{Evidence, Options};
use crate::text::numerals;
use serde::{Deserialize, Serialize};

/// When a pair is refused because each side has numbers that the other lacks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Veto {
    /// Never.
    Off,
    /// If neither text is longer than `numerals_chars_max`: a number is a key fact in a bulletin
    /// and routine maintenance in a manual.
    #[default]
    Short,
    /// Always.
    On,
}

/// Whether the numbers of `a` and `b` refuse the pair.
pub fn refuses(a: &impl Evidence, b: &impl Evidence, options: &Options) -> bool {
    let applies = match options.numerals {
        Veto::Off => false,
        Veto::Short => a.chars().max(b.chars()) <= options.numerals_chars_max,
        Veto::On => true,
    };
    applies && numerals::conflict(a.sketches().numerals, b.sketches().numerals)
}
