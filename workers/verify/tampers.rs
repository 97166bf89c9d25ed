//! Changes to a store's tables that no digest and no sum shows, each with exactly the checks of a
//! deep look that must find it.

use crate::candidates::pivots::PIVOTS;
use crate::confirm::{Options, by_fingerprint};
use crate::id::Id;
use crate::store::manifest::{Run, TableState};
use crate::store::runs::Table;
use crate::store::table::Row;
use crate::store::{Store, segment};
use crate::tables::pages::CAUSE_REMOVED;
use crate::tables::visits::TOO_SHORT;
use crate::tables::{
    BandRow, ClusterRow, ComponentRow, ContentPageRow, ContentRow, EvidenceRow, GoneRow, GroupRow,
    KeyRow, LeaderRow, MemberRow, PageRow, PairRow, SuccessorRow, UrlRow, band_table,
};
use std::collections::{BTreeMap, BTreeSet};

/// A store's tables, to be changed.
pub struct Tamper<'a> {
    pub store: &'a Store,
    pub tables: BTreeMap<String, TableState>,
}

impl Tamper<'_> {
    fn rows<R: Row>(&self) -> Vec<R> {
        self.rows_of(R::NAME)
    }

    fn rows_of<R: Row>(&self, name: &str) -> Vec<R> {
        let table: Table<R> =
            Table::open(&self.store.data().join(name), self.tables.get(name)).expect("mapped");
        table.portions(1000).flatten().collect()
    }

    /// Adds `rows` to their table as a run of their own.
    fn add<R: Row>(&mut self, rows: Vec<R>) {
        self.add_to(R::NAME, rows);
    }

    fn add_to<R: Row>(&mut self, name: &str, mut rows: Vec<R>) {
        rows.sort_unstable();
        let written =
            segment::write(&self.store.data().join(name), "tamper", rows).expect("written");
        let run = Run { epoch: 9, segments: written.into_iter().collect() };
        self.tables.entry(name.to_owned()).or_default().append(run).expect("appended");
    }

    /// Replaces the rows of a table by those that `change` makes of them.
    fn edit<R: Row>(&mut self, change: impl FnOnce(&mut Vec<R>)) {
        self.edit_table(R::NAME, change);
    }

    fn edit_table<R: Row>(&mut self, name: &str, change: impl FnOnce(&mut Vec<R>)) {
        let mut rows = self.rows_of(name);
        let before = rows.clone();
        change(&mut rows);
        assert_ne!(rows, before, "{name}: nothing changed");
        self.tables.remove(name);
        self.add_to(name, rows);
    }

    fn edit_band(&mut self, band: usize, change: impl FnOnce(&mut Vec<BandRow>)) {
        self.edit_table(&band_table(band), change);
    }

    fn drop_last<R: Row>(&mut self) {
        self.edit(|rows: &mut Vec<R>| rows.truncate(rows.len() - 1));
    }

    fn add_pair(&mut self, content: Id, other: Id, distance: u32) {
        let verdict = by_fingerprint(distance, &Options::default());
        let decided = |content, other| PairRow {
            content,
            other,
            distance: distance as u8,
            similarity: verdict.similarity,
            reason: verdict.reason as u8,
            accepted: verdict.accepted.into(),
            proposals: 1,
            diff: 1,
        };
        self.edit(|rows| rows.extend([decided(content, other), decided(other, content)]));
    }

    fn drop_pair(&mut self, a: Id, b: Id) {
        let ends = [(a, b), (b, a)];
        self.edit(|rows: &mut Vec<PairRow>| {
            rows.retain(|row| !ends.contains(&(row.content, row.other)))
        });
    }

    /// The contents of the largest group, which has 80: the first 64 are pivots.
    fn large_group(&self) -> Vec<Id> {
        let rows: Vec<GroupRow> = self.rows();
        let largest =
            rows.chunk_by(|a, b| a.key == b.key).max_by_key(|group| group.len()).expect("a group");
        assert_eq!(largest.len(), 80);
        largest.iter().map(|row| row.content).collect()
    }

    /// The `nth` component of two contents with a page each: the lesser content, which names it,
    /// and the other.
    fn small_component(&self, nth: usize) -> (Id, Id) {
        let clusters: Vec<ClusterRow> = self.rows();
        let members: Vec<MemberRow> = self.rows();
        let whole = |row: &&ClusterRow| {
            members.iter().filter(|member| member.component == row.component).count() == 2
        };
        let small = clusters.iter().filter(|row| (row.pages, row.contents) == (2, 2)).filter(whole);
        let row = { small }.nth(nth).expect("small ones");
        let of = |member: &&MemberRow| {
            member.component == row.component && member.content != row.component
        };
        (row.component, members.iter().find(of).expect("another content").content)
    }

    /// Renames component `from` to `to` in the tables of components.
    fn rename(&mut self, from: Id, to: Id) {
        let renamed =
            |component: &mut Id| *component = if *component == from { to } else { *component };
        self.edit(|rows: &mut Vec<ComponentRow>| {
            rows.iter_mut().for_each(|row| renamed(&mut row.component));
        });
        self.edit(|rows: &mut Vec<MemberRow>| {
            rows.iter_mut().for_each(|row| renamed(&mut row.component));
        });
    }

    /// A content that has a fingerprint and no pair.
    fn lone_content(&self) -> Id {
        let paired: BTreeSet<Id> = self.rows::<PairRow>().iter().map(|row| row.content).collect();
        let rows: Vec<GroupRow> = self.rows();
        rows.iter().find(|row| !paired.contains(&row.content)).expect("one").content
    }

    /// A content that has evidence, but neither a pair nor a key.
    fn quiet_content(&self) -> Id {
        let paired: BTreeSet<Id> = self.rows::<PairRow>().iter().map(|row| row.content).collect();
        let rows: Vec<EvidenceRow> = self.rows();
        let quiet = |row: &&EvidenceRow| row.keys.is_empty() && !paired.contains(&row.content);
        rows.iter().find(quiet).expect("one").content
    }

    fn change_evidence(&mut self, content: Id, change: impl FnOnce(&mut EvidenceRow)) {
        self.edit(|rows: &mut Vec<EvidenceRow>| {
            change(rows.iter_mut().find(|row| row.content == content).expect("its row"));
        });
    }

    fn drop_evidence(&mut self, content: Id) {
        self.edit(|rows: &mut Vec<EvidenceRow>| rows.retain(|row| row.content != content));
    }

    fn change_lone_content(&mut self, change: impl FnOnce(&mut ContentRow)) {
        let lone = self.lone_content();
        self.edit(|rows: &mut Vec<ContentRow>| {
            change(rows.iter_mut().find(|row| row.content == lone).expect("its row"));
        });
    }

    /// A content that is too short and has one page.
    fn short_content(&self) -> Id {
        let contents: Vec<ContentRow> = self.rows();
        let short: BTreeSet<Id> =
            contents.iter().filter(|row| row.flags == TOO_SHORT).map(|row| row.content).collect();
        let pages: Vec<ContentPageRow> = self.rows();
        let alone = |rows: &&[ContentPageRow]| rows.len() == 1 && short.contains(&rows[0].content);
        pages.chunk_by(|a, b| a.content == b.content).find(alone).expect("one")[0].content
    }

    fn change_short_page(&mut self, change: impl FnOnce(&mut PageRow)) {
        let short = self.short_content();
        self.edit(|rows: &mut Vec<PageRow>| {
            change(rows.iter_mut().find(|row| row.content == short).expect("its page"));
        });
    }

    /// A page without text.
    fn empty_page(&self) -> Id {
        self.rows::<PageRow>().iter().find(|row| row.content.is_none()).expect("one").doc
    }

    /// Changes the first cluster of at least `pages_min` pages.
    fn change_cluster(&mut self, pages_min: u32, change: impl FnOnce(&mut ClusterRow)) {
        self.edit(|rows: &mut Vec<ClusterRow>| {
            change(rows.iter_mut().find(|row| row.pages >= pages_min).expect("a cluster"));
        });
    }

    /// Adds a copy of some cluster under another component.
    fn copy_cluster(&mut self, component: Id) {
        let row = self.rows::<ClusterRow>()[0].clone();
        self.edit::<ClusterRow>(|rows| {
            rows.push(ClusterRow { component, leader: component, ..row })
        });
    }

    fn drop_cluster(&mut self, which: impl Fn(&ClusterRow) -> bool) {
        self.edit(|rows: &mut Vec<ClusterRow>| {
            let at = rows.iter().position(which).expect("a cluster");
            rows.remove(at);
        });
    }
}

