//! SHA-1 (FIPS 180-4) as WARC files print it: in come bytes, out comes `sha1:` and 32 letters of base 32 (RFC 4648).
//! For labels in test data alone: SHA-1 protects nothing.

/// The digest of `bytes` as WARC-Payload-Digest wants it.
pub fn label(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    // 20 bytes are 32 letters of 5 bits exactly.
    let digest = sha1(bytes);
    let letter = |index: usize| {
        let (byte, bit) = (index * 5 / 8, index * 5 % 8);
        let pair = u16::from(digest[byte]) << 8 | u16::from(digest.get(byte + 1).copied().unwrap_or(0));
        char::from(LETTERS[usize::from(pair >> (11 - bit) & 31)])
    };
    (0..32).map(letter).fold(String::from("sha1:"), |mut text, letter| {
        text.push(letter);
        text
    })
}

fn sha1(bytes: &[u8]) -> [u8; 20] {
    let mut message = bytes.to_vec();
    message.push(0x80);
    message.resize((bytes.len() + 9).next_multiple_of(64), 0);
    let end = message.len() - 8;
    message[end..].copy_from_slice(&(bytes.len() as u64 * 8).to_be_bytes());
    let mut state = [0x6745_2301u32, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0];
    for block in message.chunks_exact(64) {
        let mut words = [0u32; 80];
        for (word, four) in words.iter_mut().zip(block.chunks_exact(4)) {
            *word = four.iter().fold(0, |sum, byte| sum << 8 | u32::from(*byte));
        }
        for index in 16..80 {
            words[index] = (words[index - 3] ^ words[index - 8] ^ words[index - 14] ^ words[index - 16]).rotate_left(1);
        }
        let [mut a, mut b, mut c, mut d, mut e] = state;
        for (index, word) in words.iter().enumerate() {
            let (mixed, constant) = match index {
                0..20 => (b & c | !b & d, 0x5a82_7999),
                20..40 => (b ^ c ^ d, 0x6ed9_eba1),
                40..60 => (b & c | b & d | c & d, 0x8f1b_bcdc),
                _ => (b ^ c ^ d, 0xca62_c1d6u32),
            };
            let next = [a.rotate_left(5), mixed, e, constant, *word].into_iter().fold(0, u32::wrapping_add);
            (e, d, c, b, a) = (d, c, b.rotate_left(30), a, next);
        }
        for (sum, value) in state.iter_mut().zip([a, b, c, d, e]) {
            *sum = sum.wrapping_add(value);
        }
    }
    let mut digest = [0; 20];
    digest.chunks_exact_mut(4).zip(state).for_each(|(four, word)| four.copy_from_slice(&word.to_be_bytes()));
    digest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_digests() {
        // The standard's own example, and lengths around a block's end.
        assert_eq!(sha1(b"abc")[..4], [0xa9, 0x99, 0x3e, 0x36]);
        assert_eq!(label(b""), "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ");
        for (length, first) in [(55, 0xc1), (56, 0xc2), (63, 0x03), (64, 0x00), (65, 0x11)] {
            assert_eq!(sha1(&vec![b'a'; length])[0], first, "{length} letters");
        }
    }
}
