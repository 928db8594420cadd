"""Values of every Avro type, written by fastavro: prints a JSON list of {name, schema, json, hex}.

json is the form that docs/schemas.md gives each type; hex is what fastavro writes for the same value.
"""
import datetime
import decimal
import io
import json
import random
import sys
import uuid

import fastavro

RANDOM = random.Random(int(sys.argv[1]))
UTC = datetime.timezone.utc


def text():
    letters = "aZ09 _-\"\\/\n\té漢😀\u0000\u007f"
    return "".join(RANDOM.choice(letters) for _ in range(RANDOM.randrange(12)))


def raw(size=None):
    return bytes(RANDOM.randrange(256) for _ in range(RANDOM.randrange(9) if size is None else size))


def whole(bits):
    edges = [0, 1, -1, 63, 64, -64, -65, 2 ** (bits - 1) - 1, -(2 ** (bits - 1))]
    return RANDOM.choice(edges + [RANDOM.randrange(-(2 ** (bits - 1)), 2 ** (bits - 1))])


def latin1(value):
    return value.decode("latin-1")


def float32():
    import struct

    while True:
        value = struct.unpack("<f", raw(4))[0]
        if value == value and value not in (float("inf"), float("-inf")):
            return value


def float64():
    import struct

    while True:
        value = struct.unpack("<d", raw(8))[0]
        if value == value and value not in (float("inf"), float("-inf")):
            return value


def number(value):
    return {float("inf"): "Infinity", float("-inf"): "-Infinity"}.get(value, value if value == value else "NaN")


def same(value):
    return value, value


def logical(base, kind, **more):
    return {"type": base, "logicalType": kind, **more}


def some_decimal(digits, scale):
    value = decimal.Decimal(RANDOM.randrange(-(10**digits) + 1, 10**digits)).scaleb(-scale, decimal.Context(prec=60))
    return value, format(value, "f")


def moment(unit):
    return datetime.datetime(
        RANDOM.randrange(1, 9000), RANDOM.randrange(1, 13), RANDOM.randrange(1, 29),
        RANDOM.randrange(24), RANDOM.randrange(60), RANDOM.randrange(60),
        RANDOM.choice([0, RANDOM.randrange(1000) * 1000 if unit == "millis" else RANDOM.randrange(1000000)]),
    )


def iso(value):
    text = value.strftime("%H:%M:%S")
    if isinstance(value, datetime.datetime):
        text = f"{value.year:04d}-{value.month:02d}-{value.day:02d}T{text}"
    if value.microsecond:
        text += f".{value.microsecond:06d}".rstrip("0")
    return text


def stamp(unit):
    value = moment(unit)
    return value.replace(tzinfo=UTC), iso(value) + "Z"


def local(unit):
    value = moment(unit)
    return value, iso(value)


def day():
    value = moment("millis").date()
    return value, f"{value.year:04d}-{value.month:02d}-{value.day:02d}"


def clock(unit):
    value = moment(unit).time()
    return value, iso(value)


def some_uuid():
    value = uuid.UUID(int=RANDOM.getrandbits(128))
    return value, str(value)


def fixed_uuid():
    """fastavro knows no uuid on a fixed and writes its bytes."""
    value, shown = some_uuid()
    return value.bytes, shown


def listed(make, largest=5):
    pairs = [make() for _ in range(RANDOM.randrange(largest))]
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs]


def mapped(make):
    keys = {text() for _ in range(RANDOM.randrange(4))}
    pairs = {key: make() for key in keys}
    return {key: pair[0] for key, pair in pairs.items()}, {key: pair[1] for key, pair in pairs.items()}


def tree(depth):
    value, children = whole(32), [tree(depth - 1) for _ in range(RANDOM.randrange(3) if depth else 0)]
    pair = [{"value": value, "children": [child[i] for child in children]} for i in (0, 1)]
    return pair[0], pair[1]


def some_bytes(size=None):
    value = raw(size)
    return value, latin1(value)


def float_edge(make):
    value = RANDOM.choice([make(), 0.0, -0.0, float("nan"), float("inf"), float("-inf"), 1.5])
    return value, number(value)


def optional(make):
    return same(None) if RANDOM.random() < 0.4 else make()


