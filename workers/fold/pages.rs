//! Applies the visits of an epoch to the live pages.
//!
//! `winner.rs` decides what holds after the visits of a URL. `count` says whether the page is new,
//! changed (it has another text) or only seen. Pages that were last seen too long ago
//! (`tables/pages.rs` says which), or that a complete snapshot of their source lacks, are deleted,
//! and remembered as gone for a while. Each worker reads its range of DocIds directly from all
//! finished splits, in passes of bounded memory: no visit is sent over the network. Only pages that
//! gain or lose a content are emitted.

use crate::error::{Error, Kind, Result};
use crate::fold::counters::Counter;
use crate::fold::epoch::Epoch;
use crate::fold::passes::{PASS_ROWS, passes};
use crate::fold::splits::{self, SplitVisits};
use crate::fold::winner::{UrlState, WinnerRule};
use crate::fold::wrong_clock::seen_max;
use crate::id::Id;
use crate::plan::inputs::Input;
use crate::read::PageKey;
use crate::store::column::KeyRange;
use crate::store::damage::{end_reading, in_rows};
use crate::store::runs::Table;
use crate::store::table::{consolidate, replacement};
use crate::tables::pages::{LapseRule, has_expired, out_of_time};
use crate::tables::visits::{CONVERSION, GATHERED, PAGE, SEEN, dedup};
use crate::tables::{GoneRow, PageRow, UrlRow, Visit};

/// A page that gained (+1) or lost (-1) a content, sent to the content's owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct PageContent {
    /// The content.
    pub content: Id,
    /// The page.
    pub doc: Id,
    /// The content's fingerprint; 0 if the page lost it.
    pub fingerprint: u64,
    /// The content's length in characters; 0 if the page lost it.
    pub chars: u32,
    /// The content's length in letters; 0 if the page lost it.
    pub letters: u32,
    /// The content's flags; if the page lost it, [`GATHERED`] alone or 0.
    pub flags: u32,
    /// +1 or -1.
    pub diff: i32,
}

/// Bytes of visits that a worker has in memory at once. The rows alone are no measure, because URLs
/// may be long.
const PASS_BYTES: u64 = 128 << 20;

/// Stores the changed pages and URLs of this worker and the rows of pages that are gone, and emits
/// the pages that gained or lost a content.
pub fn pages(epoch: &Epoch, emit: &mut dyn FnMut(PageContent)) -> Result<()> {
    let visits = epoch.split_visits()?;
    let before = Before { pages: epoch.before()?, urls: epoch.before()?, gone: epoch.before()? };
    let rule = winner_rule(epoch)?;
    let inbox = epoch.shared.job.serve.inbox.as_deref();
    let is_of_inbox = |input: &&Input| inbox.is_some_and(|inbox| input.file().starts_with(inbox));
    let inserted = epoch.shared.plan.inputs.iter().filter(is_of_inbox).map(Input::key).collect();
    let mut pages = epoch.writer::<PageRow>()?;
    let mut urls = epoch.writer::<UrlRow>()?;
    let mut gone = epoch.writer::<GoneRow>()?;
    // Every known page may have to be deleted, and every page that is gone to be forgotten.
    let deleted = if rule.lapse.is_never() { 0 } else { before.pages.rows() as u64 };
    let known = deleted + before.gone.rows() as u64;
    for range in passes(epoch, pass_count(epoch, &visits, known)) {
        let mut rows = in_range(&visits, range)?;
        rows.sort_unstable();
        // Repeated visits within one portion of a split are counted already. The sum of both counts
        // does not depend on how inputs are divided.
        epoch.count(Counter::VisitsRepeated, dedup(&mut rows) as u64);
        let visited = rows.iter().map(|visit| visit.doc).collect();
        let mut rows = rows.chunk_by(|a, b| a.doc == b.doc).peekable();
        for TouchedUrl { doc, url, state: old } in before.touched(epoch, visited, rule, range) {
            epoch.record_progress();
            let visits = rows.next_if(|visits| visits[0].doc == doc).unwrap_or_default();
            let url =
                url.or_else(|| visits.first().map(|visit| visit.url.clone())).unwrap_or_default();
            let new = rule.state_after(old.clone(), visits, &url);
            count(epoch, &old, &new, visits, rule);
            epoch.count_lost(&url, rule.count_lost(visits, &old, &inserted));
            if let (Some(page), Some(new)) = (old.page(), new.page())
                && !page.content.is_none()
                && page.content != new.content
                && page.input != new.input
            {
                epoch.count_changed(page.input);
            }
            emit_changes(doc, old.page(), new.page(), visits, emit);
            let live = i8::from(new.page().is_some()) - i8::from(old.page().is_some());
            if live != 0 {
                urls.push(UrlRow { doc, url, diff: live })?;
            }
            let ((old_page, old_gone), (new_page, new_gone)) = (old.into_rows(), new.into_rows());
            replacement(old_page, new_page).try_for_each(|row| pages.push(row))?;
            replacement(old_gone, new_gone).try_for_each(|row| gone.push(row))?;
        }
    }
    epoch.finish(pages)?;
    epoch.finish(urls)?;
    epoch.finish(gone)?;
    Ok(())
}

