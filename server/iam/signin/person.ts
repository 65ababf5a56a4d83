// How a page says who has signed in. A name is what the provider, and often the person, makes of it: it may be an
// administrator's, or end in an address in brackets. So it stands on a line of its own, isolated, and below it what
// cannot be made up: the address that the provider has verified, and which provider that was.

import { escapeHtml, visibleText } from "#base/html.ts";
import type { EndpointAnswer } from "#base/endpoint.ts";
import { limits } from "#base/limits.ts";
import { isRoot } from "#base/uid.ts";
import { findIdentityName } from "#iam/store";
import type { SignedIn } from "./completion.ts";
import { htmlPage } from "./pages.ts";
import type { SignInSettings } from "./settings.ts";

/** A name that somebody else chose, as markup: visible, bounded, and without effect on the text around it. */
export const nameHtml = (name: string): string => `<bdi>${escapeHtml(visibleText(name, limits.shownNameLengthMax) || "(no visible name)")}</bdi>`;

/** Where a provider's people sign in: its host, which nobody but its owner can have. */
export const hostOfIssuer = (issuer: string): string => URL.parse(issuer)?.host || visibleText(issuer, limits.shownNameLengthMax);

/** Who has signed in, as markup. */
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

/** The last page of a sign-in that went well. */
export const signedInPage = async ({ store }: Pick<SignInSettings, "store">, signedIn: SignedIn, title: string, next: string): Promise<EndpointAnswer> => {
  const { uid } = signedIn;
  const assumed = isRoot(uid) ? "" : `<p>It acts as the identity ${nameHtml((await findIdentityName(store.read, uid)) || uid)}.</p>`;
  return htmlPage(200, title, [], `${personHtml(signedIn)}${assumed}<p>${escapeHtml(next)}</p>`);
};
