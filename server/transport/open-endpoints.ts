// Paths beside the contract: the issuer's own (discovery, keys, RFC 8693 token exchange), the two that tell whether the
// server is alive and ready, and the documents of the open feed. None of them needs a token.

import type { Endpoint } from "#base/endpoint.ts";
import { Fault, toFault } from "#base/fault.ts";
import type { JsonObject } from "#base/json.ts";
import type { RequestSource } from "#base/origin.ts";
import { contentTypeOf, readRequestBody, readRequestText } from "./body.ts";
import { headerOf, type HttpRequest, type HttpResponse } from "./http-message.ts";
import { logFault, oauthError } from "./render.ts";
import type { ServerContext } from "./server-context.ts";

/** Handlers of one path by HTTP method. */
type Handlers = Readonly<Record<string, (request: HttpRequest) => Promise<HttpResponse>>>;

interface OpenPath {
  readonly handlers: Handlers;
  /** Whoever sends an Authorization header is answered by the operation of the contract at this path. */
  readonly yieldsToToken: boolean;
  /** What the log and the metrics call it. */
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

/** Whoever asks for JSON and not for pages: a browser names text/html, and most programs name nothing. */
const isProgram = (request: HttpRequest): boolean => {
  const accepted = headerOf(request, "accept") ?? "";
  return /application\/json/i.test(accepted) && !/text\/html/i.test(accepted);
};

/** The handlers of another module's endpoint. */
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
          // Only when it is asked for: whoever is refused has nothing read of it.
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
        // The same refusal as the error body that every path has (AIP-193).
        if (fault !== undefined && isProgram(request)) throw fault;
        return { status, headers: ["x-request-id", request.requestId, ...Object.entries(headers).flat()], body };
      },
    ]),
  );
};

/** Keys may be cached by whoever verifies our tokens, but for less time than a rotation takes to need the new one. */
const cachedBriefly = "public, max-age=60";

/** An endpoint of OAuth: a form in, JSON or the error of RFC 6749 out. */
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
    // When another try is worth it.
    if (fault.code === "RESOURCE_EXHAUSTED") response.headers.push(...Object.entries(fault.headers).flat());
    if (status === 401) response.headers.push("www-authenticate", "Bearer");
    return response;
  }
};

export interface OpenEndpoints {
  /** The handlers of a path that has a name; undefined for any other. */
  named(path: string): OpenPath | undefined;
  /** The same of documents and pages, each of whose sources is asked in turn: for a path that leads to no operation. */
  found(path: string): OpenPath | undefined;
}

/** The handlers of open paths. */
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

/** The fixed ones among the open paths. */
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
    // Alive: the process answers. Ready: it can do its work; a load balancer takes it out otherwise.
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
