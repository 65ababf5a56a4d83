// Converts REST requests to calls, and Reply or Fault to JSON. The operation's google.api.http rule determines the fields of path,
// query and body.

import { Fault, toFault, unimplemented, type Violation } from "#base/fault.ts";
import type { Json, JsonObject } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { runInCall } from "#calls";
import { type CallHeaders, type RequestReading, type UnreadCall, unreadCall } from "#contract/call.ts";
import { currentPath, domains, methodByName, methods, version1 } from "#contract/catalog.ts";
import type { MethodFact } from "#contract/facts.ts";
import { readRest } from "#contract/read.ts";
import type { Reply, ReplyFile } from "#kernel";
import { contentTypeOf, readRequestBody, readJson } from "./body.ts";
import { crossOrigin } from "./cors.ts";
import { type Untimed, withDeadline } from "./deadline.ts";
import { headerOf, type HttpRequest, type HttpResponse, type SendResponse, operationHeaders } from "./http-message.ts";
import { credentialsOf, distributionTransport, isDistributionPath } from "./oci/index.ts";
import { openEndpoints } from "./open-endpoints.ts";
import { type Match, makeRouter, splitTarget } from "./paths.ts";
import { type Parameters, parseParameters } from "./query.ts";
import { domainOfPath, errorBody, errorHeaders, httpStatusOf, logFault } from "./render.ts";
import { isScimPath, scimTransport } from "./scim/index.ts";
import type { ServerContext } from "./server-context.ts";
import { type CallPacking, joinedJson, joinedBytes } from "./whole-lists.ts";

const route = makeRouter([...methods, ...version1]);

const jsonHeaders = (requestId: string): string[] => operationHeaders("application/json", requestId);

/** Removes validateOnly from the parameters (decisions: Safe writes): it belongs to every call but to no message. */
const takeValidateOnly = ({ pairs, problems }: Parameters): boolean => {
  let validateOnly = false;
  for (let index = pairs.length - 1; index >= 0; index--) {
    const [name, value] = pairs[index] ?? ["", ""];
    if (name !== "validateOnly" && name !== "validate_only") continue;
    if (value !== "true" && value !== "false") problems.push({ field: name, description: "must be true or false" });
    validateOnly ||= value === "true";
    pairs.splice(index, 1);
  }
  return validateOnly;
};

const noParameters: Parameters = { pairs: [], problems: [] };

interface BodyReading {
  readonly body: JsonObject | Json[] | undefined;
  readonly problems: Violation[];
}

const emptyBody: BodyReading = { body: undefined, problems: [] };

/** Reads the body by the operation's rule: JSON for its body field, or else more parameters. */
const readBodyFor = async (context: ServerContext, request: HttpRequest, { method, http }: Match, query: Parameters): Promise<BodyReading> => {
  const { openBytesMax, bodyBytesMax } = context.bounds;
  const bytes = await readRequestBody(context, request, method.open ? openBytesMax : bodyBytesMax);
  // curl's -d sends any body as a form (decisions: JSON).
  if (http.body !== "") return readJson(bytes, context.budget, method.input.byName.get(http.body)?.shape === "list");
  // authentication, 3: the token exchange takes a form and has no JSON mapping.
  if (bytes.length > 0 && headerOf(request, "content-type") !== undefined && contentTypeOf(request) === "json") {
    return {
      body: undefined,
      problems: [{ field: "body", description: "is not read here; send the fields as application/x-www-form-urlencoded or in the query" }],
    };
  }
  const form = parseParameters(bytes.toString("utf8"));
  for (const pair of form.pairs) query.pairs.push(pair);
  return { body: undefined, problems: form.problems };
};

const restReading = ({ method, http, fields }: Match, query: Parameters, sent: BodyReading): RequestReading => {
  const validateOnly = query.pairs.length > 0 && takeValidateOnly(query);
  const reading = readRest(method, http, { pathFields: fields, query: query.pairs, body: sent.body });
  const hasOwnProblems = sent.problems.length > 0 || query.problems.length > 0;
  return {
    request: reading.request,
    problems: hasOwnProblems ? [...sent.problems, ...query.problems, ...reading.problems] : reading.problems,
    bodyPaths: reading.bodyPaths,
    validateOnly,
  };
};

/** RFC 9110, 9.3.1: content of a GET or DELETE has no meaning; it is discarded after the response. */
const readsBody = ({ hasBody }: HttpRequest, { http }: Match): boolean => hasBody && http.verb !== "GET" && http.verb !== "DELETE";

