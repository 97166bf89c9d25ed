//! Answers questions about a store while epochs change it, and inserts records into it.
//!
//! Nothing here knows HTTP: `src/serve` brings the requests. A text is read, signed and compared
//! with the head without a lock. Then one lock gives all decisions their order: the [`overlay`]
//! brings the answer of the head up to date. If the text is to be inserted, it is added to the
//! overlay and to the lines for the [`inbox`] before the lock is released. So if clients bring one
//! text at the same time, one of them inserts it, and the answers to the others say so. An answer
//! is given when all records that it depends on are durable.

mod catch_up;
pub mod decision;
mod heads;
mod inbox;
mod nearby;
mod overlay;
mod replay;
pub mod rows;
pub mod writing;

use crate::ask::answer::{Answer, Because};
use crate::ask::texts::Text;
use crate::error::{Error, Result};
use crate::id::Id;
use crate::job::Job;
use crate::online::catch_up::empty;
use crate::online::decision::{CheckInput, Decision, Refused, Removal};
use crate::online::heads::{Heads, Opened};
use crate::online::inbox::Inbox;
pub use crate::online::inbox::has_left_records;
use crate::online::overlay::{Entry, Key, Overlay};
use crate::online::rows::{InboxRow, Rows};
use crate::online::writing::{Appended, Writing};
use crate::page_url::page_url;
use crate::plan::time::FUTURE_SECONDS_MAX;
use crate::plan::time::now;
use crate::read::record::{Item, Record};
use crate::store::damage;
use crate::store::table::Row as _;
use crate::tables::PageRow;
use crate::tables::visits::PAGE;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

/// The most bytes of lines that wait to be written.
pub const PENDING_BYTES_MAX: usize = 268_435_456;

/// A store that is asked and inserted into.
pub struct Online {
    heads: Heads,
    rows: Rows,
    state: RwLock<State>,
    inbox: Option<(PathBuf, Mutex<Writing>)>,
    overlay_bytes_max: usize,
    /// Whether there is a newer head that cannot be asked.
    behind: AtomicBool,
}

/// How records are inserted.
#[derive(Clone, Copy, Debug)]
pub struct Inserts {
    /// The age at which a file of the inbox is sealed, so that a run takes it.
    pub seal_after: Duration,
    /// About the most bytes of memory for records that no epoch has taken.
    pub overlay_bytes_max: usize,
}

/// The state that decisions read and change, under one lock.
struct State {
    opened: Arc<Opened>,
    overlay: Overlay,
    /// The lines that no batch has taken yet.
    pending: Vec<u8>,
    /// The records that were appended since the start.
    appended: Appended,
    /// The number of the file that lines go to.
    file: u64,
    /// The number of the first file that may not be sealed yet.
    unsealed: u64,
    /// The sealed files whose records are in the overlay.
    sealed: BTreeSet<u64>,
}

/// What is decided about a record.
struct Decided {
    answer: Answer,
    /// When the answer holds.
    after: Appended,
    /// Whether the record is to be inserted.
    is_wanted: bool,
}

/// Present figures of a server.
pub struct Figures {
    /// The epoch of the head.
    pub epoch: u64,
    /// The time of its plan, seconds since 1970.
    pub epoch_time: i64,
    /// The live pages of the head.
    pub pages: u64,
    /// The records of the overlay.
    pub inbox_records: usize,
    /// About the bytes of memory that these records take.
    pub inbox_bytes: usize,
}

