//! Holds in memory what the inbox says and no epoch has taken yet.
//!
//! An answer about the head is brought up to date by this: pages that the inbox has, texts that
//! their pages left, and contents that are identical or near. Each of these is applied in the order
//! of the inbox. Components of the head that the inbox touches are remembered: an answer about one
//! of them is provisional, as its cluster may change. So is one about a text that is compared with
//! a text of the inbox, or near a stored fingerprint that one of the inbox is near. All reasons are
//! in `ask/index.rs` (`because`).

use crate::ask::index::{Answer, Found, Index, Match, because};
use crate::ask::tables::share;
use crate::ask::texts::Text;
use crate::candidates::bands::Bands;
use crate::confirm::{self, Known, Reason, Repeated, decide};
use crate::document::{Id, NO_DATE};
use crate::error::Result;
use crate::job::clusters;
use crate::online::nearby::Nearby;
use crate::tables::evidence::{damaged, unpack_text};
use crate::tables::visits::PAGE;
use crate::tables::{EvidenceRow, Visit, pairs};
use crate::text::{simhash, sketch::Sketches};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::Bound;
use std::sync::Arc;

/// Bytes of an entry besides its URL and evidence, in all tables, about.
const ENTRY_BYTES: usize = 1024;

/// The place of a record in the inbox: the number of its file, and its place in it.
pub type Key = (u64, u64);

/// A record of the inbox.
pub struct Entry {
    /// The number of the file that has it.
    pub file: u64,
    /// Its place among the records of that file.
    pub line: u64,
    /// It is durable when so many of the appended records are.
    pub after: u64,
    /// What it says. Its text is signed, and its date is never missing.
    pub text: Text,
}

impl Entry {
    /// About its bytes in memory.
    pub fn bytes(&self) -> usize {
        let evidence = self.text.evidence.as_ref().map_or(0, EvidenceRow::bytes);
        2 * self.text.visit.url.len() + evidence + ENTRY_BYTES
    }

    /// Entries are applied in this order.
    pub fn key(&self) -> Key {
        (self.file, self.line)
    }

    fn url(&self) -> String {
        String::from_utf8_lossy(&self.text.visit.url).into_owned()
    }
}

/// What decides which of two records of a URL holds, as in an epoch.
fn rank(visit: &Visit) -> (i64, u8, Id) {
    (visit.date, visit.kind, visit.content)
}

/// A content of the inbox.
struct Content {
    /// The pages of the inbox that have it.
    docs: BTreeSet<Id>,
    /// The URL of its first page.
    url: String,
    /// Its first entry is durable when so many of the appended records are.
    after: u64,
    /// The cluster that it was found near or identical to, or that of its page alone.
    cluster: String,
    /// The page that represented it then, and the content that this page had.
    representative: (String, Id),
    /// The entry that has its evidence, if it is compared with others.
    signed: Option<Arc<Entry>>,
}

impl Content {
    fn evidence(&self) -> Option<&EvidenceRow> {
        self.signed.as_ref().and_then(|entry| entry.text.evidence.as_ref())
    }
}

/// Records of the inbox over a head.
pub struct Overlay {
    options: confirm::Options,
    clusters: clusters::Options,
    entries: BTreeMap<Key, Arc<Entry>>,
    bytes: usize,
    /// The record of a URL that holds.
    pages: HashMap<Id, Arc<Entry>>,
    contents: HashMap<Id, Content>,
    nearby: Nearby,
    /// The pages of the head that have another text now, or are gone, by the content they had.
    left: HashMap<Id, BTreeSet<Id>>,
    /// The components of the head that may change.
    touched: HashSet<Id>,
}

impl Overlay {
    /// Of no records.
    pub fn new(bands: Bands, options: confirm::Options, clusters: clusters::Options) -> Overlay {
        Overlay {
            options,
            clusters,
            entries: BTreeMap::new(),
            bytes: 0,
            pages: HashMap::new(),
            contents: HashMap::new(),
            nearby: Nearby::new(bands),
            left: HashMap::new(),
            touched: HashSet::new(),
        }
    }

    /// Its entries, in order, after the one with this key.
    pub fn entries(&self, after: Option<Key>) -> Vec<Arc<Entry>> {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        self.entries.range((from, Bound::Unbounded)).map(|(_, entry)| entry.clone()).collect()
    }

    /// The number of its entries, and about their bytes in memory.
    pub fn size(&self) -> (usize, usize) {
        (self.entries.len(), self.bytes)
    }

    /// Whether there is room for another record.
    pub fn has_room(&self, bytes_max: usize) -> bool {
        self.bytes < bytes_max
    }

    /// The record of the inbox that holds for a URL.
    pub fn page(&self, doc: Id) -> Option<&Arc<Entry>> {
        self.pages.get(&doc)
    }

    /// Whether all pages that the head has of a content are gone.
    pub fn is_gone(&self, index: &Index, content: Id) -> bool {
        let left = self.left.get(&content).map_or(0, |docs| docs.len() as u64);
        left > 0 && left >= index.pages_of(content) && !self.contents.contains_key(&content)
    }

