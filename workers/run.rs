//! One epoch, as one worker runs it: four dataflows, each ended by a barrier. Ingest reads and exchanges nothing; from its barrier on all is a
//! function of the plan, the finished splits and the store. Every worker builds the same dataflows in the same order, even after
//! a failure, and hands in a receipt; the launcher commits, or does not.

use crate::bands::Bands;
use crate::buckets::NearFingerprints;
use crate::clusters::Fact;
use crate::components::{Link, Membership};
use crate::contents::Birth;
use crate::document::Id;
use crate::epoch::{Epoch, Failure, Progress, Receipt};
use crate::error::{Error, Result};
use crate::features::Featurizer;
use crate::gather::{Flow, both, gather, produce};
use crate::groups::Touched;
use crate::ingest::{self, Digester, Queue};
use crate::job::Job;
use crate::mesh::{self, Mesh};
use crate::pages::PageContent;
use crate::plan::Plan;
use crate::resolve::{Candidate, Visitor};
use crate::store::manifest::TableState;
use crate::{buckets, clusters, components, contents, groups, pages, pairs, resolve};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use timely::dataflow::operators::probe::{Handle, Probe};
use timely::worker::Worker;

/// One process's share of an epoch.
pub struct Share {
    /// The job.
    pub job: Job,
    /// The frozen plan.
    pub plan: Plan,
    /// Its folder.
    pub attempt: PathBuf,
    /// The tables that the epoch builds on.
    pub before: BTreeMap<String, TableState>,
    /// Workers of this process.
    pub threads: usize,
    /// This process, 0 and up.
    pub process: usize,
    /// All processes.
    pub processes: usize,
    /// The links to the others; none if there are none.
    pub mesh: Option<Mesh>,
}

/// How long a worker without work sleeps at most; messages wake it sooner.
const PARK: Duration = Duration::from_millis(50);

/// Runs this process's share and returns its workers' receipts. `on_lost` is called when a peer is lost while workers run.
///
/// # Errors
///
/// The first failure of any worker of this process.
pub fn run(
    share: Share,
    progress: Arc<Progress>,
    failure: Failure,
    on_lost: impl Fn(&str) + Send + Sync + 'static,
) -> Result<Vec<Receipt>> {
    let Share { job, plan, attempt, before, threads, process, processes, mesh } = share;
    let (job, plan, before) = (Arc::new(job), Arc::new(plan), Arc::new(before));
    let bands = job.bands()?;
    let featurizer = Featurizer::new(&job.features, &job.normalize)?;
    let queue = queue(&plan, &attempt, process, processes, &progress);
    // `Featurizer` is cloned by each worker; the lock lets the workers' closure be shared between threads.
    let featurizer = Mutex::new(featurizer);
    let reported = failure.clone();
    let receipts = mesh::execute(threads, mesh, on_lost, move |worker| {
        let (index, peers) = (worker.index(), worker.peers());
        let featurizer = featurizer.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clone();
        let digester = Digester::new(job.clone(), featurizer);
        let shared = (plan.clone(), job.clone(), attempt.clone(), before.clone(), failure.clone(), progress.clone());
        let (plan, job, attempt, before, failure, progress) = shared;
        let epoch = Epoch::new(index, peers, plan, job, attempt, before, failure, progress);
        stages(worker, &epoch, &bands, queue.clone(), digester);
        epoch.receipt()
    })?;
    match reported.take() {
        Some(error) => Err(error),
        None => Ok(receipts),
    }
}

/// The unfinished splits of this process, largest first, so that no worker begins a large one last.
fn queue(plan: &Plan, attempt: &std::path::Path, process: usize, processes: usize, progress: &Progress) -> Queue {
    let size = |id: usize| plan.splits[id].end - plan.splits[id].start;
    let mut ids: Vec<usize> = (0..plan.splits.len()).collect();
    ids.sort_by_key(|&id| (std::cmp::Reverse(size(id)), id));
    let mine = ids.into_iter().skip(process).step_by(processes);
    let unfinished = mine.filter(|&id| match ingest::finished(attempt, id) {
        Some(done) => {
            progress.resumed(done.counts.bytes, done.counts.read);
            false
        }
        None => true,
    });
    Arc::new(Mutex::new(unfinished.collect()))
}

