// Paths outside the contract that need no token: the issuer's (discovery, keys, RFC 8693 token exchange), liveness and readiness, and
// the documents of open feeds.

import type { Endpoint } from "#base/endpoint.ts";
import { Fault, toFault } from "#base/fault.ts";
import type { JsonObject } from "#base/json.ts";
import type { RequestSource } from "#base/origin.ts";
import { contentTypeOf, readRequestBody, readRequestText } from "./body.ts";
import { headerOf, type HttpRequest, type HttpResponse } from "./http-message.ts";
import { logFault, oauthError } from "./render.ts";
import type { ServerContext } from "./server-context.ts";

type Handlers = Readonly<Record<string, (request: HttpRequest) => Promise<HttpResponse>>>;

interface OpenPath {
  readonly handlers: Handlers;
  /** Requests with an Authorization header are served by the contract's operation at this path. */
  readonly yieldsToToken: boolean;
  readonly name: string;
}

const jsonResponse = ({ requestId }: HttpRequest, status: number, body: JsonObject, caching = "no-store"): HttpResponse => ({
  status,
  headers: ["content-type", "application/json", "x-request-id", requestId, "cache-control", caching, "x-content-type-options", "nosniff"],
  body: JSON.stringify(body),
});

const readForm = async (context: ServerContext, request: HttpRequest): Promise<URLSearchParams> => {
  if (request.hasBody && contentTypeOf(request) !== "form") {
    throw new Fault("INVALID_ARGUMENT", "send the parameters as application/x-www-form-urlencoded", { httpStatus: 415 });
  }
  return new URLSearchParams((await readRequestBody(context, request, context.bounds.openBytesMax)).toString("utf8"));
};

const sourceOf = (context: ServerContext, { address, headers, requestId }: HttpRequest): RequestSource => ({
  origin: context.originOf(address, headers),
  requestId,
});

const queryOf = ({ target }: HttpRequest): URLSearchParams => new URLSearchParams(target.includes("?") ? target.slice(target.indexOf("?") + 1) : "");

/** True for clients that accept JSON but not text/html; browsers accept text/html, and most programs send neither. */
const isProgram = (request: HttpRequest): boolean => {
  const accepted = headerOf(request, "accept") ?? "";
  return /application\/json/i.test(accepted) && !/text\/html/i.test(accepted);
};

const handlersOf = (context: ServerContext, { GET: get, POST: post, textBytesMax }: Endpoint): Handlers => {
  const verbs = { ...(get ? { GET: get } : {}), ...(post ? { POST: post } : {}) };
  return Object.fromEntries(
    Object.entries(verbs).map(([verb, handle]) => [
      verb,
      async (request: HttpRequest): Promise<HttpResponse> => {
        const { status, headers, body, fault } = await handle({
          query: queryOf(request),
          isHead: request.verb === "HEAD",
          form: verb === "POST" && textBytesMax === undefined ? await readForm(context, request) : new URLSearchParams(),
          // Lazy, so that a refused request's body is not read.
          readText: async () => (textBytesMax === undefined ? "" : readRequestText(context, request, textBytesMax)),
          headerOf: (name) => (name === "host" ? request.host : headerOf(request, name)),
          headers: {
            cookie: headerOf(request, "cookie"),
            authorization: headerOf(request, "authorization"),
            origin: headerOf(request, "origin"),
            accept: headerOf(request, "accept"),
            ifNoneMatch: headerOf(request, "if-none-match"),
            ifModifiedSince: headerOf(request, "if-modified-since"),
            acceptEncoding: headerOf(request, "accept-encoding"),
          },
          ...sourceOf(context, request),
        });
        if (fault !== undefined) request.call.refuse(fault);
        // The same error as an AIP-193 body.
        if (fault !== undefined && isProgram(request)) throw fault;
        return { status, headers: ["x-request-id", request.requestId, ...Object.entries(headers).flat()], body };
      },
    ]),
  );
};

/** Verifiers may cache keys, but more briefly than a rotation takes to use the new key. */
const cachedBriefly = "public, max-age=60";

