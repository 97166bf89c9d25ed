//! Builds the operators of one dataflow.
//!
//! Every operator has the same duties: send each row to the owner of its key, do nothing after a
//! failure, and record in the receipt when it ended. They are implemented here once, so that
//! [`crate::fold::stages`] only says which logic follows which.

use crate::error::Result;
use crate::fold::epoch::Epoch;
use crate::fold::gather::{Flow, gather, gather_both, produce};
use crate::fold::spans::Volume;
use crate::fold::wire::WireRow;
use crate::id::Id;
use std::rc::Rc;
use std::time::Instant;
use timely::dataflow::Scope;
use timely::dataflow::operators::probe::{Handle, Probe};

/// A dataflow of an epoch that is being built. Its operators do not run their logic after a
/// failure.
pub struct Dataflow {
    epoch: Rc<Epoch>,
    probe: Handle<()>,
}

/// Sends a row to the next operator.
type Emit<'a, O> = &'a mut dyn FnMut(O);

/// Runs the `logic` of an operator that had all its rows at `since`. The logic is called once for
/// all rows of a stage and may take long. So each row that it emits counts as progress; otherwise
/// the worker would seem to be stuck.
fn run<O>(
    epoch: &Epoch,
    name: &'static str,
    since: Instant,
    emit: Emit<'_, O>,
    logic: impl FnOnce(Emit<'_, O>) -> Result<()>,
) {
    let mut rows_out = 0;
    epoch.attempt(|| {
        logic(&mut |row| {
            epoch.record_progress();
            rows_out += 1;
            emit(row);
        })
    });
    epoch.add_volume(Volume { rows_out, ..Volume::default() });
    epoch.record_span(name, since);
    epoch.show_stage(name);
}

/// The volume of `rows` that an operator receives.
fn received<R>(rows: &[R]) -> Volume {
    Volume { rows_in: rows.len() as u64, bytes_in: size_of_val(rows) as u64, ..Volume::default() }
}

impl Dataflow {
    /// The builder of a dataflow of `epoch`.
    pub fn new(epoch: &Rc<Epoch>) -> Dataflow {
        Dataflow { epoch: epoch.clone(), probe: Handle::new() }
    }

    /// Done when the dataflow is complete on all workers.
    pub fn probe(&self) -> &Handle<()> {
        &self.probe
    }

    /// Adds an operator without input, which reads the store.
    pub fn begin<'s, O: WireRow>(
        &self,
        scope: Scope<'s, ()>,
        name: &'static str,
        logic: impl FnOnce(&Epoch, Emit<'_, O>) -> Result<()> + 'static,
    ) -> Flow<'s, O> {
        let epoch = self.epoch.clone();
        produce(scope, name, move |emit| {
            run(&epoch, name, Instant::now(), emit, |emit| logic(&epoch, emit));
        })
    }

    /// Adds an operator that receives `rows`. `key` is the leading bits of the key whose owner gets
    /// a row.
    pub fn then<'s, R: WireRow, O: WireRow>(
        &self,
        rows: Flow<'s, R>,
        name: &'static str,
        key: impl Fn(&R) -> u64 + 'static,
        logic: impl FnOnce(&Epoch, &[R], Emit<'_, O>) -> Result<()> + 'static,
    ) -> Flow<'s, O> {
        let (router, epoch) = (self.epoch.clone(), self.epoch.clone());
        let owner = move |row: &R| router.owner(key(row));
        gather(rows, name, owner, move |rows, since, emit| {
            epoch.add_volume(received(&rows));
            run(&epoch, name, since, emit, |emit| logic(&epoch, &rows, emit));
        })
    }

    /// Adds an operator that receives two flows, with a key for each as in [`Dataflow::then`].
    pub fn then_both<'s, A: WireRow, B: WireRow, O: WireRow>(
        &self,
        (left, left_key): (Flow<'s, A>, impl Fn(&A) -> u64 + 'static),
        (right, right_key): (Flow<'s, B>, impl Fn(&B) -> u64 + 'static),
        name: &'static str,
        logic: impl FnOnce(&Epoch, &[A], &[B], Emit<'_, O>) -> Result<()> + 'static,
    ) -> Flow<'s, O> {
        let [left_router, right_router, epoch] = [(); 3].map(|()| self.epoch.clone());
        let left = (left, move |row: &A| left_router.owner(left_key(row)));
        let right = (right, move |row: &B| right_router.owner(right_key(row)));
        gather_both(left, right, name, move |lefts, rights, since, emit| {
            epoch.add_volume(received(&lefts));
            epoch.add_volume(received(&rights));
            run(&epoch, name, since, emit, |emit| logic(&epoch, &lefts, &rights, emit));
        })
    }

    /// Adds the last operator, which emits nothing.
    pub fn end<R: WireRow>(
        &self,
        rows: Flow<'_, R>,
        name: &'static str,
        key: impl Fn(&R) -> u64 + 'static,
        logic: impl FnOnce(&Epoch, &[R]) -> Result<()> + 'static,
    ) {
        let nothing: Flow<'_, Id> = self.then(rows, name, key, |epoch, rows, _| logic(epoch, rows));
        nothing.probe_with(&self.probe);
    }
}
