// Paths beside the contract: the issuer's own (discovery, keys, RFC 8693 token exchange) and the two that ask
// whether the server lives; and the documents of the open feed. All of them are open.

import { Fault, toFault } from "#base/fault.ts";
import type { JsonObject } from "#base/json.ts";
import type { Entrance } from "#base/origin.ts";
import { mediaOf, readBody } from "./body.ts";
import type { Doorway } from "./door.ts";
import { type Answer, type Ask, header } from "./exchange.ts";
import { noteFault, oauthError } from "./render.ts";

/** What authn gives for the paths that are no operation of the contract. */
export interface IssuerDoor {
  readonly discovery: () => JsonObject;
  readonly keys: () => Promise<JsonObject>;
  /** Every grant of the token endpoint. Throws a Fault. */
  readonly exchangeToken: (form: URLSearchParams, authorization: string | undefined, from: Entrance) => Promise<JsonObject>;
  /** RFC 8628, 3.1. Throws a Fault. */
  readonly beginDevice: (form: URLSearchParams, from: Entrance) => Promise<JsonObject>;
  /** Signing in: pages and what belongs to them, by path. */
  readonly shown: ReadonlyMap<string, ShownPath>;
}

/** A request to a path beside the contract, free of its protocol. */
export interface Asked extends Entrance {
  readonly query: URLSearchParams;
  /** The body's form; empty for GET. */
  readonly form: URLSearchParams;
  readonly headers: { readonly cookie: string | undefined; readonly authorization: string | undefined; readonly origin: string | undefined; readonly ifNoneMatch?: string | undefined };
}

/** What such a path shows: a page, an address to go to, a document. */
export interface Shown {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Its answers by verb. They throw Faults like everybody. */
export type ShownPath = Readonly<Partial<Record<"GET" | "POST", (asked: Asked) => Promise<Shown>>>>;

type Path = Readonly<Record<string, (ask: Ask) => Promise<Answer>>>;

const json = (ask: Ask, status: number, body: JsonObject, caching = "no-store"): Answer => ({
  status,
  headers: ["content-type", "application/json", "x-request-id", ask.requestId, "cache-control", caching, "x-content-type-options", "nosniff"],
  body: JSON.stringify(body),
});

const formOf = async (doorway: Doorway, ask: Ask): Promise<URLSearchParams> => {
  if (ask.bodied && mediaOf(ask) !== "form") {
    throw new Fault("INVALID_ARGUMENT", "send the parameters as application/x-www-form-urlencoded", { httpStatus: 415 });
  }
  return new URLSearchParams((await readBody(doorway, ask)).toString("utf8"));
};

const fromOf = (doorway: Doorway, ask: Ask): Entrance => ({ origin: doorway.originOf(ask.address, ask.headers), requestId: ask.requestId });

const queryOf = ({ target }: Ask): URLSearchParams => new URLSearchParams(target.includes("?") ? target.slice(target.indexOf("?") + 1) : "");

/** A path of another room, behind this door. */
const shownBy = (doorway: Doorway, path: ShownPath): Path =>
  Object.fromEntries(
    Object.entries(path).map(([verb, show]) => [
      verb,
      async (ask: Ask): Promise<Answer> => {
        const { status, headers, body } = await show({
          query: queryOf(ask),
          form: verb === "POST" ? await formOf(doorway, ask) : new URLSearchParams(),
          headers: { cookie: header(ask, "cookie"), authorization: header(ask, "authorization"), origin: header(ask, "origin"), ifNoneMatch: header(ask, "if-none-match") },
          ...fromOf(doorway, ask),
        });
        return { status, headers: ["x-request-id", ask.requestId, ...Object.entries(headers).flat()], body };
      },
    ]),
  );

/** Keys may be kept by whoever verifies our tokens, but for less time than a rotation takes to need the new one. */
const shortly = "public, max-age=60";

/** An endpoint of OAuth: a form in, JSON or the error of RFC 6749 out. */
const oauth = async (doorway: Doorway, ask: Ask, path: string, answerTo: (form: URLSearchParams, from: Entrance) => Promise<JsonObject>): Promise<Answer> => {
  try {
    return json(ask, 200, await answerTo(await formOf(doorway, ask), fromOf(doorway, ask)));
  } catch (thrown) {
    const fault = toFault(thrown);
    noteFault(doorway.config.log, fault, { domain: "oidc", serviceDomain: doorway.config.serviceDomain, requestId: ask.requestId }, `POST ${path}`);
    const { status, body } = oauthError(fault);
    const answer: Answer = { ...json(ask, status, {}), body };
    if (status === 401) answer.headers.push("www-authenticate", "Bearer");
    return answer;
  }
};

/** The open paths by path and verb. */
export const besides = (doorway: Doorway): ((path: string) => Path | undefined) => {
  const fixed = fixedPaths(doorway);
  return (path) => {
    const document = fixed.has(path) ? undefined : doorway.house.documents?.(path);
    return document ? shownBy(doorway, document) : fixed.get(path);
  };
};

const fixedPaths = (doorway: Doorway): ReadonlyMap<string, Path> => {
  const { house, config } = doorway;
  return new Map<string, Path>([
    ...[...house.issuer.shown].map(([path, shown]): [string, Path] => [path, shownBy(doorway, shown)]),
    ["/.well-known/openid-configuration", { GET: async (ask) => json(ask, 200, house.issuer.discovery(), shortly) }],
    ["/.well-known/jwks.json", { GET: async (ask) => json(ask, 200, await house.issuer.keys(), shortly) }],
    ["/oauth/token", { POST: (ask) => oauth(doorway, ask, "/oauth/token", (form, from) => house.issuer.exchangeToken(form, header(ask, "authorization"), from)) }],
    ["/oauth/device_authorization", { POST: (ask) => oauth(doorway, ask, "/oauth/device_authorization", house.issuer.beginDevice) }],
    // Alive: the process answers. Ready: it can do its work; a load balancer takes it out otherwise.
    ["/healthz", { GET: async (ask) => json(ask, 200, { status: "ok", version: config.version }) }],
    [
      "/readyz",
      {
        GET: async (ask) => {
          if (doorway.draining()) return json(ask, 503, { status: "stopping" });
          return (await house.ready()) ? json(ask, 200, { status: "ok" }) : json(ask, 503, { status: "not ready" });
        },
      },
    ],
  ]);
};
