//! Tests that definitions have names of the glossary (docs/glossary.md), and that functions fit on a screen.
//!
//! It reads the sources of all crates as `syn` parses them, and must never write one. Definitions inside `macro_rules!`
//! are not seen. The names of test functions are sentences, which say what holds, and are left out.

use std::sync::OnceLock;

use hawser_imports::sources;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Ident, Member};

/// The longest function, in lines, its signature and closing brace included: a screen (CONTRIBUTING.md).
const LINES_MAX: usize = 70;

/// Words of older texts that name nothing in the field, or several things. A definition may have none of them in its
/// name, as a word of its own: `told` and `is_told`, not `stride`.
const FORBIDDEN: [&str; 26] = [
    "anew",
    "clockwork",
    "conduct",
    "conductor",
    "desk",
    "giver",
    "grade",
    "hear",
    "lean",
    "loan",
    "matchbox",
    "meter",
    "mouth",
    "patience",
    "pulse",
    "say",
    "sequel",
    "strand",
    "stripe",
    "taker",
    "tell",
    "trouble",
    "venue",
    "whom",
    "wish",
    "wishes",
];

/// Definitions that keep such a word: the end of their file's path, the name, the reason.
const KEPT_NAMES: [(&str, &str, &str); 1] =
    [("conformance/remote.rs", "atomics_find_and_leave_what_they_say", "a test of every device, named by a sentence")];

/// Functions that are longer: the end of their file's path, the name, the reason.
const KEPT_LENGTHS: [(&str, &str, &str); 5] = [
    ("coll/src/tests/selection.rs", "same_on_all_ranks", "one match over all collectives"),
    ("dev-ether/tests/ports.rs", "rubbish", "a list of malformed datagrams"),
    ("p2p/tests/model/mod.rs", "step", "one match over all actions of the model"),
    ("launch/src/frames_tests.rs", "from_agent_frames", "a list of all frames"),
    ("launch/tests/rank/rank.rs", "main", "one match over all acts of the test program"),
];

/// A definition with a forbidden word, or a function with its length.
#[derive(Debug, PartialEq)]
struct Finding {
    line: usize,
    name: String,
    lines: usize,
}

#[derive(Default)]
struct Definitions {
    names: Vec<Finding>,
    functions: Vec<Finding>,
}

/// Returns the words of a name, in lower case: those of `ReceiveCapacity` and of `receive_capacity` are the same.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for letter in name.chars() {
        if letter == '_' || (letter.is_uppercase() && was_lower) {
            words.push(String::new());
        }
        was_lower = letter.is_lowercase() || letter.is_numeric();
        if letter != '_' {
            words.last_mut().unwrap().extend(letter.to_lowercase());
        }
    }
    words
}

impl Definitions {
    fn of(text: &str) -> Definitions {
        let mut found = Definitions::default();
        found.visit_file(&syn::parse_file(text).unwrap());
        found
    }

    fn define(&mut self, name: &Ident) {
        let text = name.to_string();
        if words(&text).iter().any(|word| FORBIDDEN.contains(&word.as_str())) {
            self.names.push(Finding { line: name.span().start().line, name: text, lines: 1 });
        }
    }

    fn function(&mut self, attributes: &[syn::Attribute], signature: &syn::Signature, body: &syn::Block) {
        let is_test = attributes.iter().any(|attribute| attribute.path().is_ident("test"));
        if !is_test {
            self.define(&signature.ident);
        }
        let (first, last) = (signature.span().start().line, body.span().end().line);
        self.functions.push(Finding { line: first, name: signature.ident.to_string(), lines: last - first + 1 });
    }
}