const parseQuery = (query: string): Parameters => (query === "" ? noParameters : parseParameters(query));

const authorizationOf = (request: HttpRequest, { basic }: MethodFact): Pick<CallHeaders, "authorization" | "identity"> => {
  const authorization = headerOf(request, "authorization");
  const named = basic ? credentialsOf(authorization) : { authorization, identity: undefined };
  return { authorization: named.authorization, identity: named.identity ?? headerOf(request, "gantry-identity") };
};

const restCall = (
  context: ServerContext,
  request: HttpRequest,
  match: Match,
  query: string,
  untimed: Untimed,
  packing: CallPacking | undefined,
): UnreadCall => {
  return unreadCall(
    match.method,
    {
      ...authorizationOf(request, match.method),
      idempotencyKey: headerOf(request, "idempotency-key"),
      ifMatch: headerOf(request, "if-match"),
      ifNoneMatch: headerOf(request, "if-none-match"),
      requestId: request.requestId,
      origin: () => context.originOf(request.address, request.headers),
      ...(packing ? { packing } : {}),
      requestInUrl: () => restReading(match, parseQuery(query), emptyBody).request,
    },
    readsBody(request, match)
      ? async () => {
          const parameters = parseParameters(query);
          return restReading(match, parameters, await untimed(readBodyFor(context, request, match, parameters)));
        }
      : () => restReading(match, parseQuery(query), emptyBody),
  );
};

/** A version 1 list. A list as short as a page of version 2 is sent at once. */
const listResponse = ({ requestId, verb }: HttpRequest, { method }: Match, parts: readonly Uint8Array[], release: () => void): HttpResponse => {
  const name = method.output.fields.find(({ shape }) => shape === "list")?.json ?? "";
  const isShort = parts.reduce((sum, { length }) => sum + length, 0) <= limits.listAtOnceBytesMax;
  if (isShort || verb === "HEAD") release();
  return { status: 200, headers: jsonHeaders(requestId), body: isShort ? joinedBytes(name, parts) : joinedJson(name, parts, release) };
};

const fileResponse = ({ requestId, verb }: HttpRequest, { type, pieces }: ReplyFile, headers: Reply["headers"]): HttpResponse => {
  const named = new Map(Object.entries(headers ?? {}));
  const own = ["content-type", type, "x-request-id", requestId, "cache-control", named.get("cache-control") ?? "no-store", "x-content-type-options", "nosniff"];
  named.delete("cache-control");
  if (verb === "HEAD") void pieces[Symbol.asyncIterator]().return?.();
  return { status: 200, headers: [...own, ...[...named].flat()], body: pieces };
};

const responseOf = (requestId: string, { method }: Match, reply: Reply): HttpResponse => {
  const status = reply.httpStatus ?? 200;
  const isEmpty = status === 304 || method.output.name === "google.protobuf.Empty";
  const headers = jsonHeaders(requestId);
  // Without a body there is no content type.
  if (isEmpty) headers.splice(0, 2);
  if (reply.headers) {
    for (const [name, value] of Object.entries(reply.headers)) {
      const at = headers.indexOf(name);
      if (at >= 0 && at % 2 === 0) headers[at + 1] = value;
      else headers.push(name, value);
    }
  }
  return { status, headers, body: isEmpty ? "" : (reply.json ?? JSON.stringify(reply.message)) };
};

/** True for operations of open feeds: without a token, a document or page has the same path. */
const isBesideDocuments = ({ name, givesFile }: MethodFact): boolean => givesFile || name.startsWith("gantry.feeds.");

const noOperation = (verb: string, path: string, allow: readonly string[]): Fault => {
  if (allow.length > 0) {
    const verbs = (allow.includes("GET") ? [...allow, "HEAD"] : [...allow]).sort().join(", ");
    return new Fault("UNIMPLEMENTED", `${verb} is not supported at ${path}; allowed: ${verbs}`, { httpStatus: 405, headers: { allow: verbs } });
  }
  const [, domain = "", version] = path.split("/");
  // requirement: Versioning 1. The v1 prefixes are reserved and not served yet (decisions: Identity of the product).
  if (version === "v1" && domains.has(domain)) return unimplemented(`version 1 of the API (${path})`);
  const named = methodByName(path.slice(1));
  if (named && !named.distribution && !named.scim) {
    return new Fault("INVALID_ARGUMENT", `${path} is a gRPC method. Call it with content-type application/grpc over HTTP/2`, {
      httpStatus: 415,
      headers: { accept: "application/grpc" },
    });
  }
  return new Fault("NOT_FOUND", `path not found: ${path}`);
};