impl Online {
    /// Opens the head of a job's store. Records can be inserted if the job has an inbox and
    /// `inserts` is given: then records that no epoch has taken yet are read again.
    pub fn open(job: Job, inserts: Option<Inserts>) -> Result<Online> {
        let (rows, folder) = (Rows::new(&job.read), job.serve.inbox.clone());
        // One second more, because a file is sealed a little later.
        let lead =
            inserts.filter(|_| folder.is_some()).map(|of| of.seal_after.as_secs() as i64 + 1);
        let heads = Heads::new(job, lead.unwrap_or(0))?;
        if folder.is_some() && inserts.is_some() {
            heads.make()?;
        }
        let opened = Arc::new(heads.open()?);
        let (mut inbox, mut file) = (None, 0);
        if let Some((folder, inserts)) = folder.zip(inserts) {
            let opened = Inbox::open(&folder, inserts.seal_after)?;
            file = opened.next_number()?;
            let writing = Writing { inbox: opened, waiting: None, durable: Appended::default() };
            inbox = Some((folder, Mutex::new(writing)));
        }
        let overlay_bytes_max = inserts.map_or(0, |inserts| inserts.overlay_bytes_max);
        let overlay = empty(heads.job())?;
        let (pending, sealed) = (Vec::new(), BTreeSet::new());
        let appended = Appended::default();
        let state = State { opened, overlay, pending, appended, file, unsealed: file, sealed };
        let (state, behind) = (RwLock::new(state), AtomicBool::new(false));
        let online = Online { heads, rows, state, inbox, overlay_bytes_max, behind };
        let (overlay, sealed) = online.overlay_of(&*online.opened()?, &[], file)?;
        let mut state = online.write()?;
        (state.overlay, state.sealed) = (overlay, sealed);
        drop(state);
        Ok(online)
    }

    /// The job.
    pub fn job(&self) -> &Job {
        self.heads.job()
    }

    /// Whether records can be inserted.
    pub fn has_inbox(&self) -> bool {
        self.inbox.is_some()
    }

    /// The rows of the job.
    pub fn rows(&self) -> &Rows {
        &self.rows
    }

    /// The present head.
    pub fn opened(&self) -> Result<Arc<Opened>> {
        Ok(self.read()?.opened.clone())
    }

    /// Figures for monitoring.
    pub fn figures(&self) -> Result<Figures> {
        let state = self.read()?;
        let (inbox_records, inbox_bytes) = state.overlay.size();
        let manifest = &state.opened.head.manifest;
        let pages = manifest.tables.get(PageRow::NAME).map_or(0, |table| table.rows);
        Ok(Figures {
            epoch: manifest.epoch,
            epoch_time: manifest.logical_time,
            pages,
            inbox_records,
            inbox_bytes,
        })
    }

    /// Whether the URL, or the key, has a page by a record that no epoch has taken.
    pub fn is_in_inbox(&self, url: &str) -> Result<bool> {
        let state = self.read()?;
        let doc = page_url(url, state.opened.index.naming()).doc;
        Ok(state.overlay.page(doc).is_some_and(|entry| entry.text.visit.kind == PAGE))
    }

