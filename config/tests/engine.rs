//! config.toml.

use std::path::Path;
use std::time::Duration;

use pico_config::{
    Engine, Env, LogFormat, SaslMechanism, SecurityProtocol, Severity, StateConfig, Supervision, load_engine,
};

use crate::given::{Folder, engine, engine_with, lines, no_env, refused_engine};

fn codes(text: &str) -> Vec<&'static str> {
    engine(text).expect_err("accepted").iter().map(|finding| finding.code).collect()
}

#[test]
fn an_empty_file_means_all_defaults() {
    let folder = Folder::new(&[("config.toml", "")]);
    let (engine, findings) = load_engine(Some(&folder.path("config.toml")), &no_env()).unwrap();
    let defaults =
        Engine { file: Some(folder.path("config.toml")), ..Engine::defaults(folder.directory.path()) };
    assert_eq!((engine, findings), (defaults, vec![]));
}

#[test]
fn every_section_is_read_and_paths_are_taken_from_the_files_folder() {
    let text = r#"
        [kafka]
        bootstrap_servers = "localhost:1, localhost:2"
        client_id = "me"
        security_protocol = "SASL_SSL"
        sasl = { mechanism = "SCRAM-SHA-512", username = "u", password = "p" }
        tls = { ca_file = "ca.pem", cert_file = "/c.pem", key_file = "k.pem" }
        [state]
        path = "s"
        [connectors]
        config_dir = "defs"
        watch = false
        writable = false
        [plugins]
        directories = ["p", "/abs"]
        [http]
        address = "[::1]:9"
        metrics = { enabled = false, endpoint = "/m" }
        [logging]
        format = "json"
        [supervision]
        nack_limit = 5
        [shutdown]
        grace = "1s"
        [limits]
        record_bytes = "1 KiB"
        batch_records = 2
        batch_bytes = 2048
        in_flight_bytes = 4096
        in_flight_bytes_total = 8192
        private_urls = true
    "#;
    let folder = Folder::new(&[("config.toml", text)]);
    let (engine, findings) = load_engine(Some(&folder.path("config.toml")), &no_env()).unwrap();

    assert_eq!(findings, []);
    assert_eq!(engine.kafka.bootstrap_servers, "localhost:1,localhost:2");
    assert_eq!(
        (engine.kafka.client_id.as_str(), engine.kafka.security_protocol),
        ("me", SecurityProtocol::SaslSsl)
    );
    assert_eq!(engine.kafka.sasl.mechanism, SaslMechanism::ScramSha512);
    assert_eq!((engine.kafka.sasl.username.as_str(), engine.kafka.sasl.password.expose()), ("u", "p"));
    assert_eq!(engine.kafka.tls.ca_file, Some(folder.path("ca.pem")));
    assert_eq!(engine.kafka.tls.cert_file.as_deref(), Some(Path::new("/c.pem")));
    assert_eq!(engine.state, StateConfig::File { path: folder.path("s") });
    assert_eq!(engine.connectors.config_dir, folder.path("defs"));
    assert!(!engine.connectors.watch && !engine.connectors.writable);
    assert_eq!(engine.plugins.directories, [folder.path("p"), "/abs".into()]);
    assert_eq!((engine.http.address.as_str(), engine.http.metrics_endpoint.as_str()), ("[::1]:9", "/m"));
    assert!(engine.http.enabled && !engine.http.metrics_enabled);
    assert_eq!(engine.logging.format, LogFormat::Json);
    assert_eq!(engine.supervision, Supervision { nack_limit: 5, ..Supervision::default() });
    assert_eq!(engine.shutdown.grace, Duration::from_secs(1));
    assert_eq!((engine.limits.record_bytes, engine.limits.batch_records), (1024, 2));
    assert_eq!((engine.limits.batch_bytes, engine.limits.in_flight_bytes_total), (2048, 8192));
    assert!(engine.limits.private_urls);
}

#[test]
fn a_file_that_is_named_and_missing_is_refused() {
    let missing = Path::new("/no/such/config.toml");
    let findings = load_engine(Some(missing), &no_env()).unwrap_err();
    assert_eq!(findings[0].code, "config.unreadable");
    let env = Env::from_pairs([("PICOMQ_CONNECTORS_CONFIG_PATH", "/no/such/config.toml")]);
    assert_eq!(load_engine(None, &env).unwrap_err()[0].code, "config.unreadable");
}

