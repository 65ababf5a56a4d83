// Device authorization grant (RFC 8628). A terminal polls with a device code and shows a user code, which the user types into a
// browser and confirms.
//
//   open ── sign-in succeeds ───────────────▶ approved ── terminal polls ──▶ deleted, tokens issued
//     └──── refused, or the sign-in fails ──▶ refused ─── terminal polls ──▶ refused, until the code is deleted
//
// Each step is one statement or runs under the row's lock.

import { Fault, invalid } from "#base/fault.ts";
import { type JsonObject, part, text, texts } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import type { RequestSource } from "#base/origin.ts";
import { withUnseenAs } from "#base/unseen.ts";
import {
  approveDeviceCode,
  deleteDeviceCode,
  deleteEndedDeviceCodes,
  findOpenDeviceCode,
  hasDeviceCode,
  insertDeviceCode,
  lockDeviceCode,
  lockPersonAndProvider,
  refuseDeviceCode,
  updateDevicePoll,
} from "#iam/store";
import type { Binding, Write } from "#db";
import type { Completer, DeviceCompletion, RequestedToken, SignedIn } from "./completion.ts";
import { refusalPage, sentenceOf } from "./pages.ts";
import { oauthFault, openIdScopes, readSingleParameters } from "./oauth-parameters.ts";
import { signedInPage } from "./person.ts";
import { findNamedProviders, unknownProviderFault } from "./requested-provider.ts";
import { newSecret, secretHashOf } from "./secret.ts";
import { type SignInSettings, urlOfPath } from "./settings.ts";
import { issueTokens } from "./tokens.ts";
import { formatUserCode, makeUserCode } from "./user-code.ts";

export const deviceGrantType = "urn:ietf:params:oauth:grant-type:device_code";

export const devicePath = "/oauth/device";

/** A terminal's request, stored as JSON. */
export interface DeviceRequest {
  readonly requestedToken: RequestedToken;
  /** UID of a provider, or a verified organization's name; "" if the user chooses. */
  readonly idp: string;
  /** Request a refresh token. */
  readonly refresh: boolean;
  /** Request an OpenID Connect ID token. */
  readonly identify: boolean;
}

export interface OpenCode {
  readonly userCode: string;
  readonly client: string;
  readonly request: DeviceRequest;
  /** Client address of the request; "" if the row lacks it. */
  readonly address: string;
  readonly createTimeMs: number;
}

const readStoredRequest = (stored: JsonObject): DeviceRequest => {
  const token = part(stored, "requestedToken");
  return {
    requestedToken: { audience: texts(token, "audience"), scopes: texts(token, "scopes"), capabilities: texts(token, "capabilities") },
    idp: text(stored, "idp"),
    refresh: stored.refresh === true,
    identify: stored.identify === true,
  };
};

const readStoredSignedIn = (stored: JsonObject): SignedIn => {
  const requestSource = part(stored, "requestSource");
  const origin = part(requestSource, "origin");
  return {
    uid: text(stored, "uid"),
    identityProviderUid: text(stored, "identityProviderUid"),
    session: text(stored, "session") || undefined,
    mayRefresh: stored.mayRefresh === true,
    act: Object.fromEntries(Object.entries(part(stored, "act")).map(([name, value]) => [name, String(value)])),
    email: text(stored, "email") || undefined,
    name: text(stored, "name") || undefined,
    untilMs: Number(stored.untilMs),
    requestSource: { requestId: text(requestSource, "requestId"), origin: { address: text(origin, "address"), userAgent: text(origin, "userAgent") } },
  };
};

const addressPurpose = "address of a device code";
const addressBinding = (userCode: string): Binding => [userCode];

const unknownDeviceCode = (): Fault => oauthFault("invalid_grant", "the code is unknown or already used");

