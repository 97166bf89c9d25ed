//! What a conversion of HTML left of marks and spaces: `&nbsp;`, `&ldquo;`.

use crate::confirm::align::Tokens;

/// Names of characters of HTML that only stand for marks and spaces.
const ENTITIES: [&str; 20] = [
    "nbsp", "lt", "gt", "amp", "quot", "apos", "ldquo", "rdquo", "lsquo", "rsquo", "mdash",
    "ndash", "hellip", "middot", "bull", "emsp", "ensp", "thinsp", "laquo", "raquo",
];

/// Whether the token at `at` is the name of a character of HTML between its marks.
pub fn is_entity(tokens: &Tokens<'_>, at: usize) -> bool {
    tokens.gap(at).ends_with('&')
        && tokens.gap(at + 1).starts_with(';')
        && ENTITIES.contains(&tokens.token(at))
}

/// Whether two tokens are the names of `<` and `>`, which code compares with. Symmetric.
pub fn are_opposites((a, i): (&Tokens<'_>, usize), (b, j): (&Tokens<'_>, usize)) -> bool {
    matches!((a.token(i), b.token(j)), ("lt", "gt") | ("gt", "lt"))
        && is_entity(a, i)
        && is_entity(b, j)
}
