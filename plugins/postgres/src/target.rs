//! `connection_string`: where the server is and how to speak to it. A URL or `key=value` pairs, as libpq reads them.
//!
//! Pure. No message of this module shows the string it read, since it holds the password.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

const PORT_DEFAULT: u16 = 5432;
const CONNECT_TIMEOUT_DEFAULT: Duration = Duration::from_secs(10);

/// Where and as whom to connect.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Target {
    /// Tried in order.
    pub(crate) hosts: Vec<Host>,
    pub(crate) user: String,
    pub(crate) password: Option<String>,
    pub(crate) database: String,
    pub(crate) tls: TlsWish,
    pub(crate) is_binding_required: bool,
    pub(crate) is_writable_required: bool,
    pub(crate) application_name: Option<String>,
    pub(crate) options: Option<String>,
    /// For each host.
    pub(crate) connect_timeout: Duration,
}

/// One server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Host {
    /// A name, an address, or the folder of a Unix socket, which begins with `/`.
    pub(crate) name: String,
    pub(crate) port: u16,
}

impl fmt::Display for Host {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}", self.name, self.port)
    }
}

/// What the string says about TLS.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TlsWish {
    pub(crate) mode: TlsMode,
    /// Authorities for `verify-ca` and `verify-full`; without it, those of the system.
    pub(crate) authorities: Option<PathBuf>,
    pub(crate) certificate: Option<PathBuf>,
    pub(crate) key: Option<PathBuf>,
}

/// `sslmode`, with libpq's meanings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum TlsMode {
    Disable,
    /// TLS if the server has it; nothing is verified.
    #[default]
    Prefer,
    /// TLS or nothing; nothing is verified, unless `sslrootcert` is given.
    Require,
    VerifyCa,
    VerifyFull,
}

/// Shows no secret.
impl fmt::Debug for Target {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hosts: Vec<String> = self.hosts.iter().map(Host::to_string).collect();
        write!(out, "{}@{}/{}, {:?}", self.user, hosts.join(","), self.database, self.tls.mode)
    }
}

/// Reads `text`.
///
/// # Errors
/// What is wrong, without the string itself.
pub(crate) fn parse(text: &str) -> Result<Target, String> {
    let mut draft = Draft::default();
    let url = ["postgres://", "postgresql://"].iter().find_map(|scheme| text.strip_prefix(scheme));
    match url {
        Some(rest) => draft.read_url(rest)?,
        None if text.contains("://") => {
            return Err(
                "it is a URL of another scheme; right is postgres://user:password@host:5432/database".into(),
            );
        }
        None => draft.read_pairs(text)?,
    }
    draft.checked()
}

#[derive(Default)]
struct Draft {
    hosts: Vec<String>,
    ports: Vec<String>,
    user: Option<String>,
    password: Option<String>,
    database: Option<String>,
    tls: TlsWish,
    is_binding_required: bool,
    is_writable_required: bool,
    application_name: Option<String>,
    options: Option<String>,
    connect_timeout: Option<Duration>,
}

