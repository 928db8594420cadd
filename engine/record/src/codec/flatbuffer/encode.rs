//! JSON to a FlatBuffer, front to back: a table first, then what its offsets lead to, which are filled in once it stands.
//! The format wants offsets to lead forward, so nothing has to be built in reverse.

use super::layout::{Enum, Field, Kind, Layout, Object, Scalar};
use crate::codec::number::{as_bool, as_double, as_float, as_integer, as_text, mismatch, or_mismatch};
use crate::codec::tape::{Json, Kind as JsonKind};
use crate::codec::trouble::Trouble;

/// No member of the object has the field's name, or it is null.
const ABSENT: usize = usize::MAX;
/// Vtables that a new table is compared with, the newest first.
const VTABLES_COMPARED: usize = 16;
/// A table or buffer beyond this has no offsets left.
const BYTES_MAX: usize = i32::MAX as usize;

pub(super) struct Encoder<'a> {
    pub(super) layout: &'a Layout,
    pub(super) out: &'a mut Vec<u8>,
    /// Where the buffer begins in `out`; positions count from there.
    pub(super) base: usize,
    /// Position and length of the vtables so far.
    pub(super) vtables: Vec<(usize, usize)>,
}

/// A field that is there, before it has its place in the table.
struct Inline<'a, 'j> {
    field: &'a Field,
    what: What<'a, 'j>,
    size: usize,
    align: usize,
    offset: usize,
}

enum What<'a, 'j> {
    Scalar([u8; 8]),
    Struct(usize, Json<'j>),
    /// An offset to it.
    Behind(&'a Kind, Json<'j>),
}

impl<'a> Encoder<'a> {
    pub(super) fn whole(mut self, value: Json<'_>) -> Result<(), Trouble> {
        let layout = self.layout;
        self.out.extend_from_slice(&[0; 4]);
        if let Some(identifier) = layout.identifier {
            self.out.extend_from_slice(&identifier);
        }
        let root = self.table(&layout.objects[layout.root], value)?;
        self.point(0, root);
        if self.here() > BYTES_MAX {
            return Err(Trouble::new("the FlatBuffer passes 2 GiB"));
        }
        Ok(())
    }

    fn here(&self) -> usize {
        self.out.len() - self.base
    }

    fn align(&mut self, align: usize) {
        let padded = self.here().next_multiple_of(align);
        self.out.resize(self.base + padded, 0);
    }

    fn put(&mut self, at: usize, bytes: &[u8]) {
        self.out[self.base + at..][..bytes.len()].copy_from_slice(bytes);
    }

    /// Fills in the offset at `at`.
    fn point(&mut self, at: usize, target: usize) {
        self.put(at, &((target - at) as u32).to_le_bytes());
    }

    /// Writes a table and all it leads to; the answer is its position.
    fn table(&mut self, object: &'a Object, value: Json<'_>) -> Result<usize, Trouble> {
        if value.kind() != JsonKind::Object {
            return Err(mismatch(value, "an object, for a table"));
        }
        let slots = slots(object, value);
        let mut inlines = Vec::new();
        for (index, field) in object.fields.iter().enumerate() {
            let what =
                self.what(object, index, &slots, value).map_err(|trouble| trouble.in_field(&field.name))?;
            if let Some(what) = what {
                let (size, align) = self.layout.inline(&field.of);
                inlines.push(Inline { field, what, size, align, offset: 0 });
            }
        }
        // The widest first, so that no gaps are needed between them.
        inlines.sort_by_key(|inline| std::cmp::Reverse(inline.align));
        let (mut size, mut table_align) = (4usize, 4);
        for inline in &mut inlines {
            inline.offset = size.next_multiple_of(inline.align);
            size = inline.offset + inline.size;
            table_align = table_align.max(inline.align);
        }
        let size = u16::try_from(size).ok().ok_or_else(|| Trouble::new("a table passes 64 KiB"))?;
        let vtable = self.vtable(&inlines, size);
        self.align(table_align);
        let at = self.here();
        self.out.extend_from_slice(&((at as i64 - vtable as i64) as i32).to_le_bytes());
        self.out.resize(self.out.len() + usize::from(size) - 4, 0);
        for inline in inlines {
            let name = &inline.field.name;
            self.fill(at + inline.offset, inline).map_err(|trouble| trouble.in_field(name))?;
        }
        Ok(at)
    }

    /// What a field of a table holds; None: it is absent.
    fn what<'j>(
        &self,
        object: &'a Object,
        index: usize,
        slots: &[usize],
        value: Json<'j>,
    ) -> Result<Option<What<'a, 'j>>, Trouble> {
        let field = &object.fields[index];
        if field.is_deprecated {
            return Ok(None);
        }
        if slots[index] == ABSENT {
            return if field.is_required { Err(Trouble::new("is required and not there")) } else { Ok(None) };
        }
        let member = value.at(slots[index]);
        Ok(match &field.of {
            Kind::Scalar(scalar, of) => {
                let bytes = self.scalar(*scalar, *of, member)?;
                let is_default = !field.is_optional && bytes == default_of(field, *scalar);
                (!is_default).then_some(What::Scalar(bytes))
            }
            Kind::Struct(of) => Some(What::Struct(*of, member)),
            Kind::Union(of) => {
                let kind = index.checked_sub(1).filter(|before| slots[*before] != ABSENT);
                let kind = kind.map(|before| value.at(slots[before]));
                self.member(&self.layout.enums[*of], kind, member)?.map(|kind| What::Behind(kind, member))
            }
            Kind::String | Kind::Table(_) | Kind::Vector(_) => Some(What::Behind(&field.of, member)),
            Kind::Array(..) => return Err(Trouble::new("only a struct holds an array")),
        })
    }