/// Steps the worker until the dataflow behind `probe` is complete on all workers.
fn barrier(worker: &mut Worker, probe: &Handle<()>) {
    while !probe.done() {
        worker.step_or_park(Some(PARK));
    }
}

fn stages(worker: &mut Worker, epoch: &Rc<Epoch>, bands: &Bands, queue: Queue, digester: Digester) {
    // Ingest: records -> visits, durable split by split.
    let probe = Handle::new();
    worker.dataflow::<(), _, _>(|scope| ingest::ingest(scope, epoch, queue, digester, &probe));
    barrier(worker, &probe);
    epoch.ended("ingest");

    // Fold: visits -> pages -> contents -> groups -> buckets -> candidates -> pairs.
    let probe = Handle::new();
    worker.dataflow::<(), _, _>(|scope| {
        let stage = Stage { epoch, probe: &probe };
        let changes: Flow<'_, PageContent> = stage.begin(scope, "pages", pages::pages);
        let births: Flow<'_, Birth> =
            stage.then(changes, "contents", |row| row.content.high, |e, rows, give| contents::contents(e, &rows, give));
        let of_band = bands.clone();
        let touched: Flow<'_, Touched> = {
            let bands = bands.clone();
            let key = move |birth: &Birth| of_band.route(0, of_band.key(0, birth.fingerprint));
            stage.then(births.clone(), "groups", key, move |e, rows, give| groups::groups(e, &bands, &rows, give))
        };
        let of_band = bands.clone();
        let near: Flow<'_, NearFingerprints> = {
            let bands = bands.clone();
            let key = move |touch: &Touched| of_band.route(touch.band as usize, touch.key);
            stage.then(touched, "bands", key, move |e, rows, give| buckets::buckets(e, &bands, &rows, give))
        };
        let of_band = bands.clone();
        let visitors: Flow<'_, Visitor> =
            stage.then(near, "visit", move |pair| of_band.route(0, pair.a), |e, rows, give| resolve::visitors(e, &rows, give));
        let of_band = bands.clone();
        let candidates: Flow<'_, Candidate> = {
            let bands = bands.clone();
            let distance = move |a, b| (bands.unkey(0, a) ^ bands.unkey(0, b)).count_ones();
            let key = move |visitor: &Visitor| of_band.route(0, visitor.to);
            stage.then(visitors, "meet", key, move |e, rows, give| resolve::meet(e, &rows, distance, give))
        };
        let gone: Flow<'_, Candidate> =
            stage.then(births, "gone", |birth| birth.content.high, |e, rows, give| pairs::gone(e, &rows, give));
        stage.end(both(candidates, gone), "pairs", |row| row.content.high, |e, rows| pairs::pairs(e, &rows));
    });
    barrier(worker, &probe);

    // Components: changed pairs -> touched components, whole -> forests -> labels.
    let probe = Handle::new();
    worker.dataflow::<(), _, _>(|scope| {
        let stage = Stage { epoch, probe: &probe };
        let to = |link: &Link| link.to.high;
        let asked: Flow<'_, Link> = stage.begin(scope, "touch", components::touched);
        let touched: Flow<'_, Link> = stage.then(asked, "spread", to, |e, rows, give| components::spread(e, &rows, give));
        let forests: Flow<'_, Link> =
            stage.then(touched, "forests", to, |e, rows, give| components::forests(e, &rows, give));
        let labels: Flow<'_, Link> = stage.then(forests, "join", |_| 0, |_, rows, give| {
            components::join(&rows, give);
            Ok(())
        });
        let members: Flow<'_, Membership> =
            stage.then(labels, "label", to, |e, rows, give| components::label(e, &rows, give));
        stage.end(members, "components", |m| m.component.high, |e, rows| components::members(e, &rows));
    });
    barrier(worker, &probe);

    // Clusters: changed pages and components -> touched clusters, whole -> representatives.
    let probe = Handle::new();
    worker.dataflow::<(), _, _>(|scope| {
        let stage = Stage { epoch, probe: &probe };
        let (key, component) = (Fact::routing_key, |fact: &Fact| fact.component.high);
        let touched: Flow<'_, Fact> = stage.begin(scope, "touch", clusters::touched);
        let named: Flow<'_, Fact> =
            stage.then(touched, "name", component, |e, rows, give| clusters::name_contents(e, &rows, give));
        let paged: Flow<'_, Fact> = stage.then(named, "page", key, |e, rows, give| clusters::name_pages(e, &rows, give));
        let ranked: Flow<'_, Fact> = stage.then(paged, "rank", key, |e, rows, give| clusters::rank_pages(e, &rows, give));
        stage.end(ranked, "clusters", component, |e, rows| clusters::clusters(e, &rows));
    });
    barrier(worker, &probe);
}

