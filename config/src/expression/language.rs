//! What the expressions of a definition may call.

use std::cell::Cell;

use jaq_core::load::lex::StrPart;
use jaq_core::load::parse::{BinaryOp, Def, Pattern, Term};
use jaq_core::native::{self, Fun, bome, v};
use jaq_core::path::{Part, Path};
use jaq_core::{DataT, Error, Lut, data::HasLut, load};
use jaq_json::Val;

/// Deepest nesting of JSON inside a text that `fromjson` reads.
const NESTING_MAX: usize = 128;

/// The values and functions of our expressions.
#[derive(Debug)]
pub struct Language;

/// What one run of an expression may use up.
#[derive(Clone, Copy)]
pub struct Budget<'a> {
    lut: &'a Lut<Language>,
    turns: &'a Cell<u32>,
}

impl<'a> Budget<'a> {
    /// `turns`: how often what repeats may go round until the run fails.
    pub fn new(lut: &'a Lut<Language>, turns: &'a Cell<u32>) -> Budget<'a> {
        Budget { lut, turns }
    }
}

impl DataT for Language {
    type V<'a> = Val;
    type Data<'a> = Budget<'a>;
}

impl<'a> HasLut<'a, Language> for Budget<'a> {
    fn lut(&self) -> &'a Lut<Language> {
        self.lut
    }
}

/// What repeats, with a turn of the budget for each time round.
const REPEATING: &str = "
    def range($from; $to; $by): range_endless($from; $to; $by) | take_turn;
    def repeat(f): def rec: f, (take_turn | rec); rec;
    def recurse(f): def rec: ., (f | take_turn | rec); rec;
    def while(cond; update): def rec: if cond then ., (update | take_turn | rec) else {}[] as $x | . end; rec;
    def until(cond; update): def rec: if cond then . else update | take_turn | rec end; rec;
";

/// Replaced above: name and number of arguments.
const REPLACED: [(&str, usize); 4] = [("repeat", 1), ("recurse", 1), ("while", 2), ("until", 2)];
/// Nothing of these reaches only the record, or they grow without bound.
const REFUSED: [(&str, &str); 8] = [
    ("env", "take a value of the environment into the definition with ${env:NAME}"),
    ("$ENV", "take a value of the environment into the definition with ${env:NAME}"),
    ("input", "an expression sees one record"),
    ("inputs", "an expression sees one record"),
    ("debug", "an expression writes nothing but its outputs"),
    ("stderr", "an expression writes nothing but its outputs"),
    ("halt", "an expression cannot end the engine; error(\"…\") fails the record"),
    ("combinations", "its outputs grow without bound"),
];
const REFUSED_FUNCTIONS: [&str; 4] = ["env", "halt", "debug_empty", "stderr_empty"];

/// Why a name of jq is not here.
pub(super) fn refused(name: &str) -> Option<&'static str> {
    REFUSED.iter().find(|(refused, _)| *refused == name).map(|(_, why)| *why)
}

/// What is written in jq itself.
pub(super) fn definitions() -> impl Iterator<Item = Def<&'static str>> {
    let ours = load::parse(REPEATING, |parser| parser.defs()).expect("a constant that every test compiles");
    let theirs = jaq_core::defs().chain(jaq_std::defs()).chain(jaq_json::defs());
    let is_kept = |def: &Def<&str>| {
        let is_replaced = REPLACED.contains(&(def.name, def.args.len()));
        !is_replaced && refused(def.name).is_none() && def.name != "halt_error"
    };
    ours.into_iter().chain(theirs.filter(is_kept))
}

/// What is not.
pub(super) fn functions() -> impl Iterator<Item = Fun<Language>> {
    let theirs = jaq_core::funs::<Language>().chain(jaq_std::funs()).chain(jaq_json::funs());
    let kept = theirs.filter(|(name, ..)| !REFUSED_FUNCTIONS.contains(name) && *name != "fromjson");
    let renamed = kept.map(|(name, arguments, function)| {
        let name = if name == "range" { "range_endless" } else { name };
        (name, arguments, function)
    });
    renamed.chain([
        native::run(("take_turn", v(0), |cv| bome(take_turn(cv.0.data(), cv.1)))),
        native::run(("fromjson", v(0), |cv| bome(from_json(&cv.1)))),
    ])
}

fn take_turn(budget: &Budget<'_>, value: Val) -> Result<Val, Error<Val>> {
    match budget.turns.get().checked_sub(1) {
        Some(left) => {
            budget.turns.set(left);
            Ok(value)
        }
        None => Err(Error::str("the expression goes round too often for one record")),
    }
}

