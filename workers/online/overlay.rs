//! Holds in memory the records of the inbox that no epoch has taken yet.
//!
//! The overlay brings an answer of the head up to date: with pages of the inbox, with texts that
//! pages do not have any more, and with contents of the inbox that are identical or near. Records
//! are applied in the order of the inbox. The overlay remembers the components of the head that the
//! inbox touches: an answer about one of them is provisional, because its cluster may change. An
//! answer is also provisional if its text is compared with a text of the inbox, or is near a stored
//! fingerprint that a fingerprint of the inbox is near. `ask/answer.rs` (`because`) has all
//! reasons.

use crate::absent::NO_DATE;
use crate::ask::answer::{Answer, Because, Match, TextVerdict};
use crate::ask::index::Index;
use crate::ask::tables::share;
use crate::ask::texts::Text;
use crate::candidates::bands::Bands;
use crate::confirm::{self, Known, Reason, Repeated, decide};
use crate::error::Result;
use crate::id::Id;
use crate::job::clusters;
use crate::online::nearby::Nearby;
use crate::online::writing::Appended;
use crate::tables::evidence::{damaged, unpack_text};
use crate::tables::visits::PAGE;
use crate::tables::{EvidenceRow, Visit, pairs};
use crate::text::{simhash, sketch::Sketches};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::Bound;
use std::sync::Arc;

/// Bytes of an entry in all tables, besides itself, its URLs and its evidence: rows of hash tables
/// that are half full, of ordered sets, the cluster, and what the allocator adds to each part.
const TABLES_BYTES: usize = 1024;
/// Bytes for a content of the head that pages do not have any more, and for each of these pages.
const LEFT_BYTES: usize = 288;
/// Bytes for a component that may change.
const TOUCHED_BYTES: usize = 32;

/// The place of a record in the inbox: the number of its file, and its place in it.
pub type Key = (u64, u64);

/// A record of the inbox.
pub struct Entry {
    /// The number of the file that has it.
    pub file: u64,
    /// Orders the records of that file: the place in the file if the record was read back,
    /// otherwise the number of records that were appended.
    pub line: u64,
    /// When the entry is durable.
    pub after: Appended,
    /// What the record says. Its text is signed, and its date is never missing.
    pub text: Text,
}

impl Entry {
    /// About its bytes in memory, without its keys in [`Nearby`].
    pub fn bytes(&self) -> usize {
        let evidence = self.text.evidence.as_ref().map_or(0, EvidenceRow::bytes);
        // The text, its visit, the content and its representative each have a copy of the URL.
        4 * self.text.visit.url.len() + evidence + size_of::<Entry>() + TABLES_BYTES
    }

    /// Entries are applied in this order.
    pub fn key(&self) -> Key {
        (self.file, self.line)
    }

    fn url(&self) -> String {
        String::from_utf8_lossy(&self.text.visit.url).into_owned()
    }
}

/// The order that decides which of two records of a URL holds, as in an epoch.
fn rank(visit: &Visit) -> (i64, u8, Id) {
    (visit.date, visit.kind, visit.content)
}

/// A content of the inbox.
struct Content {
    /// The number of pages of the inbox that have it.
    pages: u64,
    /// The URL of its first page.
    url: String,
    /// When its first entry is durable.
    after: Appended,
    /// The cluster of the texts that it was found near or identical to, or the cluster of its page
    /// alone.
    cluster: String,
    /// The page that represented that cluster then, and the content that this page had.
    representative: (String, Id),
    /// The entry that has its evidence, if it is compared with others.
    signed: Option<Arc<Entry>>,
}

impl Content {
    fn evidence(&self) -> Option<&EvidenceRow> {
        self.signed.as_ref().and_then(|entry| entry.text.evidence.as_ref())
    }
}

/// Pages of the head that do not have a content any more.
#[derive(Default)]
struct Left {
    docs: BTreeSet<Id>,
    /// When this change is durable.
    after: Appended,
}

