//! Reads the column `proposals` of the table `pairs`: which signatures propose a pair.

use crate::text::signatures::SignatureKind;

/// The number of keys by which the signature of that number proposes a pair. For SimHash, number 0,
/// it is 0 or 1.
pub fn proposed_by(proposals: u64, signature: u8) -> u8 {
    proposals.to_le_bytes().get(usize::from(signature)).copied().unwrap_or(0)
}

/// The names of the signatures that propose a pair, joined by `+`.
pub fn names(proposals: u64) -> String {
    let equal = SignatureKind::ALL.into_iter().map(|kind| (kind.number(), kind.name()));
    let names = [(0, "simhash")].into_iter().chain(equal);
    let named: Vec<&str> = names
        .filter(|(number, _)| proposed_by(proposals, *number) > 0)
        .map(|(_, name)| name)
        .collect();
    named.join("+")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Signatures are named in the order of their numbers.
    #[test]
    fn names_are_joined() {
        assert_eq!(names(0x0001), "simhash");
        assert_eq!(names(0x0601), "simhash+minhash");
        assert_eq!(names(0x0000_0001_0200_4000), "minhash+i_match+spotsigs");
        assert_eq!(names(0x0100_0000_0001), "simhash+sentences");
        assert_eq!(names(0), "");
    }
}
