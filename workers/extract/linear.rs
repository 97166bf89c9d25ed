//! Extracts all text outside scripts and styles, without regard to structure.
//!
//! This is the plain twin of the block tree, and replaces it for a page with more elements than the
//! tree may hold.

use crate::extract::entities;
use crate::extract::tags::Tag;
use crate::extract::tokens::{Token, Tokens};

/// The text of `page`, its blocks joined by line breaks, and the number of bytes visited.
pub fn text(page: &[u8]) -> (Vec<u8>, u64) {
    let mut text = Vec::with_capacity(page.len() / 4);
    let mut tokens = Tokens::of(page);
    let mut steps = 0;
    let mut preformatted = 0_u32;
    for token in tokens.by_ref() {
        match token {
            Token::Text(written) => {
                steps += written.len() as u64;
                entities::append(&mut text, written, preformatted > 0);
            }
            Token::Title(_)
            | Token::Link(_)
            | Token::Base(_)
            | Token::Time
            | Token::Anchor(_)
            | Token::AnchorEnd => {}
            Token::Break => end_line(&mut text),
            Token::Open(tag, _) => {
                end_line(&mut text);
                preformatted += u32::from(tag == Tag::Preformatted);
            }
            Token::Close(tag) => {
                end_line(&mut text);
                preformatted = preformatted.saturating_sub(u32::from(tag == Tag::Preformatted));
            }
        }
    }
    end_line(&mut text);
    text.pop();
    (text, steps + tokens.steps())
}

/// Ends the current line, if it has text.
fn end_line(text: &mut Vec<u8>) {
    if text.last() == Some(&b' ') {
        text.pop();
    }
    if text.last().is_some_and(|byte| *byte != b'\n') {
        text.push(b'\n');
    }
}
