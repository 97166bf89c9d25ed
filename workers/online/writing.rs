//! Makes inserted records durable: the lines that wait become a batch of the [`inbox`].
//!
//! [`inbox`]: crate::online::inbox

use crate::error::Result;
use crate::locks::lock;
use crate::online::Online;
use crate::online::inbox::{Batch, Inbox};

/// A number of records, of those that were appended since the start. What holds after this many is
/// certain once they are durable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Appended(pub u64);

/// The state of the thread that writes the inbox.
pub(super) struct Writing {
    pub(super) inbox: Inbox,
    /// The batch for which the disk had no room, and the records that are appended up to its end.
    pub(super) waiting: Option<(Batch, Appended)>,
    /// The records that are durable.
    pub(super) durable: Appended,
}

/// How far the inbox is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// The records that are durable.
    pub durable: Appended,
    /// Whether the disk has no room for more.
    pub is_full: bool,
}

impl Online {
    /// Makes appended records durable, and seals the file of the inbox if it is due, if nothing
    /// more can be inserted, or if the server `ends`. Only one thread calls this. A batch for which
    /// the disk has no room is kept, and written by a later call before anything else, because
    /// answers may depend on it.
    ///
    /// # Errors
    ///
    /// No record is acknowledged any more, and the process must end.
    pub fn commit(&self, ends: bool) -> Result<Written> {
        let Some((_, writing)) = &self.inbox else {
            return Ok(Written::default());
        };
        let mut writing = lock(writing);
        let was_full = writing.waiting.is_some();
        loop {
            let (waited, (batch, appended)) = match writing.waiting.take() {
                Some(waiting) => (true, waiting),
                None => (false, self.next_batch(&writing.inbox, ends)?),
            };
            if let Some(error) = writing.inbox.write(&batch)? {
                if ends {
                    return Err(error);
                }
                if !was_full {
                    tracing::error!(%error, "nothing can be inserted until the disk has room");
                }
                writing.waiting = Some((batch, appended));
                return Ok(Written { durable: writing.durable, is_full: true });
            }
            writing.durable = appended;
            if batch.seals {
                let mut state = self.write()?;
                state.unsealed = state.file;
                state.sealed.insert(batch.file);
            }
            if !waited {
                break;
            }
        }
        if was_full {
            tracing::info!("the disk of the inbox has room again");
        }
        Ok(Written { durable: writing.durable, is_full: false })
    }

    /// The lines that no batch has taken yet, and the records that are appended up to their end.
    fn next_batch(&self, inbox: &Inbox, ends: bool) -> Result<(Batch, Appended)> {
        let mut state = self.write()?;
        // A full overlay takes no record until an epoch has read the file, and an epoch only reads
        // sealed files.
        let is_last = ends || !state.overlay.has_room(self.overlay_bytes_max);
        let seals = inbox.is_full() || is_last && (inbox.is_open() || !state.pending.is_empty());
        let batch = Batch { file: state.file, lines: std::mem::take(&mut state.pending), seals };
        if seals {
            state.file += 1;
        }
        Ok((batch, state.appended))
    }
}
