//! Perturbed texts and pages of templates as documents for a job, with labels that name for each
//! pair how it was made. `pagefold run` and `pagefold eval --labels` make a table of them.
//!
//! Each text has a host of its own, because a guard stops a run if all pages of a host fold.

use crate::perturb;
use crate::random::Random;
use crate::templates;
use serde_json::{Value, json};

/// Lines of documents, `url` and `text`, and of labels, `a`, `b`, `same` and `kind`.
#[derive(Default)]
pub struct Labelled {
    /// The documents.
    pub documents: Vec<Value>,
    /// The labels.
    pub labels: Vec<Value>,
}

impl Labelled {
    /// Adds both sides of each perturbation of each of `texts`, which are of one kind, if any has a
    /// name.
    pub fn perturb(&mut self, name: Option<&str>, texts: &[String], seed: u64) {
        for (number, perturbation) in perturb::ALL.iter().enumerate() {
            let kind = match name {
                Some(name) => format!("{name}: {}", perturbation.name),
                None => perturbation.name.to_owned(),
            };
            for (index, text) in texts.iter().enumerate() {
                let (a, b) = (perturbation.pair)(text, &mut Random::of(seed, index as u64));
                let host = format!("text-{index}.{}.example", name.unwrap_or("one"));
                let [a, b] = [("a", a), ("b", b)].map(|(side, text)| {
                    let url = format!("http://{host}/{number}/{side}");
                    self.documents.push(json!({ "url": url, "text": text }));
                    url
                });
                self.labels.push(json!({ "a": a, "b": b, "same": true, "kind": kind }));
            }
        }
    }

    /// Adds this many `pages` of each template, with labels that no two of them are the same.
    pub fn templates(&mut self, pages: usize, seed: u64) {
        for (number, template) in templates::ALL.iter().enumerate() {
            let mut random = Random::of(seed, number as u64);
            let mut drawn: Vec<(String, String)> = Vec::new();
            for page in 0..pages {
                let text = template.page(&mut random);
                // With few slots the same facts are drawn again, and the page is the same.
                if drawn.iter().any(|(_, other)| *other == text) {
                    continue;
                }
                let url = format!("http://template-{number}.example/{page}");
                self.documents.push(json!({ "url": url, "text": text }));
                let label = |(other, _): &(String, String)| json!({ "a": other, "b": url, "same": false, "kind": format!("template: {}", template.name) });
                self.labels.extend(drawn.iter().map(label));
                drawn.push((url, text));
            }
        }
    }
}
