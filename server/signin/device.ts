// Signing in on another device (RFC 8628). A terminal is given two codes: a long one, which it keeps and asks with, and
// a short one, which it shows. Whoever types the short one into a browser, confirms it and signs in approves it.
//
//   open ── a sign-in succeeds ────────────▶ approved ── the terminal asks ──▶ gone, and the terminal has its tokens
//     └──── refused, or the sign-in failed ─▶ refused ── the terminal asks ──▶ told, until the code is forgotten
//
// Each step is one statement or stands under the row's lock, so that it happens once, whichever server it comes to.

import { Fault, invalid, type Violation } from "#base/fault.ts";
import type { JsonObject } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { timestamp } from "#base/time.ts";
import type { Write } from "#store";
import type { DeviceCompletion, Completer, SignedIn, RequestedToken } from "./completion.ts";
import { providerNamed } from "./organization.ts";
import { addressOf, type SignInDependencies } from "./dependencies.ts";
import { hashOf, newSecret } from "./secret.ts";
import { page } from "./pages.ts";
import { tokensFor } from "./tokens.ts";
import { makeUserCode, showUserCode } from "./user-code.ts";

export const deviceGrantType = "urn:ietf:params:oauth:grant-type:device_code";

/** Where a person types the code. */
export const devicePath = "/oauth/device";

/** What a terminal asks for. */
export interface Wanted {
  readonly wish: RequestedToken;
  /** The identity provider's uid or the verified organization's name; "" where the person chooses. */
  readonly idp: string;
  /** It wants to stay signed in. */
  readonly refresh: boolean;
  /** It speaks OpenID Connect and expects an ID token for itself. */
  readonly identify: boolean;
}

/** A code that waits for its person. */
export interface OpenCode {
  readonly userCode: string;
  readonly client: string;
  readonly wanted: Wanted;
  readonly createTimeMs: number;
}

/** An error of RFC 6749, 5.2 or RFC 8628, 3.5. */
const oauthFault = (reason: string, message: string): Fault => new Fault("INVALID_ARGUMENT", message, { details: [{ kind: "reason", reason }] });

const unknownCode = (): Fault => oauthFault("invalid_grant", "the code is unknown, or its tokens have been taken");

/** The parameters of OAuth that have one value, each with a refusal of a second one (RFC 6749, 3.2). */
const singles = (form: URLSearchParams, lengths: Readonly<Record<string, number>>): { values: Record<string, string>; violations: Violation[] } => {
  const violations: Violation[] = [];
  const values: Record<string, string> = {};
  for (const [name, lengthMax] of Object.entries(lengths)) {
    const [value = "", ...more] = form.getAll(name);
    if (more.length > 0) violations.push({ field: name, description: "must be given once" });
    if (value.length > lengthMax) violations.push({ field: name, description: `must have at most ${lengthMax} characters` });
    values[name] = value;
  }
  return { values, violations };
};

const openIdScopes = new Set(["openid", "profile", "email", "offline_access"]);

const readRequest = ({ authn }: SignInDependencies, form: URLSearchParams): { client: string; wanted: Wanted } => {
  const { values, violations } = singles(form, { client_id: limits.deviceClientLengthMax, idp_id: limits.uidLengthMax });
  const { client_id: client = "", idp_id: idp = "" } = values;
  // It is shown to people, who must read it as it is.
  if (/[\p{C}\p{Z}]/u.test(client.replaceAll(" ", ""))) violations.push({ field: "client_id", description: "must be a name in visible characters" });
  if (violations.length > 0) throw invalid(violations);
  const scope = form
    .getAll("scope")
    .flatMap((entry) => entry.split(" "))
    .filter((entry) => entry !== "");
  const wish: RequestedToken = {
    audience: [...form.getAll("audience"), ...form.getAll("resource")].filter((entry) => entry !== ""),
    scopes: scope.filter((entry) => !openIdScopes.has(entry)),
    capabilities: form
      .getAll("cap")
      .flatMap((entry) => entry.split(" "))
      .filter((entry) => entry !== ""),
  };
  authn.narrowing({ identity: "", ...wish });
  return { client, wanted: { wish, idp, refresh: scope.includes("offline_access"), identify: scope.includes("openid") } };
};

/** Stores a new pair of codes, and forgets those whose time is over. */
const keepCodes = async (rows: Write, client: string, wanted: Wanted, deviceHash: string, nowMs: number): Promise<string> => {
  const now = timestamp(nowMs);
  await rows.query("delete from device_codes where expire_time < $1", [timestamp(nowMs - limits.deviceCodeKeptMs)]);
  const [counted] = await rows.query("select count(*) from (select 1 from device_codes where expire_time > $1 limit $2) as open", [now, limits.deviceCodesMax]);
  if (Number(counted?.[0]) >= limits.deviceCodesMax)
    throw new Fault("RESOURCE_EXHAUSTED", "too many sign-ins are open at the moment; try again in some minutes");
  for (;;) {
    const userCode = makeUserCode();
    const made = await rows.query(
      `insert into device_codes (device_hash, user_code, client, wanted, interval_ms, create_time, expire_time)
       values ($1, $2, $3, $4, $5, $6, $7) on conflict (user_code) do nothing returning 1`,
      [deviceHash, userCode, client, JSON.stringify(wanted), limits.devicePollIntervalMs, now, timestamp(nowMs + limits.deviceCodeLifetimeMs)],
    );
    if (made.length > 0) return userCode;
  }
};