/// jaq's own reads nested values by recursion, however deep the text nests.
fn from_json(text: &Val) -> Result<Val, Error<Val>> {
    let (Val::TStr(bytes) | Val::BStr(bytes)) = text else {
        return Err(Error::str("fromjson needs a string"));
    };
    if json_nesting(bytes) > NESTING_MAX {
        return Err(Error::str(format_args!("fromjson reads at most {NESTING_MAX} levels")));
    }
    jaq_json::read::parse_single(bytes).map_err(|error| Error::str(format_args!("fromjson: {error}")))
}

/// How deep the objects and arrays of a JSON text nest; brackets inside strings do not count. What is no JSON has a
/// nesting too, which then says nothing.
pub fn json_nesting(text: &[u8]) -> usize {
    let (mut depth, mut deepest, mut is_string, mut is_escaped) = (0_usize, 0, false, false);
    for byte in text {
        if is_string {
            is_string = is_escaped || *byte != b'"';
            is_escaped = !is_escaped && *byte == b'\\';
            continue;
        }
        match byte {
            b'"' => is_string = true,
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

/// The name of a definition that calls itself.
pub(super) fn recursion<'s>(term: &Term<&'s str>) -> Option<&'s str> {
    calls(term, &mut Vec::new())
}

/// `open` are the definitions whose bodies we are in, the innermost last; None after the body of one that is done and
/// may be called.
type Open<'s> = Vec<(&'s str, usize, bool)>;

fn calls<'s>(term: &Term<&'s str>, open: &mut Open<'s>) -> Option<&'s str> {
    let scope = open.len();
    let found = match term {
        Term::Call(name, arguments) => {
            let known =
                open.iter().rev().find(|(known, count, _)| (known, *count) == (name, arguments.len()));
            match known {
                Some((name, _, true)) => Some(*name),
                Some((_, _, false)) | None => any(arguments, open),
            }
        }
        Term::Def(definitions, rest) => {
            let mut found = None;
            for Def { name, args, body } in definitions {
                open.push((*name, args.len(), true));
                let within = open.len();
                // An argument is called by its name, and shadows.
                open.extend(args.iter().map(|argument| (*argument, 0, false)));
                found = found.or_else(|| calls(body, open));
                open.truncate(within);
                open[within - 1].2 = false;
            }
            found.or_else(|| calls(rest, open))
        }
        Term::Str(_, parts) => parts.iter().find_map(|part| match part {
            StrPart::Term(term) => calls(term, open),
            StrPart::Str(_) | StrPart::Char(_) => None,
        }),
        Term::Arr(inner) => inner.as_ref().and_then(|term| calls(term, open)),
        Term::Obj(members) => members.iter().find_map(|(key, value)| {
            calls(key, open).or_else(|| value.as_ref().and_then(|value| calls(value, open)))
        }),
        Term::Neg(inner) | Term::Label(_, inner) => calls(inner, open),
        Term::BinOp(left, operator, right) => {
            let pattern = match operator {
                BinaryOp::Pipe(Some(pattern)) => in_pattern(pattern, open),
                _ => None,
            };
            calls(left, open).or(pattern).or_else(|| calls(right, open))
        }
        Term::Fold(_, over, pattern, parts) => {
            calls(over, open).or_else(|| in_pattern(pattern, open)).or_else(|| any(parts, open))
        }
        Term::TryCatch(tried, caught) => {
            calls(tried, open).or_else(|| caught.as_ref().and_then(|caught| calls(caught, open)))
        }
        Term::IfThenElse(branches, other) => branches
            .iter()
            .find_map(|(when, then)| calls(when, open).or_else(|| calls(then, open)))
            .or_else(|| other.as_ref().and_then(|other| calls(other, open))),
        Term::Path(start, Path(parts)) => calls(start, open).or_else(|| {
            parts.iter().find_map(|(part, _)| match part {
                Part::Index(index) => calls(index, open),
                Part::Range(from, to) => {
                    [from, to].into_iter().flatten().find_map(|bound| calls(bound, open))
                }
            })
        }),
        Term::Id | Term::Recurse | Term::Num(_) | Term::Break(_) | Term::Var(_) => None,
    };
    open.truncate(scope);
    found
}

fn any<'s>(terms: &[Term<&'s str>], open: &mut Open<'s>) -> Option<&'s str> {
    terms.iter().find_map(|term| calls(term, open))
}

fn in_pattern<'s>(pattern: &Pattern<&'s str>, open: &mut Open<'s>) -> Option<&'s str> {
    match pattern {
        Pattern::Var(_) => None,
        Pattern::Arr(parts) => parts.iter().find_map(|part| in_pattern(part, open)),
        Pattern::Obj(members) => {
            members.iter().find_map(|(key, part)| calls(key, open).or_else(|| in_pattern(part, open)))
        }
    }
}
