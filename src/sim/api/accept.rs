//! In which form a client wants its answer: the `Accept` header.

use crate::sim::status::Status;

/// The form of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Form {
    /// The objects.
    #[default]
    Objects,
    /// Their metadata.
    Metadata {
        /// Whether the client expects a list of them.
        list: bool,
    },
    /// Rows as `kubectl get` prints them.
    Table,
}

/// What a real server could answer with; this one has JSON alone.
const KNOWN: [&str; 3] = ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"];

/// Reads an `Accept` header. The first thing on it that can be had is given; an empty one asks for JSON.
///
/// # Errors
/// 406: nothing on it is JSON.
pub(crate) fn form(accept: &str) -> Result<Form, Status> {
    if accept.trim().is_empty() {
        return Ok(Form::Objects);
    }
    let wanted = by_weight(accept);
    if let Some(form) = wanted.iter().find_map(|media| media.form()) {
        return Ok(form);
    }
    let known = wanted.iter().any(|media| KNOWN.contains(&media.kind));
    Err(Status::not_acceptable(known))
}

/// Whether a header asks for aggregated discovery before anything else that can be had.
pub(crate) fn aggregated(accept: &str) -> bool {
    let can_be_had = |media: &&Media<'_>| media.is_json() && (media.has("as").is_none() || media.is_aggregated());
    by_weight(accept).iter().find(can_be_had).is_some_and(Media::is_aggregated)
}

/// One media type of a header with its parameters.
#[derive(Debug)]
struct Media<'a> {
    kind: &'a str,
    parameters: Vec<(&'a str, &'a str)>,
}

impl<'a> Media<'a> {
    fn read(text: &'a str) -> Self {
        let mut parts = text.split(';').map(str::trim);
        let kind = parts.next().unwrap_or_default();
        Self { kind, parameters: parts.filter_map(|part| part.split_once('=')).collect() }
    }

    fn has(&self, name: &str) -> Option<&'a str> {
        self.parameters.iter().find(|(key, _)| *key == name).map(|(_, value)| *value)
    }

    fn is_json(&self) -> bool {
        matches!(self.kind, "application/json" | "*/*")
    }

    fn is_aggregated(&self) -> bool {
        self.has("as") == Some("APIGroupDiscoveryList")
            && self.has("g") == Some("apidiscovery.k8s.io")
            && self.has("v") == Some("v2")
    }

    fn form(&self) -> Option<Form> {
        if !self.is_json() {
            return None;
        }
        match self.has("as") {
            None => Some(Form::Objects),
            Some(_) if self.has("g") != Some("meta.k8s.io") || self.has("v") != Some("v1") => None,
            Some("Table") => Some(Form::Table),
            Some("PartialObjectMetadata") => Some(Form::Metadata { list: false }),
            Some("PartialObjectMetadataList") => Some(Form::Metadata { list: true }),
            Some(_) => None,
        }
    }
}

/// The media types of a header, those with the greatest weight first.
fn by_weight(accept: &str) -> Vec<Media<'_>> {
    let mut media: Vec<Media<'_>> = accept.split(',').map(Media::read).collect();
    media.sort_by_key(|media| std::cmp::Reverse(weight(media.has("q"))));
    media
}

/// A weight in thousandths; one that makes no sense counts as the default.
fn weight(text: Option<&str>) -> u16 {
    let Some((whole, rest)) = text.map(|it| it.split_once('.').unwrap_or((it, ""))) else { return 1000 };
    let digits: String = rest.chars().chain("000".chars()).take(3).collect();
    match (whole, digits.parse::<u16>()) {
        ("0", Ok(thousandths)) => thousandths,
        _ => 1000,
    }
}

#[cfg(test)]
mod tests {
    use super::{Form, aggregated, form};

    #[test]
    fn the_first_form_that_can_be_had_is_given() {
        const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";
        for (accept, expected) in [
            ("", Form::Objects),
            ("*/*", Form::Objects),
            ("text/html, */*", Form::Objects),
            ("application/json", Form::Objects),
            ("application/json;stream=watch", Form::Objects),
            ("application/vnd.kubernetes.protobuf,application/json", Form::Objects),
            (TABLE, Form::Table),
            (
                "application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
                Form::Table,
            ),
            ("application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json", Form::Objects),
            ("application/json;q=0.1,application/json;as=Table;v=v1;g=meta.k8s.io;q=0.2", Form::Table),
            ("application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io", Form::Metadata { list: false }),
            ("application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1", Form::Metadata { list: true }),
        ] {
            assert_eq!(form(accept).unwrap(), expected, "{accept}");
        }
        for (accept, words) in [
            ("application/vnd.kubernetes.protobuf", "only the following media types are accepted: application/json"),
            (
                "application/json;as=Foo;v=v1;g=meta.k8s.io",
                "only the following media types are accepted: application/json",
            ),
            ("application/foo", "406: Not Acceptable\n\nAvailable representations: application/json"),
        ] {
            let status = form(accept).unwrap_err();
            assert_eq!((status.code, status.message.as_str()), (406, words), "{accept}");
        }
    }

    #[test]
    fn discovery_is_aggregated_for_who_asks_for_the_form_that_servers_have() {
        const V2: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
        const BETA: &str = "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList";
        assert!(aggregated(&format!("{V2},{BETA},application/json")));
        assert!(aggregated(&format!("{BETA},{V2},application/json")));
        assert!(!aggregated(&format!("{BETA},application/json")));
        assert!(!aggregated(&format!("application/json,{V2}")));
        assert!(!aggregated("*/*"));
    }
}