impl<'ast> Visit<'ast> for Definitions {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.function(&item.attrs, &item.sig, &item.block);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.function(&item.attrs, &item.sig, &item.block);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        self.define(&item.sig.ident);
        visit::visit_trait_item_fn(self, item);
    }

    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        self.define(&item.ident);
        visit::visit_item_struct(self, item);
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        self.define(&item.ident);
        visit::visit_item_enum(self, item);
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        self.define(&item.ident);
        visit::visit_item_trait(self, item);
    }

    fn visit_item_type(&mut self, item: &'ast syn::ItemType) {
        self.define(&item.ident);
        visit::visit_item_type(self, item);
    }

    fn visit_item_const(&mut self, item: &'ast syn::ItemConst) {
        self.define(&item.ident);
        visit::visit_item_const(self, item);
    }

    fn visit_item_static(&mut self, item: &'ast syn::ItemStatic) {
        self.define(&item.ident);
        visit::visit_item_static(self, item);
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        self.define(&item.ident);
        visit::visit_item_mod(self, item);
    }

    fn visit_variant(&mut self, variant: &'ast syn::Variant) {
        self.define(&variant.ident);
        visit::visit_variant(self, variant);
    }

    fn visit_field(&mut self, field: &'ast syn::Field) {
        if let Some(name) = &field.ident {
            self.define(name);
        }
        visit::visit_field(self, field);
    }

    /// Parameters and variables.
    fn visit_pat_ident(&mut self, pattern: &'ast syn::PatIdent) {
        self.define(&pattern.ident);
        visit::visit_pat_ident(self, pattern);
    }

    /// A field in a pattern is not defined there: `Options { wish, .. }` introduces a variable of that name, which
    /// follows the field.
    fn visit_field_pat(&mut self, field: &'ast syn::FieldPat) {
        let is_shorthand = field.colon_token.is_none() && matches!(field.member, Member::Named(_));
        if !is_shorthand {
            visit::visit_field_pat(self, field);
        }
    }
}

/// Returns the definitions of all sources, by their paths from `crates/`.
fn all() -> &'static [(String, Definitions)] {
    static ALL: OnceLock<Vec<(String, Definitions)>> = OnceLock::new();
    ALL.get_or_init(|| {
        sources::of_all_crates().into_iter().map(|source| (source.name, Definitions::of(&source.text))).collect()
    })
}

/// Returns what is wrong in all sources: what `findings` gives of each, without `kept`.
fn wrong(
    findings: impl Fn(&'static Definitions) -> Vec<&'static Finding>,
    kept: &[(&str, &str, &str)],
    what: impl Fn(&Finding) -> String,
) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut unused: Vec<_> = kept.iter().collect();
    for (name, definitions) in all() {
        for finding in findings(definitions) {
            let is_kept = |(file, known, _): &(&str, &str, &str)| name.ends_with(file) && finding.name == *known;
            if kept.iter().any(is_kept) {
                unused.retain(|entry| !is_kept(entry));
            } else {
                wrong.push(format!("crates/{name}:{}: {} {}", finding.line, finding.name, what(finding)));
            }
        }
    }
    wrong.extend(
        unused.iter().map(|(file, name, _)| format!("{file}: the exception for {name} is not needed any more")),
    );
    wrong
}

#[test]
fn definitions_are_named_by_the_glossary() {
    let what = |_: &Finding| "has a word that docs/glossary.md replaces".to_owned();
    let wrong = wrong(|definitions| definitions.names.iter().collect(), &KEPT_NAMES, what);
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn functions_fit_on_a_screen() {
    let long = |definitions: &'static Definitions| {
        definitions.functions.iter().filter(|function| function.lines > LINES_MAX).collect()
    };
    let what = |function: &Finding| format!("has {} lines, more than {LINES_MAX}", function.lines);
    let wrong = wrong(long, &KEPT_LENGTHS, what);
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn a_forbidden_name_and_a_long_function_are_found() {
    let text = format!(
        "struct {0}Kind {{ {1}_s: u32, stride: u8 }}\nfn f({1}: u32) {{\n{2}}}\n#[test]\nfn it_{1}s() {{ let x_{1} = 1; }}\n",
        "Venue",
        FORBIDDEN[21],
        "\n".repeat(LINES_MAX - 1)
    );
    let found = Definitions::of(&text);
    let names: Vec<(usize, &str)> = found.names.iter().map(|finding| (finding.line, finding.name.as_str())).collect();
    let end = LINES_MAX + 4;
    assert_eq!(names, [(1, "VenueKind"), (1, "trouble_s"), (2, "trouble"), (end, "x_trouble")]);
    let lines: Vec<usize> = found.functions.iter().map(|function| function.lines).collect();
    assert_eq!(lines, [LINES_MAX + 1, 1]);
}
