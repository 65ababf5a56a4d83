// SCIM 2.0 (RFC 7644): serves /scim/v2/ as calls of the common pipeline. The contract has the operations and paths; this file has the
// media type, status codes, ETags and errors.

import { matchesEtag } from "#base/etag.ts";
import { Fault, toFault, type Violation } from "#base/fault.ts";
import { type Json, type JsonObject, part, text } from "#base/json.ts";
import { type RequestReading, readingOf, type UnreadCall, unreadCall } from "#contract/call.ts";
import { methods } from "#contract/catalog.ts";
import type { FieldFact, MessageFact } from "#contract/facts.ts";
import type { Reply } from "#kernel";
import { contentTypeOf, readJson, readRequestBody } from "../body.ts";
import { type Untimed, withDeadline } from "../deadline.ts";
import { headerOf, type HttpRequest, type HttpResponse, operationHeaders } from "../http-message.ts";
import { splitTarget } from "../paths.ts";
import { parseParameters } from "../query.ts";
import { errorHeaders, logFault, platformDomain, scimError } from "../render.ts";
import type { ServerContext } from "../server-context.ts";
import { type ScimMatch, scimRouter } from "./route.ts";

const route = scimRouter(methods);

export const isScimPath = (path: string): boolean => path === "/scim/v2" || path.startsWith("/scim/v2/");

const searchEnd = "/.search";

const scimHeaders = (requestId: string): string[] => operationHeaders("application/scim+json", requestId);

/**
 * Sets the field of a parameter, by its case-insensitive RFC 7644 name (RFC 7643, 2.1). Ignores unknown ones and null (RFC 7644,
 * 3.4.2; RFC 7643, 2.5).
 */
const setParameter = (message: MessageFact, fields: JsonObject, sent: string, value: Json, problems: Violation[]): void => {
  const field: FieldFact | undefined = message.fields.find(({ json }) => json.toLowerCase() === sent.toLowerCase());
  if (!field || field.uid || value === null || ["id", "document", "ifMatch"].includes(field.json)) return;
  const name = field.json;
  if (field.kind !== "int32") {
    const written = Array.isArray(value) ? value.filter((each) => typeof each === "string").join(",") : value;
    if (typeof written === "string") fields[name] = written;
    else problems.push({ field: name, description: "must be a text" });
    return;
  }
  const number = typeof value === "number" ? value : typeof value === "string" && /^-?\d{1,100}$/.test(value) ? Number(value) : Number.NaN;
  // Larger than 32 bits: beyond the last result.
  if (Number.isInteger(number)) fields[name] = Math.max(-1, Math.min(number, 2 ** 31 - 1));
  else problems.push({ field: name, description: "must be a whole number" });
};

const readParameters = (message: MessageFact, pairs: Iterable<readonly [string, Json]>): { fields: JsonObject; problems: Violation[] } => {
  const fields: JsonObject = {};
  const problems: Violation[] = [];
  for (const [name, value] of pairs) setParameter(message, fields, name, value, problems);
  return { fields, problems };
};

const scimCall = (
  context: ServerContext,
  request: HttpRequest,
  { method, fields }: ScimMatch,
  query: string,
  untimed: Untimed,
  isSearch: boolean,
): UnreadCall => {
  const { input } = method;
  const inPath: JsonObject = Object.fromEntries([...fields].map(([name, value]) => [input.byName.get(name)?.json ?? name, value]));
  const ifMatch = input.byName.has("if_match") ? headerOf(request, "if-match") : undefined;
  // An empty If-Match matches nothing (RFC 9110, 13.1.1); an absent one matches everything.
  if (ifMatch !== undefined) inPath.ifMatch = ifMatch || '""';

  const reading = (found: JsonObject, problems: Violation[]): RequestReading => ({ ...readingOf({ ...found, ...inPath }), problems });
  const inQuery = (): { fields: JsonObject; problems: Violation[] } => {
    const { pairs, problems } = parseParameters(query);
    const read = readParameters(input, pairs);
    return { fields: read.fields, problems: [...problems, ...read.problems] };
  };
  const readDocument = async (): Promise<{ document: JsonObject; problems: Violation[] }> => {
    const { body, problems } = readJson(await untimed(readRequestBody(context, request, context.bounds.scimBodyBytesMax)), context.budget, false);
    if (problems.length > 0 || (body !== undefined && !Array.isArray(body))) return { document: Array.isArray(body) || !body ? {} : body, problems };
    return { document: {}, problems: [{ field: "body", description: "must be a JSON object" }] };
  };
  const readWithBody = async (): Promise<RequestReading> => {
    const { document, problems } = await readDocument();
    if (isSearch) {
      const read = readParameters(input, Object.entries(document));
      return reading(read.fields, [...problems, ...read.problems]);
    }
    const read = inQuery();
    return reading({ ...read.fields, document }, [...problems, ...read.problems]);
  };
  const readUrl = (): RequestReading => {
    const read = inQuery();
    return reading(read.fields, read.problems);
  };
  return unreadCall(
    method,
    {
      authorization: headerOf(request, "authorization"),
      requestId: request.requestId,
      origin: () => context.originOf(request.address, request.headers),
      requestInUrl: () => inPath,
    },
    isSearch || input.byName.has("document") ? readWithBody : readUrl,
  );
};

