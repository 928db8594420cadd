"""A schema registry in memory that answers as Confluent's public API documents, over TLS and with a user.

arguments: certificate, key, user:password
Prints its port, then one line for each request: method, path and status.
"""
import base64
import json
import ssl
import sys
import urllib.parse
from http.server import BaseHTTPRequestHandler, HTTPServer

import avro.schema
from avro.compatibility import ReaderWriterCompatibilityChecker, SchemaCompatibilityType

CERTIFICATE, KEY, USER = sys.argv[1:4]
SCHEMAS, SUBJECTS = {}, {}  # id to schema; subject to the ids of its versions


class Refused(Exception):
    def __init__(self, status, code, message):
        super().__init__(message)
        self.status, self.code = status, code


def given(body):
    if set(body) - {"schema", "schemaType", "references", "metadata", "ruleSet"}:
        raise Refused(422, 422, f"Unrecognized field: {sorted(body)}")
    kind, text = body.get("schemaType", "AVRO"), body["schema"]
    try:
        if kind == "AVRO":
            text = json.dumps(avro.schema.parse(text).to_canonical_json(), separators=(",", ":"))
        elif kind == "JSON":
            json.loads(text)
        elif kind != "PROTOBUF" or not text.strip():
            raise ValueError(f"no schema of type {kind}")
    except Exception as error:
        raise Refused(422, 42201, f"Invalid schema: {error}") from error
    return {"schema": text, "schemaType": kind}


def versions(subject):
    if subject not in SUBJECTS:
        raise Refused(404, 40401, f"Subject '{subject}' not found.")
    return SUBJECTS[subject]


def find(subject, schema):
    for number, known in enumerate(versions(subject), 1):
        if SCHEMAS[known] == schema:
            return version(subject, number)
    raise Refused(404, 40403, "Schema not found")


def register(subject, schema):
    if subject in SUBJECTS and any(SCHEMAS[known] == schema for known in SUBJECTS[subject]):
        return {"id": find(subject, schema)["id"]}
    if SUBJECTS.get(subject) and schema["schemaType"] == "AVRO":
        newest = SCHEMAS[SUBJECTS[subject][-1]]["schema"]
        reader, writer = avro.schema.parse(schema["schema"]), avro.schema.parse(newest)
        outcome = ReaderWriterCompatibilityChecker().get_compatibility(reader, writer)
        if outcome.compatibility is not SchemaCompatibilityType.compatible:
            raise Refused(409, 409, "Schema being registered is incompatible with an earlier schema")
    # From 300 on, so that an id fills more than one byte.
    same = [number for number, known in SCHEMAS.items() if known == schema]
    number = same[0] if same else 300 + len(SCHEMAS)
    SCHEMAS[number] = schema
    SUBJECTS.setdefault(subject, []).append(number)
    return {"id": number}


def shown(schema):
    return {"schema": schema["schema"], **({} if schema["schemaType"] == "AVRO" else {"schemaType": schema["schemaType"]})}


def version(subject, number):
    all_of = versions(subject)
    number = len(all_of) if number == "latest" else int(number)
    if not 1 <= number <= len(all_of):
        raise Refused(404, 40402, f"Version {number} not found.")
    known = all_of[number - 1]
    return {"subject": subject, "version": number, "id": known, **shown(SCHEMAS[known])}


class Registry(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.answer({})

    def do_POST(self):
        self.answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

    def answer(self, body):
        try:
            status, document = 200, self.route(body)
        except Refused as refused:
            status, document = refused.status, {"error_code": refused.code, "message": str(refused)}
        out = json.dumps(document).encode()
        print(self.command, self.path, status, flush=True)
        self.send_response(status)
        self.send_header("Content-Type", "application/vnd.schemaregistry.v1+json")
        self.send_header("Content-Length", str(len(out)))
        self.end_headers()
        self.wfile.write(out)

    def route(self, body):
        expected = "Basic " + base64.b64encode(USER.encode()).decode()
        if self.headers.get("Authorization") != expected:
            raise Refused(401, 401, "Unauthorized")
        path = urllib.parse.urlsplit(self.path).path
        parts = [urllib.parse.unquote(part) for part in path.strip("/").split("/")]
        match (self.command, parts):
            case ("POST", ["subjects", subject]):
                return find(subject, given(body))
            case ("POST", ["subjects", subject, "versions"]):
                return register(subject, given(body))
            case ("GET", ["subjects", subject, "versions", number]):
                return version(subject, number)
            case ("GET", ["schemas", "ids", number]) if int(number) in SCHEMAS:
                return shown(SCHEMAS[int(number)])
            case ("GET", ["schemas", "ids", _]):
                raise Refused(404, 40403, "Schema not found")
        raise Refused(404, 404, "HTTP 404 Not Found")

    def log_message(self, *_):
        pass


def main():
    server = HTTPServer(("127.0.0.1", 0), Registry)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE, KEY)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    print(server.server_port, flush=True)
    server.serve_forever()


main()
