//! One epoch, as one worker runs it: a few dataflows, each ended by a barrier. Ingest reads and exchanges nothing; from its barrier on all is a
//! function of the plan, the finished splits and the store. Every worker builds the same dataflows in the same order, even after
//! a failure, and hands in a receipt; the launcher commits, or does not.

pub mod buckets;
pub mod clusters;
pub mod components;
pub mod contents;
pub mod epoch;
pub mod evidence;
pub mod gather;
pub mod groups;
pub mod ingest;
pub mod keys;
pub mod leaders;
pub mod pages;
pub mod pairs;
pub mod propagate;
pub mod resolve;
pub mod wire;

use crate::candidates::bands::Bands;
use crate::document::Id;
use crate::error::{Error, Result};
use crate::fold::buckets::NearFingerprints;
use crate::fold::clusters::Fact;
use crate::fold::components::{ALONE, EDGE, Link, Membership, TREE};
use crate::fold::contents::Birth;
use crate::fold::epoch::{Epoch, Failure, Progress, Receipt, Shared};
use crate::fold::evidence::{Told, Witness};
use crate::fold::gather::{Flow, both, gather, produce};
use crate::fold::groups::Touched;
use crate::fold::ingest::{Digester, Queue};
use crate::fold::keys::KeyTouch;
use crate::fold::leaders::Led;
use crate::fold::pages::PageContent;
use crate::fold::pairs::PairChange;
use crate::fold::propagate::propagate;
use crate::fold::resolve::{Candidate, Visitor};
use crate::fold::wire::Row;
use crate::job::Job;
use crate::locks::lock;
use crate::mesh::{self, Mesh};
use crate::plan::Plan;
use crate::store::manifest::TableState;
use crate::text::features::Featurizer;
use crate::text::signatures::Signer;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::net::TcpListener;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use timely::dataflow::Scope;
use timely::dataflow::operators::core::Filter;
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
    /// The links to the others, and the listener that they dial; none if there are none.
    pub mesh: Option<(Mesh, TcpListener)>,
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
    on_lost: impl Fn(&Error) + Send + Sync + 'static,
) -> Result<Vec<Receipt>> {
    let Share { job, plan, attempt, before, threads, process, processes, mesh } = share;
    let bands = job.bands()?;
    // Each worker has a clone of its own; the lock lets their closure be shared between threads.
    let featurizer = Mutex::new(Featurizer::new(&job.features, &job.normalize)?);
    let signer = Mutex::new(Signer::new(&job.signatures, &job.normalize)?);
    let queue = queue(&plan, &attempt, process, processes, &progress);
    let reported = failure.clone();
    let shared = Arc::new(Shared { plan, job, attempt, before, progress, failure });
    let mesh = mesh.map(|(mesh, listener)| (mesh, Some(listener)));
    let receipts = mesh::execute(threads, mesh, on_lost, move |worker| {
        let featurizer = lock(&featurizer).clone();
        let signer = lock(&signer).clone();
        let epoch = Epoch::new(worker.index(), worker.peers(), shared.clone());
        // A worker without a compressor cannot read; it builds the dataflows all the same.
        let digester = epoch.attempt(|| {
            let witness = Witness::new(&epoch.job.contents, signer)?;
            Ok(Some(Digester::new(&epoch, featurizer, witness)))
        });
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
fn barrier(worker: &mut Worker, epoch: &Epoch, probe: &Handle<()>) {
    while !probe.done() {
        let began = Instant::now();
        worker.step_or_park(Some(PARK));
        // Who sleeps to the end of its time was not woken by anything to do. (Nothing is decided by this but whether the process is stuck.)
        epoch.turned(began.elapsed() >= PARK);
    }
}

fn stages(worker: &mut Worker, epoch: &Rc<Epoch>, bands: &Bands, queue: Queue, digester: Option<Digester>) {
    let probe = Handle::new();
    worker.dataflow::<(), _, _>(|scope| ingest::ingest(scope, epoch, queue, digester, &probe));
    barrier(worker, epoch, &probe);
    epoch.ended("ingest");

    fold(worker, epoch, bands, |stage, scope| stage.begin(scope, "pages", pages::pages));

    let stage = Stage::new(epoch);
    worker.dataflow::<(), _, _>(|scope| join(&stage, scope));
    barrier(worker, epoch, &stage.probe);

    let stage = Stage::new(epoch);
    worker.dataflow::<(), _, _>(|scope| publish(&stage, scope));
    barrier(worker, epoch, &stage.probe);
}

/// Page changes -> contents and their evidence; every worker hears of the evidence of all; births -> candidates -> pairs.
pub fn fold(
    worker: &mut Worker,
    epoch: &Rc<Epoch>,
    bands: &Bands,
    changes: impl for<'s> FnOnce(&Stage, Scope<'s, ()>) -> Flow<'s, PageContent>,
) {
    let born: Rc<RefCell<Vec<Birth>>> = Rc::default();
    let (stage, births) = (Stage::new(epoch), born.clone());
    worker.dataflow::<(), _, _>(|scope| {
        let changes = changes(&stage, scope);
        stage.end(
            changes,
            "contents",
            |row| row.content.high,
            move |epoch, changes| {
                births.replace(contents::contents(epoch, changes)?);
                Ok(())
            },
        );
    });
    barrier(worker, epoch, &stage.probe);

    let stage = Stage::new(epoch);
    worker.dataflow::<(), _, _>(|scope| {
        let told: Flow<'_, Told> = stage.begin(scope, "tell_evidence", evidence::tell);
        stage.end(told, "hear_evidence", |told| told.to, evidence::hear);
    });
    barrier(worker, epoch, &stage.probe);

    let stage = Stage::new(epoch);
    worker.dataflow::<(), _, _>(|scope| propose(&stage, bands, born.take(), scope));
    barrier(worker, epoch, &stage.probe);
}

/// This worker's births -> groups -> buckets -> candidates, and births -> keys -> candidates; candidates -> verdicts -> pairs.
fn propose<'s>(stage: &Stage, bands: &Bands, births: Vec<Birth>, scope: Scope<'s, ()>) {
    let by_bucket = |band: usize| {
        let bands = bands.clone();
        move |key: u64| bands.route(band, key)
    };
    let births: Flow<'s, Birth> = stage.begin(scope, "births", move |_, give| {
        births.into_iter().for_each(give);
        Ok(())
    });
    let (key, of) = (bands.clone(), bands.clone());
    let touched: Flow<'s, Touched> = stage.then(
        births.clone(),
        "groups",
        move |birth: &Birth| key.route(0, key.key(0, birth.fingerprint)),
        move |epoch, births, give| groups::groups(epoch, &of, births, give),
    );
    let (key, of) = (bands.clone(), bands.clone());
    let near: Flow<'s, NearFingerprints> = stage.then(
        touched,
        "bands",
        move |touch: &Touched| key.route(touch.band as usize, touch.key),
        move |epoch, touched, give| buckets::buckets(epoch, &of, touched, give),
    );
    let key = by_bucket(0);
    let visitors: Flow<'s, Visitor> = stage.then(near, "visit", move |pair| key(pair.a), resolve::visitors);
    let (key, of) = (by_bucket(0), bands.clone());
    let candidates: Flow<'s, Candidate> = stage.then(
        visitors,
        "meet",
        move |visitor: &Visitor| key(visitor.to),
        move |epoch, visitors, give| {
            let distance = |a, b| (of.unkey(0, a) ^ of.unkey(0, b)).count_ones();
            resolve::meet(epoch, visitors, distance, give)
        },
    );
    let keys: Flow<'s, KeyTouch> = stage.begin(scope, "key_touches", keys::touched);
    let alike: Flow<'s, Candidate> = stage.then(keys, "keys", |touch| touch.key, keys::keys);
    let gone: Flow<'s, Candidate> = stage.then(births, "gone", |birth| birth.content.high, pairs::gone);
    let told = both(both(candidates, alike), gone);
    let changes: Flow<'s, PairChange> = stage.then(told, "confirm", |told| told.content.high, pairs::confirm);
    stage.end(changes, "pairs", |row| row.content.high, pairs::pairs);
}

