// What becomes of a finished sign-in. Whoever begins one says how it shall be completed (browser.ts: beginSignIn), the
// sign-in's row carries that to the provider and back, and the completer of that kind does it. A new kind is a member of
// `Completion` with a completer in `Completers`, given in openSignIn (open.ts); the compiler names what is missing.

import type { EndpointAnswer } from "#base/endpoint.ts";
import type { Fault } from "#base/fault.ts";
import type { RequestSource } from "#base/origin.ts";
import type { SignInSettings } from "./settings.ts";

/** What the tokens shall be good for. Empty lists ask for nothing in particular. */
export interface RequestedToken {
  readonly audience: readonly string[];
  readonly scopes: readonly string[];
  readonly capabilities: readonly string[];
}

/** Back to the address that began, with the tokens in its query (authentication.md: 7). "": a page says who you are. */
export interface RedirectCompletion {
  readonly kind: "redirect";
  readonly redirect: string;
  readonly requestedToken: RequestedToken;
  readonly createRefreshToken: boolean;
}

/** A terminal elsewhere waits, and its person typed this code here. */
export interface DeviceCompletion {
  readonly kind: "device";
  readonly userCode: string;
}

/** A client elsewhere waits for a token that only its key can read; the code is that public key. */
export interface HeadlessCompletion {
  readonly kind: "headless";
  readonly code: string;
  readonly requestedToken: RequestedToken;
}

/** A client gets a code at its own address, and its tokens for that (RFC 6749, 4.1). */
export interface CodeCompletion {
  readonly kind: "code";
  /** Its id, as clients.ts knows it. */
  readonly client: string;
  readonly redirectUri: string;
  /** "" where it gave none. */
  readonly state: string;
  /** S256 of the verifier that it will come with. */
  readonly challenge: string;
  /** Its audience is the one resource that was asked for. */
  readonly requestedToken: RequestedToken;
  /** The same as the words that the client knows. */
  readonly scope: string;
  readonly refresh: boolean;
}

/** Stored in the sign-in's row as JSON: plain values only. */
export type Completion = RedirectCompletion | DeviceCompletion | HeadlessCompletion | CodeCompletion;

/** Who has signed in. Plain values: a completer may store it until its client comes for the tokens (tokens.ts). */
export interface SignedIn {
  /** The person's uid; with `identity=` in the request that of the assumable identity. */
  readonly uid: string;
  readonly identityProviderUid: string;
  /** The session that carries what the provider's groups give (sessions.ts); without one there are no such rights. */
  readonly session: string | undefined;
  /** Refresh tokens are for people without group-derived rights only. */
  readonly mayRefresh: boolean;
  /** What the provider's token said: iss, sub, aud, and a verified e-mail address. */
  readonly act: Readonly<Record<string, string>>;
  readonly email: string | undefined;
  /** As the provider says it: to be shown beside what it cannot make up (person.ts). */
  readonly name: string | undefined;
  /** Milliseconds since 1970: no token of this sign-in lives longer. */
  readonly untilMs: number;
  /** The request that brought the person back. */
  readonly requestSource: RequestSource;
}

/** Why a sign-in came to nothing; `status` is the HTTP status of that (404: account not found). */
export interface Refusal {
  readonly status: number;
  readonly fault: Fault;
}

export interface Completer<Kind extends Completion> {
  /** The sign-in succeeded. What it throws is answered as a refusal. */
  complete(settings: SignInSettings, signedIn: SignedIn, completion: Kind): Promise<EndpointAnswer>;
  /** It did not. */
  refuse(settings: SignInSettings, refusal: Refusal, completion: Kind): Promise<EndpointAnswer>;
}

export interface Completers {
  readonly redirect: Completer<RedirectCompletion>;
  readonly device: Completer<DeviceCompletion>;
  readonly headless: Completer<HeadlessCompletion>;
  readonly code: Completer<CodeCompletion>;
}