    /// Whether pages of the head have this content still.
    pub fn is_stored(&self, index: &Index, content: Id) -> bool {
        index.has(content) && !self.is_gone(index, content)
    }

    /// Brings `answer`, which the head gives about `text`, up to date. Returns with it how many
    /// of the appended records must be durable for it to hold.
    pub fn decide(&self, index: &Index, text: &Text, mut answer: Answer) -> Result<(Answer, u64)> {
        let content = text.visit.content;
        if self.entries.is_empty() || content.is_none() {
            return Ok((answer, 0));
        }
        let (mut is_touched, mut after) = (false, 0);
        let before = answer.matches.len();
        answer.matches.retain(|found| !self.is_gone(index, found.id));
        is_touched |= answer.matches.len() < before;
        for found in &mut answer.matches {
            if let Some(page) = self.instead_of(index, &found.representative, found.id) {
                found.representative = page;
            }
        }
        match self.contents.get(&content) {
            Some(same) if answer.verdict != Found::Identical => {
                answer.verdict = Found::Identical;
                (answer.similarity, answer.reason) = (Some(1.0), None);
                answer.cluster = Some(same.cluster.clone());
                answer.representative = Some(self.representative(index, same));
                answer.cluster_pages = None;
                (answer.pages, answer.urls) = (same.docs.len() as u64, vec![same.url.clone()]);
                if text.says_little {
                    answer.stays_apart();
                }
                (is_touched, after) = (true, same.after);
            }
            _ if answer.verdict == Found::Identical => {
                is_touched |= self.touched.contains(&index.component(content));
                let named = answer.representative.as_ref();
                let other = named.and_then(|named| self.instead_of(index, named, content));
                answer.representative = other.or(answer.representative);
            }
            _ => {
                if let Some(evidence) = text.evidence.as_ref().filter(|_| !text.says_little) {
                    let compared = self.compare(index, evidence, &mut answer)?;
                    is_touched |= compared.is_some();
                    after = after.max(compared.unwrap_or(0));
                }
                is_touched |= answer
                    .matches
                    .iter()
                    .any(|found| self.touched.contains(&index.component(found.id)));
                is_touched |= answer.near.iter().any(|near| self.nearby.has_near(*near));
                answer.settle(&self.clusters);
            }
        }
        // The next epoch sees what the inbox has, and lacks the pages that left.
        let contents: Vec<Id> = match answer.verdict {
            Found::Identical => vec![content],
            _ => answer.matches.iter().map(|found| found.id).collect(),
        };
        if contents.iter().any(|id| self.contents.contains_key(id)) {
            answer.outlives = false;
        } else if !answer.outlives && contents.iter().any(|id| self.left.contains_key(id)) {
            let none = BTreeSet::new();
            let left = |id: &Id| self.left.get(id).unwrap_or(&none);
            answer.outlives = contents.iter().all(|id| index.expires(*id, left(id)));
            let told = answer.because.contains(&because::EXPIRES);
            answer.because.extend((answer.outlives && !told).then_some(because::EXPIRES));
        }
        if let Some(page) = self.pages.get(&text.visit.doc).filter(|_| text.url.is_some()) {
            // Whether the record is inserted depends on what its page has now.
            (is_touched, after) = (true, after.max(page.after));
            let replaces =
                page.text.visit.content != content && !answer.because.contains(&because::REPLACES);
            answer.because.extend(replaces.then_some(because::REPLACES));
        }
        answer.because.extend(is_touched.then_some(because::INBOX));
        answer.provisional = !answer.because.is_empty();
        Ok((answer, after))
    }

