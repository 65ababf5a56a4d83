// The session: authorization code with PKCE, an access token in memory, and a refresh token in a cookie that no script can read
// (docs/decisions/0050). Only POST /console/session reads the cookie.

import { useSyncExternalStore } from "react";
import { newAuthorizationRequest } from "../../client/authorization-request.ts";
import type { TokenSource, TokenWanted } from "../../client/package.ts";
import { replaceAddress, root } from "./address.ts";
import { texts } from "./texts.ts";

interface Held {
  readonly token: string;
  readonly untilMs: number;
  /** Pasted by the user or from a program, so it cannot be renewed. */
  readonly pasted: boolean;
}

export interface Session {
  readonly state: "starting" | "out" | "in";
  /** Why the user has to sign in; "" at first. */
  readonly notice: string;
  /** The server has a newer console than this page. */
  readonly outdated: boolean;
  /** A program (`gantry open`) offers its access token. */
  readonly offer?: Offer | undefined;
}

export interface Offer {
  readonly code: string;
  readonly account: Account;
}

interface Account {
  readonly uid: string;
  readonly name: string;
  readonly email: string;
  readonly operator: boolean;
}

let held: Held | undefined;
let session: Session = { state: "starting", notice: "", outdated: false };
const listeners = new Set<() => void>();

const update = (change: Partial<Session>): void => {
  session = { ...session, ...change };
  for (const listener of listeners) listener();
};

export const useSession = (): Session =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => session,
  );

/** Runs when another user's data must not remain. */
const forgetting: (() => void)[] = [];
export const onForget = (forget: () => void): void => void forgetting.push(forget);

const forget = (notice: string): void => {
  held = undefined;
  for (const each of forgetting) each();
  update({ state: "out", notice });
};

const build = document.querySelector('meta[name="build"]')?.getAttribute("content") ?? "";
const channel = new BroadcastChannel("gantry-console");

interface SessionAnswer {
  readonly signedIn?: boolean;
  readonly token?: string;
  readonly expiresIn?: number;
  readonly build?: string;
  readonly message?: string;
  readonly account?: Account;
}

const post = async (form: Readonly<Record<string, string>>): Promise<SessionAnswer> => {
  const response = await fetch(`${root}/session`, { method: "POST", body: new URLSearchParams(form), cache: "no-store", redirect: "error" });
  const answer = (await response.json()) as SessionAnswer;
  if (!response.ok) throw new Error(answer.message ?? `HTTP ${response.status}`);
  if (answer.build !== undefined && answer.build !== build) update({ outdated: true });
  return answer;
};

const hold = ({ signedIn, token, expiresIn = 0 }: SessionAnswer, pasted = false): boolean => {
  if (signedIn !== true || token === undefined) return false;
  held = { token, untilMs: performance.now() + expiresIn * 1000, pasted };
  update({ state: "in", notice: "" });
  return true;
};

let renewal: Promise<boolean> | undefined;
const renew = (): Promise<boolean> => {
  renewal ??= post({ do: "renew" })
    .then((answer) => hold(answer))
    .finally(() => {
      renewal = undefined;
    });
  return renewal;
};

/** Renews a minute before the end. Returns undefined if the session has ended. */
const currentToken: (wanted: TokenWanted) => Promise<string | undefined> = async ({ refused }) => {
  if (held && held.token !== refused && (held.pasted || performance.now() < held.untilMs - 60_000)) return held.token;
  return held?.pasted !== true && (await renew()) ? held?.token : undefined;
};

/** Tabs in the background renew when they are used. */
export const tokenSource: TokenSource = async (wanted) => {
  const token = await currentToken(wanted);
  if (token !== undefined) return token;
  forget(texts.sessionEnded);
  throw new Error(texts.sessionEnded);
};

/** For requests that the user has not made: they fail instead of ending the session. */
export const quietTokenSource: TokenSource = async (wanted) => {
  const token = held && (await currentToken(wanted));
  if (token === undefined) throw new Error(texts.sessionEnded);
  return token;
};

const pendingKey = "gantry-sign-in";

interface Pending {
  readonly state: string;
  readonly verifier: string;
  readonly to: string;
}

const readPending = (): Pending | undefined => {
  const stored = sessionStorage.getItem(pendingKey);
  sessionStorage.removeItem(pendingKey);
  try {
    const value: Partial<Pending> = JSON.parse(stored ?? "{}");
    const { state = "", verifier = "", to = root } = value;
    return state === "" ? undefined : { state, verifier, to: to.startsWith(`${root}/`) ? to : root };
  } catch {
    return undefined;
  }
};

