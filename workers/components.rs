//! Components: in come the pairs that an epoch decided or dropped, out goes which contents belong together now. Only the components that such
//! a pair touches are looked at, and those whole: the contents of a touched component and of new pairs bring their
//! stored pairs, each worker reduces its own to a forest, and one worker joins the forests (in the manner of the
//! union-find operator of timely's examples). The whole graph is never loaded.
//!
//! A component is named after its least digest. A content without an accepted pair is in none.

use crate::document::Id;
use crate::epoch::Epoch;
use crate::error::Result;
use crate::pairs::PairRow;
use crate::store::table::table;
use crate::unionfind;

table! {
    /// The component of a content that has one.
    pub struct ComponentRow in "components", columns ComponentColumns {
        key { /// The content.
              content: Id }
        value { /// Its component.
                component: Id }
        history { }
    }
}

table! {
    /// A content of a component.
    pub struct MemberRow in "component_members", columns MemberColumns {
        key { /// The component.
              component: Id,
              /// The content.
              content: Id }
        value { }
        history { }
    }
}

/// Two ids that belong together, the first routes: (component, content), (content, content) or (content, component), as each
/// stage says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Link {
    /// The id whose owner is told.
    pub to: Id,
    /// The other id.
    pub with: Id,
}

/// A content that joined (+1) or left (-1) a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Membership {
    /// The component.
    pub component: Id,
    /// The content.
    pub content: Id,
    /// +1 or -1.
    pub diff: i64,
}

/// Touched contents ask the owner of the component that they were in, or of the one named after themselves, for the others.
pub fn touched(epoch: &Epoch, give: &mut dyn FnMut(Link)) -> Result<()> {
    let Some(fresh) = epoch.fresh::<PairRow>("pairs")? else { return Ok(()) };
    let mut contents: Vec<Id> =
        (0..fresh.len()).map(|at| fresh.row(at)).filter(|row| row.accepted == 1).map(|row| row.content).collect();
    contents.dedup();
    let before = epoch.before::<ComponentRow>("components")?.matching(&contents);
    let mut before = before.into_iter().peekable();
    for content in contents {
        let component = before.next_if(|row| row.content == content).map_or(content, |row| row.component);
        give(Link { to: component, with: content });
    }
    Ok(())
}

/// The owner of a component tells all its contents, and those that asked, that they are touched.
pub fn spread(epoch: &Epoch, asked: &[Link], give: &mut dyn FnMut(Link)) -> Result<()> {
    let mut components: Vec<Id> = asked.iter().map(|link| link.to).collect();
    components.dedup();
    let mut contents: Vec<Id> = asked.iter().map(|link| link.with).collect();
    contents
        .extend(epoch.before::<MemberRow>("component_members")?.matching(&components).iter().map(|row| row.content));
    contents.sort_unstable();
    contents.dedup();
    contents.into_iter().for_each(|content| give(Link { to: content, with: content }));
    Ok(())
}

/// Touched contents bring a forest of their accepted pairs, and themselves as loops, so that one left alone is not forgotten.
pub fn forests(epoch: &Epoch, touched: &[Link], give: &mut dyn FnMut(Link)) -> Result<()> {
    let mut contents: Vec<Id> = touched.iter().map(|link| link.to).collect();
    contents.dedup();
    let pairs = epoch.after::<PairRow>("pairs")?.matching(&contents);
    let edges: Vec<(Id, Id)> =
        pairs.iter().filter(|row| row.accepted == 1).map(|row| (row.content, row.other)).collect();
    unionfind::forest(&edges).into_iter().for_each(|(to, with)| give(Link { to, with }));
    contents.into_iter().for_each(|content| give(Link { to: content, with: content }));
    Ok(())
}

/// One worker joins the forests and tells each content its component; to one that is alone, none.
pub fn join(_: &Epoch, links: &[Link], give: &mut dyn FnMut(Link)) -> Result<()> {
    labels(links).into_iter().for_each(give);
    Ok(())
}

fn labels(links: &[Link]) -> Vec<Link> {
    let edges: Vec<(Id, Id)> = links.iter().map(|link| (link.to, link.with)).collect();
    let mut labels: Vec<(Id, Id)> =
        unionfind::components(&edges).into_iter().map(|(content, component)| (component, content)).collect();
    labels.sort_unstable();
    let name = |component: &[(Id, Id)]| if component.len() > 1 { component[0].0 } else { Id::NONE };
    labels
        .chunk_by(|a, b| a.0 == b.0)
        .flat_map(|component| component.iter().map(move |&(_, content)| Link { to: content, with: name(component) }))
        .collect()
}

/// Stores what changed about the components of contents and tells the components.
pub fn label(epoch: &Epoch, labels: &[Link], give: &mut dyn FnMut(Membership)) -> Result<()> {
    let contents: Vec<Id> = labels.iter().map(|link| link.to).collect();
    let mut before = epoch.before::<ComponentRow>("components")?.matching(&contents).into_iter().peekable();
    let mut rows = Vec::new();
    for &Link { to: content, with } in labels {
        let old = before.next_if(|row| row.content == content).map(|row| row.component);
        let new = (!with.is_none()).then_some(with);
        if old == new {
            continue;
        }
        let from = rows.len();
        rows.extend(old.map(|component| ComponentRow { content, component, diff: -1 }));
        rows.extend(new.map(|component| ComponentRow { content, component, diff: 1 }));
        rows[from..].sort_unstable();
        rows[from..].iter().for_each(|row| {
            give(Membership { component: row.component, content, diff: i64::from(row.diff) });
        });
    }
    epoch.write("components", rows)
}

/// Stores what changed about the members of components.
pub fn members(epoch: &Epoch, changes: &[Membership]) -> Result<()> {
    let row = |m: &Membership| MemberRow { component: m.component, content: m.content, diff: m.diff as i8 };
    epoch.write("component_members", changes.iter().map(row))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A component bears its least digest whatever order its links come in; what is alone bears no name.
    #[test]
    fn names() {
        let id = |high| Id { high, low: 0 };
        let link = |a, b| Link { to: id(a), with: id(b) };
        let mut told = labels(&[link(5, 9), link(9, 3), link(7, 7)]);
        told.sort_unstable();
        assert_eq!(told, [link(3, 3), link(5, 3), Link { to: id(7), with: Id::NONE }, link(9, 3)]);
    }
}
