"""Messages of every protobuf type by Google's own runtime.

make SET MESSAGE SEED   prints a JSON list of {json, hex}: random messages in protobuf's JSON (names of the file) and bytes.
check SET MESSAGE       reads a JSON list of {hex, bytes, json} and prints what is wrong: `bytes` and `json` must both be
                        the message that `hex` is.
"""
import json
import random
import struct
import sys

from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory
from google.protobuf.descriptor import FieldDescriptor as F


def message_class(path, name):
    files = descriptor_pb2.FileDescriptorSet.FromString(open(path, "rb").read())
    pool = descriptor_pool.DescriptorPool()
    for file in files.file:
        pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(name))


class Maker:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def bits(self, bits, is_signed):
        low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if is_signed else (0, 2**bits - 1)
        return self.random.choice([0, 1, low, high, 127, 128, self.random.randint(low, high)])

    def float(self, form):
        size = struct.calcsize(form)
        value = struct.unpack(form, self.random.randbytes(size))[0]
        # JSON knows one NaN, so the bits of others are lost in it.
        value = value if value == value else float("nan")
        return self.random.choice([value, 0.0, -0.0, 1.5, float("inf"), float("-inf"), float("nan")])

    def text(self):
        return "".join(self.random.choice('aZ9 "\\\n\té漢😀\u0000') for _ in range(self.random.choice([0, 1, 5, 150])))

    def scalar(self, field):
        kind = field.type
        if kind in (F.TYPE_INT32, F.TYPE_SINT32, F.TYPE_SFIXED32):
            return self.bits(32, True)
        if kind in (F.TYPE_INT64, F.TYPE_SINT64, F.TYPE_SFIXED64):
            return self.bits(64, True)
        if kind in (F.TYPE_UINT32, F.TYPE_FIXED32):
            return self.bits(32, False)
        if kind in (F.TYPE_UINT64, F.TYPE_FIXED64):
            return self.bits(64, False)
        if kind == F.TYPE_BOOL:
            return self.random.random() < 0.5
        if kind == F.TYPE_DOUBLE:
            return self.float("<d")
        if kind == F.TYPE_FLOAT:
            return self.float("<f")
        if kind == F.TYPE_STRING:
            return self.text()
        if kind == F.TYPE_BYTES:
            return self.random.randbytes(self.random.choice([0, 1, 7, 200]))
        if kind == F.TYPE_ENUM:
            return self.random.choice(field.enum_type.values).number
        raise AssertionError(kind)

    def fill(self, message, depth):
        name = message.DESCRIPTOR.full_name
        if name == "google.protobuf.Timestamp":
            message.seconds, message.nanos = self.random.randint(-62135596800, 253402300799), self.random.choice([0, 5000000, 1])
        elif name == "google.protobuf.Duration":
            message.seconds, message.nanos = self.random.choice([(0, 0), (5, 1), (-5, -500000000), (315576000000, 0)])
        elif name == "google.protobuf.Struct":
            message.update({"a": 1.5, "b": [True, None, "x"], "c": {"d": self.text()}})
        else:
            for field in message.DESCRIPTOR.fields:
                needed = getattr(field, "is_required", False)
                if needed or self.random.random() < 0.6:
                    self.field(message, field, depth)

    def field(self, message, field, depth):
        is_map = field.message_type is not None and field.message_type.GetOptions().map_entry
        is_repeated = field.is_repeated
        if is_map:
            entries = getattr(message, field.name)
            key, value = field.message_type.fields_by_name["key"], field.message_type.fields_by_name["value"]
            for _ in range(self.random.randrange(4)):
                if value.message_type is None:
                    entries[self.scalar(key)] = self.scalar(value)
                elif depth:
                    self.fill(entries[self.scalar(key)], depth - 1)
        elif field.message_type is not None:
            if not depth and not getattr(field, "is_required", False):
                return
            if is_repeated:
                for _ in range(self.random.randrange(4)):
                    self.fill(getattr(message, field.name).add(), depth - 1)
            else:
                getattr(message, field.name).SetInParent()
                self.fill(getattr(message, field.name), depth - 1)
        elif is_repeated:
            getattr(message, field.name).extend(self.scalar(field) for _ in range(self.random.choice([0, 1, 3, 100])))
        else:
            setattr(message, field.name, self.scalar(field))


def make(of, seed):
    maker, cases = Maker(seed), []
    for _ in range(300):
        message = of()
        maker.fill(message, 3)
        text = json_format.MessageToJson(message, preserving_proto_field_name=True, indent=None)
        cases.append({"json": text, "hex": message.SerializeToString(deterministic=True).hex()})
    print(json.dumps(cases))


def difference(one, other):
    lines = [set(str(message).splitlines()) for message in (one, other)]
    return f"{sorted(lines[0] - lines[1])} instead of {sorted(lines[1] - lines[0])}"


def check(of):
    wrong = []
    for number, case in enumerate(json.load(sys.stdin)):
        original = bytes.fromhex(case["hex"])
        read = of.FromString(bytes.fromhex(case["bytes"])).SerializeToString(deterministic=True)
        parsed = json_format.Parse(case["json"], of()).SerializeToString(deterministic=True)
        for what, bytes_ in (("bytes", read), ("json", parsed)):
            if bytes_ != original:
                wrong.append(f"{number}: {what}: {difference(of.FromString(bytes_), of.FromString(original))}")
    print(json.dumps(wrong))


def main():
    what, path, name, *rest = sys.argv[1:]
    of = message_class(path, name)
    make(of, int(rest[0])) if what == "make" else check(of)


main()
