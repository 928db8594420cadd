//! What a binary schema (`.bfbs`) says: the tables, structs, enums and unions, read from flatc's reflection format.
//!
//! The reader knows the few slots of `reflection.fbs` that matter here by their numbers, and trusts the file no more than
//! a record.

use std::collections::HashMap;

use super::bytes::{Bytes, Table};
use crate::codec::text::DEPTH_MAX;
use crate::codec::trouble::Trouble;

/// `BFBS`, at byte 4 of every binary schema.
const IDENTIFIER: &[u8] = b"BFBS";
/// Objects, enums, fields and values together; bounds what a damaged schema can make.
const PARTS_MAX: usize = 100_000;
/// A table's vtable has a u16 for each field.
const VTABLE_SLOT_BYTES: usize = 2;

/// A schema made ready.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) objects: Vec<Object>,
    pub(super) enums: Vec<Enum>,
    pub(super) root: usize,
    /// The four bytes that files of this schema begin with, after the root.
    pub(super) identifier: Option<[u8; 4]>,
}

/// A table or struct.
#[derive(Debug)]
pub(super) struct Object {
    pub(super) name: Box<str>,
    pub(super) is_struct: bool,
    /// Of structs.
    pub(super) align: usize,
    /// Of structs.
    pub(super) size: usize,
    /// By their numbers; those of structs by their place.
    pub(super) fields: Vec<Field>,
    pub(super) positions: HashMap<Box<str>, usize>,
}

#[derive(Debug)]
pub(super) struct Field {
    pub(super) name: Box<str>,
    pub(super) of: Kind,
    /// In the vtable; of a struct's field its offset.
    pub(super) slot: usize,
    pub(super) default_integer: i64,
    pub(super) default_real: f64,
    pub(super) is_required: bool,
    pub(super) is_optional: bool,
    pub(super) is_deprecated: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scalar {
    Bool,
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    F32,
    F64,
}

#[derive(Debug)]
pub(super) enum Kind {
    /// With its enum, if it has one.
    Scalar(Scalar, Option<usize>),
    String,
    Table(usize),
    Struct(usize),
    Vector(Box<Kind>),
    /// In structs alone.
    Array(Box<Kind>, usize),
    /// Its member is named by the field before it.
    Union(usize),
}

#[derive(Debug)]
pub(super) struct Enum {
    pub(super) values: Vec<Value>,
    pub(super) is_flags: bool,
}

#[derive(Debug)]
pub(super) struct Value {
    pub(super) name: Box<str>,
    pub(super) number: i64,
    /// Of a union: what it stands for; None for NONE.
    pub(super) member: Option<Kind>,
}

impl Scalar {
    pub(super) fn size(self) -> usize {
        match self {
            Scalar::Bool | Scalar::I8 | Scalar::U8 => 1,
            Scalar::I16 | Scalar::U16 => 2,
            Scalar::I32 | Scalar::U32 | Scalar::F32 => 4,
            Scalar::I64 | Scalar::U64 | Scalar::F64 => 8,
        }
    }
}

impl Enum {
    pub(super) fn by_number(&self, number: i64) -> Option<&Value> {
        self.values.iter().find(|value| value.number == number)
    }

