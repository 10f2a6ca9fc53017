//! `plan --comment`: Markdown for a pull request, warnings first, a page that opens for each workload.
//!
//! Names, subjects and messages are other people's words: what would be markup, a mention or a link in them is shown as
//! the letters it is made of.

use super::diff;
use super::plan::{PlanItem, PlanObject};
use super::plan_text::{duration_words, headline, is_quiet, no_plan, number_words, revision_words, row};
use super::text;
use crate::model::{CommitId, Diagnostic};

/// The most bytes of a comment: GitHub takes 65,536 characters, of which some are left to whoever puts a line before it.
const MOST_BYTES: usize = 65_000;
/// The most bytes of one workload's page: one set must not hide all the others.
const MOST_OF_ONE: usize = 20_000;
/// The most findings and warnings that are listed before the pages.
const MOST_WORDS: usize = 50;
/// Tells this comment from all others, so that it can be found again and replaced.
const MARKER: &str = "<!-- phaseline plan -->";

/// The comment.
pub(crate) fn comment(plan: &PlanObject) -> String {
    let mut page = Page::new(MOST_BYTES);
    let changes = plan.items.iter().filter(|item| item.changes).count();
    let commit = match plan.commit.id.as_str() {
        "" => escaped(&plan.commit.subject),
        id => format!("`{}` {}", CommitId(id.to_owned()).short(), escaped(&plan.commit.subject)),
    };
    page.add(&format!(
        "{MARKER}\n### Phaseline: {changes} of {} workloads would change\n\n{commit}\n",
        plan.items.len()
    ));
    for assumption in &plan.assumptions {
        page.add(&format!("\n_Assumed: {}._\n", escaped(assumption)));
    }
    page.add(&list("Errors", &errors(plan)));
    page.add(&list("Warnings", &warnings(plan)));
    let mut left_out = 0;
    for item in plan.items.iter().filter(|item| !is_quiet(item)) {
        left_out += usize::from(!page.add(&workload(item)));
    }
    let quiet = plan.items.iter().filter(|item| is_quiet(item)).count();
    if quiet > 0 {
        page.add(&format!("\n{quiet} without a change.\n"));
    }
    if left_out > 0 {
        page.close(&format!("\n{left_out} more workloads do not fit here: `phaseline plan` shows them.\n"));
    }
    page.text
}

/// Text that stays below a limit; what does not fit is left out whole.
struct Page {
    text: String,
    most: usize,
}

impl Page {
    /// Room that is kept for the last line.
    const LAST: usize = 200;

    fn new(most: usize) -> Self {
        Self { text: String::new(), most }
    }

    fn add(&mut self, text: &str) -> bool {
        let fits = self.text.len() + text.len() + Self::LAST <= self.most;
        if fits {
            self.text.push_str(text);
        }
        fits
    }

    fn close(&mut self, text: &str) {
        if self.text.len() + text.len() <= self.most {
            self.text.push_str(text);
        }
    }
}

fn list(title: &str, words: &[String]) -> String {
    if words.is_empty() {
        return String::new();
    }
    let mut text = format!("\n**{title}**\n\n");
    for line in words.iter().take(MOST_WORDS) {
        text.push_str(&format!("- {line}\n"));
    }
    if words.len() > MOST_WORDS {
        text.push_str(&format!("- {} more\n", words.len() - MOST_WORDS));
    }
    text
}

fn errors(plan: &PlanObject) -> Vec<String> {
    let of_files = plan.diagnostics.iter().filter(|finding| finding.is_error());
    let mut found: Vec<String> = of_files.map(finding).collect();
    for item in &plan.items {
        found.extend(item.problems.iter().filter(|problem| problem.is_error()).map(finding));
        found.extend(item.refusals.iter().map(finding));
        if item.refusals.is_empty() && !item.refused.is_empty() {
            found.push(format!("{}: the server refuses it: {}", name(item), escaped(&cut(&item.refused))));
        }
    }
    found.dedup();
    found
}