/// The rule by which this epoch's visits win.
fn winner_rule(epoch: &Epoch) -> Result<WinnerRule<'_>> {
    let (plan, attempt) = (&epoch.shared.plan, &epoch.shared.attempt);
    Ok(WinnerRule {
        epoch: plan.epoch,
        time: plan.logical_time,
        source: plan.source,
        lapse: LapseRule {
            retention: splits::retention(plan, attempt)?,
            complete: plan.complete.then_some(plan.source),
            seen_max: seen_max(plan),
        },
        replaced: plan.replaced.as_deref(),
        keeps_missing: plan.complete && splits::unreadable(plan, attempt)? > 0,
        gone_min: plan.gone_min,
        row_keys: epoch.shared.job.read.key == PageKey::Row,
    })
}

/// The number of passes in which this worker's share of `visits`, which are those of all workers,
/// and `known` rows of its own fit into memory.
fn pass_count(epoch: &Epoch, visits: &SplitVisits, known: u64) -> u64 {
    let (rows, bytes) = visits
        .segments()
        .iter()
        .fold((0, 0), |(rows, bytes), segment| (rows + segment.rows, bytes + segment.bytes));
    let workers = epoch.peers as u64;
    let by_rows = (rows.div_ceil(workers) + known).div_ceil(PASS_ROWS);
    by_rows.max(bytes.div_ceil(workers * PASS_BYTES))
}

/// A URL that the epoch may change.
struct TouchedUrl {
    doc: Id,
    /// The URL itself, if there may be no visit that has it.
    url: Option<Box<[u8]>>,
    state: UrlState,
}

/// The tables before the epoch.
struct Before {
    pages: Table<PageRow>,
    urls: Table<UrlRow>,
    gone: Table<GoneRow>,
}

impl Before {
    /// What is known of the URLs in `range` that the epoch may change: URLs with visits, whose
    /// DocIds are `visited`, and URLs whose pages lapse or are forgotten.
    fn touched(
        &self,
        epoch: &Epoch,
        visited: Vec<Id>,
        rule: WinnerRule<'_>,
        range: KeyRange,
    ) -> Vec<TouchedUrl> {
        let mut docs = visited;
        if !rule.lapse.is_never() {
            let rows =
                self.pages.segments().iter().flat_map(|segment| rule.lapse.rows(segment, range));
            let lapsing = consolidate(rows.collect());
            let known = lapsing.iter().filter(|page| Some(page.source) == rule.lapse.complete);
            epoch.count(Counter::PagesKnown, known.count() as u64);
            docs.extend(lapsing.into_iter().map(|page| page.doc));
        }
        let times = rule.gone_min..=rule.lapse.seen_max;
        let gone = self.gone.segments().iter();
        let rows = gone.flat_map(|segment| out_of_time(segment, range, times.clone()));
        docs.extend(consolidate(rows.collect()).into_iter().map(|gone| gone.doc));
        docs.sort_unstable();
        docs.dedup();
        let mut pages = self.pages.matching(&docs).into_iter().peekable();
        let mut gone = self.gone.matching(&docs).into_iter().peekable();
        let mut touched: Vec<TouchedUrl> = Vec::with_capacity(docs.len());
        for doc in docs {
            let page = pages.next_if(|page| page.doc == doc);
            let state = match (page, gone.next_if(|gone| gone.doc == doc)) {
                (None, None) => UrlState::Unknown,
                (Some(page), None) => UrlState::Live(page),
                (None, Some(gone)) => UrlState::Gone(gone),
                (Some(_), Some(_)) => end_reading(Error::new(
                    Kind::Io,
                    "table gone: a page is live, too; `pagefold verify JOB --deep` says what helps",
                )),
            };
            touched.push(TouchedUrl { doc, url: None, state });
        }
        let may_lapse = |touched: &TouchedUrl| {
            touched.state.page().is_some_and(|page| rule.lapse.removes(page))
        };
        let lapsing: Vec<Id> =
            touched.iter().filter(|url| may_lapse(url)).map(|url| url.doc).collect();
        let urls = self.urls.matching(&lapsing);
        if urls.len() != lapsing.len() {
            end_reading(in_rows::<UrlRow>("a page has no URL"));
        }
        let lapsing = touched.iter_mut().filter(|url| may_lapse(url));
        lapsing.zip(urls).for_each(|(touched, row)| touched.url = Some(row.url));
        touched
    }
}

