//! What a client asks and what it is answered, without a wire.

use jiff::SignedDuration;
use serde_json::Value;

use super::api::watch::Watch;

/// A request. Whoever passes it on has read it whole and bounded its size.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Request {
    /// `GET`, `POST`, `PUT`, `PATCH` or `DELETE`.
    pub method: String,
    /// The path, decoded, without the query.
    pub path: String,
    /// The query's parameters, decoded, in order.
    pub query: Vec<(String, String)>,
    /// The `Accept` header.
    pub accept: String,
    /// The `Content-Type` header.
    pub content_type: String,
    /// The body.
    pub body: Vec<u8>,
    /// Who asks, as the audit log names them.
    pub user: String,
    /// The `User-Agent` header.
    pub agent: String,
}

impl Request {
    /// The first value of a parameter of the query; none where it is absent.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// An answer.
#[derive(Debug)]
pub enum Answer {
    /// One that is there at once.
    Whole(Response),
    /// One that goes on: [`super::World::poll`] hands out its lines.
    Watch(Box<Watch>),
    /// One that takes so long.
    Late(SignedDuration, Box<Self>),
    /// None: it is lost.
    Lost(Loss),
}

/// Why there is no answer. Only faults bring that about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    /// The connection breaks.
    Reset,
    /// Nothing comes: who asked is to be killed.
    Crash,
}

/// An answer that is there at once.
#[derive(Debug, Clone, PartialEq)]
pub struct Response {
    /// The HTTP status code.
    pub code: u16,
    /// The body; a text where the content type is no JSON.
    pub body: Value,
    /// The `Content-Type` header.
    pub content_type: &'static str,
    /// `Warning` headers, without code and agent.
    pub warnings: Vec<String>,
}

impl Response {
    /// An answer without warnings.
    pub fn new(code: u16, body: Value) -> Self {
        Self { code, body, content_type: "application/json", warnings: Vec::new() }
    }

    /// A plain text.
    pub fn text(code: u16, text: &str) -> Self {
        Self { content_type: "text/plain; charset=utf-8", ..Self::new(code, text.into()) }
    }

    /// The body as it is sent.
    pub fn bytes(&self) -> Vec<u8> {
        match &self.body {
            Value::String(text) if self.content_type.starts_with("text/") => text.clone().into_bytes(),
            body => body.to_string().into_bytes(),
        }
    }
}
