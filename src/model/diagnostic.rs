//! What is wrong with something a person wrote, with the place and the way out.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The document is used all the same.
    Warning,
    /// The document is not used; the last good one stays in force.
    Error,
}

/// One finding in one file of the deploy repository.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Diagnostic {
    /// The file's path inside the repository, `/` between its parts; bytes that are no UTF-8 are shown as U+FFFD.
    pub file: String,
    /// The line, counted from 1; 0 where the whole file is meant.
    pub line: u32,
    /// The column, counted from 1; 0 where the whole line is meant.
    pub column: u32,
    /// How bad it is.
    pub severity: Severity,
    /// What was found, and what was expected.
    pub message: String,
    /// What to do about it; empty where the message says it all.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub hint: String,
    /// The field as the server names it (`spec.template.spec.containers[0].image`); empty where none is meant.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub path: String,
    /// What kind of finding it is, in a few words that stay the same: `unknown-field`; empty for the rest.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub code: String,
}

impl Diagnostic {
    /// An error at a line.
    pub fn error(file: impl Into<String>, line: u32, message: impl Into<String>) -> Self {
        Self {
            file: file.into(),
            line,
            column: 0,
            severity: Severity::Error,
            message: message.into(),
            hint: String::new(),
            path: String::new(),
            code: String::new(),
        }
    }

    /// A warning at a line.
    pub fn warning(file: impl Into<String>, line: u32, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(file, line, message) }
    }

    /// The same with a column.
    #[must_use]
    pub fn at_column(self, column: u32) -> Self {
        Self { column, ..self }
    }

    /// The same with a way out.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: hint.into(), ..self }
    }

    /// The same with its kind.
    #[must_use]
    pub fn code(self, code: impl Into<String>) -> Self {
        Self { code: code.into(), ..self }
    }

    /// Whether the document cannot be used.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

impl fmt::Display for Diagnostic {
    /// `file:line:column: error: message`, and the hint on a line of its own.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
            if self.column > 0 {
                write!(f, ":{}", self.column)?;
            }
        }
        let word = match self.severity {
            Severity::Warning => "warning",
            Severity::Error => "error",
        };
        write!(f, ": {word}: {}", self.message)?;
        if !self.hint.is_empty() {
            write!(f, "\n  hint: {}", self.hint)?;
        }
        Ok(())
    }
}
