//! Signs of money and of shares beside a number.

use crate::confirm::align::Tokens;
use crate::confirm::align::digits::is_digit;
use std::ops::Range;

/// Signs of money, which stand before a number, or behind it: `49,90 €`.
pub const MONEY: [char; 7] = ['$', '€', '£', '¥', '₩', '₹', '₽'];
/// Signs of shares, which stand behind it.
pub const SHARES: [char; 2] = ['%', '‰'];

/// The sign of money beside the tokens of `range` and the sign of a share behind them, if there are
/// any.
pub fn signs(tokens: &Tokens<'_>, range: &Range<usize>) -> [Option<char>; 2] {
    let before = tokens.gap(range.start).trim_end().chars().next_back();
    let behind = tokens.gap(range.end).chars().next();
    let mut after = tokens.gap(range.end).trim_start().chars();
    let money = after.next().filter(|c| MONEY.contains(c));
    // A sign that touches the next number belongs to it.
    let is_own =
        after.next().is_some() || range.end == tokens.len() || !is_digit(tokens.token(range.end));
    let money = before.filter(|c| MONEY.contains(c)).or(money.filter(|_| is_own));
    [money, behind.filter(|c| SHARES.contains(c))]
}