/** RFC 8628, 3.1 and 3.2: a terminal begins. */
export const beginDevice = async (parts: SignInDependencies, form: URLSearchParams): Promise<JsonObject> => {
  const { client, wanted } = readRequest(parts, form);
  if (wanted.idp !== "") await providerNamed(parts.store.read, wanted.idp);
  const deviceCode = newSecret();
  const nowMs = parts.clock();
  const userCode = showUserCode(await parts.store.write((rows) => keepCodes(rows, client, wanted, hashOf(deviceCode), nowMs)));
  const address = addressOf(parts, devicePath);
  return {
    device_code: deviceCode,
    user_code: userCode,
    verification_uri: address,
    verification_uri_complete: `${address}?user_code=${userCode}`,
    expires_in: limits.deviceCodeLifetimeMs / 1000,
    interval: limits.devicePollIntervalMs / 1000,
  };
};

interface Held {
  readonly client: string;
  readonly state: string;
  readonly wanted: Wanted;
  readonly signedIn: SignedIn | undefined;
  readonly reason: string;
  readonly intervalMs: number;
  readonly pollTimeMs: number | undefined;
  readonly expireTimeMs: number;
}

/** The terminal's row, held until the transaction ends: of all who ask at the same moment one is answered first. */
const hold = async (rows: Write, deviceHash: string): Promise<Held | undefined> => {
  const [row] = await rows.query(
    `select client, state, wanted, signed_in, reason, interval_ms,
       (extract(epoch from poll_time) * 1000)::bigint, (extract(epoch from expire_time) * 1000)::bigint
     from device_codes where device_hash = $1 for update`,
    [deviceHash],
  );
  if (!row) return undefined;
  const [client, state, wanted, signedIn, reason, interval, polled, expires] = row;
  return {
    client: client ?? "",
    state: state ?? "",
    wanted: JSON.parse(wanted ?? "{}") as Wanted,
    signedIn: signedIn ? (JSON.parse(signedIn) as SignedIn) : undefined,
    reason: reason ?? "",
    intervalMs: Number(interval),
    pollTimeMs: polled ? Number(polled) : undefined,
    expireTimeMs: Number(expires),
  };
};

/** RFC 8628, 3.5: pending, or asked too soon, and then it has to wait longer from now on. */
const putOff = async (rows: Write, deviceHash: string, { intervalMs, pollTimeMs }: Held, nowMs: number): Promise<Fault> => {
  const early = pollTimeMs !== undefined && nowMs < pollTimeMs + intervalMs - limits.devicePollEarlyMs;
  const slower = early ? Math.min(intervalMs + limits.devicePollSlowerMs, limits.devicePollIntervalMaxMs) : intervalMs;
  await rows.query("update device_codes set poll_time = $2, interval_ms = $3 where device_hash = $1", [deviceHash, timestamp(nowMs), slower]);
  return early
    ? oauthFault("slow_down", `asked too often; ask every ${slower / 1000} seconds`)
    : oauthFault("authorization_pending", "nobody has confirmed the code yet");
};

/** RFC 8628, 3.4 and 3.5: a terminal asks for its tokens. It gets them once. */
export const deviceGrant = async (parts: SignInDependencies, form: URLSearchParams): Promise<JsonObject> => {
  const { values, violations } = singles(form, { grant_type: limits.tokenBytesMax, device_code: limits.tokenBytesMax, client_id: limits.tokenBytesMax });
  const { device_code: deviceCode = "", client_id: client = "" } = values;
  if (deviceCode === "") violations.push({ field: "device_code", description: "is required" });
  if (violations.length > 0) throw invalid(violations);
  const deviceHash = hashOf(deviceCode);
  const nowMs = parts.clock();
  // Anybody may ask with a code that was made up: that costs no transaction.
  if ((await parts.store.read.query("select 1 from device_codes where device_hash = $1", [deviceHash])).length === 0) throw unknownCode();
  const answer = await parts.store.write(async (rows): Promise<JsonObject | Fault> => {
    const held = await hold(rows, deviceHash);
    if (held?.client !== client) return unknownCode();
    if (held.expireTimeMs <= nowMs) return oauthFault("expired_token", "the code was not confirmed in time; begin again");
    if (held.state === "refused") return oauthFault("access_denied", held.reason);
    if (held.state !== "approved" || !held.signedIn) return putOff(rows, deviceHash, held, nowMs);
    await rows.query("delete from device_codes where device_hash = $1", [deviceHash]);
    if (!(await stillVouched(rows, held.signedIn))) return oauthFault("access_denied", "the identity or its identity provider has been deleted meanwhile");
    return deviceTokens(parts, rows, client, held.wanted, held.signedIn);
  });
  // Thrown in there, it would undo what it has noted.
  if (answer instanceof Fault) throw answer;
  return answer;
};

