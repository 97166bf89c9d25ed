//! Moves from one head to the next: the overlay is made over the newer head while questions go on.

use crate::error::Result;
use crate::job::Job;
use crate::online::heads::Opened;
use crate::online::overlay::{Entry, Overlay};
use crate::online::{Online, inbox, replay};
use crate::plan::consumed::History;
use crate::store::damage;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// If at most this many records are left to put over a new head, decisions wait for them.
const LAST_ENTRIES: usize = 16;
/// The most rounds before decisions wait, however many records are left. Otherwise clients that
/// insert faster than one thread applies would keep the server from the newer head.
const ROUNDS_MAX: usize = 8;

impl Online {
    /// Moves to the newest head, if there is a newer one, and returns its epoch. As long as this
    /// fails, answers are provisional. If sealed files of the inbox have gone before an epoch took
    /// them, their records are forgotten: otherwise their texts would be answered as known although
    /// they are nowhere.
    pub fn catch_up(&self) -> Result<Option<u64>> {
        let moved = damage::caught(|| self.move_on());
        self.behind.store(moved.is_err(), Ordering::Relaxed);
        moved
    }

    fn move_on(&self) -> Result<Option<u64>> {
        let vanished = self.vanished()?;
        let now = self.opened()?;
        // The newer head is looked for after the files, because files that an epoch has taken may
        // be deleted.
        let newer = self.heads.newer(&now)?;
        let is_newer = newer.is_some();
        if !is_newer && vanished.is_empty() {
            return Ok(None);
        }
        let newer = newer.map_or(now, Arc::new);
        self.miss(&vanished, &newer)?;
        let (entries, unsealed) = {
            let state = self.read()?;
            (state.overlay.entries(None), state.unsealed)
        };
        let (mut overlay, mut sealed) = self.overlay_of(&newer, &entries, unsealed)?;
        let mut last = entries.last().map(|entry| entry.key());
        // Applies records that came meanwhile, until so few are left that decisions may wait for
        // them.
        let mut rounds = 1;
        let mut state = loop {
            let state = self.write()?;
            let more = state.overlay.entries(last);
            let is_last = more.len() <= LAST_ENTRIES || rounds == ROUNDS_MAX;
            let state = is_last.then_some(state);
            last = more.last().map_or(last, |entry| Some(entry.key()));
            // Damage that is found here must not end the use of the state, which may be locked.
            damage::caught(|| {
                more.into_iter()
                    .try_for_each(|entry| replay::put(&newer.index, &mut overlay, entry))
            })?;
            if let Some(state) = state {
                break state;
            }
            rounds += 1;
        };
        let epoch = newer.index.epoch;
        let before = std::mem::replace(&mut state.overlay, overlay);
        sealed.extend(state.sealed.range(unsealed..));
        state.sealed = sealed;
        state.opened = newer;
        // Unlocks first, so that no decision waits until all memory is freed.
        drop(state);
        drop(before);
        Ok(is_newer.then_some(epoch))
    }

    /// The sealed files that are gone and whose records are in the overlay.
    fn vanished(&self) -> Result<Vec<PathBuf>> {
        let Some((folder, _)) = &self.inbox else { return Ok(Vec::new()) };
        let sealed = self.read()?.sealed.clone();
        let paths = sealed.into_iter().map(|file| inbox::sealed_path(folder, file));
        Ok(paths.filter(|path| matches!(path.try_exists(), Ok(false))).collect())
    }

    /// Says which of the files that have `vanished` no epoch up to the head has taken.
    fn miss(&self, vanished: &[PathBuf], opened: &Opened) -> Result<()> {
        if vanished.is_empty() {
            return Ok(());
        }
        let history = History::read(self.job(), &opened.store, Some(&opened.head))?;
        for path in vanished.iter().filter(|path| !history.knows(path)) {
            let file = path.display();
            tracing::error!(%file, "a file of the inbox is gone that no run had taken: put it back from a copy and start the server again, or insert its records again");
        }
        Ok(())
    }

    /// The overlay over `opened`, and the sealed files whose records it has. It has the `entries`
    /// that no epoch has taken, and the records of due sealed files without entries. Files from
    /// `unsealed` on were not sealed when `entries` were taken: their records come when they are
    /// inserted.
    pub(super) fn overlay_of(
        &self,
        opened: &Opened,
        entries: &[Arc<Entry>],
        unsealed: u64,
    ) -> Result<(Overlay, BTreeSet<u64>)> {
        let mut overlay = empty(self.job())?;
        let Some((folder, _)) = &self.inbox else { return Ok((overlay, BTreeSet::new())) };
        let due = replay::due(self.job(), opened, folder)?;
        let mut all: Vec<Arc<Entry>> = Vec::new();
        let known: BTreeSet<u64> = entries.iter().map(|entry| entry.file).collect();
        let is_missing = |file: u64| file < unsealed && !known.contains(&file);
        let missing: Vec<_> = due.iter().filter(|(file, _)| is_missing(**file)).collect();
        if !missing.is_empty() {
            tracing::info!(files = missing.len(), "reading back what no epoch has taken");
        }
        for (file, path) in missing {
            all.extend(self.replayed(*file, path)?);
        }
        let stays = |entry: &&Arc<Entry>| entry.file >= unsealed || due.contains_key(&entry.file);
        all.extend(entries.iter().filter(stays).cloned());
        all.sort_by_key(|entry| entry.key());
        all.into_iter().try_for_each(|entry| replay::put(&opened.index, &mut overlay, entry))?;
        Ok((overlay, due.into_keys().collect()))
    }

    fn replayed(&self, file: u64, path: &Path) -> Result<Vec<Arc<Entry>>> {
        replay::entries(self.heads.texts(), &self.rows, file, path)
    }
}

/// An overlay without records.
pub(super) fn empty(job: &Job) -> Result<Overlay> {
    Ok(Overlay::new(job.bands()?, job.verdicts()?, job.clusters.clone()))
}
