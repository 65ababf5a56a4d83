// Authorization code grant for public clients (RFC 6749 §4.1, with RFC 7636, 8707, 9207 and 9700; docs/decisions/0050).
//
//   /oauth/authorize   the request                         authorize-pages.ts   a form, no row
//   sign-in            in the browser that consented       browser.ts
//   completion         a code, at the redirect URI         codeCompleter        a row, for one minute
//   /oauth/token       the code and its verifier           codeGrant            once
//
// A code is bound to client, redirect URI, challenge and resource. Presented with anything else, or twice, it counts as stolen: the
// code and everything issued for it are revoked. Each step runs under the row's lock.

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

const errorOf = (fault: Fault): string => {
  const reason = fault.details.find((detail) => detail.kind === "reason")?.reason ?? "";
  if (/^(?:invalid_(?:request|scope|target)|unauthorized_client|unsupported_response_type|access_denied|request(?:_uri)?_not_supported)$/.test(reason))
    return reason;
  return oauthServerErrorOf(fault.code) ?? (fault.code === "INVALID_ARGUMENT" ? "invalid_request" : "access_denied");
};

/** Includes the issuer (RFC 9207). */
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

/** Returns the redirect URI with an error response. */
export const errorAddress = (settings: Pick<SignInSettings, "publicUrl">, completion: Pick<CodeCompletion, "redirectUri" | "state">, fault: Fault): string =>
  // RFC 6749 §4.1.2.1: the characters allowed in a description.
  answerAddress(settings, completion, { error: errorOf(fault), error_description: fault.message.replaceAll(/[^\x20-\x21\x23-\x5b\x5d-\x7e]/g, "'") });

const sealPurpose = "authorization code";
const bindingOf = (codeHash: string): Binding => [codeHash];

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

/** One error for every refused code, so that a guess reveals nothing. */
const refusedCode = (): Fault =>
  oauthFault("invalid_grant", "the code is unknown, already used, expired, or was issued for another client, redirect URI or verifier");

interface Presented {
  readonly codeHash: string;
  readonly client: string;
  readonly redirectUri: string;
  readonly verifier: string;
  /** Undefined if absent; a Fault if the resource is not part of this server. */
  readonly audience: string | Fault | undefined;
}

const readAudience = (settings: SignInSettings, form: URLSearchParams): Presented["audience"] => {
  // RFC 6749 §3.2: a parameter without a value counts as absent.
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
  // RFC 7636 §4.1. Shorter verifiers could be guessed from their challenge.
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

const scopeGiven = ({ scope }: CodeCompletion, refreshes: boolean): { readonly scope?: string } => {
  const given = scope.split(" ").filter((word) => word !== "" && (refreshes || word !== "offline_access"));
  return given.length === 0 ? {} : { scope: given.join(" ") };
};

const misuseOf = ({ client, redirectUri, verifier, audience }: Presented, completion: CodeCompletion): Fault | undefined => {
  if (completion.client !== client || completion.redirectUri !== redirectUri || !isVerifierOf(verifier, completion.challenge)) return refusedCode();
  // Only the code's own client learns the difference (RFC 8707 §2.2).
  if (audience instanceof Fault) return audience;
  if (audience === undefined || completion.requestedToken.audience.includes(audience)) return undefined;
  return oauthFault("invalid_target", "the code was given for another resource");
};

/** A returned Fault, unlike a thrown one, commits what was written. */
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
    // The code may be stolen, so it is spent.
    settings.log("signin.code.misused", { client: completion.client });
    return misuse;
  }
  // The identity or its provider may have been deleted since the sign-in.
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

/** RFC 6749 §4.1.3: exchanges a code for tokens. */
export const codeGrant = async (settings: SignInSettings, form: URLSearchParams): Promise<JsonObject> => {
  const presented = readPresented(settings, form);
  // Made-up codes must not cost a transaction.
  if (!(await hasAuthorizationCode(settings.store.read, presented.codeHash))) throw refusedCode();
  const answer = await settings.store.write((rows) => redeem(settings, rows, presented, settings.clock()));
  if (answer instanceof Fault) throw answer;
  return answer;
};
