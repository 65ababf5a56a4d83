// REST in, Call out; Reply or Fault in, JSON out. Everything about a path's fields, its body and its query comes
// from the operation's google.api.http rule; this file only splits what came and puts together what goes.

import { Fault, toFault, unimplemented, type Violation } from "#base/fault.ts";
import type { JsonObject } from "#base/json.ts";
import { currentPath, domains, methodByName, methods } from "#contract/catalog.ts";
import { readRest } from "#contract/read.ts";
import type { Call, Reply } from "#kernel";
import { type Media, mediaOf, readBody, readJson } from "./body.ts";
import { crossOrigin } from "./cors.ts";
import { noteSlow, within } from "./deadline.ts";
import type { ServerContext } from "./server-context.ts";
import { type HttpAnswer, type HttpRequest, header, type SendAnswer } from "./http-message.ts";
import { besides } from "./issuer-endpoints.ts";
import { type Match, routing } from "./paths.ts";
import { type Parameters, parameters } from "./query.ts";
import { domainOfPath, errorBody, errorHeaders, httpStatusOf, noteFault } from "./render.ts";

const route = routing(methods);

const standing = (requestId: string): string[] => [
  "content-type",
  "application/json",
  "x-request-id",
  requestId,
  "cache-control",
  "no-store",
  "x-content-type-options",
  "nosniff",
];

/** Path and query. RFC 9112, 3.2.2: the whole URL is accepted in place of the path. */
const split = (target: string): { path: string; query: string } => {
  const local = target.startsWith("/") ? target : target.replace(/^https?:\/\/[^/?]*/i, "");
  const mark = local.indexOf("?");
  return mark < 0 ? { path: local, query: "" } : { path: local.slice(0, mark), query: local.slice(mark + 1) };
};

/** Takes validateOnly out of the parameters (decisions: Safe writes): it belongs to every call and to no message. */
const takeValidateOnly = ({ pairs, problems }: Parameters): boolean => {
  let wanted = false;
  for (let index = pairs.length - 1; index >= 0; index--) {
    const [name, value] = pairs[index] ?? ["", ""];
    if (name !== "validateOnly" && name !== "validate_only") continue;
    if (value !== "true" && value !== "false") problems.push({ field: name, description: "must be true or false" });
    wanted ||= value === "true";
    pairs.splice(index, 1);
  }
  return wanted;
};

const noQuery: Parameters = { pairs: [], problems: [] };

interface Sent {
  readonly body: JsonObject | undefined;
  readonly problems: Violation[];
}

/** The request's body as the operation's rule wants it: JSON for its body field, or more parameters where it has none. */
const readInto = async (context: ServerContext, ask: HttpRequest, match: Match, given: Parameters): Promise<Sent> => {
  const media: Media = ask.bodied ? mediaOf(ask) : "json";
  const bytes = await readBody(context, ask);
  if (match.http.body !== "") {
    // curl's -d calls everything a form (decisions: JSON).
    const { body, problems } = readJson(bytes, context.bounds.jsonDepthMax);
    return { body: body as JsonObject | undefined, problems };
  }
  // authentication, 3: the token exchange takes its fields as a form and has no JSON mapping.
  if (bytes.length > 0 && media === "json" && header(ask, "content-type") !== undefined) {
    return {
      body: undefined,
      problems: [{ field: "body", description: "is not read here; send the fields as application/x-www-form-urlencoded or in the query" }],
    };
  }
  const form = parameters(bytes.toString("utf8"));
  // One by one: a form of 1 MiB holds half a million, too many as arguments of one push.
  for (const pair of form.pairs) given.pairs.push(pair);
  return { body: undefined, problems: form.problems };
};

const callOf = (context: ServerContext, ask: HttpRequest, { method, http, fields }: Match, given: Parameters, sent: Sent | undefined): Call => {
  const validateOnly = given.pairs.length > 0 && takeValidateOnly(given);
  const { request, problems, bodyPaths } = readRest(method, http, { pathFields: fields, query: given.pairs, body: sent?.body });
  return {
    method,
    request,
    problems: sent || given.problems.length > 0 ? [...(sent?.problems ?? []), ...given.problems, ...problems] : problems,
    bodyPaths,
    authorization: header(ask, "authorization"),
    identity: header(ask, "gantry-identity"),
    idempotencyKey: header(ask, "idempotency-key"),
    validateOnly,
    ifMatch: header(ask, "if-match"),
    ifNoneMatch: header(ask, "if-none-match"),
    requestId: ask.requestId,
    origin: () => context.originOf(ask.address, ask.headers),
  };
};

