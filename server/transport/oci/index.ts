// The OCI Distribution protocol: serves /v2/ as calls of the common pipeline. The contract has the operations, their paths, and
// whether they take or return content.

import { Fault, toFault } from "#base/fault.ts";
import type { JsonObject } from "#base/json.ts";
import { readingOf, type UnreadCall, unreadCall } from "#contract/call.ts";
import { methods } from "#contract/catalog.ts";
import type { FieldFact } from "#contract/facts.ts";
import { withDeadline } from "../deadline.ts";
import { headerOf, type HttpRequest, type HttpResponse } from "../http-message.ts";
import { splitTarget } from "../paths.ts";
import { logFault, platformDomain } from "../render.ts";
import type { ServerContext } from "../server-context.ts";
import { readRequestBody } from "../body.ts";
import { contentOf } from "./content.ts";
import { type Challenge, distributionError } from "./errors.ts";
import { distributionResponse, uploadLocation } from "./respond.ts";
import { type DistributionMatch, distributionRouter } from "./route.ts";
import { neededScopes } from "./scope.ts";

const route = distributionRouter(methods);

/** The token endpoint for registry clients (oci: 4). */
export const registryTokenPath = "/v2/token";

export const isDistributionPath = (path: string): boolean => path === "/v2" || path.startsWith("/v2/");

const apiVersion = ["docker-distribution-api-version", "registry/2.0"];

const headerFields: Readonly<Record<string, string>> = {
  content_type: "content-type",
  content_range: "content-range",
  range: "range",
  if_match: "if-match",
  if_none_match: "if-none-match",
};

/** A range applies only to the content of If-Range (RFC 9110, 13.1.5); a blob is immutable. */
const isOtherContent = (request: HttpRequest, { fields }: DistributionMatch): boolean => {
  const header = headerOf(request, "if-range");
  return header !== undefined && header.trim() !== `"${fields.get("digest") ?? ""}"`;
};

const requestFieldsOf = (request: HttpRequest, match: DistributionMatch, query: string): JsonObject => {
  const { input } = match.method;
  const out: JsonObject = {};
  const set = (field: FieldFact | undefined, values: readonly string[]): void => {
    if (field) out[field.json] = field.shape === "list" ? [...values] : (values[0] ?? "");
  };
  const parameters = new URLSearchParams(query);
  for (const name of new Set(parameters.keys())) {
    const field = input.byName.get(name.replaceAll("-", "_"));
    // Ignores unknown parameters: clients add hints of their own (ns=).
    if (field && field.kind === "string" && !Object.hasOwn(headerFields, field.name)) set(field, parameters.getAll(name));
  }
  for (const [name, header] of Object.entries(headerFields)) {
    const value = headerOf(request, header);
    if (value !== undefined && !(name === "range" && isOtherContent(request, match))) set(input.byName.get(name), [value]);
  }
  for (const [name, value] of match.fields) set(input.byName.get(name), [value]);
  if (request.verb === "HEAD" && input.byName.has("head")) out.head = true;
  return out;
};

const basicScheme = /^basic +/i;

/** Returns the credentials: a bearer token, or a user name with a token as password (oci: 4). "_token" means the token's own subject. */
export const credentialsOf = (authorization: string | undefined): { readonly authorization: string | undefined; readonly identity: string | undefined } => {
  const start = authorization === undefined ? undefined : basicScheme.exec(authorization)?.[0].length;
  if (authorization === undefined || start === undefined) return { authorization, identity: undefined };
  const pair = Buffer.from(authorization.slice(start), "base64").toString("utf8");
  const colon = pair.indexOf(":");
  const user = colon < 0 ? pair : pair.slice(0, colon);
  return { authorization: `Bearer ${colon < 0 ? "" : pair.slice(colon + 1)}`, identity: user === "_token" || user === "" ? undefined : user };
};

const distributionCall = (context: ServerContext, request: HttpRequest, match: DistributionMatch, query: string): UnreadCall => {
  const { authorization, identity } = credentialsOf(headerOf(request, "authorization"));
  const fields = requestFieldsOf(request, match, query);
  return unreadCall(
    match.method,
    {
      authorization,
      identity,
      requestId: request.requestId,
      origin: () => context.originOf(request.address, request.headers),
      requestInUrl: () => fields,
      ...(match.method.distribution?.takesContent ? { content: contentOf(request, context.bounds.contentSilenceMs) } : {}),
    },
    () => readingOf(fields),
  );
};