/// The name of a change, the change, and the checks that find it, sorted by name.
pub type Case = (&'static str, fn(&mut Tamper<'_>), &'static [&'static str]);

/// The changes to a store with a radius of 0, where components are clusters.
pub const TAMPERS: &[Case] = &[
    ("a row added twice", |t| t.add(vec![t.rows::<PageRow>()[7].clone()]), &["rows"]),
    (
        "a retracted row that never was",
        |t| t.add_to(&band_table(2), vec![BandRow { key: 5, diff: -1 }]),
        &["rows"],
    ),
    ("a key with two rows", |t| t.add(vec![odd_content(t.large_group()[0])]), &["rows"]),
    ("a URL dropped", |t| t.drop_last::<UrlRow>(), &["urls"]),
    ("a live page that is gone", |t| gone_and_live(t), &["gone"]),
    ("a live content with a successor", |t| succeed_live(t), &["successors"]),
    (
        "a content that is gone and names itself",
        |t| t.edit::<SuccessorRow>(|rows| rows.push(odd_successor(Id::MAX, Id::MAX, 1))),
        &["successors"],
    ),
    ("a content that succeeds its successor", |t| succeed_in_a_circle(t), &["successors"]),
    (
        "another URL that is gone",
        |t| t.edit::<GoneRow>(|rows| rows.push(odd_gone(Id::MAX, b"x"))),
        &["gone"],
    ),
    ("a URL of no page", |t| t.edit::<UrlRow>(|rows| rows.push(odd_url())), &["urls"]),
    ("another URL", |t| t.edit::<UrlRow>(|rows| rows[4].url[9] ^= 1), &["urls"]),
    ("another length of a URL", |t| t.change_short_page(|row| row.url_bytes += 1), &["urls"]),
    ("another host", |t| t.change_short_page(|row| row.host += 1), &["urls"]),
    (
        "a page that lost its content",
        |t| t.change_short_page(|row| row.content = Id::NONE),
        &["content_pages"],
    ),
    ("a page of a content dropped", |t| drop_page(t), &["clusters", "content_pages", "leaders"]),
    (
        "a page without text under a content",
        |t| add_page(t, t.short_content()),
        &["clusters", "content_pages"],
    ),
    (
        "a page without text under no content",
        |t| add_page(t, Id::NONE),
        &["content_pages", "contents"],
    ),
    ("a content dropped", |t| drop_content(t, t.short_content()), &["contents"]),
    (
        "a content that is gathered now",
        |t| t.change_lone_content(|row| row.gathered_pages = 9),
        &["contents"],
    ),
    ("a page that is gathered now", |t| t.change_short_page(|row| row.gathered = 1), &["contents"]),
    (
        "a content of no page",
        |t| t.edit::<ContentRow>(|rows| rows.push(odd_content(Id::MAX))),
        &["contents"],
    ),
    (
        "a content that is short now",
        |t| t.change_lone_content(|row| row.flags = TOO_SHORT),
        &["evidence", "fingerprint_contents"],
    ),
    (
        "another fingerprint",
        |t| t.change_lone_content(|row| row.fingerprint ^= 1),
        &["evidence", "fingerprint_contents"],
    ),
    ("evidence dropped", |t| t.drop_evidence(t.quiet_content()), &["evidence"]),
    (
        "evidence of no content",
        |t| t.change_evidence(t.quiet_content(), |row| row.content = Id::MAX),
        &["evidence"],
    ),
    (
        "evidence of another length",
        |t| t.change_evidence(t.quiet_content(), |row| row.chars += 1),
        &["evidence"],
    ),
    (
        "another text",
        |t| t.change_evidence(t.quiet_content(), |row| row.text = (*b"\0x").into()),
        &["evidence"],
    ),
    (
        "damaged sketches",
        |t| t.change_evidence(t.quiet_content(), |row| row.sketches = (*b"x").into()),
        &["evidence"],
    ),
    (
        "half a key",
        |t| t.change_evidence(t.quiet_content(), |row| row.keys = (*b"x").into()),
        &["evidence"],
    ),
    ("a key that is not stored", |t| t.drop_last::<KeyRow>(), &["keys"]),
    ("a key of no content", |t| t.edit::<KeyRow>(|rows| rows.push(odd_key())), &["keys"]),
    (
        "a group that lacks a content",
        |t| drop_from_group(t, t.large_group()[79]),
        &["fingerprint_contents", "unexamined"],
    ),
    (
        "a group with an unknown content",
        |t| add_to_group(t, Id::MAX),
        &["fingerprint_contents", "recall"],
    ),
    (
        "a group with a short content",
        |t| add_to_group(t, t.short_content()),
        &["fingerprint_contents", "recall"],
    ),
    (
        "a fingerprint that a band lacks",
        |t| t.edit_band(1, |rows| rows.truncate(rows.len() - 1)),
        &["bands"],
    ),
    (
        "a fingerprint of no content",
        |t| t.edit_band(3, |rows| rows.push(BandRow { key: 77, diff: 1 })),
        &["bands"],
    ),
    (
        "a band that the store has not",
        |t| t.add_to(&band_table(4), vec![BandRow { key: 77, diff: 1 }]),
        &["bands"],
    ),
    ("a pair in one direction", |t| t.drop_last::<PairRow>(), &["pairs"]),
    ("directions that differ", |t| t.edit::<PairRow>(|rows| rows[11].similarity -= 1), &["pairs"]),
    ("another distance", |t| change_pairs(t, |row| row.distance += 1), &["pairs"]),
    ("another verdict", |t| change_pairs(t, |row| row.similarity /= 2), &["pairs"]),
    ("another signature", |t| change_pairs(t, |row| row.proposals = 0x100), &["pairs", "recall"]),
    ("a key that proposes", |t| change_pairs(t, |row| row.proposals += 0x100), &["pairs"]),
    (
        "a pair with a content that does not live",
        |t| t.add_pair(t.large_group()[0], Id::MAX, 0),
        &["components", "pairs"],
    ),
    (
        "a short content's pair",
        |t| t.add_pair(t.large_group()[0], t.short_content(), 1),
        &["components", "pairs"],
    ),
    (
        "a pair beyond k",
        |t| t.add_pair(t.large_group()[0], t.lone_content(), 3),
        &["components", "pairs"],
    ),
    (
        "a pair without a pivot",
        |t| t.add_pair(t.large_group()[PIVOTS], t.large_group()[PIVOTS + 1], 0),
        &["pivots"],
    ),
    ("a component that is not stored", |t| drop_component(t), &["components", "leaders"]),
    ("a component under another name", |t| rename_component(t), &["components"]),
    (
        "two components as one",
        |t| t.rename(t.small_component(0).0, t.small_component(1).0),
        &["clusters", "components"],
    ),
    ("a component of one", |t| add_component(t, t.short_content()), &["components", "leaders"]),
    (
        "members that lack a content",
        |t| drop_member(t),
        &["clusters", "component_members", "components", "leaders"],
    ),
    (
        "members with another content",
        |t| add_member(t, t.short_content()),
        &["component_members", "components"],
    ),
    ("a cluster dropped", |t| t.drop_cluster(|row| row.contents > 1), &["clusters"]),
    (
        "a cluster of one content dropped",
        |t| t.drop_cluster(|row| row.contents == 1),
        &["clusters"],
    ),
    ("a cluster of one page", |t| t.copy_cluster(t.short_content()), &["clusters"]),
    ("a cluster of nothing", |t| t.copy_cluster(Id::MAX), &["clusters"]),
    ("a content in two clusters", |t| t.copy_cluster(t.small_component(0).1), &["clusters"]),
    ("another leader", |t| t.change_cluster(2, |row| row.leader = Id::MAX), &["clusters"]),
    ("another ClusterId", |t| t.change_cluster(2, |row| row.cluster = Id::MAX), &["clusters"]),
    ("other pages", |t| t.change_cluster(3, |row| row.pages += 1), &["clusters"]),
    ("other contents", |t| t.change_cluster(100, |row| row.contents -= 1), &["clusters"]),
    ("other hosts", |t| t.change_cluster(2, |row| row.hosts += 1), &["clusters"]),
    ("another diameter", |t| t.change_cluster(100, |row| row.diameter += 1), &["clusters"]),
    (
        "another representative",
        |t| t.change_cluster(2, |row| row.representative = row.cluster),
        &["clusters"],
    ),
    (
        "a near pair within a group",
        |t| t.drop_pair(t.large_group()[0], t.large_group()[70]),
        &["recall"],
    ),
    ("a pair by a key alone", |t| drop_keyed_pair(t), &["key_recall"]),
    ("a near pair of two groups", |t| drop_distant_pair(t), &["recall"]),
    ("a near pair that joins", |t| drop_joint(t), &["clusters", "components", "recall"]),
];

