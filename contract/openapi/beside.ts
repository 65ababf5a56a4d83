// Paths outside the contract, defined by other protocols: OAuth and discovery, sign-in pages, static feed files, health, and
// these documents. A test compares them with the server in both directions.

import type { Json, JsonObject } from "#base/json.ts";
import { errorsOfPath } from "./answers.ts";

export interface PathBeside {
  readonly verb: "get" | "post";
  readonly path: string;
  readonly document: string;
  readonly operation: JsonObject;
}

const string = (description: string): JsonObject => ({ type: "string", description });
const strings = (description: string): JsonObject => ({ type: "array", items: { type: "string" }, description });

const query = (name: string, description: string, schema: JsonObject = { type: "string" }, required = false): JsonObject => ({
  name,
  in: "query",
  ...(required ? { required: true } : {}),
  description,
  schema,
});

const several = (name: string, description: string): JsonObject => ({
  ...query(name, `${description} Repeatable.`, { type: "array", items: { type: "string" } }),
  style: "form",
  explode: true,
});

const form = (properties: JsonObject, required: readonly string[]): JsonObject => ({
  required: true,
  content: { "application/x-www-form-urlencoded": { schema: { type: "object", properties, ...(required.length > 0 ? { required: [...required] } : {}) } } },
});

const json = (description: string, schema: JsonObject, more: JsonObject = {}): JsonObject => ({
  description,
  headers: { "X-Request-Id": { $ref: "#/components/headers/RequestId" } },
  content: { "application/json": { schema } },
  ...more,
});

const page = (description: string): JsonObject => ({ description, content: { "text/html": {} } });
const redirect = (description: string): JsonObject => ({
  description,
  headers: { Location: { description: "Where it goes on.", schema: { type: "string" } } },
});

const object = (properties: JsonObject, required: readonly string[]): JsonObject => ({ type: "object", properties, required: [...required] });

/** RFC 6749 §5.2. */
const oauthErrorSchema = object(
  {
    error: string("The kind of refusal: `invalid_request`, `invalid_grant`, `authorization_pending`, …"),
    error_description: string("The same as readable text."),
  },
  ["error"],
);

const oauthErrors: JsonObject = Object.fromEntries(
  (
    [
      ["400", "The request was refused (RFC 6749, 5.2; RFC 8628, 3.5)."],
      ["401", "The client was refused."],
      ["413", "The form is larger than the maximum."],
      ["415", "The body is not a form."],
      ["429", "Too many requests from this address."],
      ["500", "An error of the server."],
      ["503", "The server is unavailable. Try again later."],
      ["504", "An issuer, or the server itself, took too long."],
    ] as const
  ).map(([status, description]): [string, Json] => [status, json(description, oauthErrorSchema)]),
);

const read = errorsOfPath(["badRequest", "missing", "longUrl", "exhausted", "headers", "internal", "unavailable", "deadline"]);
const readForm = { ...read, ...errorsOfPath(["slow", "tooLarge", "mediaType"]) };

const at = (verb: PathBeside["verb"], path: string, document: string, tag: string, name: string, summary: string, rest: JsonObject): PathBeside => ({
  verb,
  path,
  document,
  operation: { operationId: `${tag}_${name}`, tags: [tag], summary, security: [], ...rest },
});

/** The form of a page that is submitted once (server/iam/signin/stored-question.ts). */
const answeredOnce = (path: string, name: string, summary: string, { "200": done, ...refused }: JsonObject): PathBeside =>
  at("post", path, "auth", "OAuth", name, summary, {
    requestBody: form({}, []),
    responses: { "200": done ?? null, ...readForm, ...refused, "403": page("The form belongs to another browser, was already submitted, or has expired.") },
  });

/** Descriptions of the tags of these paths. */
export const tagsBeside: Readonly<Record<string, string>> = {
  OAuth: "OAuth token endpoints and sign-in pages.",
  Discovery: "Metadata and keys for verifying tokens of this server.",
  Health: "Whether the server is alive, and whether it can work.",
  Feed: "Files of the open feed that are the same for everybody.",
  OpenApi: "This description.",
};

