//! Signatures that others published, and what is near them.

use std::time::Duration;

use hyper::HeaderMap;
use hyper::header::HeaderName;
use proptest::prelude::*;

use super::*;
use crate::secret::Secret;

const TOLERANCE: Duration = Duration::from_secs(300);

/// A request that somebody else signed.
struct Vector {
    family: Family,
    secret: &'static str,
    headers: &'static [(&'static str, &'static str)],
    body: &'static str,
    signed_at_s: Option<i64>,
}

/// From GitHub's "Validating webhook deliveries".
const GITHUB: Vector = Vector {
    family: Family::Github,
    secret: "It's a Secret to Everybody",
    headers: &[(
        "x-hub-signature-256",
        "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17",
    )],
    body: "Hello, World!",
    signed_at_s: None,
};

/// From the tests of async-stripe.
const STRIPE: Vector = Vector {
    family: Family::Stripe,
    secret: "webhook_secret",
    headers: &[(
        "stripe-signature",
        "t=1533204620,v1=f0bdba6d4eacbd8ad8a3bbadd7248e633ec1477f7899c124c51b39405fa36613",
    )],
    body: STRIPE_BODY,
    signed_at_s: Some(1_533_204_620),
};

const STRIPE_BODY: &str = r#"{
  "id": "evt_123",
  "object": "event",
  "account": "acct_123",
  "api_version": "2017-05-25",
  "created": 1533204620,
  "data": {
    "object": {
      "id": "ii_123",
      "object": "invoiceitem",
      "amount": 1000,
      "currency": "usd",
      "customer": "cus_123",
      "date": 1533204620,
      "description": "Test Invoice Item",
      "discountable": false,
      "invoice": "in_123",
      "livemode": false,
      "metadata": {},
      "period": {
        "start": 1533204620,
        "end": 1533204620
      },
      "plan": null,
      "proration": false,
      "quantity": null,
      "subscription": null
    }
  },
  "livemode": false,
  "pending_webhooks": 1,
  "request": {
    "id": "req_123",
    "idempotency_key": "idempotency-key-123"
  },
  "type": "invoiceitem.created"
}
"#;

/// From Slack's "Verifying requests from Slack".
const SLACK: Vector = Vector {
    family: Family::Slack,
    secret: "8f742231b10e8888abcd99yyyzzz85a5",
    headers: &[
        ("x-slack-signature", "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503"),
        ("x-slack-request-timestamp", "1531420618"),
    ],
    body: "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V\
           &channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=\
           &response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554\
           %2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c",
    signed_at_s: Some(1_531_420_618),
};

/// From SQLPage's test of Shopify's scheme.
const SHOPIFY: Vector = Vector {
    family: Family::Shopify,
    secret: "test-webhook-secret",
    headers: &[("x-shopify-hmac-sha256", "QNyObTlKbMx2qDlPF/ZOZcBqg5OgPg+2oky3zldc0Gw=")],
    body: r#"{"id":1234567890,"email":"customer@example.com","total_price":"123.45"}"#,
    signed_at_s: None,
};

/// From the tests of the Standard Webhooks libraries.
const STANDARD: Vector = Vector {
    family: Family::StandardWebhooks,
    secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    headers: &[
        ("webhook-id", "msg_p5jXN8AQM9LWM0D4loKWxJek"),
        ("webhook-timestamp", "1614265330"),
        ("webhook-signature", "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="),
    ],
    body: r#"{"test": 2432232314}"#,
    signed_at_s: Some(1_614_265_330),
};

/// RFC 4231, test case 2, in the header that is used when none is named.
const RFC_4231: Vector = Vector {
    family: Family::HmacSha256,
    secret: "Jefe",
    headers: &[(
        "x-hub-signature-256",
        "sha256=5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
    )],
    body: "what do ya want for nothing?",
    signed_at_s: None,
};