    /// Compares a text with contents of the inbox. None if there is none to compare it with; else
    /// how many of the appended records must be durable for those that are accepted.
    fn compare(
        &self,
        index: &Index,
        evidence: &EvidenceRow,
        answer: &mut Answer,
    ) -> Result<Option<u64>> {
        let proposed = self.nearby.proposed(evidence);
        if proposed.contents.is_empty() {
            return Ok(None);
        }
        let (mut after, own) = (0, unpacked(evidence));
        let own = Repeated::new(known(evidence, &own)?);
        for (id, proposals) in proposed.contents {
            let Some(content) = self.contents.get(&id) else { continue };
            let Some(other) = content.evidence() else { continue };
            let distance = simhash::distance(other.fingerprint, evidence.fingerprint);
            let verdict = decide(&own, &known(other, &unpacked(other))?, distance, &self.options);
            if !verdict.accepted {
                continue;
            }
            after = after.max(content.after);
            answer.matches.push(Match {
                content: id.to_string(),
                id,
                url: content.url.clone(),
                pages: content.docs.len() as u64,
                signature: pairs::names(proposals),
                distance,
                similarity: share(verdict.similarity),
                accepted: true,
                reason: Reason::name(verdict.reason as u8),
                cluster: content.cluster.clone(),
                cluster_pages: 1,
                representative: self.representative(index, content),
                representative_doc: Id::NONE,
            });
        }
        Ok(Some(after))
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

    /// Whether a record of a known text is to be inserted: it gives the live page of its URL another
    /// text, or its text folds with none, so that each page of it stands alone.
    pub fn is_own(&self, index: &Index, text: &Text) -> bool {
        let content = self.content_of(index, text.visit.doc);
        (content.is_some() || text.says_little)
            && content != Some(text.visit.content)
            && self.holds(index, &text.visit)
    }

    /// The content that the page of `doc` has now; none if there is no such page.
    pub fn content_of(&self, index: &Index, doc: Id) -> Option<Id> {
        match self.pages.get(&doc).map(|entry| &entry.text.visit) {
            Some(visit) => (visit.kind == PAGE).then_some(visit.content),
            None => index.page(doc).map(|page| page.content),
        }
    }

    /// The URL of the page that represents a content of the inbox: one of its own, if that which
    /// did so is gone or has another text.
    fn representative(&self, index: &Index, content: &Content) -> String {
        let (url, had) = &content.representative;
        let is_there = self.content_of(index, Id::of(url.as_bytes())) == Some(*had);
        if is_there { url } else { &content.url }.clone()
    }

    /// The URL of a page that has `content`, if the page of the head at `url`, which represents it,
    /// is gone or has another text.
    fn instead_of(&self, index: &Index, url: &str, content: Id) -> Option<String> {
        let doc = Id::of(url.as_bytes());
        if !self.pages.contains_key(&doc)
            || self.content_of(index, doc) == index.page(doc).map(|page| page.content)
        {
            return None;
        }
        let none = BTreeSet::new();
        let of_head = index.best_page(content, self.left.get(&content).unwrap_or(&none));
        of_head.or_else(|| self.contents.get(&content).map(|content| content.url.clone()))
    }

    /// Applies a record, about which `answer` was given.
    pub fn put(&mut self, index: &Index, entry: Arc<Entry>, answer: &Answer) {
        self.bytes += entry.bytes();
        self.entries.insert(entry.key(), entry.clone());
        let visit = &entry.text.visit;
        if !self.holds(index, visit) {
            return;
        }
        if let Some(before) = self.pages.insert(visit.doc, entry.clone()) {
            self.take(&before);
        }
        let is_page = visit.kind == PAGE;
        if let Some(old) =
            index.page(visit.doc).map(|page| page.content).filter(|old| !old.is_none())
        {
            self.touched.insert(index.component(old));
            let left = self.left.entry(old).or_default();
            match is_page && visit.content == old {
                true => left.remove(&visit.doc),
                false => left.insert(visit.doc),
            };
        }
        if !is_page || visit.content.is_none() {
            return;
        }
        self.touched.extend(answer.moved.iter().map(|id| index.component(*id)));
        self.touched.extend(answer.matches.iter().map(|found| index.component(found.id)));
        self.touched.insert(index.component(visit.content));
        let url = entry.url();
        let representative = answer.representative.clone().unwrap_or_else(|| url.clone());
        let had = self.content_of(index, Id::of(representative.as_bytes()));
        let content = self.contents.entry(visit.content).or_insert_with(|| Content {
            docs: BTreeSet::new(),
            cluster: answer.cluster.clone().unwrap_or_else(|| visit.doc.to_string()),
            representative: (representative, had.unwrap_or(Id::NONE)),
            url,
            after: entry.after,
            signed: None,
        });
        content.docs.insert(visit.doc);
        // A text that is gathered on one page may be the main text of another.
        let is_compared = content.signed.is_none() && !entry.text.says_little;
        if let Some(evidence) = entry.text.evidence.as_ref().filter(|_| is_compared) {
            content.signed = Some(entry.clone());
            self.nearby.add(evidence);
        }
    }

    /// Takes back what a record said of its page.
    fn take(&mut self, entry: &Entry) {
        let visit = &entry.text.visit;
        let Some(content) = self.contents.get_mut(&visit.content).filter(|_| visit.kind == PAGE)
        else {
            return;
        };
        content.docs.remove(&visit.doc);
        if let Some(other) = content.docs.first() {
            let url = self.pages.get(other).map_or_else(String::new, |entry| entry.url());
            if content.representative.0 == content.url {
                content.representative = (url.clone(), visit.content);
            }
            content.url = url;
            return;
        }
        if let Some(evidence) = content.evidence() {
            self.nearby.remove(evidence);
        }
        self.contents.remove(&visit.content);
    }
}

/// The text of evidence, where it is kept.
fn unpacked(evidence: &EvidenceRow) -> Option<String> {
    if evidence.text.is_empty() { None } else { unpack_text(&evidence.text) }
}

fn known<'a>(evidence: &'a EvidenceRow, text: &'a Option<String>) -> Result<Known<'a>> {
    let sketches = Sketches::parse(&evidence.sketches)
        .ok_or_else(|| damaged(evidence.content, "is damaged"))?;
    Ok(Known { chars: evidence.chars, sketches, text: text.as_deref() })
}