const grantTypes = ["urn:ietf:params:oauth:grant-type:token-exchange", "urn:ietf:params:oauth:grant-type:device_code", "refresh_token", "authorization_code"];
const tokenTypes = ["access_token", "id_token", "jwt"].map((name) => `urn:ietf:params:oauth:token-type:${name}`);

const tokenAnswer = object(
  {
    access_token: string("The access token: for the header `Authorization: Bearer …`."),
    token_type: { const: "Bearer" },
    expires_in: { type: "integer", minimum: 0, description: "Seconds until it ends." },
    refresh_token: string("For the next pair of tokens; it works once. Not of a token exchange."),
    issued_token_type: { enum: tokenTypes, description: "Of a token exchange: the type that was asked for." },
  },
  ["access_token", "token_type", "expires_in"],
);

const signInParameters = [
  query(
    "redirect",
    "Where the browser is sent with the token: a port of the user's own computer (`http://127.0.0.1:PORT/…`). The user is asked on a page first.",
  ),
  query(
    "headless_code",
    "Instead of `redirect`: an X25519 public key, as base64url without padding. The token is encrypted for it, and fetched with GetHeadlessSession.",
  ),
  query("idp_id", "Uid of the identity provider, or the verified name of an organization that has one. Without it the person is asked."),
  query("invite", "Code of an invite. After the sign-in, a page asks whether the person accepts it."),
  query("identity", "Uid of an assumable identity that the token shall act as."),
  query("skip_registration", "`true`: refuses users that are not registered.", { type: "string", enum: ["true", "false"] }),
  query("create_refresh_token", "`true`: with a refresh token.", { type: "string", enum: ["true", "false"] }),
  several("audience", "Audiences of the token."),
  several("scope", "Uids of groups to which the token is narrowed."),
  several("cap", "Capabilities to which the token is narrowed."),
];

const health = object({ status: string("`ok`."), version: string("The server's version.") }, ["status"]);

/** OpenID Connect Discovery 1.0 (3), RFC 8414 (2) and RFC 9207 (3); both paths return the same members. */
const metadata: JsonObject = {
  issuer: string("The issuer of this server's tokens."),
  jwks_uri: string("Where its keys are."),
  token_endpoint: string("Where tokens are."),
  revocation_endpoint: string("Where tokens are revoked (RFC 7009)."),
  revocation_endpoint_auth_methods_supported: strings("`none`: clients have no secrets."),
  authorization_endpoint: string("Where a person signs in for a client that gets an authorization code."),
  device_authorization_endpoint: string("The device authorization endpoint (RFC 8628)."),
  grant_types_supported: strings("Supported values of `grant_type`."),
  response_types_supported: strings("Supported values of `response_type`."),
  response_modes_supported: strings("How an authorization code is returned."),
  subject_types_supported: strings("`public`: a caller has the same subject for all clients."),
  scopes_supported: strings("Supported scopes."),
  id_token_signing_alg_values_supported: strings("How tokens are signed."),
  token_endpoint_auth_methods_supported: strings("`none`: clients have no secrets."),
  code_challenge_methods_supported: strings("How a client's code challenge is made (RFC 7636)."),
  claims_supported: strings("Claims of tokens."),
  authorization_response_iss_parameter_supported: { type: "boolean", description: "Whether the authorization response contains the issuer (RFC 9207)." },
  client_id_metadata_document_supported: { type: "boolean", description: "Whether the URL of its metadata document can be the client ID." },
};

const key = object(
  {
    kty: string("Kind of key."),
    use: string("`sig`: it signs."),
    alg: string("The algorithm that it signs with."),
    kid: string("Its name in tokens."),
    n: string("The modulus of an RSA key."),
    e: string("The exponent of an RSA key."),
  },
  ["kty"],
);

const offeredProvider = object(
  {
    uid: string("The identity provider's uid, for `idp_id`."),
    name: string("The display name."),
    host: string("The host of its issuer."),
  },
  ["uid"],
);