/// The visits whose DocIds are in `range`. One segment is open at a time.
fn in_range(visits: &SplitVisits, range: KeyRange) -> Result<Vec<Visit>> {
    let mut rows = Vec::new();
    for number in 0..visits.segments().len() {
        let segment = visits.get(number)?;
        rows.extend(segment.within_range(range).map(|position| segment.row(position)));
    }
    Ok(rows)
}

/// Emits the content that a page lost and the content that it gained, unless they are the same and
/// were found in the same way.
fn emit_changes(
    doc: Id,
    old: Option<&PageRow>,
    new: Option<&PageRow>,
    visits: &[Visit],
    emit: &mut dyn FnMut(PageContent),
) {
    let of = |page: Option<&PageRow>| {
        page.filter(|page| !page.content.is_none()).map(|page| (page.content, page.is_gathered()))
    };
    let (before, after) = (of(old), of(new));
    if before == after {
        return;
    }
    let gathered = |gathered: bool| if gathered { u32::from(GATHERED) } else { 0 };
    if let Some((content, how)) = before {
        let flags = gathered(how);
        emit(PageContent { content, doc, fingerprint: 0, chars: 0, letters: 0, flags, diff: -1 });
    }
    if let Some((content, how)) = after
        && let Some(visit) =
            visits.iter().find(|visit| visit.kind == PAGE && visit.content == content)
    {
        let &Visit { fingerprint, chars, letters, .. } = visit;
        let flags = u32::from(visit.flags & !(GATHERED | CONVERSION)) | gathered(how);
        emit(PageContent { content, doc, fingerprint, chars, letters, flags, diff: 1 });
    }
}

/// Counts what became of a page.
fn count(epoch: &Epoch, old: &UrlState, new: &UrlState, visits: &[Visit], rule: WinnerRule<'_>) {
    let counter = match (old.page(), new.page(), visits) {
        // The row of a gone page is forgotten.
        (None, None, []) => None,
        (None, None, _) => Some(Counter::PagesUnknown),
        (None, Some(_), _) => Some(Counter::PagesNew),
        // The guard against a snapshot that lacks pages must see those that have expired, too.
        (Some(page), None, []) if rule.lacks(page) => Some(Counter::PagesMissing),
        (Some(_), None, _) if rule.winner(visits, old).is_some() => Some(Counter::PagesRemoved),
        (Some(page), None, _) if has_expired(page, rule.lapse.retention) => {
            Some(Counter::PagesExpired)
        }
        (Some(_), None, _) => Some(Counter::PagesMissing),
        (Some(page), Some(new), _) if page.content != new.content => Some(Counter::PagesChanged),
        (Some(page), Some(new), _) if page == new && Some(page.source) == rule.lapse.complete => {
            Some(Counter::PagesMissingKept)
        }
        // The time at which the page was seen is corrected.
        (Some(_), Some(_), []) => None,
        // An outdated removal does not count as a sight of the page.
        (Some(page), Some(new), _) => (page != new).then_some(Counter::PagesSeen),
    };
    if let Some(counter) = counter {
        epoch.count(counter, 1);
    }
    let outdated = visits.iter().filter(|visit| rule.is_outdated(visit, old)).count();
    let superseded =
        (visits.iter().filter(|visit| visit.kind != SEEN).count() - outdated).saturating_sub(1);
    epoch.count_any(Counter::VisitsOutdated, outdated as u64);
    epoch.count_any(Counter::VisitsSuperseded, superseded as u64);
}