/// How an answer depends on the inbox.
struct Basis {
    /// Whether the answer uses a record of the inbox, or the next epoch may change its cluster.
    is_touched: bool,
    /// When the answer is valid.
    after: Appended,
}

impl Basis {
    /// Notes that the answer depends on a record that is durable `after` this many: after none if
    /// it was there at the start.
    fn depends_on(&mut self, after: Appended) {
        self.after = self.after.max(after);
        self.is_touched = true;
    }
}

/// What the head and the overlay say of a record before it is applied. All is read before anything
/// changes: damage that is met while the overlay changes would leave it half changed.
pub struct Before {
    /// Whether the record holds for its URL.
    holds: bool,
    /// The content that the page of the head has, which may be none; `None` without a page.
    page: Option<Id>,
    /// The component of that content.
    page_component: Option<Id>,
    /// The components of the record's content, and of the contents that it matches.
    components: Vec<Id>,
    /// The content that the page has now which represents the record's content.
    represented: Option<Id>,
}

/// Texts of records of which it is not known whether they will hold.
struct Unsure {
    contents: HashSet<Id>,
    nearby: Nearby,
}

/// Records of the inbox over a head.
pub struct Overlay {
    options: confirm::Options,
    clusters: clusters::Options,
    entries: BTreeMap<Key, Arc<Entry>>,
    bytes: usize,
    /// For each DocId the record that holds.
    pages: HashMap<Id, Arc<Entry>>,
    contents: HashMap<Id, Content>,
    /// The contents of the inbox, each with the pages that have it. Most have one page.
    docs: BTreeSet<(Id, Id)>,
    nearby: Nearby,
    /// The texts of records that hold only if the next epoch has forgotten by then that their pages
    /// were gone. No answer names them, and none about a text that is compared with them is sure.
    unsure: Unsure,
    /// The pages of the head that have another text now, or are gone, by the content they had.
    left: HashMap<Id, Left>,
    /// The number of these pages.
    pages_left: usize,
    /// When texts that pages of the inbox had before are gone for good. Any text may have been near
    /// one of them, so every answer depends on this.
    taken_after: Appended,
    /// The components of the head that may change.
    touched: HashSet<Id>,
    /// Whether any component of the head may change.
    all_touched: bool,
}

impl Overlay {
    /// An overlay without records.
    pub fn new(bands: Bands, options: confirm::Options, clusters: clusters::Options) -> Overlay {
        Overlay {
            options,
            clusters,
            entries: BTreeMap::new(),
            bytes: 0,
            pages: HashMap::new(),
            contents: HashMap::new(),
            docs: BTreeSet::new(),
            nearby: Nearby::new(bands.clone()),
            unsure: Unsure { contents: HashSet::new(), nearby: Nearby::new(bands) },
            left: HashMap::new(),
            pages_left: 0,
            taken_after: Appended::default(),
            touched: HashSet::new(),
            all_touched: false,
        }
    }

    /// Its entries in order: those after the entry with this key.
    pub fn entries(&self, after: Option<Key>) -> Vec<Arc<Entry>> {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        self.entries.range((from, Bound::Unbounded)).map(|(_, entry)| entry.clone()).collect()
    }

    /// The number of its entries, and about their bytes in memory.
    pub fn size(&self) -> (usize, usize) {
        (self.entries.len(), self.bytes())
    }

    /// Whether there is room for another record.
    pub fn has_room(&self, bytes_max: usize) -> bool {
        self.bytes() < bytes_max
    }

    fn bytes(&self) -> usize {
        self.bytes + LEFT_BYTES * self.pages_left + TOUCHED_BYTES * self.touched.len()
    }

    /// The record of the inbox that holds for a URL.
    pub fn page(&self, doc: Id) -> Option<&Arc<Entry>> {
        self.pages.get(&doc)
    }

    /// Whether all pages that the head has of a content are gone.
    pub fn is_gone(&self, index: &Index, content: Id) -> bool {
        let left = self.left.get(&content).map_or(0, |left| left.docs.len() as u64);
        left > 0 && left >= index.pages_of(content) && !self.contents.contains_key(&content)
    }

