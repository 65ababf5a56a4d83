// Exchanges a token of another issuer for one of Gantry (POST /sts/exchange), and renews it.

import { type JsonObject, text } from "#base/json.ts";
import { type ClientOptions, createClient } from "./client.ts";
import { ApiError } from "./error.ts";
import { operations } from "./gen/operations.ts";
import { shapeOfRow } from "./table.ts";
import { keptToken, lifetimeOfToken, type KeptTokenOptions, type TokenSource } from "./tokens.ts";

export interface ExchangeOptions extends Omit<ClientOptions, "token">, KeptTokenOptions {
  /** The token of the other issuer, or a token source that is called for each exchange (`fileToken`, or a function). */
  readonly subjectToken: string | TokenSource;
  /** Uid of the identity to act as (default: the user of the token). */
  readonly identity?: string;
  /** The audience of the new token (default: the server). */
  readonly audience?: readonly string[];
  /** Uids of groups that the token is limited to. */
  readonly scopes?: readonly string[];
  /** Names of capabilities that the token is limited to. */
  readonly capabilities?: readonly string[];
}

/**
 * A token source for CI: exchanges the token of another issuer (GitHub Actions, GitLab, Kubernetes) for one of Gantry, keeps it, and
 * renews it before it expires. Requests fail with UNAUTHENTICATED or PERMISSION_DENIED if the server does not accept the other token.
 *
 * @example
 * ```ts
 * const server = "https://gantry.example.com";
 * const token = exchangedToken({ server, subjectToken: fileToken("/var/run/secrets/gantry/token"), identity: "IDENTITY_UID" });
 * const gantry = new Gantry({ server, token });
 * ```
 */
export const exchangedToken = ({ subjectToken, identity, audience, scopes, capabilities, leftMs, ...options }: ExchangeOptions): TokenSource => {
  const client = createClient({ ...options, token: subjectToken });
  const request: JsonObject = {
    aud: [...(audience ?? [client.server])],
    ...(identity === undefined ? {} : { identity }),
    ...(scopes === undefined ? {} : { scopes: [...scopes] }),
    ...(capabilities === undefined ? {} : { cap: [...capabilities] }),
  };
  const issue = async (): Promise<{ token: string; lifetimeMs: number }> => {
    const answer = await client.call(shapeOfRow(operations.oidcSecurityTokenExchange), request);
    const token = text(answer, "token");
    if (token === "") throw new ApiError("UNAUTHENTICATED", `${client.server} returned no token for the exchange`, { reason: "NO_TOKEN" });
    return { token, lifetimeMs: lifetimeOfToken(token) ?? Math.max(Date.parse(text(answer, "expiry")) - Date.now(), 0) };
  };
  return keptToken(issue, { clock: options.clock, ...(leftMs === undefined ? {} : { leftMs }) });
};