const readDeviceRequest = ({ authn }: SignInSettings, form: URLSearchParams): { client: string; request: DeviceRequest } => {
  const { values, violations } = readSingleParameters(form, { client_id: limits.deviceClientLengthMax, idp_id: limits.uidLengthMax });
  const { client_id: client, idp_id: idp } = values;
  // The name is shown to users and must be readable.
  if (/[\p{C}\p{Z}]/u.test(withUnseenAs(client.replaceAll(" ", ""), () => "\n")))
    violations.push({ field: "client_id", description: "must be a name in visible characters" });
  if (violations.length > 0) throw invalid(violations);
  const scope = form
    .getAll("scope")
    .flatMap((entry) => entry.split(" "))
    .filter((entry) => entry !== "");
  const requestedToken: RequestedToken = {
    audience: [...form.getAll("audience"), ...form.getAll("resource")].filter((entry) => entry !== ""),
    scopes: scope.filter((entry) => !openIdScopes.has(entry)),
    capabilities: form
      .getAll("cap")
      .flatMap((entry) => entry.split(" "))
      .filter((entry) => entry !== ""),
  };
  authn.readDownscoping({ identity: "", ...requestedToken });
  return { client, request: { requestedToken, idp, refresh: scope.includes("offline_access"), identify: scope.includes("openid") } };
};

const storeCodes = async (
  rows: Write,
  { vault, openRows, userCodeGuesses }: SignInSettings,
  address: string,
  client: string,
  request: DeviceRequest,
  deviceHash: string,
  nowMs: number,
): Promise<string> => {
  await deleteEndedDeviceCodes(rows, nowMs);
  const addressHash = await openRows.admit(rows, "device_codes", address, nowMs);
  const length = await userCodeGuesses.lengthOfNew(rows);
  for (;;) {
    const userCode = makeUserCode(length);
    const inserted = await insertDeviceCode(rows, {
      deviceHash,
      userCode,
      addressHash,
      client,
      // The page shows the address; the table has it sealed, plus a hash for counting.
      requestJson: JSON.stringify({ ...request, address: vault.seal(addressPurpose, address, addressBinding(userCode)) }),
      intervalMs: limits.devicePollIntervalMs,
      createTimeMs: nowMs,
      expireTimeMs: nowMs + limits.deviceCodeLifetimeMs,
    });
    if (inserted) return userCode;
  }
};

/** RFC 8628 §3.1, §3.2: issues a pair of codes. */
export const beginDevice = async (settings: SignInSettings, form: URLSearchParams, { origin: { address } }: RequestSource): Promise<JsonObject> => {
  settings.authn.clientLimits.take("device-authorizations", address);
  const { client, request } = readDeviceRequest(settings, form);
  // If several match, the user chooses on the confirmation page.
  if (request.idp !== "" && (await findNamedProviders(settings.store.read, request.idp)).length === 0) throw unknownProviderFault();
  const deviceCode = newSecret();
  const nowMs = settings.clock();
  const deviceHash = secretHashOf(deviceCode);
  const userCode = formatUserCode(await settings.store.write((rows) => storeCodes(rows, settings, address, client, request, deviceHash, nowMs)));
  const url = urlOfPath(settings, devicePath);
  return {
    device_code: deviceCode,
    user_code: userCode,
    verification_uri: url,
    verification_uri_complete: `${url}?user_code=${userCode}`,
    expires_in: limits.deviceCodeLifetimeMs / 1000,
    interval: limits.devicePollIntervalMs / 1000,
  };
};

/** RFC 8628 §3.5: pending, or slow_down with a longer interval. */
const postponePoll = async (
  rows: Write,
  deviceHash: string,
  { intervalMs, pollTimeMs }: { readonly intervalMs: number; readonly pollTimeMs: number | undefined },
  nowMs: number,
): Promise<Fault> => {
  const early = pollTimeMs !== undefined && nowMs < pollTimeMs + intervalMs - limits.devicePollEarlyMs;
  const nextIntervalMs = early ? Math.min(intervalMs + limits.devicePollSlowerMs, limits.devicePollIntervalMaxMs) : intervalMs;
  await updateDevicePoll(rows, deviceHash, nowMs, nextIntervalMs);
  return early
    ? oauthFault("slow_down", `asked too often; ask every ${nextIntervalMs / 1000} seconds`)
    : oauthFault("authorization_pending", "the code is not confirmed yet");
};

const issueDeviceTokens = async (
  settings: SignInSettings,
  rows: Write,
  client: string,
  { requestedToken, refresh, identify }: DeviceRequest,
  signedIn: SignedIn,
): Promise<JsonObject> => {
  // OpenID Connect Core §2: an ID token names its client as audience. The access token serves as ID token.
  const own = requestedToken.audience.length > 0 ? requestedToken.audience : [settings.publicUrl];
  const audience = identify && client !== "" ? [...own, client] : requestedToken.audience;
  const { token, expireTimeMs, refreshToken } = await issueTokens(settings, rows, signedIn, { ...requestedToken, audience }, refresh, {
    kind: "device",
    program: client,
  });
  return {
    access_token: token,
    token_type: "Bearer",
    expires_in: Math.max(Math.floor((expireTimeMs - settings.clock()) / 1000), 0),
    ...(refreshToken === undefined ? {} : { refresh_token: refreshToken }),
    ...(identify ? { id_token: token } : {}),
  };
};