    /// Whether pages of the head still have this content.
    pub fn is_stored(&self, index: &Index, content: Id) -> bool {
        index.has(content) && !self.is_gone(index, content)
    }

    /// Brings `answer`, which the head gives about `text`, up to date. Returns the answer, and when
    /// it is valid.
    pub fn decide(
        &self,
        index: &Index,
        text: &Text,
        mut answer: Answer,
    ) -> Result<(Answer, Appended)> {
        if self.entries.is_empty() {
            return Ok((answer, Appended::default()));
        }
        let mut basis = Basis { is_touched: false, after: self.taken_after };
        if !text.visit.content.is_none() {
            self.drop_gone(index, &mut answer, &mut basis);
            self.settle(index, text, &mut answer, &mut basis)?;
            self.outlive(index, text.visit.content, &mut answer, &mut basis);
        }
        if text.url.is_some() {
            self.hold(index, &text.visit, &mut answer, &mut basis);
        }
        answer.because.extend(basis.is_touched.then_some(Because::Inbox));
        answer.provisional = !answer.because.is_empty();
        Ok((answer, basis.after))
    }

    /// Drops matches whose pages the inbox took away, and replaces representatives that it took
    /// away.
    fn drop_gone(&self, index: &Index, answer: &mut Answer, basis: &mut Basis) {
        answer.matches.retain(|found| {
            let is_gone = self.is_gone(index, found.id);
            if is_gone {
                basis.depends_on(self.left_after(found.id));
            }
            !is_gone
        });
        for found in &mut answer.matches {
            if let Some(page) = self.instead_of(index, &found.representative, found.id, basis) {
                found.representative = page;
            }
        }
    }

    /// Adds to the answer whether the text is identical or near to texts of the inbox.
    fn settle(
        &self,
        index: &Index,
        text: &Text,
        answer: &mut Answer,
        basis: &mut Basis,
    ) -> Result<()> {
        let content = text.visit.content;
        basis.is_touched |= self.unsure.contents.contains(&content);
        // Pages of the head that had the text may have left.
        if let Some(left) = self.left.get(&content) {
            basis.depends_on(left.after);
        }
        match self.contents.get(&content) {
            Some(same) if answer.verdict != TextVerdict::Identical => {
                answer.verdict = TextVerdict::Identical;
                (answer.similarity, answer.reason) = (Some(1.0), None);
                answer.cluster = Some(same.cluster.clone());
                answer.representative = Some(self.representative(index, same, basis));
                answer.cluster_pages = None;
                (answer.pages, answer.urls) = (same.pages, vec![same.url.clone()]);
                if text.says_little {
                    answer.stays_apart();
                }
                basis.depends_on(same.after);
            }
            _ if answer.verdict == TextVerdict::Identical => {
                basis.is_touched |= self.is_touched(index, content);
                let named = answer.representative.as_ref();
                let other = named.and_then(|named| self.instead_of(index, named, content, basis));
                answer.representative = other.or(answer.representative.take());
            }
            _ => {
                if let Some(evidence) = text.evidence.as_ref().filter(|_| !text.says_little) {
                    self.compare(index, evidence, answer, basis)?;
                }
                basis.is_touched |=
                    answer.matches.iter().any(|found| self.is_touched(index, found.id));
                // Contents that have left move the ranks of others, and the text may be compared
                // with further ones then.
                basis.is_touched |= answer.leaves_out && self.pages_left > 0;
                let has_near =
                    |near| self.nearby.has_near(near) || self.unsure.nearby.has_near(near);
                basis.is_touched =
                    basis.is_touched || answer.near.iter().any(|near| has_near(*near));
                answer.settle(&self.clusters);
            }
        }
        Ok(())
    }

