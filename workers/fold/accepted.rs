//! Says which accepted pairs an epoch changed, so that the stages after `pairs` touch only their
//! contents.

use crate::id::Id;

/// A changed row of a pair, under one of its contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AcceptedChange {
    /// The content under which the pair is stored.
    pub content: Id,
    /// The other content.
    pub other: Id,
    /// +1 or -1; 0 if the row says that the pair is refused.
    pub diff: i64,
    /// The similarity of the two in 1/10,000.
    pub similarity: u16,
}

/// What an epoch changed in the accepted pairs of the contents that a worker owns. A pair that
/// stays accepted with another reason or other proposals is no change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AcceptedChanges {
    /// The contents with an accepted pair that was added or retracted, ascending. Only these
    /// contents can change the members of a component.
    pub contents: Vec<Id>,
    /// The contents in `contents`, and the contents with a pair that stays accepted at another
    /// similarity, ascending. They can change clusters, because a content joins the leader to which
    /// it is most similar.
    pub contents_led: Vec<Id>,
    /// Whether an accepted pair was retracted.
    pub retracted: bool,
}

impl AcceptedChanges {
    /// Sums up `changes`, which ascend by content. All changes of one pair follow each other.
    pub fn of(changes: impl Iterator<Item = AcceptedChange>) -> AcceptedChanges {
        let mut accepted = AcceptedChanges::default();
        let mut changes = changes.peekable();
        while let Some(first) = changes.next() {
            let of_pair =
                |next: &AcceptedChange| (next.content, next.other) == (first.content, first.other);
            let weight = |change: &AcceptedChange| change.diff * i64::from(change.similarity);
            let (mut sum, mut weighted) = (first.diff, weight(&first));
            while let Some(next) = changes.next_if(of_pair) {
                sum += next.diff;
                weighted += weight(&next);
            }
            accepted.retracted |= sum < 0;
            if sum != 0 {
                push_once(&mut accepted.contents, first.content);
            }
            if sum != 0 || weighted != 0 {
                push_once(&mut accepted.contents_led, first.content);
            }
        }
        accepted
    }
}

/// Appends `content` unless it is the last.
fn push_once(contents: &mut Vec<Id>, content: Id) {
    if contents.last() != Some(&content) {
        contents.push(content);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Contents whose accepted pairs changed are listed once. A pair that stays accepted for
    /// another reason is no change. A pair that stays accepted at another similarity changes no
    /// component, but may change a cluster, which was overlooked.
    #[test]
    fn accepted_pairs_change() {
        let id = |high| Id { high, low: 0 };
        let at = |content, other, diff, similarity| AcceptedChange {
            content: id(content),
            other: id(other),
            diff,
            similarity,
        };
        let change = |content, other, diff| at(content, other, diff, 9000);
        let of = |changes: &[AcceptedChange]| {
            let AcceptedChanges { contents, contents_led, retracted } =
                AcceptedChanges::of(changes.iter().copied());
            let numbers = |contents: Vec<Id>| -> Vec<u64> {
                contents.into_iter().map(|content| content.high).collect()
            };
            (numbers(contents), numbers(contents_led), retracted)
        };
        let same = |contents: &[u64], retracted| (contents.to_vec(), contents.to_vec(), retracted);
        assert_eq!(of(&[change(1, 2, 1), change(1, 3, 1), change(4, 1, 1)]), same(&[1, 4], false));
        // A pair gets another reason; another pair is refused.
        assert_eq!(of(&[change(1, 2, -1), change(1, 2, 1), change(1, 3, 0)]), same(&[], false));
        assert_eq!(of(&[change(1, 2, 0), change(1, 2, -1)]), same(&[1], true));
        // A pair gets another similarity; that of a refused pair does not count.
        let similar = [at(1, 2, -1, 9000), at(1, 2, 1, 9001), at(3, 4, 0, 1), at(3, 4, 0, 2)];
        assert_eq!(of(&similar), (vec![], vec![1], false));
        assert_eq!(of(&[]), same(&[], false));
    }
}
