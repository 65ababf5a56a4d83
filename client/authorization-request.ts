// The request that starts a sign-in through the user's browser: authorization code with PKCE (RFC 7636).

export interface AuthorizationOptions {
  readonly server: string;
  readonly clientId: string;
  readonly redirectUri: string;
  readonly scope?: string | undefined;
}

export interface AuthorizationRequest {
  readonly parameters: Readonly<Record<string, string>>;
  readonly state: string;
  readonly verifier: string;
}

const base64url = (bytes: Uint8Array): string =>
  btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");

const randomText = (): string => base64url(crypto.getRandomValues(new Uint8Array(32)));

/** Returns the parameters for the authorization endpoint, with a new state and verifier. */
export const newAuthorizationRequest = async ({ server, clientId, redirectUri, scope }: AuthorizationOptions): Promise<AuthorizationRequest> => {
  const [state, verifier] = [randomText(), randomText()];
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier));
  const parameters = {
    response_type: "code",
    client_id: clientId,
    redirect_uri: redirectUri,
    state,
    code_challenge: base64url(new Uint8Array(digest)),
    code_challenge_method: "S256",
    resource: server,
    ...(scope === undefined ? {} : { scope }),
  };
  return { parameters, state, verifier };
};
