//! Decides which of the records of a URL holds, over all epochs. `read/http.rs` decides which
//! answer of a server removes a page.
//!
//! Within an epoch the greatest record wins, whatever the order. Over epochs a dated record never
//! loses to an older dated one, whichever epoch brings it; without dates, or with equal ones, the
//! later epoch wins. A removal is a record like others. It is remembered for a while, so that an
//! archive that comes late does not bring the page back. A record without a date counts as being as
//! new as the record that it replaces. Otherwise an old archive could replace it, and undo what a
//! newer record had said before it. A record whose date is too far ahead of the epoch's time is
//! treated in the same way: as if it had the date of the newest record before the epoch. Within the
//! epoch it loses to records with sound dates, because each of them may be the newer one, and would
//! hold if a later epoch brought it. Among such records their own dates count.
//!
//! A complete snapshot is all there is of its source. So a record of it holds over a record of an
//! earlier snapshot of that source, even if its date is earlier: a run from scratch knows no other.

use crate::absent::NO_DATE;
use crate::fold::wrong_clock::{corrected, sound};
use crate::id::Id;
use crate::plan::time::FUTURE_SECONDS_MAX;
use crate::tables::pages::{self, LapseRule, has_expired};
use crate::tables::visits::{PAGE, REMOVED, SEEN};
use crate::tables::{GoneRow, PageRow, Visit};
use std::collections::BTreeSet;

/// What the store knows of a URL.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum UrlState {
    /// Nothing.
    #[default]
    Unknown,
    /// The live page.
    Live(PageRow),
    /// That the page is gone.
    Gone(GoneRow),
}

impl UrlState {
    /// The live page, if there is one.
    pub fn page(&self) -> Option<&PageRow> {
        match self {
            UrlState::Live(page) => Some(page),
            UrlState::Unknown | UrlState::Gone(_) => None,
        }
    }

    /// The rows that say so in the tables of live pages and of gone pages.
    pub fn into_rows(self) -> (Option<PageRow>, Option<GoneRow>) {
        match self {
            UrlState::Unknown => (None, None),
            UrlState::Live(page) => (Some(page), None),
            UrlState::Gone(gone) => (None, Some(gone)),
        }
    }
}

/// What decides which visit of a URL wins in an epoch.
#[derive(Clone, Copy, Debug)]
pub struct WinnerRule<'a> {
    /// The number of the epoch.
    pub epoch: u32,
    /// Its logical time in seconds since 1970.
    pub time: i64,
    /// The number of the source that it reads.
    pub source: u16,
    /// Which pages it removes unless it sees them.
    pub lapse: LapseRule,
    /// See [`crate::plan::Plan::replaced`].
    pub replaced: Option<&'a [u64]>,
    /// Whether pages that the complete snapshot lacks stay, because it has records that do not say
    /// which page they are about.
    pub keeps_missing: bool,
    /// Pages that have been gone since before this time are forgotten.
    pub gone_min: i64,
    /// Whether a page without a host is a row that has its place as key.
    pub row_keys: bool,
}

/// The numbers of rows of a key that lose to a row of the same epoch that says something else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// Rows with another text and the same date, or without a date.
    pub overwritten: usize,
    /// Rows with another text and an earlier date, or one too far ahead.
    pub replaced: usize,
    /// Replaced rows that are in another input, and that no server inserted.
    pub replaced_elsewhere: usize,
    /// Rows and removals without a date that lose to one without a date in another input: the input
    /// that is the later delta may be the one that loses.
    pub undated_elsewhere: usize,
}