    /// A panic under the lock may leave the state half changed, so it is not used again.
    fn read(&self) -> Result<RwLockReadGuard<'_, State>> {
        self.state
            .read()
            .map_err(|_| Error::internal("a decision failed before; start the server again"))
    }

    fn write(&self) -> Result<RwLockWriteGuard<'_, State>> {
        self.state
            .write()
            .map_err(|_| Error::internal("a decision failed before; start the server again"))
    }

    /// What would become of a record. Nothing is changed. If records can be inserted, it is dated
    /// as for an insertion.
    pub fn check(&self, asked: &CheckInput) -> std::result::Result<Decision, Refused> {
        let record = match asked {
            CheckInput::Record(record) if self.inbox.is_some() => Some(record),
            _ => None,
        };
        record.map_or(Ok(()), undated_or_in_time)?;
        loop {
            let opened = self.opened()?;
            let identical = Cell::new(false);
            let is_known = |content| {
                identical.set(self.is_stored(&opened, content).unwrap_or(false));
                identical.get()
            };
            let mut text = match asked {
                CheckInput::Record(record) => self.heads.texts().asked(record.clone(), is_known)?,
                CheckInput::Nameless(body) => {
                    self.heads.texts().nameless(body.clone(), is_known)?
                }
            };
            if let Some(record) = record {
                text.visit.date = self.read()?.dated(record.date, text.visit.doc).0;
                in_time(text.visit.date)?;
            }
            let answer = opened.index.answer(&text, identical.get())?;
            let state = self.read()?;
            if state.agrees(&opened, text.visit.content, identical.get()) {
                let (answer, after) = state.overlay.decide(&opened.index, &text, answer)?;
                return Ok(self.decision(answer, false, after));
            }
        }
    }

    /// The decision with this `answer`. It is provisional if there is a newer epoch that is not
    /// asked, because that epoch may have other texts.
    fn decision(&self, mut answer: Answer, inserted: bool, after: Appended) -> Decision {
        if self.behind.load(Ordering::Relaxed) {
            answer.because.push(Because::Behind);
            answer.provisional = true;
        }
        Decision { answer, inserted, after }
    }

    /// Whether pages of the head still have this content.
    fn is_stored(&self, opened: &Opened, content: Id) -> Result<bool> {
        Ok(self.read()?.overlay.is_stored(&opened.index, content))
    }

    /// What becomes of a record. It is inserted if its text is new, is new to its page, or folds
    /// with none; if its page, or all pages with its text, were not seen for long; or if `always`
    /// is set.
    pub fn insert(&self, row: &InboxRow, always: bool) -> std::result::Result<Decision, Refused> {
        if self.inbox.is_none() {
            return Err(Refused::NoInbox);
        }
        undated_or_in_time(&row.record)?;
        let mut text = self.heads.texts().kept(row.record.clone())?;
        let (doc, content) = (text.visit.doc, text.visit.content);
        loop {
            let (opened, date, before) = self.dated(&row.record, doc)?;
            text.visit.date = date;
            in_time(date)?;
            let identical = !content.is_none() && self.is_stored(&opened, content)?;
            let mut of_head = opened.index.answer(&text, identical)?;
            if !always {
                let state = self.read()?;
                if !state.agrees(&opened, content, identical) {
                    continue;
                }
                let decided = state.decided(&text, of_head.clone())?;
                if !decided.is_wanted {
                    return Ok(self.decision(decided.answer, false, decided.after));
                }
            }
            let line = self.rows.line(row, date)?;
            opened.index.lose(doc, content, &mut of_head)?;
            let mut state = self.write()?;
            if !state.agrees(&opened, content, identical)
                || state.overlay.page(doc).map(|entry| entry.key()) != before
            {
                continue;
            }
            // Damage that is found under the lock must not end the use of the state.
            let Decided { answer, after, is_wanted } =
                damage::caught(|| state.decided(&text, of_head))?;
            if !is_wanted && !always {
                return Ok(self.decision(answer, false, after));
            }
            let after = self.append(&mut state, text, &line, &answer)?;
            return Ok(self.decision(answer, true, after));
        }
    }

    /// What would become of a removal. Nothing is changed. If records can be inserted, it is dated
    /// as for an insertion.
    pub fn check_removal(&self, record: &Record) -> std::result::Result<Removal, Refused> {
        if self.inbox.is_some() {
            undated_or_in_time(record)?;
        }
        let mut text = self.heads.texts().asked(record.clone(), |_| false)?;
        let state = self.read()?;
        if self.inbox.is_some() {
            text.visit.date = state.dated(record.date, text.visit.doc).0;
            in_time(text.visit.date)?;
        }
        let before = state.overlay.page(text.visit.doc);
        let after = before.map(|entry| entry.after).unwrap_or_default();
        Ok(Removal { after, ..self.removal(&state, &text) })
    }

    /// What becomes of the removal `text`, which is not inserted yet.
    fn removal(&self, state: &State, text: &Text) -> Removal {
        let (overlay, index, visit) = (&state.overlay, &state.opened.index, &text.visit);
        let holds = overlay.holds(index, visit);
        let mut because = Vec::new();
        because.extend((!holds).then_some(Because::Outdated));
        because.extend(overlay.page(visit.doc).map(|_| Because::Inbox));
        because.extend(self.behind.load(Ordering::Relaxed).then_some(Because::Behind));
        Removal {
            url: String::from_utf8_lossy(&visit.url).into_owned(),
            removed: holds && overlay.content_of(index, visit.doc).is_some(),
            because,
            inserted: false,
            after: Appended::default(),
        }
    }

    /// Removes the page of a record.
    pub fn remove(&self, row: &InboxRow) -> std::result::Result<Removal, Refused> {
        if self.inbox.is_none() {
            return Err(Refused::NoInbox);
        }
        undated_or_in_time(&row.record)?;
        let mut text = self.heads.texts().kept(row.record.clone())?;
        let doc = text.visit.doc;
        loop {
            let (opened, date, before) = self.dated(&row.record, doc)?;
            text.visit.date = date;
            in_time(date)?;
            let line = self.rows.line(row, date)?;
            // A removal has no text that pages could have.
            let identical = false;
            let mut answer = opened.index.answer(&text, identical)?;
            opened.index.lose(doc, text.visit.content, &mut answer)?;
            let mut state = self.write()?;
            if !state.is_at(&opened) || state.overlay.page(doc).map(|entry| entry.key()) != before {
                continue;
            }
            let removal = damage::caught(|| Ok(self.removal(&state, &text)))?;
            let after = self.append(&mut state, text, &line, &answer)?;
            return Ok(Removal { inserted: true, after, ..removal });
        }
    }

    /// The head, the date of a record, and the key of the overlay's record that holds for its page.
    fn dated(&self, record: &Record, doc: Id) -> Result<(Arc<Opened>, i64, Option<Key>)> {
        let state = self.read()?;
        let (date, before) = state.dated(record.date, doc);
        Ok((state.opened.clone(), date, before))
    }

    /// Appends a line to the inbox, and its record to the overlay. Returns when it may be
    /// acknowledged.
    fn append(
        &self,
        state: &mut State,
        text: Text,
        line: &[u8],
        answer: &Answer,
    ) -> std::result::Result<Appended, Refused> {
        // Lines pile up only if the disk has no room.
        if !state.overlay.has_room(self.overlay_bytes_max)
            || state.pending.len() > PENDING_BYTES_MAX
        {
            return Err(Refused::Full);
        }
        // Damage that is found under the lock must not end the use of the state.
        let before =
            damage::caught(|| Ok(state.overlay.before(&state.opened.index, &text, answer)))?;
        state.appended.0 += 1;
        let after = state.appended;
        let entry = Entry { file: state.file, line: after.0, after, text };
        state.overlay.put(Arc::new(entry), answer, before);
        state.pending.extend_from_slice(line);
        Ok(after)
    }
}

