// A person's sign-in with a browser: to the identity provider with an authorization request, and back with its callback.
//
//   /oauth           who asks, for what, and where it shall end      beginSignIn   a row, a cookie, and off to the provider
//   /oauth/callback  the provider's answer                           endSignIn     the row is taken, the person signed in
//
// What the provider sends back is bound to the browser that began (cookie), to the request (state, nonce, PKCE) and
// to the provider that was asked: its row says which, never the answer. So nobody ends a sign-in that another began,
// in either's place (RFC 9700, 2.1; 4.4).

import type { EndpointAnswer, EndpointRequest } from "#base/endpoint.ts";
import { Fault, toFault } from "#base/fault.ts";
import { limits } from "#base/limits.ts";
import type { RequestSource } from "#base/origin.ts";
import { timestamp } from "#base/time.ts";
import { rootOf } from "#base/uid.ts";
import { type ChangeContext, changeContext } from "#kernel";
import { isRefusal } from "#outbox";
import {
  type Binding,
  deleteSomeExpiredSignIns,
  findProvider,
  findSessionGrants,
  hasIdentity,
  insertMembership,
  insertSignIn,
  type Provider,
  type SignInRow,
  takeSignIn,
  type Write,
} from "#store";
import type { Completion, SignedIn } from "./completion.ts";
import type { SignInDependencies } from "./dependencies.ts";
import { withMembershipQuestion } from "./membership-pages.ts";
import { redirectTo, refusalPage, sentenceOf, throttledPage } from "./pages.ts";
import type { AuthorizationRequest, UpstreamUser } from "./provider.ts";
import { checkProvisioning } from "./provisioning.ts";
import { acceptInvite, findInviteGroup, type Registered, registerThroughProvider } from "./registration.ts";
import { findRequestedProvider } from "./requested-provider.ts";
import { newSecret, secretHashOf } from "./secret.ts";
import { openSession } from "./sessions.ts";
import type { SignInSettings } from "./settings.ts";

export interface SignInRequest {
  /** A provider's uid, or a verified organization's name. */
  readonly provider: string;
  readonly completion: Completion;
  /** Code of an invite to accept; "" for none. */
  readonly invite: string;
  /** The assumable identity to act as; "" for the person. */
  readonly identity: string;
  /** Who is not known here yet stays unknown. */
  readonly skipRegistration: boolean;
}

/** What a sign-in's row holds, sealed, until the provider answers. */
interface PendingSignIn extends Omit<SignInRequest, "provider"> {
  readonly authorizationRequest: AuthorizationRequest;
}

const sealPurpose = "sign in";
/** Its row: what another sign-in asked for, or through another provider, does not open in it. */
const signInBinding = ({ stateHash, identityProviderUid }: Pick<SignInRow, "stateHash" | "identityProviderUid">): Binding => [stateHash, identityProviderUid];

/** Where a sign-in begins: what the audit log calls it. */
export const signInPath = "/oauth";

/** A cookie for each sign-in, so that two in one browser do not end each other. */
const signInCookieName = ({ publicUrl }: SignInSettings, state: string): string =>
  // RFC 6265bis, 4.1.3.2: with this prefix no other host of the domain can have planted it.
  `${publicUrl.startsWith("https:") ? "__Host-" : ""}gantry-sign-in-${secretHashOf(state).slice(0, 8)}`;

const setSignInCookie = (settings: SignInSettings, state: string, value: string, lifetimeMs: number): Readonly<Record<string, string>> => {
  const attributes = `Path=/; Max-Age=${lifetimeMs / 1000}; HttpOnly; SameSite=Lax${settings.publicUrl.startsWith("https:") ? "; Secure" : ""}`;
  return { "set-cookie": `${signInCookieName(settings, state)}=${value}; ${attributes}` };
};

const readSignInCookie = (settings: SignInSettings, state: string, request: EndpointRequest): string => {
  const start = `${signInCookieName(settings, state)}=`;
  const found = (request.headers.cookie ?? "")
    .split(";")
    .map((each) => each.trim())
    .find((each) => each.startsWith(start));
  return found?.slice(start.length) ?? "";
};

const complete = async (dependencies: SignInDependencies, signedIn: SignedIn, completion: Completion): Promise<EndpointAnswer> => {
  const { completers } = dependencies;
  switch (completion.kind) {
    case "redirect":
      return completers.redirect.complete(dependencies, signedIn, completion);
    case "device":
      return completers.device.complete(dependencies, signedIn, completion);
    case "headless":
      return completers.headless.complete(dependencies, signedIn, completion);
    case "code":
      return completers.code.complete(dependencies, signedIn, completion);
  }
};