const answerOf = (ask: HttpRequest, match: Match, reply: Reply): HttpAnswer => {
  const status = reply.httpStatus ?? 200;
  const empty = status === 304 || match.method.output.name === "google.protobuf.Empty";
  const headers = standing(ask.requestId);
  // A type belongs to a body only.
  if (empty) headers.splice(0, 2);
  if (reply.headers) {
    for (const [name, value] of Object.entries(reply.headers)) {
      const at = headers.indexOf(name);
      if (at >= 0 && at % 2 === 0) headers[at + 1] = value;
      else headers.push(name, value);
    }
  }
  return { status, headers, body: empty ? "" : (reply.json ?? JSON.stringify(reply.message)) };
};

/** Why this path and verb reach no operation. */
const strayed = (verb: string, path: string, allow: readonly string[]): Fault => {
  if (allow.length > 0) {
    const verbs = (allow.includes("GET") ? [...allow, "HEAD"] : [...allow]).sort().join(", ");
    return new Fault("UNIMPLEMENTED", `${verb} is not offered at ${path}; allowed: ${verbs}`, { httpStatus: 405, headers: { allow: verbs } });
  }
  const [, domain = "", version] = path.split("/");
  // requirement: Versioning 1. The v1 prefixes remain and are not served yet (decisions: Identity of the product).
  if (version === "v1" && domains.has(domain)) return unimplemented(`version 1 of the API (${path})`);
  if (methodByName(path.slice(1))) {
    return new Fault("INVALID_ARGUMENT", `${path} is a gRPC method: call it with content-type application/grpc over HTTP/2`, {
      httpStatus: 415,
      headers: { accept: "application/grpc" },
    });
  }
  return new Fault("NOT_FOUND", `no such path: ${path}`);
};

/** The door for every request that is not gRPC. Never throws; always tells exactly one answer. */
export const restTransport = (context: ServerContext): ((ask: HttpRequest, tell: SendAnswer) => void) => {
  const { config, bounds, dependencies: services } = context;
  const cors = crossOrigin(config.corsOrigins);
  const open = besides(context);

  const refusal = (ask: HttpRequest, path: string, domain: string, thrown: unknown): HttpAnswer => {
    const fault = toFault(thrown);
    const scene = { domain, serviceDomain: config.serviceDomain, requestId: ask.requestId };
    noteFault(config.log, fault, scene, `${ask.verb} ${path}`);
    const headers = standing(ask.requestId);
    headers.push(...errorHeaders(fault));
    return { status: httpStatusOf(fault), headers, body: errorBody(fault, scene) };
  };

  const answer = async (ask: HttpRequest): Promise<HttpAnswer> => {
    const { path: sent, query } = split(ask.target);
    const path = currentPath(sent);
    let domain: string | undefined;
    try {
      if (ask.fault) throw ask.fault;
      if (ask.target.length > bounds.urlBytesMax)
        throw new Fault("INVALID_ARGUMENT", `the URL is longer than ${bounds.urlBytesMax} bytes`, { httpStatus: 414 });
      const verb = ask.verb === "HEAD" ? "GET" : ask.verb;
      const found = route(verb, path);
      if (found && "method" in found) {
        domain = found.method.domain;
        const given = query === "" && !ask.bodied ? noQuery : parameters(query);
        // RFC 9110, 9.3.1: content of a GET or DELETE means nothing. It is thrown away behind the answer.
        const bodiless = found.http.verb === "GET" || found.http.verb === "DELETE";
        const call = callOf(context, ask, found, given, bodiless ? undefined : await readInto(context, ask, found, given));
        return answerOf(ask, found, await within(bounds.callDeadlineMs, services.serve(call)));
      }
      const beside = open(path);
      const handle = beside?.[verb];
      if (handle) return await handle(ask);
      throw strayed(ask.verb, sent, found?.allow ?? (beside ? Object.keys(beside) : []));
    } catch (thrown) {
      return refusal(ask, path, domain ?? domainOfPath(path), thrown);
    }
  };

  return (ask, tell) => {
    const started = performance.now();
    const preflight = cors.preflight(ask);
    const done = (ready: HttpAnswer): void => {
      try {
        cors.allow(ask, ready);
        tell(ready);
      } catch (thrown) {
        // A header that HTTP cannot carry; nothing has been sent yet.
        tell(refusal(ask, split(ask.target).path, domainOfPath(ask.target), thrown));
      }
      // The path only: a query may hold what no log should.
      noteSlow(config.log, started, `${ask.verb} ${split(ask.target).path}`, ask.requestId);
    };
    if (preflight) done(preflight);
    else void answer(ask).then(done);
  };
};
