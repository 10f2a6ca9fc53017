//! Tables as kubectl prints them: upper-case headers, no lines, three spaces between columns.

use comfy_table::presets;
use comfy_table::{ContentArrangement, Table};

use super::text;

/// Space between two columns.
const GAP: u16 = 3;

/// A table as text, with a line end behind every row. Nothing is cut or wrapped: a pipe or a wide screen wants it all.
pub(crate) fn table<const N: usize>(header: [&str; N], rows: impl IntoIterator<Item = [String; N]>) -> String {
    columns(header.map(str::to_owned).into(), rows.into_iter().map(Vec::from))
}

/// The same where some columns may be left out.
pub(crate) fn columns(header: Vec<String>, rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(header);
    for row in rows {
        table.add_row(row.iter().map(|cell| text::line(cell)));
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, GAP));
    }
    let mut out = String::new();
    for line in table.lines() {
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_looks_like_kubectl() {
        let rows = [["web".to_owned(), "Healthy".to_owned()], ["a-longer-name".to_owned(), String::new()]];
        assert_eq!(table(["NAME", "PHASE"], rows), "NAME            PHASE\nweb             Healthy\na-longer-name\n");
    }
}
