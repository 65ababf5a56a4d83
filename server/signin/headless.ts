// Signing in for a client elsewhere that polls for its token (authentication.md: 7). Its code is an X25519 public key,
// made for this sign-in. The token is encrypted with the secret that this key and one of ours have in common; ours is
// forgotten at once, so that what is stored can be read by that client alone.

import { createCipheriv, createPublicKey, diffieHellman, generateKeyPairSync, type KeyObject, randomBytes } from "node:crypto";
import { limits } from "#base/limits.ts";
import { timestamp } from "#base/time.ts";
import type { Store, Write } from "#store";
import type { Completer, HeadlessCompletion } from "./completion.ts";
import { hashOf } from "./secret.ts";
import { page } from "./pages.ts";
import { tokensFor } from "./tokens.ts";

const nonceBytes = 12;

export interface HeadlessSession {
  /** Our public key, as base64url text. */
  readonly publicKey: string;
  /** Nonce, ciphertext and tag. */
  readonly encrypted: Buffer;
}

/** The key that a code is; undefined where it is none. */
const keyOf = (code: string): KeyObject | undefined => {
  if (!/^[A-Za-z0-9_-]{43}$/.test(code) || Buffer.from(code, "base64url").toString("base64url") !== code) return undefined;
  return createPublicKey({ key: { kty: "OKP", crv: "X25519", x: code }, format: "jwk" });
};

/** Encrypts for the holder of the code's private key. Undefined where the code is no key that a secret can be shared with. */
export const encryptFor = (code: string, token: string): HeadlessSession | undefined => {
  const theirs = keyOf(code);
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

/** Keeps it for its client. False where another sign-in with this code came first. */
export const keepHeadlessSession = async (rows: Write, code: string, { publicKey, encrypted }: HeadlessSession, nowMs: number): Promise<boolean> => {
  await rows.query("delete from headless_sessions where expire_time <= $1", [timestamp(nowMs)]);
  const made = await rows.query(
    `insert into headless_sessions (code_hash, ecdh_public_key, encrypted_token, expire_time)
     values ($1, $2, $3, $4) on conflict (code_hash) do nothing returning 1`,
    [hashOf(code), publicKey, encrypted.toString("base64"), timestamp(nowMs + limits.headlessSessionLifetimeMs)],
  );
  return made.length > 0;
};

/** What waits for the holder of this code, once; undefined where nothing does. */
export const takeHeadlessSession = async ({ read, write }: Store, code: string, nowMs: number): Promise<HeadlessSession | undefined> => {
  const hash = hashOf(code);
  // Whoever waits asks every few seconds, and mostly in vain: that costs no transaction.
  if ((await read.query("select 1 from headless_sessions where code_hash = $1", [hash])).length === 0) return undefined;
  const [row] = await write((rows) =>
    rows.query("delete from headless_sessions where code_hash = $1 and expire_time > $2 returning ecdh_public_key, encrypted_token", [hash, timestamp(nowMs)]),
  );
  return row && { publicKey: row[0] ?? "", encrypted: Buffer.from(row[1] ?? "", "base64") };
};

export const headlessCompleter: Completer<HeadlessCompletion> = {
  done: async (parts, signedIn, { code, wish }) => {
    const kept = await parts.store.write(async (rows) => {
      const { token } = await tokensFor(parts, rows, signedIn, wish, false);
      const session = encryptFor(code, token);
      return session !== undefined && keepHeadlessSession(rows, code, session, parts.clock());
    });
    if (!kept) return page(409, "Too late", ["Somebody has signed in with this address before. Begin again in your terminal."]);
    return page(200, "Your terminal is signed in", [`As ${signedIn.email ?? signedIn.uid}. It goes on by itself; you can close this page.`]);
  },
  refused: async (_parts, { status, message }) => page(status, "Not signed in", [message, "Your terminal waits until you stop it. Begin there again."]),
};
