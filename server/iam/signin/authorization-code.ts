// The authorization code grant for public clients (RFC 6749, 4.1, with RFC 7636, 8707, 9207 and 9700; docs/decisions/0050).
//
//   /oauth/authorize   who asks, for what                       authorize-pages.ts   a question, no row
//   … the sign-in …    in the browser that has agreed           browser.ts
//   its end            a code, at the client's own address      codeCompleter        a row, a minute long
//   /oauth/token       the code and the verifier of its challenge                    codeGrant, once
//
// A code is bound to its client, address, challenge and resource. Presented with anything else, or a second time, it is in
// somebody else's hands: then it ends, and so does what it gave. Each step stands under the row's lock, whichever server it
// comes to.

import { hash, timingSafeEqual } from "node:crypto";
import { Fault, invalid, toFault } from "#base/fault.ts";
import type { JsonObject } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { oauthServerErrorOf } from "#base/oauth-error.ts";
import type { Binding, Write } from "#db";
import {
  deleteSomeEndedAuthorizationCodes,
  hasAuthorizationCode,
  insertAuthorizationCode,
  lockAuthorizationCode,
  lockPersonAndProvider,
  useAuthorizationCode,
} from "#iam/store";
import type { CodeCompletion, Completer, SignedIn } from "./completion.ts";
import { oauthFault, readSingleParameters } from "./oauth-parameters.ts";
import { redirectTo } from "./pages.ts";
import { withoutFragment } from "./redirect-fragment.ts";
import { audienceOfResource } from "./resources.ts";
import { newSecret } from "./secret.ts";
import { endNamedSession, newSessionId } from "./session.ts";
import type { SignInSettings } from "./settings.ts";
import { issueTokens } from "./tokens.ts";

export const codeGrantType = "authorization_code";

/** What an authorization request may be answered with (RFC 6749, 4.1.2.1). */
const errorOf = (fault: Fault): string => {
  const reason = fault.details.find((detail) => detail.kind === "reason")?.reason ?? "";
  if (/^(?:invalid_(?:request|scope|target)|unauthorized_client|unsupported_response_type|access_denied|request(?:_uri)?_not_supported)$/.test(reason))
    return reason;
  return oauthServerErrorOf(fault.code) ?? (fault.code === "INVALID_ARGUMENT" ? "invalid_request" : "access_denied");
};

/** The client's address with the answer, which says who gives it (RFC 9207). */
const answerAddress = (
  { publicUrl }: Pick<SignInSettings, "publicUrl">,
  { redirectUri, state }: Pick<CodeCompletion, "redirectUri" | "state">,
  answer: Readonly<Record<string, string>>,
): string => {
  const given = Object.entries({ ...answer, ...(state === "" ? {} : { state }), iss: publicUrl });
  const url = new URL(redirectUri);
  for (const name of ["code", "error", "error_description", "error_uri", "state", "iss"]) url.searchParams.delete(name);
  for (const [name, value] of given) url.searchParams.append(name, value);
  return withoutFragment(url);
};

/** Where a client is told that nothing comes of it. */
export const errorAddress = (settings: Pick<SignInSettings, "publicUrl">, completion: Pick<CodeCompletion, "redirectUri" | "state">, fault: Fault): string =>
  // RFC 6749, 4.1.2.1: the characters that a description may have.
  answerAddress(settings, completion, { error: errorOf(fault), error_description: fault.message.replaceAll(/[^\x20-\x21\x23-\x5b\x5d-\x7e]/g, "'") });

const sealPurpose = "authorization code";
const bindingOf = (codeHash: string): Binding => [codeHash];

/** What a code's row holds, sealed. */
interface Granted {
  readonly completion: CodeCompletion;
  readonly signedIn: SignedIn;
}

export const codeCompleter: Completer<CodeCompletion> = {
  complete: async (settings, signedIn, completion) => {
    const { store, vault, clock, openRows } = settings;
    const code = newSecret();
    const codeHash = vault.digest(sealPurpose, code);
    const granted: Granted = { completion, signedIn };
    await store.write(async (rows) => {
      const nowMs = clock();
      await deleteSomeEndedAuthorizationCodes(rows, nowMs);
      await insertAuthorizationCode(rows, {
        codeHash,
        addressHash: await openRows.admit(rows, "authorization_codes", signedIn.requestSource.origin.address, nowMs),
        sealed: vault.seal(sealPurpose, JSON.stringify(granted), bindingOf(codeHash)),
        expireTimeMs: nowMs + limits.authorizationCodeLifetimeMs,
      });
    });
    return redirectTo(answerAddress(settings, completion, { code }));
  },
  refuse: async (settings, { fault }, completion) => redirectTo(errorAddress(settings, completion, toFault(fault))),
};

const isVerifierOf = (verifier: string, challenge: string): boolean => {
  const [computed, expected] = [Buffer.from(hash("sha256", verifier, "base64url")), Buffer.from(challenge)];
  return computed.length === expected.length && timingSafeEqual(computed, expected);
};

/** One answer for every code that gives nothing: who tries is not told how near that was. */
const refusedCode = (): Fault =>
  oauthFault("invalid_grant", "the code is unknown, already used, expired, or was issued for another client, redirect URI or verifier");