/** Between the sign-in and this question whoever vouched for it may have gone, or the person itself. */
const stillVouched = async (rows: Write, { uid, identityProviderUid }: SignedIn): Promise<boolean> => {
  const found = await rows.query(
    "select 1 from identities as person, identity_providers as provider where person.uid = $1 and provider.uid = $2 for key share",
    [uid, identityProviderUid],
  );
  return found.length > 0;
};

const deviceTokens = async (
  parts: SignInDependencies,
  rows: Write,
  client: string,
  { wish, refresh, identify }: Wanted,
  signedIn: SignedIn,
): Promise<JsonObject> => {
  // OpenID Connect Core, 2: an ID token names its client as audience. It is the access token that says who you are.
  const audience = identify && client !== "" ? [...(wish.audience.length > 0 ? wish.audience : [parts.publicUrl]), client] : wish.audience;
  const { token, expireTimeMs, refreshToken } = await tokensFor(parts, rows, signedIn, { ...wish, audience }, refresh);
  return {
    access_token: token,
    token_type: "Bearer",
    expires_in: Math.max(Math.floor((expireTimeMs - parts.clock()) / 1000), 0),
    ...(refreshToken === undefined ? {} : { refresh_token: refreshToken }),
    ...(identify ? { id_token: token } : {}),
  };
};

/** The open code that a person typed; undefined where there is none. Throws where too many wrong ones are typed. */
export const findOpenCode = async ({ store: { read, write }, clock }: SignInDependencies, userCode: string): Promise<OpenCode | undefined> => {
  const nowMs = clock();
  const window = timestamp(nowMs - (nowMs % limits.userCodeGuessesWindowMs));
  const [guesses] = await read.query("select wrong from user_code_guesses where window_time = $1", [window]);
  // Also for a right one, or whoever guesses would be told by the difference.
  if (Number(guesses?.[0] ?? 0) >= limits.userCodeGuessesMax)
    throw new Fault("RESOURCE_EXHAUSTED", "too many wrong codes at the moment; try again in a minute");
  const [row] = await read.query(
    `select client, wanted, (extract(epoch from create_time) * 1000)::bigint from device_codes
     where user_code = $1 and state = 'open' and expire_time > $2`,
    [userCode, timestamp(nowMs)],
  );
  if (row) return { userCode, client: row[0] ?? "", wanted: JSON.parse(row[1] ?? "{}") as Wanted, createTimeMs: Number(row[2]) };
  await write(async (rows) => {
    await rows.query("delete from user_code_guesses where window_time < $1", [window]);
    await rows.query(
      "insert into user_code_guesses as held (window_time, wrong) values ($1, 1) on conflict (window_time) do update set wrong = held.wrong + 1",
      [window],
    );
  });
  return undefined;
};

/** Ends an open code one way or the other. The client's name, or undefined where it was not open any more. */
const settle = async (
  { store: { write }, clock }: SignInDependencies,
  userCode: string,
  state: "approved" | "refused",
  column: "signed_in" | "reason",
  value: string,
): Promise<string | undefined> => {
  const [row] = await write((rows) =>
    rows.query(`update device_codes set state = $2, ${column} = $3 where user_code = $1 and state = 'open' and expire_time > $4 returning client`, [
      userCode,
      state,
      value,
      timestamp(clock()),
    ]),
  );
  return row ? (row[0] ?? "") : undefined;
};

export const refuseDevice = async (parts: SignInDependencies, userCode: string, reason: string): Promise<boolean> =>
  (await settle(parts, userCode, "refused", "reason", reason)) !== undefined;

export const deviceCompleter: Completer<DeviceCompletion> = {
  done: async (parts, signedIn, { userCode }) => {
    const client = await settle(parts, userCode, "approved", "signed_in", JSON.stringify(signedIn));
    if (client === undefined)
      return page(410, "Too late", [`The code ${showUserCode(userCode)} has ended, and the terminal is not signed in. Begin there again.`]);
    return page(200, "Your terminal is signed in", [`As ${signedIn.email ?? signedIn.uid}. It goes on by itself; you can close this page.`]);
  },
  refused: async (parts, { status, message }, { userCode }) => {
    await refuseDevice(parts, userCode, message);
    return page(status, "Not signed in", [message, "The terminal is told so. Begin there again."]);
  },
};
