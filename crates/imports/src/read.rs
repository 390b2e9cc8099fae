//! Reads the modules of one crate: what each defines, imports and names, as `syn` parses it.
//!
//! Nothing is looked up here; `resolve` does that, when all modules are known.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, Item, ItemMod, UseTree, Visibility};

use crate::tokens::{self, PathUse};

#[derive(Debug, Default)]
pub struct Module {
    pub parent: Option<usize>,
    /// The index of the module to whose file this one belongs: the module itself, or an outer module if this one is
    /// inline.
    pub file: usize,
    /// The name as `a::b`; empty for the root.
    pub name: String,
    pub source: PathBuf,
    pub children: BTreeMap<String, usize>,
    pub items: BTreeSet<String>,
    /// The name that a `use` introduces, and the path for which it stands.
    pub imports: Vec<(String, Vec<String>)>,
    pub globs: Vec<Vec<String>>,
    pub uses: Vec<PathUse>,
}

/// All modules of a crate; the root is the first.
#[derive(Debug, Default)]
pub struct CrateSource {
    pub modules: Vec<Module>,
    /// The index of the module that defines each macro, by the macro's name: the name of a `macro_rules!` has no
    /// path.
    pub macros: BTreeMap<String, usize>,
}

impl CrateSource {
    pub fn read(root: &Path) -> CrateSource {
        let mut all = CrateSource::default();
        let folder = root.parent().expect("a source file stands in a folder").to_owned();
        all.modules.push(Module { source: root.to_owned(), ..Module::default() });
        all.read_file(0, root, folder);
        all
    }

    /// Reads a file; `folder` has the files of its child modules.
    fn read_file(&mut self, module: usize, path: &Path, folder: PathBuf) {
        let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let file = syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        ModuleReader { all: self, module, folder }.visit_file(&file);
    }

    fn add_child(&mut self, parent: usize, name: &str, source: Option<PathBuf>) -> usize {
        let number = self.modules.len();
        let above = &mut self.modules[parent];
        above.children.insert(name.to_owned(), number);
        let path = if above.name.is_empty() { name.to_owned() } else { format!("{}::{name}", above.name) };
        let file = if source.is_some() { number } else { above.file };
        let source = source.unwrap_or_else(|| above.source.clone());
        self.modules.push(Module { parent: Some(parent), file, name: path, source, ..Module::default() });
        number
    }
}

/// Returns the file that `#[path = "..."]` names. It is the `mod.rs` of a folder that several crates compile.
fn path_attribute(item: &ItemMod) -> Option<String> {
    let values = item.attrs.iter().filter(|attribute| attribute.path().is_ident("path"));
    let text = |attribute: &syn::Attribute| match &attribute.meta.require_name_value().ok()?.value {
        syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(path), .. }) => Some(path.value()),
        _ => None,
    };
    values.filter_map(text).next()
}

/// Walks through one module's items.
struct ModuleReader<'a> {
    all: &'a mut CrateSource,
    module: usize,
    folder: PathBuf,
}

impl ModuleReader<'_> {
    fn module(&mut self) -> &mut Module {
        &mut self.all.modules[self.module]
    }

    fn define(&mut self, name: &syn::Ident) {
        let name = name.to_string();
        self.module().items.insert(name);
    }

    fn read_child(&mut self, item: &ItemMod) {
        let name = item.ident.to_string();
        let inner = self.folder.join(&name);
        let Some((_, items)) = &item.content else {
            let named = path_attribute(item).map(|path| self.folder.join(path));
            let inner = named.as_ref().and_then(|path| path.parent()).map_or(inner, Path::to_owned);
            let files = [self.folder.join(format!("{name}.rs")), inner.join("mod.rs")];
            let path = named.into_iter().chain(files).find(|path| path.exists()).expect("a declared module has a file");
            let child = self.all.add_child(self.module, &name, Some(path.clone()));
            return self.all.read_file(child, &path, inner);
        };
        let child = self.all.add_child(self.module, &name, None);
        let mut reader = ModuleReader { all: self.all, module: child, folder: inner };
        items.iter().for_each(|item| reader.visit_item(item));
    }

    /// Reads the names that one `use` imports. A private import (`names` is true) also counts as a use of the names;
    /// a public one only re-exports them.
    fn read_use(&mut self, tree: &UseTree, before: &[String], names: bool) {
        let mut path = before.to_vec();
        match tree {
            UseTree::Path(more) => {
                path.push(more.ident.to_string());
                self.read_use(&more.tree, &path, names);
            }
            UseTree::Group(group) => group.items.iter().for_each(|tree| self.read_use(tree, before, names)),
            UseTree::Glob(star) => {
                self.module().globs.push(path.clone());
                self.name(path, names, star.span());
            }
            UseTree::Name(one) => {
                if one.ident != "self" {
                    path.push(one.ident.to_string());
                }
                let name = path.last().expect("an import has a name").clone();
                self.import(name, path, names, one.span());
            }
            UseTree::Rename(one) => {
                if one.ident != "self" {
                    path.push(one.ident.to_string());
                }
                self.import(one.rename.to_string(), path, names, one.span());
            }
        }
    }

    fn import(&mut self, name: String, path: Vec<String>, names: bool, span: proc_macro2::Span) {
        self.module().imports.push((name, path.clone()));
        self.name(path, names, span);
    }

    fn name(&mut self, path: Vec<String>, names: bool, span: proc_macro2::Span) {
        if names {
            self.module().uses.push(PathUse { path, line: span.start().line });
        }
    }

    fn read_macro(&mut self, item: &syn::ItemMacro) {
        if let Some(name) = &item.ident {
            self.all.macros.insert(name.to_string(), self.module);
            self.define(name);
        }
    }
}

impl<'ast> Visit<'ast> for ModuleReader<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        if attributes(item).iter().any(is_test_only) {
            return;
        }
        match item {
            Item::Mod(item) => return self.read_child(item),
            Item::Use(item) => {
                let names = matches!(item.vis, Visibility::Inherited);
                return self.read_use(&item.tree, &[], names);
            }
            Item::Macro(item) => self.read_macro(item),
            Item::Const(item) => self.define(&item.ident),
            Item::Enum(item) => self.define(&item.ident),
            Item::Fn(item) => self.define(&item.sig.ident),
            Item::Static(item) => self.define(&item.ident),
            Item::Struct(item) => self.define(&item.ident),
            Item::Trait(item) => self.define(&item.ident),
            Item::Type(item) => self.define(&item.ident),
            Item::Union(item) => self.define(&item.ident),
            _ => {}
        }
        visit::visit_item(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if !item.attrs.iter().any(is_test_only) {
            visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        self.name(names, true, path.span());
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        let mut found = Vec::new();
        tokens::paths(call.tokens.clone(), &mut found);
        self.module().uses.append(&mut found);
        visit::visit_macro(self, call);
    }

    /// Names in attributes (derives, conditions) are no uses.
    fn visit_attribute(&mut self, _: &'ast Attribute) {}

    /// `pub(in a::b)` uses nothing.
    fn visit_visibility(&mut self, _: &'ast Visibility) {}
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// Whether the attribute is `cfg(test)` or `cfg(all(test, …))`: builds that are used do not contain such an item.
fn is_test_only(attribute: &Attribute) -> bool {
    let syn::Meta::List(list) = &attribute.meta else { return false };
    let text = list.tokens.to_string();
    list.path.is_ident("cfg") && (text == "test" || text.starts_with("all (test ,"))
}
