//! Signs of money and of shares beside a number.

use crate::confirm::alignment::Tokens;
use std::ops::Range;

/// Signs of money, which stand before a number.
pub const MONEY: [char; 7] = ['$', '€', '£', '¥', '₩', '₹', '₽'];
/// Signs of shares, which stand behind it.
pub const SHARES: [char; 2] = ['%', '‰'];

/// The sign of money before the tokens of `range` and the sign of a share behind them, if there are
/// any.
pub fn signs(tokens: &Tokens<'_>, range: &Range<usize>) -> [Option<char>; 2] {
    let before = tokens.gap(range.start).trim_end().chars().next_back();
    let behind = tokens.gap(range.end).chars().next();
    [before.filter(|c| MONEY.contains(c)), behind.filter(|c| SHARES.contains(c))]
}

/// The number in the tokens of `range` with its signs.
pub fn with_signs(tokens: &Tokens<'_>, range: &Range<usize>) -> String {
    let [before, behind] =
        signs(tokens, range).map(|sign| sign.map(String::from).unwrap_or_default());
    format!("{before}{}{behind}", tokens.passage(range))
}