#[test]
fn without_any_file_the_working_directory_is_the_folder() {
    let (engine, findings) = load_engine(None, &no_env()).unwrap();
    let folder = std::env::current_dir().unwrap();
    assert_eq!((engine, findings), (Engine::defaults(&folder), vec![]));
}

#[test]
fn the_variable_names_the_file_and_the_flag_goes_before_it() {
    let folder =
        Folder::new(&[("a.toml", "[kafka]\nclient_id = \"a\""), ("b.toml", "[kafka]\nclient_id = \"b\"")]);
    let env = Env::from_pairs([("PICOMQ_CONNECTORS_CONFIG_PATH", folder.path("a.toml").to_str().unwrap())]);
    assert_eq!(load_engine(None, &env).unwrap().0.kafka.client_id, "a");
    assert_eq!(load_engine(Some(&folder.path("b.toml")), &env).unwrap().0.kafka.client_id, "b");
}

#[test]
fn what_is_not_built_is_refused_with_what_to_do_instead() {
    let text = "[connectors]\nconfig_type = \"http\"\nbase_url = \"http://localhost:1\"\n";
    insta::assert_snapshot!(refused_engine(text), @r#"
    config.not_yet 2:15 connectors.config_type: config_type = "http" is not built yet (keep the definitions as files in connectors.config_dir)
    config.unknown_field 3:1 connectors.base_url: unknown field `base_url` (keep the definitions as files in connectors.config_dir)
    "#);
}

#[test]
fn the_endpoints_of_telemetry_get_their_signals_path_unless_they_have_one() {
    let sent = |more: &str| {
        let text = format!("[telemetry]\nenabled = true\n{more}");
        let telemetry = engine(&text).unwrap().0.telemetry;
        assert!(telemetry.enabled);
        (telemetry.logs, telemetry.traces)
    };
    let owned = |logs: &str, traces: &str| (logs.to_owned(), traces.to_owned());
    assert_eq!(sent(""), owned("http://localhost:4318/v1/logs", "http://localhost:4318/v1/traces"));
    assert_eq!(
        sent(
            "logs.endpoint = \"https://otel.example:4318/\"\ntraces.endpoint = \"http://otel.example/team/traces\""
        ),
        owned("https://otel.example:4318/v1/logs", "http://otel.example/team/traces")
    );
    assert!(!engine("[telemetry]\nservice_name = \"x\"\n").unwrap().0.telemetry.enabled);
    for bad in ["otel:4317", "http://", "http://me:secret@otel.example"] {
        let text = format!("[telemetry]\nenabled = true\ntraces.endpoint = \"{bad}\"");
        assert_eq!(codes(&text), ["config.bad_url"], "{bad}");
    }
}

#[test]
fn settings_of_what_is_switched_off_are_accepted_but_checked() {
    let text = "[telemetry]\nenabled = false\nlogs = { transport = \"http\" }\n[state.http]\nurl = \"http://localhost:1\"\n";
    assert!(engine(text).is_ok());
    assert_eq!(codes("[telemetry]\nlogs = { transport = \"carrier pigeon\" }"), ["config.unknown_value"]);
}

#[test]
fn half_a_login_or_certificate_is_refused() {
    assert_eq!(codes("[kafka]\nsecurity_protocol = \"sasl_ssl\""), ["config.missing_field"]);
    assert_eq!(
        codes("[kafka]\nsecurity_protocol = \"ssl\"\ntls = { cert_file = \"x\" }"),
        ["config.missing_field"]
    );
    assert_eq!(codes("[kafka]\nbootstrap_servers = \"\""), ["config.bad_address"]);
    assert_eq!(codes("[kafka]\nbootstrap_servers = \"http://localhost:1\""), ["config.bad_address"]);
}

#[test]
fn weak_and_useless_security_settings_are_said() {
    let text = "[kafka]\nbootstrap_servers = \"broker:9092\"\nsasl = { username = \"u\" }\ntls = { ca_file = \"x\" }";
    let (_, findings) = engine(text).unwrap();
    let said: Vec<_> = findings.iter().map(|finding| (finding.severity, finding.code)).collect();
    let useless = (Severity::Warning, "config.no_effect");
    assert_eq!(said, [(Severity::Info, "config.plain_text"), useless, useless]);
    let (_, findings) =
        engine("[kafka]\nsecurity_protocol = \"ssl\"\ntls = { verify_hostname = false }").unwrap();
    assert_eq!(lines(&findings).split(' ').next(), Some("config.weak_tls"));
}

#[test]
fn limits_must_fit_into_each_other() {
    insta::assert_snapshot!(refused_engine("[limits]\nbatch_bytes = \"128 MiB\""), @"config.out_of_range 2:15 limits.batch_bytes: `batch_bytes` is 134217728, more than `in_flight_bytes`, 67108864");
}

#[test]
fn variables_set_keys_of_sections_with_the_keys_own_type_b138() {
    let env = Env::from_pairs([
        ("PICOMQ_CONNECTORS_KAFKA__BOOTSTRAP_SERVERS", "127.0.0.1:1"),
        ("PICOMQ_CONNECTORS_KAFKA__SASL__PASSWORD", "007"),
        ("PICOMQ_CONNECTORS_KAFKA__PROPERTIES__SOCKET_KEEPALIVE_ENABLE", "true"),
        ("PICOMQ_CONNECTORS_CONNECTORS__WATCH", "false"),
        ("PICOMQ_CONNECTORS_LIMITS__BATCH_RECORDS", "5"),
        ("PICOMQ_CONNECTORS_SHUTDOWN__GRACE", "2s"),
        ("PICOMQ_CONNECTORS_PLUGINS__DIRECTORIES", "[\"/a\", \"/b\"]"),
        ("PICOMQ_CONNECTORS_PLUGINS__DIRECTORIES__2", "/c"),
    ]);
    let (engine, findings) = engine_with("[kafka]\nclient_id = \"kept\"", &env).unwrap();
    assert_eq!(findings, []);
    assert_eq!(
        (engine.kafka.client_id.as_str(), engine.kafka.bootstrap_servers.as_str()),
        ("kept", "127.0.0.1:1")
    );
    assert_eq!(engine.kafka.sasl.password.expose(), "007");
    assert_eq!(engine.kafka.properties.get("socket.keepalive.enable"), Some("true"));
    assert!(!engine.connectors.watch);
    assert_eq!((engine.limits.batch_records, engine.shutdown.grace), (5, Duration::from_secs(2)));
    assert_eq!(engine.plugins.directories, ["/a", "/b", "/c"].map(std::path::PathBuf::from));
}

#[test]
fn variables_of_wrong_type_or_name_are_named_b138() {
    let env = Env::from_pairs([("PICOMQ_CONNECTORS_CONNECTORS__WATCH", "perhaps")]);
    insta::assert_snapshot!(lines(&engine_with("", &env).unwrap_err()), @"config.wrong_type environment variable PICOMQ_CONNECTORS_CONNECTORS__WATCH connectors.watch: `watch` must be true or false, not `perhaps`");
    let env = Env::from_pairs([
        ("PICOMQ_CONNECTORS_KAFKA__BOOTSTRAP_SERVER", "x"),
        ("PICOMQ_CONNECTORS_KAFKA_CLIENT_ID", "x"),
        ("PICOMQ_CONNECTORS_LIMITS__RECORD_BYTES__X", "x"),
    ]);
    insta::assert_snapshot!(lines(&engine_with("", &env).unwrap().1), @r#"
    config.unknown_variable environment variable PICOMQ_CONNECTORS_KAFKA__BOOTSTRAP_SERVER: the variable is not used: there is no field `bootstrap_server` (did you mean `BOOTSTRAP_SERVERS`?)
    config.unknown_variable environment variable PICOMQ_CONNECTORS_KAFKA_CLIENT_ID: the variable is not used: there is no field `kafka_client_id` (did you mean `KAFKA__CLIENT_ID`?)
    config.unknown_variable environment variable PICOMQ_CONNECTORS_LIMITS__RECORD_BYTES__X: the variable is not used: the field before `x` has no parts (variables are PICOMQ_CONNECTORS_<SECTION>__<KEY>)
    "#);
}

#[test]
fn variables_that_others_set_or_read_are_let_be() {
    let env = Env::from_pairs([
        ("PICOMQ_CONNECTORS_SERVICE_HOST", "10.0.0.1"),
        ("PICOMQ_CONNECTORS_PORT_8081_TCP_ADDR", "10.0.0.1"),
        ("PICOMQ_CONNECTORS_URL", "http://localhost:1"),
        ("PICOMQ_CONNECTORS_SOURCE_A_NAME", "x"),
        ("OTHER", "x"),
    ]);
    assert_eq!(engine_with("", &env).unwrap().1, []);
}

#[test]
fn a_definition_given_as_config_is_recognised() {
    insta::assert_snapshot!(refused_engine("type = \"source\"\n"), @"config.unknown_field 1:1 type: unknown field `type` (this is the runtime's config.toml; a source definition is a file of its own in connectors.config_dir)");
}
