//! The values of the columns `kind` and `flags` of a visit, and which visits say the same.

use crate::tables::Visit;

/// `kind`: the page was seen and had not changed.
pub const SEEN: u8 = 0;
/// `kind`: a page was found.
pub const PAGE: u8 = 1;
/// `kind`: the page was removed.
pub const REMOVED: u8 = 2;

/// A bit of `flags`: the text has too few features and folds only with identical texts.
pub const TOO_SHORT: u8 = 1;
/// A bit of `flags`: more than a tenth of the text could not be decoded.
pub const REPLACED: u8 = 2;
/// A bit of `flags`: the text is an error page, a login or consent wall, or the like.
pub const NOTICE: u8 = 4;
/// A bit of `flags`. For a visit: extraction gathered the text from the whole page, because it
/// found no main text. For a content: this is so on all pages that have it.
pub const GATHERED: u8 = 8;
/// A bit of `flags`: the text was cut because it is longer than
/// [`crate::text::normalize::TEXT_USED_BYTES_MAX`]. It folds only with identical texts.
pub const CUT: u8 = 16;

/// A bit of `flags` of a visit: the text is a conversion of the crawl's record of the page, as in
/// WET. Of equal dates that record holds.
pub const CONVERSION: u8 = 32;

impl Visit {
    /// Whether the text is a conversion of the crawl's record of the page.
    pub fn is_conversion(&self) -> bool {
        self.flags & CONVERSION != 0
    }

    /// Whether both say the same of a URL, apart from the place of their records.
    pub fn says_as(&self, other: &Visit) -> bool {
        let of = |visit: &Visit| {
            let Visit {
                doc,
                date,
                kind,
                content,
                moved_to,
                fingerprint,
                chars,
                flags,
                host,
                https,
                score,
                ..
            } = *visit;
            (doc, date, kind, content, moved_to, fingerprint, chars, flags, host, https, score)
        };
        of(self) == of(other) && self.url == other.url
    }
}

/// Of the sorted `visits` that say the same, keeps the visit with the least input and position, and
/// removes the others. The result does not depend on the division of inputs or their names. Returns
/// the number of visits removed.
pub fn dedup(visits: &mut Vec<Visit>) -> usize {
    let before = visits.len();
    visits.dedup_by(|later, kept| later.says_as(kept));
    before - visits.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::absent::NO_SCORE;
    use crate::id::Id;

    /// Of records that say the same, the one with the least place stays, in whatever order and
    /// portions they come. Records that differ all stay.
    #[test]
    fn the_first_of_equal_records_stays() {
        let visit = |doc: u64, date: i64, place: (u64, u64)| Visit {
            doc: Id { high: doc, low: 0 },
            date,
            kind: PAGE,
            content: Id { high: 1, low: 0 },
            moved_to: Id::NONE,
            fingerprint: 1,
            chars: 1,
            letters: 1,
            flags: 0,
            host: 0,
            https: 0,
            url: b"http://a/".as_slice().into(),
            score: NO_SCORE,
            input: place.0,
            position: place.1,
            diff: 1,
        };
        let all =
            [visit(1, 5, (2, 1)), visit(1, 5, (1, 9)), visit(1, 6, (3, 3)), visit(2, 5, (1, 1))];
        for cut in 0..=all.len() {
            let (mut one, mut other) = (all[cut..].to_vec(), all[..cut].to_vec());
            let mut removed = 0;
            for portion in [&mut one, &mut other] {
                portion.sort_unstable();
                removed += dedup(portion);
            }
            one.append(&mut other);
            one.sort_unstable();
            removed += dedup(&mut one);
            let places: Vec<(u64, u64)> =
                one.iter().map(|visit| (visit.input, visit.position)).collect();
            assert_eq!((removed, &places[..]), (1, &[(1, 9), (3, 3), (1, 1)][..]));
        }
    }
}