/** Serves requests below /v2/. Never throws; returns exactly one response. */
export const distributionTransport = (context: ServerContext): ((request: HttpRequest) => Promise<HttpResponse>) => {
  const { bounds, config, dependencies } = context;
  const bare = config.publicUrl.replace(/\/$/, "");
  const service = new URL(config.publicUrl).host;

  const challengeOf = (request: HttpRequest, scopes: readonly string[]): Challenge => ({
    realm: `${bare}${registryTokenPath}`,
    service,
    scopes,
    hadToken: headerOf(request, "authorization") !== undefined,
  });

  const tokenResponse = async (request: HttpRequest, query: string, headers: readonly string[]): Promise<HttpResponse> => {
    if (request.verb !== "GET" && request.verb !== "POST")
      throw new Fault("UNIMPLEMENTED", "request a token with GET or POST", { httpStatus: 405, headers: { allow: "GET, POST" } });
    const form = request.verb === "POST" ? (await readRequestBody(context, request, bounds.openBytesMax)).toString("utf8") : "";
    const answer = await dependencies.issuer.registryToken({
      verb: request.verb,
      parameters: new URLSearchParams(request.verb === "POST" ? form : query),
      ...credentialsOf(headerOf(request, "authorization")),
      from: { origin: context.originOf(request.address, request.headers), requestId: request.requestId },
    });
    return { status: 200, headers: ["content-type", "application/json", "cache-control", "no-store", ...headers], body: JSON.stringify(answer) };
  };

  const operationResponse = async (request: HttpRequest, path: string, query: string, headers: readonly string[]): Promise<HttpResponse> => {
    const found = route(request.verb === "HEAD" ? "GET" : request.verb, path);
    if (found && "method" in found) {
      request.call.operation = found.method.name;
      const call = distributionCall(context, request, found, query);
      try {
        // Content has no total time limit; everything else has that of a call.
        const reply = call.content ? await dependencies.serve(call) : await withDeadline(bounds.callDeadlineMs, () => dependencies.serve(call));
        return await distributionResponse(request, found, reply, headers);
      } catch (thrown) {
        const fault = toFault(thrown);
        const location = fault.headers.range === undefined ? [] : Object.entries(uploadLocation(found)).flatMap(([name, value]) => [name, String(value)]);
        return failed(request, fault, neededScopes(found, new URLSearchParams(query)), [...headers, ...location]);
      }
    }
    if (found)
      throw new Fault("UNIMPLEMENTED", `${request.verb} is not supported here`, { httpStatus: 405, headers: { allow: [...found.allow, "HEAD"].join(", ") } });
    // A client without a token is challenged on any path (oci: 7).
    if (headerOf(request, "authorization") === undefined) throw new Fault("UNAUTHENTICATED", "authentication required");
    throw new Fault("UNIMPLEMENTED", "path not found in the registry API", { httpStatus: 404 });
  };

  const failed = (request: HttpRequest, fault: Fault, scopes: readonly string[], headers: readonly string[]): HttpResponse => {
    request.call.refuse(fault);
    const about = { domain: platformDomain, serviceDomain: config.serviceDomain, requestId: request.requestId };
    logFault(config.log, fault, about, `${request.verb} ${splitTarget(request.target).path}`);
    return distributionError(fault, challengeOf(request, scopes), headers);
  };

  return async (request) => {
    const headers = [...apiVersion, "x-request-id", request.requestId, "x-content-type-options", "nosniff"];
    const { path, query } = splitTarget(request.target);
    request.call.protocol = "oci";
    if (path === registryTokenPath) request.call.operation = path;
    try {
      if (request.fault) throw request.fault;
      if (request.target.length > bounds.urlBytesMax)
        throw new Fault("INVALID_ARGUMENT", `the URL is longer than ${bounds.urlBytesMax} bytes`, { httpStatus: 414 });
      return path === registryTokenPath ? await tokenResponse(request, query, headers) : await operationResponse(request, path, query, headers);
    } catch (thrown) {
      return failed(request, toFault(thrown), [], headers);
    }
  };
};