    pub(super) fn by_name(&self, name: &str) -> Option<&Value> {
        self.values.iter().find(|value| *value.name == *name)
    }
}

impl Layout {
    /// # Errors
    /// When the file is no binary schema, or holds what is not supported.
    pub(super) fn read(file: &[u8], root: Option<&str>) -> Result<Layout, Trouble> {
        if file.get(4..8) != Some(IDENTIFIER) {
            let hint = "it is no binary schema; make one with `flatc --binary --schema FILE.fbs`";
            return Err(Trouble::new(hint));
        }
        let schema = Bytes::new(file).root()?;
        let mut reader = Reader { parts_left: PARTS_MAX, structs: Vec::new() };
        let objects = tables(&schema, 4)?;
        reader.structs = objects.iter().map(|object| flag(object, 8)).collect::<Result<_, _>>()?;
        let objects: Vec<Object> =
            objects.iter().map(|object| reader.object(object)).collect::<Result<_, _>>()?;
        let enums: Vec<Enum> =
            tables(&schema, 6)?.iter().map(|of| reader.enumeration(of)).collect::<Result<_, _>>()?;
        let declared = schema.follow(12)?.map(|at| schema.bytes().table(at)).transpose()?;
        let declared = declared.map(|table| text(&table, 4)).transpose()?;
        let root = root_of(&objects, root, declared)?;
        let identifier = schema.follow(8)?.map(|at| schema.bytes().string(at)).transpose()?;
        let identifier = identifier.and_then(|text| text.as_bytes().try_into().ok());
        let layout = Layout { objects, enums, root, identifier };
        layout.check()?;
        Ok(layout)
    }

    /// References lead somewhere, and structs hold what fits in them.
    fn check(&self) -> Result<(), Trouble> {
        let members = self.enums.iter().flat_map(|of| &of.values).filter_map(|value| value.member.as_ref());
        for kind in members {
            self.check_kind(kind)?;
        }
        for object in &self.objects {
            for field in &object.fields {
                self.check_kind(&field.of)
                    .map_err(|trouble| trouble.in_field(&field.name).in_field(&object.name))?;
                let has_slot =
                    field.slot >= 4 && field.slot.is_multiple_of(2) && field.slot < usize::from(u16::MAX) - 2;
                let fits = if object.is_struct {
                    self.inline_size(&field.of, 0)?
                        .checked_add(field.slot)
                        .is_some_and(|end| end <= object.size)
                } else {
                    has_slot
                };
                if !fits {
                    return Err(Trouble::new("it lies outside its table or struct")
                        .in_field(&field.name)
                        .in_field(&object.name));
                }
            }
            self.check_places(object)?;
        }
        Ok(())
    }

    /// No two fields share a place: what one wrote the other would read.
    fn check_places(&self, object: &Object) -> Result<(), Trouble> {
        for pair in object.fields.windows(2) {
            let [former, field] = pair else { continue };
            let size = if object.is_struct { self.inline_size(&former.of, 0)? } else { VTABLE_SLOT_BYTES };
            if field.slot < former.slot + size {
                let reason = format!("it shares its place with {:?}", former.name);
                return Err(Trouble::new(reason).in_field(&field.name).in_field(&object.name));
            }
        }
        if object.positions.len() < object.fields.len() {
            return Err(Trouble::new("two fields bear one name").in_field(&object.name));
        }
        Ok(())
    }

    fn check_kind(&self, kind: &Kind) -> Result<(), Trouble> {
        let is_there = match kind {
            Kind::Scalar(_, Some(of)) | Kind::Union(of) => *of < self.enums.len(),
            Kind::Table(of) | Kind::Struct(of) => *of < self.objects.len(),
            Kind::Vector(of) | Kind::Array(of, _) => return self.check_kind(of),
            Kind::Scalar(_, None) | Kind::String => true,
        };
        if is_there { Ok(()) } else { Err(Trouble::new("its type is not in the schema")) }
    }

    /// Bytes of a value inside a struct.
    fn inline_size(&self, kind: &Kind, depth: usize) -> Result<usize, Trouble> {
        match kind {
            Kind::Scalar(scalar, _) => Ok(scalar.size()),
            Kind::Struct(of) if depth < DEPTH_MAX => Ok(self.objects[*of].size),
            Kind::Array(of, count) if depth < DEPTH_MAX => {
                Ok(self.inline_size(of, depth + 1)?.saturating_mul(*count))
            }
            Kind::Struct(_)
            | Kind::Array(_, _)
            | Kind::String
            | Kind::Table(_)
            | Kind::Vector(_)
            | Kind::Union(_) => Err(Trouble::new("a struct cannot hold it")),
        }
    }