/// The changes to a store with a radius of 1.
pub const LED_TAMPERS: &[Case] = &[
    ("a key with two rows", |t| t.add(vec![odd_leader(t.small_component(0).0)]), &["rows"]),
    ("another leader", |t| t.edit::<LeaderRow>(|rows| rows[11].leader = Id::MAX), &["leaders"]),
    ("a leader dropped", |t| t.drop_last::<LeaderRow>(), &["leaders"]),
    (
        "a leader of no content",
        |t| t.edit::<LeaderRow>(|rows| rows.push(odd_leader(Id::MAX))),
        &["leaders"],
    ),
    ("a leader of a content in no component", |t| lead_lone(t), &["leaders"]),
    ("all leaders but one dropped", |t| t.edit::<LeaderRow>(|rows| rows.truncate(1)), &["leaders"]),
    ("a cluster of several dropped", |t| drop_one_of_several(t), &["clusters"]),
    (
        "a cluster under another leader",
        |t| t.change_cluster(2, |row| row.leader = Id::MAX),
        &["clusters"],
    ),
    ("another diameter", |t| t.change_cluster(60, |row| row.diameter += 1), &["clusters"]),
    ("a near pair that joins", |t| drop_joint(t), &["clusters", "components", "recall"]),
];

fn odd_leader(content: Id) -> LeaderRow {
    LeaderRow { content, leader: Id::MAX, diff: 1 }
}