impl State {
    /// The date of a record of `doc`, and the key of the overlay's record that holds for `doc`. A
    /// record without a date gets the date of its arrival, but is newer than what is known of its
    /// page.
    fn dated(&self, date: Option<i64>, doc: Id) -> (i64, Option<Key>) {
        let before = self.overlay.page(doc);
        let date = date.unwrap_or_else(|| {
            let arrival = now();
            let known = before.map(|entry| entry.text.visit.date.saturating_add(1));
            arrival.max(known.or_else(|| self.opened.index.as_of(doc)).unwrap_or(arrival))
        });
        (date, before.map(|entry| entry.key()))
    }

    /// Decides about a record for which the head gives the answer `of_head`.
    fn decided(&self, text: &Text, of_head: Answer) -> Result<Decided> {
        let index = &self.opened.index;
        let (answer, after) = self.overlay.decide(index, text, of_head)?;
        let is_wanted = !answer.is_known()
            || self.overlay.is_own(index, text)
            || self.overlay.is_due(index, text, &answer);
        Ok(Decided { answer, after, is_wanted })
    }

    fn is_at(&self, opened: &Arc<Opened>) -> bool {
        Arc::ptr_eq(&self.opened, opened)
    }

    /// Whether what was found about a content without the lock is still true.
    fn agrees(&self, opened: &Arc<Opened>, content: Id, identical: bool) -> bool {
        let is_stored = || self.overlay.is_stored(&opened.index, content);
        self.is_at(opened) && (content.is_none() || is_stored() == identical)
    }
}

/// Fails if a record has a date that is more than a day in the future. An epoch cuts such a date,
/// and then could not tell which of two records of a URL came last.
fn undated_or_in_time(record: &Record) -> std::result::Result<(), Item> {
    record.date.map_or(Ok(()), in_time)
}

/// Fails if a date is more than a day in the future. A record without a date may get one: a second
/// more than that of the record before it.
fn in_time(date: i64) -> std::result::Result<(), Item> {
    match date > now().saturating_add(FUTURE_SECONDS_MAX) {
        true => Err(Item::reject("future_date", "its date is more than a day in the future")),
        false => Ok(()),
    }
}