/// Changed pairs -> touched components, whole -> forests or, where a pair was taken back, edges -> labels. The dataflow is the same either
/// way; the way not taken gets no rows.
pub fn join<'s>(stage: &Stage, scope: Scope<'s, ()>) {
    let to = |link: &Link| link.to.high;
    let asked: Flow<'s, Link> = stage.begin(scope, "touch_components", components::touched);
    let touched: Flow<'s, Link> = stage.then(asked, "spread", to, components::spread);
    let pairs: Flow<'s, Link> = stage.then(touched, "forests", to, components::forests);
    let [trees, edges, alone] =
        [TREE, EDGE, ALONE].map(|kind| pairs.clone().filter(move |link: &Link| link.kind == kind));
    let joined: Flow<'s, Link> = stage.then(trees, "join", |_| 0, components::join);
    let labels = both(both(joined, propagate(edges)), alone);
    let members: Flow<'s, Membership> = stage.then(labels, "label", to, components::label);
    stage.end(members, "components", |member| member.component.high, components::members);
}

/// Changed pages and components -> touched clusters, whole -> representatives, and who leads whom.
pub fn publish<'s>(stage: &Stage, scope: Scope<'s, ()>) {
    let component = |fact: &Fact| fact.component.high;
    let redated: Flow<'s, Id> = stage.begin(scope, "redated", clusters::redated);
    let touched: Flow<'s, Fact> = stage.then(redated, "touch_clusters", |content| content.high, clusters::touched);
    let named: Flow<'s, Fact> = stage.then(touched, "name_contents", component, clusters::name_contents);
    let paged: Flow<'s, Fact> = stage.then(named, "name_pages", Fact::routing_key, clusters::name_pages);
    let ranked: Flow<'s, Fact> = stage.then(paged, "rank_pages", Fact::routing_key, clusters::rank_pages);
    let led: Flow<'s, Led> = stage.then(ranked, "clusters", component, clusters::clusters);
    stage.end(led, "leaders", |led| led.content.high, leaders::leaders);
}

