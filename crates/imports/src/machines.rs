//! Reads the state machines of the sources, as `hawser_base::state_machine!` declares them, and writes them as
//! diagrams and tables for docs/protocol.md.
//!
//! It also finds what the compiler cannot: a state that no event reaches, two results of one event in one state, and
//! an assignment of a state outside the declared events. The program (`main`) writes the document. Used
//! by `tests/machines.rs` and `make machines`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};
use syn::{Attribute, Expr, Ident, Item, Token, braced, parenthesized};

/// The lines of docs/protocol.md before and behind the state machines.
pub const BEGIN: &str = "<!-- The state machines of the sources, written by `make machines`. -->";
pub const END: &str = "<!-- The end of the state machines. -->";

/// A state machine of a source file.
#[derive(Debug, PartialEq)]
pub struct Machine {
    pub name: String,
    /// The path of its file, from the repository's root.
    pub file: String,
    /// The first paragraph of the enum's documentation.
    about: String,
    /// The states and their documentation, in the order of the source.
    states: Vec<(String, String)>,
    start: Vec<String>,
    events: Vec<Event>,
}

#[derive(Debug, PartialEq)]
struct Event {
    name: String,
    about: String,
    /// Pairs of states: the state before the event, and the state after it.
    transitions: Vec<(String, String)>,
}

/// The contents of a `state_machine!`. The states and their documentation are not there, but in the enum.
struct Declaration {
    name: Ident,
    start: Vec<String>,
    events: Vec<Event>,
}

fn names(idents: &Punctuated<Ident, Token![|]>) -> Vec<String> {
    idents.iter().map(Ident::to_string).collect()
}

/// Returns the first paragraph of the documentation among these attributes, in one line.
fn first_paragraph(attributes: &[Attribute]) -> String {
    let lines = attributes.iter().filter_map(|attribute| {
        let syn::Meta::NameValue(pair) = &attribute.meta else { return None };
        let Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) = &pair.value else { return None };
        pair.path.is_ident("doc").then(|| text.value().trim().to_owned())
    });
    lines.take_while(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
}

impl Parse for Declaration {
    fn parse(input: ParseStream) -> syn::Result<Declaration> {
        input.parse::<Token![impl]>()?;
        let name = input.parse()?;
        let body;
        braced!(body in input);
        let start: Ident = body.parse()?;
        if start != "start" {
            return Err(syn::Error::new(start.span(), "a state machine begins with its start"));
        }
        let start = names(&Punctuated::parse_separated_nonempty(&body)?);
        body.parse::<Token![;]>()?;
        let mut events = Vec::new();
        while !body.is_empty() {
            events.push(body.parse()?);
        }
        Ok(Declaration { name, start, events })
    }
}

impl Parse for Event {
    fn parse(input: ParseStream) -> syn::Result<Event> {
        let about = first_paragraph(&input.call(Attribute::parse_outer)?);
        let name = input.parse::<Ident>()?.to_string();
        let body;
        parenthesized!(body in input);
        let mut transitions = Vec::new();
        while !body.is_empty() {
            let from = names(&Punctuated::parse_separated_nonempty(&body)?);
            body.parse::<Token![=>]>()?;
            let to = body.parse::<Ident>()?.to_string();
            if body.peek(syn::token::Brace) {
                let _data: proc_macro2::Group = body.parse()?;
            }
            transitions.extend(from.into_iter().map(|from| (from, to.clone())));
            if !body.is_empty() {
                body.parse::<Token![,]>()?;
            }
        }
        input.parse::<Token![;]>()?;
        Ok(Event { name, about, transitions })
    }
}

/// Returns the machines of a source file.
pub fn machines(file: &str, text: &str) -> Vec<Machine> {
    let items = syn::parse_file(text).unwrap_or_else(|error| panic!("{file}: {error}")).items;
    let states_of = |name: &Ident| {
        let found = items.iter().find_map(|item| match item {
            Item::Enum(states) if states.ident == *name => Some(states),
            _ => None,
        });
        found.unwrap_or_else(|| panic!("{file}: the states of {name} are no enum of this file"))
    };
    let declared = items.iter().filter_map(|item| match item {
        Item::Macro(call) if call.mac.path.segments.last()?.ident == "state_machine" => Some(&call.mac),
        _ => None,
    });
    let read = |declaration: &syn::Macro| {
        let Declaration { name, start, events } =
            declaration.parse_body().unwrap_or_else(|error| panic!("{file}: {error}"));
        let states = states_of(&name);
        let documented = |variant: &syn::Variant| (variant.ident.to_string(), first_paragraph(&variant.attrs));
        Machine {
            name: name.to_string(),
            file: file.to_owned(),
            about: first_paragraph(&states.attrs),
            states: states.variants.iter().map(documented).collect(),
            start,
            events,
        }
    };
    declared.map(read).collect()
}