    /// The member of a union by the name that its `_type` gives.
    fn member(
        &self,
        of: &'a Enum,
        kind: Option<Json<'_>>,
        value: Json<'_>,
    ) -> Result<Option<&'a Kind>, Trouble> {
        let kind =
            kind.ok_or_else(|| Trouble::new(format!("{} needs its `_type` beside it", value.shown())))?;
        let found = match as_text(kind) {
            Some(name) => of.by_name(&name),
            None => as_integer(kind).and_then(|number| of.by_number(number)),
        };
        Ok(or_mismatch(found, kind, "a member of the union")?.member.as_ref())
    }

    /// The position of a vtable for these fields, an equal one where there is one.
    fn vtable(&mut self, inlines: &[Inline<'_, '_>], size: u16) -> usize {
        let last = inlines.iter().map(|inline| inline.field.slot).max();
        let length = last.map_or(4, |slot| slot + 2);
        let mut bytes = vec![0u8; length];
        bytes[..2].copy_from_slice(&(length as u16).to_le_bytes());
        bytes[2..4].copy_from_slice(&size.to_le_bytes());
        for inline in inlines {
            bytes[inline.field.slot..][..2].copy_from_slice(&(inline.offset as u16).to_le_bytes());
        }
        let known = self.vtables.iter().rev().take(VTABLES_COMPARED);
        let is_equal = |(at, length): &&(usize, usize)| self.out[self.base + at..][..*length] == bytes;
        if let Some((at, _)) = known.clone().find(is_equal) {
            return *at;
        }
        self.align(2);
        let at = self.here();
        self.out.extend_from_slice(&bytes);
        self.vtables.push((at, length));
        at
    }

    fn fill(&mut self, at: usize, inline: Inline<'a, '_>) -> Result<(), Trouble> {
        match inline.what {
            What::Scalar(bytes) => self.put(at, &bytes[..inline.size]),
            What::Struct(of, value) => self.structure(of, value, at)?,
            What::Behind(kind, value) => self.behind(kind, value, at)?,
        }
        Ok(())
    }

    /// Writes a value at the end and lets the offset at `at` lead to it.
    fn behind(&mut self, kind: &'a Kind, value: Json<'_>, at: usize) -> Result<(), Trouble> {
        let layout = self.layout;
        let target = match kind {
            Kind::String => self.string(&or_mismatch(as_text(value), value, "a string")?),
            Kind::Table(of) => self.table(&layout.objects[*of], value)?,
            Kind::Vector(of) => self.vector(of, value)?,
            Kind::Struct(of) => {
                let object = &layout.objects[*of];
                self.align(object.align);
                let target = self.here();
                self.out.resize(self.out.len() + object.size, 0);
                self.structure(*of, value, target)?;
                target
            }
            Kind::Scalar(..) | Kind::Array(..) | Kind::Union(_) => {
                return Err(Trouble::new("no offset leads to it"));
            }
        };
        self.point(at, target);
        Ok(())
    }

    fn string(&mut self, text: &str) -> usize {
        self.align(4);
        let at = self.here();
        self.out.extend_from_slice(&(text.len() as u32).to_le_bytes());
        self.out.extend_from_slice(text.as_bytes());
        self.out.push(0);
        at
    }

    fn vector(&mut self, of: &'a Kind, value: Json<'_>) -> Result<usize, Trouble> {
        if value.kind() != JsonKind::Array {
            return Err(mismatch(value, "an array, for a vector"));
        }
        let (size, align) = self.layout.inline(of);
        let count = value.elements().count();
        // The elements, after the length, stand on their alignment.
        self.align(4);
        if !(self.here() + 4).is_multiple_of(align) {
            let pad = (self.here() + 4).next_multiple_of(align) - (self.here() + 4);
            self.out.resize(self.out.len() + pad, 0);
        }
        let at = self.here();
        self.out.extend_from_slice(&(count as u32).to_le_bytes());
        self.out.resize(self.out.len() + count * size, 0);
        for (index, element) in value.elements().enumerate() {
            self.item(of, element, at + 4 + index * size).map_err(|trouble| trouble.in_item(index))?;
        }
        Ok(at)
    }

    /// A value inside a vector, an array or a struct.
    fn item(&mut self, of: &'a Kind, value: Json<'_>, at: usize) -> Result<(), Trouble> {
        match of {
            Kind::Scalar(scalar, names) => {
                let bytes = self.scalar(*scalar, *names, value)?;
                self.put(at, &bytes[..scalar.size()]);
                Ok(())
            }
            Kind::Struct(of) => self.structure(*of, value, at),
            Kind::Array(of, count) => self.array(of, *count, value, at),
            Kind::String | Kind::Table(_) | Kind::Vector(_) | Kind::Union(_) => self.behind(of, value, at),
        }
    }

    fn array(&mut self, of: &'a Kind, count: usize, value: Json<'_>, at: usize) -> Result<(), Trouble> {
        let is_whole = value.kind() == JsonKind::Array && value.elements().count() == count;
        if !is_whole {
            return Err(mismatch(value, &format!("an array of {count}")));
        }
        let (size, _) = self.layout.inline(of);
        for (index, element) in value.elements().enumerate() {
            self.item(of, element, at + index * size).map_err(|trouble| trouble.in_item(index))?;
        }
        Ok(())
    }

    /// All fields of a struct must be there.
    fn structure(&mut self, of: usize, value: Json<'_>, at: usize) -> Result<(), Trouble> {
        if value.kind() != JsonKind::Object {
            return Err(mismatch(value, "an object, for a struct"));
        }
        let layout = self.layout;
        let object = &layout.objects[of];
        let slots = slots(object, value);
        for (field, slot) in object.fields.iter().zip(slots) {
            let outcome = match slot {
                ABSENT => Err(Trouble::new("is not there, and a struct needs all its fields")),
                slot => self.item(&field.of, value.at(slot), at + field.slot),
            };
            outcome.map_err(|trouble| trouble.in_field(&field.name))?;
        }
        Ok(())
    }

    /// Little-endian, in the first bytes.
    fn scalar(&self, scalar: Scalar, of: Option<usize>, value: Json<'_>) -> Result<[u8; 8], Trouble> {
        if let (Some(of), Some(names)) = (of, as_text(value)) {
            let number = number_of(&self.layout.enums[of], &names);
            return Ok(or_mismatch(number, value, "a name of the enum")?.to_le_bytes());
        }
        let whole = |needed: &str, min: i128, max: i128| -> Result<[u8; 8], Trouble> {
            let number = as_integer::<i128>(value).filter(|number| (min..=max).contains(number));
            Ok((or_mismatch(number, value, needed)? as u64).to_le_bytes())
        };
        match scalar {
            Scalar::Bool => Ok(u64::from(or_mismatch(as_bool(value), value, "a boolean")?).to_le_bytes()),
            Scalar::I8 => whole("a byte (8 bits)", i8::MIN.into(), i8::MAX.into()),
            Scalar::U8 => whole("a ubyte (8 bits)", 0, u8::MAX.into()),
            Scalar::I16 => whole("a short (16 bits)", i16::MIN.into(), i16::MAX.into()),
            Scalar::U16 => whole("a ushort (16 bits)", 0, u16::MAX.into()),
            Scalar::I32 => whole("an int (32 bits)", i32::MIN.into(), i32::MAX.into()),
            Scalar::U32 => whole("a uint (32 bits)", 0, u32::MAX.into()),
            Scalar::I64 => whole("a long (64 bits)", i64::MIN.into(), i64::MAX.into()),
            Scalar::U64 => whole("a ulong (64 bits)", 0, u64::MAX.into()),
            Scalar::F32 => {
                let bits = or_mismatch(as_float(value), value, "a float")?.to_bits();
                Ok(u64::from(bits).to_le_bytes())
            }
            Scalar::F64 => Ok(or_mismatch(as_double(value), value, "a double")?.to_le_bytes()),
        }
    }
}