ENUM = {"type": "enum", "name": "Suit", "namespace": "cards", "symbols": ["SPADES", "HEARTS", "CLUBS"]}
FIXED = {"type": "fixed", "name": "Four", "size": 4}
TREE = {
    "type": "record", "name": "Tree", "namespace": "a.b",
    "fields": [{"name": "value", "type": "int"}, {"name": "children", "type": {"type": "array", "items": "Tree"}}],
}
INNER = {"type": "record", "name": "Inner", "fields": [{"name": "x", "type": "string"}, {"name": "y", "type": ["null", "long"]}]}

TYPES = {
    "null": ("null", lambda: same(None)),
    "boolean": ("boolean", lambda: same(RANDOM.random() < 0.5)),
    "int": ("int", lambda: same(whole(32))),
    "long": ("long", lambda: same(whole(64))),
    "float": ("float", lambda: float_edge(float32)),
    "double": ("double", lambda: float_edge(float64)),
    "bytes": ("bytes", some_bytes),
    "string": ("string", lambda: same(text())),
    "fixed": (FIXED, lambda: some_bytes(4)),
    "enum": (ENUM, lambda: same(RANDOM.choice(ENUM["symbols"]))),
    "array": ({"type": "array", "items": "long"}, lambda: listed(lambda: same(whole(64)), 200)),
    "map": ({"type": "map", "values": "double"}, lambda: mapped(lambda: same(float64()))),
    "tree": (TREE, lambda: tree(5)),
    "nullable": (["null", "string"], lambda: optional(lambda: same(text()))),
    "nullable_last": (["long", "null"], lambda: optional(lambda: same(whole(64)))),
    "union": (
        ["null", "boolean", "long", "double", "string", {"type": "array", "items": "int"}, INNER],
        lambda: RANDOM.choice([
            lambda: same(None), lambda: same(True), lambda: same(whole(64)), lambda: same(text()),
            lambda: same(RANDOM.randrange(1, 99) + 0.5), lambda: same([whole(32)]),
            lambda: same({"x": text(), "y": whole(64)}),
        ])(),
    ),
    "decimal_bytes": (logical("bytes", "decimal", precision=38, scale=6), lambda: some_decimal(38, 6)),
    "decimal_short": (logical("bytes", "decimal", precision=4, scale=2), lambda: some_decimal(4, 2)),
    "decimal_whole": (logical("bytes", "decimal", precision=9), lambda: some_decimal(9, 0)),
    "decimal_fixed": (
        {"type": "fixed", "name": "Money", "size": 9, "logicalType": "decimal", "precision": 18, "scale": 4},
        lambda: some_decimal(18, 4),
    ),
    "uuid": (logical("string", "uuid"), some_uuid),
    "uuid_fixed": ({"type": "fixed", "name": "Uuid", "size": 16, "logicalType": "uuid"}, lambda: fixed_uuid()),
    "date": (logical("int", "date"), day),
    "time_millis": (logical("int", "time-millis"), lambda: clock("millis")),
    "time_micros": (logical("long", "time-micros"), lambda: clock("micros")),
    "timestamp_millis": (logical("long", "timestamp-millis"), lambda: stamp("millis")),
    "timestamp_micros": (logical("long", "timestamp-micros"), lambda: stamp("micros")),
    "local_millis": (logical("long", "local-timestamp-millis"), lambda: local("millis")),
    "local_micros": (logical("long", "local-timestamp-micros"), lambda: local("micros")),
}


def record():
    """One record of all types, some of them in arrays, maps and unions, where a named type is not defined twice."""
    fields, value, plain = [], {}, {}
    for name, (schema, make) in TYPES.items():
        shape = RANDOM.choice(["plain", "array", "map"])
        wrapped = {"plain": schema, "array": {"type": "array", "items": schema}, "map": {"type": "map", "values": schema}}
        pair = {"plain": make, "array": lambda: listed(make), "map": lambda: mapped(make)}[shape]()
        fields.append({"name": name, "type": wrapped[shape]})
        value[name], plain[name] = pair
    return {"type": "record", "name": "All", "namespace": "x", "fields": fields}, value, plain


def written(name, schema, value, plain):
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), value)
    return {"name": name, "schema": json.dumps(schema), "json": json.dumps(plain), "hex": out.getvalue().hex()}


def main():
    cases = []
    for name, (schema, make) in TYPES.items():
        for _ in range(30):
            cases.append(written(name, schema, *make()))
    for _ in range(100):
        cases.append(written("record", *record()))
    print(json.dumps(cases))


main()