impl Machine {
    /// Returns the faults of the declaration: states that no event reaches, and events with two results in one state.
    pub fn faults(&self) -> Vec<String> {
        let transitions = || self.events.iter().flat_map(|event| &event.transitions);
        let mut reached: BTreeSet<&str> = self.start.iter().map(String::as_str).collect();
        while let Some((_, to)) = transitions().find(|(from, to)| reached.contains(&**from) && !reached.contains(&**to))
        {
            reached.insert(to);
        }
        let unreached = self.states.iter().filter(|(state, _)| !reached.contains(&**state));
        let mut faults: Vec<String> =
            unreached.map(|(state, _)| format!("{}: no event leads to {state}", self.name)).collect();
        for event in &self.events {
            let mut seen = BTreeSet::new();
            let twice = event.transitions.iter().filter(|(from, _)| !seen.insert(from));
            faults.extend(twice.map(|(from, _)| format!("{}: {} has two results in {from}", self.name, event.name)));
        }
        faults
    }

    /// Returns the lines of a source file of the machine's crate that assign one of its states.
    pub fn assignments(&self, text: &str) -> Vec<usize> {
        let file = syn::parse_file(text).expect("a source of the workspace can be parsed");
        let mut found = Assignments { machine: &self.name, lines: Vec::new() };
        found.visit_file(&file);
        found.lines
    }

    /// Returns the section of the document that describes this machine.
    fn section(&self) -> String {
        let mut text = format!("\n### `{}`\n\n```mermaid\nstateDiagram-v2\n", self.name);
        let mut arrows: BTreeMap<(usize, usize), Vec<&str>> = BTreeMap::new();
        let number = |state: &str| self.states.iter().position(|(known, _)| known == state).unwrap_or(usize::MAX);
        for event in &self.events {
            for (from, to) in &event.transitions {
                arrows.entry((number(from), number(to))).or_default().push(&event.name);
            }
        }
        let mut line = |from: &str, to: &str, label: &str| {
            writeln!(text, "    {from} --> {to}{label}").expect("text can be written");
        };
        self.start.iter().for_each(|state| line("[*]", state, ""));
        for ((from, to), events) in arrows {
            line(&self.states[from].0, &self.states[to].0, &format!(": {}", events.join(", ")));
        }
        text += "```\n\n| state | meaning |\n| -- | -- |\n";
        writeln!(text, "| (all) | {} `{}` |", self.about, self.file).expect("text can be written");
        for (state, about) in &self.states {
            writeln!(text, "| {state} | {about} |").expect("text can be written");
        }
        text += "\n| event | meaning |\n| -- | -- |\n";
        for event in &self.events {
            writeln!(text, "| {} | {} |", event.name, event.about).expect("text can be written");
        }
        text
    }
}

/// Collects the lines of assignments whose value is a state of the machine.
struct Assignments<'a> {
    machine: &'a str,
    lines: Vec<usize>,
}

impl Assignments<'_> {
    fn check_value(&mut self, value: &Expr) {
        let path = match value {
            Expr::Path(path) => &path.path,
            Expr::Struct(made) => &made.path,
            Expr::Call(call) => return self.check_value(&call.func),
            Expr::Tuple(values) => return values.elems.iter().for_each(|value| self.check_value(value)),
            _ => return,
        };
        if path.segments.iter().rev().nth(1).is_some_and(|segment| segment.ident == self.machine) {
            self.lines.push(path.segments[0].ident.span().start().line);
        }
    }
}

impl<'ast> Visit<'ast> for Assignments<'_> {
    fn visit_expr_assign(&mut self, assignment: &'ast syn::ExprAssign) {
        self.check_value(&assignment.right);
        visit::visit_expr_assign(self, assignment);
    }
}

/// Returns the document `text`, in which the lines between the two marks are replaced by the machines.
pub fn document(text: &str, machines: &[Machine]) -> String {
    let (before, rest) = text.split_once(BEGIN).expect("the document has the beginning mark");
    let (_, after) = rest.split_once(END).expect("the document has the end mark");
    let sections: String = machines.iter().map(Machine::section).collect();
    format!("{before}{BEGIN}\n{sections}\n{END}{after}")
}