impl WinnerRule<'_> {
    /// The least date with which a dated record can hold. A complete snapshot is all there is of
    /// its source, so its records do not compete with records of earlier snapshots, or with pages
    /// that were not seen for long.
    fn date_min(self, before: &UrlState) -> i64 {
        let is_anew = match before {
            UrlState::Live(page) => self.is_replaced(page),
            UrlState::Gone(gone) => gone.cause != pages::CAUSE_REMOVED,
            UrlState::Unknown => true,
        };
        if is_anew && self.lapse.complete.is_some() { NO_DATE } else { self.known_date(before) }
    }

    /// Whether the source of the epoch has had the record of `page`. That it saw the page last says
    /// nothing: an older record sees a page, too.
    fn is_replaced(self, page: &PageRow) -> bool {
        match self.replaced {
            Some(inputs) => inputs.binary_search(&page.input).is_ok(),
            None => page.source == self.source,
        }
    }

    /// The date that what is known has reached.
    fn known_date(self, before: &UrlState) -> i64 {
        let date = match before {
            UrlState::Live(page) => page.as_of,
            UrlState::Gone(gone) if gone.last_time >= self.gone_min => gone.as_of,
            UrlState::Gone(_) | UrlState::Unknown => NO_DATE,
        };
        sound(date, self.time)
    }

    /// Whether `visit` has a date that is not too far ahead.
    fn is_dated_soundly(self, visit: &Visit) -> bool {
        visit.date != NO_DATE && visit.date == self.capped_date(visit)
    }

    /// The date by which a record competes with the record that holds. A date that is too far ahead
    /// is cut.
    fn capped_date(self, visit: &Visit) -> i64 {
        visit.date.min(self.time.saturating_add(FUTURE_SECONDS_MAX))
    }

    /// Whether `visit` is older than the record that holds already.
    ///
    /// A conversion is, too, if it has the date of the record that holds: it was made of that. If a
    /// conversion holds, it was made again.
    pub fn is_outdated(self, visit: &Visit, before: &UrlState) -> bool {
        let (date, date_min) = (self.capped_date(visit), self.date_min(before));
        let is_record = |page: &PageRow| !page.is_conversion();
        let is_made_of_it =
            visit.is_conversion() && before.page().is_some_and(is_record) && date == date_min;
        visit.kind != SEEN && visit.date != NO_DATE && (date < date_min || is_made_of_it)
    }

    /// The visit that decides the state of a URL; `None` if the page was only seen.
    ///
    /// Of the visits that are not older than the record that holds already, the greatest wins:
    /// sound date over none and over one too far ahead, by date, removal over page, record over
    /// conversion, digest, and then the other columns.
    pub fn winner<'v>(self, visits: &'v [Visit], before: &UrlState) -> Option<&'v Visit> {
        let candidates =
            visits.iter().filter(|visit| visit.kind != SEEN && !self.is_outdated(visit, before));
        // All visits here are of one page, so the order of the columns is the rule.
        candidates.max_by_key(|visit| {
            let is_sound = self.is_dated_soundly(visit);
            (is_sound, visit.date, visit.kind, !visit.is_conversion(), *visit)
        })
    }

    /// How many rows of a key lose to a row of the same epoch that says something else. Rows that
    /// share a key by accident are two documents, of which one is lost. A row with a later date may
    /// be a newer version of the same document. Of rows in the inputs `inserted` it is one, because
    /// the server has told its client so.
    pub fn count_lost(self, visits: &[Visit], before: &UrlState, inserted: &BTreeSet<u64>) -> Lost {
        let mut lost = Lost::default();
        if visits.len() < 2 {
            return lost;
        }
        let Some(winner) = self.winner(visits, before) else {
            return lost;
        };
        let is_made_of_it = |visit: &Visit| {
            visit.is_conversion() && !winner.is_conversion() && visit.date == winner.date
        };
        let is_undated_elsewhere = |visit: &&Visit| {
            (visit.date, winner.date) == (NO_DATE, NO_DATE)
                && visit.input != winner.input
                && visit.kind != SEEN
                && (visit.kind, visit.content) != (winner.kind, winner.content)
                && !is_made_of_it(visit)
        };
        lost.undated_elsewhere = visits.iter().filter(is_undated_elsewhere).count();
        if winner.kind != PAGE {
            return lost;
        }
        let has_other_text = |visit: &&Visit| {
            visit.kind == PAGE
                && !visit.content.is_none()
                && visit.content != winner.content
                && !is_made_of_it(visit)
        };
        for visit in visits.iter().filter(has_other_text) {
            if visit.date == winner.date {
                lost.overwritten += 1;
            } else if !self.is_outdated(visit, before) {
                lost.replaced += 1;
                let is_elsewhere = visit.input != winner.input && !inserted.contains(&visit.input);
                lost.replaced_elsewhere += usize::from(is_elsewhere);
            }
        }
        lost
    }

    /// What is known of a URL after its `visits`. There may be no visits.
    pub fn state_after(self, before: UrlState, visits: &[Visit], url: &[u8]) -> UrlState {
        let before = self.remembered(before);
        match self.winner(visits, &before) {
            Some(visit) if visit.kind == PAGE => {
                UrlState::Live(self.page(&before, visit, self.as_of(visits, &before)))
            }
            Some(visit) => self.gone(&before, Some(visit), self.as_of(visits, &before), url),
            None => match before {
                // Even an outdated record shows that the page was met.
                UrlState::Live(page) if visits.iter().any(|visit| visit.kind != REMOVED) => {
                    let (last_epoch, last_time, source) = (self.epoch, self.time, self.source);
                    UrlState::Live(PageRow { last_epoch, last_time, source, ..page })
                }
                UrlState::Live(page) if self.lacks_row(&page) => UrlState::Unknown,
                UrlState::Live(ref page) if self.lapses(page) => {
                    self.gone(&before, None, self.known_date(&before), url)
                }
                UrlState::Live(page) => {
                    let last_time = corrected(page.last_time, self.lapse.seen_max, self.time);
                    UrlState::Live(PageRow { last_time, ..page })
                }
                UrlState::Gone(_) | UrlState::Unknown => before,
            },
        }
    }

    /// `known`, unless the page has been gone for too long.
    fn remembered(self, known: UrlState) -> UrlState {
        match known {
            UrlState::Gone(gone) if gone.last_time >= self.gone_min => {
                let last_time = corrected(gone.last_time, self.lapse.seen_max, self.time);
                UrlState::Gone(GoneRow { last_time, ..gone })
            }
            UrlState::Gone(_) => UrlState::Unknown,
            known => known,
        }
    }

    /// Whether a complete snapshot that lacks `page` removes it.
    pub fn lacks(self, page: &PageRow) -> bool {
        Some(page.source) == self.lapse.complete && !self.keeps_missing
    }

    /// Whether `page` is a row that a complete snapshot lacks. It is not remembered as gone: only
    /// the same record has its key, so no older one could bring it back.
    fn lacks_row(self, page: &PageRow) -> bool {
        self.row_keys && page.host == 0 && self.lacks(page)
    }

    /// Whether `page` goes if it is not seen.
    fn lapses(self, page: &PageRow) -> bool {
        has_expired(page, self.lapse.retention) || self.lacks(page)
    }

    /// The least date with which a dated record can hold after `visits`. A date that is too far
    /// ahead is wrong, and must not win over all future records. The other dates of the epoch
    /// count, also if a wrong one won.
    fn as_of(self, visits: &[Visit], before: &UrlState) -> i64 {
        let sound =
            visits.iter().filter(|visit| visit.kind != SEEN && self.is_dated_soundly(visit));
        sound.map(|visit| visit.date).fold(self.date_min(before), i64::max)
    }

    fn page(self, before: &UrlState, visit: &Visit, as_of: i64) -> PageRow {
        PageRow {
            doc: visit.doc,
            content: visit.content,
            date: visit.date,
            host: visit.host,
            https: visit.https,
            url_bytes: visit.url.len() as u32,
            gathered: PageRow::gathered_of(visit),
            score: visit.score,
            first_epoch: before.page().map_or(self.epoch, |page| page.first_epoch),
            last_epoch: self.epoch,
            last_time: self.time,
            source: self.source,
            as_of,
            input: visit.input,
            position: visit.position,
            diff: 1,
        }
    }

    /// What is known of a page that is gone, by the `removal` or because it lapsed.
    fn gone(self, before: &UrlState, removal: Option<&Visit>, as_of: i64, url: &[u8]) -> UrlState {
        let known = match before {
            UrlState::Live(page) => Some((page.doc, page.content, self.epoch)),
            UrlState::Gone(gone) => Some((gone.doc, gone.content, gone.epoch)),
            // An undated removal of an unknown page says nothing of later use.
            UrlState::Unknown => {
                removal.filter(|_| as_of != NO_DATE).map(|visit| (visit.doc, Id::NONE, self.epoch))
            }
        };
        let cause = match (removal, before.page()) {
            (Some(_), _) => pages::CAUSE_REMOVED,
            (None, Some(page)) if has_expired(page, self.lapse.retention) => pages::CAUSE_EXPIRED,
            (None, _) => pages::CAUSE_MISSING,
        };
        let gone =
            known.filter(|_| self.time >= self.gone_min).map(|(doc, content, epoch)| GoneRow {
                doc,
                url: url.into(),
                content,
                moved_to: removal.map_or(Id::NONE, |visit| visit.moved_to),
                date: removal.map_or(NO_DATE, |visit| visit.date),
                as_of,
                cause,
                epoch,
                last_time: self.time,
                diff: 1,
            });
        gone.map_or(UrlState::Unknown, UrlState::Gone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::absent::NO_SCORE;
    use crate::random::Random;
    use crate::store::consumed::Retention;
    use crate::tables::visits::CONVERSION;

    const TIME: i64 = 1_000_000_000;

    impl UrlState {
        fn gone(&self) -> Option<&GoneRow> {
            match self {
                UrlState::Gone(gone) => Some(gone),
                UrlState::Unknown | UrlState::Live(_) => None,
            }
        }
    }

    fn visit(date: i64, kind: u8, content: u64) -> Visit {
        Visit {
            doc: Id { high: 1, low: 1 },
            date,
            kind,
            content: Id { high: content, low: 0 },
            moved_to: Id::NONE,
            fingerprint: content,
            chars: 1,
            letters: 1,
            flags: 0,
            host: 0,
            https: 0,
            url: b"http://a.example/".as_slice().into(),
            score: NO_SCORE,
            input: 0,
            position: 0,
            diff: 1,
        }
    }

    fn rule(epoch: u32) -> WinnerRule<'static> {
        let lapse =
            LapseRule { retention: Retention::default(), complete: None, seen_max: i64::MAX };
        let (time, source) = (TIME + i64::from(epoch), epoch as u16);
        let (keeps_missing, gone_min, row_keys) = (false, i64::MIN, false);
        let replaced = None;
        WinnerRule { epoch, time, source, lapse, replaced, keeps_missing, gone_min, row_keys }
    }

    fn after(before: &UrlState, visits: &[Visit], rule: WinnerRule<'_>) -> UrlState {
        rule.state_after(before.clone(), visits, b"http://a.example/")
    }

    /// A conversion, as in WET, never wins over the record that it was made of: pages had the text
    /// of the one or of the other. A later record of either kind wins.
    #[test]
    fn conversions_give_way() {
        let converted = |date, content| Visit { flags: CONVERSION, ..visit(date, PAGE, content) };
        let holds = |known: &UrlState| known.page().map(|page| page.content.high);
        for visits in [[visit(5, PAGE, 1), converted(5, 9)], [converted(5, 9), visit(5, PAGE, 1)]] {
            let lost = rule(1).count_lost(&visits, &UrlState::default(), &BTreeSet::new());
            assert_eq!(lost, Lost::default());
            let one_epoch = after(&UrlState::default(), &visits, rule(1));
            let first = after(&UrlState::default(), &visits[..1], rule(1));
            let two_epochs = after(&first, &visits[1..], rule(2));
            assert_eq!([holds(&one_epoch), holds(&two_epochs)], [Some(1); 2]);
            assert_eq!(holds(&after(&two_epochs, &[converted(6, 3)], rule(3))), Some(3));
            assert_eq!(holds(&after(&two_epochs, &[converted(4, 3)], rule(3))), Some(1));
        }
        // A WET file that was made again changed no page, because its dates are the same.
        let first = after(&UrlState::default(), &[converted(5, 1)], rule(1));
        let again = after(&first, &[converted(5, 2)], rule(2));
        let record = after(&again, &[visit(5, PAGE, 3)], rule(3));
        assert_eq!([&first, &again, &record].map(holds), [Some(1), Some(2), Some(3)]);
        assert_eq!(holds(&after(&record, &[converted(5, 1)], rule(4))), Some(3));
    }

    /// The latest date wins, then a removal over a page, then the digest. The order of visits does
    /// not matter. All dates that were too far ahead counted as equal, so a removal won over the
    /// page that a server had inserted after it.
    #[test]
    fn the_winner_of_a_url() {
        let cases = [
            (vec![visit(5, PAGE, 1), visit(NO_DATE, PAGE, 9)], (5, PAGE, 1)),
            (vec![visit(5, PAGE, 9), visit(5, REMOVED, 0)], (5, REMOVED, 0)),
            (vec![visit(5, PAGE, 1), visit(5, PAGE, 2)], (5, PAGE, 2)),
            (vec![visit(TIME * 2, PAGE, 1), visit(TIME * 3, PAGE, 0)], (TIME * 3, PAGE, 0)),
            (vec![visit(TIME * 2, PAGE, 1), visit(NO_DATE, PAGE, 9)], (TIME * 2, PAGE, 1)),
            (
                vec![visit(TIME * 2, REMOVED, 0), visit(TIME * 2 + 1, PAGE, 1)],
                (TIME * 2 + 1, PAGE, 1),
            ),
        ];
        for (mut visits, (date, kind, content)) in cases {
            for _ in 0..visits.len() {
                visits.rotate_left(1);
                let winner = rule(1).winner(&visits, &UrlState::default()).expect("not only seen");
                assert_eq!((winner.date, winner.kind, winner.content.high), (date, kind, content));
            }
        }
        assert!(rule(1).winner(&[visit(5, SEEN, 0)], &UrlState::default()).is_none());
    }

    /// Rows of two documents that shared an id were replaced without a count of their own. Rows
    /// that lose to another text count; rows that say the same, and removals, do not. Rows that
    /// lose to a later date count apart, since they may be older versions.
    #[test]
    fn rows_that_are_overwritten() {
        let lost =
            |visits: &[Visit]| rule(2).count_lost(visits, &UrlState::default(), &BTreeSet::new());
        let of = |visits: &[Visit]| lost(visits).overwritten;
        let undated = |content| visit(NO_DATE, PAGE, content);
        assert_eq!(of(&[undated(1), undated(2), undated(3), undated(3)]), 2);
        assert_eq!(of(&[visit(5, PAGE, 1), visit(5, PAGE, 2)]), 1);
        assert_eq!(of(&[undated(1), undated(1)]), 0);
        assert_eq!(of(&[undated(1), undated(0)]), 0, "no text is lost");
        assert_eq!(of(&[visit(5, PAGE, 1), visit(6, PAGE, 2)]), 0, "a newer version");
        assert_eq!(of(&[visit(5, PAGE, 1), visit(6, REMOVED, 0)]), 0);
        let elsewhere = Visit { input: 7, ..visit(4, PAGE, 3) };
        let dated = [visit(5, PAGE, 1), elsewhere, visit(6, PAGE, 2), visit(3, PAGE, 2)];
        let all = Lost { replaced: 2, replaced_elsewhere: 1, ..Lost::default() };
        assert_eq!(lost(&dated), all);
        let inserted = rule(2).count_lost(&dated, &UrlState::default(), &BTreeSet::from([7]));
        assert_eq!(inserted, Lost { replaced_elsewhere: 0, ..all }, "a server said so");
        let known = after(&UrlState::default(), &[visit(5, PAGE, 9)], rule(1));
        let newer = Lost { replaced: 1, ..Lost::default() };
        assert_eq!(
            rule(2).count_lost(&dated, &known, &BTreeSet::new()),
            newer,
            "one is older than what holds"
        );
    }

    /// Two deltas without dates in one epoch: the digest decided which of them held, and a removal
    /// won over the row that came after it, without a count. Rows and removals count that lose to
    /// another input.
    #[test]
    fn undated_rows_of_several_inputs() {
        let of = |visits: &[Visit]| {
            let lost = rule(2).count_lost(visits, &UrlState::default(), &BTreeSet::new());
            lost.undated_elsewhere
        };
        let row = |input, kind, content| Visit { input, ..visit(NO_DATE, kind, content) };
        assert_eq!(of(&[row(1, PAGE, 1), row(2, PAGE, 2), row(3, PAGE, 3)]), 2);
        assert_eq!(of(&[row(1, REMOVED, 0), row(2, PAGE, 2)]), 1, "a removal holds");
        assert_eq!(of(&[row(1, PAGE, 1), row(1, PAGE, 2)]), 0, "one input");
        assert_eq!(of(&[row(1, PAGE, 1), row(2, PAGE, 1), row(3, SEEN, 0)]), 0, "nothing is lost");
        assert_eq!(of(&[row(1, PAGE, 1), Visit { input: 2, ..visit(5, PAGE, 2) }]), 0, "a date");
    }

    /// A page that was only seen keeps everything except when it was last seen. An unknown URL that
    /// was only seen does not become a page. An older record, too, only sees the page.
    #[test]
    fn a_seen_page_is_kept() {
        let known = after(&UrlState::default(), &[visit(5, PAGE, 1)], rule(1));
        let page = known.page().cloned().expect("a page");
        let seen = PageRow { last_epoch: 2, last_time: TIME + 2, source: 2, ..page.clone() };
        for met in [visit(9, SEEN, 0), visit(4, PAGE, 7)] {
            assert_eq!(after(&known, &[met], rule(2)).page(), Some(&seen), "still a page");
        }
        assert_eq!(
            after(&known, &[visit(4, REMOVED, 0)], rule(2)),
            known,
            "an older removal does not see it"
        );
        assert_eq!(after(&UrlState::default(), &[visit(9, SEEN, 0)], rule(2)), UrlState::default());
        assert_eq!(after(&known, &[visit(9, REMOVED, 0)], rule(2)).page(), None);
    }

    /// A page has the place of the record that decided it. If records of several epochs say the
    /// same, it is the place of the last one. A record that only saw the page, or is older, does
    /// not move it.
    #[test]
    fn a_page_has_the_place_of_its_record() {
        let at = |visit: Visit, input, position| Visit { input, position, ..visit };
        let place = |known: &UrlState| {
            known.page().map(|page| (page.input, page.position)).expect("a page")
        };
        let visits = [
            at(visit(5, PAGE, 1), 7, 10),
            at(visit(6, PAGE, 1), 3, 20),
            at(visit(9, SEEN, 0), 8, 30),
        ];
        let known = after(&UrlState::default(), &visits, rule(1));
        assert_eq!(place(&known), (3, 20));
        assert_eq!(place(&after(&known, &[at(visit(9, SEEN, 0), 1, 1)], rule(2))), (3, 20));
        assert_eq!(place(&after(&known, &[at(visit(5, PAGE, 2), 1, 1)], rule(2))), (3, 20));
        assert_eq!(place(&after(&known, &[at(visit(6, PAGE, 1), 1, 1)], rule(2))), (1, 1));
    }

    /// A date that is far ahead does not win over the records of later epochs. There it counts as
    /// no date, so that an older archive still does not hold.
    #[test]
    fn a_date_far_ahead_does_not_last() {
        let known = after(&UrlState::default(), &[visit(60, PAGE, 1)], rule(1));
        let known = after(&known, &[visit(TIME * 2, PAGE, 2), visit(59, PAGE, 3)], rule(2));
        let content = |known: &UrlState| known.page().expect("a page").content.high;
        assert_eq!(content(&known), 2);
        assert_eq!(content(&after(&known, &[visit(60, PAGE, 4)], rule(3))), 4);
        assert_eq!(content(&after(&known, &[visit(59, PAGE, 4)], rule(3))), 2);
    }

    /// A night that was dated years ahead held over the nights after it, and over their removals,
    /// if one run read them together, and not if each was read by a run of its own. The date of
    /// what holds also counts against later records.
    #[test]
    fn a_date_far_ahead_loses_within_its_epoch() {
        let far = [visit(TIME * 2, PAGE, 2), visit(TIME * 3, REMOVED, 0)];
        for (sound, content) in [(visit(50, PAGE, 1), Some(1)), (visit(50, REMOVED, 0), None)] {
            for far in &far {
                let visits = [sound.clone(), far.clone()];
                let together = after(&UrlState::default(), &visits, rule(1));
                let of = |known: &UrlState| known.page().map(|page| page.content.high);
                assert_eq!(of(&together), content);
                let first = after(&UrlState::default(), std::slice::from_ref(far), rule(1));
                assert_eq!(of(&after(&first, &visits[..1], rule(2))), content);
                assert_eq!(of(&after(&together, &[visit(49, PAGE, 3)], rule(2))), content);
                assert_eq!(of(&after(&together, &[visit(50, PAGE, 3)], rule(2))), Some(3));
            }
        }
    }

    /// For random sequences of pages and removals, with dates, without, or with dates too far
    /// ahead, one or several an epoch, the result is that of a plain list of all records. In each
    /// epoch the last record that is not older than the record that holds wins, or if there is none
    /// with a sound date, the last one with another date or none. Later records must reach the
    /// greatest date of the epoch that is not too far ahead.
    #[test]
    fn sequences_equal_brute_force() {
        for seed in 0..4000 {
            let mut random = Random(seed);
            let (mut known, mut newest, mut holds) = (UrlState::default(), NO_DATE, None);
            let mut said = Vec::new();
            for epoch in 1..=6 {
                let visits: Vec<Visit> = (0..1 + random.below(3))
                    .map(|_| {
                        let date = match random.below(9) {
                            0..=2 => NO_DATE,
                            3 => TIME * 2 + random.below(3) as i64,
                            _ => random.below(6) as i64,
                        };
                        let kind = if random.below(3) == 0 { REMOVED } else { PAGE };
                        let content = if kind == PAGE { 1 + random.below(4) as u64 } else { 0 };
                        visit(date, kind, content)
                    })
                    .collect();
                let mut sorted: Vec<(i64, u8, u64)> = visits
                    .iter()
                    .map(|visit| (visit.date, visit.kind, visit.content.high))
                    .collect();
                sorted.sort_unstable();
                let is_sound = |date: i64| date != NO_DATE && date < TIME * 2;
                let last = sorted
                    .iter()
                    .rfind(|(date, ..)| is_sound(*date) && *date >= newest)
                    .or_else(|| sorted.iter().rfind(|(date, ..)| !is_sound(*date)));
                if let Some(&(date, kind, content)) = last {
                    let dates = sorted.iter().map(|(date, ..)| *date);
                    newest = dates.filter(|date| *date < TIME * 2).fold(newest, i64::max);
                    holds = (kind == PAGE).then_some((date, content));
                }
                said.push(sorted);
                known = after(&known, &visits, rule(epoch));
                let found = known.page().map(|page| (page.date, page.content.high));
                assert_eq!(found, holds, "seed {seed}, epoch {epoch}: {said:?}");
                assert_eq!(
                    rule(epoch).date_min(&known),
                    newest,
                    "seed {seed}, epoch {epoch}: {said:?}"
                );
            }
        }
    }

    /// A document of a complete snapshot kept its older text if the new snapshot had it with an
    /// earlier date, and one that an earlier snapshot lacked did not come back. A page of another
    /// source, and a removal, still hold over an older record.
    #[test]
    fn a_complete_snapshot_holds_whatever_its_dates() {
        let lapse = LapseRule { complete: Some(1), ..rule(2).lapse };
        let snapshot =
            |epoch| WinnerRule { lapse, source: 1, replaced: Some(&[11, 12, 13]), ..rule(epoch) };
        let visit =
            |date, kind, content| Visit { input: 10 + content, ..visit(date, kind, content) };
        let text = |known: &UrlState| known.page().map(|page| page.content.high);
        let first = after(&UrlState::default(), &[visit(50, PAGE, 1)], snapshot(1));
        let second = after(&first, &[visit(40, PAGE, 2)], snapshot(2));
        assert_eq!((text(&second), second.page().map(|page| page.as_of)), (Some(2), Some(40)));
        let missing = after(&first, &[], snapshot(2));
        assert_eq!(after(&missing, &[visit(40, PAGE, 2)], rule(3)), missing, "a late archive");
        assert_eq!(text(&after(&missing, &[visit(40, PAGE, 2)], snapshot(3))), Some(2));
        let removed = after(&first, &[visit(40, REMOVED, 0)], snapshot(2));
        assert_eq!(
            removed.gone().map(|gone| (gone.cause, gone.as_of)),
            Some((pages::CAUSE_REMOVED, 40))
        );
        let removed = after(&first, &[visit(60, REMOVED, 0)], snapshot(2));
        assert_eq!(text(&after(&removed, &[visit(40, PAGE, 2)], snapshot(3))), None);
        // A removal of a page that would expire was remembered as expiry.
        let retention = Retention { epoch_min: 2, time_min: i64::MIN };
        let expires = LapseRule { retention, ..rule(2).lapse };
        let removed =
            after(&first, &[visit(60, REMOVED, 0)], WinnerRule { lapse: expires, ..rule(2) });
        assert_eq!(removed.gone().map(|gone| gone.cause), Some(pages::CAUSE_REMOVED));
        assert_eq!(text(&after(&removed, &[visit(40, PAGE, 2)], snapshot(3))), None);
        let other =
            after(&UrlState::default(), &[visit(50, PAGE, 9)], WinnerRule { source: 7, ..rule(1) });
        let seen = after(&other, &[visit(40, PAGE, 2)], snapshot(2));
        assert_eq!(text(&seen), Some(9));
        // The second delivery took it for a page of its own.
        assert_eq!(text(&after(&seen, &[visit(40, PAGE, 3)], snapshot(3))), Some(9));
        let crawled = after(&first, &[visit(40, PAGE, 9)], WinnerRule { source: 7, ..rule(2) });
        assert_eq!(text(&crawled), Some(1));
        assert_eq!(text(&after(&crawled, &[visit(45, PAGE, 2)], snapshot(3))), Some(2));
    }

    /// A complete snapshot with a record that cannot be read removes no page that it lacks, because
    /// the record may be about that page. Pages that expired go nevertheless.
    #[test]
    fn an_unreadable_snapshot_keeps_what_it_lacks() {
        let known = after(&UrlState::default(), &[visit(50, PAGE, 1)], rule(1));
        for (epoch_min, stays) in [(0, true), (2, false)] {
            let retention = Retention { epoch_min, time_min: i64::MIN };
            let lapse = LapseRule { retention, complete: Some(1), seen_max: i64::MAX };
            let kept = after(&known, &[], WinnerRule { lapse, keeps_missing: true, ..rule(2) });
            assert_eq!(kept == known, stays, "{kept:?}");
            assert!(after(&known, &[], WinnerRule { lapse, ..rule(2) }).page().is_none());
        }
    }

    /// A page that was seen when the clock was far ahead did not expire until that time came. Once
    /// the time is right again, it counts as seen then.
    #[test]
    fn a_page_of_a_wrong_clock_is_corrected() {
        let wrong = WinnerRule { time: TIME * 2, ..rule(1) };
        let known = after(&UrlState::default(), &[visit(50, PAGE, 1)], wrong);
        let gone = after(&known, &[visit(60, REMOVED, 0)], wrong);
        let lapse = LapseRule { seen_max: TIME + 9, ..rule(2).lapse };
        let back = WinnerRule { lapse, ..rule(2) };
        assert_eq!(after(&known, &[], back).page().expect("still a page").last_time, TIME + 2);
        assert_eq!(after(&gone, &[], back).gone().expect("remembered").last_time, TIME + 2);
    }

    /// A page, or what is gone, with a date of the time when the clock was far ahead held over all
    /// dated records until that time came.
    #[test]
    fn a_date_of_a_wrong_clock_does_not_hold() {
        let wrong = WinnerRule { time: TIME * 2, ..rule(1) };
        let page = after(&UrlState::default(), &[visit(TIME * 2, PAGE, 1)], wrong);
        let gone = after(&page, &[visit(TIME * 2, REMOVED, 0)], wrong);
        for known in [page, gone] {
            let back = after(&known, &[visit(TIME, PAGE, 2)], rule(2));
            let row = back.page().expect("a page");
            assert_eq!((row.content.high, row.as_of), (2, TIME));
            assert_eq!(after(&known, &[visit(TIME, REMOVED, 0)], rule(2)).page(), None);
            assert!(rule(3).is_outdated(&visit(TIME - 1, PAGE, 3), &back), "the date is sound now");
        }
    }

    /// Each change of a file of a corpus remembered all its former rows for a year, though no other
    /// record has their keys. Pages of archives beside the rows are remembered.
    #[test]
    fn rows_that_a_snapshot_lacks_are_forgotten() {
        let lapse = LapseRule { complete: Some(1), ..rule(2).lapse };
        for (row_keys, host, is_remembered) in [(true, 0, false), (true, 7, true), (false, 0, true)]
        {
            let visit = Visit { host, ..visit(50, PAGE, 1) };
            let known = after(&UrlState::default(), &[visit], rule(1));
            let gone = after(&known, &[], WinnerRule { lapse, row_keys, ..rule(2) });
            assert_eq!((gone.page(), gone.gone().is_some()), (None, is_remembered));
        }
    }

    /// A page that was removed, that its source's complete snapshot lacks or that expired is
    /// remembered with its last content and the cause, and forgotten in time. Until then no older
    /// record brings it back; afterwards any does.
    #[test]
    fn what_is_gone_is_remembered_for_a_while() {
        let known = after(&UrlState::default(), &[visit(50, PAGE, 1)], rule(1));
        let missing =
            LapseRule { retention: Retention::default(), complete: Some(1), seen_max: i64::MAX };
        let expired = LapseRule {
            retention: Retention { epoch_min: 2, time_min: i64::MIN },
            complete: Some(1),
            seen_max: i64::MAX,
        };
        let cases = [
            (vec![visit(NO_DATE, REMOVED, 0)], rule(2), pages::CAUSE_REMOVED),
            (vec![], WinnerRule { lapse: missing, ..rule(2) }, pages::CAUSE_MISSING),
            (vec![], WinnerRule { lapse: expired, ..rule(2) }, pages::CAUSE_EXPIRED),
        ];
        for (visits, rule_2, cause) in cases {
            let gone = after(&known, &visits, rule_2);
            let row = gone.gone().expect("remembered");
            assert_eq!((gone.page(), row.cause, row.content.high, row.epoch), (None, cause, 1, 2));
            assert_eq!(after(&gone, &[visit(49, PAGE, 2)], rule(3)), gone, "a late archive");
            assert_eq!(
                after(&gone, &[visit(50, PAGE, 2)], rule(3)).page().expect("back").first_epoch,
                3
            );
            assert!(after(&gone, &[visit(NO_DATE, PAGE, 2)], rule(3)).page().is_some());
            let forgets = WinnerRule { gone_min: TIME + 3, ..rule(9) };
            assert_eq!(after(&gone, &[], forgets), UrlState::default());
            assert!(after(&gone, &[visit(49, PAGE, 2)], forgets).page().is_some());
            let never = WinnerRule { gone_min: i64::MAX, ..rule_2 };
            assert_eq!(after(&known, &visits, never), UrlState::default(), "nothing is remembered");
        }
        // A removal that comes before the page does.
        let removed = after(&UrlState::default(), &[visit(50, REMOVED, 0)], rule(1));
        assert_eq!(after(&removed, &[visit(49, PAGE, 2)], rule(2)).page(), None);
        assert_eq!(
            after(&UrlState::default(), &[visit(NO_DATE, REMOVED, 0)], rule(1)),
            UrlState::default()
        );
    }
}
