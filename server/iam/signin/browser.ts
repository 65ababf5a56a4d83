// A person's sign-in with a browser: to the identity provider with an authorization request, and back with its callback.
//
//   /oauth                 who asks, for what, and where it shall end      beginSignIn   a row, a cookie, and off to the provider
//   /oauth/callback/<uid>  the provider's answer                           endSignIn     the row is taken, the person signed in
//   /oauth/invite          the answer about an invite, if there is one     endInvitedSignIn
//
// What the provider sends back is bound to the browser that began (cookie), to the request (state, nonce, PKCE) and to the provider
// that was asked: each has a callback address of its own, and the row counts there alone (RFC 9700, 2.1; 4.4.2). A provider that
// redirects the browser to another one gets no code: that one sends it to its own callback, where no such sign-in was started.

import type { EndpointAnswer, EndpointRequest } from "#base/endpoint.ts";
import { Fault, toFault } from "#base/fault.ts";
import { limits } from "#base/limits.ts";
import type { RequestSource } from "#base/origin.ts";
import { timestamp } from "#base/time.ts";
import { rootOf } from "#base/uid.ts";
import { type ChangeContext, changeContext } from "#kernel";
import { isRefusal } from "#outbox";
import type { Binding, Write } from "#db";
import {
  deleteSomeExpiredSignIns,
  findProvider,
  findSessionGrants,
  hasIdentity,
  insertMembership,
  insertSignIn,
  type Provider,
  type SignInRow,
  takeSignIn,
} from "#iam/store";
import type { Completion, SignedIn } from "./completion.ts";
import type { SignInDependencies } from "./dependencies.ts";
import { redirectByPage } from "./confirm.ts";
import { type AcceptedInvite, showInviteQuestion, takeInviteAnswer, type WaitingSignIn } from "./invite-pages.ts";
import { askLoopback } from "./loopback-pages.ts";
import { withMembershipQuestion } from "./membership-pages.ts";
import { redirectTo, refusalPage, sentenceOf, throttledPage } from "./pages.ts";
import { callbackPath, type SentRequest, type UpstreamUser } from "./provider.ts";
import { checkProvisioning } from "./provisioning.ts";
import { acceptInvite, findInviteGroup, readInviteOffer, type Registered, registerThroughProvider, type Upstream } from "./registration.ts";
import { findRequestedProvider } from "./requested-provider.ts";
import { newSecret, secretHashOf } from "./secret.ts";
import { openSession } from "./sessions.ts";
import { type SignInSettings, urlOfPath } from "./settings.ts";

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
  readonly authorizationRequest: SentRequest;
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

