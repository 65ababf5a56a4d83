// Completions of a sign-in. beginSignIn (browser.ts) gets one, the sign-in's row keeps it, and its completer runs at the end. To add
// a kind, extend `Completion` and `Completers`, and pass the completer in openSignIn (open.ts).

import type { EndpointAnswer } from "#base/endpoint.ts";
import type { Fault } from "#base/fault.ts";
import type { RequestSource } from "#base/origin.ts";
import type { SignInSettings } from "./settings.ts";

/** Empty lists request the defaults. */
export interface RequestedToken {
  readonly audience: readonly string[];
  readonly scopes: readonly string[];
  readonly capabilities: readonly string[];
}

/** Redirects to the requested address with the tokens in its query (authentication.md: 7). "": shows a page with the identity instead. */
export interface RedirectCompletion {
  readonly kind: "redirect";
  readonly redirect: string;
  readonly requestedToken: RequestedToken;
  readonly createRefreshToken: boolean;
}

/** Approves the device code that the user typed. */
export interface DeviceCompletion {
  readonly kind: "device";
  readonly userCode: string;
}

/** Stores a token for a polling client. The code is the client's public key, and only its private key can decrypt the token. */
export interface HeadlessCompletion {
  readonly kind: "headless";
  readonly code: string;
  readonly requestedToken: RequestedToken;
}

/** Sends an authorization code to the client's redirect URI (RFC 6749 §4.1). */
export interface CodeCompletion {
  readonly kind: "code";
  readonly client: string;
  readonly redirectUri: string;
  /** "" if absent. */
  readonly state: string;
  /** SHA-256 (S256) of the verifier. */
  readonly challenge: string;
  /** Its audience is the requested resource. */
  readonly requestedToken: RequestedToken;
  /** Granted scope in the client's own words. */
  readonly scope: string;
  readonly refresh: boolean;
}

/** Stored as JSON in the sign-in's row, so plain values only. */
export type Completion = RedirectCompletion | DeviceCompletion | HeadlessCompletion | CodeCompletion;

/** A signed-in user, as plain values that a completer may store. */
export interface SignedIn {
  /** UID of the user, or of the assumed identity. */
  readonly uid: string;
  readonly identityProviderUid: string;
  /** Undefined without permissions from groups (sessions.ts). */
  readonly session: string | undefined;
  /** Only users without permissions from groups get refresh tokens. */
  readonly mayRefresh: boolean;
  /** Claims of the provider's token: iss, sub, aud, and a verified email address. */
  readonly act: Readonly<Record<string, string>>;
  readonly email: string | undefined;
  /** Untrusted: show it only next to something that the user cannot forge (person.ts). */
  readonly name: string | undefined;
  /** Latest expiry of any token of this sign-in. */
  readonly untilMs: number;
  readonly requestSource: RequestSource;
}

/** Why a sign-in failed. `status` is the HTTP status (404: account not found). */
export interface Refusal {
  readonly status: number;
  readonly fault: Fault;
}

export interface Completer<Kind extends Completion> {
  /** Completes a successful sign-in. Errors that it throws are shown as a refusal. */
  complete(settings: SignInSettings, signedIn: SignedIn, completion: Kind): Promise<EndpointAnswer>;
  /** Completes a failed sign-in. */
  refuse(settings: SignInSettings, refusal: Refusal, completion: Kind): Promise<EndpointAnswer>;
}

export interface Completers {
  readonly redirect: Completer<RedirectCompletion>;
  readonly device: Completer<DeviceCompletion>;
  readonly headless: Completer<HeadlessCompletion>;
  readonly code: Completer<CodeCompletion>;
}
