//! What a list or watch is asked for beside its selectors: `meta/v1` ListOptions, read and checked as the server does.

use super::Limits;
use crate::sim::compat::{Compat, Version};
use crate::sim::request::Request;
use crate::sim::status::{Cause, Status};

/// Which state of the cluster a list is to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Match {
    /// That one alone.
    Exact,
    /// That one or a newer one.
    NotOlderThan,
}

/// The options of a list or watch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ListOptions {
    /// Whether changes are to be told, instead of a list.
    pub(crate) watch: bool,
    /// The resource version as given; empty where it is not.
    pub(crate) version: String,
    /// How the version is meant.
    pub(crate) matching: Option<Match>,
    /// The most items of a page; none: all of them.
    pub(crate) limit: Option<usize>,
    /// The token of the page before; empty for the first.
    pub(crate) page: String,
    /// Whether a watch wants bookmarks.
    pub(crate) bookmarks: bool,
    /// Whether a watch wants what is there first, and to be told where that ends.
    pub(crate) initial: Option<bool>,
    /// After how many seconds a watch ends.
    pub(crate) timeout: Option<u32>,
}

impl ListOptions {
    /// Reads the options of a request.
    ///
    /// # Errors
    /// 400 for a number that is none, 422 for options that do not go together.
    pub(crate) fn read(compat: Compat, request: &Request) -> Result<Self, Status> {
        let flag = |name| request.parameter(name).map(|text| !text.eq_ignore_ascii_case("false") && text != "0");
        let text = |name| request.parameter(name).unwrap_or_default().to_owned();
        let limit = number(request.parameter("limit"))?.filter(|it| *it > 0);
        let timeout = number(request.parameter("timeoutSeconds"))?.filter(|it| *it > 0);
        let (matching, causes) = checked(compat, request, flag("watch").unwrap_or_default(), flag("sendInitialEvents"));
        if !causes.is_empty() {
            return Err(Status::invalid_kind("meta.k8s.io", "ListOptions", "", &causes));
        }
        Ok(Self {
            watch: flag("watch").unwrap_or_default(),
            version: text("resourceVersion"),
            matching,
            limit: limit.map(|it| usize::try_from(it).unwrap_or(usize::MAX)),
            page: text("continue"),
            bookmarks: flag("allowWatchBookmarks").unwrap_or_default(),
            initial: flag("sendInitialEvents"),
            timeout: timeout.map(|it| u32::try_from(it).unwrap_or(u32::MAX).min(Limits::WATCH_SECONDS)),
        })
    }

    /// The resource version as a number; none where it is not given.
    ///
    /// # Errors
    /// Why it is none.
    pub(crate) fn number(&self) -> Result<Option<u64>, String> {
        let wrong = |why| {
            let text = &self.version;
            Err(format!("resourceVersion: Invalid value: \"{text}\": strconv.ParseUint: parsing \"{text}\": {why}"))
        };
        match self.version.as_str() {
            "" => Ok(None),
            text if !text.bytes().all(|byte| byte.is_ascii_digit()) => wrong("invalid syntax"),
            text => text.parse().map(Some).or_else(|_| wrong("value out of range")),
        }
    }
}

fn number(text: Option<&str>) -> Result<Option<i64>, Status> {
    let Some(text) = text else { return Ok(None) };
    let parsed = text.parse::<i64>();
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let why = if is_number { "value out of range" } else { "invalid syntax" };
    parsed.map(Some).map_err(|_| Status::bad_request(format!("strconv.ParseInt: parsing \"{text}\": {why}")))
}

