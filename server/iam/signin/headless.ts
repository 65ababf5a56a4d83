// Signing in for a client elsewhere that polls for its token (authentication.md: 7). Its code is an X25519 public key,
// made for this sign-in. The token is encrypted with the secret that this key and one of ours have in common; ours is
// thrown away at once, so that what is stored can be read by that client alone.

import { createCipheriv, createPublicKey, diffieHellman, generateKeyPairSync, type KeyObject, randomBytes } from "node:crypto";
import { Fault } from "#base/fault.ts";
import { limits } from "#base/limits.ts";
import { deleteExpiredHeadlessSessions, hasHeadlessSession, insertHeadlessSession, takeHeadlessSession } from "#iam/store";
import type { Store, Write } from "#db";
import type { Completer, HeadlessCompletion } from "./completion.ts";
import type { OpenRows } from "./open-rows.ts";
import { refusalPage, sentenceOf } from "./pages.ts";
import { signedInPage } from "./person.ts";
import { secretHashOf } from "./secret.ts";
import { issueTokens } from "./tokens.ts";

const nonceBytes = 12;

/** A token that its client alone can read. */
export interface EncryptedToken {
  /** Our public key, as base64url text. */
  readonly publicKey: string;
  /** Nonce, ciphertext and tag. */
  readonly encrypted: Buffer;
}

/** The key that a code is; undefined where it is none. */
const readPublicKey = (code: string): KeyObject | undefined => {
  if (!/^[A-Za-z0-9_-]{43}$/.test(code) || Buffer.from(code, "base64url").toString("base64url") !== code) return undefined;
  return createPublicKey({ key: { kty: "OKP", crv: "X25519", x: code }, format: "jwk" });
};

/** Encrypts for the holder of the code's private key. Undefined where the code is no key that a secret can be shared with. */
export const encryptFor = (code: string, token: string): EncryptedToken | undefined => {
  const theirs = readPublicKey(code);
  if (!theirs) return undefined;
  const ours = generateKeyPairSync("x25519");
  let secret: Buffer;
  try {
    secret = diffieHellman({ privateKey: ours.privateKey, publicKey: theirs });
  } catch {
    // RFC 7748, 6.1: a point of small order; the secret would be zero and everybody's.
    return undefined;
  }
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv("aes-256-gcm", secret, nonce);
  const encrypted = Buffer.concat([nonce, cipher.update(token, "utf8"), cipher.final(), cipher.getAuthTag()]);
  return { publicKey: ours.publicKey.export({ format: "jwk" }).x ?? "", encrypted };
};

export const isHeadlessCode = (code: string): boolean => encryptFor(code, "") !== undefined;

/** Stores it for its client. False where another sign-in with this code came first. */
export const storeHeadlessToken = async (
  rows: Write,
  openRows: OpenRows,
  address: string,
  code: string,
  { publicKey, encrypted }: EncryptedToken,
  nowMs: number,
): Promise<boolean> => {
  await deleteExpiredHeadlessSessions(rows, nowMs);
  return insertHeadlessSession(rows, {
    codeHash: secretHashOf(code),
    addressHash: await openRows.admit(rows, "headless_sessions", address, nowMs),
    ecdhPublicKey: publicKey,
    encryptedToken: encrypted.toString("base64"),
    expireTimeMs: nowMs + limits.headlessSessionLifetimeMs,
  });
};

/** What waits for the holder of this code, once; undefined where nothing does. */
export const takeHeadlessToken = async ({ read, write }: Store, code: string, nowMs: number): Promise<EncryptedToken | undefined> => {
  const codeHash = secretHashOf(code);
  // Whoever waits asks every few seconds, and mostly in vain: that costs no transaction.
  if (!(await hasHeadlessSession(read, codeHash))) return undefined;
  const session = await write((rows) => takeHeadlessSession(rows, codeHash, nowMs));
  return session && { publicKey: session.ecdhPublicKey, encrypted: Buffer.from(session.encryptedToken, "base64") };
};

export const headlessCompleter: Completer<HeadlessCompletion> = {
  complete: async (settings, signedIn, { code, requestedToken }) => {
    const stored = await settings.store.write(async (rows) => {
      const { token } = await issueTokens(settings, rows, signedIn, requestedToken, false, { kind: "headless", program: "" });
      const encrypted = encryptFor(code, token);
      return encrypted !== undefined && storeHeadlessToken(rows, settings.openRows, signedIn.requestSource.origin.address, code, encrypted, settings.clock());
    });
    if (!stored) {
      const taken = "this address was already used to sign in";
      return refusalPage(new Fault("ALREADY_EXISTS", taken), 409, "Too late", [`${sentenceOf(taken)} Start the sign-in again in the terminal.`]);
    }
    return signedInPage(settings, signedIn, "Your terminal is signed in", "It continues automatically. You can close this page.");
  },
  refuse: async (_settings, { status, fault }) =>
    refusalPage(fault, status, "Not signed in", [sentenceOf(fault.message), "Your terminal is still waiting: stop the command, then start the sign-in again."]),
};
