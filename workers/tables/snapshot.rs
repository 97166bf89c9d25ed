//! Opens the tables of one commit by their row types.

use crate::error::Result;
use crate::store::Store;
use crate::store::column::KeyRange;
use crate::store::lookup::Lookup;
use crate::store::manifest::{Head, TableState};
use crate::store::open::OpenSegments;
use crate::store::runs::Table;
use crate::store::table::Row;
use crate::tables::{BandRow, band_table};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// The folder and the states of all tables. A table that no epoch has written is empty.
#[derive(Clone, Debug)]
pub struct Snapshot<'a> {
    data: PathBuf,
    states: &'a BTreeMap<String, TableState>,
}

impl<'a> Snapshot<'a> {
    /// The tables with these `states`, in the store's folder `data`.
    pub fn new(data: PathBuf, states: &'a BTreeMap<String, TableState>) -> Snapshot<'a> {
        Snapshot { data, states }
    }

    /// The tables of `head`.
    pub fn of(store: &Store, head: &'a Head) -> Snapshot<'a> {
        Snapshot::new(store.data(), &head.manifest.tables)
    }

    /// Maps the table of `R`.
    pub fn table<R: Row>(&self) -> Result<Table<R>> {
        Table::open(&self.data.join(R::NAME), self.states.get(R::NAME))
    }

    /// Maps the table of `band`, from 1 on.
    pub fn band(&self, band: usize) -> Result<Table<BandRow>> {
        let name = band_table(band);
        Table::open(&self.data.join(&name), self.states.get(&name))
    }

    /// The change from this snapshot's table of `R` to that of `later`, see [`Table::difference`].
    pub fn difference<R: Row>(&self, later: &Snapshot<'_>) -> Result<Table<R>> {
        Table::difference(
            &self.data.join(R::NAME),
            self.states.get(R::NAME),
            later.states.get(R::NAME),
        )
    }

    /// Maps the segments of the table `name`, which has rows `R`, that may have keys in `range`;
    /// `open` shares them with other workers.
    pub fn shared<R: Row>(
        &self,
        open: &OpenSegments,
        name: &str,
        range: KeyRange,
    ) -> Result<Table<R>> {
        Table::open_range(open, &self.data.join(name), self.states.get(name), range)
    }

    /// Opens the table of `R` to look up a few large rows; `open` shares its segments with other
    /// workers. The number of rows that are found is added to `rows_read`.
    pub fn lookup<R: Row>(
        &self,
        open: &OpenSegments,
        rows_read: Arc<AtomicU64>,
    ) -> Result<Lookup<R>> {
        Lookup::open(open, &self.data.join(R::NAME), self.states.get(R::NAME), rows_read)
    }
}
