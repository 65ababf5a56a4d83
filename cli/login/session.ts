// The stored `gantry login` session: returns its token and renews it before it expires. A refresh token works once and reuse
// revokes the session (server/iam/signin/refresh.ts), so one process renews under a lock and the others read its result.

import { Fault } from "#base/fault.ts";
import { text } from "#base/json.ts";
import { discoverIssuer, refusalText, requestJson } from "./issuer-client.ts";
import { withLock } from "./lock.ts";
import { unverifiedClaims } from "./person.ts";
import { listStoredTokens, readStoredToken, storeToken, tokenFile, type TokenPlace } from "./token-cache.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** Returns milliseconds since 1970; 0 if the token has no expiry. */
export const tokenEndMs = (token: string): number => {
  const { exp } = unverifiedClaims(token);
  return typeof exp === "number" ? exp * 1000 : 0;
};

/** Returns the servers that the user is signed in at. A token counts only for its issuer, and only in that server's folder. */
export const listSessionIssuers = (environment: Environment): string[] =>
  listStoredTokens(environment).flatMap(({ file, token }) => {
    const issuer = text(unverifiedClaims(token), "iss");
    const protocol = URL.parse(issuer)?.protocol;
    return (protocol === "https:" || protocol === "http:") && tokenFile(environment, issuer, "oidc-token") === file ? [issuer] : [];
  });

/** Uses the refresh token. Throws UNAUTHENTICATED if the server rejects it. */
const renewTokens = async (environment: Environment, place: TokenPlace, refreshToken: string, stop: AbortSignal): Promise<string> => {
  const issuer = place.audience;
  const { tokenEndpoint } = await discoverIssuer(issuer, stop);
  const form = new URLSearchParams({ grant_type: "refresh_token", refresh_token: refreshToken });
  const response = await requestJson(tokenEndpoint, stop, { form });
  const { status, body } = response;
  if (status !== 200 && status !== 400 && status !== 401) throw new Fault("UNAVAILABLE", `${issuer} refused to renew the sign-in: ${refusalText(response)}`);
  const [access, refresh] = [text(body, "access_token"), text(body, "refresh_token")];
  if (status !== 200 || access === "" || refresh === "") {
    // Delete it, unless another program has stored its successor.
    if (readStoredToken(environment, place, "refresh-token") === refreshToken) storeToken(environment, place, "refresh-token", undefined);
    throw new Fault("UNAUTHENTICATED", `the sign-in at ${issuer} has expired: ${refusalText(response)}`);
  }
  storeToken(environment, place, "refresh-token", refresh);
  storeToken(environment, place, "oidc-token", access);
  return access;
};

/** Renews by other means than a refresh token: exchanges the identity token in a file again. */
type Renewal = (stop: AbortSignal) => Promise<string>;

export interface SessionOptions {
  /** Distinguishes several sign-ins at one server. */
  readonly alias?: string | undefined;
  readonly renew?: Renewal | undefined;
  /** The command that signs in, for the error message. */
  readonly remedy?: string;
}

/**
 * Returns the session's access token with at least `leftMs` of lifetime if it can be renewed, otherwise the current one. Infinity
 * forces a renewal. Throws UNAUTHENTICATED without a session, UNAVAILABLE if the server must renew it and does not respond.
 */
export const sessionToken = async (
  environment: Environment,
  issuer: string,
  leftMs: number,
  stop: AbortSignal,
  { alias, renew, remedy = `gantry login --server ${issuer}` }: SessionOptions = {},
): Promise<string> => {
  const place = { audience: issuer, alias };
  const stored = (): string => readStoredToken(environment, place, "oidc-token") ?? "";
  const isGood = (token: string, forMs: number): boolean => tokenEndMs(token) > Date.now() + forMs;
  if (isGood(stored(), leftMs)) return stored();
  const none = new Fault("UNAUTHENTICATED", `authentication required at ${issuer}. Run ${remedy}`);
  if (renew === undefined && readStoredToken(environment, place, "refresh-token") === undefined) {
    if (!isGood(stored(), 0)) throw none;
    if (Number.isFinite(leftMs)) return stored();
    throw new Fault("FAILED_PRECONDITION", `the sign-in at ${issuer} cannot be renewed. Run ${remedy}`);
  }
  return withLock(`${tokenFile(environment, place, "refresh-token")}.lock`, stop, async () => {
    if (isGood(stored(), leftMs)) return stored();
    const refreshToken = readStoredToken(environment, place, "refresh-token");
    try {
      if (renew !== undefined) {
        const access = await renew(stop);
        storeToken(environment, place, "oidc-token", access);
        return access;
      }
      if (refreshToken === undefined) throw none;
      return await renewTokens(environment, place, refreshToken, stop);
    } catch (thrown) {
      // The current token is still valid.
      if (thrown instanceof Fault && Number.isFinite(leftMs) && isGood(stored(), 0)) return stored();
      throw thrown;
    }
  });
};
