//! From a parsed Avro schema to its plan: types numbered, references resolved, defaults encoded.

use std::collections::HashMap;

use apache_avro::schema::{InnerDecimalSchema, Name, RecordSchema, UuidSchema};
use apache_avro::schema::{Namespace, Schema};

use super::encode::Encoder;
use super::logical::Unit;
use super::plan::{Field, Id, Plan, Record, Symbols, Type, UuidForm};
use crate::codec::number::DIGITS_MAX;
use crate::codec::tape::Tape;

impl Plan {
    /// Makes a parsed schema ready.
    ///
    /// # Errors
    /// In words: what is not supported, or a default that is no value of its field.
    pub(super) fn compile(schema: &Schema) -> Result<Plan, String> {
        let mut planner = Planner { types: Vec::new(), named: HashMap::new(), defaults: Vec::new() };
        let root = planner.add(schema, &None)?;
        let Planner { types, defaults, .. } = planner;
        let mut plan = Plan { types, root };
        plan.encode_defaults(defaults)?;
        Ok(plan)
    }

    /// A default may be a record that leaves fields to their own defaults, so those come first; each round encodes at
    /// least one, or the first that fails says why.
    fn encode_defaults(&mut self, mut waiting: Vec<Default>) -> Result<(), String> {
        while !waiting.is_empty() {
            let mut failed = Vec::new();
            let mut first_reason = None;
            let before = waiting.len();
            for default in waiting {
                match self.encode_default(&default) {
                    Ok(bytes) => {
                        let Type::Record(record) = &mut self.types[default.record as usize] else {
                            unreachable!("a default is noted for a record alone")
                        };
                        record.fields[default.field].default = Some(bytes);
                    }
                    Err(reason) => {
                        first_reason.get_or_insert(reason);
                        failed.push(default);
                    }
                }
            }
            if failed.len() == before {
                return Err(first_reason.unwrap_or_default());
            }
            waiting = failed;
        }
        Ok(())
    }

    fn encode_default(&self, default: &Default) -> Result<Box<[u8]>, String> {
        let Type::Record(record) = self.get(default.record) else {
            unreachable!("a default is noted for a record alone")
        };
        let field = &record.fields[default.field];
        let (mut tape, mut out, mut slots) = (Tape::default(), Vec::new(), Vec::new());
        let value = tape.note(default.text.as_bytes()).map_err(|trouble| trouble.to_string())?;
        Encoder { plan: self, out: &mut out, slots: &mut slots }.value(field.of, value).map_err(
            |trouble| {
                format!("the default of field {} of {} does not fit: {trouble}", field.name, record.name)
            },
        )?;
        Ok(out.into())
    }
}

/// A default still to be encoded.
struct Default {
    record: Id,
    field: usize,
    text: String,
}

struct Planner {
    types: Vec<Type>,
    named: HashMap<String, Id>,
    defaults: Vec<Default>,
}

