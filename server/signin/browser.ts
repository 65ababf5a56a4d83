// A person's sign-in with a browser: out to the identity provider with a question, back with its answer.
//
//   /oauth           who asks, for what, and where it shall end      beginSignIn   a row, a cookie, and off to the provider
//   /oauth/callback  the provider's answer                           endSignIn     the row is taken, the person admitted
//
// What the provider sends back is bound to the browser that began (cookie), to the question (state, nonce, PKCE) and
// to the provider that was asked: its row says which, never the answer. So nobody ends a sign-in that another began,
// in either's place (RFC 9700, 2.1; 4.4).

import { Fault, toFault } from "#base/fault.ts";
import { limits } from "#base/limits.ts";
import type { RequestSource } from "#base/origin.ts";
import { timestamp } from "#base/time.ts";
import { rootOf } from "#base/uid.ts";
import { isRefusal } from "#outbox";
import { findProvider, type Provider, type Read, type Write } from "#store";
import type { Completion, SignedIn } from "./completion.ts";
import { providerNamed } from "./organization.ts";
import type { SignInDependencies } from "./dependencies.ts";
import type { UpstreamUser, AuthorizationRequest } from "./provider.ts";
import { acceptInvite, inviteGroup, type Registered, registerThroughProvider } from "./registration.ts";
import { hashOf, newSecret } from "./secret.ts";
import { openSession } from "./sessions.ts";
import { type EndpointRequest, elsewhere, page, type EndpointAnswer } from "./pages.ts";

/** What a sign-in is begun with. */
export interface Beginning {
  /** A provider's uid, or a verified organization's name. */
  readonly provider: string;
  readonly finish: Completion;
  /** Code of an invite to accept; "" for none. */
  readonly invite: string;
  /** The assumable identity to act as; "" for the person. */
  readonly identity: string;
  /** Who is not known here yet stays unknown. */
  readonly skipRegistration: boolean;
}

/** What a sign-in's row keeps, sealed, until the provider answers. */
interface Kept extends Omit<Beginning, "provider"> {
  readonly question: AuthorizationRequest;
}

const purpose = "sign in";

/** Where a sign-in begins: what the audit log calls it. */
const signInPath = "/oauth";

/** A cookie for each sign-in, so that two in one browser do not end each other. */
const cookieName = ({ publicUrl }: SignInDependencies, state: string): string =>
  // RFC 6265bis, 4.1.3.2: with this prefix no other host of the domain can have planted it.
  `${publicUrl.startsWith("https:") ? "__Host-" : ""}gantry-sign-in-${hashOf(state).slice(0, 8)}`;

const cookie = (parts: SignInDependencies, state: string, value: string, lifetimeMs: number): Readonly<Record<string, string>> => ({
  "set-cookie": `${cookieName(parts, state)}=${value}; Path=/; Max-Age=${lifetimeMs / 1000}; HttpOnly; SameSite=Lax${parts.publicUrl.startsWith("https:") ? "; Secure" : ""}`,
});

const cookieOf = (parts: SignInDependencies, state: string, asked: EndpointRequest): string => {
  const start = `${cookieName(parts, state)}=`;
  const found = (asked.headers.cookie ?? "")
    .split(";")
    .map((each) => each.trim())
    .find((each) => each.startsWith(start));
  return found?.slice(start.length) ?? "";
};

/** Ends as the sign-in's finish says, with what went wrong. */
export const refuse = async (parts: SignInDependencies, thrown: unknown, finish: Completion, requestSource: RequestSource): Promise<EndpointAnswer> => {
  const fault = toFault(thrown);
  if (isRefusal(fault)) parts.audit.recordRefusal({ caller: undefined, operation: signInPath, subject: "", code: fault.code, requestSource });
  parts.log("signin.refused", {
    requestId: requestSource.requestId,
    code: fault.code,
    message: fault.message,
    ...(fault.cause === undefined ? {} : { cause: fault.cause }),
  });
  const refusal = { status: parts.statusOf(fault), message: fault.message };
  switch (finish.kind) {
    case "redirect":
      return parts.finishers.redirect.refused(parts, refusal, finish);
    case "device":
      return parts.finishers.device.refused(parts, refusal, finish);
    case "headless":
      return parts.finishers.headless.refused(parts, refusal, finish);
  }
};

const complete = async (parts: SignInDependencies, signedIn: SignedIn, finish: Completion): Promise<EndpointAnswer> => {
  switch (finish.kind) {
    case "redirect":
      return parts.finishers.redirect.done(parts, signedIn, finish);
    case "device":
      return parts.finishers.device.done(parts, signedIn, finish);
    case "headless":
      return parts.finishers.headless.done(parts, signedIn, finish);
  }
};

/** Forgets sign-ins that nobody came back from: the path is open, and each call of it leaves a row. */
const sweep = (rows: Write, nowMs: number): Promise<unknown> =>
  rows.query(
    `delete from sign_ins where state_hash in (
       select state_hash from sign_ins where expire_time <= $1 order by expire_time limit ${limits.sweepRowsMax} for update skip locked)`,
    [timestamp(nowMs)],
  );

