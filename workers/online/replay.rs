//! Reads again the files of the inbox that no epoch has taken, after a start and after a rollback.

use crate::ask::index::Index;
use crate::ask::texts::Texts;
use crate::error::Result;
use crate::job::Job;
use crate::online::heads::Opened;
use crate::online::inbox::{lines, sealed};
use crate::online::overlay::{Entry, Overlay};
use crate::online::rows::Rows;
use crate::online::writing::Appended;
use crate::plan::consumed::{Due, History};
use crate::plan::inputs::Input;
use crate::store::threads::{in_threads, processors};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The sealed files of the inbox in `folder` that the next epoch takes.
pub fn due(job: &Job, opened: &Opened, folder: &Path) -> Result<BTreeMap<u64, PathBuf>> {
    let history = History::read(job, &opened.store, Some(&opened.head))?;
    let mut due = BTreeMap::new();
    for (file, path) in sealed(folder)? {
        let input = Input::stat(&path)?;
        if !history.is_as_it_was(&input) && history.due(&history.digested(input)?) == Due::New {
            due.insert(file, path);
        }
    }
    Ok(due)
}

/// The records of a file.
pub fn entries(texts: &Texts, rows: &Rows, file: u64, path: &Path) -> Result<Vec<Arc<Entry>>> {
    let lines: Vec<_> = lines(path)?.into_iter().enumerate().collect();
    let entries = in_threads("reading the inbox", &lines, processors(), |(at, line)| {
        match rows.record(line) {
            Ok(record) => {
                let text = texts.kept(record)?;
                let (line, after) = (*at as u64, Appended::default());
                Ok(Some(Arc::new(Entry { file, line, after, text })))
            }
            Err(item) => {
                tracing::warn!(file = %path.display(), line = at + 1, ?item, "no record in the inbox");
                Ok(None)
            }
        }
    })?;
    Ok(entries.into_iter().flatten().collect())
}

/// Puts a record into an overlay, as it was put into an earlier one.
pub fn put(index: &Index, overlay: &mut Overlay, entry: Arc<Entry>) -> Result<()> {
    let content = entry.text.visit.content;
    let identical = overlay.is_stored(index, content);
    let answer = index.answer(&entry.text, identical)?;
    let (mut answer, _) = overlay.decide(index, &entry.text, answer)?;
    index.lose(entry.text.visit.doc, content, &mut answer)?;
    let before = overlay.before(index, &entry.text, &answer);
    overlay.put(entry, &answer, before);
    Ok(())
}
