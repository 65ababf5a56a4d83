// Responses of operations in OpenAPI: message, headers, and AIP-193 errors with typed details.

import type { Json, JsonObject } from "#base/json.ts";
import { codes } from "#base/fault.ts";
import type { HttpFact, MethodFact } from "../facts.ts";
import { isRehearsable } from "./parameters.ts";
import type { Schemas } from "./schemas.ts";

const type = (name: string): JsonObject => ({ const: `type.googleapis.com/${name}` });

const text = (description: string): JsonObject => ({ type: "string", description });

const detail = (name: string, description: string, properties: JsonObject, required: readonly string[]): JsonObject => ({
  type: "object",
  description,
  properties: { "@type": type(name), ...properties },
  required: ["@type", ...required],
});

const violations = (description: string, properties: JsonObject, required: readonly string[]): JsonObject => ({
  type: "array",
  description,
  items: { type: "object", properties, required: [...required] },
  minItems: 1,
});

const details: Readonly<Record<string, JsonObject>> = {
  ErrorInfo: detail(
    "google.rpc.ErrorInfo",
    "The error for programs. It is the first detail of every error.",
    {
      reason: text("The name of the code, or a more specific reason such as `RATE_LIMIT_EXCEEDED`."),
      domain: text("The service that refused the request and the domain of this server: `iam.example.com`."),
      metadata: { type: "object", description: "Facts of the reason, such as the exceeded limit.", additionalProperties: { type: "string" } },
    },
    ["reason", "domain"],
  ),
  BadRequest: detail(
    "google.rpc.BadRequest",
    "The invalid fields of the request.",
    {
      fieldViolations: violations(
        "The violations, up to a maximum; the message names the first.",
        {
          field: text("Path of the field: JSON names in a body (`claimMatch.issuer`), the proto name of a parameter (`page_size`)."),
          description: text("The requirement that the field violates."),
        },
        ["field", "description"],
      ),
    },
    ["fieldViolations"],
  ),
  PreconditionFailure: detail(
    "google.rpc.PreconditionFailure",
    "The state that prevents a valid request.",
    {
      violations: violations(
        "The failed preconditions.",
        {
          type: text("The kind of precondition, for programs: `RESOURCE_NOT_EMPTY`, `RESOURCE_IN_USE`, …"),
          subject: text("The subject of the violation."),
          description: text("The same as readable text."),
        },
        ["type", "description"],
      ),
    },
    ["violations"],
  ),
  ResourceInfo: detail(
    "google.rpc.ResourceInfo",
    "The resource that does not exist, or already exists.",
    {
      resourceType: text("Its service, the domain of this server, and its message: `registry.example.com/Repo`."),
      resourceName: text("Its uid, or the name in use."),
    },
    ["resourceType", "resourceName"],
  ),
  QuotaFailure: detail(
    "google.rpc.QuotaFailure",
    "The exhausted quota. Waiting does not help.",
    {
      violations: violations("The quota.", { subject: text("The subject of the quota."), description: text("The quota and its limit.") }, [
        "subject",
        "description",
      ]),
    },
    ["violations"],
  ),
  RetryInfo: detail(
    "google.rpc.RetryInfo",
    "The earliest time for a retry.",
    { retryDelay: { type: "string", description: "In seconds: `1.500s`.", pattern: "^[0-9]+\\.[0-9]{3}s$" } },
    ["retryDelay"],
  ),
  RequestInfo: detail(
    "google.rpc.RequestInfo",
    "For internal errors: the request in the server's log.",
    { requestId: text("The same as in the header `X-Request-Id`.") },
    ["requestId"],
  ),
  TermsNotAcceptedDetail: detail(
    "chainguard.platform.iam.v2.TermsNotAcceptedDetail",
    "Documents that a member of the organization must accept first (AcceptTerms).",
    {
      missing: {
        type: "array",
        description: "Each document.",
        items: {
          type: "object",
          properties: { id: text("Its name in AcceptTerms."), label: text("The display name."), url: text("The URL of the text.") },
          required: ["id", "label", "url"],
        },
      },
    },
    ["missing"],
  ),
};

