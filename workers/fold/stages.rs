//! The dataflows of an epoch, one after the other: which stage gets the rows of which.

use crate::candidates::bands::Bands;
use crate::fold::buckets::{self, NearFingerprints};
use crate::fold::clusters::{self, RankedPage};
use crate::fold::components::{self, ComponentEdge, Label, Membership, Method, Retracted, Touch};
use crate::fold::contents::{self, ContentChange};
use crate::fold::dataflow::Dataflow;
use crate::fold::epoch::Epoch;
use crate::fold::evidence::{self, EvidenceSegment};
use crate::fold::gather::{Flow, both};
use crate::fold::groups::{self, TouchedFingerprint};
use crate::fold::incumbents::{self, EarlierMember, EarlierPage, Incumbent, SharedContent};
use crate::fold::ingest::{self, Queue};
use crate::fold::keys::{self, KeyTouch};
use crate::fold::leaders::{self, Led};
use crate::fold::pages::{self, PageContent};
use crate::fold::pairs::{self, DeletedPair, PairChange};
use crate::fold::propagate::propagate;
use crate::fold::renewals::{self, Renewal};
use crate::fold::resolve::{self, Candidate, GroupMember};
use crate::fold::successors::{self, DeadPair, Linked, Succeeded, Succession, SuccessorCandidate};
use crate::fold::touched::{AcceptedPair, TouchedContent, TouchedPage};
use crate::id::Id;
use crate::store::segment::SegmentRef;
use crate::text::simhash;
use crate::visit::VisitMaker;
use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};
use timely::dataflow::Scope;
use timely::dataflow::operators::core::Filter;
use timely::dataflow::operators::probe::Handle;
use timely::worker::Worker;

/// Builds and runs all dataflows of an epoch on one worker.
pub fn stages(
    worker: &mut Worker,
    epoch: &Rc<Epoch>,
    bands: &Bands,
    queue: Queue,
    maker: Option<VisitMaker>,
) {
    let probe = Handle::new();
    worker.dataflow::<(), _, _>(|scope| ingest::ingest(scope, epoch, queue, maker, &probe));
    barrier(worker, epoch, &probe);
    epoch.show_stage("ingest");

    let Decided { evidence, method } = pages_to_pairs(worker, epoch, bands, |dataflow, scope| {
        dataflow.begin(scope, "pages", pages::pages)
    });

    let dataflow = Dataflow::new(epoch);
    worker.dataflow::<(), _, _>(|scope| components_dataflow(&dataflow, method, scope));
    barrier(worker, epoch, dataflow.probe());

    let dataflow = Dataflow::new(epoch);
    worker.dataflow::<(), _, _>(|scope| clusters_dataflow(&dataflow, scope));
    barrier(worker, epoch, dataflow.probe());

    let linked: Shared<Linked> = Shared::default();
    let (dataflow, slot) = (Dataflow::new(epoch), linked.clone());
    worker.dataflow::<(), _, _>(|scope| {
        let went: Flow<'_, Id> = dataflow.begin(scope, "successors.went", successors::went);
        dataflow.end(
            went,
            "successors.linked",
            |content| content.high,
            move |epoch, went| {
                slot.replace(successors::linked(epoch, went)?);
                Ok(())
            },
        );
    });
    barrier(worker, epoch, dataflow.probe());

    let (dataflow, linked) = (Dataflow::new(epoch), Rc::new(linked.take()));
    worker.dataflow::<(), _, _>(|scope| successors_dataflow(&dataflow, linked, evidence, scope));
    barrier(worker, epoch, dataflow.probe());
}

/// What is known when all pairs are decided.
pub struct Decided {
    /// The segments of evidence that all workers wrote.
    pub evidence: Vec<SegmentRef>,
    /// How components are computed: this depends on whether any worker retracted an accepted pair.
    pub method: Method,
}

