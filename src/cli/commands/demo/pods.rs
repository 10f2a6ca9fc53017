//! Prints pods as `kubectl get pods -L controller-revision-hash` does, from the table that the server makes for it.

use serde_json::Value;

use crate::sim::serve::Embedded;
use crate::sim::{Answer, Request};

/// The label whose column is added.
const LABEL: &str = "controller-revision-hash";
/// What kubectl asks for.
const ACCEPT: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
/// Space between two columns.
const GAP: usize = 3;

/// The table of a namespace's pods; none where the server makes no table.
pub(super) fn table(embedded: &Embedded, namespace: &str) -> Option<String> {
    let request = Request {
        method: "GET".to_owned(),
        path: format!("/api/v1/namespaces/{namespace}/pods"),
        accept: ACCEPT.to_owned(),
        user: "person".to_owned(),
        agent: "kubectl".to_owned(),
        ..Request::default()
    };
    let Answer::Whole(answer) = embedded.with(|world, now| world.handle(now, &request)) else { return None };
    let table = answer.body;
    let columns: Vec<(usize, String)> = table["columnDefinitions"]
        .as_array()?
        .iter()
        .enumerate()
        .filter(|(_, column)| column["priority"] == 0)
        .filter_map(|(at, column)| Some((at, column["name"].as_str()?.to_uppercase())))
        .collect();
    let mut lines = vec![columns.iter().map(|(_, name)| name.clone()).collect::<Vec<_>>()];
    lines[0].push(LABEL.to_uppercase());
    for row in table["rows"].as_array()? {
        let mut cells: Vec<String> = columns.iter().map(|(at, _)| text(&row["cells"][*at])).collect();
        cells.push(text(&row["object"]["metadata"]["labels"][LABEL]));
        lines.push(cells);
    }
    let widths: Vec<usize> = (0..=columns.len())
        .map(|at| {
            lines.iter().map(|line| line.get(at).map_or(0, |cell| cell.chars().count())).max().unwrap_or_default()
        })
        .collect();
    let told = lines.iter().map(|line| {
        let cells = line.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}", width = width + GAP));
        format!("{}\n", cells.collect::<String>().trim_end())
    });
    Some(told.collect())
}

fn text(cell: &Value) -> String {
    match cell {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}
