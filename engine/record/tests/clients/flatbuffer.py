"""Reads a buffer with the accessors that flatc generated, prints some of it as JSON, and writes the same anew.

arguments: the folder of the generated modules, the buffer, where the new one goes
"""
import json
import sys

sys.path.insert(0, sys.argv[1])

import flatbuffers  # noqa: E402
import shop  # noqa: E402
from shop import All, Node, Sword  # noqa: E402

# A table that holds itself names its own module in what this flatc generates, and does not import it.
Node.shop = shop


def node(of):
    return {"value": of.value, "children": [node(child) for child in of.children or []]}


def point(of):
    return {"x": of.x, "y": of.y, "on": bool(of.on)}


def main():
    buffer = open(sys.argv[2], "rb").read()
    of = All.AllT.InitFromObj(All.All.GetRootAs(buffer, 0))
    assert isinstance(of.thing, Sword.SwordT), of.thing
    print(json.dumps({
        "needed": of.needed.decode(), "a_long": of.aLong, "a_ulong": of.aUlong,
        "texts": [text.decode() for text in of.texts], "point": point(of.point), "points": [point(p) for p in of.points],
        "tree": node(of.tree), "doubles": list(of.doubles), "thing_type": "Sword",
        "thing": {"name": of.thing.name.decode(), "length": of.thing.length}, "maybe": of.maybe,
    }))
    builder = flatbuffers.Builder()
    builder.Finish(of.Pack(builder), b"SHOP")
    open(sys.argv[3], "wb").write(builder.Output())


main()