/** Returns a resource's path: its collection (`/scim/v2/{identity_provider_uid}/Users`) and the last segment of its uid. */
const resourceAddress = (template: string, uid: string): string => {
  const at = uid.lastIndexOf("/");
  const collection = template.replace("/{id}", "");
  return `${collection.replace("{identity_provider_uid}", uid.slice(0, at))}/${uid.slice(at + 1)}`;
};

const responseOf = (request: HttpRequest, { method }: ScimMatch, { message }: Reply, publicUrl: string): HttpResponse => {
  const headers = scimHeaders(request.requestId);
  const [version, uid] = [text(message, "etag"), text(message, "uid")];
  if (version !== "" && method.scim?.verb !== "DELETE") headers.push("etag", version);
  const document = message.document === undefined ? undefined : part(message, "document");
  if (!document) return { status: 204, headers: headers.slice(2), body: "" };
  const isCreated = method.scim?.verb === "POST";
  if (uid !== "") {
    const address = `${publicUrl.replace(/\/$/, "")}${resourceAddress(method.scim?.template ?? "", uid)}`;
    // RFC 7643, 3.1: the same as in `meta`.
    headers.push("content-location", address);
    if (isCreated) headers.push("location", address);
  }
  // RFC 7644, 3.14.
  if (!method.writes && version !== "" && matchesEtag(headerOf(request, "if-none-match"), version)) return { status: 304, headers: headers.slice(2), body: "" };
  return { status: isCreated ? 201 : 200, headers, body: JSON.stringify(document) };
};

/** Returns why there is no operation; the same for all callers and identity providers. */
const noOperation = (verb: string, path: string, allow: readonly string[]): Fault => {
  if (allow.length > 0) {
    const verbs = (allow.includes("GET") ? [...allow, "HEAD"] : [...allow]).sort().join(", ");
    return new Fault("UNIMPLEMENTED", `${verb} is not supported at this path; allowed: ${verbs}`, { httpStatus: 405, headers: { allow: verbs } });
  }
  if (/\/(?:Bulk|Me|\.search)(?:\/|$)/.test(path)) return new Fault("UNIMPLEMENTED", "Bulk, Me and search from the root are not supported");
  return new Fault("NOT_FOUND", "path not found in the SCIM API");
};

/** Serves every request below /scim/v2/. Never throws; returns exactly one response. */
export const scimTransport = (context: ServerContext): ((request: HttpRequest) => Promise<HttpResponse>) => {
  const { bounds, config, dependencies } = context;

  const answer = async (request: HttpRequest): Promise<HttpResponse> => {
    const { path: target, query } = splitTarget(request.target);
    const path = target.replace(/\/$/, "");
    if (request.fault) throw request.fault;
    if (request.target.length > bounds.urlBytesMax)
      throw new Fault("INVALID_ARGUMENT", `the URL is longer than ${bounds.urlBytesMax} bytes`, { httpStatus: 414 });
    // RFC 7644, 3.4.3: a search is a list with its parameters in the body.
    const isSearch = request.verb === "POST" && path.endsWith(searchEnd);
    const verb = isSearch || request.verb === "HEAD" ? "GET" : request.verb;
    const found = route(verb, isSearch ? path.slice(0, -searchEnd.length) : path);
    if (!found || !("method" in found) || (isSearch && found.fields.has("id"))) {
      throw noOperation(request.verb, path, found && "allow" in found ? found.allow : []);
    }
    if (request.hasBody && request.verb !== "GET" && request.verb !== "DELETE" && contentTypeOf(request) === "form")
      throw new Fault("INVALID_ARGUMENT", "send application/scim+json", { httpStatus: 415, headers: { accept: "application/scim+json" } });
    request.call.operation = found.method.name;
    const reply = await withDeadline(bounds.callDeadlineMs, (untimed) => dependencies.serve(scimCall(context, request, found, query, untimed, isSearch)));
    return responseOf(request, found, reply, config.publicUrl);
  };

  return async (request) => {
    request.call.protocol = "scim";
    try {
      return await answer(request);
    } catch (thrown) {
      const fault = toFault(thrown);
      request.call.refuse(fault);
      const about = { domain: platformDomain, serviceDomain: config.serviceDomain, requestId: request.requestId };
      logFault(config.log, fault, about, `${request.verb} ${splitTarget(request.target).path}`);
      const { status, body } = scimError(fault);
      return { status, headers: [...scimHeaders(request.requestId), ...errorHeaders(fault)], body };
    }
  };
};