const errorSchema = (items: JsonObject, description: string): JsonObject => ({
  type: "object",
  description,
  properties: {
    code: { type: "integer", description: "Code of google.rpc.Code: 3 is INVALID_ARGUMENT.", minimum: 1, maximum: 16 },
    message: text("Readable text. Programs should use the code and the details."),
    details: { type: "array", description: "Details of the error, each with its type.", items },
  },
  required: ["code", "message", "details"],
});

const header = (description: string, schema: JsonObject): JsonObject => ({ description, schema });

export const sharedHeaders: JsonObject = {
  RequestId: header("Identifies this request in errors and in the server's log.", { type: "string" }),
  ETag: header("The state of the resource: for `If-Match` and `If-None-Match`.", { type: "string" }),
  PageRestarted: header("`true`: the page token was older than three days, and this is the first page again.", { const: "true" }),
  Replayed: header("`true`: this is the stored response for the idempotency key.", { const: "true" }),
  LeftOut: header("Fields omitted from a replayed response because they are shown only once.", { type: "string" }),
  ValidateOnly: header("`true`: nothing was changed.", { const: "true" }),
  Challenge: header("How to authenticate (RFC 9110, 11.6.1).", { type: "string" }),
  RetryAfter: header("Seconds to wait before a retry.", { type: "integer" }),
  RateLimitPolicy: header("The exceeded limit and its window.", { type: "string" }),
  RateLimit: header("The remaining quota of the window.", { type: "string" }),
};

const headerReference = (name: string): JsonObject => ({ $ref: `#/components/headers/${name}` });

/** HTTP status, name and description; `codes` are the google.rpc.Code values with this status. */
interface ErrorAnswer {
  readonly status: string;
  readonly name: string;
  readonly description: string;
  readonly headers?: readonly (readonly [string, string])[];
}

const limitHeaders = [
  ["Retry-After", "RetryAfter"],
  ["RateLimit-Policy", "RateLimitPolicy"],
  ["RateLimit", "RateLimit"],
] as const;

const errorAnswers = {
  badRequest: {
    status: "400",
    name: "BadRequest",
    description: "INVALID_ARGUMENT: the request is invalid; BadRequest lists the fields. FAILED_PRECONDITION: PreconditionFailure lists the reasons.",
  },
  unauthenticated: {
    status: "401",
    name: "Unauthenticated",
    description: "UNAUTHENTICATED: the token is missing, or its identity does not exist.",
    headers: [["WWW-Authenticate", "Challenge"]],
  },
  denied: {
    status: "403",
    name: "PermissionDenied",
    description: "PERMISSION_DENIED: the caller lacks a capability there. The response does not reveal whether the resource exists.",
  },
  missing: { status: "404", name: "NotFound", description: "NOT_FOUND: the resource does not exist." },
  slow: { status: "408", name: "RequestTimeout", description: "DEADLINE_EXCEEDED: the request's body took too long to arrive." },
  conflict: {
    status: "409",
    name: "Conflict",
    description: "ALREADY_EXISTS: the name is in use. ABORTED: a concurrent write conflicts. Try again.",
  },
  changed: { status: "412", name: "PreconditionFailed", description: "ABORTED: the resource does not match `If-Match`.", headers: [["ETag", "ETag"]] },
  tooLarge: { status: "413", name: "ContentTooLarge", description: "INVALID_ARGUMENT: the request body is larger than the maximum." },
  longUrl: { status: "414", name: "UriTooLong", description: "INVALID_ARGUMENT: the URL is longer than the maximum." },
  mediaType: { status: "415", name: "UnsupportedMediaType", description: "INVALID_ARGUMENT: the content type of the body is not supported." },
  exhausted: {
    status: "429",
    name: "ResourceExhausted",
    description: "RESOURCE_EXHAUSTED: a rate limit is exceeded (RetryInfo), or a quota is exhausted (QuotaFailure).",
    headers: limitHeaders,
  },
  headers: { status: "431", name: "HeadersTooLarge", description: "INVALID_ARGUMENT: the request headers are larger than the maximum." },
  internal: { status: "500", name: "Internal", description: "INTERNAL: a server error. RequestInfo identifies the request in the log." },
  unimplemented: {
    status: "501",
    name: "Unimplemented",
    description: "UNIMPLEMENTED: the operation, or a value of one of its fields, is not supported; the description names it.",
  },
  unavailable: { status: "503", name: "Unavailable", description: "UNAVAILABLE: the server or its database is unavailable. Try again later." },
  deadline: { status: "504", name: "DeadlineExceeded", description: "DEADLINE_EXCEEDED: the request exceeded its deadline." },
} as const satisfies Readonly<Record<string, ErrorAnswer>>;