/// Builds the operators of one dataflow: each gathers by key, and thinks unless something has failed.
struct Stage<'a> {
    epoch: &'a Rc<Epoch>,
    probe: &'a Handle<()>,
}

impl Stage<'_> {
    /// The first operator, which looks at what lies there.
    fn begin<'s, O: crate::wire::Row>(
        &self,
        scope: timely::dataflow::Scope<'s, ()>,
        name: &'static str,
        think: impl FnOnce(&Epoch, &mut dyn FnMut(O)) -> Result<()> + 'static,
    ) -> Flow<'s, O> {
        let epoch = self.epoch.clone();
        produce(scope, name, move |give| {
            epoch.attempt(|| think(&epoch, give));
            epoch.ended(name);
        })
    }

    /// An operator between others; `key` gives the leading bits of the key whose owner gets a row.
    fn then<'s, R: crate::wire::Row, O: crate::wire::Row>(
        &self,
        rows: Flow<'s, R>,
        name: &'static str,
        key: impl Fn(&R) -> u64 + 'static,
        think: impl FnOnce(&Epoch, Vec<R>, &mut dyn FnMut(O)) -> Result<()> + 'static,
    ) -> Flow<'s, O> {
        let (router, epoch) = (self.epoch.clone(), self.epoch.clone());
        gather(rows, name, move |row| router.owner(key(row)), move |rows, give| {
            epoch.attempt(|| think(&epoch, rows, give));
            epoch.ended(name);
        })
    }

    /// The last operator, which gives nothing on.
    fn end<R: crate::wire::Row>(
        &self,
        rows: Flow<'_, R>,
        name: &'static str,
        key: impl Fn(&R) -> u64 + 'static,
        think: impl FnOnce(&Epoch, Vec<R>) -> Result<()> + 'static,
    ) {
        let nothing: Flow<'_, Id> = self.then(rows, name, key, |epoch, rows, _| think(epoch, rows));
        nothing.probe_with(self.probe);
    }
}

/// Checks that the receipts of an epoch are all there and agree with what its splits say, and returns the epoch's counts.
pub fn counters(receipts: &[Receipt], workers: usize) -> Result<BTreeMap<String, u64>> {
    let mut indices: Vec<usize> = receipts.iter().map(|receipt| receipt.worker).collect();
    indices.sort_unstable();
    if indices != (0..workers).collect::<Vec<_>>() {
        return Err(Error::internal(format!("{workers} workers, receipts of {indices:?}")));
    }
    let mut counters = BTreeMap::new();
    for (name, n) in receipts.iter().flat_map(|receipt| &receipt.counters) {
        *counters.entry(name.clone()).or_default() += n;
    }
    Ok(counters)
}
