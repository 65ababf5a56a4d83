// The secret key and what it encrypts: secrets that must be read again, and texts that callers carry for us (page
// tokens). Keys for each purpose are derived from one, so that a text sealed for one cannot be opened as another. And each
// is bound to what it is for, its row above all: whoever copies it into another row has nothing that opens (attack 65).
//
//   text  = [ "2." ] base64url( nonce ciphertext tag )     ; "2.": bound; without it, bound to nothing outside itself

import { createCipheriv, createDecipheriv, createHmac, createSecretKey, hkdfSync, type KeyObject, randomBytes, randomFillSync } from "node:crypto";
import { link, mkdir, open, readFile, stat, unlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Fault } from "#base/fault.ts";

/** Texts in their order: (RFC 5116, 2.1) associated data of what is sealed. */
export type Binding = readonly string[];

export interface Vault {
  /**
   * Encrypted and authenticated, as base64url. The same text seals differently each time. `boundTo`: what it is for, such as
   * its row's key and whom it may be shown to; empty for a text that says so itself, and is checked by whoever reads it.
   */
  seal(purpose: string, plaintext: Uint8Array | string, boundTo: Binding): string;
  /** The text that was sealed for this purpose and bound to the same; undefined when forged, damaged or sealed with another key. */
  open(purpose: string, text: string, boundTo: Binding): string | undefined;
  /** Always the same for a text, and telling nothing of it to whoever has not the key: 128 bits as hex. */
  digest(purpose: string, text: string): string;
}

export interface VaultOptions {
  /** GANTRY_SECRET_KEY_FILE. */
  readonly file: string | undefined;
  readonly dataDirectory: string;
  /** With DATABASE_URL the key must be given: one made here would be lost to the other servers of that database. */
  readonly required: boolean;
}

const keyBytes = 32;
const nonceBytes = 12;
const tagBytes = 16;

const keyFailure = (message: string, cause?: unknown): Fault => new Fault("FAILED_PRECONDITION", message, { cause });

const errorText = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Makes a key file, complete or absent; two servers that do so at once end up with the same key. */
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
  // A link, unlike a rename, fails where the other was first.
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

// Random bytes are generated for many nonces at once: a system call for each would cost as much as the cipher.
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

/** What every text begins with that is bound; no base64url has a dot. */
const boundPrefix = "2.";

/** Each text ends where the next begins: two bindings never have the same bytes. */
const associatedData = (boundTo: Binding): Buffer => Buffer.from(JSON.stringify(boundTo), "utf8");

/** A vault over 32 bytes of key. */
export const vaultOf = (secret: Uint8Array): Vault => {
  // Key objects: a cipher made from the bare bytes takes four times as long (12 against 2.5 µs).
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
      // Node's decoder ignores characters that are no base64url, so that many texts would open as one.
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

/** Loads the secret key, or makes it where that is allowed. */
export const openVault = async (options: VaultOptions): Promise<Vault> => vaultOf(await loadSecretKey(options));

/** Where the secret key is, or is to be. */
export interface SecretKeyPlace {
  readonly file: string | undefined;
  readonly dataDirectory: string;
}

const keyFileOf = ({ file, dataDirectory }: SecretKeyPlace): string => file ?? join(dataDirectory, "secret.key");

/** The 32 bytes of the secret key itself, for backups; undefined where there is none: none is made. */
export const readSecretKey = (place: SecretKeyPlace): Promise<Buffer | undefined> =>
  readKey(keyFileOf(place)).catch((error: unknown) => {
    if (isAbsent(error)) return undefined;
    throw error instanceof Fault ? error : keyFailure(`the secret key ${keyFileOf(place)} cannot be read: ${errorText(error)}`, error);
  });

/** Keeps the secret key of a backup, where there is none. Returns its file. */
export const writeSecretKey = async (place: SecretKeyPlace, key: Uint8Array): Promise<string> => {
  const file = keyFileOf(place);
  try {
    await makeKey(file, key);
  } catch (error) {
    throw keyFailure(`the secret key cannot be kept in ${file}: ${errorText(error)}`, error);
  }
  return file;
};
