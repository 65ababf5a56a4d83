// What becomes of a finished sign-in. Whoever begins one says how it shall end (browser.ts: beginSignIn), the sign-in's
// row carries that to the provider and back, and the finisher of that kind does it. A new kind is a member of
// `Finish` with a finisher in `Finishers`, given to openSignIn (index.ts); the compiler names what is missing.

import type { Entrance } from "#base/origin.ts";
import type { SignInParts } from "./parts.ts";
import type { Shown } from "./shown.ts";

/** What the tokens shall be good for, as the beginning asked. Empty lists ask for nothing in particular. */
export interface Wish {
  readonly audience: readonly string[];
  readonly scopes: readonly string[];
  readonly capabilities: readonly string[];
}

/** Back to the address that began, with the tokens in its query (authentication.md: 7). "": a page says who you are. */
export interface RedirectFinish {
  readonly kind: "redirect";
  readonly redirect: string;
  readonly wish: Wish;
  readonly createRefreshToken: boolean;
}

/** A terminal elsewhere waits, and its person typed this code here. */
export interface DeviceFinish {
  readonly kind: "device";
  readonly userCode: string;
}

/** A client elsewhere waits for a token that only its key can read; the code is that public key. */
export interface HeadlessFinish {
  readonly kind: "headless";
  readonly code: string;
  readonly wish: Wish;
}

/** Kept in the sign-in's row as JSON: plain values only. */
export type Finish = RedirectFinish | DeviceFinish | HeadlessFinish;

/** Who has signed in. Plain values: a finisher may keep it until its client comes for the tokens (tokens.ts). */
export interface SignedIn {
  /** The person's uid; with `identity=` in the beginning that of the assumable identity. */
  readonly uid: string;
  readonly identityProviderUid: string;
  /** The session that carries what the provider's groups give (sessions.ts); without one there are no such rights. */
  readonly session: string | undefined;
  /** Refresh tokens are for people without group-derived rights only. */
  readonly mayRefresh: boolean;
  /** What the provider's token said: iss, sub, aud, and a verified e-mail address. */
  readonly act: Readonly<Record<string, string>>;
  readonly email: string | undefined;
  /** Milliseconds since 1970: no token of this sign-in lives longer. */
  readonly untilMs: number;
  /** The request that brought the person back. */
  readonly entrance: Entrance;
}

/** Why a sign-in came to nothing; `status` is the HTTP status of that (404: account not found). */
export interface Refusal {
  readonly status: number;
  readonly message: string;
}

export interface Finisher<Kind extends Finish> {
  /** The sign-in succeeded. What it throws is shown as a refusal. */
  done(parts: SignInParts, signedIn: SignedIn, finish: Kind): Promise<Shown>;
  /** It did not. */
  refused(parts: SignInParts, refusal: Refusal, finish: Kind): Promise<Shown>;
}

export interface Finishers {
  readonly redirect: Finisher<RedirectFinish>;
  readonly device: Finisher<DeviceFinish>;
  readonly headless: Finisher<HeadlessFinish>;
}