/// Where the value of each field stands in the tape. Members without a field are left out, null is absent, and of a key
/// that stands twice the last counts.
fn slots(object: &Object, value: Json<'_>) -> Vec<usize> {
    let mut slots = vec![ABSENT; object.fields.len()];
    for (key, member) in value.members() {
        let position = key.text().and_then(|name| object.positions.get(&*name));
        if let Some(position) = position {
            slots[*position] = if member.kind() == JsonKind::Null { ABSENT } else { member.position() };
        }
    }
    slots
}

fn default_of(field: &Field, scalar: Scalar) -> [u8; 8] {
    match scalar {
        Scalar::F32 => u64::from((field.default_real as f32).to_bits()).to_le_bytes(),
        Scalar::F64 => field.default_real.to_le_bytes(),
        Scalar::Bool => u64::from(field.default_integer != 0).to_le_bytes(),
        Scalar::I8
        | Scalar::U8
        | Scalar::I16
        | Scalar::U16
        | Scalar::I32
        | Scalar::U32
        | Scalar::I64
        | Scalar::U64 => field.default_integer.to_le_bytes(),
    }
}

/// The number of a name; of flags, of all their names with blanks between.
fn number_of(of: &Enum, names: &str) -> Option<i64> {
    if !of.is_flags {
        return of.by_name(names).map(|value| value.number);
    }
    names.split_ascii_whitespace().try_fold(0, |number, name| Some(number | of.by_name(name)?.number))
}
