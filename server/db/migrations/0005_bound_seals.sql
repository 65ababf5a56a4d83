-- breaking

-- Sealed texts are bound to their rows (docs/decisions/0018-what-is-believed-and-whose-a-secret-is.md). No table changes: the
-- first start of the new version seals what is there anew. The version before opens no such text: its sign-ins through providers
-- with a client secret and its deliveries would fail, and what it seals meanwhile would not be opened by the new one.

comment on column identity_providers.client_secret_sealed is 'sealed to the row, its issuer and client id';
comment on column signing_keys.private_jwk_sealed is 'sealed to the row';
comment on column subscriptions.secret_sealed is 'sealed to the row';
comment on column subscriptions.previous_secret_sealed is 'sealed to the row';
comment on column sign_ins.sealed is 'sealed to the row and its provider';