type ErrorName = keyof typeof errorAnswers;

const standingHeaders = { "X-Request-Id": headerReference("RequestId") };

/** Recorded errors, by subject. */
export type Errors = Readonly<Record<string, JsonObject>>;

const shownExamples = 4;

/** Returns recorded errors with this status, by a name valid in OpenAPI. */
const examplesOf = (errors: Errors, status: string): JsonObject =>
  Object.fromEntries(
    Object.entries(errors)
      .filter(([, error]) => String(error.status) === status && error.body !== undefined)
      .slice(0, shownExamples)
      .map(([name, error]): [string, Json] => [
        name.toLowerCase().replace(/[^a-z0-9]+/g, "-"),
        { summary: `${name}: ${String(error.request ?? "")}`, value: error.body ?? null },
      ]),
  );

export const errorResponses = (errors: Errors): JsonObject =>
  Object.fromEntries(
    Object.values(errorAnswers).map(({ status, name, description, ...rest }): [string, Json] => {
      const found = examplesOf(errors, status);
      const own = "headers" in rest ? Object.fromEntries(rest.headers.map(([header, component]) => [header, headerReference(component)])) : {};
      return [
        name,
        {
          description,
          headers: { ...standingHeaders, ...own },
          content: {
            "application/json": {
              schema: { $ref: "#/components/schemas/Error" },
              ...(Object.keys(found).length === 0 ? {} : { examples: found }),
            },
          },
        },
      ];
    }),
  );

const responseReference = (name: ErrorName): JsonObject => ({ $ref: `#/components/responses/${errorAnswers[name].name}` });

/** Returns the errors of an operation by status. `unserved`: its description says that all or part of it is UNIMPLEMENTED. */
export const errorsOf = (
  method: MethodFact,
  http: HttpFact,
  has: { readonly body: boolean; readonly ifMatch: boolean; readonly unserved: boolean },
): JsonObject => {
  const isOpen = method.open && method.capabilities.length === 0;
  const names: ErrorName[] = [
    "badRequest",
    // Public operations may still read a token, as the exchange does.
    ...(isOpen && !method.credentials ? [] : (["unauthenticated", "denied"] as const)),
    "missing",
    ...(has.body ? (["slow"] as const) : []),
    ...(method.writes ? (["conflict"] as const) : []),
    ...(has.ifMatch ? (["changed"] as const) : []),
    ...(has.body ? (["tooLarge"] as const) : []),
    "longUrl",
    ...(http.verb === "GET" || http.verb === "DELETE" ? [] : (["mediaType"] as const)),
    "exhausted",
    "headers",
    "internal",
    ...(has.unserved ? (["unimplemented"] as const) : []),
    "unavailable",
    "deadline",
  ];
  return Object.fromEntries(names.map((name): [string, Json] => [errorAnswers[name].status, responseReference(name)]));
};

export const errorsOfPath = (names: readonly ErrorName[]): JsonObject =>
  Object.fromEntries(names.map((name): [string, Json] => [errorAnswers[name].status, responseReference(name)]));