/** True if the browser offers the hash that PKCE needs. */
export const canSignIn = (): boolean => isSecureContext;

/** Leaves for the sign-in; the browser comes back to /console. */
export const signIn = async (): Promise<void> => {
  const own = `${location.origin}${root}`;
  const { parameters, state, verifier } = await newAuthorizationRequest({
    server: location.origin,
    clientId: own,
    redirectUri: own,
    scope: "offline_access",
  });
  const pending: Pending = { state, verifier, to: location.pathname + location.search };
  sessionStorage.setItem(pendingKey, JSON.stringify(pending));
  location.assign(`/oauth/authorize?${new URLSearchParams(parameters)}`);
};

/** Redeems the code of a sign-in that this tab began; other codes in links are dropped unread. */
const redeem = async (parameters: URLSearchParams): Promise<boolean> => {
  const pending = readPending();
  replaceAddress(pending?.to ?? root);
  if (!pending || pending.state !== parameters.get("state") || parameters.get("iss") !== location.origin) return false;
  const error = parameters.get("error");
  if (error !== null) {
    update({ notice: `${texts.signInFailed}: ${parameters.get("error_description") ?? error}` });
    return false;
  }
  const begun = hold(await post({ do: "begin", code: parameters.get("code") ?? "", verifier: pending.verifier }));
  if (begun) channel.postMessage("in");
  return begun;
};

/** Takes the code out of the address. */
const takeOfferedCode = (): string => {
  const [, code = ""] = /^#open=([\w-]{43})$/.exec(location.hash) ?? [];
  if (code !== "") replaceAddress(location.pathname + location.search);
  return code;
};

const noticeOf = (thrown: unknown): string => (thrown instanceof TypeError ? texts.offline : thrown instanceof Error ? thrown.message : String(thrown));

/** Asks whether to continue as the account of a code. Returns why not, or "". */
const showOffer = async (code: string): Promise<string> => {
  try {
    const { account } = await post({ do: "account", code });
    update({ offer: account && { code, account } });
    return "";
  } catch (thrown) {
    return `${texts.offerFailed}: ${noticeOf(thrown)}`;
  }
};

/** Continues with the token that a program offers, after the user has agreed. */
export const acceptOffer = async ({ code }: Offer): Promise<void> => {
  try {
    hold(await post({ do: "redeem", code }), true);
    update({ offer: undefined });
  } catch (thrown) {
    update({ state: "out", offer: undefined, notice: `${texts.offerFailed}: ${noticeOf(thrown)}` });
  }
};

export const declineOffer = (): void => {
  update({ offer: undefined });
  if (session.state === "starting") void startSession();
};

// The same page gets another code if the command runs again.
window.addEventListener("hashchange", () => {
  const code = takeOfferedCode();
  if (code !== "") void showOffer(code).then((notice) => notice !== "" && session.state === "out" && update({ notice }));
});

export const startSession = async (): Promise<void> => {
  const code = takeOfferedCode();
  const notice = code === "" ? "" : await showOffer(code);
  if (code !== "" && notice === "") return;
  const parameters = new URLSearchParams(location.search);
  try {
    const isReturn = location.pathname === root && parameters.has("state");
    if (isReturn && (await redeem(parameters))) return;
    if (await renew()) return;
    update({ state: "out", ...(notice === "" ? {} : { notice }) });
  } catch (thrown) {
    update({ state: "out", notice: noticeOf(thrown) });
  }
};

/** Ends the session on the server and in all tabs. */
export const signOut = async (): Promise<void> => {
  const token = held?.pasted === false ? held.token : "";
  const pasted = held?.pasted === true;
  forget(texts.signedOut);
  channel.postMessage("out");
  if (!pasted) await post({ do: "end", token });
};

/** Returns false if the text is no token. */
export const holdToken = (text: string): boolean => {
  const token = text.trim();
  if (!/^[\w-]+\.[\w-]+\.[\w-]+$/.test(token)) return false;
  held = { token, untilMs: Number.POSITIVE_INFINITY, pasted: true };
  update({ state: "in", notice: "" });
  return true;
};

channel.addEventListener("message", ({ data }) => {
  if (data === "out" && session.state === "in" && held?.pasted !== true) forget(texts.signedOut);
  if (data === "in" && session.state === "out") void renew().catch(() => undefined);
});