fn lead_lone(t: &mut Tamper<'_>) {
    let row = odd_leader(t.lone_content());
    t.edit::<LeaderRow>(|rows| rows.push(row));
}

/// Drops one of the clusters of a component that has several.
fn drop_one_of_several(t: &mut Tamper<'_>) {
    t.edit(|rows: &mut Vec<ClusterRow>| {
        let at =
            rows.windows(2).position(|two| two[0].component == two[1].component).expect("several");
        rows.remove(at);
    });
}

fn odd_content(content: Id) -> ContentRow {
    ContentRow {
        content,
        fingerprint: 0,
        chars: 1,
        letters: 100,
        gathered_pages: 0,
        flags: TOO_SHORT,
        diff: 1,
    }
}

fn odd_key() -> KeyRow {
    KeyRow { key: u64::MAX, kind: 1, content: Id::MAX, diff: 1 }
}

/// What is remembered of a page that is gone, with `url`.
fn odd_gone(doc: Id, url: &[u8]) -> GoneRow {
    let (content, date, as_of, cause, epoch, last_time) = (Id::NONE, 5, 5, CAUSE_REMOVED, 1, 0);
    let (url, moved_to) = (url.into(), Id::NONE);
    GoneRow { doc, url, content, moved_to, date, as_of, cause, epoch, last_time, diff: 1 }
}

