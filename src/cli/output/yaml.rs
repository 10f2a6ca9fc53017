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
}
