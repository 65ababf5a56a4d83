// Encrypts secrets that must be readable again, and texts carried by callers (page tokens). Each purpose has a derived key. Each text is
// bound to its context, above all its row: a copy in another row cannot be opened (attack 65).
//
//   text  = [ "2." ] base64url( nonce ciphertext tag )     ; "2.": bound

import { createCipheriv, createDecipheriv, createHmac, createSecretKey, hkdfSync, type KeyObject, randomBytes, randomFillSync } from "node:crypto";
import { link, mkdir, open, readFile, stat, unlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Fault } from "#base/fault.ts";

/** Associated data (RFC 5116, 2.1), in order. */
export type Binding = readonly string[];

export interface Vault {
  /**
   * As base64url; each call has a different result. `boundTo` is the context, such as the row and the recipient; empty if the text
   * contains it and the reader checks it.
   */
  seal(purpose: string, plaintext: Uint8Array | string, boundTo: Binding): string;
  /** Undefined if it is forged, damaged or sealed with another key. */
  open(purpose: string, text: string, boundTo: Binding): string | undefined;
  /** A deterministic keyed hash, 128 bits as hex. */
  digest(purpose: string, text: string): string;
}

export interface VaultOptions {
  readonly file: string | undefined;
  readonly dataDirectory: string;
  /** Other servers of the database could not read a generated key. */
  readonly required: boolean;
}

const keyBytes = 32;
const nonceBytes = 12;
const tagBytes = 16;

const keyFailure = (message: string, cause?: unknown): Fault => new Fault("FAILED_PRECONDITION", message, { cause });

const errorText = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Atomic; two servers that do so concurrently end up with the same key. */
const makeKey = async (file: string, key: Uint8Array = randomBytes(keyBytes)): Promise<void> => {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const draft = `${file}.${process.pid}.${randomBytes(4).toString("hex")}`;
  const handle = await open(draft, "wx", 0o600);
  try {
    await handle.writeFile(`${Buffer.from(key).toString("base64")}\n`);
    await handle.sync();
  } finally {
    await handle.close();
  }
  // Unlike a rename, fails if the file exists.
  await link(draft, file).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EEXIST") throw error;
  });
  await unlink(draft);
};

const readKey = async (file: string): Promise<Buffer> => {
  const { mode } = await stat(file);
  if (mode & 0o004) throw keyFailure(`the secret key ${file} can be read by every user of this machine: chmod 600 it`);
  const text = (await readFile(file, "utf8")).trim();
  const key = Buffer.from(text, "base64");
  if (key.length !== keyBytes || !/^[A-Za-z0-9+/_-]+=*$/.test(text)) {
    throw keyFailure(`the secret key ${file} must be ${keyBytes} bytes in base64 (make one: openssl rand -base64 ${keyBytes})`);
  }
  return key;
};

const isAbsent = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === "ENOENT";

const loadSecretKey = async ({ file, dataDirectory, required }: VaultOptions): Promise<Buffer> => {
  if (file) {
    return readKey(file).catch((error: unknown) => {
      throw error instanceof Fault ? error : keyFailure(`GANTRY_SECRET_KEY_FILE cannot be read: ${errorText(error)}`, error);
    });
  }
  if (required) {
    throw keyFailure(
      `DATABASE_URL needs GANTRY_SECRET_KEY_FILE: a file with ${keyBytes} random bytes in base64, the same for every server (openssl rand -base64 ${keyBytes})`,
    );
  }
  const own = join(dataDirectory, "secret.key");
  try {
    return await readKey(own).catch(async (error: unknown) => {
      if (!isAbsent(error)) throw error;
      await makeKey(own);
      return readKey(own);
    });
  } catch (error) {
    throw error instanceof Fault ? error : keyFailure(`the secret key cannot be kept in GANTRY_DATA: ${errorText(error)}`, error);
  }
};

// A system call for each nonce would cost as much as the cipher.
const nonces = Buffer.alloc(1024 * nonceBytes);
let usedBytes = nonces.length;

