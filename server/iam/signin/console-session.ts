// The console's session: the only endpoint that redeems the console's codes and reads its cookie (docs/decisions/0050).
//
//   POST /console/session   do=begin&code=…&verifier=…   redeems a code; sets the cookie
//                           do=renew                     returns an access token for the cookie
//                           do=end                       revokes the session; removes the cookie
//                           do=offer, account, redeem    a program's access token for the page (console-handover.ts)
//
// The page keeps the access token in memory. The refresh token stays in the cookie, which no script reads and no other site sends.

import { createHash } from "node:crypto";
import type { EndpointAnswer, EndpointRequest } from "#base/endpoint.ts";
import { Fault, invalid } from "#base/fault.ts";
import { type JsonObject, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import type { Binding } from "#db";
import { codeGrant, codeGrantType } from "./authorization-code.ts";
import { offerToken, redeemOffer, showOfferedAccount } from "./console-handover.ts";
import { singleParameter } from "./oauth-parameters.ts";
import { jsonAnswer } from "./pages.ts";
import { renew } from "./refresh.ts";
import { revokeReplaced } from "./revocation-endpoint.ts";
import { consoleClientOf, type SignInSettings } from "./settings.ts";

export const consoleSessionPath = "/console/session";

const sealPurpose = "console session";
const boundToNothing: Binding = [];

const isSecure = ({ publicUrl }: SignInSettings): boolean => publicUrl.startsWith("https:");

/** Browsers share cookies between the ports of a host, so the name tells servers apart. */
const cookieName = (settings: SignInSettings): string => {
  const name = `gantry-console-${createHash("sha256").update(settings.publicUrl).digest("hex").slice(0, 12)}`;
  return isSecure(settings) ? `__Host-${name}` : name;
};

const setCookie = (settings: SignInSettings, value: string): string => {
  const seconds = value === "" ? 0 : limits.refreshTokenLifetimeMs / 1000;
  // The prefix __Host- requires the path "/".
  const [path, secure] = isSecure(settings) ? ["/", "; Secure"] : [consoleSessionPath, ""];
  return `${cookieName(settings)}=${value}; Path=${path}; Max-Age=${seconds}; HttpOnly; SameSite=Strict${secure}`;
};

/** Returns the refresh token of the cookie; "" if it is absent, present twice, or not sealed by this server. */
const readCookie = (settings: SignInSettings, { headers }: EndpointRequest): string => {
  const start = `${cookieName(settings)}=`;
  const values = (headers.cookie ?? "")
    .split(";")
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(start));
  const [value = ""] = values.map((pair) => pair.slice(start.length));
  if (values.length !== 1 || value.length > limits.tokenBytesMax) return "";
  return settings.vault.open(sealPurpose, value, boundToNothing) ?? "";
};

/** Browsers send Sec-Fetch-Site only over TLS and on loopback; Origin accompanies every POST. */
const isOwnPage = ({ publicUrl }: SignInSettings, { headers, headerOf }: EndpointRequest): boolean => {
  const site = headerOf("sec-fetch-site");
  return headers.origin === new URL(publicUrl).origin && (site === undefined || site === "same-origin");
};

const withCookie = (settings: SignInSettings, answer: JsonObject, refreshToken: string | undefined): EndpointAnswer => {
  const { headers, ...rest } = jsonAnswer(200, answer);
  const value = refreshToken === undefined || refreshToken === "" ? "" : settings.vault.seal(sealPurpose, refreshToken, boundToNothing);
  return { ...rest, headers: { ...headers, "set-cookie": setCookie(settings, value) } };
};

const begin = async (settings: SignInSettings, { form }: EndpointRequest, build: string): Promise<EndpointAnswer> => {
  const client = consoleClientOf(settings);
  const granted = await codeGrant(
    settings,
    new URLSearchParams({
      grant_type: codeGrantType,
      code: singleParameter(form, "code"),
      code_verifier: singleParameter(form, "verifier"),
      client_id: client,
      redirect_uri: client,
      resource: settings.publicUrl,
    }),
  );
  return withCookie(
    settings,
    { signedIn: true, token: text(granted, "access_token"), expiresIn: granted.expires_in ?? 0, build },
    text(granted, "refresh_token"),
  );
};

/** An absent or ended session is no error: the page then offers to sign in. */
const renewSession = async (settings: SignInSettings, request: EndpointRequest, build: string): Promise<EndpointAnswer> => {
  const token = readCookie(settings, request);
  if (token === "") return jsonAnswer(200, { signedIn: false, build });
  const nowMs = settings.clock();
  const renewal = {
    authorization: `Bearer ${token}`,
    audience: [],
    capabilities: [],
    scopes: [],
    client: consoleClientOf(settings),
    operation: consoleSessionPath,
    requestSource: { origin: request.origin, requestId: request.requestId },
    // The same token renews to the same token within a second, so a repeated renewal can be recognized.
    nextSecret: (secret: string, atMs: number) => settings.vault.digest(sealPurpose, `${secret} ${Math.floor(atMs / 1000)}`),
  };
  const renewed = await settings.store.write((rows) => renew(rows, settings, renewal, nowMs));
  if ("refusal" in renewed) return withCookie(settings, { signedIn: false, build }, undefined);
  const expiresIn = Math.max(Math.floor((renewed.access.expireTimeMs - nowMs) / 1000), 0);
  return withCookie(settings, { signedIn: true, token: renewed.access.token, expiresIn, build }, renewed.refresh.token);
};

const end = async (settings: SignInSettings, request: EndpointRequest, build: string): Promise<EndpointAnswer> => {
  // A session without a refresh token ends by its access token.
  const token = readCookie(settings, request) || singleParameter(request.form, "token");
  await revokeReplaced(settings, token, consoleClientOf(settings), { origin: request.origin, requestId: request.requestId });
  return withCookie(settings, { signedIn: false, build }, undefined);
};

/** Answers `POST /console/session`. Throws PERMISSION_DENIED for a request that is not from the console's own page. */
export const answerConsoleSession = async (settings: SignInSettings, request: EndpointRequest, build: string): Promise<EndpointAnswer> => {
  const wanted = singleParameter(request.form, "do");
  // By a program with a token, not by a page.
  if (wanted === "offer") return jsonAnswer(200, await offerToken(settings, request));
  if (!isOwnPage(settings, request))
    throw new Fault("PERMISSION_DENIED", `Permission denied: only the page ${consoleClientOf(settings)} can use this endpoint. Open it at that address`);
  if (wanted === "begin") return begin(settings, request, build);
  if (wanted === "renew") return renewSession(settings, request, build);
  if (wanted === "end") return end(settings, request, build);
  if (wanted === "account") return jsonAnswer(200, { ...(await showOfferedAccount(settings, request)), build });
  if (wanted === "redeem") return jsonAnswer(200, { ...(await redeemOffer(settings, request)), build });
  throw invalid([{ field: "do", description: "must be begin, renew, end, offer, account or redeem" }]);
};
