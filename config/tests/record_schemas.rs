//! Binary schemas of a block: which keys, and the content of their files.

use std::path::Path;

use pico_config::{
    Action, Definition, Engine, Env, Finding, RegistryLogin, Schema, SchemaSource, Secret, Severity,
    check_definition,
};

use crate::given::{lines, source};

/// A folder of schemas, and the definitions that stand in it.
struct Folder(tempfile::TempDir);

impl Folder {
    fn with(files: &[(&str, &str)]) -> Folder {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        Folder(folder)
    }

    fn check(&self, block: &str) -> (Option<Definition>, Vec<Finding>) {
        let engine = Engine::defaults(Path::new("/srv"));
        check_definition(&self.0.path().join("a.toml"), &source("", block), &engine, &Env::default())
    }

    fn schema(&self, block: &str) -> SchemaSource {
        let (definition, findings) = self.check(block);
        let definition = definition.unwrap_or_else(|| panic!("refused: {findings:#?}"));
        definition.topics[0].record_schema.clone().unwrap().source
    }

    fn refused(&self, block: &str) -> String {
        let (definition, findings) = self.check(block);
        assert!(definition.is_none(), "accepted: {block}");
        lines(&findings).replace(&self.0.path().display().to_string(), "HERE")
    }
}

#[test]
fn an_avro_schema_is_a_file_or_stands_in_the_definition() {
    let folder = Folder::with(&[("s/r.avsc", "\u{feff}\"int\"")]);
    let text = |text: &str| SchemaSource::Avro { text: text.to_owned() };
    assert_eq!(folder.schema("schema = \"avro\"\navro_schema_path = \"s/r.avsc\""), text("\"int\""));
    assert_eq!(folder.schema("schema = \"avro\"\navro_schema_json = '\"long\"'"), text("\"long\""));
    let both =
        folder.refused("schema = \"avro\"\navro_schema_path = \"s/r.avsc\"\navro_schema_json = '\"int\"'");
    assert!(both.contains("config.contradiction") && both.contains("`avro_schema_path` both name"), "{both}");
}

#[test]
fn a_changed_schema_file_is_a_changed_definition() {
    let folder = Folder::with(&[("r.avsc", "\"int\"")]);
    let load = || folder.check("schema = \"avro\"\navro_schema_path = \"r.avsc\"").0.unwrap();
    let before = load();
    assert_eq!(before, load());
    std::fs::write(folder.0.path().join("r.avsc"), "\"long\"").unwrap();
    assert_ne!(before, load());
}

#[test]
fn a_proto_file_comes_with_all_that_it_imports() {
    let folder = Folder::with(&[
        ("p/a.proto", "import \"b.proto\";\nimport \"google/protobuf/any.proto\";"),
        ("p/b.proto", "import public 'c/d.proto';"),
        ("p/c/d.proto", "import \"b.proto\";"),
    ]);
    let SchemaSource::ProtoFiles { root, files, message } =
        folder.schema("schema = \"proto\"\nproto_schema_path = \"p/a.proto\"\nproto_message = \"x.M\"")
    else {
        panic!("it is a file")
    };
    assert_eq!((root.as_str(), message.as_deref()), ("a.proto", Some("x.M")));
    assert_eq!(files.keys().collect::<Vec<_>>(), ["a.proto", "b.proto", "c/d.proto"]);
    let include =
        "schema = \"proto\"\nproto_schema_path = \"p/c/d.proto\"\nproto_include_paths = [\"q\", \"p\"]";
    let SchemaSource::ProtoFiles { root, .. } = folder.schema(include) else { panic!("it is a file") };
    assert_eq!(root, "c/d.proto", "a file is known by its path in the folder that holds it");
}

#[test]
fn an_import_that_is_not_there_or_leads_out_is_named() {
    let folder = Folder::with(&[
        ("p/a.proto", "import \"x.proto\";"),
        ("p/b.proto", "import \"../x.proto\";"),
        ("x.proto", ""),
    ]);
    for (file, import) in [("p/a.proto", "x.proto"), ("p/b.proto", "../x.proto")] {
        let refused = folder.refused(&format!("schema = \"proto\"\nproto_schema_path = \"{file}\""));
        let expected = format!(
            "config.bad_schema 8:21 topics[0].proto_schema_path: `proto_schema_path` imports \"{import}\", which is not in HERE/p \
             (name the folders that imports are counted from: proto_include_paths = [\"…\"])"
        );
        assert_eq!(refused, expected);
    }
}