/// RFC 2202, test case 2 for SHA-1.
const RFC_2202: Vector = Vector {
    family: Family::HmacSha1,
    secret: "Jefe",
    headers: &[("x-hub-signature-256", "sha256=effcdf6ae5eb2fa2d27416d5f184df9c259a7c79")],
    body: "what do ya want for nothing?",
    signed_at_s: None,
};

const ALL: [&Vector; 7] = [&GITHUB, &STRIPE, &SLACK, &SHOPIFY, &STANDARD, &RFC_4231, &RFC_2202];

impl Vector {
    fn headers(&self) -> HeaderMap {
        headers(self.headers)
    }

    fn now_s(&self) -> i64 {
        self.signed_at_s.unwrap_or(0)
    }

    fn check(&self, headers: &HeaderMap, body: &[u8], now_s: i64) -> Result<Proof, Refused> {
        credentials(self.family, &[self.secret]).check(&Request { headers, body, now_s })
    }
}

fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
    let pair = |(name, value): &(&str, &str)| (HeaderName::try_from(*name).unwrap(), value.parse().unwrap());
    pairs.iter().map(pair).collect()
}

fn credentials(family: Family, secrets: &[&str]) -> Credentials {
    let secrets: Vec<Secret> = secrets.iter().map(|secret| Secret::new(*secret)).collect();
    Credentials::new(family, Keys::new(family, &secrets).unwrap(), TOLERANCE)
}

#[test]
fn published_signatures_of_every_family_are_good() {
    for vector in ALL {
        let proof = vector.check(&vector.headers(), vector.body.as_bytes(), vector.now_s());
        let proof = proof.unwrap_or_else(|refused| panic!("{}: {refused}", vector.family));
        assert_eq!(proof.signed_at_s, vector.signed_at_s, "{}", vector.family);
    }
}

#[test]
fn one_byte_of_the_body_more_less_or_other_is_wrong_b107() {
    for vector in ALL {
        let body = vector.body.as_bytes();
        let mut others = vec![[body, b" "].concat(), body[1..].to_vec(), Vec::new()];
        for at in 0..body.len() {
            let mut other = body.to_vec();
            other[at] ^= 1;
            others.push(other);
        }
        for other in others {
            let answer = vector.check(&vector.headers(), &other, vector.now_s());
            assert_eq!(answer, Err(Refused::Wrong), "{}", vector.family);
        }
    }
}

#[test]
fn an_empty_short_long_or_absent_signature_is_refused_b107() {
    for vector in ALL {
        for (name, value) in vector.headers {
            for other in
                ["".to_owned(), value[..value.len() - 2].to_owned(), format!("{value}00"), "x".to_owned()]
            {
                let mut headers = vector.headers();
                headers.insert(*name, other.parse().unwrap());
                let answer = vector.check(&headers, vector.body.as_bytes(), vector.now_s());
                assert!(answer.is_err(), "{} with {name}: {other}", vector.family);
            }
            let mut headers = vector.headers();
            headers.remove(*name);
            let answer = vector.check(&headers, vector.body.as_bytes(), vector.now_s());
            assert_eq!(answer, Err(Refused::Missing), "{} without {name}", vector.family);
        }
    }
}

#[test]
fn a_header_that_stands_twice_is_refused() {
    for vector in ALL {
        let mut headers = vector.headers();
        let (name, value) = vector.headers[0];
        headers.append(name, value.parse().unwrap());
        let answer = vector.check(&headers, vector.body.as_bytes(), vector.now_s());
        assert_eq!(answer, Err(Refused::Malformed), "{}", vector.family);
    }
}

#[test]
fn a_timestamp_five_minutes_off_is_good_and_a_second_more_is_not() {
    for vector in [&STRIPE, &SLACK, &STANDARD] {
        let at =
            |offset: i64| vector.check(&vector.headers(), vector.body.as_bytes(), vector.now_s() + offset);
        assert!(at(300).is_ok() && at(-300).is_ok(), "{}", vector.family);
        assert_eq!((at(301), at(-301)), (Err(Refused::Stale), Err(Refused::Stale)), "{}", vector.family);
    }
}