    /// Bytes that a value takes inside a struct, an array or a vector, and its alignment.
    pub(super) fn inline(&self, kind: &Kind) -> (usize, usize) {
        match kind {
            Kind::Scalar(scalar, _) => (scalar.size(), scalar.size()),
            Kind::Struct(of) => (self.objects[*of].size, self.objects[*of].align),
            Kind::Array(of, count) => {
                let (size, align) = self.inline(of);
                (size * count, align)
            }
            Kind::String | Kind::Table(_) | Kind::Vector(_) | Kind::Union(_) => (4, 4),
        }
    }
}

fn root_of(objects: &[Object], asked: Option<&str>, declared: Option<&str>) -> Result<usize, Trouble> {
    let Some(name) = asked.or(declared) else {
        return Err(Trouble::new("the schema declares no root_type; name the table with flatbuffer_root"));
    };
    let is_asked = |object: &Object| *object.name == *name || object.name.rsplit('.').next() == Some(name);
    let exact = objects.iter().position(|object| *object.name == *name);
    let found = exact.or_else(|| objects.iter().position(is_asked));
    match found.filter(|found| !objects[*found].is_struct) {
        Some(found) => Ok(found),
        None => {
            let tables = objects.iter().filter(|object| !object.is_struct).map(|object| &*object.name);
            let tables: Vec<&str> = tables.take(10).collect();
            Err(Trouble::new(format!("it has no table {name:?}, but {}", tables.join(", "))))
        }
    }
}

/// What a whole file shares.
struct Reader {
    parts_left: usize,
    /// Whether each object is a struct.
    structs: Vec<bool>,
}

impl Reader {
    fn count(&mut self) -> Result<(), Trouble> {
        self.parts_left =
            self.parts_left.checked_sub(1).ok_or_else(|| Trouble::new("the schema has too many parts"))?;
        Ok(())
    }

    fn object(&mut self, table: &Table<'_>) -> Result<Object, Trouble> {
        self.count()?;
        let name: Box<str> = text(table, 4)?.into();
        let is_struct = flag(table, 8)?;
        let align = usize::try_from(int(table, 10)?).unwrap_or_default();
        let size = usize::try_from(int(table, 12)?).unwrap_or_default();
        if is_struct && (!(1..=16).contains(&align) || !align.is_power_of_two() || size == 0) {
            return Err(Trouble::new("a struct without size or alignment").in_field(&name));
        }
        let mut fields = Vec::new();
        for field in tables(table, 6)? {
            self.count()?;
            let field_name = text(&field, 4)?;
            let read = self.field(&field, field_name);
            fields.push(read.map_err(|trouble| trouble.in_field(field_name).in_field(&name))?);
        }
        fields.sort_by_key(|field| field.slot);
        let positions = fields.iter().map(|field| field.name.clone()).zip(0..).collect();
        Ok(Object { name, is_struct, align, size, fields, positions })
    }

    fn field(&mut self, table: &Table<'_>, name: &str) -> Result<Field, Trouble> {
        let of = subtable(table, 6)?;
        Ok(Field {
            name: name.into(),
            of: self.kind(&of)?,
            slot: scalar_or(table, 10, 0u16, u16::from_le_bytes)?.into(),
            default_integer: scalar_or(table, 12, 0, i64::from_le_bytes)?,
            default_real: scalar_or(table, 14, 0.0, f64::from_le_bytes)?,
            is_deprecated: flag(table, 16)?,
            is_required: flag(table, 18)?,
            is_optional: flag(table, 26)?,
        })
    }

    fn kind(&self, of: &Table<'_>) -> Result<Kind, Trouble> {
        let base = scalar_or(of, 4, 0, u8::from_le_bytes)?;
        let element = scalar_or(of, 6, 0, u8::from_le_bytes)?;
        let index = usize::try_from(int_or(of, 8, -1)?).ok();
        let length = scalar_or(of, 10, 0u16, u16::from_le_bytes)?;
        match base {
            14 if matches!(element, 14 | 16 | 17) || (element == 1 && index.is_some()) => {
                Err(Trouble::new("vectors of unions are not supported"))
            }
            14 => Ok(Kind::Vector(Box::new(self.plain(element, index)?))),
            17 => Ok(Kind::Array(Box::new(self.plain(element, index)?), length.into())),
            _ => self.plain(base, index),
        }
    }