/** Sends the browser to the provider. What stands in the way ends the sign-in as its finish says. */
export const beginSignIn = async (
  parts: SignInDependencies,
  { provider: named, ...beginning }: Beginning,
  requestSource: RequestSource,
): Promise<EndpointAnswer> => {
  const { store, vault, clock, providers } = parts;
  try {
    const provider = await providerNamed(store.read, named);
    const { issuer, clientId } = provider.oidc;
    const question = { state: newSecret(), nonce: newSecret(), verifier: newSecret(), issuer, clientId };
    const address = await providers.authorizationUrl(provider, question);
    const browser = newSecret();
    const kept: Kept = { ...beginning, question };
    await store.write(async (rows) => {
      await sweep(rows, clock());
      await rows.query("insert into sign_ins (state_hash, browser_hash, identity_provider_uid, sealed, expire_time) values ($1, $2, $3, $4, $5)", [
        hashOf(question.state),
        hashOf(browser),
        provider.uid,
        vault.seal(purpose, JSON.stringify(kept)),
        timestamp(clock() + limits.signInLifetimeMs),
      ]);
    });
    return elsewhere(address, cookie(parts, question.state, browser, limits.signInLifetimeMs));
  } catch (thrown) {
    return refuse(parts, thrown, beginning.finish, requestSource);
  }
};

/** Takes the sign-in out of the store: of all who come back with it one goes on. */
const take = async (
  parts: SignInDependencies,
  state: string,
  browser: string,
): Promise<{ readonly provider: Provider | undefined; readonly kept: Kept } | undefined> => {
  const [row] = await parts.store.write((rows) =>
    rows.query("delete from sign_ins where state_hash = $1 and browser_hash = $2 and expire_time > $3 returning identity_provider_uid, sealed", [
      hashOf(state),
      hashOf(browser),
      timestamp(parts.clock()),
    ]),
  );
  const [uid, sealed] = row ?? [];
  const opened = uid && sealed ? parts.vault.open(purpose, sealed) : undefined;
  if (!uid || opened === undefined) return undefined;
  return { provider: await findProvider(parts.store.read, uid), kept: JSON.parse(opened) as Kept };
};

const isRegistered = async (rows: Read, uid: string): Promise<boolean> => (await rows.query("select 1 from identities where uid = $1", [uid])).length > 0;

/** Makes the person known, or lets in who is. */
const register = async (
  rows: Write,
  parts: SignInDependencies,
  provider: Provider,
  { upstream }: UpstreamUser,
  kept: Kept,
  requestSource: RequestSource,
): Promise<Registered> => {
  const { authn, publicUrl, clock } = parts;
  const occasion = { authn, publicUrl, ...requestSource, nowMs: clock() };
  if (kept.invite !== "") {
    const group = await inviteGroup(rows, kept.invite);
    // Whose address it is, another organization's provider does not say here: its owner could make it say anything.
    const { email: _, ...nameless } = upstream;
    const spoken = group !== undefined && rootOf(group) === rootOf(provider.uid) ? upstream : nameless;
    return acceptInvite(rows, { upstream: spoken, code: kept.invite, ...occasion });
  }
  if (kept.skipRegistration && !(await isRegistered(rows, authn.personUid(upstream.issuer, upstream.subject)))) {
    throw new Fault("NOT_FOUND", "account not found, registration required");
  }
  return registerThroughProvider(rows, { upstream, provider: { uid: provider.uid, group: provider.parent, defaultRole: provider.defaultRole }, ...occasion });
};

/** Lets the person in: registered if need be, with the session that the provider's groups give. */
const admit = async (parts: SignInDependencies, provider: Provider, arrival: UpstreamUser, kept: Kept, requestSource: RequestSource): Promise<SignedIn> => {
  const { authn, store, clock } = parts;
  const { issuer, subject, audience = "", email } = arrival.upstream;
  const nowMs = clock();
  const shared = {
    identityProviderUid: provider.uid,
    act: { iss: issuer, sub: subject, aud: audience, ...(email === undefined ? {} : { email }) },
    untilMs: nowMs + limits.accessTokenLifetimeMs,
    requestSource,
  };
  if (kept.identity !== "") {
    await authn.assume(kept.identity, arrival.idToken);
    return { ...shared, uid: kept.identity, session: undefined, mayRefresh: false, email: undefined };
  }
  return store.write(async (rows) => {
    const { identity } = await register(rows, parts, provider, arrival, kept, requestSource);
    const session = await openSession(rows, { identity, identityProvider: provider.uid, groups: arrival.groups, nowMs, untilMs: shared.untilMs });
    return { ...shared, uid: identity, session, mayRefresh: session === undefined, email };
  });
};

/** Answers the provider's way back. */
export const endSignIn = async (parts: SignInDependencies, asked: EndpointRequest): Promise<EndpointAnswer> => {
  const [state = "", another] = asked.query.getAll("state");
  const taken = another === undefined ? await take(parts, state, cookieOf(parts, state, asked)) : undefined;
  if (!taken) {
    return page(400, "Not signed in", [
      "This sign-in was begun in another browser, has been finished already, or has taken too long. Begin again where you came from.",
    ]);
  }
  const { provider, kept } = taken;
  const requestSource = { origin: asked.origin, requestId: asked.requestId };
  let shown: EndpointAnswer;
  try {
    if (!provider) throw new Fault("FAILED_PRECONDITION", "the identity provider has been deleted meanwhile");
    const arrival = await parts.providers.readCallback(provider, kept.question, asked.query);
    shown = await complete(parts, await admit(parts, provider, arrival, kept, requestSource), kept.finish);
  } catch (thrown) {
    shown = await refuse(parts, thrown, kept.finish, requestSource);
  }
  return { ...shown, headers: { ...shown.headers, ...cookie(parts, state, "", 0) } };
};