/** An OAuth endpoint: form in, JSON or an RFC 6749 error out. */
const oauthResponse = async (
  context: ServerContext,
  request: HttpRequest,
  path: string,
  grant: (form: URLSearchParams, from: RequestSource) => Promise<JsonObject>,
): Promise<HttpResponse> => {
  try {
    return jsonResponse(request, 200, await grant(await readForm(context, request), sourceOf(context, request)));
  } catch (thrown) {
    const fault = toFault(thrown);
    request.call.refuse(fault);
    logFault(context.config.log, fault, { domain: "oidc", serviceDomain: context.config.serviceDomain, requestId: request.requestId }, `POST ${path}`);
    const { status, body } = oauthError(fault);
    const response: HttpResponse = { ...jsonResponse(request, status, {}), body };
    // The time of the next retry.
    if (fault.code === "RESOURCE_EXHAUSTED") response.headers.push(...Object.entries(fault.headers).flat());
    if (status === 401) response.headers.push("www-authenticate", "Bearer");
    return response;
  }
};

export interface OpenEndpoints {
  /** Returns the handlers of a fixed path; undefined for other paths. */
  named(path: string): OpenPath | undefined;
  /** Returns those of documents and pages, by asking their sources in turn; only for paths without an operation. */
  found(path: string): OpenPath | undefined;
}

export const openEndpoints = (context: ServerContext): OpenEndpoints => {
  const fixed = new Map([...fixedEndpoints(context)].map(([path, handlers]): [string, OpenPath] => [path, { handlers, yieldsToToken: false, name: path }]));
  return {
    named: (path) => fixed.get(path),
    found: (path) => {
      const document = context.dependencies.issuer.endpointAt?.(path) ?? context.dependencies.documents?.(path);
      return document && { handlers: handlersOf(context, document), yieldsToToken: document.yieldsToToken ?? false, name: document.name ?? "documents" };
    },
  };
};

export interface OpenPathName {
  readonly path: string;
  readonly verbs: readonly string[];
}

export const openPathsOf = (context: ServerContext): OpenPathName[] =>
  [...fixedEndpoints(context)].map(([path, handlers]) => ({ path, verbs: Object.keys(handlers) }));

const fixedEndpoints = (context: ServerContext): ReadonlyMap<string, Handlers> => {
  const { dependencies, config } = context;
  const { issuer } = dependencies;
  return new Map<string, Handlers>([
    ...[...issuer.endpoints].map(([path, endpoint]): [string, Handlers] => [path, handlersOf(context, endpoint)]),
    ["/.well-known/openid-configuration", { GET: async (request) => jsonResponse(request, 200, issuer.discovery(), cachedBriefly) }],
    ["/.well-known/oauth-authorization-server", { GET: async (request) => jsonResponse(request, 200, issuer.authorizationServer(), cachedBriefly) }],
    ["/.well-known/jwks.json", { GET: async (request) => jsonResponse(request, 200, await issuer.keys(), cachedBriefly) }],
    [
      "/oauth/token",
      {
        POST: (request) =>
          oauthResponse(context, request, "/oauth/token", (form, from) => issuer.exchangeToken(form, headerOf(request, "authorization"), from)),
      },
    ],
    ["/oauth/revoke", { POST: (request) => oauthResponse(context, request, "/oauth/revoke", issuer.revoke) }],
    ["/oauth/device_authorization", { POST: (request) => oauthResponse(context, request, "/oauth/device_authorization", issuer.beginDevice) }],
    // Alive: the process responds. Ready: it can serve; otherwise a load balancer removes it.
    ["/healthz", { GET: async (request) => jsonResponse(request, 200, { status: "ok", version: config.version }) }],
    [
      "/readyz",
      {
        GET: async (request) => {
          if (context.draining()) return jsonResponse(request, 503, { status: "stopping" });
          return (await dependencies.ready()) ? jsonResponse(request, 200, { status: "ok" }) : jsonResponse(request, 503, { status: "not ready" });
        },
      },
    ],
  ]);
};