    /// Says whether a page with the text, or with a near text, stays. The next epoch sees the pages
    /// of the inbox, and not those that the inbox took away.
    fn outlive(&self, index: &Index, content: Id, answer: &mut Answer, basis: &mut Basis) {
        let contents = answer.like(content);
        let in_inbox = contents.iter().filter_map(|id| Some(self.contents.get(id)?.after)).min();
        if let Some(after) = in_inbox {
            if std::mem::take(&mut answer.outlives) {
                basis.depends_on(after);
            }
        } else if !answer.outlives && contents.iter().any(|id| self.left.contains_key(id)) {
            answer.outlives = contents.iter().all(|id| index.expires(*id, self.left_docs(id)));
            if answer.outlives {
                contents.iter().for_each(|id| basis.depends_on(self.left_after(*id)));
                answer.add(Because::Expires);
            }
        }
    }

    /// Says what the inbox knows of the URL of a record. Whether the record holds, and whether it
    /// gives the page another text, depends on this.
    fn hold(&self, index: &Index, visit: &Visit, answer: &mut Answer, basis: &mut Basis) {
        if !self.holds(index, visit) {
            answer.add(Because::Outdated);
        }
        if let Some(page) = self.pages.get(&visit.doc) {
            basis.depends_on(page.after);
            // What the head has at the URL is past: the page may have this text already, or none.
            let is_live = page.text.visit.kind == PAGE;
            match is_live && page.text.visit.content != visit.content {
                true => answer.add(Because::Replaces),
                false => answer.because.retain(|why| *why != Because::Replaces),
            }
        }
    }

    /// Compares a text with contents of the inbox.
    fn compare(
        &self,
        index: &Index,
        evidence: &EvidenceRow,
        answer: &mut Answer,
        basis: &mut Basis,
    ) -> Result<()> {
        basis.is_touched |= !self.unsure.nearby.proposed(evidence).contents.is_empty();
        let proposed = self.nearby.proposed(evidence);
        if proposed.contents.is_empty() {
            return Ok(());
        }
        basis.is_touched = true;
        let own = unpacked(evidence);
        let own = Repeated::new(known(evidence, &own)?);
        for (id, proposals) in proposed.contents {
            let Some(content) = self.contents.get(&id) else { continue };
            let Some(other) = content.evidence() else { continue };
            let distance = simhash::distance(other.fingerprint, evidence.fingerprint);
            let verdict = decide(&own, &known(other, &unpacked(other))?, distance, &self.options);
            if !verdict.accepted {
                continue;
            }
            basis.depends_on(content.after);
            answer.matches.push(Match {
                content: id.to_string(),
                id,
                url: content.url.clone(),
                pages: content.pages,
                signature: pairs::names(proposals),
                distance,
                similarity: share(verdict.similarity),
                accepted: true,
                reason: Reason::name(verdict.reason as u8),
                cluster: content.cluster.clone(),
                cluster_pages: 1,
                representative: self.representative(index, content, basis),
                representative_doc: Id::NONE,
            });
        }
        Ok(())
    }

    /// Whether a record would hold for its URL: it is not older than what is known of it, or has no
    /// date.
    pub fn holds(&self, index: &Index, visit: &Visit) -> bool {
        match self.pages.get(&visit.doc) {
            Some(before) => rank(visit) >= rank(&before.text.visit),
            None if visit.date == NO_DATE => true,
            None => index.as_of(visit.doc).is_none_or(|as_of| visit.date >= as_of),
        }
    }

    /// Whether a record of a known text is to be inserted: it gives the live page of its URL
    /// another text, or its text folds with none, so that each page with it stays apart.
    pub fn is_own(&self, index: &Index, text: &Text) -> bool {
        let content = self.content_of(index, text.visit.doc);
        (content.is_some() || text.says_little)
            && content != Some(text.visit.content)
            && self.holds(index, &text.visit)
    }

    /// Whether a record of a known text is to be inserted so that a run sees it again: its page is
    /// old, or all pages by which its text is known.
    pub fn is_due(&self, index: &Index, text: &Text, answer: &Answer) -> bool {
        let visit = &text.visit;
        if self.pages.contains_key(&visit.doc) {
            return false;
        }
        if index.page(visit.doc).is_some() {
            return index.is_old(visit.doc);
        }
        answer
            .like(visit.content)
            .iter()
            .all(|id| !self.contents.contains_key(id) && index.are_old(*id, self.left_docs(id)))
    }