impl Draft {
    fn read_url(&mut self, rest: &str) -> Result<(), String> {
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        // The last `@` ends the user: passwords with a bare `@` are common, hosts never hold one.
        let (user, place) = rest.rsplit_once('@').map_or((None, rest), |(user, place)| (Some(user), place));
        if let Some(user) = user {
            let (name, password) =
                user.split_once(':').map_or((user, None), |(name, word)| (name, Some(word)));
            self.user = Some(decoded(name)?).filter(|name| !name.is_empty());
            self.password = password.map(decoded).transpose()?;
        }
        let (hosts, database) = place.split_once('/').unwrap_or((place, ""));
        if !database.is_empty() {
            self.database = Some(decoded(database)?);
        }
        for host in hosts.split(',').filter(|host| !host.is_empty()) {
            let (name, port) = host_and_port(host)?;
            self.hosts.push(decoded(name)?);
            self.ports.push(port.to_owned());
        }
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').ok_or("a parameter behind `?` has no `=`")?;
            self.set(&decoded(key)?, decoded(value)?)?;
        }
        Ok(())
    }

    /// `host=localhost password='it''s'`: blanks around `=` are allowed, `\` keeps the next character.
    fn read_pairs(&mut self, text: &str) -> Result<(), String> {
        let mut rest = text.chars().peekable();
        loop {
            while rest.next_if(|next| next.is_whitespace()).is_some() {}
            if rest.peek().is_none() {
                return Ok(());
            }
            let mut key = String::new();
            while let Some(next) = rest.next_if(|next| *next != '=' && !next.is_whitespace()) {
                key.push(next);
            }
            while rest.next_if(|next| next.is_whitespace()).is_some() {}
            if rest.next() != Some('=') {
                return Err("it is neither a URL (postgres://…) nor a list of key=value pairs".into());
            }
            while rest.next_if(|next| next.is_whitespace()).is_some() {}
            let is_quoted = rest.next_if_eq(&'\'').is_some();
            let mut value = String::new();
            loop {
                match rest.next() {
                    Some('\\') => value.extend(rest.next()),
                    Some('\'') if is_quoted => break,
                    Some(next) if is_quoted || !next.is_whitespace() => value.push(next),
                    None if is_quoted => return Err("a single quote is not closed".into()),
                    None | Some(_) => break,
                }
            }
            self.set(&key, value)?;
        }
    }

    fn set(&mut self, key: &str, value: String) -> Result<(), String> {
        match key {
            "host" | "hostaddr" => self.hosts = value.split(',').map(str::to_owned).collect(),
            "port" => self.ports = value.split(',').map(str::to_owned).collect(),
            "user" => self.user = Some(value),
            "password" => self.password = Some(value),
            "dbname" => self.database = Some(value),
            "application_name" => self.application_name = Some(value),
            "options" => self.options = Some(value),
            "sslmode" => self.tls.mode = tls_mode(&value)?,
            "sslrootcert" => self.tls.authorities = (value != "system").then(|| value.into()),
            "sslcert" => self.tls.certificate = Some(value.into()),
            "sslkey" => self.tls.key = Some(value.into()),
            "channel_binding" => match value.as_str() {
                "require" => self.is_binding_required = true,
                "prefer" => self.is_binding_required = false,
                _ => return Err("channel_binding is `prefer` or `require`".into()),
            },
            "target_session_attrs" => match value.as_str() {
                "any" => self.is_writable_required = false,
                "read-write" | "primary" => self.is_writable_required = true,
                _ => return Err("target_session_attrs is `any`, `read-write` or `primary`".into()),
            },
            "connect_timeout" => {
                let seconds: u64 = value.parse().map_err(|_| "connect_timeout is a number of seconds")?;
                self.connect_timeout = (seconds > 0).then(|| Duration::from_secs(seconds.max(2)));
            }
            // Theirs to set, and of no meaning here: our sockets have keepalives, and we speak no GSSAPI.
            "keepalives"
            | "keepalives_idle"
            | "keepalives_interval"
            | "keepalives_count"
            | "tcp_user_timeout"
            | "gssencmode"
            | "sslsni"
            | "client_encoding"
            | "fallback_application_name" => {}
            // Not named: in a URL with a misspelt scheme the password is part of what stands before the first `=`.
            _ => {
                return Err("it has a parameter that is not known: right are postgres://… or host, port, user, password, dbname, \
                            sslmode, sslrootcert, sslcert, sslkey, channel_binding, target_session_attrs, connect_timeout, \
                            application_name and options"
                    .into());
            }
        }
        Ok(())
    }

    fn checked(self) -> Result<Target, String> {
        let user = self.user.ok_or("it names no user")?;
        if self.hosts.is_empty() {
            return Err("it names no host".into());
        }
        if !(self.ports.len() <= 1 || self.ports.len() == self.hosts.len()) {
            return Err("it has another number of ports than of hosts".into());
        }
        let mut hosts = Vec::with_capacity(self.hosts.len());
        for (index, name) in self.hosts.into_iter().enumerate() {
            let port = self.ports.get(index).or(self.ports.first()).map_or("", String::as_str);
            let port = if port.is_empty() {
                PORT_DEFAULT
            } else {
                port.parse().map_err(|_| "a port is no number from 1 to 65535")?
            };
            hosts.push(Host { name, port });
        }
        if self.tls.certificate.is_some() != self.tls.key.is_some() {
            return Err("sslcert and sslkey go together".into());
        }
        if [&user, self.database.as_ref().unwrap_or(&user)].iter().any(|text| text.contains('\0')) {
            return Err("it holds a zero byte".into());
        }
        Ok(Target {
            hosts,
            database: self.database.unwrap_or_else(|| user.clone()),
            user,
            password: self.password,
            tls: self.tls,
            is_binding_required: self.is_binding_required,
            is_writable_required: self.is_writable_required,
            application_name: self.application_name,
            options: self.options,
            connect_timeout: self.connect_timeout.unwrap_or(CONNECT_TIMEOUT_DEFAULT),
        })
    }
}

