// A device-code sign-in from both sides: the terminal, and the user's browser on the confirmation pages. Forms are submitted as
// shown.

import type { JsonObject } from "#base/json.ts";
import { type Claims, type FakeBrowser, type FakeProvider, openBrowser, callbackUrl } from "./provider.ts";
import type { World } from "./world.ts";

export interface Reply {
  readonly status: number;
  readonly body: JsonObject;
  readonly headers: Headers;
}

export interface Page {
  readonly status: number;
  readonly text: string;
  readonly headers: Headers;
}

export const postForm = async (
  url: string,
  form: Readonly<Record<string, string>> | URLSearchParams,
  headers: Readonly<Record<string, string>> = {},
): Promise<Reply> => {
  const response = await fetch(url, { method: "POST", body: new URLSearchParams(form), headers });
  return { status: response.status, body: (await response.json()) as JsonObject, headers: response.headers };
};

export interface Codes {
  readonly deviceCode: string;
  readonly userCode: string;
  readonly page: string;
}

export const requestDeviceCodes = async (world: World, form: Readonly<Record<string, string>> = {}): Promise<Codes> => {
  const { status, body } = await postForm(`${world.url}/oauth/device_authorization`, { client_id: "terminal", ...form });
  if (status !== 200) throw new Error(`no codes: ${status} ${JSON.stringify(body)}`);
  return { deviceCode: String(body.device_code), userCode: String(body.user_code), page: String(body.verification_uri_complete) };
};

export const poll = (world: World, { deviceCode }: Pick<Codes, "deviceCode">, form: Readonly<Record<string, string>> = {}): Promise<Reply> =>
  postForm(`${world.url}/oauth/token`, { grant_type: "urn:ietf:params:oauth:grant-type:device_code", device_code: deviceCode, client_id: "terminal", ...form });

const unescaped = (text: string): string =>
  text.replaceAll("&quot;", '"').replaceAll("&#39;", "'").replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");

export const hiddenFields = (html: string): Record<string, string> =>
  Object.fromEntries([...html.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)">/g)].map(([, name = "", value = ""]) => [name, unescaped(value)]));

/** Submits a form with typed values and the pressed button. */
export const submitForm = async (
  world: World,
  browser: FakeBrowser,
  path: string,
  form: Readonly<Record<string, string>>,
  headers: Readonly<Record<string, string>> = {},
): Promise<Page> => {
  const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  const response = await fetch(`${world.url}${path}`, {
    method: "POST",
    body: new URLSearchParams(form),
    redirect: "manual",
    headers: { origin: world.url, ...(cookie ? { cookie } : {}), ...headers },
  });
  for (const line of response.headers.getSetCookie()) {
    const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
    browser.cookies.set(name, value);
  }
  return { status: response.status, text: await response.text(), headers: response.headers };
};

/** Opens the confirmation page; submits a prefilled code first. */
export const showConfirmation = async (world: World, browser: FakeBrowser, page: string): Promise<Page> => {
  const shown = await browser.get(page);
  const typed = /<input id="user_code" name="user_code" value="([^"]+)"/.exec(shown.text)?.[1];
  return typed === undefined ? shown : submitForm(world, browser, "/oauth/device", { user_code: unescaped(typed) });
};

export const refreshTarget = ({ headers }: Page): URL | undefined => URL.parse(/^0;url=(.+)$/.exec(headers.get("refresh") ?? "")?.[1] ?? "") ?? undefined;

/** Opens the page, confirms, signs in as this user, and returns the last page. */
export const confirmAs = async (
  world: World,
  provider: FakeProvider,
  page: string,
  claims: Claims,
  typed: Readonly<Record<string, string>> = {},
  browser = openBrowser(),
): Promise<Page> => {
  const shown = await showConfirmation(world, browser, page);
  const path = /<form method="post" action="([^"]+)">/.exec(shown.text)?.[1] ?? "";
  const confirmed = await submitForm(world, browser, path, { ...hiddenFields(shown.text), ...typed, answer: "confirm" });
  const question = refreshTarget(confirmed);
  if (!question) return confirmed;
  return browser.get(callbackUrl(provider, question, provider.vouch(question, claims)));
};
