//! Names the stages of an epoch and their operators, in the order of the road.

/// The stages in the order of the road. Each is a file of this folder.
pub const STAGES: [&str; 13] = [
    "ingest",
    "pages",
    "contents",
    "evidence",
    "groups",
    "buckets",
    "resolve",
    "keys",
    "pairs",
    "components",
    "clusters",
    "leaders",
    "successors",
];

/// The operators in the order of the road, as `run.json` names them: `stage` or `stage.step`.
pub const OPERATORS: [&str; 47] = [
    "ingest",
    "pages",
    "contents",
    "evidence.broadcast",
    "evidence",
    "contents.changes",
    "groups",
    "buckets",
    "resolve.group_members",
    "resolve",
    "keys.touched",
    "keys",
    "pairs.deleted",
    "pairs.confirm",
    "pairs.store",
    "pairs",
    "components.touched",
    "components.spread",
    "components.edges",
    "components.join",
    "components.label",
    "components",
    "clusters.redated",
    "clusters.touched",
    "clusters.contents",
    "clusters.current",
    "clusters.accepted_pairs",
    "clusters.pages",
    "clusters.earlier_pages",
    "clusters.earlier_members",
    "clusters.shared_contents",
    "clusters.incumbents",
    "clusters.rank",
    "clusters",
    "leaders",
    "successors.went",
    "successors.linked",
    "successors.touched",
    "successors.contents",
    "successors.members",
    "successors.pairs",
    "successors.choose",
    "successors.candidates",
    "successors.renewed",
    "successors.meant",
    "successors.best",
    "successors",
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Each operator is named after the file of its stage, the stages are listed in the order of
    /// the road, and the table in `export/COUNTS.md` lists every operator.
    #[test]
    fn operators_are_named_after_files() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
        let table =
            std::fs::read_to_string(root.join("export/COUNTS.md")).expect("the table of operators");
        let mut stages: Vec<&str> = Vec::new();
        for operator in OPERATORS {
            let stage = operator.split('.').next().unwrap_or_default();
            assert!(
                root.join(format!("fold/{stage}.rs")).is_file(),
                "{operator} is not named after a file"
            );
            assert!(table.contains(&format!("| `{stage}.rs` |")), "{stage}.rs is not in the table");
            assert!(table.contains(&format!("`{operator}`")), "{operator} is not in the table");
            if !stages.contains(&stage) {
                stages.push(stage);
            }
        }
        assert_eq!(stages, STAGES);
    }
}