/// What does not go together.
fn checked(compat: Compat, request: &Request, watch: bool, initial: Option<bool>) -> (Option<Match>, Vec<Cause>) {
    let given = |name| request.parameter(name).unwrap_or_default();
    let (version, page, word) = (given("resourceVersion"), given("continue"), given("resourceVersionMatch"));
    let matching = match word {
        "Exact" => Some(Match::Exact),
        "NotOlderThan" => Some(Match::NotOlderThan),
        _ => None,
    };
    let mut causes = Vec::new();
    let mut forbid = |field: &str, why: &str| causes.push(Cause::forbidden(field, why));
    const FIELD: &str = "resourceVersionMatch";
    let mut supported = "";
    if watch {
        if initial.is_some() {
            // At 1.33 lists in the form of watches are behind a gate that is off.
            if matching != Some(Match::NotOlderThan) {
                forbid(FIELD, "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
            }
            if compat.version == Version::V1_33 {
                let why = "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled";
                forbid("sendInitialEvents", why);
            }
        }
        if !word.is_empty() {
            if initial.is_none() {
                forbid(FIELD, "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided");
            }
            if matching != Some(Match::NotOlderThan) {
                supported = "\"NotOlderThan\"";
            }
        }
    } else if !word.is_empty() {
        if version.is_empty() {
            forbid(FIELD, "resourceVersionMatch is forbidden unless resourceVersion is provided");
        }
        if !page.is_empty() {
            forbid(FIELD, "resourceVersionMatch is forbidden when continue is provided");
        }
        if matching.is_none() {
            supported = "\"Exact\", \"NotOlderThan\", \"\"";
        }
        if matching == Some(Match::Exact) && version == "0" {
            forbid(FIELD, "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"");
        }
    }
    if !supported.is_empty() {
        let message = format!("Unsupported value: \"{word}\": supported values: {supported}");
        causes.push(Cause { reason: "FieldValueNotSupported", message, field: FIELD.to_owned() });
    }
    let mut forbid = |field: &str, why: &str| causes.push(Cause::forbidden(field, why));
    if watch && !page.is_empty() {
        forbid(FIELD, "resourceVersionMatch is forbidden when continue is provided");
    }
    if !watch && initial.is_some() {
        forbid("sendInitialEvents", "sendInitialEvents is forbidden for list");
    }
    (matching, causes)
}

#[cfg(test)]
mod tests {
    use super::{ListOptions, Match};
    use crate::sim::request::Request;
    use crate::sim::{Compat, Version};

    fn read(version: Version, query: &str) -> Result<ListOptions, String> {
        let query = query.split('&').filter_map(|pair| pair.split_once('='));
        let query = query.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        ListOptions::read(Compat::of(version), &Request { query, ..Request::default() }).map_err(|it| it.message)
    }

    /// The texts are those of a 1.36.3 server, the last one that of a 1.33.13 one.
    #[test]
    fn what_does_not_go_together_is_refused_in_the_words_of_the_server() {
        let invalid = |why: &str| format!("ListOptions.meta.k8s.io \"\" is invalid: {why}");
        const FIELD: &str = "resourceVersionMatch: Forbidden: ";
        for (query, words) in [
            ("limit=abc", "strconv.ParseInt: parsing \"abc\": invalid syntax".into()),
            ("watch=1&timeoutSeconds=x", "strconv.ParseInt: parsing \"x\": invalid syntax".into()),
            (
                "resourceVersionMatch=Exact",
                invalid(&format!("{FIELD}resourceVersionMatch is forbidden unless resourceVersion is provided")),
            ),
            (
                "resourceVersionMatch=Foo&resourceVersion=3",
                invalid(
                    "resourceVersionMatch: Unsupported value: \"Foo\": supported values: \"Exact\", \"NotOlderThan\", \"\"",
                ),
            ),
            (
                "resourceVersionMatch=Exact&resourceVersion=0",
                invalid(&format!("{FIELD}resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"")),
            ),
            (
                "resourceVersionMatch=Exact&continue=x",
                invalid(&format!(
                    "[{FIELD}resourceVersionMatch is forbidden unless resourceVersion is provided, {FIELD}resourceVersionMatch is forbidden when continue is provided]"
                )),
            ),
            (
                "sendInitialEvents=true",
                invalid("sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list"),
            ),
            (
                "watch=true&sendInitialEvents=true",
                invalid(&format!("{FIELD}sendInitialEvents requires setting resourceVersionMatch to NotOlderThan")),
            ),
            (
                "watch=true&sendInitialEvents=true&resourceVersionMatch=Exact",
                invalid(&format!(
                    "[{FIELD}sendInitialEvents requires setting resourceVersionMatch to NotOlderThan, resourceVersionMatch: Unsupported value: \"Exact\": supported values: \"NotOlderThan\"]"
                )),
            ),
            (
                "watch=true&resourceVersionMatch=NotOlderThan",
                invalid(&format!(
                    "{FIELD}resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
                )),
            ),
            (
                "watch=true&continue=abc",
                invalid(&format!("{FIELD}resourceVersionMatch is forbidden when continue is provided")),
            ),
        ] {
            assert_eq!(read(Version::V1_36, query), Err(words), "{query}");
        }
        assert_eq!(
            read(Version::V1_33, "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"),
            Err(invalid(
                "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled"
            ))
        );
    }

    #[test]
    fn options_are_read() {
        let query = "limit=2&resourceVersion=7&resourceVersionMatch=NotOlderThan&continue=";
        let options = read(Version::V1_36, query).unwrap();
        assert_eq!((options.limit, options.matching), (Some(2), Some(Match::NotOlderThan)));
        assert_eq!(options.number(), Ok(Some(7)));
        assert!(read(Version::V1_36, "watch=foo").unwrap().watch);
        assert!(!read(Version::V1_36, "watch=0").unwrap().watch);
        assert_eq!(read(Version::V1_36, "limit=-1").unwrap().limit, None);
        assert_eq!(
            read(Version::V1_36, "resourceVersion=abc").unwrap().number(),
            Err("resourceVersion: Invalid value: \"abc\": strconv.ParseUint: parsing \"abc\": invalid syntax".into())
        );
    }
}
