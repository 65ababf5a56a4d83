// Revokes a session at its server (RFC 7009).

import { Fault } from "#base/fault.ts";
import { discoverIssuer, type Issuer, refusalText, requestJson } from "./issuer-client.ts";

export interface KeptTokens {
  readonly access: string | undefined;
  readonly refresh: string | undefined;
}

/** Revokes the session of a token. Throws UNAVAILABLE if the server cannot be reached or does not confirm it. */
export const revokeToken = async ({ url, revocationEndpoint }: Issuer, token: string, stop: AbortSignal): Promise<void> => {
  if (revocationEndpoint === "") throw new Fault("UNAVAILABLE", `${url} has no revocation endpoint`);
  const response = await requestJson(revocationEndpoint, stop, { form: new URLSearchParams({ token }) });
  if (response.status !== 200) throw new Fault("UNAVAILABLE", `${url} did not confirm the revocation: ${refusalText(response)}`);
};

/**
 * Revokes the session of both tokens, because a refresh token that another program has used, or an access token for another
 * audience, identifies no session. Throws UNAVAILABLE as revokeToken does.
 */
export const revokeSession = async (server: string, { access, refresh }: KeptTokens, stop: AbortSignal): Promise<void> => {
  const issuer = await discoverIssuer(server, stop);
  for (const token of [refresh, access]) if (token !== undefined && token !== "") await revokeToken(issuer, token, stop);
};
