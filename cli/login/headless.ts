// Sign-in through a browser elsewhere; the token is encrypted for this process (authentication.md: 7). The code in the URL is a
// public key whose private key never leaves the process.

import { createDecipheriv, createPublicKey, diffieHellman, generateKeyPairSync, type KeyObject } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { Fault } from "#base/fault.ts";
import { type JsonObject, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { withoutTrailing } from "#base/trailing.ts";
import { startCountdown } from "./countdown.ts";
import { type Issuer, refusalText, requestJson } from "./issuer-client.ts";
import type { MethodOptions, Tokens } from "./method.ts";

const nonceBytes = 12;
const tagBytes = 16;

/** Decrypts the token of a session (X25519, AES-256-GCM). */
export const decryptSession = (session: JsonObject, privateKey: KeyObject): string => {
  try {
    const x = Buffer.from(text(session, "ecdhPublicKey"), "base64").toString("latin1");
    const publicKey = createPublicKey({ key: { kty: "OKP", crv: "X25519", x }, format: "jwk" });
    const bytes = Buffer.from(text(session, "encryptedIdtoken"), "base64");
    const decipher = createDecipheriv("aes-256-gcm", diffieHellman({ privateKey, publicKey }), bytes.subarray(0, nonceBytes), { authTagLength: tagBytes });
    decipher.setAuthTag(bytes.subarray(-tagBytes));
    return Buffer.concat([decipher.update(bytes.subarray(nonceBytes, -tagBytes)), decipher.final()]).toString("utf8");
  } catch (cause) {
    throw new Fault("FAILED_PRECONDITION", "the response cannot be decrypted with the key of this sign-in. Try again", { cause });
  }
};

const waitForSession = async (issuer: Issuer, code: string, stop: AbortSignal): Promise<JsonObject> => {
  const address = `${withoutTrailing(issuer.url, "/")}/sts/headless_sessions?code=${code}`;
  const untilMs = performance.now() + limits.deviceCodeLifetimeMs;
  while (performance.now() < untilMs) {
    await sleep(limits.headlessPollIntervalMs, undefined, { signal: stop });
    const response = await requestJson(address, stop).catch((thrown: unknown) => {
      if (thrown instanceof Fault && thrown.code === "UNAVAILABLE") return undefined;
      throw thrown;
    });
    if (response?.status === 200) return response.body;
    if (response !== undefined && response.status !== 404 && response.status < 500)
      throw new Fault("FAILED_PRECONDITION", `sign-in failed: ${refusalText(response)}`);
  }
  throw new Fault("DEADLINE_EXCEEDED", "the sign-in timed out. Run gantry login for a new address");
};

export const signInHeadless = async ({ issuer, audience, idp, invite, err, stop }: MethodOptions): Promise<Tokens> => {
  const { privateKey, publicKey } = generateKeyPairSync("x25519");
  const code = publicKey.export({ format: "jwk" }).x ?? "";
  const query = new URLSearchParams({ headless_code: code, audience });
  if (idp !== undefined) query.set("idp_id", idp);
  if (invite !== undefined) query.set("invite", invite);
  err.write(`To sign in to ${issuer.url}, open this address in any browser:\n\n    ${issuer.signInAddress}?${query}\n\n`);
  const countdown = startCountdown(err, limits.deviceCodeLifetimeMs);
  try {
    return { access: decryptSession(await waitForSession(issuer, code, stop), privateKey), refresh: undefined };
  } finally {
    countdown.end();
  }
};
