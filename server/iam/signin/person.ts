// Shows the signed-in user. Names may imitate an administrator or an email address, so they are isolated on a line, above facts that
// cannot be forged: the verified email address and the provider's host.

import { escapeHtml, visibleText } from "#base/html.ts";
import type { EndpointAnswer } from "#base/endpoint.ts";
import { limits } from "#base/limits.ts";
import { isRoot } from "#base/uid.ts";
import { findIdentityName } from "#iam/store";
import type { SignedIn } from "./completion.ts";
import { htmlPage } from "./pages.ts";
import type { SignInSettings } from "./settings.ts";

/** Returns markup for an untrusted name: visible, bounded, and isolated from the text around it. */
export const nameHtml = (name: string): string => `<bdi>${escapeHtml(visibleText(name, limits.shownNameLengthMax) || "(no visible name)")}</bdi>`;

/** Returns the host of a provider's issuer, which only its owner can control. */
export const hostOfIssuer = (issuer: string): string => URL.parse(issuer)?.host || visibleText(issuer, limits.shownNameLengthMax);

export const personHtml = ({ act, email, name = "" }: Pick<SignedIn, "act" | "email" | "name">): string => {
  const { iss = "", sub = "" } = act;
  const known = [name, email ?? ""].filter((each) => visibleText(each, limits.shownNameLengthMax) !== "");
  const [first = sub, ...others] = known;
  const lines = others.map((each) => `<br><bdi>${escapeHtml(each)}</bdi>`).join("");
  return (
    `<p class="person"><small>Signed in as</small><br><strong>${nameHtml(first)}</strong>${lines}` +
    `<br><small>through ${escapeHtml(hostOfIssuer(iss))}</small></p>`
  );
};

export const signedInPage = async ({ store }: Pick<SignInSettings, "store">, signedIn: SignedIn, title: string, next: string): Promise<EndpointAnswer> => {
  const { uid } = signedIn;
  const assumed = isRoot(uid) ? "" : `<p>It acts as the identity ${nameHtml((await findIdentityName(store.read, uid)) || uid)}.</p>`;
  return htmlPage(200, title, [], `${personHtml(signedIn)}${assumed}<p>${escapeHtml(next)}</p>`);
};
