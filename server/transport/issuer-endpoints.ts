// Paths beside the contract: the issuer's own (discovery, keys, RFC 8693 token exchange) and the two that ask
// whether the server lives; and the documents of the open feed. All of them are open.

import type { Endpoint } from "#base/endpoint.ts";
import { Fault, toFault } from "#base/fault.ts";
import type { JsonObject } from "#base/json.ts";
import type { RequestSource } from "#base/origin.ts";
import { mediaOf, readBody } from "./body.ts";
import type { ServerContext } from "./server-context.ts";
import { type HttpAnswer, type HttpRequest, header } from "./http-message.ts";
import { noteFault, oauthError } from "./render.ts";

/** What authn gives for the paths that are no operation of the contract. */
export interface IssuerEndpoints {
  readonly discovery: () => JsonObject;
  readonly keys: () => Promise<JsonObject>;
  /** Every grant of the token endpoint. Throws a Fault. */
  readonly exchangeToken: (form: URLSearchParams, authorization: string | undefined, from: RequestSource) => Promise<JsonObject>;
  /** RFC 8628, 3.1. Throws a Fault. */
  readonly beginDevice: (form: URLSearchParams, from: RequestSource) => Promise<JsonObject>;
  /** Signing in: pages and what belongs to them, by path. */
  readonly endpoints: ReadonlyMap<string, Endpoint>;
}

type Path = Readonly<Record<string, (ask: HttpRequest) => Promise<HttpAnswer>>>;

const json = (ask: HttpRequest, status: number, body: JsonObject, caching = "no-store"): HttpAnswer => ({
  status,
  headers: ["content-type", "application/json", "x-request-id", ask.requestId, "cache-control", caching, "x-content-type-options", "nosniff"],
  body: JSON.stringify(body),
});

const formOf = async (context: ServerContext, ask: HttpRequest): Promise<URLSearchParams> => {
  if (ask.bodied && mediaOf(ask) !== "form") {
    throw new Fault("INVALID_ARGUMENT", "send the parameters as application/x-www-form-urlencoded", { httpStatus: 415 });
  }
  return new URLSearchParams((await readBody(context, ask)).toString("utf8"));
};

const fromOf = (context: ServerContext, ask: HttpRequest): RequestSource => ({ origin: context.originOf(ask.address, ask.headers), requestId: ask.requestId });

const queryOf = ({ target }: HttpRequest): URLSearchParams => new URLSearchParams(target.includes("?") ? target.slice(target.indexOf("?") + 1) : "");

/** A path of another room, behind this door. */
const shownBy = (context: ServerContext, path: Endpoint): Path =>
  Object.fromEntries(
    Object.entries(path).map(([verb, show]) => [
      verb,
      async (ask: HttpRequest): Promise<HttpAnswer> => {
        const { status, headers, body } = await show({
          query: queryOf(ask),
          form: verb === "POST" ? await formOf(context, ask) : new URLSearchParams(),
          headers: {
            cookie: header(ask, "cookie"),
            authorization: header(ask, "authorization"),
            origin: header(ask, "origin"),
            ifNoneMatch: header(ask, "if-none-match"),
          },
          ...fromOf(context, ask),
        });
        return { status, headers: ["x-request-id", ask.requestId, ...Object.entries(headers).flat()], body };
      },
    ]),
  );

/** Keys may be kept by whoever verifies our tokens, but for less time than a rotation takes to need the new one. */
const shortly = "public, max-age=60";

/** An endpoint of OAuth: a form in, JSON or the error of RFC 6749 out. */
const oauth = async (
  context: ServerContext,
  ask: HttpRequest,
  path: string,
  answerTo: (form: URLSearchParams, from: RequestSource) => Promise<JsonObject>,
): Promise<HttpAnswer> => {
  try {
    return json(ask, 200, await answerTo(await formOf(context, ask), fromOf(context, ask)));
  } catch (thrown) {
    const fault = toFault(thrown);
    noteFault(context.config.log, fault, { domain: "oidc", serviceDomain: context.config.serviceDomain, requestId: ask.requestId }, `POST ${path}`);
    const { status, body } = oauthError(fault);
    const answer: HttpAnswer = { ...json(ask, status, {}), body };
    if (status === 401) answer.headers.push("www-authenticate", "Bearer");
    return answer;
  }
};

/** The open paths by path and verb. */
export const besides = (context: ServerContext): ((path: string) => Path | undefined) => {
  const fixed = fixedPaths(context);
  return (path) => {
    const document = fixed.has(path) ? undefined : context.dependencies.documents?.(path);
    return document ? shownBy(context, document) : fixed.get(path);
  };
};

const fixedPaths = (context: ServerContext): ReadonlyMap<string, Path> => {
  const { dependencies: services, config } = context;
  return new Map<string, Path>([
    ...[...services.issuer.endpoints].map(([path, shown]): [string, Path] => [path, shownBy(context, shown)]),
    ["/.well-known/openid-configuration", { GET: async (ask) => json(ask, 200, services.issuer.discovery(), shortly) }],
    ["/.well-known/jwks.json", { GET: async (ask) => json(ask, 200, await services.issuer.keys(), shortly) }],
    [
      "/oauth/token",
      { POST: (ask) => oauth(context, ask, "/oauth/token", (form, from) => services.issuer.exchangeToken(form, header(ask, "authorization"), from)) },
    ],
    ["/oauth/device_authorization", { POST: (ask) => oauth(context, ask, "/oauth/device_authorization", services.issuer.beginDevice) }],
    // Alive: the process answers. Ready: it can do its work; a load balancer takes it out otherwise.
    ["/healthz", { GET: async (ask) => json(ask, 200, { status: "ok", version: config.version }) }],
    [
      "/readyz",
      {
        GET: async (ask) => {
          if (context.draining()) return json(ask, 503, { status: "stopping" });
          return (await services.ready()) ? json(ask, 200, { status: "ok" }) : json(ask, 503, { status: "not ready" });
        },
      },
    ],
  ]);
};