/// A live page is remembered as gone.
fn gone_and_live(t: &mut Tamper<'_>) {
    let row = t.rows::<UrlRow>()[0].clone();
    t.edit::<GoneRow>(|rows| rows.push(odd_gone(row.doc, &row.url)));
}

fn odd_successor(content: Id, successor: Id, epoch: u32) -> SuccessorRow {
    SuccessorRow { content, successor, epoch, last_time: 0, diff: 1 }
}

fn succeed_live(t: &mut Tamper<'_>) {
    let row = odd_successor(t.lone_content(), Id::MAX, 1);
    t.edit::<SuccessorRow>(|rows| {
        rows.retain(|other| other.content != row.content);
        rows.push(row);
    });
}

fn succeed_in_a_circle(t: &mut Tamper<'_>) {
    let [a, b] = [b"a", b"b"].map(|text| Id::of(text));
    t.edit::<SuccessorRow>(|rows| rows.extend([odd_successor(a, b, 3), odd_successor(b, a, 4)]));
}

fn odd_url() -> UrlRow {
    UrlRow { doc: Id::MAX, url: Box::from(*b"x"), diff: 1 }
}

/// Drops one of a content's several pages.
fn drop_page(t: &mut Tamper<'_>) {
    t.edit(|rows: &mut Vec<ContentPageRow>| {
        let at = rows.windows(2).position(|two| two[0].content == two[1].content).expect("several");
        rows.remove(at);
    });
}

