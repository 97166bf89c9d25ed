//! Checks that `fingerprint_contents` and the tables of the bands above 0 have exactly the
//! fingerprints of the live contents.

use crate::store::manifest::Head;
use crate::tables::band_table;
use crate::tables::visits::TOO_SHORT;
use crate::verify::findings::{Check, hex};
use crate::verify::live::{Live, Tables, distinct, portions};

/// `fingerprint_contents` has exactly the contents that are not too short, each under its
/// fingerprint.
pub fn fingerprint_contents(tables: &Tables) -> Check {
    const TABLE: &str = "fingerprint_contents";
    let bands = &tables.bands;
    let mut check = Check::new(TABLE);
    let comparable = Live::of(&tables.contents).filter(|row| row.flags & TOO_SHORT == 0);
    for portion in portions(comparable.map(|row| (bands.key(0, row.fingerprint), row.content))) {
        let mut groups = Live::of(&tables.groups);
        for (key, content) in portion {
            if groups.find(|row| (row.key, row.content).cmp(&(key, content))).is_none() {
                let key = format!("{} {content}", hex(bands.unkey(0, key)));
                check.find(TABLE, key, "missing, though the content has that fingerprint");
            }
        }
    }
    for portion in portions(Live::of(&tables.groups).map(|row| (row.content, row.key))) {
        let mut contents = Live::of(&tables.contents);
        for rows in portion.chunk_by(|a, b| a.0 == b.0) {
            let row = contents.find(|row| row.content.cmp(&rows[0].0));
            for (content, key) in rows {
                let fingerprint = bands.unkey(0, *key);
                let what = match &row {
                    None => "of no live content",
                    Some(row) if row.flags & TOO_SHORT != 0 => "its content is too short to be compared",
                    Some(row) if row.fingerprint != fingerprint => "its content has another fingerprint",
                    Some(_) => continue,
                };
                check.find(TABLE, format_args!("{} {content}", hex(fingerprint)), what);
            }
        }
    }
    check
}

/// Each band above 0 has exactly the distinct live fingerprints.
pub fn bands(tables: &Tables, head: &Head) -> Check {
    let bands = &tables.bands;
    let mut check = Check::new("bands");
    for (band, table) in (1..).zip(&tables.band) {
        let name = band_table(band);
        let fingerprints = distinct(Live::of(&tables.groups).map(|row| row.key)).map(|key| bands.unkey(0, key));
        for portion in portions(fingerprints.map(|fingerprint| bands.key(band, fingerprint))) {
            let mut rows = Live::of(table);
            for key in portion {
                if rows.find(|row| row.key.cmp(&key)).is_none() {
                    check.find(&name, hex(bands.unkey(band, key)), "missing, though contents have that fingerprint");
                }
            }
        }
        let keys = Live::of(table).map(|row| bands.key(0, bands.unkey(band, row.key)));
        for portion in portions(keys) {
            let mut groups = Live::of(&tables.groups);
            for key in portion {
                if groups.find(|row| row.key.cmp(&key)).is_none() {
                    check.find(&name, hex(bands.unkey(0, key)), "of no live content");
                }
            }
        }
    }
    let known: Vec<String> = (1..bands.count()).map(band_table).collect();
    let tables = head.manifest.tables.iter();
    for (name, table) in tables.filter(|(name, _)| name.starts_with("band_") && !known.contains(name)) {
        check.find(name, format_args!("{} rows", table.rows), "the table of a band that this store has not");
    }
    check
}