impl Planner {
    fn add(&mut self, schema: &Schema, namespace: &Namespace) -> Result<Id, String> {
        let made = match schema {
            Schema::Null => Type::Null,
            Schema::Boolean => Type::Boolean,
            Schema::Int => Type::Int,
            Schema::Long => Type::Long,
            Schema::Float => Type::Float,
            Schema::Double => Type::Double,
            Schema::Bytes => Type::Bytes,
            Schema::String => Type::String,
            Schema::Array(array) => Type::Array(self.add(&array.items, namespace)?),
            Schema::Map(map) => Type::Map(self.add(&map.types, namespace)?),
            Schema::Union(union) => {
                let branches = union.variants().iter().map(|branch| self.add(branch, namespace));
                Type::Union(branches.collect::<Result<_, _>>()?)
            }
            Schema::Record(record) => return self.record(record, namespace),
            Schema::Enum(of) => {
                let names: Vec<Box<str>> = of.symbols.iter().map(|name| name.as_str().into()).collect();
                let positions = names.iter().cloned().zip(0..).collect();
                return Ok(self.name(&of.name, namespace, Type::Enum(Symbols { names, positions })));
            }
            Schema::Fixed(fixed) => return Ok(self.name(&fixed.name, namespace, Type::Fixed(fixed.size))),
            Schema::Decimal(decimal) => {
                let (precision, scale) = decimal_bounds(decimal.precision, decimal.scale)?;
                match &decimal.inner {
                    InnerDecimalSchema::Bytes => Type::Decimal { precision, scale, size: None },
                    InnerDecimalSchema::Fixed(fixed) => {
                        let made = Type::Decimal { precision, scale, size: Some(fixed.size) };
                        return Ok(self.name(&fixed.name, namespace, made));
                    }
                }
            }
            Schema::BigDecimal => return Err("the logical type big-decimal is not supported".to_owned()),
            Schema::Uuid(UuidSchema::String) => Type::Uuid(UuidForm::Text),
            Schema::Uuid(UuidSchema::Bytes) => Type::Uuid(UuidForm::Bytes),
            Schema::Uuid(UuidSchema::Fixed(fixed)) => {
                return Ok(self.name(&fixed.name, namespace, Type::Uuid(UuidForm::Fixed)));
            }
            Schema::Date => Type::Date,
            Schema::TimeMillis => Type::Time(Unit::Millis),
            Schema::TimeMicros => Type::Time(Unit::Micros),
            Schema::TimestampMillis => Type::Timestamp { unit: Unit::Millis, is_local: false },
            Schema::TimestampMicros => Type::Timestamp { unit: Unit::Micros, is_local: false },
            Schema::TimestampNanos => Type::Timestamp { unit: Unit::Nanos, is_local: false },
            Schema::LocalTimestampMillis => Type::Timestamp { unit: Unit::Millis, is_local: true },
            Schema::LocalTimestampMicros => Type::Timestamp { unit: Unit::Micros, is_local: true },
            Schema::LocalTimestampNanos => Type::Timestamp { unit: Unit::Nanos, is_local: true },
            Schema::Duration(fixed) => return Ok(self.name(&fixed.name, namespace, Type::Duration)),
            Schema::Ref { name } => {
                let name = name.fullname(namespace.as_deref());
                let known = self.named.get(&name).copied();
                return known.ok_or_else(|| format!("the type {name} is named, but defined nowhere"));
            }
        };
        Ok(self.push(made))
    }

    /// The record has its number before its fields are looked at, because they may name it.
    fn record(&mut self, schema: &RecordSchema, namespace: &Namespace) -> Result<Id, String> {
        let id = self.name(&schema.name, namespace, Type::Null);
        let inner = schema.name.namespace().map(str::to_owned).or_else(|| namespace.clone());
        let mut fields = Vec::with_capacity(schema.fields.len());
        for (index, field) in schema.fields.iter().enumerate() {
            let of = self.add(&field.schema, &inner)?;
            if let Some(default) = &field.default {
                self.defaults.push(Default { record: id, field: index, text: default.to_string() });
            }
            fields.push(Field { name: field.name.as_str().into(), of, default: None });
        }
        let positions = fields.iter().map(|field| field.name.clone()).zip(0..).collect();
        let name = schema.name.fullname(namespace.as_deref()).into();
        self.types[id as usize] = Type::Record(Record { name, fields, positions });
        Ok(id)
    }

    fn name(&mut self, name: &Name, namespace: &Namespace, made: Type) -> Id {
        let id = self.push(made);
        self.named.insert(name.fullname(namespace.as_deref()), id);
        id
    }

    fn push(&mut self, made: Type) -> Id {
        self.types.push(made);
        self.types.len() as Id - 1
    }
}

fn decimal_bounds(precision: usize, scale: usize) -> Result<(u32, u32), String> {
    match (u32::try_from(precision), u32::try_from(scale)) {
        (Ok(precision), Ok(scale)) if precision <= DIGITS_MAX && scale <= precision => Ok((precision, scale)),
        (Ok(_) | Err(_), Ok(_) | Err(_)) => {
            Err(format!("a decimal of {precision} digits is not supported, at most {DIGITS_MAX} are"))
        }
    }
}
