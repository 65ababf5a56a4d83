// A user on the invite page; forms are submitted as shown.

import {
  answerLoopbackPage,
  type BrowserAnswer,
  callbackUrl,
  type Claims,
  clientAddress,
  type FakeBrowser,
  type FakeProvider,
  openBrowser,
  signInUrl,
} from "./provider.ts";
import { hiddenFields, refreshTarget, submitForm } from "./terminal.ts";
import type { World } from "./world.ts";

export const invitePath = "/oauth/invite";

export type InviteAnswer = "accept" | "decline";

/** Opens an invite link and signs in. Returns the next page: the question or a redirect. */
export const arriveWithInvite = async (
  world: World,
  provider: FakeProvider,
  idp: string,
  claims: Claims,
  code: string,
  parameters: Readonly<Record<string, string>> = {},
  browser = openBrowser(),
): Promise<BrowserAnswer> => {
  const begun = await browser.get(signInUrl(world, { idp_id: idp, invite: code, ...parameters }));
  const question = URL.parse(begun.location);
  if (!question) throw new Error(`the sign-in did not begin: ${begun.status} ${begun.text}`);
  return browser.get(callbackUrl(provider, question, provider.vouch(question, claims)));
};

/** Submits one of the page's buttons. `location` is the target of its refresh. */
export const answerInvite = async (world: World, browser: FakeBrowser, page: Pick<BrowserAnswer, "text">, answer: InviteAnswer): Promise<BrowserAnswer> => {
  const answered = await submitForm(world, browser, invitePath, { ...hiddenFields(page.text), answer });
  return { ...answered, location: refreshTarget(answered)?.href ?? "" };
};

/** What the client's redirect URI receives. */
export interface Received {
  readonly token: string;
  readonly refreshToken: string;
  readonly error: string;
  readonly status: string;
}

/** Signs in with an invite, up to the client's redirect URI. An unacceptable invite is refused before the page. */
export const signInWithInvite = async (
  world: World,
  provider: FakeProvider,
  idp: string,
  claims: Claims,
  code: string,
  { answer = "accept", parameters = {} }: { readonly answer?: InviteAnswer; readonly parameters?: Readonly<Record<string, string>> } = {},
): Promise<Received> => {
  const browser = openBrowser();
  const shown = await arriveWithInvite(world, provider, idp, claims, code, parameters, browser);
  const answered = shown.location === "" ? await answerInvite(world, browser, shown, answer) : shown;
  const target = URL.parse((await answerLoopbackPage(world, browser, answered)).location);
  if (target?.origin !== new URL(clientAddress).origin) throw new Error(`the sign-in did not end: ${shown.status} ${shown.text}`);
  const { searchParams } = target;
  const text = (name: string): string => searchParams.get(name) ?? "";
  return { token: text("token"), refreshToken: text("refresh_token"), error: text("error"), status: text("status_code") };
};