const nextNonce = (): Buffer => {
  if (usedBytes === nonces.length) {
    randomFillSync(nonces);
    usedBytes = 0;
  }
  usedBytes += nonceBytes;
  return Buffer.from(nonces.subarray(usedBytes - nonceBytes, usedBytes));
};

/** The prefix of bound texts. base64url has no dot. */
const boundPrefix = "2.";

/** Different bindings never have the same bytes. */
const associatedData = (boundTo: Binding): Buffer => Buffer.from(JSON.stringify(boundTo), "utf8");

export const vaultOf = (secret: Uint8Array): Vault => {
  // A cipher from raw bytes takes four times as long (12 against 2.5 µs).
  const keys = new Map<string, KeyObject>();
  const keyFor = (purpose: string): KeyObject => {
    let key = keys.get(purpose);
    if (!key) {
      key = createSecretKey(Buffer.from(hkdfSync("sha256", secret, new Uint8Array(), `gantry vault 1: ${purpose}`, keyBytes)));
      keys.set(purpose, key);
    }
    return key;
  };
  return {
    digest: (purpose, text) => createHmac("sha256", keyFor(purpose)).update(text).digest("hex").slice(0, 32),
    seal(purpose, plaintext, boundTo) {
      const nonce = nextNonce();
      const cipher = createCipheriv("aes-256-gcm", keyFor(purpose), nonce);
      const isBound = boundTo.length > 0;
      if (isBound) cipher.setAAD(associatedData(boundTo));
      const sealed = typeof plaintext === "string" ? cipher.update(plaintext, "utf8") : cipher.update(plaintext);
      const text = Buffer.concat([nonce, sealed, cipher.final(), cipher.getAuthTag()]).toString("base64url");
      return isBound ? boundPrefix + text : text;
    },
    open(purpose, text, boundTo) {
      const isBound = boundTo.length > 0;
      if (text.startsWith(boundPrefix) !== isBound) return undefined;
      const encoded = isBound ? text.slice(boundPrefix.length) : text;
      const bytes = Buffer.from(encoded, "base64url");
      // Node's decoder ignores invalid characters, so many texts would open as one.
      if (bytes.length < nonceBytes + tagBytes || bytes.toString("base64url") !== encoded) return undefined;
      const decipher = createDecipheriv("aes-256-gcm", keyFor(purpose), bytes.subarray(0, nonceBytes), {
        authTagLength: tagBytes,
      });
      if (isBound) decipher.setAAD(associatedData(boundTo));
      decipher.setAuthTag(bytes.subarray(-tagBytes));
      const opened = decipher.update(bytes.subarray(nonceBytes, -tagBytes));
      try {
        return Buffer.concat([opened, decipher.final()]).toString("utf8");
      } catch {
        return undefined;
      }
    },
  };
};

/** Creates the key if permitted. */
export const openVault = async (options: VaultOptions): Promise<Vault> => vaultOf(await loadSecretKey(options));

export interface SecretKeyPlace {
  readonly file: string | undefined;
  readonly dataDirectory: string;
}

const keyFileOf = ({ file, dataDirectory }: SecretKeyPlace): string => file ?? join(dataDirectory, "secret.key");

/** Returns the 32 bytes for backups; undefined if there is none. Never creates a key. */
export const readSecretKey = (place: SecretKeyPlace): Promise<Buffer | undefined> =>
  readKey(keyFileOf(place)).catch((error: unknown) => {
    if (isAbsent(error)) return undefined;
    throw error instanceof Fault ? error : keyFailure(`the secret key ${keyFileOf(place)} cannot be read: ${errorText(error)}`, error);
  });

/** Stores the key of a backup unless there is one. Returns its path. */
export const writeSecretKey = async (place: SecretKeyPlace, key: Uint8Array): Promise<string> => {
  const file = keyFileOf(place);
  try {
    await makeKey(file, key);
  } catch (error) {
    throw keyFailure(`the secret key cannot be kept in ${file}: ${errorText(error)}`, error);
  }
  return file;
};
