//! Writes `clusters`, ordered by ClusterId, and finds the largest.

use crate::distinct::distinct;
use crate::error::Result;
use crate::export::large::{LargeClusters, LargestClusters};
use crate::export::row_type::ExportRow as _;
use crate::export::rows::Cluster;
use crate::export::sink::{Files, Place, Sink};
use crate::export::tables::{PORTION_ROWS, Tables, by_url_bytes, find, find_cluster};
use crate::id::Id;
use crate::tables::ClusterRow;

/// The number of largest clusters that are returned for display.
const LARGEST_MAX: usize = 5;

/// The largest clusters: pages, contents, hosts and the representative's URL.
pub(super) type Largest = Vec<(u32, u32, u32, String)>;

/// The clusters that were written.
pub(super) struct Written {
    /// How many there are.
    pub(super) clusters: u64,
    /// The largest, for display.
    pub(super) largest: Largest,
    /// Those with more pages than the job wants.
    pub(super) large: LargeClusters,
    /// Their files.
    pub(super) files: Files,
}

/// Writes the clusters.
pub(super) fn write(tables: &Tables, pages_warn: u32, place: &Place<'_>) -> Result<Written> {
    // The table is ordered by component, its export by ClusterId. Sorting takes 48 bytes a cluster.
    let mut order: Vec<(Id, (Id, Id))> = Vec::new();
    let mut large = LargestClusters::new(pages_warn);
    for rows in tables.clusters.portions(PORTION_ROWS) {
        rows.iter().for_each(|row| large.add(row));
        order.extend(rows.iter().map(|row| (row.cluster, row.place())));
    }
    order.sort_unstable();
    let mut sink = Sink::<Cluster>::create(Cluster::NAME, place)?;
    let mut largest = Largest::new();
    for portion in order.chunks(PORTION_ROWS) {
        let rows = tables
            .clusters
            .matching(&distinct(portion.iter().map(|(_, (component, _))| *component)));
        let pages = tables.pages.matching(&distinct(rows.iter().map(|row| row.representative)));
        let bytes = |row: &&ClusterRow| {
            find(&pages, row.representative).map_or(0, |page| u64::from(page.url_bytes))
        };
        let found: Vec<&ClusterRow> =
            portion.iter().filter_map(|(_, wanted)| find_cluster(&rows, *wanted)).collect();
        for rows in by_url_bytes(&found, bytes) {
            let urls = tables.urls(rows.iter().map(|row| row.representative));
            for row in rows {
                let representative = urls.of(row.representative);
                if largest.len() < LARGEST_MAX
                    || largest.last().is_some_and(|least| least.0 <= row.pages)
                {
                    largest.push((row.pages, row.contents, row.hosts, representative.clone()));
                    largest.sort_by(|a, b| b.cmp(a));
                    largest.truncate(LARGEST_MAX);
                }
                sink.push(Cluster {
                    cluster: row.cluster.to_string(),
                    pages: row.pages,
                    contents: row.contents,
                    hosts: row.hosts,
                    representative,
                    diameter: row.diameter,
                })?;
            }
        }
    }
    Ok(Written {
        clusters: order.len() as u64,
        largest,
        large: large.finish(tables),
        files: sink.finish()?,
    })
}
