//! Checks that `fingerprint_contents` and the tables of the bands above 0 have exactly the
//! fingerprints of the live contents.

use crate::id::hex;
use crate::store::manifest::Head;
use crate::tables::mapped::Mapped;
use crate::tables::{ContentRow, GroupRow, band_table};
use crate::verify::findings::Check;
use crate::verify::live::{Live, distinct, look_up, missing};

/// `fingerprint_contents` has exactly the comparable contents, each under its
/// fingerprint.
pub fn fingerprint_contents(tables: &Mapped) -> Check {
    let bands = &tables.bands;
    let mut check = Check::new("fingerprint_contents");
    let comparable = Live::of(&tables.contents).filter(ContentRow::is_comparable);
    let keys = comparable.map(|row| (bands.key(0, row.fingerprint), row.content));
    missing(
        &tables.groups,
        keys,
        |row| (row.key, row.content),
        |(key, content)| {
            let key = format!("{} {content}", hex(bands.unkey(0, key)));
            check.find::<GroupRow>(key, "missing, though the content has that fingerprint");
        },
    );
    let groups = Live::of(&tables.groups).map(|row| (row.content, row.key));
    look_up(
        &tables.contents,
        groups,
        |row| row.content,
        |content, key, row| {
            let fingerprint = bands.unkey(0, key);
            let what = match row {
                None => "of no live content",
                Some(row) if !row.is_comparable() => {
                    "its content is not compared: too short, or gathered"
                }
                Some(row) if row.fingerprint != fingerprint => {
                    "its content has another fingerprint"
                }
                Some(_) => return,
            };
            check.find::<GroupRow>(format_args!("{} {content}", hex(fingerprint)), what);
        },
    );
    check
}

/// Each band above 0 has exactly the distinct live fingerprints.
pub fn bands(tables: &Mapped, head: &Head) -> Check {
    let bands = &tables.bands;
    let mut check = Check::new("bands");
    for (band, table) in (1..).zip(&tables.band) {
        let name = band_table(band);
        let fingerprints =
            distinct(Live::of(&tables.groups).map(|row| row.key)).map(|key| bands.unkey(0, key));
        let keys = fingerprints.map(|fingerprint| bands.key(band, fingerprint));
        missing(
            table,
            keys,
            |row| row.key,
            |key| {
                check.find_in(
                    &name,
                    hex(bands.unkey(band, key)),
                    "missing, though contents have that fingerprint",
                );
            },
        );
        let keys = Live::of(table).map(|row| bands.key(0, bands.unkey(band, row.key)));
        missing(
            &tables.groups,
            keys,
            |row| row.key,
            |key| {
                check.find_in(&name, hex(bands.unkey(0, key)), "of no live content");
            },
        );
    }
    let known: Vec<String> = (1..bands.count()).map(band_table).collect();
    let tables = head.manifest.tables.iter();
    for (name, table) in
        tables.filter(|(name, _)| name.starts_with("band_") && !known.contains(name))
    {
        check.find_in(
            name,
            format_args!("{} rows", table.rows),
            "the table of a band that this store has not",
        );
    }
    check
}