/** Serves every request except gRPC. Never throws; sends exactly one response. */
export const restTransport = (context: ServerContext): ((request: HttpRequest, send: SendResponse) => void) => {
  const { config, bounds, dependencies } = context;
  const cors = crossOrigin(config.corsOrigins);
  const endpoints = openEndpoints(context);
  const distribution = distributionTransport(context);
  const scim = scimTransport(context);

  const errorResponse = (request: HttpRequest, path: string, domain: string, thrown: unknown, isVersion1 = false): HttpResponse => {
    const fault = toFault(thrown);
    request.call.refuse(fault);
    const about = { domain, isVersion1, serviceDomain: config.serviceDomain, requestId: request.requestId };
    logFault(config.log, fault, about, `${request.verb} ${path}`);
    const headers = jsonHeaders(request.requestId);
    headers.push(...errorHeaders(fault));
    return { status: httpStatusOf(fault), headers, body: errorBody(fault, about) };
  };

  const respond = async (request: HttpRequest): Promise<HttpResponse> => {
    const { path: sentPath, query } = splitTarget(request.target);
    if (isDistributionPath(sentPath)) return distribution(request);
    if (isScimPath(sentPath)) return scim(request);
    const path = currentPath(sentPath);
    let domain: string | undefined;
    let isVersion1 = false;
    let packing: CallPacking | undefined;
    try {
      if (request.fault) throw request.fault;
      const verb = request.verb === "HEAD" ? "GET" : request.verb;
      if (request.target.length > bounds.urlBytesMax) {
        const named = route(verb, sentPath);
        isVersion1 = named !== undefined && "method" in named && named.method.version === "v1";
        throw new Fault("INVALID_ARGUMENT", `the URL is longer than ${bounds.urlBytesMax} bytes`, { httpStatus: 414 });
      }
      // An operation without a version 2 has its own path under the beta segment.
      const routed = route(verb, sentPath) ?? (path === sentPath ? undefined : route(verb, path));
      // Checked before documents, because most of their sources parse the path.
      const isOperation = routed !== undefined && "method" in routed && !isBesideDocuments(routed.method);
      const endpoint = endpoints.named(path) ?? (isOperation ? undefined : endpoints.found(path));
      const isOpen = endpoint !== undefined && !(endpoint.yieldsToToken && headerOf(request, "authorization") !== undefined);
      const handle = isOpen ? endpoint.handlers[verb] : undefined;
      if (endpoint && handle) {
        if (endpoint.name === "mcp") request.call.protocol = "mcp";
        request.call.operation = endpoint.name;
        return await handle(request);
      }
      // Without a token, only open endpoints respond.
      const found = routed && "method" in routed && routed.method.givesFile && headerOf(request, "authorization") === undefined ? undefined : routed;
      if (found && "method" in found) {
        domain = found.method.domain;
        request.call.protocol = "rest";
        request.call.operation = found.method.name;
        isVersion1 = found.method.version === "v1";
        // The headers suffice to reject a content type, for any caller.
        if (readsBody(request, found)) contentTypeOf(request);
        packing = isVersion1 ? context.wholeLists((part) => Buffer.from(JSON.stringify(part))) : undefined;
        const serve = (untimed: Untimed): Promise<Reply> => dependencies.serve(restCall(context, request, found, query, untimed, packing));
        // A file may take longer to prepare than a call; the exchange's timeout applies.
        const reply = found.method.givesFile ? await serve((work) => work) : await withDeadline(bounds.callDeadlineMs, serve);
        if (reply.file) return fileResponse(request, reply.file, reply.headers);
        return reply.parts && packing ? listResponse(request, found, reply.parts, packing.release) : responseOf(request.requestId, found, reply);
      }
      throw noOperation(request.verb, sentPath, found?.allow ?? (endpoint ? Object.keys(endpoint.handlers) : []));
    } catch (thrown) {
      packing?.release();
      return errorResponse(request, path, domain ?? domainOfPath(path), thrown, isVersion1);
    }
  };

  return (request, send) => {
    const preflight = cors.preflight(request);
    const finish = (response: HttpResponse): void => {
      try {
        cors.allow(request, response);
        send(response);
      } catch (thrown) {
        // A header with invalid characters; nothing has been sent yet.
        send(errorResponse(request, splitTarget(request.target).path, domainOfPath(request.target), thrown));
      }
    };
    if (preflight) {
      request.call.operation = "preflight";
      finish(preflight);
    } else runInCall(request.call, () => void respond(request).then(finish));
  };
};
