// Paths that are no operations of the contract, because their protocol says how they look: OAuth and discovery, pages of the sign-in,
// files of the open feed that are the same for everybody, health, and these documents themselves. A test holds the list against
// what the server serves, in both directions.

import type { Json, JsonObject } from "#base/json.ts";
import { errorsOfPath } from "./answers.ts";

export interface PathBeside {
  readonly verb: "get" | "post";
  readonly path: string;
  /** The document in which it stands. */
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
  ...query(name, `${description} May be given several times.`, { type: "array", items: { type: "string" } }),
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

/** RFC 6749, 5.2. */
const oauthErrorSchema = object(
  {
    error: string("The kind of refusal: `invalid_request`, `invalid_grant`, `authorization_pending`, …"),
    error_description: string("The same for people."),
  },
  ["error"],
);

const oauthErrors: JsonObject = Object.fromEntries(
  (
    [
      ["400", "The request is refused (RFC 6749, 5.2; RFC 8628, 3.5)."],
      ["401", "The client is refused."],
      ["413", "The form is larger than the server reads."],
      ["415", "The body is no form."],
      ["429", "Too many requests of this address."],
      ["500", "An error of the server."],
      ["503", "The server cannot answer now; try again."],
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

/** The form of a page whose question is answered once (server/signin/stored-question.ts). */
const answeredOnce = (path: string, name: string, summary: string, { "200": done, ...refused }: JsonObject): PathBeside =>
  at("post", path, "auth", "OAuth", name, summary, {
    requestBody: form({}, []),
    responses: { "200": done ?? null, ...readForm, ...refused, "403": page("The form is not of this browser, was answered before, or came too late.") },
  });

/** What the tags of these paths are for. */
export const tagsBeside: Readonly<Record<string, string>> = {
  OAuth: "Tokens by the protocols of OAuth, and the pages on which people sign in.",
  Discovery: "What a program must know to verify tokens of this server.",
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
    "In place of `redirect`: an X25519 public key, as base64url without padding. The token is sealed for it, and fetched with GetHeadlessSession.",
  ),
  query("idp_id", "Uid of the identity provider, or the verified name of an organization that has one. Without it the person is asked."),
  query("invite", "Code of an invite. After the sign-in, a page asks whether the person accepts it."),
  query("identity", "Uid of an assumable identity that the token shall act as."),
  query("skip_registration", "`true`: who is not registered yet is refused.", { type: "string", enum: ["true", "false"] }),
  query("create_refresh_token", "`true`: with a refresh token.", { type: "string", enum: ["true", "false"] }),
  several("audience", "Audiences that the token shall name."),
  several("scope", "Uids of groups: the token is good in no others."),
  several("cap", "Names of capabilities: the token is good for no others."),
];

const health = object({ status: string("`ok`."), version: string("The server's version.") }, ["status"]);

/** What OpenID Connect Discovery 1.0 (3), RFC 8414 (2) and RFC 9207 (3) say of a server; both addresses give the same members. */
const metadata: JsonObject = {
  issuer: string("The issuer of this server's tokens."),
  jwks_uri: string("Where its keys are."),
  token_endpoint: string("Where tokens are."),
  revocation_endpoint: string("Where tokens are revoked (RFC 7009)."),
  revocation_endpoint_auth_methods_supported: strings("`none`: clients have no secrets."),
  authorization_endpoint: string("Where a person signs in for a client that gets an authorization code."),
  device_authorization_endpoint: string("Where a device without a browser begins (RFC 8628)."),
  grant_types_supported: strings("What `grant_type` may be at the token endpoint."),
  response_types_supported: strings("What `response_type` may be at the authorization endpoint."),
  response_modes_supported: strings("How an authorization code is given back."),
  subject_types_supported: strings("`public`: a caller has the same subject towards everybody."),
  scopes_supported: strings("Scopes with a meaning of their own."),
  id_token_signing_alg_values_supported: strings("How tokens are signed."),
  token_endpoint_auth_methods_supported: strings("`none`: clients have no secrets."),
  code_challenge_methods_supported: strings("How a client's code challenge is made (RFC 7636)."),
  claims_supported: strings("Claims of tokens."),
  authorization_response_iss_parameter_supported: { type: "boolean", description: "Whether a client is told the issuer beside the code (RFC 9207)." },
  client_id_metadata_document_supported: { type: "boolean", description: "Whether a client may name itself by the address of its metadata document." },
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
    name: string("What people call it."),
    host: string("The host of its issuer."),
  },
  ["uid"],
);

/** Every path that is no operation of the contract. `names`: of the documents that are served by themselves. */
export const pathsBeside = (names: readonly string[]): readonly PathBeside[] => [
  at(
    "post",
    "/oauth/token",
    "auth",
    "OAuth",
    "Token",
    "An access token for another token (RFC 8693), for a device's code (RFC 8628) or for a refresh token (RFC 6749, 6).",
    {
      description: "Which grant it is says `grant_type`. Without one it is the token exchange.",
      requestBody: form(
        {
          grant_type: { type: "string", enum: grantTypes, description: "The grant." },
          subject_token: string("Of the token exchange: the token of another issuer, or of this one. It may stand in the header `Authorization` instead."),
          subject_token_type: { type: "string", enum: tokenTypes, description: "Its type. What is read is a signed JWT, by whichever name." },
          requested_token_type: { type: "string", enum: tokenTypes, description: "What the answer shall call the new token." },
          identity: string("Of the token exchange: uid of the assumable identity to act as. Empty: the person that the presented token is about."),
          device_code: string("Of the device grant: the code that `/oauth/device_authorization` gave."),
          code: string("Of the authorization code grant: the code; it works once."),
          code_verifier: string("Of the authorization code grant: what the challenge was made of (RFC 7636)."),
          redirect_uri: string("Of the authorization code grant: the address to which the code came."),
          client_id: string("Of the authorization code grant: who asked for it."),
          refresh_token: string("Of the refresh grant: the token; it works once, and the answer brings the next."),
          replaced_refresh_token: string("Of the device and authorization code grants: a refresh token whose session the new one replaces. It is revoked."),
          audience: strings("Audiences that the token shall name."),
          resource: strings("The same, by URL."),
          cap: strings("Names of capabilities, with blanks between: the token is good for no others."),
          scope: string("Uids of groups, with blanks between: the token is good in no others."),
        },
        [],
      ),
      responses: { "200": json("The token.", tokenAnswer), ...oauthErrors },
    },
  ),
  at("post", "/oauth/revoke", "auth", "OAuth", "Revoke", "Revokes the session of a token (RFC 7009).", {
    description: "All tokens of the session stop working with the next request. The response is 200 for every token, also for one that is not valid.",
    requestBody: form(
      {
        token: string("A refresh token, or an access token for this server."),
        token_type_hint: string("Ignored."),
        client_id: string("Of a refresh token from an authorization code: its client."),
      },
      ["token"],
    ),
    responses: { "200": json("An empty object.", object({}, [])), ...oauthErrors },
  }),
  at("post", "/oauth/device_authorization", "auth", "OAuth", "DeviceAuthorization", "Begins a sign-in at a device without a browser (RFC 8628, 3.1).", {
    requestBody: form(
      {
        client_id: string("Passed over: every client may ask."),
        idp_id: string("Uid of the identity provider, or the verified name of an organization that has one."),
        audience: strings("Audiences that the token shall name."),
        scope: strings("Uids of groups: the token is good in no others."),
        cap: strings("Names of capabilities: the token is good for no others."),
      },
      [],
    ),
    responses: {
      "200": json(
        "The codes.",
        object(
          {
            device_code: string("For the token endpoint."),
            user_code: string("What the person types."),
            verification_uri: string("Where the person types it."),
            verification_uri_complete: string("The same with the code in it."),
            expires_in: { type: "integer", description: "Seconds until the codes end." },
            interval: { type: "integer", description: "Seconds to wait between two questions." },
          },
          ["device_code", "user_code", "verification_uri", "expires_in"],
        ),
      ),
      ...oauthErrors,
    },
  }),
  at("get", "/oauth", "auth", "OAuth", "SignIn", "Begins a sign-in: a page for browsers.", {
    parameters: signInParameters,
    responses: {
      "200": page("The page that asks for the provider, or for a confirmation."),
      "302": redirect("To the identity provider."),
      "303": redirect("To the identity provider."),
      ...read,
      "400": page("What is wrong with the request."),
    },
  }),
  at("get", "/oauth/authorize", "auth", "OAuth", "Authorize", "Begins a sign-in of a client that gets an authorization code (RFC 6749, 4.1; PKCE with S256).", {
    parameters: [
      query("response_type", "`code`."),
      query("client_id", "Who asks: the address of the client's metadata document, or the server's own docs page."),
      query("redirect_uri", "Where the code goes: one of the addresses in the client's document."),
      query("code_challenge", "SHA-256 of the code verifier, as base64url without padding (RFC 7636)."),
      query("code_challenge_method", "`S256`."),
      query("state", "What the client finds again beside the code."),
      several("resource", "What the token shall be good for, by address (RFC 8707)."),
      query("scope", "Uids of groups, with blanks between: the token is good in no others."),
    ],
    responses: {
      "200": page("The page that asks the person."),
      "302": redirect("To the identity provider, or back to the client."),
      "303": redirect("To the identity provider, or back to the client."),
      ...read,
      "400": page("What is wrong with the request, where it cannot be said to the client."),
    },
  }),
  at("post", "/oauth/authorize", "auth", "OAuth", "AnswerAuthorize", "The form of the page that asks whether a client may act for the person.", {
    requestBody: form({}, []),
    responses: {
      "200": page("How it went on."),
      "302": redirect("To the identity provider, or back to the client."),
      "303": redirect("To the identity provider, or back to the client."),
      ...readForm,
      "400": page("What is wrong with the form."),
      "403": page("The form is not of this browser."),
    },
  }),
  at("get", "/oauth/providers", "auth", "OAuth", "Providers", "The identity providers among which a person can choose.", {
    parameters: [query("name", "The verified name of an organization.")],
    responses: {
      "200": json("The providers.", object({ providers: { type: "array", items: offeredProvider, description: "Each provider." } }, ["providers"])),
      ...read,
    },
  }),
  at("get", "/.well-known/oauth-authorization-server", "auth", "Discovery", "AuthorizationServer", "The same for clients of OAuth (RFC 8414).", {
    responses: {
      "200": json("The metadata.", object(metadata, ["issuer"])),
      ...read,
    },
  }),
  at("post", "/oauth/headless", "auth", "OAuth", "ConfirmHeadless", "The form of the page that confirms a sign-in of another machine.", {
    requestBody: form({}, []),
    responses: {
      "200": page("How it went on."),
      "302": redirect("To the identity provider."),
      "303": redirect("To the identity provider."),
      ...readForm,
      "400": page("What is wrong with the form."),
      "403": page("The form is not of this browser."),
    },
  }),
  at("post", "/oauth/memberships", "auth", "OAuth", "AnswerMemberships", "The form of the page that asks about memberships.", {
    requestBody: form({}, []),
    responses: {
      "200": page("What became of them."),
      "303": redirect("Where the sign-in goes on."),
      ...readForm,
      "400": page("What is wrong with the form."),
      "403": page("The form is not of this browser."),
    },
  }),
  answeredOnce("/oauth/loopback", "AnswerLoopback", "The form of the page that asks before a program on the user's computer gets tokens.", {
    "200": page("The page that leads to the program."),
    "400": page("What is wrong with the form."),
  }),
  answeredOnce("/oauth/invite", "AnswerInvite", "The form of the page that asks about an invite.", {
    "200": page("Where the sign-in goes on, or its end."),
    "400": page("What is wrong with the form, or the invite was answered before."),
  }),
  at("get", "/oauth/callback", "auth", "OAuth", "Callback", "The address that identity providers once shared: it redeems no code and answers 400.", {
    parameters: [
      query("state", "What the server gave the provider."),
      query("code", "The provider's code."),
      query("error", "Why the provider refused."),
      query("error_description", "The same for people."),
    ],
    responses: {
      "200": page("The end of the sign-in."),
      "302": redirect("Where the sign-in began."),
      "303": redirect("Where the sign-in began."),
      ...read,
      "400": page("Why it failed."),
    },
  }),
  at("get", "/oauth/callback/{uid}", "auth", "OAuth", "ProviderCallback", "The callback address of an identity provider: its `callbackUrl`.", {
    parameters: [
      { name: "uid", in: "path", required: true, description: "Uid of the identity provider, slashes as they are.", schema: { type: "string" } },
      query("state", "What the server gave the provider."),
      query("code", "The provider's code."),
      query("error", "Why the provider refused."),
      query("error_description", "The same for people."),
    ],
    responses: {
      "200": page("The end of the sign-in."),
      "302": redirect("Where the sign-in began."),
      "303": redirect("Where the sign-in began."),
      ...read,
      "400": page("Why it failed."),
    },
  }),
  at("get", "/oauth/device", "auth", "OAuth", "Device", "The page on which a person types the code of a device.", {
    parameters: [query("user_code", "The code, where the device gave a complete address.")],
    responses: { "200": page("The page."), ...read, "400": page("What is wrong with the code.") },
  }),
  at("post", "/oauth/device", "auth", "OAuth", "AnswerDevice", "The form of that page.", {
    requestBody: form({ user_code: string("The code.") }, []),
    responses: {
      "200": page("How it went on."),
      "302": redirect("To the identity provider."),
      "303": redirect("To the identity provider."),
      ...readForm,
      "400": page("What is wrong with the code."),
      "403": page("The form is not of this browser."),
    },
  }),
  at("get", "/orgcheck", "auth", "OAuth", "CheckOrganization", "Whether people can sign in with an organization's name.", {
    parameters: [query("name", "The verified name of an organization.")],
    responses: { "200": json("Whether there is such an organization with an identity provider.", { type: "boolean" }), ...read },
  }),
  at("get", "/.well-known/openid-configuration", "auth", "Discovery", "Configuration", "What this server is as an issuer (OpenID Connect Discovery 1.0).", {
    responses: {
      "200": json("The metadata.", object(metadata, ["issuer", "jwks_uri"])),
      ...read,
    },
  }),
  at("get", "/.well-known/jwks.json", "auth", "Discovery", "Keys", "The keys that sign this server's tokens (RFC 7517).", {
    responses: {
      "200": json("The keys.", object({ keys: { type: "array", items: key, description: "Each key." } }, ["keys"])),
      ...read,
    },
  }),
  at("get", "/healthz", "health", "Health", "Alive", "Answers as long as the process does.", {
    responses: { "200": json("It is alive.", health), ...errorsOfPath(["longUrl", "headers"]) },
  }),
  at("get", "/readyz", "health", "Health", "Ready", "Whether the server can work; a load balancer takes it out otherwise.", {
    responses: {
      "200": json("It can.", health),
      "503": json("It cannot: the database is away, or the server stops.", object({ status: string("`not ready` or `stopping`.") }, ["status"])),
      ...errorsOfPath(["longUrl", "headers"]),
    },
  }),
  at("get", "/.well-known/security.txt", "feeds", "Feed", "SecurityText", "Whom to tell of a vulnerability (RFC 9116).", {
    responses: { "200": { description: "The file.", content: { "text/plain": {} } }, "304": { description: "It is still the same." }, ...read },
  }),
  at("get", "/.well-known/vex-repository.json", "feeds", "Feed", "VexRepository", "Where the repository of VEX documents is.", {
    responses: { "200": json("The manifest.", { type: "object" }), "304": { description: "It is still the same." }, ...read },
  }),
  at("get", "/openapi.json", "openapi", "OpenApi", "Whole", "The description of everything but version 1.", {
    responses: { "200": json("The document.", { type: "object" }), "304": { description: "It is still what `If-None-Match` says." }, ...read },
  }),
  at("get", "/openapi/{name}.json", "openapi", "OpenApi", "Part", "The description of one domain, or of version 1.", {
    parameters: [{ name: "name", in: "path", required: true, description: "The domain, or `v1`.", schema: { type: "string", enum: [...names] } }],
    responses: { "200": json("The document.", { type: "object" }), "304": { description: "It is still what `If-None-Match` says." }, ...read },
  }),
];