fn warnings(plan: &PlanObject) -> Vec<String> {
    let mut found = Vec::new();
    for item in &plan.items {
        if !item.claims_removed.is_empty() {
            let claims = cut(&item.claims_removed.join(", "));
            found.push(format!("{}: the scale-down deletes the claims {}", name(item), escaped(&claims)));
        }
        for conflict in &item.conflicts {
            let words = format!("{} owned by {}", conflict.fields.join(", "), conflict.managers.join(", "));
            found.push(format!("{}: {}", name(item), escaped(&cut(&words))));
        }
        found.extend(item.warnings.iter().map(|warning| format!("{}: {}", name(item), escaped(&cut(warning)))));
    }
    found.extend(plan.diagnostics.iter().filter(|finding| !finding.is_error()).map(finding));
    found
}

fn finding(finding: &Diagnostic) -> String {
    let hint = if finding.hint.is_empty() { String::new() } else { format!(" ({})", finding.hint) };
    let place = match finding.line {
        0 => finding.file.clone(),
        line => format!("{}:{line}", finding.file),
    };
    format!("{}: {}{}", code(&place), escaped(&cut(&finding.message)), escaped(&cut(&hint)))
}

/// One workload: a line that is always seen, and what opens under it.
fn workload(item: &PlanItem) -> String {
    let mut page = Page::new(MOST_OF_ONE);
    let summary = format!("<b>{}</b>: {}", html(&format!("{}/{}", item.namespace, item.name)), html(headline(item)));
    page.add(&format!("\n<details><summary>{summary}</summary>\n\n"));
    if !item.message.is_empty() {
        page.add(&format!("{}\n\n", escaped(&cut(&item.message))));
    }
    for (word, revision) in [("now", &item.current), ("then", &item.target)] {
        if let Some(revision) = revision {
            page.add(&format!("- {word}: {}\n", escaped(&revision_words(revision))));
        }
    }
    if let Some(words) = number_words(item) {
        page.add(&format!("- {}\n", escaped(&words)));
    }
    if let Some(words) = duration_words(item) {
        page.add(&format!("- {}\n", escaped(&words)));
    }
    for assumption in &item.assumptions {
        page.add(&format!("- assumed: {}\n", escaped(&cut(assumption))));
    }
    if !item.stages.is_empty() {
        if item.no_plan {
            page.add(&format!("- {}\n", no_plan()));
        }
        let mut table =
            "\n| stage | pods | partition | ordinals | down | waits for | state |\n|---|---|---|---|---|---|---|\n"
                .to_owned();
        for stage in &item.stages {
            let cells = row(stage, item).map(|cell| escaped(&cell));
            table.push_str(&format!("| {} |\n", cells.join(" | ")));
        }
        if !page.add(&table) {
            page.add(&format!("\n{} stages do not fit here.\n", item.stages.len()));
        }
    }
    let lines: Vec<String> = item.fields.iter().flat_map(diff::lines).map(|line| signed(&line)).collect();
    if !lines.is_empty() {
        let mut block = Vec::new();
        let mut room = MOST_OF_ONE.saturating_sub(page.text.len() + Page::LAST * 2);
        for line in &lines {
            match room.checked_sub(line.len() + 1) {
                Some(rest) => room = rest,
                None => break,
            }
            block.push(line.as_str());
        }
        let fence = fence(&block);
        page.add(&format!("\n{fence}diff\n{}\n{fence}\n", block.join("\n")));
        if block.len() < lines.len() {
            page.add(&format!("\n{} more lines do not fit here.\n", lines.len() - block.len()));
        }
    }
    page.close("\n</details>\n");
    page.text
}

/// A line as `diff` blocks colour it: what changes is taken away and put there.
fn signed(line: &str) -> String {
    let line = text::line(line);
    match line.strip_prefix("~ ") {
        Some(rest) => format!("! {rest}"),
        None => line,
    }
}

