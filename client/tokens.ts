// Token sources. The client calls its source before each request; the source decides on caching.

import { isObject, type Json } from "#base/json.ts";
import { clientLimits } from "#base/client-limits.ts";

export interface TokenWanted {
  /** Ends the wait of this request; other requests continue to wait. */
  readonly signal: AbortSignal;
  /** The token that the server has just refused: return another, if there is one. */
  readonly refused?: string;
}

/** Returns a token. If it throws, the request fails with the same error. */
export type TokenSource = (wanted: TokenWanted) => string | Promise<string>;

export interface IssuedToken {
  readonly token: string;
  /** How long it is valid from now on. */
  readonly lifetimeMs: number;
}

export interface KeptTokenOptions {
  /** Milliseconds of any origin, for tests. */
  readonly clock?: (() => number) | undefined;
  /** Renews a token that is valid for no longer than this (default: five minutes). */
  readonly leftMs?: number;
}

/** Returns the promise's result, or throws the signal's reason if that comes first. */
const whileWaiting = <T>(work: Promise<T>, signal: AbortSignal): Promise<T> =>
  new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const stop = (): void => reject(signal.reason);
    signal.addEventListener("abort", stop, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });

/** Returns a JWT's lifetime by the issuer's clock, because the local clock may be wrong; undefined if the token does not state it. */
export const lifetimeOfToken = (token: string): number | undefined => {
  try {
    const payload = (token.split(".")[1] ?? "").replaceAll("-", "+").replaceAll("_", "/");
    const claims = JSON.parse(atob(payload)) as Json;
    if (!isObject(claims) || typeof claims.exp !== "number" || typeof claims.iat !== "number") return undefined;
    return (claims.exp - claims.iat) * 1000;
  } catch {
    return undefined;
  }
};

/**
 * A token source that keeps a token, and renews it before it expires or if it is refused: one renewal at a time. While a renewal fails,
 * the token is used until it expires.
 *
 * @example
 * ```ts
 * const token = keptToken(async () => {
 *   const response = await fetch("https://vault.example.com/gantry-token");
 *   return { token: await response.text(), lifetimeMs: 3_600_000 };
 * });
 * const gantry = new Gantry({ server: "https://gantry.example.com", token });
 * ```
 */
export const keptToken = (
  issue: () => Promise<IssuedToken>,
  { clock = Date.now, leftMs = clientLimits.clientTokenLeftMs }: KeptTokenOptions = {},
): TokenSource => {
  let held: { readonly token: string; readonly untilMs: number; readonly renewAtMs: number } | undefined;
  let renewal: Promise<string> | undefined;
  const renew = async (): Promise<string> => {
    const { token, lifetimeMs } = await issue();
    const nowMs = clock();
    // A token with a lifetime below the margin is renewed at half of it, not with every call.
    held = { token, untilMs: nowMs + lifetimeMs, renewAtMs: nowMs + Math.max(lifetimeMs - leftMs, lifetimeMs / 2) };
    return token;
  };
  const startRenewal = (): Promise<string> => {
    renewal ??= renew().finally(() => {
      renewal = undefined;
    });
    return renewal;
  };
  return async ({ signal, refused }) => {
    signal.throwIfAborted();
    const known = held?.token === refused ? undefined : held;
    if (known && clock() < known.renewAtMs) return known.token;
    try {
      return await whileWaiting(startRenewal(), signal);
    } catch (thrown) {
      signal.throwIfAborted();
      if (known && clock() < known.untilMs) return known.token;
      throw thrown;
    }
  };
};

/**
 * A token source that reads a file before each request, since Kubernetes and CI systems renew such files. In Node only.
 *
 * @example
 * ```ts
 * const gantry = new Gantry({ server: "https://gantry.example.com", token: fileToken("/var/run/secrets/gantry/token") });
 * ```
 */
export const fileToken =
  (path: string): TokenSource =>
  async () =>
    (await (await import("./read-file.ts")).readTokenFile(path)).trim();
