// The room's paths beside the contract, for browsers and for those who begin a sign-in in one.

import { Fault, invalid, type Violation } from "#base/fault.ts";
import type { JsonObject } from "#base/json.ts";
import type { RequestSource } from "#base/origin.ts";
import { type Beginning, beginSignIn, endSignIn, refuse } from "./browser.ts";
import { beginDevice, deviceCompleter } from "./device.ts";
import { devicePaths } from "./device-pages.ts";
import type { HeadlessCompletion, RedirectCompletion } from "./completion.ts";
import { type Grant, grantsOf } from "./grants.ts";
import { headlessCompleter, isHeadlessCode } from "./headless.ts";
import { askHeadless, confirmHeadless, headlessPath } from "./headless-pages.ts";
import { canSignIn } from "./organization.ts";
import type { SignInDependencies, SignInSettings } from "./dependencies.ts";
import { callbackPath, openProviders } from "./provider.ts";
import { readRedirect, redirectCompleter } from "./redirect.ts";
import { json, page, type EndpointAnswer, type Endpoint } from "./pages.ts";

export interface SignIn {
  readonly parts: SignInDependencies;
  readonly paths: ReadonlyMap<string, Endpoint>;
  /** What the token endpoint gives for a sign-in, by grant type. */
  readonly grants: ReadonlyMap<string, Grant>;
  /** RFC 8628, 3.1: a terminal asks for its codes. */
  readonly beginDevice: (form: URLSearchParams) => Promise<JsonObject>;
}

/** RFC 6749, 3.1: no parameter is there twice; what is not known is passed over. */
const single = (query: URLSearchParams, name: string): string => {
  const [value = "", another] = query.getAll(name);
  if (another !== undefined) throw invalid([{ field: name, description: "must be given once" }]);
  return value;
};

const list = (query: URLSearchParams, name: string): string[] =>
  query
    .getAll(name)
    .flatMap((entry) => entry.split(/[ ,]/))
    .filter((entry) => entry !== "");

const flag = (query: URLSearchParams, name: string): boolean => {
  const value = single(query, name);
  if (!["", "true", "false"].includes(value)) throw invalid([{ field: name, description: "must be true or false" }]);
  return value === "true";
};

/** How the sign-in shall end; needed first, so that whatever else is wrong is told there. */
const readFinish = (parts: SignInDependencies, query: URLSearchParams): RedirectCompletion | HeadlessCompletion => {
  const wish = { audience: list(query, "audience"), scopes: list(query, "scope"), capabilities: list(query, "cap") };
  const code = single(query, "headless_code");
  if (code !== "") {
    if (!isHeadlessCode(code)) throw invalid([{ field: "headless_code", description: "must be an X25519 public key, as base64url without padding" }]);
    return { kind: "headless", code, wish };
  }
  return {
    kind: "redirect",
    redirect: readRedirect(parts, single(query, "redirect")),
    wish,
    createRefreshToken: flag(query, "create_refresh_token"),
  };
};

const readBeginning = ({ authn }: SignInDependencies, query: URLSearchParams, finish: RedirectCompletion | HeadlessCompletion): Beginning => {
  const violations: Violation[] = [];
  for (const name of ["client_id", "connection"]) {
    if (query.has(name))
      violations.push({ field: name, description: "names a provider of another service; this server has those of its organizations: give idp_id" });
  }
  if (violations.length > 0) throw invalid(violations);
  const identity = single(query, "identity");
  authn.narrowing({ identity, ...finish.wish });
  return { provider: single(query, "idp_id"), finish, invite: single(query, "invite"), identity, skipRegistration: flag(query, "skip_registration") };
};

/** Begins with what is given. `ask`: a headless sign-in is confirmed first. */
const begin = async (parts: SignInDependencies, given: URLSearchParams, requestSource: RequestSource, ask?: () => EndpointAnswer): Promise<EndpointAnswer> => {
  let finish: RedirectCompletion | HeadlessCompletion;
  try {
    finish = readFinish(parts, given);
  } catch (thrown) {
    if (!(thrown instanceof Fault)) throw thrown;
    // Nowhere else: the address may be an attacker's.
    return page(parts.statusOf(thrown), "This sign-in cannot begin", [thrown.message]);
  }
  try {
    const beginning = readBeginning(parts, given, finish);
    return finish.kind === "headless" && ask ? ask() : await beginSignIn(parts, beginning, requestSource);
  } catch (thrown) {
    return refuse(parts, thrown, finish, requestSource);
  }
};

export const openSignIn = (settings: SignInSettings): SignIn => {
  const parts: SignInDependencies = {
    ...settings,
    providers: openProviders(settings),
    finishers: { redirect: redirectCompleter, device: deviceCompleter, headless: headlessCompleter },
  };
  const wishless = { invite: "", identity: "", skipRegistration: false };
  const device = devicePaths(parts, (asked, { userCode, wanted }) =>
    beginSignIn(parts, { ...wishless, provider: wanted.idp, finish: { kind: "device", userCode } }, asked),
  );
  const paths = new Map<string, Endpoint>([
    ["/oauth", { GET: (asked) => begin(parts, asked.query, asked, () => askHeadless(parts, asked)) }],
    [headlessPath, { POST: (asked) => confirmHeadless(parts, asked, (given) => begin(parts, given, asked)) }],
    [callbackPath, { GET: (asked) => endSignIn(parts, asked) }],
    ["/orgcheck", { GET: async ({ query }) => json(200, await canSignIn(parts.store.read, single(query, "name"))) }],
    ...Object.entries(device),
  ]);
  return { parts, paths, grants: grantsOf(parts), beginDevice: (form) => beginDevice(parts, form) };
};
