//! A FlatBuffer to JSON, as flatc prints it: fields that are absent are left out, enums by name.

use super::bytes::{Bytes, Table};
use super::layout::{Enum, Kind, Layout, Object, Scalar};
use crate::codec::text::{DEPTH_MAX, JsonText};
use crate::codec::trouble::Trouble;

pub(super) struct Decoder<'a> {
    pub(super) layout: &'a Layout,
    pub(super) bytes: Bytes<'a>,
    pub(super) json: JsonText<'a>,
}

impl<'a> Decoder<'a> {
    pub(super) fn whole(mut self) -> Result<(), Trouble> {
        let root = self.bytes.root()?;
        let layout = self.layout;
        self.table(&layout.objects[layout.root], root, 0)
    }

    fn table(&mut self, object: &'a Object, table: Table<'_>, depth: usize) -> Result<(), Trouble> {
        if depth > DEPTH_MAX {
            return Err(Trouble::new(format!("the tables nest deeper than {DEPTH_MAX}")));
        }
        self.json.raw("{")?;
        let mut is_first = true;
        for (index, field) in object.fields.iter().enumerate().filter(|(_, field)| !field.is_deprecated) {
            let (size, _) = self.layout.inline(&field.of);
            let Some(at) = table.field(field.slot, size)? else {
                if field.is_required {
                    return Err(Trouble::new("is required and not there").in_field(&field.name));
                }
                continue;
            };
            let kind = match &field.of {
                Kind::Union(of) => {
                    match self.member(object, index, table, *of).map_err(|it| it.in_field(&field.name))? {
                        Some(member) => member,
                        None => continue,
                    }
                }
                of => of,
            };
            self.json.comma(is_first)?;
            is_first = false;
            self.json.key(&field.name)?;
            let is_union = matches!(field.of, Kind::Union(_));
            let outcome = if is_union { self.behind(kind, at, depth) } else { self.value(kind, at, depth) };
            outcome.map_err(|trouble| trouble.in_field(&field.name))?;
        }
        self.json.raw("}")
    }