#[test]
fn a_timestamp_that_was_changed_or_is_no_number_is_refused() {
    let mut headers = SLACK.headers();
    headers.insert("x-slack-request-timestamp", "1531420619".parse().unwrap());
    assert_eq!(SLACK.check(&headers, SLACK.body.as_bytes(), SLACK.now_s()), Err(Refused::Wrong));
    for no_number in ["-1531420618", "+1531420618", "1531420618.0", "99999999999999999999"] {
        headers.insert("x-slack-request-timestamp", no_number.parse().unwrap());
        assert_eq!(SLACK.check(&headers, SLACK.body.as_bytes(), SLACK.now_s()), Err(Refused::Malformed));
    }
}

#[test]
fn during_a_rotation_both_secrets_are_good_and_no_third() {
    for vector in ALL {
        let check = |secrets: &[&str]| {
            let (headers, body) = (vector.headers(), vector.body.as_bytes());
            let request = Request { headers: &headers, body, now_s: vector.now_s() };
            credentials(vector.family, secrets).check(&request).map(drop)
        };
        let other = "whsec_c2VjcmV0LW9mLWEtcm90YXRlZC1lbmRwb2ludA==";
        assert_eq!(check(&[vector.secret, other]), Ok(()), "{}", vector.family);
        assert_eq!(check(&[other, vector.secret]), Ok(()), "{}", vector.family);
        assert_eq!(check(&[other]), Err(Refused::Wrong), "{}", vector.family);
    }
}

#[test]
fn of_several_signatures_one_must_be_right_wherever_it_stands() {
    let zeros = "0".repeat(64);
    let right = "f0bdba6d4eacbd8ad8a3bbadd7248e633ec1477f7899c124c51b39405fa36613";
    for value in [
        format!("t=1533204620,v1={zeros},v1={right}"),
        format!("v1={right},t=1533204620,v1={zeros}"),
        // As Stripe sends it in test mode.
        format!(
            "t=1533204620,v1={right},v0=63f3a72374a733066c4be69ed7f8e5ac85c22c9f0a6a612ab9a025a9e4ee7eef"
        ),
    ] {
        let headers = headers(&[("stripe-signature", &value)]);
        assert!(STRIPE.check(&headers, STRIPE.body.as_bytes(), STRIPE.now_s()).is_ok());
    }
    let only_v0 = headers(&[("stripe-signature", &format!("t=1533204620,v0={right}"))]);
    assert_eq!(STRIPE.check(&only_v0, STRIPE.body.as_bytes(), STRIPE.now_s()), Err(Refused::Malformed));
    let many = format!("t=1533204620{}", format!(",v1={right}").repeat(9));
    let many = headers(&[("stripe-signature", &many)]);
    assert_eq!(STRIPE.check(&many, STRIPE.body.as_bytes(), STRIPE.now_s()), Err(Refused::Malformed));
}

/// Else who repeats a request would only have to write its signatures in another order.
#[test]
fn a_repeat_has_the_same_fingerprint_however_its_signatures_are_written() {
    let right = "f0bdba6d4eacbd8ad8a3bbadd7248e633ec1477f7899c124c51b39405fa36613";
    let fingerprint = |value: String| {
        let headers = headers(&[("stripe-signature", &value)]);
        STRIPE.check(&headers, STRIPE.body.as_bytes(), STRIPE.now_s()).unwrap().fingerprint.unwrap()
    };
    let plain = fingerprint(format!("t=1533204620,v1={right}"));
    assert_eq!(plain, fingerprint(format!("t=1533204620,v1={},v1={right}", "0".repeat(64))));
    assert_eq!(plain, fingerprint(format!("t=1533204620,v1={}", right.to_uppercase())));
    assert_eq!(plain.len(), 44);
}