/** Returns every path outside the contract. `names`: documents served separately. */
export const pathsBeside = (names: readonly string[]): readonly PathBeside[] => [
  at(
    "post",
    "/oauth/token",
    "auth",
    "OAuth",
    "Token",
    "Exchange another token (RFC 8693), a device code (RFC 8628) or a refresh token (RFC 6749, 6) for an access token",
    {
      description: "`grant_type` selects the grant; without it, the token exchange.",
      requestBody: form(
        {
          grant_type: { type: "string", enum: grantTypes, description: "The grant." },
          subject_token: string("Token exchange: a token of another issuer, or of this one. The header `Authorization` may carry it instead."),
          subject_token_type: { type: "string", enum: tokenTypes, description: "Its type. The token must be a signed JWT for every type." },
          requested_token_type: { type: "string", enum: tokenTypes, description: "The token type in the response." },
          identity: string("Token exchange: uid of the identity to assume. Empty: the user of the presented token."),
          device_code: string("Device grant: the code from `/oauth/device_authorization`."),
          code: string("Authorization code grant: the code, which can be used once."),
          code_verifier: string("Authorization code grant: the verifier of the code challenge (RFC 7636)."),
          redirect_uri: string("Authorization code grant: the redirect URI of the authorization request."),
          client_id: string("Authorization code grant: the client ID."),
          refresh_token: string("Refresh grant: the refresh token. It can be used once; the response contains the next."),
          replaced_refresh_token: string("Device and authorization code grants: a refresh token to revoke because the new session replaces it."),
          audience: strings("Audiences of the token."),
          resource: strings("Audiences as URLs (RFC 8707)."),
          cap: strings("Capabilities, separated by spaces, to which the token is narrowed."),
          scope: string("Uids of groups, separated by spaces, to which the token is narrowed."),
        },
        [],
      ),
      responses: { "200": json("The token.", tokenAnswer), ...oauthErrors },
    },
  ),
  at("post", "/oauth/revoke", "auth", "OAuth", "Revoke", "Revoke the session of a token (RFC 7009)", {
    description: "All tokens of the session stop working with the next request. The response is 200 for every token, also for one that is not valid.",
    requestBody: form(
      {
        token: string("A refresh token, or an access token for this server."),
        token_type_hint: string("Ignored."),
        client_id: string("The client of a refresh token from an authorization code."),
      },
      ["token"],
    ),
    responses: { "200": json("An empty object.", object({}, [])), ...oauthErrors },
  }),
  at("post", "/oauth/device_authorization", "auth", "OAuth", "DeviceAuthorization", "Start a sign-in on a device without a browser (RFC 8628, 3.1)", {
    requestBody: form(
      {
        client_id: string("Ignored: every client is accepted."),
        idp_id: string("Uid of the identity provider, or the verified name of an organization that has one."),
        audience: strings("Audiences of the token."),
        scope: strings("Uids of groups to which the token is narrowed."),
        cap: strings("Capabilities to which the token is narrowed."),
      },
      [],
    ),
    responses: {
      "200": json(
        "The codes.",
        object(
          {
            device_code: string("The code for the token endpoint."),
            user_code: string("The code that the user enters."),
            verification_uri: string("The URL where the user enters the code."),
            verification_uri_complete: string("The same URL with the code."),
            expires_in: { type: "integer", description: "Seconds until the codes expire." },
            interval: { type: "integer", description: "Seconds to wait between two polls." },
          },
          ["device_code", "user_code", "verification_uri", "expires_in"],
        ),
      ),
      ...oauthErrors,
    },
  }),
  at("get", "/oauth", "auth", "OAuth", "SignIn", "Start a sign-in in a browser", {
    parameters: signInParameters,
    responses: {
      "200": page("The page that asks for the provider, or for a confirmation."),
      "302": redirect("To the identity provider."),
      "303": redirect("To the identity provider."),
      ...read,
      "400": page("The error page for an invalid request."),
    },
  }),
  at("get", "/oauth/authorize", "auth", "OAuth", "Authorize", "Start a sign-in with an authorization code (RFC 6749, 4.1; PKCE with S256)", {
    parameters: [
      query("response_type", "`code`."),
      query("client_id", "The client ID: the URL of its metadata document, or of the server's docs page."),
      query("redirect_uri", "The redirect URI: one of those in the client's document."),
      query("code_challenge", "SHA-256 of the code verifier, as base64url without padding (RFC 7636)."),
      query("code_challenge_method", "`S256`."),
      query("state", "An opaque value that is returned with the code."),
      several("resource", "The audience of the token as a URL (RFC 8707)."),
      query("scope", "Uids of groups, separated by spaces, to which the token is narrowed."),
    ],
    responses: {
      "200": page("The page that asks the user."),
      "302": redirect("To the identity provider, or back to the client."),
      "303": redirect("To the identity provider, or back to the client."),
      ...read,
      "400": page("The error page for a request that cannot be redirected to the client."),
    },
  }),
  at("post", "/oauth/authorize", "auth", "OAuth", "AnswerAuthorize", "Answer whether a client may act for the user", {
    requestBody: form({}, []),
    responses: {
      "200": page("The next page."),
      "302": redirect("To the identity provider, or back to the client."),
      "303": redirect("To the identity provider, or back to the client."),
      ...readForm,
      "400": page("The error page for an invalid form."),
      "403": page("The form belongs to another browser."),
    },
  }),
  at("get", "/oauth/providers", "auth", "OAuth", "Providers", "List the identity providers for a sign-in", {
    parameters: [query("name", "The verified name of an organization.")],
    responses: {
      "200": json("The providers.", object({ providers: { type: "array", items: offeredProvider, description: "Each provider." } }, ["providers"])),
      ...read,
    },
  }),
  at("get", "/.well-known/oauth-authorization-server", "auth", "Discovery", "AuthorizationServer", "Get the OAuth server metadata (RFC 8414)", {
    responses: {
      "200": json("The metadata.", object(metadata, ["issuer"])),
      ...read,
    },
  }),
  at("post", "/oauth/headless", "auth", "OAuth", "ConfirmHeadless", "Confirm a sign-in on another machine", {
    requestBody: form({}, []),
    responses: {
      "200": page("The next page."),
      "302": redirect("To the identity provider."),
      "303": redirect("To the identity provider."),
      ...readForm,
      "400": page("The error page for an invalid form."),
      "403": page("The form belongs to another browser."),
    },
  }),
  at("post", "/oauth/memberships", "auth", "OAuth", "AnswerMemberships", "Answer pending memberships", {
    requestBody: form({}, []),
    responses: {
      "200": page("The result."),
      "303": redirect("The next step of the sign-in."),
      ...readForm,
      "400": page("The error page for an invalid form."),
      "403": page("The form belongs to another browser."),
    },
  }),
  answeredOnce("/oauth/loopback", "AnswerLoopback", "Answer whether a local program may receive tokens", {
    "200": page("The page that redirects to the program."),
    "400": page("The error page for an invalid form."),
  }),
  answeredOnce("/oauth/invite", "AnswerInvite", "Answer an invite", {
    "200": page("The next page of the sign-in."),
    "400": page("The form is invalid, or the invite was already answered."),
  }),
  at("get", "/oauth/callback", "auth", "OAuth", "Callback", "Refuse the former shared callback URL with 400", {
    parameters: [
      query("state", "The state that the server sent to the provider."),
      query("code", "The provider's code."),
      query("error", "The error of the provider."),
      query("error_description", "The same as readable text."),
    ],
    responses: {
      "200": page("The end of the sign-in."),
      "302": redirect("Back to the start of the sign-in."),
      "303": redirect("Back to the start of the sign-in."),
      ...read,
      "400": page("The error page."),
    },
  }),
  at("get", "/oauth/callback/{uid}", "auth", "OAuth", "ProviderCallback", "Complete a sign-in at an identity provider (`callbackUrl`)", {
    parameters: [
      { name: "uid", in: "path", required: true, description: "Uid of the identity provider, with slashes.", schema: { type: "string" } },
      query("state", "The state that the server sent to the provider."),
      query("code", "The provider's code."),
      query("error", "The error of the provider."),
      query("error_description", "The same as readable text."),
    ],
    responses: {
      "200": page("The end of the sign-in."),
      "302": redirect("Back to the start of the sign-in."),
      "303": redirect("Back to the start of the sign-in."),
      ...read,
      "400": page("The error page."),
    },
  }),
  at("get", "/oauth/device", "auth", "OAuth", "Device", "Show the page for a device code", {
    parameters: [query("user_code", "The code, if the device showed a complete URL.")],
    responses: { "200": page("The page."), ...read, "400": page("The error page for an invalid code.") },
  }),
  at("post", "/oauth/device", "auth", "OAuth", "AnswerDevice", "Submit a device code", {
    requestBody: form({ user_code: string("The code.") }, []),
    responses: {
      "200": page("The next page."),
      "302": redirect("To the identity provider."),
      "303": redirect("To the identity provider."),
      ...readForm,
      "400": page("The error page for an invalid code."),
      "403": page("The form belongs to another browser."),
    },
  }),
  at("get", "/orgcheck", "auth", "OAuth", "CheckOrganization", "Check whether users can sign in by an organization's name", {
    parameters: [query("name", "The verified name of an organization.")],
    responses: { "200": json("Whether the organization exists and has an identity provider.", { type: "boolean" }), ...read },
  }),
  at("get", "/.well-known/openid-configuration", "auth", "Discovery", "Configuration", "Get the OpenID Connect metadata (OpenID Connect Discovery 1.0)", {
    responses: {
      "200": json("The metadata.", object(metadata, ["issuer", "jwks_uri"])),
      ...read,
    },
  }),
  at("get", "/.well-known/jwks.json", "auth", "Discovery", "Keys", "Get the public keys of the server's tokens (RFC 7517)", {
    responses: {
      "200": json("The keys.", object({ keys: { type: "array", items: key, description: "Each key." } }, ["keys"])),
      ...read,
    },
  }),
  at("get", "/healthz", "health", "Health", "Alive", "Check that the process is alive", {
    responses: { "200": json("The process is alive.", health), ...errorsOfPath(["longUrl", "headers"]) },
  }),
  at("get", "/readyz", "health", "Health", "Ready", "Check that the server is ready for requests", {
    responses: {
      "200": json("The server is ready.", health),
      "503": json(
        "The server is not ready: the database is unavailable, or the server is stopping.",
        object({ status: string("`not ready` or `stopping`.") }, ["status"]),
      ),
      ...errorsOfPath(["longUrl", "headers"]),
    },
  }),
  at("get", "/.well-known/security.txt", "feeds", "Feed", "SecurityText", "Get the security contacts (RFC 9116)", {
    responses: { "200": { description: "The file.", content: { "text/plain": {} } }, "304": { description: "Not modified." }, ...read },
  }),
  at("get", "/.well-known/vex-repository.json", "feeds", "Feed", "VexRepository", "Get the manifest of the VEX repository", {
    responses: { "200": json("The manifest.", { type: "object" }), "304": { description: "Not modified." }, ...read },
  }),
  at("get", "/openapi.json", "openapi", "OpenApi", "Whole", "Get the OpenAPI document of the whole API", {
    responses: { "200": json("The document.", { type: "object" }), "304": { description: "Not modified: it matches `If-None-Match`." }, ...read },
  }),
  at("get", "/openapi/{name}.json", "openapi", "OpenApi", "Part", "Get the OpenAPI document of a domain or of version 1", {
    parameters: [{ name: "name", in: "path", required: true, description: "The domain, or `v1`.", schema: { type: "string", enum: [...names] } }],
    responses: { "200": json("The document.", { type: "object" }), "304": { description: "Not modified: it matches `If-None-Match`." }, ...read },
  }),
];