const complete = async (dependencies: SignInDependencies, request: EndpointRequest, signedIn: SignedIn, completion: Completion): Promise<EndpointAnswer> => {
  const { completers } = dependencies;
  switch (completion.kind) {
    case "redirect":
      // The user is asked before tokens leave for a port of their computer.
      if (completion.redirect !== "") return askLoopback(dependencies, request, signedIn, completion);
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
    const { url, sent } = await providers.authorizationUrl(provider, authorizationRequest);
    const browserSecret = newSecret();
    const pending: PendingSignIn = { ...request, authorizationRequest: sent };
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

/** Takes the sign-in that this browser started at this provider out of the store. Of concurrent callbacks one continues. */
const takePendingSignIn = async (
  { store, vault, clock }: SignInDependencies,
  identityProviderUid: string,
  state: string,
  browserSecret: string,
): Promise<{ readonly provider: Provider | undefined; readonly pending: PendingSignIn } | undefined> => {
  const key = { stateHash: secretHashOf(state), browserHash: secretHashOf(browserSecret), identityProviderUid };
  const row = await store.write((rows) => takeSignIn(rows, key, clock()));
  if (!row) return undefined;
  const opened = vault.open(sealPurpose, row.sealed, signInBinding(key));
  if (opened === undefined) return undefined;
  return { provider: await findProvider(store.read, identityProviderUid), pending: JSON.parse(opened) as PendingSignIn };
};

/** What a sign-in changes, nobody with a token of ours does. */
const signInContext = (rows: Write, { kernel }: SignInDependencies, { requestId, origin }: RequestSource): ChangeContext =>
  changeContext(kernel, rows, { operation: signInPath, actor: undefined, bindings: () => [], origin: () => origin, requestId });

/** The user as the invite's organization may believe it. */
const upstreamForInvite = async (rows: Write, provider: Provider, { upstream }: UpstreamUser, code: string): Promise<Upstream> => {
  const group = await findInviteGroup(rows, code);
  // Whose address it is, another organization's provider does not say here: its owner could make it say anything.
  const { email: _, ...withoutEmail } = upstream;
  return group !== undefined && rootOf(group) === rootOf(provider.uid) ? upstream : withoutEmail;
};

/** Makes the person known, or lets in who is. */
const registerUpstreamUser = async (
  rows: Write,
  dependencies: SignInDependencies,
  provider: Provider,
  upstreamUser: UpstreamUser,
  { skipRegistration }: Pick<PendingSignIn, "skipRegistration">,
  accepted: AcceptedInvite | undefined,
  requestSource: RequestSource,
): Promise<Registered & { readonly isProvisioned: boolean }> => {
  const { authn } = dependencies;
  const { upstream, externalId } = upstreamUser;
  const context = signInContext(rows, dependencies, requestSource);
  const identityUid = authn.personUid(upstream.issuer, upstream.subject);
  const { isProvisioned } = await checkProvisioning(context, provider, identityUid, externalId);
  // Who comes through an organization's provider belongs to it (0021), also with another one's invite: its mappings count.
  await insertMembership(rows, { group: provider.uid, identityUid, basis: "provider", createTime: timestamp(context.nowMs) });
  if (accepted) {
    const { code, offer } = accepted;
    return { ...(await acceptInvite(context, await upstreamForInvite(rows, provider, upstreamUser, code), code, offer)), isProvisioned };
  }
  if (skipRegistration && !(await hasIdentity(rows, identityUid))) {
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
  accepted: AcceptedInvite | undefined,
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
    const { identity, isProvisioned } = await registerUpstreamUser(rows, dependencies, provider, upstreamUser, pending, accepted, requestSource);
    const { groups } = upstreamUser;
    const session = await openSession(rows, { identity, identityProvider: provider.uid, groups, nowMs, untilMs: common.untilMs, isProvisioned });
    // Of a session that gives nothing yet a refresh token keeps nothing alive: what it renews is without the session.
    const mayRefresh = session === undefined || (isProvisioned && (await findSessionGrants(rows, session, identity)).length === 0);
    return { ...common, uid: identity, session, mayRefresh, email };
  });
};

/** Answers a callback at the address that all providers once shared. It redeems nothing and ends no sign-in. */
export const refuseSharedCallback = async (dependencies: SignInDependencies): Promise<EndpointAnswer> => {
  const why = "this callback address is no longer used, because each identity provider has its own";
  return refusalPage(new Fault("FAILED_PRECONDITION", why), 400, "Not signed in", [
    sentenceOf(why),
    `At the provider, an administrator must register ${urlOfPath(dependencies, callbackPath)}/<uid>, with the uid of the identity provider. ` +
      "The API and `gantry iam identity-providers get` show the address as callbackUrl. Then start the sign-in again.",
  ]);
};

/** Registers the person if necessary, and ends the sign-in as it was asked to end. `accepted`: the invite that the person has agreed to. */
const finishSignIn = async (
  dependencies: SignInDependencies,
  request: EndpointRequest,
  provider: Provider,
  upstreamUser: UpstreamUser,
  pending: PendingSignIn,
  accepted?: AcceptedInvite,
): Promise<EndpointAnswer> => {
  const requestSource = { origin: request.origin, requestId: request.requestId };
  const signedIn = await signInUpstreamUser(dependencies, provider, upstreamUser, pending, accepted, requestSource);
  const answer = await complete(dependencies, request, signedIn, pending.completion);
  return withMembershipQuestion(dependencies, request, signedIn, pending.completion, answer);
};

/** The page that asks about the invite; nothing of the sign-in takes effect before its answer. Throws what accepting it would throw. */
const askAboutInvite = (dependencies: SignInDependencies, request: EndpointRequest, provider: Provider, waiting: WaitingSignIn): Promise<EndpointAnswer> =>
  showInviteQuestion(dependencies, request, provider.uid, waiting, async (rows) => {
    const { invite } = waiting.pending;
    const upstream = await upstreamForInvite(rows, provider, waiting.upstreamUser, invite);
    return readInviteOffer(signInContext(rows, dependencies, request), upstream, invite);
  });

/** Answers the callback of this identity provider. */
export const endSignIn = async (dependencies: SignInDependencies, request: EndpointRequest, identityProviderUid: string): Promise<EndpointAnswer> => {
  const [state = "", another] = request.query.getAll("state");
  const browserSecret = readSignInCookie(dependencies, state, request);
  const taken = another === undefined ? await takePendingSignIn(dependencies, identityProviderUid, state, browserSecret) : undefined;
  if (!taken) {
    const ended = "this sign-in started in another browser, is already complete, or has expired";
    return refusalPage(new Fault("INVALID_ARGUMENT", ended), 400, "Not signed in", [`${sentenceOf(ended)} Start it again.`]);
  }
  const { provider, pending } = taken;
  const requestSource = { origin: request.origin, requestId: request.requestId };
  let answer: EndpointAnswer;
  try {
    if (!provider) throw new Fault("FAILED_PRECONDITION", "the identity provider was deleted during the sign-in");
    const upstreamUser = await dependencies.providers.readCallback(provider, pending.authorizationRequest, request.query);
    // With an assumed identity the person joins nothing.
    const hasInvite = pending.invite !== "" && pending.identity === "";
    answer = hasInvite
      ? await askAboutInvite(dependencies, request, provider, { pending, upstreamUser })
      : await finishSignIn(dependencies, request, provider, upstreamUser, pending);
  } catch (thrown) {
    answer = await refuseSignIn(dependencies, thrown, pending.completion, requestSource);
  }
  // A page with a form sets a cookie of its own, and the sign-in's ends by itself: it opens nothing any more.
  return { ...answer, headers: { ...setSignInCookie(dependencies, state, "", 0), ...answer.headers } };
};

/** Answers the form of the invite's page: ends the waiting sign-in with the invite or without it. */
export const endInvitedSignIn = async (dependencies: SignInDependencies, request: EndpointRequest): Promise<EndpointAnswer> => {
  const answer = await takeInviteAnswer(dependencies, request);
  if (!("waiting" in answer)) return answer;
  const { pending, upstreamUser } = answer.waiting;
  try {
    const provider = await findProvider(dependencies.store.read, answer.identityProviderUid);
    if (!provider) throw new Fault("FAILED_PRECONDITION", "the identity provider was deleted during the sign-in");
    const { issuer, clientId } = pending.authorizationRequest;
    if (issuer !== provider.oidc.issuer || clientId !== provider.oidc.clientId)
      throw new Fault("FAILED_PRECONDITION", "the identity provider has changed since the sign-in started. Start again");
    return redirectByPage(await finishSignIn(dependencies, request, provider, upstreamUser, pending, answer.accepted));
  } catch (thrown) {
    const requestSource = { origin: request.origin, requestId: request.requestId };
    return redirectByPage(await refuseSignIn(dependencies, thrown, pending.completion, requestSource));
  }
};
