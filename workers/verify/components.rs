//! Checks that `components` and `component_members` are what the accepted pairs connect.
//!
//! Components are computed again from `pairs`, a portion at a time, each whole. Pairs that cross
//! from one component to another are found on the way, so the whole graph is never held in memory.

use crate::graph::unionfind;
use crate::id::Id;
use crate::tables::mapped::Mapped;
use crate::tables::{ComponentRow, MemberRow};
use crate::verify::findings::Check;
use crate::verify::live::{Live, PORTION_ROWS, distinct, joined, look_up, missing};

/// The edges that are held before they are reduced to a forest; twice the number of contents if
/// that is more.
const EDGES_MAX: usize = 4 * PORTION_ROWS;

/// `component_members` is the reverse of `components`.
pub fn component_members(tables: &Mapped) -> Check {
    let mut check = Check::new("component_members");
    let expected = Live::of(&tables.components).map(|row| (row.component, row.content));
    missing(
        &tables.members,
        expected,
        |row| (row.component, row.content),
        |(component, content)| {
            check.find::<MemberRow>(
                format_args!("{component} {content}"),
                "missing, though the content is in it",
            );
        },
    );
    let stored = Live::of(&tables.members).map(|row| (row.content, row.component));
    look_up(
        &tables.components,
        stored,
        |row| row.content,
        |content, component, row| {
            if row.map(|row| row.component) != Some(component) {
                check.find::<MemberRow>(
                    format_args!("{component} {content}"),
                    "the content is not in it",
                );
            }
        },
    );
    check
}

/// Exactly the contents with an accepted pair are in a component. A component is what such pairs
/// connect, and is named after its least content.
pub fn components(tables: &Mapped) -> Check {
    let mut check = Check::new("components");
    let paired =
        distinct(Live::of(&tables.pairs).filter(|row| row.is_accepted()).map(|row| row.content));
    for sides in joined(Live::of(&tables.components), paired, |row| row.content, |content| *content)
    {
        match sides {
            (Some(row), None) => {
                check.find::<ComponentRow>(row.content, "of a content without an accepted pair")
            }
            (None, Some(content)) => {
                check.find::<ComponentRow>(content, "missing, though it has an accepted pair")
            }
            _ => {}
        }
    }
    let mut members: Vec<(Id, Id)> = Vec::new();
    let mut last = None;
    for row in Live::of(&tables.members) {
        if last.replace(row.component) != Some(row.component) && members.len() >= PORTION_ROWS {
            join(tables, std::mem::take(&mut members), &mut check);
        }
        members.push((row.content, row.component));
    }
    join(tables, members, &mut check);
    check
}

/// Computes whole components again; `members` are (content, component).
fn join(tables: &Mapped, mut members: Vec<(Id, Id)>, check: &mut Check) {
    members.sort_unstable();
    let component = |content: Id| {
        members.binary_search_by_key(&content, |member| member.0).ok().map(|at| members[at].1)
    };
    let edges_max = EDGES_MAX.max(2 * members.len());
    let mut edges: Vec<(Id, Id)> = Vec::new();
    let mut pairs = Live::of(&tables.pairs);
    for &(content, of) in &members {
        pairs.seek(|row| row.content.cmp(&content));
        while let Some(row) = pairs.next_if(|row| row.content.cmp(&content)) {
            if row.accepted != 1 {
                continue;
            }
            if component(row.other) != Some(of) {
                check.find::<ComponentRow>(
                    content,
                    format_args!("joined to {}, which is not in its component", row.other),
                );
                continue;
            }
            if edges.len() == edges_max {
                edges = unionfind::forest(&edges);
            }
            edges.push((content, row.other));
        }
    }
    for (content, stored, joined) in misnamed(&members, &edges) {
        check.find::<ComponentRow>(
            content,
            format_args!("stored in {stored}, its pairs join it to {joined}"),
        );
    }
}

/// The contents whose component by `edges` is not that of `members`: content, stored component,
/// computed component.
fn misnamed<'a>(
    members: &'a [(Id, Id)],
    edges: &[(Id, Id)],
) -> impl Iterator<Item = (Id, Id, Id)> + 'a {
    let labels = unionfind::components(edges);
    let label = move |content: Id| {
        labels.binary_search_by_key(&content, |label| label.0).ok().map(|at| labels[at].1)
    };
    members
        .iter()
        .map(move |&(content, stored)| (content, stored, label(content).unwrap_or(content)))
        .filter(|(_, stored, joined)| stored != joined)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each content of a component that falls apart, or that is not named after its least content,
    /// is found.
    #[test]
    fn misnamed_contents_are_found() {
        let id = |high| Id { high, low: 0 };
        let edges = [(id(1), id(2)), (id(2), id(1)), (id(3), id(4)), (id(8), id(7))];
        let members = [(1, 1), (2, 1), (3, 1), (4, 1), (7, 8), (8, 8)]
            .map(|(content, of)| (id(content), id(of)));
        let found: Vec<(Id, Id, Id)> = misnamed(&members, &edges).collect();
        let expected =
            [(3, 1, 3), (4, 1, 3), (7, 8, 7), (8, 8, 7)].map(|(c, s, j)| (id(c), id(s), id(j)));
        assert_eq!(found, expected);
        assert_eq!(misnamed(&members[..2], &edges).count(), 0);
    }
}