/// Applies the page changes of an epoch: contents and their evidence, then candidates, then pairs.
/// `page_changes` is a parameter because the oracle of `verify` gives changes without inputs.
pub(crate) fn pages_to_pairs(
    worker: &mut Worker,
    epoch: &Rc<Epoch>,
    bands: &Bands,
    page_changes: impl for<'s> FnOnce(&Dataflow, Scope<'s, ()>) -> Flow<'s, PageContent>,
) -> Decided {
    let changed: Shared<Vec<ContentChange>> = Shared::default();
    let (dataflow, slot) = (Dataflow::new(epoch), changed.clone());
    worker.dataflow::<(), _, _>(|scope| {
        let page_changes = page_changes(&dataflow, scope);
        let content = |row: &PageContent| row.content.high;
        dataflow.end(page_changes, "contents", content, move |epoch, changes| {
            slot.replace(contents::contents(epoch, changes)?);
            Ok(())
        });
    });
    barrier(worker, epoch, dataflow.probe());

    // Verdicts need the evidence of contents that other workers own.
    let evidence: Shared<Vec<SegmentRef>> = Shared::default();
    let (dataflow, slot) = (Dataflow::new(epoch), evidence.clone());
    worker.dataflow::<(), _, _>(|scope| {
        let segments: Flow<'_, EvidenceSegment> =
            dataflow.begin(scope, "evidence.broadcast", evidence::broadcast);
        dataflow.end(segments, "evidence", EvidenceSegment::to, move |_, segments| {
            slot.replace(segments.iter().map(EvidenceSegment::segment).collect());
            Ok(())
        });
    });
    barrier(worker, epoch, dataflow.probe());

    let evidence = evidence.take();
    let retracted: Shared<bool> = Shared::default();
    let (dataflow, slot) = (Dataflow::new(epoch), retracted.clone());
    worker.dataflow::<(), _, _>(|scope| {
        let broadcast = pairs_dataflow(&dataflow, bands, changed.take(), evidence.clone(), scope);
        dataflow.end(
            broadcast,
            "pairs",
            |row: &Retracted| row.to,
            move |_, rows| {
                slot.replace(!rows.is_empty());
                Ok(())
            },
        );
    });
    barrier(worker, epoch, dataflow.probe());
    let method = if retracted.take() { Method::Propagate } else { Method::Join };
    Decided { evidence, method }
}

/// Proposes pairs by fingerprint (groups, buckets, resolve) and by keys, and decides and stores
/// them.
fn pairs_dataflow<'s>(
    dataflow: &Dataflow,
    bands: &Bands,
    changes: Vec<ContentChange>,
    evidence: Vec<SegmentRef>,
    scope: Scope<'s, ()>,
) -> Flow<'s, Retracted> {
    let changes: Flow<'s, ContentChange> =
        dataflow.begin(scope, "contents.changes", move |_, emit| {
            changes.into_iter().for_each(emit);
            Ok(())
        });
    let by_fingerprint = propose_by_fingerprint(dataflow, bands, changes.clone());
    let keys: Flow<'s, KeyTouch> = dataflow.begin(scope, "keys.touched", keys::touched);
    let by_key: Flow<'s, Candidate> = dataflow.then(keys, "keys", |touch| touch.key, keys::keys);
    let deleted: Flow<'s, DeletedPair> =
        dataflow.then(changes, "pairs.deleted", |change| change.content.high, pairs::deleted);
    let pairs: Flow<'s, PairChange> = dataflow.then_both(
        (both(by_fingerprint, by_key), |candidate: &Candidate| candidate.content.high),
        (deleted, |pair: &DeletedPair| pair.content.high),
        "pairs.confirm",
        move |epoch, candidates, deleted, emit| {
            pairs::confirm(epoch, &evidence, candidates, deleted, emit)
        },
    );
    dataflow.then(
        pairs,
        "pairs.store",
        |row| row.content.high,
        |epoch, changes, emit| {
            pairs::pairs(epoch, changes)?;
            components::retracted(epoch, emit)
        },
    )
}

