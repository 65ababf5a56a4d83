// Sign-in for a client elsewhere that polls for its token (authentication.md: 7). The code is an X25519 public key. The token is
// encrypted with the secret shared with an ephemeral key, discarded at once, so only that client can read it.

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

export interface EncryptedToken {
  /** This server's public key, in base64url. */
  readonly publicKey: string;
  /** Nonce, ciphertext and tag. */
  readonly encrypted: Buffer;
}

const readPublicKey = (code: string): KeyObject | undefined => {
  if (!/^[A-Za-z0-9_-]{43}$/.test(code) || Buffer.from(code, "base64url").toString("base64url") !== code) return undefined;
  return createPublicKey({ key: { kty: "OKP", crv: "X25519", x: code }, format: "jwk" });
};

/** Encrypts for the owner of the code's private key. Returns undefined if no secret can be shared with the code's key. */
export const encryptFor = (code: string, token: string): EncryptedToken | undefined => {
  const theirs = readPublicKey(code);
  if (!theirs) return undefined;
  const ours = generateKeyPairSync("x25519");
  let secret: Buffer;
  try {
    secret = diffieHellman({ privateKey: ours.privateKey, publicKey: theirs });
  } catch {
    // RFC 7748 §6.1: a point of small order, which makes the secret all zero.
    return undefined;
  }
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv("aes-256-gcm", secret, nonce);
  const encrypted = Buffer.concat([nonce, cipher.update(token, "utf8"), cipher.final(), cipher.getAuthTag()]);
  return { publicKey: ours.publicKey.export({ format: "jwk" }).x ?? "", encrypted };
};

export const isHeadlessCode = (code: string): boolean => encryptFor(code, "") !== undefined;

/** Stores the token for its client. Returns false if another sign-in used this code first. */
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

/** Returns and deletes the token stored for this code, if any. */
export const takeHeadlessToken = async ({ read, write }: Store, code: string, nowMs: number): Promise<EncryptedToken | undefined> => {
  const codeHash = secretHashOf(code);
  // Most polls find nothing and must not cost a transaction.
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