interface Presented {
  readonly codeHash: string;
  readonly client: string;
  readonly redirectUri: string;
  readonly verifier: string;
  /** Undefined: not said again; a Fault: what it asks for is no one part of this server. */
  readonly audience: string | Fault | undefined;
}

const readAudience = (settings: SignInSettings, form: URLSearchParams): Presented["audience"] => {
  // RFC 6749, 3.2: without a value it is not there.
  const resources = form.getAll("resource").filter((each) => each !== "");
  if (resources.length === 0) return undefined;
  try {
    return audienceOfResource(settings, resources);
  } catch (thrown) {
    return toFault(thrown);
  }
};

const readPresented = (settings: SignInSettings, form: URLSearchParams): Presented => {
  const { values, violations } = readSingleParameters(form, {
    code: limits.tokenBytesMax,
    client_id: limits.clientIdLengthMax,
    redirect_uri: limits.redirectLengthMax,
    code_verifier: limits.tokenBytesMax,
  });
  for (const [field, value] of Object.entries(values)) if (value === "") violations.push({ field, description: "is required" });
  // RFC 7636, 4.1. Shorter ones could be guessed from their challenge.
  if (values.code_verifier !== "" && !/^[A-Za-z0-9._~-]{43,128}$/.test(values.code_verifier))
    violations.push({ field: "code_verifier", description: "must have 43 to 128 letters, digits and any of -._~" });
  if (violations.length > 0) throw invalid(violations);
  return {
    codeHash: settings.vault.digest(sealPurpose, values.code),
    client: values.client_id,
    redirectUri: values.redirect_uri,
    verifier: values.code_verifier,
    audience: readAudience(settings, form),
  };
};

/** RFC 6749, 5.1: what was given of what was asked for. */
const scopeGiven = ({ scope }: CodeCompletion, refreshes: boolean): { readonly scope?: string } => {
  const given = scope.split(" ").filter((word) => word !== "" && (refreshes || word !== "offline_access"));
  return given.length === 0 ? {} : { scope: given.join(" ") };
};

/** Why a code gives nothing that comes with this; undefined where it is what the code was given for. */
const misuseOf = ({ client, redirectUri, verifier, audience }: Presented, completion: CodeCompletion): Fault | undefined => {
  if (completion.client !== client || completion.redirectUri !== redirectUri || !isVerifierOf(verifier, completion.challenge)) return refusedCode();
  // Its client alone learns which of the two it is (RFC 8707, 2.2).
  if (audience instanceof Fault) return audience;
  if (audience === undefined || completion.requestedToken.audience.includes(audience)) return undefined;
  return oauthFault("invalid_target", "the code was given for another resource");
};

/** Tokens for a code that is locked; a Fault is what must be said after what was written. */
const redeem = async (settings: SignInSettings, rows: Write, presented: Presented, nowMs: number): Promise<JsonObject | Fault> => {
  const { codeHash, client } = presented;
  const row = await lockAuthorizationCode(rows, codeHash, nowMs);
  if (!row) return refusedCode();
  const opened = settings.vault.open(sealPurpose, row.sealed, bindingOf(codeHash));
  const granted = opened === undefined ? undefined : (JSON.parse(opened) as Granted);
  if (row.grantId !== undefined) {
    settings.log("signin.code.reused", { client });
    await endNamedSession(rows, row.grantId, granted?.signedIn.uid ?? "", nowMs);
    return refusedCode();
  }
  if (row.isExpired || granted === undefined) return refusedCode();
  const { completion, signedIn } = granted;
  const grant = { id: newSessionId(), client: completion.client };
  const misuse = misuseOf(presented, completion);
  await useAuthorizationCode(rows, codeHash, grant.id);
  if (misuse) {
    // In whose hands it is, nobody can tell: it is spent.
    settings.log("signin.code.misused", { client: completion.client });
    return misuse;
  }
  // Since the sign-in the provider that vouched for it may have gone, or the person itself.
  if (!(await lockPersonAndProvider(rows, signedIn.uid, signedIn.identityProviderUid))) return refusedCode();
  const { token, expireTimeMs, refreshToken } = await issueTokens(
    settings,
    rows,
    signedIn,
    completion.requestedToken,
    completion.refresh,
    { kind: "code", program: completion.client },
    grant,
  );
  return {
    access_token: token,
    token_type: "Bearer",
    expires_in: Math.max(Math.floor((expireTimeMs - nowMs) / 1000), 0),
    ...(refreshToken === undefined ? {} : { refresh_token: refreshToken }),
    ...scopeGiven(completion, refreshToken !== undefined),
  };
};

/** RFC 6749, 4.1.3: a client comes with its code. */
export const codeGrant = async (settings: SignInSettings, form: URLSearchParams): Promise<JsonObject> => {
  const presented = readPresented(settings, form);
  // Anybody may ask with a code that was made up: that costs no transaction.
  if (!(await hasAuthorizationCode(settings.store.read, presented.codeHash))) throw refusedCode();
  const answer = await settings.store.write((rows) => redeem(settings, rows, presented, settings.clock()));
  // Thrown in there, it would undo what it has noted.
  if (answer instanceof Fault) throw answer;
  return answer;
};