/// More backticks than any line has in a row.
fn fence(lines: &[&str]) -> String {
    let mut most = 2;
    for line in lines {
        let mut run = 0;
        for letter in line.chars() {
            run = if letter == '`' { run + 1 } else { 0 };
            most = most.max(run);
        }
    }
    "`".repeat(most + 1)
}

fn name(item: &PlanItem) -> String {
    code(&format!("{}/{}", item.namespace, item.name))
}

/// Words between backticks: nothing in them is markup but the backtick.
fn code(words: &str) -> String {
    let words = text::line(words).replace('`', "'");
    format!("`{}`", if words.is_empty() { " " } else { &words })
}

/// Words of others in running text: in one line, no markup, no mention, no link, no HTML.
fn escaped(words: &str) -> String {
    let mut safe = String::with_capacity(words.len());
    let line = text::line(words);
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            // A mention, an issue and a link are only made of letters that stand next to each other.
            '@' => safe.push_str("@\u{200b}"),
            '#' => safe.push_str("#\u{200b}"),
            ':' if letters.peek() == Some(&'/') => safe.push_str(":\u{200b}"),
            // `www.` is a link by itself, `GH-1` an issue, and a version no more than it was.
            '.' if ends_with(&safe, "www") => safe.push_str("\u{200b}."),
            '-' if ends_with(&safe, "gh") => safe.push_str("\u{200b}-"),
            '\\' | '`' | '*' | '_' | '{' | '}' | '[' | ']' | '(' | ')' | '!' | '|' | '~' | '$' => {
                safe.push('\\');
                safe.push(letter);
            }
            other => safe.push(other),
        }
    }
    safe
}

/// Whether text ends with a word, in letters of any case.
fn ends_with(text: &str, word: &str) -> bool {
    let end: String = text.chars().rev().take(word.len()).collect();
    end.chars().rev().collect::<String>().eq_ignore_ascii_case(word)
}

fn html(words: &str) -> String {
    let words = text::line(words).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let words = words.replace('@', "@\u{200b}").replace("://", ":\u{200b}//");
    let at = words.to_ascii_lowercase();
    let mut safe = String::with_capacity(words.len());
    let mut from = 0;
    for (dot, _) in at.match_indices("www.") {
        safe.push_str(&words[from..dot + 3]);
        safe.push('\u{200b}');
        from = dot + 3;
    }
    safe.push_str(&words[from..]);
    safe
}

/// Words of a length that a list bears.
fn cut(words: &str) -> String {
    const MOST: usize = 500;
    if words.chars().count() <= MOST {
        return words.to_owned();
    }
    words.chars().take(MOST).chain("..".chars()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_write_stays_what_it_is() {
        assert_eq!(
            escaped("fix @all **now** <img src=x> a|b [x](y) #12"),
            "fix @\u{200b}all \\*\\*now\\*\\* &lt;img src=x&gt; a\\|b \\[x\\]\\(y\\) #\u{200b}12"
        );
        assert_eq!(escaped("see https://x.y\nand"), "see https:\u{200b}//x.y and");
        assert_eq!(code("a`b\u{1b}"), "`a'b\u{fffd}`");
        assert_eq!(fence(&["a ```` b", "`"]), "`````");
        assert_eq!(html("<b>@x"), "&lt;b&gt;@\u{200b}x");
        assert_eq!(
            escaped("www.evil.example WWW.x awww. GH-12 gh-pages v1.2"),
            "www\u{200b}.evil.example WWW\u{200b}.x awww\u{200b}. GH\u{200b}-12 gh\u{200b}-pages v1.2"
        );
        assert_eq!(html("WWW.x http://y"), "WWW\u{200b}.x http:\u{200b}//y");
    }

    #[test]
    fn a_page_never_grows_over_its_limit() {
        let mut page = Page::new(1_000);
        while page.add(&"x".repeat(90)) {}
        page.close(&"y".repeat(150));
        assert!(page.text.len() <= 1_000 && page.text.ends_with('y'));
        page.close(&"z".repeat(1_000));
        assert!(page.text.ends_with('y'));
    }
}
