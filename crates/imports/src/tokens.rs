//! Finds the paths in the tokens of a macro, whose grammar only the macro knows.
//!
//! Each sequence `a::b::c` and each single word counts as a path. Words that do not count are those after a dot (a
//! field), a dollar (a variable of the macro, except `$crate`) or an apostrophe (a lifetime), and a single word
//! before a colon (a field's name). A path that names neither a module nor an item finds nothing in `resolve`.

use proc_macro2::{TokenStream, TokenTree};

/// A path as it was written, and its line.
#[derive(Debug, Clone)]
pub struct PathUse {
    pub path: Vec<String>,
    pub line: usize,
}

/// Adds the paths in `tokens` to `found`.
pub fn paths(tokens: TokenStream, found: &mut Vec<PathUse>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut at = 0;
    while at < tokens.len() {
        match &tokens[at] {
            TokenTree::Group(group) => paths(group.stream(), found),
            TokenTree::Ident(word) => {
                let (path, after) = path_from(&tokens, at);
                let label = path.len() == 1 && is(&tokens, after, ':');
                let known = path[0] == "crate" || !is_excluded_by_previous(&tokens, at);
                if known && !label {
                    found.push(PathUse { path, line: word.span().start().line });
                }
                at = after;
                continue;
            }
            _ => {}
        }
        at += 1;
    }
}

/// Returns the path that begins at token `at`, and the index of the token behind the path.
fn path_from(tokens: &[TokenTree], mut at: usize) -> (Vec<String>, usize) {
    let mut path = Vec::new();
    while let Some(TokenTree::Ident(word)) = tokens.get(at) {
        path.push(word.to_string());
        at += 1;
        if !(is(tokens, at, ':') && is(tokens, at + 1, ':')) {
            break;
        }
        if !matches!(tokens.get(at + 2), Some(TokenTree::Ident(_))) {
            // A turbofish or a list follows: the path ends here.
            at += 2;
            break;
        }
        at += 2;
    }
    (path, at)
}

fn is(tokens: &[TokenTree], at: usize, mark: char) -> bool {
    matches!(tokens.get(at), Some(TokenTree::Punct(punct)) if punct.as_char() == mark)
}

/// Whether the token before word `at` makes the word a field, a macro's variable, a lifetime, or the rest of a path.
fn is_excluded_by_previous(tokens: &[TokenTree], at: usize) -> bool {
    let mark = |back: usize, mark| at >= back && is(tokens, at - back, mark);
    let field = mark(1, '.') && !mark(2, '.');
    field || mark(1, '$') || mark(1, '\'') || (mark(1, ':') && mark(2, ':'))
}
