//! Puts a refusal that only the server knows at the file and line of its field.

use crate::cluster::FieldFault;
use crate::manifest::{Document, fields};
use crate::model::Diagnostic;

/// The most faults that are shown of one set.
const MOST: usize = 50;

/// A diagnostic for each fault; one for the whole where the server names no field. Without a document there is no place.
pub(super) fn places(document: Option<Document>, faults: &[FieldFault], message: &str) -> Vec<Diagnostic> {
    let Some(document) = document else { return Vec::new() };
    let mut found: Vec<Diagnostic> = faults.iter().take(MOST).map(|fault| place(&document, fault)).collect();
    if found.is_empty() {
        found.push(Diagnostic::error(&document.file, document.line, said(message)));
    }
    found.sort();
    found.dedup();
    found
}

fn place(document: &Document, fault: &FieldFault) -> Diagnostic {
    let field = fault.field.trim_start_matches('.');
    let mut pointer = fields::pointer(field, &document.value);
    let message = said(&format!("{field}: {}", fault.message));
    loop {
        if let Some((line, column)) = document.locate(&pointer) {
            return Diagnostic::error(&document.file, line, message).at_column(column);
        }
        // Behind an alias or a merge key: the nearest value above it that has a place.
        match pointer.rfind('/') {
            Some(end) => pointer.truncate(end),
            None => return Diagnostic::error(&document.file, document.line, message),
        }
    }
}

fn said(message: &str) -> String {
    format!("the server refuses it: {message}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::parse;

    #[test]
    fn a_fault_is_shown_where_its_field_is() {
        let text = "# web\napiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: web}\nspec:\n  template:\n    \
                    spec:\n      containers:\n      - name: web\n        image: \" nginx\"\n";
        let document = parse("a/web.yaml", text.as_bytes()).0.remove(0);
        let fault = |field: &str| FieldFault { field: field.to_owned(), message: "must not".to_owned() };
        let faults =
            [fault("spec.template.spec.containers[0].image"), fault("spec.template.spec.containers[0].ports[3]")];
        let shown: Vec<String> =
            places(Some(document.clone()), &faults, "no").iter().map(ToString::to_string).collect();
        assert_eq!(
            shown,
            [
                "a/web.yaml:9:9: error: the server refuses it: spec.template.spec.containers[0].ports[3]: must not",
                "a/web.yaml:10:16: error: the server refuses it: spec.template.spec.containers[0].image: must not",
            ]
        );
        let whole = places(Some(document), &[], "denied by a policy");
        assert_eq!(whole[0].to_string(), "a/web.yaml:2: error: the server refuses it: denied by a policy");
        assert!(places(None, &faults, "no").is_empty());
    }
}
