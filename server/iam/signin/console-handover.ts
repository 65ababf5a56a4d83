// Hands the access token of a program over to the console (`gantry open`; docs/decisions/0050):
//
//   offer     the program, with its token    a code, in the fragment of the page's address
//   account   the page, with the code        whom the token acts as: the page asks its user
//   redeem    the page, after the answer     the token, once
//
// A code ends after a minute. Nobody gets more than the token's bearer already has: the page gets no refresh token and no cookie.

import { operatorUid } from "#base/operator.ts";
import { type Fault, invalid } from "#base/fault.ts";
import type { EndpointRequest } from "#base/endpoint.ts";
import { isObject, type Json, type JsonObject, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import type { Binding } from "#db";
import { deleteSomeEndedAuthorizationCodes, findIdentityName, findOpenAuthorizationCode, insertAuthorizationCode, takeAuthorizationCode } from "#iam/store";
import { singleParameter } from "./oauth-parameters.ts";
import { newSecret } from "./secret.ts";
import type { SignInSettings } from "./settings.ts";

/** Other codes have other digests, so none is valid here. */
const digestPurpose = "console handover";
/** That of all rows of the table. */
const sealPurpose = "authorization code";
const bindingOf = (codeHash: string): Binding => [codeHash];

/** Answers with a code. Throws UNAUTHENTICATED without a valid access token. */
export const offerToken = async (settings: SignInSettings, { headers, origin }: EndpointRequest): Promise<JsonObject> => {
  const { store, vault, authn, clock, openRows } = settings;
  await authn.authenticate(headers.authorization, undefined, () => origin.address);
  const token = (headers.authorization ?? "").replace(/^bearer +/i, "");
  const code = newSecret();
  const codeHash = vault.digest(digestPurpose, code);
  await store.write(async (rows) => {
    const nowMs = clock();
    await deleteSomeEndedAuthorizationCodes(rows, nowMs);
    await insertAuthorizationCode(rows, {
      codeHash,
      addressHash: await openRows.admit(rows, "authorization_codes", origin.address, nowMs),
      sealed: vault.seal(sealPurpose, JSON.stringify({ token }), bindingOf(codeHash)),
      expireTimeMs: nowMs + limits.authorizationCodeLifetimeMs,
    });
  });
  return { code, expiresIn: limits.authorizationCodeLifetimeMs / 1000 };
};

/** One error for every refused code, so that a guess reveals nothing. */
const refusedCode = (): Fault => invalid([{ field: "code", description: "is unknown, already used, or older than a minute. Run gantry open again" }]);

interface Offered {
  readonly token: string;
  readonly uid: string;
  readonly email: string;
  readonly expireTimeMs: number;
}

/** Throws if the token has ended since the offer. */
const openOffer = async ({ vault, authn }: SignInSettings, codeHash: string, sealed: string | undefined): Promise<Offered> => {
  if (sealed === undefined) throw refusedCode();
  const opened = JSON.parse(vault.open(sealPurpose, sealed, bindingOf(codeHash)) ?? "{}") as Json;
  const token = isObject(opened) ? text(opened, "token") : "";
  if (token === "") throw refusedCode();
  const { uid, email = "", expireTimeMs } = await authn.authenticate(`Bearer ${token}`, undefined);
  return { token, uid, email, expireTimeMs };
};

const hashOf = ({ vault }: SignInSettings, { form }: EndpointRequest): string => vault.digest(digestPurpose, singleParameter(form, "code"));

/** Answers whom the token acts as, and leaves the code valid. */
export const showOfferedAccount = async (settings: SignInSettings, request: EndpointRequest): Promise<JsonObject> => {
  const { store, clock } = settings;
  const codeHash = hashOf(settings, request);
  const { uid, email } = await openOffer(settings, codeHash, await findOpenAuthorizationCode(store.read, codeHash, clock()));
  return { account: { uid, email, name: await findIdentityName(store.read, uid), operator: uid === operatorUid } };
};

/** Answers with the token, and ends the code. */
export const redeemOffer = async (settings: SignInSettings, request: EndpointRequest): Promise<JsonObject> => {
  const { store, clock } = settings;
  const codeHash = hashOf(settings, request);
  const nowMs = clock();
  const sealed = await store.write((rows) => takeAuthorizationCode(rows, codeHash, nowMs));
  const { token, expireTimeMs } = await openOffer(settings, codeHash, sealed);
  return { signedIn: true, token, expiresIn: Math.max(Math.floor((expireTimeMs - nowMs) / 1000), 0) };
};
