//! Text from elsewhere, made fit to be printed: the one form in which names, messages and subjects of others are shown.
//!
//! A terminal obeys control characters, and marks of writing direction make one text look like another. Both stand in
//! commit subjects, in messages of servers, and in what somebody wrote into an annotation.

/// What stands for a letter that is not shown.
pub const INSTEAD: char = char::REPLACEMENT_CHARACTER;

/// Whether a letter steers a terminal, breaks the line, or changes how the text around it is read.
pub fn steers(letter: char) -> bool {
    letter.is_control()
        || matches!(letter,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{206f}' | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}')
}

/// One line: line breaks and tabs become spaces, what steers becomes U+FFFD.
pub fn line(text: &str) -> String {
    let shown = |letter| match letter {
        '\n' | '\r' | '\t' => ' ',
        letter if steers(letter) => INSTEAD,
        letter => letter,
    };
    text.chars().map(shown).collect()
}

/// Several lines: as [`line()`], with the line breaks kept.
pub fn lines(text: &str) -> String {
    text.chars().map(|letter| if letter != '\n' && steers(letter) { INSTEAD } else { letter }).collect()
}

/// JSON that says the same in letters that steer nothing: such letters stand in strings only, where they can be escaped.
pub fn json(text: &str) -> String {
    if !text.chars().any(|letter| letter != '\n' && steers(letter)) {
        return text.to_owned();
    }
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        if letter == '\n' || !steers(letter) {
            safe.push(letter);
            continue;
        }
        let mut units = [0; 2];
        for unit in letter.encode_utf16(&mut units) {
            safe.push_str(&format!("\\u{unit:04x}"));
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_steers_the_terminal() {
        assert_eq!(line("a\x1b[2Jb\nc\u{202e}d\u{9b}e"), "a\u{fffd}[2Jb c\u{fffd}d\u{fffd}e");
        assert_eq!(lines("a\x07\nb\r"), "a\u{fffd}\nb\u{fffd}");
        for mark in ['\u{61c}', '\u{200f}', '\u{2028}', '\u{2029}', '\u{202a}', '\u{2069}', '\u{e0041}'] {
            assert_eq!(line(&mark.to_string()), "\u{fffd}", "{mark:?}");
        }
        for text in ["Änderung ✓ 日本", "naïve — “quoted”", "👩‍💻"] {
            assert_eq!(line(text), text);
        }
    }

    #[test]
    fn json_says_the_same_in_plain_letters() {
        let value = serde_json::json!({"a": "x\u{202e}y\u{e0041}z\u{9b}", "b": ["\n", "ü"]});
        let text = json(&serde_json::to_string_pretty(&value).unwrap());
        assert!(!text.chars().any(|letter| letter != '\n' && steers(letter)), "{text}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
    }
}
