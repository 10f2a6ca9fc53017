//! YAML that kubectl reads as it is meant: a string that it would take for a boolean or a number is quoted.

use std::io::Write;

use serde::Serialize;

use crate::cli::error::{CliError, Kind};

/// Writes one document.
pub(crate) fn document(out: &mut dyn Write, value: &impl Serialize) -> Result<(), CliError> {
    let mut options = serde_saphyr::SerializerOptions::default();
    // Folded text is right only for readers that fold as the writer does.
    options.prefer_block_scalars = false;
    let text = serde_saphyr::to_string_with_options(value, options).map_err(|error| CliError::of(Kind::Io, &error))?;
    Ok(write!(out, "{text}{}", if text.ends_with('\n') { "" } else { "\n" })?)
}

/// Writes several documents, as `kubectl apply -f -` reads them.
pub(crate) fn documents(out: &mut dyn Write, values: &[impl Serialize]) -> Result<(), CliError> {
    for (index, value) in values.iter().enumerate() {
        if index > 0 {
            writeln!(out, "---")?;
        }
        document(out, value)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::{Reading, read_documents_as};
    use fastrand::Rng;
    use serde_json::{Value, json};

    fn written(value: &Value) -> String {
        let mut out = Vec::new();
        document(&mut out, value).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn strings_that_kubectl_would_misread_are_quoted() {
        for word in [
            "yes",
            "no",
            "on",
            "off",
            "y",
            "n",
            "Y",
            "N",
            "Yes",
            "NO",
            "On",
            "true",
            "False",
            "null",
            "~",
            "",
            "1",
            "0x1F",
            "0o17",
            "017",
            "1_000",
            "1.5",
            ".5",
            "1e3",
            ".inf",
            "-.INF",
            ".nan",
            "2001-01-01",
            "12:30:45",
            "=",
            "<<",
            "- a",
            "a: b",
            "#c",
            " a",
            "a ",
            "[a",
            "{a",
            "*a",
            "&a",
            "!a",
            "%a",
            "@a",
            "`a",
            "'a",
            "\"a",
            "1_",
            ".1_5",
        ] {
            let text = written(&json!({ "a": word }));
            let value = text.strip_prefix("a: ").unwrap().trim_end();
            assert!(value.starts_with('"') || value.starts_with('\''), "{word:?} is written as {value}");
            assert_eq!(serde_saphyr::from_str::<std::collections::BTreeMap<String, String>>(&text).unwrap()["a"], word);
        }
    }

    #[test]
    fn several_lines_and_control_characters_survive() {
        for word in ["a\nb\n", "a\n\n", "\ttab", "a\u{85}b", "a\u{2028}b", "tr\u{7f}", "a\r\nb", "\n", "  a\nb"] {
            let text = written(&json!({ "a": word }));
            let read: std::collections::BTreeMap<String, String> = serde_saphyr::from_str(&text).unwrap();
            assert_eq!(read["a"], word, "{text}");
        }
    }

    #[test]
    fn documents_are_set_apart() {
        let mut out = Vec::new();
        documents(&mut out, &[json!({"a": 1}), json!({"b": []})]).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "a: 1\n---\nb: []\n");
    }

    /// What a string may be made of to be misread.
    const PIECES: &[&str] = &[
        "y",
        "n",
        "on",
        "off",
        "yes",
        "null",
        "~",
        "true",
        "0",
        "0123",
        "0x1F",
        "1e3",
        ".5",
        "1_000",
        "-",
        "+",
        ".inf",
        ".nan",
        "<<",
        "=",
        ":",
        ": ",
        " #",
        "#",
        "- ",
        "? ",
        "[",
        "]",
        "{",
        "}",
        ",",
        "&a",
        "*a",
        "!",
        "!!int 1",
        "|",
        ">",
        "'",
        "\"",
        "\\",
        "%",
        "@",
        "`",
        "---",
        "...",
        "\n",
        "\n\n",
        " ",
        "  ",
        "\t",
        "\r",
        "\r\n",
        "\u{85}",
        "\u{2028}",
        "\u{2029}",
        "\u{a0}",
        "\u{feff}",
        "\0",
        "\u{7}",
        "\u{1b}",
        "\u{7f}",
        "\u{9b}",
        "\u{fffe}",
        "é",
        "😀",
        "a",
        "b c",
        "x: y",
        "2001-12-14",
        "12:30:45",
        "a\nb",
        "\n  a",
        "\n--- a",
        "\n# a",
    ];

    fn text(rng: &mut Rng) -> String {
        (0..rng.usize(..5)).map(|_| PIECES[rng.usize(..PIECES.len())]).collect()
    }

    fn value(rng: &mut Rng, depth: usize) -> Value {
        match rng.u8(..if depth > 3 { 7 } else { 10 }) {
            0 => Value::Null,
            1 => rng.bool().into(),
            2 => rng.i64(..).into(),
            3 => {
                // As it comes out of a reader: what is whole is an integer.
                let float = f64::from_bits(rng.u64(..));
                if float.is_finite() && (float.fract() != 0.0 || float.abs() > 1e19) { float.into() } else { 7.into() }
            }
            4..7 => text(rng).into(),
            7 => (0..rng.usize(..4)).map(|_| value(rng, depth + 1)).collect::<Vec<_>>().into(),
            _ => Value::Object((0..rng.usize(..4)).map(|_| (text(rng), value(rng, depth + 1))).collect()),
        }
    }

    #[test]
    fn kubectl_reads_what_was_written() {
        for seed in 0..20_000 {
            let mut rng = Rng::with_seed(seed);
            let values = [json!({ "a": value(&mut rng, 0) }), json!([value(&mut rng, 0)])];
            let mut out = Vec::new();
            documents(&mut out, &values).unwrap();
            for reading in [Reading::Applied, Reading::Plain] {
                let (read, findings) = read_documents_as("a.yaml", &out, reading);
                let read: Vec<_> = read.into_iter().map(|document| document.value).collect();
                let text = String::from_utf8_lossy(&out);
                assert_eq!(
                    (read.as_slice(), findings.as_slice()),
                    (values.as_slice(), [].as_slice()),
                    "seed {seed}: {text}"
                );
            }
        }
    }
}
