//! Findings that a reader of a report may want to check: large clusters, texts that say too little,
//! and pairs that were not examined.

use crate::terminal::paint::plain;
use crate::terminal::print::{counted, grouped};
use workers::candidates::pivots::{self, BySignature, PIVOTS};
use workers::export::{LargeCluster, LargeClusters, LittleText, LittleTexts, PairCount};
use workers::page_url::host_name;

/// The most large clusters that are named on stderr; `summary.json` lists more.
const WARNED_MAX: usize = 3;

/// Warns of large clusters on stderr: a line for each, and a line with the number of the others.
pub fn warn_of_large_clusters(large: &LargeClusters) {
    large
        .clusters
        .iter()
        .take(WARNED_MAX)
        .for_each(|cluster| tracing::warn!("{}", warning(cluster)));
    let more = large.found.saturating_sub(WARNED_MAX as u64);
    if more > 0 {
        let pages = grouped(large.pages_warn.into());
        tracing::warn!(
            "{} more clusters of more than {pages} pages: see summary.json",
            grouped(more)
        );
    }
}

/// The warning about a large cluster.
fn warning(cluster: &LargeCluster) -> String {
    let LargeCluster { representative, pages, contents, diameter, chars, .. } = cluster;
    let (pages, texts) = (counted((*pages).into(), "page"), counted((*contents).into(), "text"));
    let mut text = format!("a cluster of {pages}, {texts}, ");
    match &cluster.host {
        Some(host) => text.push_str(&format!("all of {}, ", plain(host))),
        // A key that is no URL has no host.
        None if host_name(representative).is_none() => {}
        None => text.push_str(&format!("{}, ", counted(cluster.hosts.into(), "host"))),
    }
    text.push_str(&format!(
        "{} to {} characters",
        grouped(chars.least.into()),
        grouped(chars.greatest.into())
    ));
    if let Some(similarity) = cluster.similarity {
        let share = |n: u32| f64::from(n) / 10_000.0;
        let list = |shares: &[PairCount]| -> String {
            let each =
                shares.iter().map(|share| format!("{} {}", share.name, grouped(share.pairs)));
            each.collect::<Vec<String>>().join(", ")
        };
        text.push_str(&format!(
            ", similarity {:.2} and more, {:.2} in the middle ({}; by {}), diameter {diameter}",
            share(similarity.least),
            share(similarity.median),
            list(&cluster.reasons),
            list(&cluster.signatures)
        ));
    }
    text.push_str(&format!(": {}", plain(representative)));
    if let Some(advice) = &cluster.advice {
        text.push_str(&format!("; a chain: {advice} would part it"));
    }
    text
}

/// The most texts that are named of those that say too little; `summary.json` lists more.
const LITTLE_NAMED_MAX: usize = 3;

/// The texts of several pages that say too little to fold them: a line for all, and a line for each
/// of the largest.
pub fn little(little: &LittleTexts) -> Vec<String> {
    if little.texts == 0 {
        return Vec::new();
    }
    let texts = if little.texts == 1 { "text that says" } else { "texts that say" };
    let (pages, all) = (counted(little.pages, "page"), grouped(little.texts));
    let first = format!("{pages} of {all} {texts} too little stay apart, the largest:");
    let line = |text: &LittleText| {
        let what =
            if text.notice { "a notice".into() } else { counted(text.letters.into(), "letter") };
        format!("{}, {what}  {}", counted(text.pages, "page"), plain(&text.url))
    };
    std::iter::once(first).chain(little.largest.iter().take(LITTLE_NAMED_MAX).map(line)).collect()
}

/// The pairs that the pivot rule leaves unexamined, a line for each signature.
pub fn unexamined(left: &BySignature) -> Vec<String> {
    let text = left.iter().map(|(name, left)| {
        let buckets = counted(left.buckets, "bucket");
        let (has, are) = (if left.buckets == 1 { "has" } else { "have" }, if left.pairs == 1 { "is" } else { "are" });
        let pairs = counted(left.pairs, "pair");
        if name == pivots::name(pivots::NEAR) {
            let (fingerprints, more) = (counted(left.buckets, "fingerprint"), PIVOTS - 1);
            return format!(
                "simhash: {fingerprints} {has} more than {more} others within k bits; {pairs} {are} not examined"
            );
        }
        format!("{name}: {buckets} {has} more than {PIVOTS} texts; {pairs} of them {are} not examined")
    });
    text.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use workers::candidates::pivots::Unexamined;
    use workers::export::Spread;

    /// A large cluster takes one line, with what its texts have in common and, if it is a chain,
    /// the options that would split it.
    #[test]
    fn what_large_clusters_share() {
        let share = |name: &str, pairs| PairCount { name: name.into(), pairs };
        let chain = LargeCluster {
            cluster: "00".into(),
            representative: "http://a.example/1".into(),
            pages: 12_000,
            contents: 1932,
            hosts: 1,
            host: Some("a.example".into()),
            diameter: 14,
            chars: Spread { least: 90, median: 800, greatest: 9000 },
            pairs: 4500,
            similarity: Some(Spread { least: 8000, median: 8251, greatest: 9990 }),
            reasons: vec![share("shingles", 4000), share("sketch", 500)],
            signatures: vec![share("minhash", 4400)],
            advice: Some("[clusters] radius = 1".into()),
        };
        assert_eq!(
            warning(&chain),
            "a cluster of 12,000 pages, 1,932 texts, all of a.example, 90 to 9,000 characters, similarity 0.80 and more, 0.83 in the \
             middle (shingles 4,000, sketch 500; by minhash 4,400), diameter 14: http://a.example/1; a chain: [clusters] radius = 1 \
             would part it"
        );
        let copies = LargeCluster {
            contents: 1,
            hosts: 7,
            host: None,
            similarity: None,
            advice: None,
            ..chain
        };
        assert_eq!(
            warning(&copies),
            "a cluster of 12,000 pages, 1 text, 7 hosts, 90 to 9,000 characters: http://a.example/1"
        );
    }

    /// Each signature that leaves pairs unexamined has its line.
    #[test]
    fn what_is_unexamined() {
        let left = [("minhash", 2, 1234), ("simhash", 1, 1), ("simhash_near", 3, 4000)];
        let left =
            left.map(|(name, buckets, pairs)| (name.to_owned(), Unexamined { buckets, pairs }));
        let lines = unexamined(&left.into_iter().collect());
        assert_eq!(
            lines[0],
            "minhash: 2 buckets have more than 64 texts; 1,234 pairs of them are not examined"
        );
        assert_eq!(
            lines[1],
            "simhash: 1 bucket has more than 64 texts; 1 pair of them is not examined"
        );
        assert_eq!(
            lines[2],
            "simhash: 3 fingerprints have more than 63 others within k bits; 4,000 pairs are not examined"
        );
    }
}
