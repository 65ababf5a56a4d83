// Sign-in with a browser, from the authorization request to the provider's callback.
//
//   /oauth                 the request                 beginSignIn        stores a row, sets a cookie, redirects to the provider
//   /oauth/callback/<uid>  the provider's response     endSignIn          deletes the row, signs the user in
//   /oauth/invite          the answer to an invite     endInvitedSignIn
//
// The response is bound to the browser (cookie), the request (state, nonce, PKCE) and the provider. The row is valid only at the
// provider's own callback URL (RFC 9700 §2.1, §4.4.2), so a provider that redirects the browser to another one gets no code.

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
  /** UID, or a verified organization's name. */
  readonly provider: string;
  readonly completion: Completion;
  /** Code; "" for none. */
  readonly invite: string;
  /** Assumable identity to act as; "" for the user. */
  readonly identity: string;
  /** Refuse users without an account instead of registering them. */
  readonly skipRegistration: boolean;
}

interface PendingSignIn extends Omit<SignInRequest, "provider"> {
  readonly authorizationRequest: SentRequest;
}

const sealPurpose = "sign in";
/** No other sign-in or provider can open the content. */
const signInBinding = ({ stateHash, identityProviderUid }: Pick<SignInRow, "stateHash" | "identityProviderUid">): Binding => [stateHash, identityProviderUid];

/** Path where a sign-in begins, and its operation in the audit log. */
export const signInPath = "/oauth";

/** One cookie per sign-in, so that two in one browser can coexist. */
const signInCookieName = ({ publicUrl }: SignInSettings, state: string): string =>
  // RFC 6265bis §4.1.3.2: with this prefix, no other host of the domain can set it.
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
      // The user confirms before tokens go to a port of their computer.
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

/** Completes a sign-in with an error, in the way its completion requires. */
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

/** Redirects the browser to the provider. Errors complete the sign-in. */
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
    // Rate limits are temporary: the sign-in stays open, and the same URL works again later.
    if (thrown instanceof Fault && thrown.code === "RESOURCE_EXHAUSTED") return throttledPage(thrown);
    return refuseSignIn(dependencies, thrown, request.completion, requestSource);
  }
};

/** Of concurrent callbacks, one continues. */
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

/** Changes made by a sign-in have no actor. */
const signInContext = (rows: Write, { kernel }: SignInDependencies, { requestId, origin }: RequestSource): ChangeContext =>
  changeContext(kernel, rows, { operation: signInPath, actor: undefined, bindings: () => [], origin: () => origin, requestId });

/** Claims as far as the invite's organization may trust them. */
const upstreamForInvite = async (rows: Write, provider: Provider, { upstream }: UpstreamUser, code: string): Promise<Upstream> => {
  const group = await findInviteGroup(rows, code);
  // Another organization's owner controls that provider and could make it assert any email address.
  const { email: _, ...withoutEmail } = upstream;
  return group !== undefined && rootOf(group) === rootOf(provider.uid) ? upstream : withoutEmail;
};

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
  // Signing in through an organization's provider makes the user a member (0067), even with another organization's invite.
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

/** The session carries the permissions of the provider's groups. */
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
    // A session without grants does not block a refresh token, because refreshed tokens carry no session.
    const mayRefresh = session === undefined || (isProvisioned && (await findSessionGrants(rows, session, identity)).length === 0);
    return { ...common, uid: identity, session, mayRefresh, email };
  });
};

/** Answers the retired callback URL that all providers shared. Redeems nothing and ends no sign-in. */
export const refuseSharedCallback = async (dependencies: SignInDependencies): Promise<EndpointAnswer> => {
  const why = "this callback address is no longer used, because each identity provider has its own";
  return refusalPage(new Fault("FAILED_PRECONDITION", why), 400, "Not signed in", [
    sentenceOf(why),
    `At the provider, an administrator must register ${urlOfPath(dependencies, callbackPath)}/<uid>, with the uid of the identity provider. ` +
      "The API and `gantry iam identity-providers get` show the address as callbackUrl. Then start the sign-in again.",
  ]);
};

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

/** The sign-in takes effect only after the answer. Throws the errors of accepting the invite. */
const askAboutInvite = (dependencies: SignInDependencies, request: EndpointRequest, provider: Provider, waiting: WaitingSignIn): Promise<EndpointAnswer> =>
  showInviteQuestion(dependencies, request, provider.uid, waiting, async (rows) => {
    const { invite } = waiting.pending;
    const upstream = await upstreamForInvite(rows, provider, waiting.upstreamUser, invite);
    return readInviteOffer(signInContext(rows, dependencies, request), upstream, invite);
  });

/** Handles the callback of this identity provider. */
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
    // An assumed identity joins no organization.
    const hasInvite = pending.invite !== "" && pending.identity === "";
    answer = hasInvite
      ? await askAboutInvite(dependencies, request, provider, { pending, upstreamUser })
      : await finishSignIn(dependencies, request, provider, upstreamUser, pending);
  } catch (thrown) {
    answer = await refuseSignIn(dependencies, thrown, pending.completion, requestSource);
  }
  // A page with a form sets its own cookie; the sign-in's cookie then simply expires.
  return { ...answer, headers: { ...setSignInCookie(dependencies, state, "", 0), ...answer.headers } };
};

/** Handles the form of the invite page. */
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