    /// The content that the page of `doc` has now; `None` if there is no such page.
    pub fn content_of(&self, index: &Index, doc: Id) -> Option<Id> {
        match self.pages.get(&doc).map(|entry| &entry.text.visit) {
            Some(visit) => (visit.kind == PAGE).then_some(visit.content),
            None => index.page(doc).map(|page| page.content),
        }
    }

    /// The URL of the page that represents a content of the inbox: a page of the content itself, if
    /// the former representative is gone or has another text.
    fn representative(&self, index: &Index, content: &Content, basis: &mut Basis) -> String {
        let (url, had) = &content.representative;
        let doc = Id::of(url.as_bytes());
        if let Some(page) = self.pages.get(&doc) {
            basis.depends_on(page.after);
        }
        let is_there = self.content_of(index, doc) == Some(*had);
        if is_there { url } else { &content.url }.clone()
    }

    /// The URL of a page that has `content`, if the page of the head at `url`, which represents it,
    /// is gone or has another text.
    fn instead_of(
        &self,
        index: &Index,
        url: &str,
        content: Id,
        basis: &mut Basis,
    ) -> Option<String> {
        let doc = Id::of(url.as_bytes());
        let page = self.pages.get(&doc)?;
        if self.content_of(index, doc) == index.page(doc).map(|page| page.content) {
            return None;
        }
        basis.depends_on(page.after);
        basis.depends_on(self.left_after(content));
        let of_head = index.best_page(content, self.left_docs(&content));
        of_head.or_else(|| {
            let content = self.contents.get(&content)?;
            basis.depends_on(content.after);
            Some(content.url.clone())
        })
    }

    /// When it is certain that pages of the head do not have a content any more.
    fn left_after(&self, content: Id) -> Appended {
        self.left.get(&content).map(|left| left.after).unwrap_or_default()
    }

    /// The pages of the head that do not have a content any more.
    fn left_docs(&self, content: &Id) -> &BTreeSet<Id> {
        static NONE: BTreeSet<Id> = BTreeSet::new();
        self.left.get(content).map_or(&NONE, |left| &left.docs)
    }

    /// Reads what [`Overlay::put`] must know of the record `text`, about which `answer` was given.
    pub fn before(&self, index: &Index, text: &Text, answer: &Answer) -> Before {
        let visit = &text.visit;
        let page = index.page(visit.doc).map(|page| page.content);
        let contents = answer
            .matches
            .iter()
            .map(|found| found.id)
            .chain(Some(visit.content))
            .filter(|id| !id.is_none());
        // Without another, the page of the record represents its content.
        let other = answer.representative.as_ref().map(|url| Id::of(url.as_bytes()));
        let represented = match other.filter(|doc| *doc != visit.doc) {
            Some(doc) => self.content_of(index, doc),
            None => Some(visit.content),
        };
        Before {
            holds: self.holds(index, visit),
            page,
            page_component: page.filter(|id| !id.is_none()).map(|id| index.component(id)),
            components: contents.map(|id| index.component(id)).collect(),
            represented,
        }
    }

