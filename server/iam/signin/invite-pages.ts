// Page after a sign-in that asks whether the user accepts the link's invite (docs/decisions/0065). Anyone can send such a link, so
// the link alone accepts nothing.
//
//   the provider's callback   stores the waiting sign-in in a row, changes no other row; sets a cookie
//   POST                      deletes the row, once; completes the sign-in with or without the invite
//
// The form is valid only in this browser (confirm.ts). Accepting checks everything again, and that the offer is the one shown
// (registration.ts).

import type { EndpointAnswer, EndpointRequest } from "#base/endpoint.ts";
import { limits } from "#base/limits.ts";
import { rootOf } from "#base/uid.ts";
import { findSeenIdentities } from "#iam/store";
import type { Write } from "#db";
import type { Completion } from "./completion.ts";
import { answeredPage, unconfirmedPage } from "./confirm.ts";
import type { SignInDependencies } from "./dependencies.ts";
import { escapeHtml } from "./pages.ts";
import { hostOfIssuer, nameHtml, personHtml } from "./person.ts";
import type { SentRequest, UpstreamUser } from "./provider.ts";
import type { InviteOffer } from "./registration.ts";
import { askOnce, takeAnswered } from "./stored-question.ts";

export const invitePath = "/oauth/invite";

const purpose = "invite question";

export interface WaitingSignIn {
  readonly pending: {
    readonly authorizationRequest: SentRequest;
    readonly completion: Completion;
    readonly invite: string;
    readonly identity: string;
    readonly skipRegistration: boolean;
  };
  readonly upstreamUser: UpstreamUser;
}

export interface AcceptedInvite {
  readonly code: string;
  readonly offer: InviteOffer;
}

interface Question {
  readonly identityProviderUid: string;
  readonly waiting: WaitingSignIn;
  readonly offer: InviteOffer;
}

const groupHtml = ({ organizationUid, groupUid, groupName }: InviteOffer): string =>
  groupUid === organizationUid ? "" : `<p>The role applies in its group <strong>${nameHtml(groupName)}</strong>.<br><small>${groupUid}</small></p>`;

const roleEndHtml = ({ roleEndMs }: InviteOffer): string =>
  roleEndMs === null ? "" : `<p>The role ends on ${new Date(roleEndMs).toISOString().slice(0, 16).replace("T", " at ")} UTC.</p>`;

const disclosureHtml = ({ email, issuer }: UpstreamUser["upstream"]): string => {
  const items = [
    `Your name, and your email address${email === undefined ? "" : ` (${email})`}`,
    `Your account ID at ${hostOfIssuer(issuer)}`,
    "Your sign-ins from now on, with time, network address and program",
  ];
  return `<ul>${items.map((item) => `<li>${escapeHtml(item)}</li>`).join("")}</ul>`;
};

/** `isVisible`: the organization already sees the user. */
const questionForm = ({ offer, waiting }: Question, isVisible: boolean): string => {
  const { upstream } = waiting.upstreamUser;
  const { issuer, subject, email, name } = upstream;
  const organization = `<strong>${nameHtml(offer.organizationName)}</strong>`;
  return (
    `${personHtml({ act: { iss: issuer, sub: subject }, email, name })}` +
    `<p>${organization} invites you to join with the role <strong>${nameHtml(offer.roleName)}</strong>.` +
    `<br><small>Organization ID: ${offer.organizationUid}</small></p>` +
    `${groupHtml(offer)}${roleEndHtml(offer)}` +
    (isVisible
      ? `<p>You already belong to ${organization}, or sign in with its identity provider. If you accept, you get the role.</p>`
      : `<p>If you accept, ${organization} sees:</p>${disclosureHtml(upstream)}`) +
    "<p><strong>Accept only if you expected this invite.</strong> Anyone can send a link that contains one. If you decline, you sign in without it" +
    `${isVisible ? "." : ", and the organization learns nothing about you from it."}</p>` +
    '<p class="actions"><button name="answer" value="accept">Accept</button>' +
    '<button class="secondary" name="answer" value="decline">Decline</button></p>'
  );
};

/** Stores the sign-in until the user answers, and returns the page. Throws the errors of `readOffer`. */
export const showInviteQuestion = async (
  dependencies: SignInDependencies,
  request: EndpointRequest,
  identityProviderUid: string,
  waiting: WaitingSignIn,
  readOffer: (rows: Write) => Promise<InviteOffer>,
): Promise<EndpointAnswer> => {
  const { store, authn } = dependencies;
  const { offer, isVisible } = await store.write(async (rows) => {
    const read = await readOffer(rows);
    const { issuer, subject } = waiting.upstreamUser.upstream;
    const person = { place: read.organizationUid, uid: authn.personUid(issuer, subject) };
    const isOwnProvider = rootOf(identityProviderUid) === read.organizationUid;
    return { offer: read, isVisible: isOwnProvider || (await findSeenIdentities(rows, [person]))(person) };
  });
  // Only assumed identities need the ID token, and they accept no invite.
  const about: Question = { identityProviderUid, waiting: { ...waiting, upstreamUser: { ...waiting.upstreamUser, idToken: "" } }, offer };
  return askOnce(
    dependencies,
    request,
    { purpose, identityProviderUid, about, lifetimeMs: limits.signInLifetimeMs },
    { title: "Accept this invite?", paragraphs: [], path: invitePath, form: questionForm(about, isVisible) },
  );
};

export interface InviteAnswer {
  readonly waiting: WaitingSignIn;
  readonly identityProviderUid: string;
  /** Undefined if declined. */
  readonly accepted: AcceptedInvite | undefined;
}

/** Deletes and returns the waiting sign-in; of concurrent submissions one gets it. Returns a page if there is none. */
export const takeInviteAnswer = async (dependencies: SignInDependencies, request: EndpointRequest): Promise<InviteAnswer | EndpointAnswer> => {
  const answer = request.form.get("answer") ?? "";
  const next = "To see the invite again, open its link.";
  if (!["accept", "decline"].includes(answer)) return unconfirmedPage(next);
  const { isConfirmed, about } = await takeAnswered(dependencies, request, purpose);
  if (!isConfirmed) return unconfirmedPage(next);
  if (about === undefined) return answeredPage(next);
  const { identityProviderUid, waiting, offer } = JSON.parse(about) as Question;
  return { waiting, identityProviderUid, accepted: answer === "accept" ? { code: waiting.pending.invite, offer } : undefined };
};