#[test]
fn a_descriptor_set_and_a_binary_flatbuffers_schema_are_read() {
    let folder = Folder::with(&[("set.bin", "set"), ("s.bfbs", "BFBS")]);
    let expected = SchemaSource::ProtoDescriptorSet { bytes: b"set".to_vec(), message: None };
    assert_eq!(folder.schema("schema = \"proto\"\nproto_descriptor_set = \"set.bin\""), expected);
    let expected = SchemaSource::FlatBuffer { bytes: b"BFBS".to_vec(), root: Some("T".to_owned()) };
    let block = "schema = \"flat_buffer\"\nflatbuffer_schema_path = \"s.bfbs\"\nflatbuffer_root = \"T\"";
    assert_eq!(folder.schema(block), expected);
    let refused = folder.refused("schema = \"flatbuffer\"\nflatbuffer_schema_path = \"s.fbs\"");
    assert!(refused.contains("flatc --binary --schema HERE/s.fbs"), "{refused}");
}

#[test]
fn files_that_cannot_be_read_and_keys_of_other_schemas_are_refused() {
    let folder = Folder::with(&[("bad.avsc", "")]);
    std::fs::write(folder.0.path().join("bad.avsc"), b"\xff").unwrap();
    let missing = folder.refused("schema = \"avro\"\navro_schema_path = \"r.avsc\"");
    assert!(
        missing.contains("config.unreadable 8:20 topics[0].avro_schema_path: HERE/r.avsc of"),
        "{missing}"
    );
    assert!(
        folder
            .refused("schema = \"avro\"\navro_schema_path = \"bad.avsc\"")
            .contains("not UTF-8, from byte 0")
    );
    assert!(folder.refused("schema = \"avro\"\navro_schema_path = \"\"").contains("config.empty"));
    let foreign = folder.refused("avro_schema_json = '\"int\"'\nproto_message = \"M\"");
    assert!(foreign.contains("`avro_schema_json` has no effect with schema = \"json\""), "{foreign}");
    assert!(foreign.contains("`proto_message` has no effect"), "{foreign}");
}

#[test]
fn a_block_without_its_schema_is_warned_about() {
    for schema in ["avro", "proto", "flatbuffer"] {
        let (definition, findings) = Folder::with(&[]).check(&format!("schema = \"{schema}\""));
        assert_eq!(definition.unwrap().topics[0].record_schema, None);
        assert_eq!((findings[0].code, findings[0].severity), ("config.no_schema", Severity::Warning));
    }
}

#[test]
fn every_key_of_a_registry_is_read() {
    let folder = Folder::with(&[("ca.pem", "PEM")]);
    let block = |registry: &str| {
        format!("schema = \"avro\"\navro_schema_json = '\"int\"'\nschema_registry = {registry}")
    };
    let registry =
        |text: &str| folder.check(&block(text)).0.unwrap().topics[0].schema_registry.clone().unwrap();

    let short = registry("{ url = \"http://r:8081/\" }");
    assert_eq!(
        (short.url.as_str(), short.subject.as_str(), short.register),
        ("http://r:8081", "t-value", false)
    );
    assert_eq!((short.login, short.ca_pem, short.timeout.as_secs()), (RegistryLogin::Nobody, None, 5));
    let long = registry(
        "{ url = \"https://r\", subject = \"s\", register = true, username = \"u\", password = \"p\", timeout = \"1s\", tls = { ca_file = \"ca.pem\" } }",
    );
    assert_eq!((long.subject.as_str(), long.register, long.timeout.as_secs()), ("s", true, 1));
    let password = Secret::new("p".to_owned());
    assert_eq!(long.login, RegistryLogin::Basic { username: "u".to_owned(), password });
    assert_eq!(long.ca_pem.as_deref(), Some(&b"PEM"[..]));
    let token = registry("{ url = \"https://r\", token = \"x\" }");
    assert_eq!(token.login, RegistryLogin::Token(Secret::new("x".to_owned())));
}