/// Else a request that was captured before a rotation could be sent again after it.
#[test]
fn a_repeat_has_the_same_fingerprint_after_a_rotation() {
    for vector in [&STRIPE, &SLACK, &STANDARD] {
        let fingerprint = |secrets: &[&str]| {
            let (headers, body) = (vector.headers(), vector.body.as_bytes());
            let request = Request { headers: &headers, body, now_s: vector.now_s() };
            credentials(vector.family, secrets).check(&request).unwrap().fingerprint.unwrap()
        };
        let fresh = "whsec_c2VjcmV0LW9mLWEtcm90YXRlZC1lbmRwb2ludA==";
        assert_eq!(fingerprint(&[vector.secret]), fingerprint(&[fresh, vector.secret]), "{}", vector.family);
    }
}

#[test]
fn ids_come_from_where_the_family_keeps_them() {
    let standard = STANDARD.check(&STANDARD.headers(), STANDARD.body.as_bytes(), STANDARD.now_s()).unwrap();
    assert_eq!(standard.delivery_id.as_deref(), Some("msg_p5jXN8AQM9LWM0D4loKWxJek"));
    let mut headers = GITHUB.headers();
    headers.insert("x-github-delivery", "72d3162e-cc78-11e3-81ab-4c9367dc0958".parse().unwrap());
    let github = GITHUB.check(&headers, GITHUB.body.as_bytes(), 0).unwrap();
    assert_eq!(github.delivery_id.as_deref(), Some("72d3162e-cc78-11e3-81ab-4c9367dc0958"));
    assert_eq!(github.fingerprint, None, "the time is not signed, so the same body may rightly come twice");
}

#[test]
fn the_older_names_of_standard_webhooks_are_good_too() {
    let renamed: Vec<(String, &str)> =
        STANDARD.headers.iter().map(|(name, value)| (name.replace("webhook", "svix"), *value)).collect();
    let renamed: Vec<(&str, &str)> = renamed.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    assert!(STANDARD.check(&headers(&renamed), STANDARD.body.as_bytes(), STANDARD.now_s()).is_ok());
}

#[test]
fn a_bearer_token_is_good_in_its_scheme_alone() {
    let credentials = credentials(Family::Bearer, &["new", "old"]);
    let check = |value: &str| credentials.check_head(&headers(&[("authorization", value)]));
    assert_eq!((check("Bearer new"), check("bearer old")), (Ok(()), Ok(())));
    assert_eq!(
        (check("Bearer ne"), check("Bearer "), check("Bearer newold")),
        (Err(Refused::Wrong), Err(Refused::Wrong), Err(Refused::Wrong))
    );
    assert_eq!((check("Basic new"), check("new")), (Err(Refused::Malformed), Err(Refused::Malformed)));
    assert_eq!(credentials.check_head(&HeaderMap::new()), Err(Refused::Missing));
}

#[test]
fn an_empty_or_endless_secret_is_refused() {
    for family in [Family::Bearer, Family::Github, Family::HmacSha1] {
        assert!(Keys::new(family, &[Secret::new("")]).is_err());
        assert!(Keys::new(family, &[Secret::new("x".repeat(5000))]).is_err());
    }
    for no_key in ["whsec_not base64", "whsec_"] {
        assert!(Keys::new(Family::StandardWebhooks, &[Secret::new(no_key)]).is_err(), "{no_key}");
    }
}

proptest! {
    /// Headers are whatever anybody sends: they are judged, and never good by accident.
    #[test]
    fn rubbish_is_refused_without_a_panic(value in "[ -~]{0,120}", which in 0..7_usize, body in "\\PC{0,40}") {
        let vector = ALL[which];
        let mut headers = vector.headers();
        headers.insert(vector.headers[vector.headers.len() - 1].0, value.parse().unwrap());
        prop_assert!(vector.check(&headers, body.as_bytes(), vector.now_s()).is_err());
        let _ = credentials(vector.family, &[vector.secret]).check_head(&headers);
    }
}