/** Ends a sign-in as its completion says, with what went wrong. */
export const refuseSignIn = async (
  dependencies: SignInDependencies,
  thrown: unknown,
  completion: Completion,
  requestSource: RequestSource,
): Promise<EndpointAnswer> => {
  const { audit, completers, log, statusOf } = dependencies;
  const fault = toFault(thrown);
  if (isRefusal(fault)) audit.recordRefusal({ caller: undefined, operation: signInPath, subject: "", code: fault.code, requestSource });
  log("signin.refused", {
    requestId: requestSource.requestId,
    code: fault.code,
    message: fault.message,
    ...(fault.cause === undefined ? {} : { cause: fault.cause }),
  });
  const refusal = { status: statusOf(fault), fault };
  switch (completion.kind) {
    case "redirect":
      return completers.redirect.refuse(dependencies, refusal, completion);
    case "device":
      return completers.device.refuse(dependencies, refusal, completion);
    case "headless":
      return completers.headless.refuse(dependencies, refusal, completion);
    case "code":
      return completers.code.refuse(dependencies, refusal, completion);
  }
};

/** Sends the browser to the provider. What stands in the way ends the sign-in as its completion says. */
export const beginSignIn = async (
  dependencies: SignInDependencies,
  { provider: idpId, ...request }: SignInRequest,
  requestSource: RequestSource,
): Promise<EndpointAnswer> => {
  const { store, authn, vault, clock, providers, openRows } = dependencies;
  try {
    authn.clientLimits.take("sign-ins", requestSource.origin.address);
    const provider = await findRequestedProvider(store.read, idpId);
    const { issuer, clientId } = provider.oidc;
    const authorizationRequest = { state: newSecret(), nonce: newSecret(), verifier: newSecret(), issuer, clientId };
    const url = await providers.authorizationUrl(provider, authorizationRequest);
    const browserSecret = newSecret();
    const pending: PendingSignIn = { ...request, authorizationRequest };
    await store.write(async (rows) => {
      await deleteSomeExpiredSignIns(rows, clock());
      const addressHash = await openRows.admit(rows, "sign_ins", requestSource.origin.address, clock());
      const key = { stateHash: secretHashOf(authorizationRequest.state), identityProviderUid: provider.uid };
      await insertSignIn(rows, {
        ...key,
        browserHash: secretHashOf(browserSecret),
        addressHash,
        sealed: vault.seal(sealPurpose, JSON.stringify(pending), signInBinding(key)),
        expireTimeMs: clock() + limits.signInLifetimeMs,
      });
    });
    return redirectTo(url, setSignInCookie(dependencies, authorizationRequest.state, browserSecret, limits.signInLifetimeMs));
  } catch (thrown) {
    // It passes by waiting: nothing ends, and the same address can be opened again.
    if (thrown instanceof Fault && thrown.code === "RESOURCE_EXHAUSTED") return throttledPage(thrown);
    return refuseSignIn(dependencies, thrown, request.completion, requestSource);
  }
};

/** Takes the sign-in out of the store: of all who come back with it one goes on. */
const takePendingSignIn = async (
  { store, vault, clock }: SignInDependencies,
  state: string,
  browserSecret: string,
): Promise<{ readonly provider: Provider | undefined; readonly pending: PendingSignIn } | undefined> => {
  const stateHash = secretHashOf(state);
  const row = await store.write((rows) => takeSignIn(rows, stateHash, secretHashOf(browserSecret), clock()));
  if (!row) return undefined;
  const opened = vault.open(sealPurpose, row.sealed, signInBinding({ ...row, stateHash }));
  if (opened === undefined) return undefined;
  return { provider: await findProvider(store.read, row.identityProviderUid), pending: JSON.parse(opened) as PendingSignIn };
};

/** What a sign-in changes, nobody with a token of ours does. */
const signInContext = (rows: Write, { kernel }: SignInDependencies, { requestId, origin }: RequestSource): ChangeContext =>
  changeContext(kernel, rows, { operation: signInPath, actor: undefined, bindings: () => [], origin: () => origin, requestId });

