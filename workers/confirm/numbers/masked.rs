//! Numbers of which a site masks a part before it copies a text: `138****5678`.

use crate::confirm::align::Passage;

/// A mask has at least so many signs, and a masked number shows at least so many digits.
const MASK_SIGNS_MIN: usize = 3;
const SHOWN_DIGITS_MIN: usize = 3;
/// The most characters of a number on either side of a place. The number of a person in China has
/// 18.
const SIDE_CHARS_MAX: usize = 24;

/// Whether `c` stands for a digit that is not shown.
fn is_mask(c: char) -> bool {
    matches!(c, '*' | '×' | 'x' | '●' | '＊' | '•')
}

/// Whether one of two passages is in a masked number and the other in a number that it may be: both
/// are equally long, and the digits that are shown agree. Symmetric.
pub fn are_one_number(one: Passage<'_>, other: Passage<'_>) -> bool {
    let (x, y) = (number_of(one), number_of(other));
    let agree = |(x, y): (char, char)| {
        x == y || is_mask(x) && y.is_ascii_digit() || is_mask(y) && x.is_ascii_digit()
    };
    x.chars().count() == y.chars().count()
        && x.chars().zip(y.chars()).all(agree)
        && is_masked(x) != is_masked(y)
}

/// Whether a number has one mask and enough digits.
fn is_masked(number: &str) -> bool {
    let masked = number.chars().filter(|c| is_mask(*c)).count();
    let mask = number.trim_matches(|c| !is_mask(c));
    let shown = number.chars().filter(char::is_ascii_digit).count();
    masked >= MASK_SIGNS_MIN && mask.chars().count() == masked && shown >= SHOWN_DIGITS_MIN
}

/// The digits, masks and hyphens around a passage, without spaces.
fn number_of(Passage { tokens, range }: Passage<'_>) -> &str {
    let (text, end) = (tokens.text.as_ref(), |at: usize| tokens.places[at - 1].end as usize);
    // A mask is no token, so a passage may be empty.
    let from = match range.is_empty() {
        true if range.start == 0 => 0,
        true => end(range.start),
        false => tokens.places[range.start].start as usize,
    };
    let to = if range.is_empty() { from } else { end(range.end) };
    let of_number = |c: &char| c.is_ascii_digit() || is_mask(*c) || *c == '-';
    let bytes = |chars: &mut dyn Iterator<Item = char>| -> usize {
        chars.take(SIDE_CHARS_MAX).take_while(of_number).map(char::len_utf8).sum()
    };
    let before = bytes(&mut text[..from].chars().rev());
    let behind = bytes(&mut text[to..].chars());
    &text[from - before..to + behind]
}

#[cfg(test)]
mod tests {
    use crate::confirm::align::Tokens;
    use crate::confirm::differences::Difference;
    use crate::confirm::replaced_numbers::number_difference;
    use crate::confirm::settle::settled;

    /// Whether no number of two texts is another.
    fn agree(a: &str, b: &str) -> bool {
        let of = |a: &str, b: &str| {
            let (x, y) = (Tokens::of(a).expect("short"), Tokens::of(b).expect("short"));
            let spans = settled(&x, &y);
            assert!(!spans.is_empty());
            spans.iter().all(|span| number_difference(&x, &y, span, true) != Difference::Number)
        };
        assert_eq!(of(a, b), of(b, a), "{a} | {b}");
        of(a, b)
    }

    /// A copy on a site that masks telephone numbers was another page.
    #[test]
    fn a_masked_number_is_the_number() {
        for (a, b) in [
            ("咨询电话:13812345678。", "咨询电话:138****5678。"),
            ("咨询电话:13815555678。", "咨询电话:138****5678。"),
            ("手机 18826942203 找王", "手机 188xxxx2203 找王"),
            ("咨询电话:0411-86371234。", "咨询电话:0411-8637××××。"),
            ("请致电17581606847。", "请致电1758160****。"),
            ("身份证号320102198506091234。", "身份证号320102********1234。"),
            ("qq:3616088", "qq:3616***"),
        ] {
            assert!(agree(a, b), "{a} | {b}");
        }
        for (a, b) in [
            ("中奖手机:138****5678", "中奖手机:138****9921"),
            ("电话:13812345678。", "电话:139****5678。"),
            ("电话:13812345678。", "电话:138****5679。"),
            ("电话:13812345678。", "电话:138***5678。"),
            ("电话:13812345678。", "电话:13*********。"),
            ("面积 3×4 米", "面积 345 米"),
            ("价格 12*5", "价格 1285"),
        ] {
            assert!(!agree(a, b), "{a} | {b}");
        }
    }
}
