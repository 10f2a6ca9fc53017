//! The tokens that a YAML text is made of.

use super::cursor::Mark;

/// One token and where it is.
#[derive(Debug)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) start: Mark,
    pub(super) end: Mark,
}

/// What a token is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Kind {
    StreamStart,
    StreamEnd,
    /// `%YAML 1.1`
    Version(u32, u32),
    /// `%TAG handle prefix`
    TagDirective(Vec<u8>, Vec<u8>),
    DocumentStart,
    DocumentEnd,
    BlockSequenceStart,
    BlockMappingStart,
    BlockEnd,
    FlowSequenceStart,
    FlowSequenceEnd,
    FlowMappingStart,
    FlowMappingEnd,
    BlockEntry,
    FlowEntry,
    Key,
    Value,
    Alias(String),
    Anchor(String),
    /// Handle and suffix.
    Tag(Vec<u8>, Vec<u8>),
    Scalar(String, Style),
}

/// How a scalar is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    Plain,
    Quoted,
    /// Behind `|` or `>`.
    Block,
}

impl Kind {
    /// What a person would call it, for a message.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::StreamStart => "the beginning",
            Self::StreamEnd => "the end of the document",
            Self::Version(..) | Self::TagDirective(..) => "a `%` directive",
            Self::DocumentStart => "`---`",
            Self::DocumentEnd => "`...`",
            Self::BlockSequenceStart | Self::BlockEntry => "`-`",
            Self::BlockMappingStart | Self::Key => "a key",
            Self::BlockEnd => "less indentation",
            Self::FlowSequenceStart => "`[`",
            Self::FlowSequenceEnd => "`]`",
            Self::FlowMappingStart => "`{`",
            Self::FlowMappingEnd => "`}`",
            Self::FlowEntry => "`,`",
            Self::Value => "`:`",
            Self::Alias(_) => "an alias",
            Self::Anchor(_) => "an anchor",
            Self::Tag(..) => "a tag",
            Self::Scalar(..) => "text",
        }
    }
}