/** Adds the error schemas. Version 1 has only one detail. */
export const addErrorSchemas = (schemas: Schemas, isVersion1: boolean): void => {
  if (isVersion1) {
    const { description, ...rest } = details.TermsNotAcceptedDetail ?? {};
    const terms = {
      ...rest,
      description: description ?? "",
      properties: { ...(rest.properties as JsonObject), "@type": type("chainguard.platform.iam.TermsNotAcceptedDetail") },
    };
    schemas.add(
      "Error",
      errorSchema(schemas.add("TermsNotAcceptedDetail", terms), "An error (AIP-193) as version 1 has it: with no details but documents to accept."),
    );
    return;
  }
  const references = Object.entries(details).map(([name, schema]) => schemas.add(name, schema));
  const mapping = Object.fromEntries(
    Object.entries(details).map(([name, { properties }]): [string, Json] => {
      const named = (properties as JsonObject)["@type"] as JsonObject;
      return [String(named.const), `#/components/schemas/${name}`];
    }),
  );
  schemas.add("ErrorDetail", {
    description: "A detail of an error, identified by `@type`.",
    oneOf: references,
    discriminator: { propertyName: "@type", mapping },
  });
  schemas.add(
    "Error",
    errorSchema(
      { $ref: "#/components/schemas/ErrorDetail" },
      `An error (AIP-193). The codes are ${Object.entries(codes)
        .map(([name, code]) => `${code} ${name}`)
        .join(", ")}.`,
    ),
  );
};

const headersOf = (method: MethodFact, hasEtag: boolean): JsonObject => {
  const optional: [string, string][] = [];
  const { rpc, output } = method.view?.of ?? method;
  if (hasEtag || ((rpc.startsWith("Get") || rpc.startsWith("Update")) && output.byName.has("uid")))
    if (output.name !== "google.protobuf.Empty") optional.push(["ETag", "ETag"]);
  if (method.input.byName.has("page_token")) optional.push(["Gantry-Page-Restarted", "PageRestarted"]);
  if (method.writes && !method.open) optional.push(["Gantry-Replayed", "Replayed"], ["Gantry-Left-Out", "LeftOut"]);
  if (isRehearsable(method)) optional.push(["Gantry-Validate-Only", "ValidateOnly"]);
  return { ...standingHeaders, ...Object.fromEntries(optional.map(([name, component]): [string, Json] => [name, headerReference(component)])) };
};

/** Media types of files (docs/decisions/0043-private-feeds-with-tokens.md). */
const fileTypes = [
  "application/json",
  "application/gzip",
  "application/zip",
  "application/yaml",
  "application/pgp-signature",
  "application/pgp-keys",
  "text/csv",
  "text/html",
  "text/plain",
];

const successText = (method: MethodFact): string => (method.output.name === "google.protobuf.Empty" ? "Success. The response has no body." : "The response.");

export const answersOf = (
  schemas: Schemas,
  method: MethodFact,
  http: HttpFact,
  given: { readonly hasEtag: boolean; readonly hasBody: boolean; readonly isUnserved: boolean },
): JsonObject => {
  const headers = headersOf(method, given.hasEtag);
  const isEmpty = method.output.name === "google.protobuf.Empty";
  const content: JsonObject = method.givesFile
    ? Object.fromEntries(fileTypes.map((each): [string, Json] => [each, {}]))
    : { "application/json": { schema: schemas.ofMessage(method.output, "answer") } };
  return {
    "200": { description: method.givesFile ? "The file." : successText(method), headers, ...(isEmpty ? {} : { content }) },
    ...(given.hasEtag && !method.writes ? { "304": { description: "Not modified: it matches `If-None-Match`.", headers } } : {}),
    ...errorsOf(method, http, { body: given.hasBody, ifMatch: given.hasEtag && method.writes, unserved: given.isUnserved }),
  };
};
