//! A message's descriptor made ready for encoding: its messages in one list, fields by name and in wire order.

use std::collections::HashMap;

use prost_reflect::{Cardinality, EnumDescriptor, FieldDescriptor, Kind as Described, MessageDescriptor};

/// Position of a message in its plan.
pub(super) type Id = usize;

#[derive(Debug)]
pub(super) struct Plan {
    pub(super) messages: Vec<Message>,
}

#[derive(Debug)]
pub(super) struct Message {
    /// In the order of their numbers.
    pub(super) fields: Vec<Field>,
    /// By the name in the file and by the JSON name.
    pub(super) positions: HashMap<Box<str>, usize>,
    pub(super) oneofs: Vec<Box<str>>,
    /// A message whose JSON is not an object of its fields; prost-reflect knows those.
    pub(super) well_known: Option<MessageDescriptor>,
}

#[derive(Debug)]
pub(super) struct Field {
    pub(super) name: Box<str>,
    pub(super) number: u32,
    pub(super) of: Kind,
    pub(super) shape: Shape,
    /// Position of the `oneof` it is in.
    pub(super) oneof: Option<usize>,
    pub(super) is_required: bool,
}

#[derive(Debug)]
pub(super) enum Shape {
    /// `is_explicit`: written also when it has the default value.
    Single {
        is_explicit: bool,
    },
    Repeated {
        is_packed: bool,
    },
    /// With the kind of the keys; the field's own is that of the values.
    Map {
        keys: Kind,
    },
}

#[derive(Debug)]
pub(super) enum Kind {
    Double,
    Float,
    Bool,
    String,
    Bytes,
    Integer(Integer),
    Enum(Enum),
    Message(Id),
    Group(Id),
}

/// By the name in `.proto` files.
#[derive(Clone, Copy, Debug)]
pub(super) enum Integer {
    Int32,
    Int64,
    Uint32,
    Uint64,
    Sint32,
    Sint64,
    Fixed32,
    Fixed64,
    Sfixed32,
    Sfixed64,
}

#[derive(Debug)]
pub(super) struct Enum {
    pub(super) numbers: HashMap<Box<str>, i32>,
    /// JSON null is its one value, and no absence.
    pub(super) is_null: bool,
}

impl Plan {
    /// The root message is the first.
    pub(super) fn compile(root: &MessageDescriptor) -> Plan {
        let mut planner = Planner { messages: Vec::new(), known: HashMap::new() };
        planner.message(root);
        Plan { messages: planner.messages }
    }
}

struct Planner {
    messages: Vec<Message>,
    known: HashMap<String, Id>,
}

impl Planner {
    fn message(&mut self, of: &MessageDescriptor) -> Id {
        if let Some(id) = self.known.get(of.full_name()) {
            return *id;
        }
        let id = self.messages.len();
        self.known.insert(of.full_name().to_owned(), id);
        let well_known = is_well_known(of.full_name()).then(|| of.clone());
        let oneofs: Vec<Box<str>> = of.oneofs().map(|oneof| oneof.name().into()).collect();
        self.messages.push(Message { fields: Vec::new(), positions: HashMap::new(), oneofs, well_known });
        if self.messages[id].well_known.is_some() {
            return id;
        }
        let mut described: Vec<FieldDescriptor> = of.fields().collect();
        described.sort_by_key(FieldDescriptor::number);
        let mut positions = HashMap::new();
        for (position, field) in described.iter().enumerate() {
            positions.insert(field.json_name().into(), position);
        }
        for (position, field) in described.iter().enumerate() {
            positions.insert(field.name().into(), position);
        }
        let fields = described.iter().map(|field| self.field(field, of)).collect();
        self.messages[id].fields = fields;
        self.messages[id].positions = positions;
        id
    }

    fn field(&mut self, field: &FieldDescriptor, of: &MessageDescriptor) -> Field {
        let described = field.kind();
        let (of_kind, shape) = match described.as_message().filter(|_| field.is_map()) {
            Some(entry) => {
                let keys = self.kind(&entry.map_entry_key_field());
                (self.kind(&entry.map_entry_value_field()), Shape::Map { keys })
            }
            None if field.is_list() => (self.kind(field), Shape::Repeated { is_packed: field.is_packed() }),
            None => (self.kind(field), Shape::Single { is_explicit: field.supports_presence() }),
        };
        let oneof = field.containing_oneof();
        let oneof = oneof.and_then(|oneof| of.oneofs().position(|other| other == oneof));
        Field {
            name: field.name().into(),
            number: field.number(),
            of: of_kind,
            shape,
            oneof,
            is_required: field.cardinality() == Cardinality::Required,
        }
    }

    fn kind(&mut self, field: &FieldDescriptor) -> Kind {
        match field.kind() {
            Described::Double => Kind::Double,
            Described::Float => Kind::Float,
            Described::Int32 => Kind::Integer(Integer::Int32),
            Described::Int64 => Kind::Integer(Integer::Int64),
            Described::Uint32 => Kind::Integer(Integer::Uint32),
            Described::Uint64 => Kind::Integer(Integer::Uint64),
            Described::Sint32 => Kind::Integer(Integer::Sint32),
            Described::Sint64 => Kind::Integer(Integer::Sint64),
            Described::Fixed32 => Kind::Integer(Integer::Fixed32),
            Described::Fixed64 => Kind::Integer(Integer::Fixed64),
            Described::Sfixed32 => Kind::Integer(Integer::Sfixed32),
            Described::Sfixed64 => Kind::Integer(Integer::Sfixed64),
            Described::Bool => Kind::Bool,
            Described::String => Kind::String,
            Described::Bytes => Kind::Bytes,
            Described::Enum(of) => Kind::Enum(enumeration(&of)),
            Described::Message(of) if field.is_group() => Kind::Group(self.message(&of)),
            Described::Message(of) => Kind::Message(self.message(&of)),
        }
    }
}

fn enumeration(of: &EnumDescriptor) -> Enum {
    let numbers = of.values().map(|value| (value.name().into(), value.number())).collect();
    Enum { numbers, is_null: of.full_name() == "google.protobuf.NullValue" }
}

/// Those whose JSON the protobuf documentation gives a form of its own.
pub(super) fn is_well_known(full_name: &str) -> bool {
    let Some(name) = full_name.strip_prefix("google.protobuf.") else { return false };
    matches!(
        name,
        "Any"
            | "Timestamp"
            | "Duration"
            | "FieldMask"
            | "Struct"
            | "ListValue"
            | "Value"
            | "Empty"
            | "DoubleValue"
            | "FloatValue"
            | "Int64Value"
            | "UInt64Value"
            | "Int32Value"
            | "UInt32Value"
            | "BoolValue"
            | "StringValue"
            | "BytesValue"
    )
}