/// Builds the operators of one dataflow: each gathers by key, and thinks unless something has failed.
pub struct Stage {
    epoch: Rc<Epoch>,
    probe: Handle<()>,
}

/// What a stage gives on, row by row.
type Give<'a, O> = &'a mut dyn FnMut(O);

impl Stage {
    /// The builder of a dataflow of `epoch`.
    pub fn new(epoch: &Rc<Epoch>) -> Stage {
        Stage { epoch: epoch.clone(), probe: Handle::new() }
    }

    /// Done when the dataflow's last operator is, on all workers.
    pub fn probe(&self) -> &Handle<()> {
        &self.probe
    }

    /// The first operator, which looks at what lies there.
    pub fn begin<'s, O: Row>(
        &self,
        scope: Scope<'s, ()>,
        name: &'static str,
        think: impl FnOnce(&Epoch, Give<'_, O>) -> Result<()> + 'static,
    ) -> Flow<'s, O> {
        let epoch = self.epoch.clone();
        produce(scope, name, move |give| {
            epoch.attempt(|| think(&epoch, give));
            epoch.ended(name);
        })
    }

    /// An operator between others; `key` gives the leading bits of the key whose owner gets a row.
    fn then<'s, R: Row, O: Row>(
        &self,
        rows: Flow<'s, R>,
        name: &'static str,
        key: impl Fn(&R) -> u64 + 'static,
        think: impl FnOnce(&Epoch, &[R], Give<'_, O>) -> Result<()> + 'static,
    ) -> Flow<'s, O> {
        let (router, epoch) = (self.epoch.clone(), self.epoch.clone());
        let owner = move |row: &R| router.owner(key(row));
        gather(rows, name, owner, move |rows, give| {
            epoch.attempt(|| think(&epoch, &rows, give));
            epoch.ended(name);
        })
    }

    /// The last operator, which gives nothing on.
    fn end<R: Row>(
        &self,
        rows: Flow<'_, R>,
        name: &'static str,
        key: impl Fn(&R) -> u64 + 'static,
        think: impl FnOnce(&Epoch, &[R]) -> Result<()> + 'static,
    ) {
        let nothing: Flow<'_, Id> = self.then(rows, name, key, |epoch, rows, _| think(epoch, rows));
        nothing.probe_with(&self.probe);
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
