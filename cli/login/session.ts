// The sign-in that `gantry login` has kept, as other commands and docker's credential helper use it: its token, renewed when it
// is about to end. A refresh token works once, and using it twice ends the sign-in (server/iam/signin/refresh.ts), so that one
// program of this machine renews at a time, and the others find what it has brought.

import { Fault } from "#base/fault.ts";
import { text } from "#base/json.ts";
import { discoverIssuer, refusalText, requestJson } from "./issuer-client.ts";
import { withLock } from "./lock.ts";
import { unverifiedClaims } from "./person.ts";
import { listStoredTokens, readStoredToken, storeToken, tokenFile, type TokenPlace } from "./token-cache.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** Milliseconds since 1970; 0 where the token does not say. */
export const tokenEndMs = (token: string): number => {
  const { exp } = unverifiedClaims(token);
  return typeof exp === "number" ? exp * 1000 : 0;
};

/**
 * The servers that this machine's user is signed in at. A token counts for the server that it names as its issuer and for no
 * other, and only where a sign-in at that server has put it.
 */
export const listSessionIssuers = (environment: Environment): string[] =>
  listStoredTokens(environment).flatMap(({ file, token }) => {
    const issuer = text(unverifiedClaims(token), "iss");
    const protocol = URL.parse(issuer)?.protocol;
    return (protocol === "https:" || protocol === "http:") && tokenFile(environment, issuer, "oidc-token") === file ? [issuer] : [];
  });

/** Uses the refresh token up. Throws UNAUTHENTICATED where the server takes it no longer. */
const renewTokens = async (environment: Environment, place: TokenPlace, refreshToken: string, stop: AbortSignal): Promise<string> => {
  const issuer = place.audience;
  const { tokenEndpoint } = await discoverIssuer(issuer, stop);
  const form = new URLSearchParams({ grant_type: "refresh_token", refresh_token: refreshToken });
  const response = await requestJson(tokenEndpoint, stop, { form });
  const { status, body } = response;
  if (status !== 200 && status !== 400 && status !== 401) throw new Fault("UNAVAILABLE", `${issuer} refused to renew the sign-in: ${refusalText(response)}`);
  const [access, refresh] = [text(body, "access_token"), text(body, "refresh_token")];
  if (status !== 200 || access === "" || refresh === "") {
    // Not to be asked again; another program may have stored the next one meanwhile.
    if (readStoredToken(environment, place, "refresh-token") === refreshToken) storeToken(environment, place, "refresh-token", undefined);
    throw new Fault("UNAUTHENTICATED", `the sign-in at ${issuer} has expired: ${refusalText(response)}`);
  }
  storeToken(environment, place, "refresh-token", refresh);
  storeToken(environment, place, "oidc-token", access);
  return access;
};

/** Brings another token by other means than a refresh token: an identity token that lies in a file is exchanged anew. */
type Renewal = (stop: AbortSignal) => Promise<string>;

export interface SessionOptions {
  /** Which of several sign-ins at the same server. */
  readonly alias?: string | undefined;
  readonly renew?: Renewal | undefined;
  /** What signs in where nobody is. */
  readonly remedy?: string;
}

/**
 * The access token of the sign-in at a server, good for `leftMs` more where it can be renewed, and for as long as it is where
 * it cannot; with Infinity it is a new one. Throws UNAUTHENTICATED where nobody is signed in, and UNAVAILABLE where the server
 * must be asked and does not answer.
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
      // What there is serves for a while.
      if (thrown instanceof Fault && Number.isFinite(leftMs) && isGood(stored(), 0)) return stored();
      throw thrown;
    }
  });
};
