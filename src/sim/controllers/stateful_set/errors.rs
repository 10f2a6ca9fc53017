//! What failed in a sync, one thing or several.

use std::fmt;

use crate::sim::status::Status;

/// The errors of a sync, printed as Go's aggregates are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Errors {
    messages: Vec<String>,
    /// Whether it is one error, and a conflict at its root: what a repair of a pod tries again.
    conflict: bool,
}

impl Errors {
    /// One error.
    pub(super) fn of(message: impl Into<String>) -> Self {
        Self { messages: vec![message.into()], conflict: false }
    }

    /// A refusal, told in other words.
    pub(super) fn about(refusal: &Status, message: String) -> Self {
        Self { messages: vec![message], conflict: refusal.reason == "Conflict" }
    }

    /// Whether it is a conflict; several errors are none.
    pub(super) fn is_conflict(&self) -> bool {
        self.conflict
    }

    /// All of them as one; none where there are none.
    pub(super) fn all(errors: impl IntoIterator<Item = Self>) -> Result<(), Self> {
        let messages: Vec<String> = errors.into_iter().flat_map(|it| it.messages).collect();
        if messages.is_empty() { Ok(()) } else { Err(Self { messages, conflict: false }) }
    }

    /// These and others.
    pub(super) fn and(mut self, others: Self) -> Self {
        self.messages.extend(others.messages);
        self.conflict = false;
        self
    }

    /// What failed, in the order in which it did.
    pub fn messages(&self) -> &[String] {
        &self.messages
    }
}

impl From<Status> for Errors {
    fn from(status: Status) -> Self {
        let conflict = status.reason == "Conflict";
        Self { messages: vec![status.message], conflict }
    }
}

impl fmt::Display for Errors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut told: Vec<&str> = Vec::new();
        for message in &self.messages {
            if !told.contains(&message.as_str()) {
                told.push(message);
            }
        }
        match told.as_slice() {
            [one] => f.write_str(one),
            many => write!(f, "[{}]", many.join(", ")),
        }
    }
}

impl std::error::Error for Errors {}

#[cfg(test)]
mod tests {
    use super::Errors;

    #[test]
    fn several_are_told_once_each() {
        let both = Errors::of("a").and(Errors::of("b")).and(Errors::of("a"));
        assert_eq!(both.to_string(), "[a, b]");
        assert_eq!(Errors::of("a").and(Errors::of("a")).to_string(), "a");
        assert!(Errors::all([]).is_ok());
    }
}