    /// Applies a record, about which `answer` was given. Reads nothing of the head.
    pub fn put(&mut self, entry: Arc<Entry>, answer: &Answer, before: Before) {
        self.bytes += entry.bytes();
        self.entries.insert(entry.key(), entry.clone());
        let visit = &entry.text.visit;
        if !before.holds {
            // What is older than a live page, or than a record that holds, never holds.
            if before.page.is_none() && !self.pages.contains_key(&visit.doc) {
                self.put_unsure(&entry.text, answer, &before);
            }
            return;
        }
        if let Some(replaced) = self.pages.insert(visit.doc, entry.clone()) {
            self.take(&replaced);
            let had = &replaced.text.visit;
            if had.kind == PAGE && (visit.kind, visit.content) != (PAGE, had.content) {
                self.taken_after = self.taken_after.max(entry.after);
            }
        }
        let is_page = visit.kind == PAGE;
        if let (Some(old), Some(component)) = (before.page, before.page_component) {
            self.touched.insert(component);
            self.touch_moved(answer);
            let left = self.left.entry(old).or_default();
            left.after = left.after.max(entry.after);
            if is_page && visit.content == old {
                self.pages_left -= usize::from(left.docs.remove(&visit.doc));
            } else {
                self.pages_left += usize::from(left.docs.insert(visit.doc));
            }
        }
        if !is_page || visit.content.is_none() {
            return;
        }
        self.touch(&before, answer);
        let url = entry.url();
        let representative = answer.representative.clone().unwrap_or_else(|| url.clone());
        let had = before.represented;
        let content = self.contents.entry(visit.content).or_insert_with(|| Content {
            pages: 0,
            cluster: answer.cluster.clone().unwrap_or_else(|| visit.doc.to_string()),
            representative: (representative, had.unwrap_or(Id::NONE)),
            url,
            after: entry.after,
            signed: None,
        });
        content.pages += u64::from(self.docs.insert((visit.content, visit.doc)));
        // A text that is gathered on one page may be the main text of another page.
        let is_compared = content.signed.is_none() && !entry.text.says_little;
        if let Some(evidence) = entry.text.evidence.as_ref().filter(|_| is_compared) {
            content.signed = Some(entry.clone());
            self.nearby.add(evidence);
            self.bytes += self.nearby.bytes(evidence);
        }
    }

    /// Remembers the text of a record that may hold or not.
    fn put_unsure(&mut self, text: &Text, answer: &Answer, before: &Before) {
        let content = text.visit.content;
        if text.visit.kind != PAGE || content.is_none() {
            return;
        }
        self.unsure.contents.insert(content);
        self.touch(before, answer);
        if let Some(evidence) = text.evidence.as_ref().filter(|_| !text.says_little) {
            self.unsure.nearby.add(evidence);
            self.bytes += self.unsure.nearby.bytes(evidence);
        }
    }

    /// Remembers the components that a record may change, about which `answer` was given.
    fn touch(&mut self, before: &Before, answer: &Answer) {
        self.touch_moved(answer);
        self.touched.extend(&before.components);
    }

    /// Remembers the components in which a record moves ranks.
    fn touch_moved(&mut self, answer: &Answer) {
        self.touched.extend(&answer.moved);
        self.all_touched |= answer.moves_more;
    }

    /// Whether the component of a content of the head may change.
    fn is_touched(&self, index: &Index, content: Id) -> bool {
        self.all_touched || self.touched.contains(&index.component(content))
    }

    /// Takes back what a record said of its page.
    fn take(&mut self, entry: &Entry) {
        let visit = &entry.text.visit;
        let Some(content) = self.contents.get_mut(&visit.content).filter(|_| visit.kind == PAGE)
        else {
            return;
        };
        content.pages -= u64::from(self.docs.remove(&(visit.content, visit.doc)));
        let mut docs = self.docs.range((visit.content, Id::NONE)..=(visit.content, Id::MAX));
        if let Some((_, other)) = docs.next() {
            let url = self.pages.get(other).map_or_else(String::new, |entry| entry.url());
            if content.representative.0 == content.url {
                content.representative = (url.clone(), visit.content);
            }
            content.url = url;
            return;
        }
        if let Some(evidence) = content.evidence() {
            self.nearby.remove(evidence);
            self.bytes -= self.nearby.bytes(evidence);
        }
        self.contents.remove(&visit.content);
    }
}

/// The text of evidence, if it is kept.
fn unpacked(evidence: &EvidenceRow) -> Option<String> {
    if evidence.text.is_empty() { None } else { unpack_text(&evidence.text) }
}

fn known<'a>(evidence: &'a EvidenceRow, text: &'a Option<String>) -> Result<Known<'a>> {
    let sketches = Sketches::parse(&evidence.sketches)
        .ok_or_else(|| damaged(evidence.content, "is damaged"))?;
    Ok(Known { chars: evidence.chars, sketches, text: text.as_deref() })
}
