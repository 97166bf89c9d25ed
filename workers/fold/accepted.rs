//! Says what an epoch changed in accepted pairs, so that the stages after `pairs` touch only that.

use crate::document::Id;

/// A pair of contents under one of them, and what a row adds to whether it is accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AcceptedChange {
    /// The content under which the pair is stored.
    pub content: Id,
    /// The other.
    pub other: Id,
    /// +1 or -1; 0 if the row says that the pair is refused.
    pub diff: i64,
}

/// What an epoch changed in the accepted pairs of the contents that a worker owns. A pair that
/// stays accepted is no change, even if its reason or its proposals changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AcceptedChanges {
    /// The contents with an accepted pair that was added or retracted, ascending.
    pub contents: Vec<Id>,
    /// Whether one was retracted.
    pub retracted: bool,
}

impl AcceptedChanges {
    /// What `changes` change. All changes of one pair are in a row, and contents ascend.
    pub fn of(changes: impl Iterator<Item = AcceptedChange>) -> AcceptedChanges {
        let mut accepted = AcceptedChanges::default();
        let mut changes = changes.peekable();
        while let Some(first) = changes.next() {
            let of_pair =
                |next: &AcceptedChange| (next.content, next.other) == (first.content, first.other);
            let mut sum = first.diff;
            while let Some(next) = changes.next_if(of_pair) {
                sum += next.diff;
            }
            accepted.retracted |= sum < 0;
            if sum != 0 && accepted.contents.last() != Some(&first.content) {
                accepted.contents.push(first.content);
            }
        }
        accepted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Contents whose accepted pairs changed are listed once, and a pair that stays accepted for
    /// another reason is no change.
    #[test]
    fn accepted_pairs_change() {
        let id = |high| Id { high, low: 0 };
        let change =
            |content, other, diff| AcceptedChange { content: id(content), other: id(other), diff };
        let of = |changes: &[AcceptedChange]| {
            let AcceptedChanges { contents, retracted } =
                AcceptedChanges::of(changes.iter().copied());
            (contents.into_iter().map(|content| content.high).collect::<Vec<u64>>(), retracted)
        };
        assert_eq!(of(&[change(1, 2, 1), change(1, 3, 1), change(4, 1, 1)]), (vec![1, 4], false));
        // A pair gets another reason; another pair is refused.
        assert_eq!(of(&[change(1, 2, -1), change(1, 2, 1), change(1, 3, 0)]), (vec![], false));
        assert_eq!(of(&[change(1, 2, 0), change(1, 2, -1)]), (vec![1], true));
        assert_eq!(of(&[]), (vec![], false));
    }
}
