// Paths beside the contract: the issuer's own (discovery, keys, RFC 8693 token exchange) and the two that ask
// whether the server lives. All of them are open.

import { Fault, toFault } from "#base/fault.ts";
import type { JsonObject } from "#base/json.ts";
import { mediaOf, readBody } from "./body.ts";
import type { Doorway } from "./door.ts";
import { type Answer, type Ask, header } from "./exchange.ts";
import { noteFault, oauthError } from "./render.ts";

/** What authn gives for the paths that are no operation of the contract. */
export interface IssuerDoor {
  readonly discovery: () => JsonObject;
  readonly keys: () => Promise<JsonObject>;
  /** RFC 8693. Throws a Fault. */
  readonly exchangeToken: (form: URLSearchParams, authorization: string | undefined) => Promise<JsonObject>;
}

type Path = Readonly<Record<string, (ask: Ask) => Promise<Answer>>>;

const json = (ask: Ask, status: number, body: JsonObject, caching = "no-store"): Answer => ({
  status,
  headers: ["content-type", "application/json", "x-request-id", ask.requestId, "cache-control", caching, "x-content-type-options", "nosniff"],
  body: JSON.stringify(body),
});

/** Keys may be kept by whoever verifies our tokens, but for less time than a rotation takes to need the new one. */
const shortly = "public, max-age=60";

const exchange = async (doorway: Doorway, ask: Ask): Promise<Answer> => {
  try {
    if (ask.bodied && mediaOf(ask) !== "form") {
      throw new Fault("INVALID_ARGUMENT", "send the parameters as application/x-www-form-urlencoded", { httpStatus: 415 });
    }
    const form = new URLSearchParams((await readBody(doorway, ask)).toString("utf8"));
    return json(ask, 200, await doorway.house.issuer.exchangeToken(form, header(ask, "authorization")));
  } catch (thrown) {
    const fault = toFault(thrown);
    noteFault(doorway.config.log, fault, { domain: "oidc", serviceDomain: doorway.config.serviceDomain, requestId: ask.requestId }, "POST /oauth/token");
    const { status, body } = oauthError(fault);
    const answer: Answer = { ...json(ask, status, {}), body };
    if (status === 401) answer.headers.push("www-authenticate", "Bearer");
    return answer;
  }
};

/** The open paths by path and verb. */
export const besides = (doorway: Doorway): ReadonlyMap<string, Path> => {
  const { house, config } = doorway;
  return new Map<string, Path>([
    ["/.well-known/openid-configuration", { GET: async (ask) => json(ask, 200, house.issuer.discovery(), shortly) }],
    ["/.well-known/jwks.json", { GET: async (ask) => json(ask, 200, await house.issuer.keys(), shortly) }],
    ["/oauth/token", { POST: (ask) => exchange(doorway, ask) }],
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
