//! Cuts characters that the dictionary leaves as single characters into words, by the most probable
//! states of a hidden Markov model (Viterbi: "Error bounds for convolutional codes and an
//! asymptotically optimum decoding algorithm", IEEE Transactions on Information Theory 13(2),
//! 1967).

use crate::text::segment::dictionary::Dictionary;
use crate::text::segment::layout::{Code, STATES};
use std::ops::Range;

const BEGIN: usize = 0;
const END: usize = 1;
const MIDDLE: usize = 2;
const SINGLE: usize = 3;

/// The two states that may come before a state.
const BEFORE: [[usize; 2]; STATES] =
    [[END, SINGLE], [BEGIN, MIDDLE], [BEGIN, MIDDLE], [END, SINGLE]];

/// Cuts unseen words; its memory is reused.
#[derive(Clone, Debug, Default)]
pub struct Unseen {
    /// By character: first a bit for each state, set if the second of its possible earlier states
    /// is the more probable one; afterwards the state of the character.
    states: Vec<u8>,
}

impl Unseen {
    /// Calls `found` with the range of each word.
    ///
    /// Sums are added in the order of jieba-rs, and ties decided as there, because the last digit
    /// of a sum could change a word.
    pub fn words(
        &mut self,
        dictionary: &Dictionary,
        codes: &[Code],
        mut found: impl FnMut(Range<usize>),
    ) {
        self.states.clear();
        self.states.resize(codes.len(), 0);
        let emissions = dictionary.emissions(codes[0]);
        let mut sums: [f64; STATES] =
            std::array::from_fn(|state| dictionary.initial[state] + emissions[state]);
        for (code, second) in codes[1..].iter().zip(&mut self.states[1..]) {
            let emissions = dictionary.emissions(*code);
            let before = sums;
            for state in 0..STATES {
                let sum = |from: usize| {
                    before[from] + dictionary.transitions[from][state] + emissions[state]
                };
                let [one, other] = BEFORE[state].map(sum);
                let is_one = one > other;
                sums[state] = if is_one { one } else { other };
                *second |= u8::from(!is_one) << state;
            }
        }
        let mut state = if sums[END] > sums[SINGLE] { END } else { SINGLE };
        for second in self.states.iter_mut().rev() {
            let before = BEFORE[state][usize::from(*second >> state & 1)];
            *second = state as u8;
            state = before;
        }
        let mut begin = 0;
        for (at, state) in self.states.iter().enumerate() {
            match usize::from(*state) {
                BEGIN => begin = at,
                END => found(begin..at + 1),
                SINGLE => found(at..at + 1),
                _ => {}
            }
        }
    }

    /// The bytes of memory that it holds.
    pub fn bytes(&self) -> usize {
        self.states.capacity()
    }
}