fn tls_mode(text: &str) -> Result<TlsMode, String> {
    Ok(match text {
        "disable" => TlsMode::Disable,
        "allow" | "prefer" => TlsMode::Prefer,
        "require" => TlsMode::Require,
        "verify-ca" => TlsMode::VerifyCa,
        "verify-full" => TlsMode::VerifyFull,
        _ => return Err("sslmode is disable, prefer, require, verify-ca or verify-full".into()),
    })
}

/// Cuts off the port; an IPv6 address stands in brackets.
fn host_and_port(text: &str) -> Result<(&str, &str), String> {
    if let Some(rest) = text.strip_prefix('[') {
        let (name, port) = rest.split_once(']').ok_or("a `[` of an IPv6 address is not closed")?;
        return match port.strip_prefix(':') {
            Some(port) => Ok((name, port)),
            None if port.is_empty() => Ok((name, "")),
            None => Err("behind `]` only a port may stand".into()),
        };
    }
    Ok(text.split_once(':').unwrap_or((text, "")))
}

/// Undoes `%41`.
fn decoded(text: &str) -> Result<String, String> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        rest = tail;
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        let digits = rest.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let number = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        out.push(number.ok_or("a `%` is not followed by two hexadecimal digits; a bare % is written %25")?);
        rest = &rest[2..];
    }
    String::from_utf8(out).map_err(|_| "what its %-signs stand for is no UTF-8".into())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_url_says_everything() {
        let target =
            parse("postgres://me:p%40ss@db-1:5433,[::1]/shop?sslmode=verify-full&sslrootcert=/ca.pem&application_name=x")
                .unwrap();
        let hosts: Vec<String> = target.hosts.iter().map(Host::to_string).collect();
        assert_eq!(hosts, ["db-1:5433", "::1:5432"]);
        assert_eq!((target.user.as_str(), target.password.as_deref()), ("me", Some("p@ss")));
        assert_eq!((target.database.as_str(), target.tls.mode), ("shop", TlsMode::VerifyFull));
        assert_eq!(target.tls.authorities, Some("/ca.pem".into()));
    }

    #[test]
    fn pairs_say_the_same() {
        let target =
            parse("host=/run/postgresql user = me password='it\\'s = \\\\ x' dbname=shop port=5433").unwrap();
        assert_eq!(target.hosts, [Host { name: "/run/postgresql".into(), port: 5433 }]);
        assert_eq!(target.password.as_deref(), Some("it's = \\ x"));
    }

    #[test]
    fn a_password_with_an_at_sign_and_a_slash_is_read_b130() {
        let target = parse("postgres://me:p@s%2Fs@host/db").unwrap();
        assert_eq!(target.password.as_deref(), Some("p@s/s"));
        assert_eq!(parse("postgres://me@host/db?password=a%26b").unwrap().password.as_deref(), Some("a&b"));
    }

    #[test]
    fn nothing_shows_the_password_b130() {
        let target = parse("postgres://me:s3cret@host/db").unwrap();
        assert!(!format!("{target:?}").contains("s3cret"));
        for wrong in [
            "postgres://me:s3cret@host:port/db",
            "postgres://me:s3cret@host/db?x",
            "postgres://me:s3cret%zz@host/db",
            "mysql://me:s3cret@host/db",
            "mysql://me:s3cret@host/db?sslmode=require",
            "postgres:/me:s3cret@host/db?sslmode=require",
            "postgres://:s3cret@host/db",
            "user=me password='s3cret",
            "s3cret",
        ] {
            let text = parse(wrong).unwrap_err();
            assert!(!text.contains("s3cret"), "{text}");
        }
    }

    #[test]
    fn a_wrong_mode_is_refused_rather_than_weakened_b059() {
        assert!(parse("postgres://me@host/db?sslmode=verify_full").is_err());
        assert!(parse("postgres://me@host/db?ssl=true").is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "\\PC{0,40}") {
            let _ = parse(&text);
            let _ = parse(&format!("postgres://{text}"));
        }
    }
}