/// Proposes pairs of contents whose fingerprints are near.
fn propose_by_fingerprint<'s>(
    dataflow: &Dataflow,
    bands: &Bands,
    changes: Flow<'s, ContentChange>,
) -> Flow<'s, Candidate> {
    // A group is on the worker that owns the bucket of its fingerprint in the first band.
    let route_group = || {
        let bands = bands.clone();
        move |key: u64| bands.route(0, key)
    };
    let (routes, bands_of_groups) = (bands.clone(), bands.clone());
    let touched: Flow<'s, TouchedFingerprint> = dataflow.then(
        changes,
        "groups",
        move |change: &ContentChange| routes.route(0, routes.key(0, change.fingerprint)),
        move |epoch, changes, emit| groups::groups(epoch, &bands_of_groups, changes, emit),
    );
    let (routes, bands_of_buckets) = (bands.clone(), bands.clone());
    let near: Flow<'s, NearFingerprints> = dataflow.then(
        touched,
        "buckets",
        move |touch: &TouchedFingerprint| routes.route(touch.band as usize, touch.key),
        move |epoch, touched, emit| buckets::buckets(epoch, &bands_of_buckets, touched, emit),
    );
    let route = route_group();
    let members: Flow<'s, GroupMember> = dataflow.then(
        near,
        "resolve.group_members",
        move |pair| route(pair.a),
        resolve::group_members,
    );
    let (route, bands) = (route_group(), bands.clone());
    dataflow.then(
        members,
        "resolve",
        move |member: &GroupMember| route(member.to),
        move |epoch, members, emit| {
            let distance = |a, b| simhash::distance(bands.unkey(0, a), bands.unkey(0, b));
            resolve::resolve(epoch, members, distance, emit)
        },
    )
}

/// Computes the components that changed pairs touch: with union-find over the forests of all
/// workers, or by label propagation.
pub fn components_dataflow<'s>(dataflow: &Dataflow, method: Method, scope: Scope<'s, ()>) {
    let content = |content: &Id| content.high;
    let touched: Flow<'s, Touch> = dataflow.begin(scope, "components.touched", components::touched);
    let spread: Flow<'s, Id> = dataflow.then(
        touched,
        "components.spread",
        |touch| touch.component.high,
        components::spread,
    );
    // `edges` and `label` run on the same worker: the owner of a content.
    let alone: Shared<Vec<Id>> = Shared::default();
    let slot = alone.clone();
    let edges: Flow<'s, ComponentEdge> =
        dataflow.then(spread, "components.edges", content, move |epoch, contents, emit| {
            slot.replace(components::edges(epoch, contents, method, emit)?);
            Ok(())
        });
    let forests = edges.clone().filter(move |_: &ComponentEdge| method == Method::Join);
    let pairs = edges.filter(move |_: &ComponentEdge| method == Method::Propagate);
    let joined: Flow<'s, Label> =
        dataflow.then(forests, "components.join", |_| 0, components::join);
    let labels = both(joined, propagate(pairs));
    let members: Flow<'s, Membership> = dataflow.then(
        labels,
        "components.label",
        |label: &Label| label.content.high,
        move |epoch, labels, emit| components::label(epoch, labels, &alone.take(), method, emit),
    );
    dataflow.end(members, "components", |member| member.component.high, components::components);
}

/// Computes the clusters and leaders of the components that changed pages and pairs touch.
fn clusters_dataflow<'s>(dataflow: &Dataflow, scope: Scope<'s, ()>) {
    let content = |touched: &TouchedContent| touched.content.high;
    let redated: Flow<'s, Id> = dataflow.begin(scope, "clusters.redated", clusters::redated);
    let touched: Flow<'s, Id> =
        dataflow.then(redated, "clusters.touched", |id| id.high, clusters::touched);
    // `contents` and `clusters` run on the same worker: the owner of a component.
    let components: Shared<Vec<Id>> = Shared::default();
    let slot = components.clone();
    let contents: Flow<'s, TouchedContent> = dataflow.then(
        touched,
        "clusters.contents",
        |id| id.high,
        move |epoch, touched, emit| {
            let mut touched = touched.to_vec();
            touched.dedup();
            clusters::contents(epoch, &touched, emit)?;
            slot.replace(touched);
            Ok(())
        },
    );
    let contents: Flow<'s, TouchedContent> =
        dataflow.then(contents, "clusters.current", content, clusters::current);
    let pairs: Flow<'s, AcceptedPair> = dataflow.then(
        contents.clone(),
        "clusters.accepted_pairs",
        content,
        clusters::accepted_pairs,
    );
    let pages: Flow<'s, TouchedPage> =
        dataflow.then(contents.clone(), "clusters.pages", content, clusters::pages);
    let doc = |page: &TouchedPage| page.doc.high;
    let earlier: Flow<'s, EarlierPage> =
        dataflow.then(pages.clone(), "clusters.earlier_pages", doc, incumbents::pages);
    let earlier: Flow<'s, EarlierMember> = dataflow.then(
        earlier,
        "clusters.earlier_members",
        |page| page.content.high,
        incumbents::members,
    );
    let shared: Flow<'s, SharedContent> =
        dataflow.then(contents, "clusters.shared_contents", content, incumbents::shared);
    let held: Flow<'s, Incumbent> = dataflow.then_both(
        (earlier, |member: &EarlierMember| member.component.high),
        (shared, |shared: &SharedContent| shared.before.high),
        "clusters.incumbents",
        incumbents::incumbents,
    );
    let ranked: Flow<'s, RankedPage> = dataflow.then_both(
        (pages, doc),
        (held, |page: &Incumbent| page.doc.high),
        "clusters.rank",
        clusters::rank,
    );
    let led: Flow<'s, Led> = dataflow.then_both(
        (ranked, |page: &RankedPage| page.component.high),
        (pairs, |pair: &AcceptedPair| pair.component.high),
        "clusters",
        move |epoch, pages, pairs, emit| {
            clusters::clusters(epoch, &components.take(), pages, pairs, emit)
        },
    );
    dataflow.end(led, "leaders", |led| led.content.high, leaders::leaders);
}