/** RFC 8628 §3.4, §3.5: polls for the tokens, which are issued once. */
export const deviceGrant = async (settings: SignInSettings, form: URLSearchParams): Promise<JsonObject> => {
  const parameters = { grant_type: limits.tokenBytesMax, device_code: limits.tokenBytesMax, client_id: limits.tokenBytesMax };
  const { values, violations } = readSingleParameters(form, parameters);
  const { device_code: deviceCode, client_id: client } = values;
  if (deviceCode === "") violations.push({ field: "device_code", description: "is required" });
  if (violations.length > 0) throw invalid(violations);
  const deviceHash = secretHashOf(deviceCode);
  const nowMs = settings.clock();
  // Made-up codes must not cost a transaction.
  if (!(await hasDeviceCode(settings.store.read, deviceHash))) throw unknownDeviceCode();
  const answer = await settings.store.write(async (rows): Promise<JsonObject | Fault> => {
    const code = await lockDeviceCode(rows, deviceHash);
    if (code?.client !== client) return unknownDeviceCode();
    if (code.expireTimeMs <= nowMs) return oauthFault("expired_token", "the code was not confirmed in time; begin again");
    if (code.state === "refused") return oauthFault("access_denied", code.reason);
    if (code.state !== "approved" || !code.signedIn) return postponePoll(rows, deviceHash, code, nowMs);
    await deleteDeviceCode(rows, deviceHash);
    const signedIn = readStoredSignedIn(code.signedIn);
    // The identity or its provider may have been deleted since the sign-in.
    if (!(await lockPersonAndProvider(rows, signedIn.uid, signedIn.identityProviderUid)))
      return oauthFault("access_denied", "the identity or its identity provider was deleted during the sign-in");
    return issueDeviceTokens(settings, rows, client, readStoredRequest(code.request), signedIn);
  });
  if (answer instanceof Fault) throw answer;
  return answer;
};

/** Returns the open code that a user typed, if any. Throws `throttled` if this address has typed too many wrong codes. */
export const findOpenCode = async (
  { store: { read }, vault, clock, authn: { clientLimits }, userCodeGuesses }: SignInSettings,
  userCode: string,
  { origin: { address } }: RequestSource,
): Promise<OpenCode | undefined> => {
  // Applies to right codes too, or the difference would reveal them.
  clientLimits.check("wrong-user-codes", address);
  const code = await findOpenDeviceCode(read, userCode, clock());
  if (code)
    return {
      userCode,
      client: code.client,
      request: readStoredRequest(code.request),
      address: vault.open(addressPurpose, text(code.request, "address"), addressBinding(userCode)) ?? "",
      createTimeMs: code.createTimeMs,
    };
  clientLimits.addFailure("wrong-user-codes", address);
  await userCodeGuesses.addWrong();
  return undefined;
};

/** Refuses an open code. Returns false if it was not open. */
export const refuseDevice = async ({ store, clock }: SignInSettings, userCode: string, reason: string): Promise<boolean> =>
  store.write((rows) => refuseDeviceCode(rows, userCode, reason, clock()));

export const deviceCompleter: Completer<DeviceCompletion> = {
  complete: async (settings, signedIn, { userCode }) => {
    const { store, clock } = settings;
    const client = await store.write((rows) => approveDeviceCode(rows, userCode, JSON.stringify(signedIn), clock()));
    if (client === undefined) {
      const ended = `the code ${formatUserCode(userCode)} has expired, and the terminal is not signed in`;
      return refusalPage(new Fault("NOT_FOUND", ended, { httpStatus: 410 }), 410, "Too late", [
        `${sentenceOf(ended)} Start the sign-in again in the terminal.`,
      ]);
    }
    return signedInPage(settings, signedIn, "Your terminal is signed in", "It continues automatically. You can close this page.");
  },
  refuse: async (settings, { status, fault }, { userCode }) => {
    await refuseDevice(settings, userCode, fault.message);
    return refusalPage(fault, status, "Not signed in", [sentenceOf(fault.message), "Start the sign-in again in the terminal."]);
  },
};