/** Makes the person known, or lets in who is. */
const registerUpstreamUser = async (
  rows: Write,
  dependencies: SignInDependencies,
  provider: Provider,
  { upstream, externalId }: UpstreamUser,
  pending: PendingSignIn,
  requestSource: RequestSource,
): Promise<Registered & { readonly isProvisioned: boolean }> => {
  const { authn } = dependencies;
  const context = signInContext(rows, dependencies, requestSource);
  const identityUid = authn.personUid(upstream.issuer, upstream.subject);
  const { isProvisioned } = await checkProvisioning(context, provider, identityUid, externalId);
  // Who comes through an organization's provider belongs to it (0021), also with another one's invite: its mappings count.
  await insertMembership(rows, { group: provider.uid, identityUid, basis: "provider", createTime: timestamp(context.nowMs) });
  if (pending.invite !== "") {
    const group = await findInviteGroup(rows, pending.invite);
    // Whose address it is, another organization's provider does not say here: its owner could make it say anything.
    const { email: _, ...withoutEmail } = upstream;
    const trusted = group !== undefined && rootOf(group) === rootOf(provider.uid) ? upstream : withoutEmail;
    return { ...(await acceptInvite(context, trusted, pending.invite)), isProvisioned };
  }
  if (pending.skipRegistration && !(await hasIdentity(rows, identityUid))) {
    throw new Fault("NOT_FOUND", "account not found, registration required");
  }
  return { ...(await registerThroughProvider(context, upstream, { ...provider, isProvisioned })), isProvisioned };
};

/** Signs the person in: registered if need be, with the session that the provider's groups give. */
const signInUpstreamUser = async (
  dependencies: SignInDependencies,
  provider: Provider,
  upstreamUser: UpstreamUser,
  pending: PendingSignIn,
  requestSource: RequestSource,
): Promise<SignedIn> => {
  const { authn, store, clock } = dependencies;
  const { issuer, subject, audience = "", email, name } = upstreamUser.upstream;
  const nowMs = clock();
  const common = {
    identityProviderUid: provider.uid,
    name,
    act: { iss: issuer, sub: subject, aud: audience, ...(email === undefined ? {} : { email }) },
    untilMs: nowMs + limits.accessTokenLifetimeMs,
    requestSource,
  };
  if (pending.identity !== "") {
    const { externalId } = upstreamUser;
    await store.write((rows) => checkProvisioning(signInContext(rows, dependencies, requestSource), provider, authn.personUid(issuer, subject), externalId));
    const identityEndMs = await authn.assume(pending.identity, upstreamUser.idToken);
    return { ...common, untilMs: Math.min(common.untilMs, identityEndMs), uid: pending.identity, session: undefined, mayRefresh: false, email: undefined };
  }
  return store.write(async (rows) => {
    const { identity, isProvisioned } = await registerUpstreamUser(rows, dependencies, provider, upstreamUser, pending, requestSource);
    const { groups } = upstreamUser;
    const session = await openSession(rows, { identity, identityProvider: provider.uid, groups, nowMs, untilMs: common.untilMs, isProvisioned });
    // Of a session that gives nothing yet a refresh token keeps nothing alive: what it renews is without the session.
    const mayRefresh = session === undefined || (isProvisioned && (await findSessionGrants(rows, session, identity)).length === 0);
    return { ...common, uid: identity, session, mayRefresh, email };
  });
};

/** Answers the provider's callback. */
export const endSignIn = async (dependencies: SignInDependencies, request: EndpointRequest): Promise<EndpointAnswer> => {
  const [state = "", another] = request.query.getAll("state");
  const taken = another === undefined ? await takePendingSignIn(dependencies, state, readSignInCookie(dependencies, state, request)) : undefined;
  if (!taken) {
    const ended = "this sign-in was begun in another browser, has been finished already, or has taken too long";
    return refusalPage(new Fault("INVALID_ARGUMENT", ended), 400, "Not signed in", [`${sentenceOf(ended)} Begin again where you came from.`]);
  }
  const { provider, pending } = taken;
  const requestSource = { origin: request.origin, requestId: request.requestId };
  let answer: EndpointAnswer;
  try {
    if (!provider) throw new Fault("FAILED_PRECONDITION", "the identity provider has been deleted meanwhile");
    const upstreamUser = await dependencies.providers.readCallback(provider, pending.authorizationRequest, request.query);
    const signedIn = await signInUpstreamUser(dependencies, provider, upstreamUser, pending, requestSource);
    answer = await withMembershipQuestion(dependencies, request, signedIn, pending.completion, await complete(dependencies, signedIn, pending.completion));
  } catch (thrown) {
    answer = await refuseSignIn(dependencies, thrown, pending.completion, requestSource);
  }
  // A page with a form sets a cookie of its own, and the sign-in's ends by itself: it opens nothing any more.
  return { ...answer, headers: { ...setSignInCookie(dependencies, state, "", 0), ...answer.headers } };
};
