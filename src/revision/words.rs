//! Tells for certain that a file does not name a workload, without reading its YAML.
//!
//! A name of a workload is a word of `a-z`, `0-9` and `-`. However a manifest is spelled, the name stands in its bytes as a
//! whole word, unless the spelling hides it: behind a backslash (`"w\x65b"`), a tag (`!!binary d2Vi`), or UTF-16. A file
//! with any of these may name anything; of every other one the words are kept in a small filter that errs only towards "may".

/// Longest name of a workload.
const MAX_WORD: usize = 63;
/// Bits of the filter for each word: one word in some hundreds is found that is not there.
const BITS_A_WORD: usize = 12;
/// Bits that are set for each word.
const PROBES: u64 = 5;
/// Smallest and largest filter, in bytes. A file with more words than fit may name anything.
const BYTES: std::ops::RangeInclusive<usize> = 16..=1024;

/// The words of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Words(Box<[u8]>);

/// A name that is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Needle(u64);

impl Needle {
    /// The needle for a workload's name.
    pub fn of(name: &str) -> Self {
        Self(hash(name.as_bytes()))
    }

    fn bits(self, count: usize) -> impl Iterator<Item = usize> {
        // The filter's length is a power of two.
        let mask = (count as u64).wrapping_sub(1);
        let (first, second) = (self.0, (self.0 >> 32) | 1);
        (0..PROBES).map(move |probe| (first.wrapping_add(second.wrapping_mul(probe)) & mask) as usize)
    }
}

impl Words {
    /// Of a file that may name anything.
    pub fn anything() -> Self {
        Self(Box::default())
    }

    /// The words of a file's content.
    pub fn of(content: &[u8]) -> Self {
        let utf16 = matches!(content, [0xff, 0xfe, ..] | [0xfe, 0xff, ..]);
        let hides = |byte: &u8| matches!(byte, b'\\' | b'!' | 0);
        if utf16 || content.iter().any(hides) || content.windows(3).skip(1).any(|mark| mark == [0xef, 0xbb, 0xbf]) {
            return Self::anything();
        }
        let part = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'-';
        let words = content.split(|byte| !part(byte)).filter(|word| (1..=MAX_WORD).contains(&word.len()));
        let mut needles: Vec<u64> = words.map(hash).collect();
        needles.sort_unstable();
        needles.dedup();
        let length = (needles.len() * BITS_A_WORD / 8).next_power_of_two().max(*BYTES.start());
        if length > *BYTES.end() {
            return Self::anything();
        }
        let mut filter = vec![0; length];
        for needle in needles {
            for bit in Needle(needle).bits(length * 8) {
                if let Some(byte) = filter.get_mut(bit / 8) {
                    *byte |= 1 << (bit % 8);
                }
            }
        }
        Self(filter.into())
    }

    /// Whether the file may name this workload; where not, it certainly does not.
    pub fn may_hold(&self, needle: Needle) -> bool {
        let set = |bit: usize| self.0.get(bit / 8).is_none_or(|byte| byte & (1 << (bit % 8)) != 0);
        self.0.is_empty() || needle.bits(self.0.len() * 8).all(set)
    }

    /// The filter as it is kept.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// A filter as it was kept; none where it never was one.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let fits = bytes.is_empty() || (bytes.len().is_power_of_two() && BYTES.contains(&bytes.len()));
        fits.then(|| Self(bytes.into()))
    }
}

/// FNV-1a with a last stir, so that both halves depend on every byte.
fn hash(word: &[u8]) -> u64 {
    let mut hash = word
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3));
    hash ^= hash >> 32;
    hash = hash.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    hash ^ (hash >> 29)
}

#[cfg(test)]
mod tests {
    use super::{Needle, Words};
    use crate::revision::reading::Reading;

    fn may(content: &str, name: &str) -> bool {
        Words::of(content.as_bytes()).may_hold(Needle::of(name))
    }

    #[test]
    fn words_are_found_and_others_are_not() {
        let text = "metadata: {name: web-1}\nspec: {serviceName: 'db', image: nginx:1.27}\n";
        for name in ["web-1", "db", "nginx", "1"] {
            assert!(may(text, name), "{name}");
        }
        let odd = (0..1_000).filter(|number| may(text, &format!("other-{number}"))).count();
        assert!(odd < 20, "{odd} of 1,000 names were found that are not there");
        assert!(!may("", "web"));
        assert!(!may("webs we b", "web"), "a part of a word is none");
    }

    #[test]
    fn however_a_name_is_spelled_the_file_may_hold_it() {
        let set =
            |name: &str| format!("apiVersion: apps/v1\nkind: StatefulSet\nmetadata:\n  name: {name}\nspec: {{}}\n");
        let spellings = [
            "web",
            "'web'",
            "\"web\"",
            "\"w\\x65b\"",
            "\"w\\u0065b\"",
            "\"we\\\n    b\"",
            "!!binary d2Vi",
            "!!str web",
            "&n web",
            "|-\n    web",
            ">-\n    web",
            "# it\n    web",
        ];
        let mut read = 0;
        for spelling in spellings {
            let text = set(spelling);
            read += usize::from(Reading::of(text.as_bytes()).workloads().any(|workload| workload.name == "web"));
            assert!(may(&text, "web"), "{text}");
        }
        assert!(read >= 8, "only {read} of the spellings were read as the name: the test has lost its meaning");
        let wide: Vec<u8> =
            [0xfffe_u16].into_iter().chain(set("web").encode_utf16()).flat_map(u16::to_be_bytes).collect();
        assert!(Words::of(&wide).may_hold(Needle::of("web")));
        let long: String = (0..5_000).map(|number| format!("word{number} ")).collect();
        assert!(may(&long, "web"), "too many words: anything");
        assert!(may("name: we\u{feff}b", "web"));
    }

    #[test]
    fn a_filter_that_was_kept_is_the_same() {
        let words = Words::of(b"kind: StatefulSet\nmetadata: {name: web}");
        assert_eq!(Words::from_bytes(words.bytes()), Some(words));
        assert_eq!(Words::from_bytes(&[]), Some(Words::anything()));
        assert_eq!(Words::from_bytes(&[1, 2, 3]), None);
    }
}