    /// By the numbers of `BaseType` in reflection.fbs.
    fn plain(&self, base: u8, index: Option<usize>) -> Result<Kind, Trouble> {
        let scalar = match base {
            1 | 4 => Scalar::U8,
            2 => Scalar::Bool,
            3 => Scalar::I8,
            5 => Scalar::I16,
            6 => Scalar::U16,
            7 => Scalar::I32,
            8 => Scalar::U32,
            9 => Scalar::I64,
            10 => Scalar::U64,
            11 => Scalar::F32,
            12 => Scalar::F64,
            13 => return Ok(Kind::String),
            15 => {
                let object = index.filter(|index| *index < self.structs.len());
                let object = object.ok_or_else(|| Trouble::new("its type is not in the schema"))?;
                return Ok(if self.structs[object] { Kind::Struct(object) } else { Kind::Table(object) });
            }
            16 => return index.map(Kind::Union).ok_or_else(|| Trouble::new("a union without members")),
            _ => return Err(Trouble::new(format!("type {base} of a newer flatc is not supported"))),
        };
        Ok(Kind::Scalar(scalar, index))
    }

    fn enumeration(&mut self, table: &Table<'_>) -> Result<Enum, Trouble> {
        self.count()?;
        let is_union = flag(table, 8)?;
        let mut values = Vec::new();
        for value in tables(table, 6)? {
            self.count()?;
            let name = text(&value, 4)?;
            let number = scalar_or(&value, 6, 0, i64::from_le_bytes)?;
            let member = match value.follow(10)? {
                Some(at) if is_union && number != 0 => Some(self.kind(&value.bytes().table(at)?)?),
                Some(_) | None => None,
            };
            values.push(Value { name: name.into(), number, member });
        }
        let mut is_flags = false;
        for attribute in tables(table, 12)? {
            is_flags |= text(&attribute, 4)? == "bit_flags";
        }
        Ok(Enum { values, is_flags })
    }
}

/// The tables of a vector; an absent one is empty.
fn tables<'a>(of: &Table<'a>, slot: usize) -> Result<Vec<Table<'a>>, Trouble> {
    let Some(at) = of.follow(slot)? else { return Ok(Vec::new()) };
    let elements = of.bytes().elements(at, 4, 4)?;
    let table = |index: usize| of.bytes().table(of.bytes().follow(elements.start + 4 * index)?);
    (0..elements.count).map(table).collect()
}

fn subtable<'a>(of: &Table<'a>, slot: usize) -> Result<Table<'a>, Trouble> {
    let at = of.follow(slot)?.ok_or_else(|| Trouble::new("a part without a type"))?;
    of.bytes().table(at)
}

fn text<'a>(of: &Table<'a>, slot: usize) -> Result<&'a str, Trouble> {
    let at = of.follow(slot)?.ok_or_else(|| Trouble::new("a part without a name"))?;
    of.bytes().string(at)
}

fn flag(of: &Table<'_>, slot: usize) -> Result<bool, Trouble> {
    Ok(scalar_or(of, slot, 0, u8::from_le_bytes)? != 0)
}

fn int(of: &Table<'_>, slot: usize) -> Result<i32, Trouble> {
    int_or(of, slot, 0)
}

fn int_or(of: &Table<'_>, slot: usize, default: i32) -> Result<i32, Trouble> {
    scalar_or(of, slot, default, i32::from_le_bytes)
}

fn scalar_or<T, const N: usize>(
    of: &Table<'_>,
    slot: usize,
    default: T,
    read: fn([u8; N]) -> T,
) -> Result<T, Trouble> {
    Ok(match of.field(slot, N)? {
        Some(at) => read(of.bytes().scalar(at)?),
        None => default,
    })
}