#[test]
fn a_json_block_with_a_registry_says_that_its_records_are_not_validated() {
    let folder = Folder::with(&[]);
    let codes = |block: &str| -> Vec<_> {
        let (definition, findings) = folder.check(block);
        assert!(definition.is_some());
        findings.iter().map(|finding| (finding.code, finding.severity)).collect()
    };
    let registry = "schema_registry = { url = \"http://r\" }";
    assert_eq!(codes(registry), [("config.json_not_validated", Severity::Info)]);
    let avro = "schema = \"avro\"\navro_schema_json = '\"int\"'";
    assert_eq!(codes(&format!("{avro}\n{registry}")), []);
}

#[test]
fn a_registry_that_cannot_be_asked_is_refused() {
    let folder = Folder::with(&[]);
    let avro = "schema = \"avro\"\navro_schema_json = '\"int\"'\n";
    for (block, part) in [
        (format!("{avro}schema_registry = {{ subject = \"s\" }}"), "`url` is missing"),
        (format!("{avro}schema_registry = {{ url = \"r:8081\" }}"), "config.bad_url"),
        (format!("{avro}schema_registry = {{ url = \"http://u:p@r\" }}"), "write username and password"),
        (format!("{avro}schema_registry = {{ url = \"http://r?x=1\" }}"), "config.bad_url"),
        (format!("{avro}schema_registry = {{ url = \"http://r\", username = \"u\" }}"), "needed together"),
        (
            format!("{avro}schema_registry = {{ url = \"http://r\", tls = {{ ca_file = \"no.pem\" }} }}"),
            "HERE/no.pem",
        ),
        ("schema = \"raw\"\nschema_registry = { url = \"http://r\" }".to_owned(), "knows no raw"),
        (
            "schema_registry = { url = \"http://r\", register = true }".to_owned(),
            "no schema that could be registered",
        ),
    ] {
        let refused = folder.refused(&block);
        assert!(refused.contains(part), "{block}: {refused}");
    }
    let engine = Engine::defaults(Path::new("/srv"));
    let dynamic = source("", &format!("{avro}schema_registry = {{ url = \"http://r\" }}"))
        .replace("\"t\"", "{ strategy = \"key\" }");
    let (definition, findings) = check_definition(Path::new("a.toml"), &dynamic, &engine, &Env::default());
    assert!(
        definition.is_none() && lines(&findings).contains("`subject` is missing"),
        "{}",
        lines(&findings)
    );
}

#[test]
fn convert_transforms_name_their_schema_and_the_way() {
    let folder = Folder::with(&[("m.proto", "syntax = \"proto3\";")]);
    let engine = Engine::defaults(Path::new("/srv"));
    let file = folder.0.path().join("a.toml");
    let check = |transform: &str| {
        let text = source(&format!("[[transforms]]\n{transform}"), "");
        check_definition(&file, &text, &engine, &Env::default())
    };
    let read = |transform: &str| match check(transform).0.unwrap().transforms.remove(0).action {
        Action::Convert(conversion) => (conversion.from, conversion.to),
        other => panic!("{other:?}"),
    };
    let avro = "type = \"avro_convert\"\nschema_json = '\"int\"'\n";
    assert_eq!(read(avro), (Schema::Avro, Schema::Json));
    let back = format!("{avro}source_format = \"json\"\ntarget_format = \"avro\"");
    assert_eq!(read(&back), (Schema::Json, Schema::Avro));
    assert_eq!(read("type = \"proto_convert\"\nschema_path = \"m.proto\""), (Schema::Proto, Schema::Json));
    for (more, part) in [
        ("source_format = \"json\"", "are both json"),
        ("target_format = \"avro\"", "are both avro"),
        ("when = \".a\"", "two schemas"),
        ("field_mappings = { a = \"b\" }", "rename_fields"),
        ("conversion_options = { strict_mode = true }", "config.not_yet"),
        ("schema_path = \"x.avsc\"", "both name the schema"),
    ] {
        let (definition, findings) = check(&format!("{avro}{more}"));
        assert!(definition.is_none() && lines(&findings).contains(part), "{more}: {}", lines(&findings));
    }
}