    /// What the union at `index` holds, by the field before it, which is its type. None: nothing.
    fn member(
        &self,
        object: &Object,
        index: usize,
        table: Table<'_>,
        of: usize,
    ) -> Result<Option<&'a Kind>, Trouble> {
        let layout = self.layout;
        let of = &layout.enums[of];
        let type_field = index.checked_sub(1).map(|index| &object.fields[index]);
        let at = type_field.map(|field| table.field(field.slot, 1)).transpose()?.flatten();
        let number = match at {
            Some(at) => i64::from(u8::from_le_bytes(self.bytes.scalar(at)?)),
            None => 0,
        };
        match of.by_number(number) {
            Some(value) => Ok(value.member.as_ref()),
            None => Err(Trouble::new(format!("the union has no member {number}"))),
        }
    }

    /// The value at `at`; of what does not lie there itself, the value that the offset there leads to.
    fn value(&mut self, kind: &Kind, at: usize, depth: usize) -> Result<(), Trouble> {
        match kind {
            Kind::Scalar(scalar, of) => self.scalar(*scalar, *of, at),
            Kind::Struct(of) => self.structure(*of, at, depth),
            Kind::Array(of, count) => self.items(of, at, *count, depth),
            Kind::String | Kind::Table(_) | Kind::Vector(_) | Kind::Union(_) => self.behind(kind, at, depth),
        }
    }

    /// The value that the offset at `at` leads to.
    fn behind(&mut self, kind: &Kind, at: usize, depth: usize) -> Result<(), Trouble> {
        let target = self.bytes.follow(at)?;
        match kind {
            Kind::String => {
                let text = self.bytes.string(target)?;
                self.json.string(text)
            }
            Kind::Table(of) => {
                let (layout, table) = (self.layout, self.bytes.table(target)?);
                self.table(&layout.objects[*of], table, depth + 1)
            }
            Kind::Struct(of) => self.structure(*of, target, depth),
            Kind::Vector(of) => {
                let (size, align) = self.layout.inline(of);
                let elements = self.bytes.elements(target, size, align)?;
                self.items(of, elements.start, elements.count, depth)
            }
            Kind::Scalar(..) | Kind::Array(..) | Kind::Union(_) => Err(Trouble::new("no offset leads to it")),
        }
    }

    fn items(&mut self, of: &Kind, start: usize, count: usize, depth: usize) -> Result<(), Trouble> {
        let (size, _) = self.layout.inline(of);
        self.json.raw("[")?;
        for index in 0..count {
            self.json.comma(index == 0)?;
            self.value(of, start + index * size, depth).map_err(|trouble| trouble.in_item(index))?;
        }
        self.json.raw("]")
    }

    fn structure(&mut self, of: usize, at: usize, depth: usize) -> Result<(), Trouble> {
        if depth > DEPTH_MAX {
            return Err(Trouble::new(format!("the structs nest deeper than {DEPTH_MAX}")));
        }
        let layout = self.layout;
        let object = &layout.objects[of];
        self.bytes.region(at, object.size, object.align)?;
        self.json.raw("{")?;
        for (index, field) in object.fields.iter().enumerate() {
            self.json.comma(index == 0)?;
            self.json.key(&field.name)?;
            self.value(&field.of, at + field.slot, depth + 1)
                .map_err(|trouble| trouble.in_field(&field.name))?;
        }
        self.json.raw("}")
    }

    fn scalar(&mut self, scalar: Scalar, of: Option<usize>, at: usize) -> Result<(), Trouble> {
        let number: i64 = match scalar {
            Scalar::Bool => {
                let [flag] = self.bytes.scalar(at)?;
                return self.json.raw(if flag == 0 { "false" } else { "true" });
            }
            Scalar::F32 => {
                let number = f32::from_le_bytes(self.bytes.scalar(at)?);
                return self.json.float(number);
            }
            Scalar::F64 => {
                let number = f64::from_le_bytes(self.bytes.scalar(at)?);
                return self.json.double(number);
            }
            Scalar::U64 => {
                let number = u64::from_le_bytes(self.bytes.scalar(at)?);
                match (of, i64::try_from(number)) {
                    (Some(_), Ok(number)) => number,
                    (Some(_), Err(_)) | (None, Ok(_) | Err(_)) => return self.json.number(number),
                }
            }
            Scalar::I8 => i8::from_le_bytes(self.bytes.scalar(at)?).into(),
            Scalar::U8 => u8::from_le_bytes(self.bytes.scalar(at)?).into(),
            Scalar::I16 => i16::from_le_bytes(self.bytes.scalar(at)?).into(),
            Scalar::U16 => u16::from_le_bytes(self.bytes.scalar(at)?).into(),
            Scalar::I32 => i32::from_le_bytes(self.bytes.scalar(at)?).into(),
            Scalar::U32 => u32::from_le_bytes(self.bytes.scalar(at)?).into(),
            Scalar::I64 => i64::from_le_bytes(self.bytes.scalar(at)?),
        };
        match of.and_then(|of| names(&self.layout.enums[of], number)) {
            Some(names) => self.json.string(&names),
            None => self.json.number(number),
        }
    }
}

/// The name of a number, or of all its flags with blanks between; None where one has no name.
fn names(of: &Enum, number: i64) -> Option<String> {
    if let Some(value) = of.by_number(number) {
        return Some(value.name.as_ref().to_owned());
    }
    let set = of.values.iter().filter(|value| value.number != 0 && number & value.number == value.number);
    let (mut names, mut left) = (Vec::new(), number);
    for value in set {
        names.push(value.name.as_ref());
        left &= !value.number;
    }
    (of.is_flags && left == 0 && !names.is_empty()).then(|| names.join(" "))
}