/// Finds the successors of the contents that dead links lead to and that the epoch left without a
/// page. `evidence` are the segments that all workers wrote.
fn successors_dataflow<'s>(
    dataflow: &Dataflow,
    linked: Rc<Linked>,
    evidence: Vec<SegmentRef>,
    scope: Scope<'s, ()>,
) {
    let content = |touched: &TouchedContent| touched.content.high;
    // All operators that read it run where the content is owned.
    let [of_touched, of_members, of_pairs, of_renewed] = [(); 4].map(|()| linked.clone());
    let touched: Flow<'s, Id> = dataflow.begin(scope, "successors.touched", move |epoch, emit| {
        successors::touched(epoch, &of_touched, emit)
    });
    let contents: Flow<'s, TouchedContent> = dataflow.then(
        touched,
        "successors.contents",
        |component| component.high,
        successors::contents,
    );
    let members: Flow<'s, SuccessorCandidate> = dataflow.then(
        contents.clone(),
        "successors.members",
        content,
        move |epoch, contents, emit| successors::members(epoch, contents, &of_members, emit),
    );
    let pairs: Flow<'s, DeadPair> =
        dataflow.then(contents, "successors.pairs", content, move |epoch, contents, emit| {
            successors::pairs(epoch, contents, &of_pairs, emit)
        });
    let chosen: Flow<'s, Succession> = dataflow.then_both(
        (members, |member: &SuccessorCandidate| member.component.high),
        (pairs, |pair: &DeadPair| pair.component.high),
        "successors.choose",
        |_, members, pairs, emit| {
            successors::choose(members, pairs).into_iter().for_each(emit);
            Ok(())
        },
    );
    let candidates: Flow<'s, Renewal> =
        dataflow.begin(scope, "successors.candidates", renewals::candidates);
    let renewed: Flow<'s, Succession> = dataflow.then(
        candidates,
        "successors.renewed",
        |candidate| candidate.content.high,
        move |epoch, candidates, emit| {
            renewals::decide(epoch, &evidence, &of_renewed, candidates, emit)
        },
    );
    let meant: Flow<'s, Succession> =
        dataflow.then(renewed, "successors.meant", |one| one.successor.high, renewals::meant);
    let best: Flow<'s, Succeeded> = dataflow.then(
        both(chosen, meant),
        "successors.best",
        |one| one.content.high,
        move |epoch, found, emit| {
            successors::best(epoch, found, &linked, emit);
            Ok(())
        },
    );
    dataflow.end(best, "successors", |one| one.content.high, successors::successors);
}

/// A value that one operator stores for a later one on the same worker.
type Shared<T> = Rc<RefCell<T>>;

/// The longest time that a worker without work sleeps. A message wakes it earlier.
const PARK: Duration = Duration::from_millis(50);

/// Steps the worker until the dataflow behind `probe` is complete on all workers.
fn barrier(worker: &mut Worker, epoch: &Epoch, probe: &Handle<()>) {
    while !probe.done() {
        let began = Instant::now();
        worker.step_or_park(Some(PARK));
        // A step that takes as long as `PARK` counts as idle: the worker slept, or was in an
        // operator, which counts its own progress. The count only serves to detect a stuck process.
        epoch.record_turn(began.elapsed() >= PARK);
    }
}
