// The secret key in a backup, encrypted with a passphrase: the backup alone discloses neither the key nor sealed data. With scrypt a
// guess costs 128 MiB and a third of a second.

import { createCipheriv, createDecipheriv, randomBytes, scrypt } from "node:crypto";
import { promisify } from "node:util";
import { isObject, type Json } from "#base/json.ts";
import { Fault } from "#base/fault.ts";
import { brokenBackup, keyName } from "./format.ts";

const derive = promisify<string, Buffer, number, { N: number; r: number; p: number; maxmem: number }, Buffer>(scrypt);

const cost = { N: 2 ** 17, r: 8, p: 1 } as const;
const keyBytes = 32;

const derivePassphraseKey = (passphrase: string, salt: Buffer): Promise<Buffer> =>
  derive(passphrase.normalize("NFKC"), salt, keyBytes, { ...cost, maxmem: 256 * 1024 * 1024 });

/** Minimum length of a passphrase. */
export const passphraseLengthMin = 12;

export const requirePassphrase = (passphrase: string): string => {
  if (passphrase.length < passphraseLengthMin) throw new Fault("INVALID_ARGUMENT", `the passphrase must have at least ${passphraseLengthMin} characters`);
  return passphrase;
};

/** Returns key.json for the backup with this ID. */
export const sealKey = async (secret: Buffer, passphrase: string, id: string): Promise<string> => {
  const [salt, nonce] = [randomBytes(16), randomBytes(12)];
  const cipher = createCipheriv("aes-256-gcm", await derivePassphraseKey(passphrase, salt), nonce).setAAD(Buffer.from(id));
  const sealed = Buffer.concat([cipher.update(secret), cipher.final(), cipher.getAuthTag()]);
  const fields = {
    kdf: "scrypt",
    ...cost,
    salt: salt.toString("base64"),
    cipher: "aes-256-gcm",
    nonce: nonce.toString("base64"),
    sealed: sealed.toString("base64"),
  };
  return `${JSON.stringify(fields)}\n`;
};

/** Decrypts the secret key. Throws a one-line Fault for a wrong passphrase. */
export const openKey = async (content: string, passphrase: string, id: string): Promise<Buffer> => {
  const envelope: Json = JSON.parse(content);
  const bytesOf = (name: string): Buffer => {
    const value = isObject(envelope) ? envelope[name] : undefined;
    return Buffer.from(typeof value === "string" ? value : "", "base64");
  };
  const [salt, nonce, sealed] = [bytesOf("salt"), bytesOf("nonce"), bytesOf("sealed")];
  // The cost is fixed, not read from the file.
  if (nonce.length !== 12 || sealed.length !== keyBytes + 16) throw brokenBackup(`${keyName} was not written by Gantry`);
  const decipher = createDecipheriv("aes-256-gcm", await derivePassphraseKey(passphrase, salt), nonce, { authTagLength: 16 })
    .setAAD(Buffer.from(id))
    .setAuthTag(sealed.subarray(-16));
  const opened = decipher.update(sealed.subarray(0, -16));
  try {
    return Buffer.concat([opened, decipher.final()]);
  } catch (cause) {
    throw new Fault("INVALID_ARGUMENT", "wrong passphrase for the secret key of the backup", { cause });
  }
};
