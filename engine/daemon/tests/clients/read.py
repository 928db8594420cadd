"""Values of a topic by Confluent's own deserializers.

arguments: registry, certificate, user:password, then one of
  register SUBJECT FILE         registers a JSON schema
  avro TOPIC                    values as hex, one a line on standard input; prints a JSON list of what they are
  json TOPIC SCHEMA
  proto TOPIC SET MESSAGE
"""
import json
import sys

from confluent_kafka.schema_registry import Schema, SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory


def message_class(path, name):
    files = descriptor_pb2.FileDescriptorSet.FromString(open(path, "rb").read())
    pool = descriptor_pool.DescriptorPool()
    for file in files.file:
        pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(name))


def main():
    url, certificate, user, what, topic, *rest = sys.argv[1:]
    client = SchemaRegistryClient({"url": url, "ssl.ca.location": certificate, "basic.auth.user.info": user})
    if what == "register":
        print(json.dumps(client.register_schema(topic, Schema(open(rest[0]).read(), "JSON"))))
        return
    if what == "avro":
        read = AvroDeserializer(client)
    elif what == "json":
        read = JSONDeserializer(open(rest[0]).read(), schema_registry_client=client)
    else:
        of = ProtobufDeserializer(message_class(*rest), {"use.deprecated.format": False})
        read = lambda value, context: json_format.MessageToDict(of(value, context), preserving_proto_field_name=True)  # noqa: E731
    context = SerializationContext(topic, MessageField.VALUE)
    print(json.dumps([read(bytes.fromhex(line), context) for line in sys.stdin.read().split()]))


main()