fn add_page(t: &mut Tamper<'_>, content: Id) {
    let row = ContentPageRow { content, doc: t.empty_page(), diff: 1 };
    t.edit::<ContentPageRow>(|rows| rows.push(row));
}

fn drop_content(t: &mut Tamper<'_>, content: Id) {
    t.edit(|rows: &mut Vec<ContentRow>| rows.retain(|row| row.content != content));
}

fn drop_from_group(t: &mut Tamper<'_>, content: Id) {
    t.edit(|rows: &mut Vec<GroupRow>| rows.retain(|row| row.content != content));
}

fn add_to_group(t: &mut Tamper<'_>, content: Id) {
    let row = t.rows::<GroupRow>()[0].clone();
    t.edit::<GroupRow>(|rows| rows.push(GroupRow { content, ..row }));
}

/// Changes both directions of a pair alike.
fn change_pairs(t: &mut Tamper<'_>, change: impl Fn(&mut PairRow)) {
    t.edit(|rows: &mut Vec<PairRow>| {
        let ends = [(rows[11].content, rows[11].other), (rows[11].other, rows[11].content)];
        rows.iter_mut().filter(|row| ends.contains(&(row.content, row.other))).for_each(change);
    });
}

/// Removes a component of two contents with a page each from all three tables.
fn drop_component(t: &mut Tamper<'_>) {
    let (name, _) = t.small_component(0);
    t.edit(|rows: &mut Vec<ComponentRow>| rows.retain(|row| row.component != name));
    t.edit(|rows: &mut Vec<MemberRow>| rows.retain(|row| row.component != name));
    t.drop_cluster(|row| row.component == name);
}

/// Names a component after its greater content in all three tables.
fn rename_component(t: &mut Tamper<'_>) {
    let (name, other) = t.small_component(0);
    t.rename(name, other);
    t.edit(|rows: &mut Vec<ClusterRow>| {
        let row = rows.iter_mut().find(|row| row.component == name).expect("a cluster");
        row.component = other;
    });
}

fn add_component(t: &mut Tamper<'_>, content: Id) {
    t.edit::<ComponentRow>(|rows| rows.push(ComponentRow { content, component: content, diff: 1 }));
    t.edit::<MemberRow>(|rows| rows.push(MemberRow { component: content, content, diff: 1 }));
}

fn drop_member(t: &mut Tamper<'_>) {
    let (_, other) = t.small_component(0);
    t.edit(|rows: &mut Vec<MemberRow>| rows.retain(|row| row.content != other));
}

fn add_member(t: &mut Tamper<'_>, content: Id) {
    let row = MemberRow { component: t.small_component(0).0, content, diff: 1 };
    t.edit::<MemberRow>(|rows| rows.push(row));
}

/// Drops a pair that only keys propose.
fn drop_keyed_pair(t: &mut Tamper<'_>) {
    let rows: Vec<PairRow> = t.rows();
    let row = rows.iter().find(|row| row.proposals == 0x100 && !row.is_accepted()).expect("one");
    t.drop_pair(row.content, row.other);
}

/// Drops a pair of two fingerprints whose contents other pairs connect too.
fn drop_distant_pair(t: &mut Tamper<'_>) {
    let pivot = t.large_group()[0];
    let rows: Vec<PairRow> = t.rows();
    let other =
        rows.iter().find(|row| row.content == pivot && row.distance == 2).expect("one").other;
    t.drop_pair(pivot, other);
}

/// Drops the only pair of a component.
fn drop_joint(t: &mut Tamper<'_>) {
    let (a, b) = t.small_component(0);
    t.drop_pair(a, b);
}
