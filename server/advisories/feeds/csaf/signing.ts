// OpenPGP signatures of published documents. The key is created with the first signature, sealed in the database, and shared by
// all servers. Signatures are deterministic (Ed25519): every server returns the same one, so none is stored. Recent ones are
// cached, because clients fetch a document and then its signature.

import { createHash } from "node:crypto";
import { limits } from "#base/limits.ts";
import type { Log } from "#base/log.ts";
import type { Clock } from "#base/time.ts";
import { documentKeyBinding, documentKeyPurpose, insertDocumentKey, listDocumentKeys } from "#advisories/store";
import type { Store, Vault } from "#db";

type DocumentKey = Awaited<ReturnType<typeof listDocumentKeys>>[number];

export interface PublishedKey {
  readonly fingerprint: string;
  readonly publicKey: string;
  readonly createTimeMs: number;
}

export interface Signing {
  /** Returns an armored detached signature. `releasedMs` is the release time. */
  sign(text: string, releasedMs: number): Promise<string>;
  /** Returns all keys, the current one first; creates the first one. */
  publicKeys(): Promise<readonly [PublishedKey, ...PublishedKey[]]>;
}

export interface SigningDependencies {
  readonly store: Store;
  readonly vault: Pick<Vault, "seal" | "open">;
  readonly clock: Clock;
  readonly log: Log;
  /** The user ID of the key. */
  readonly name: string;
}

// Lazy: most servers sign nothing.
const loadLibrary = () => import("openpgp");
type Library = Awaited<ReturnType<typeof loadLibrary>>;
type OpenedKey = Awaited<ReturnType<Library["readPrivateKey"]>>;

const isCurrent = ({ retireTimeMs }: DocumentKey): boolean => retireTimeMs === undefined;

export const openSigning = ({ store, vault, clock, log, name }: SigningDependencies): Signing => {
  let opened: { readonly fingerprint: string; readonly key: Promise<OpenedKey> } | undefined;
  const kept = new Map<string, Promise<string>>();

  const makeKey = async (): Promise<void> => {
    const { generateKey, readKey } = await loadLibrary();
    // The older form of Ed25519 keys, which all clients support. No subkeys for encryption.
    const createTimeMs = Math.floor(clock() / 1000) * 1000;
    const made = await generateKey({
      type: "ecc",
      curve: "ed25519Legacy",
      userIDs: [{ name: name.replace(/[<>()\p{Cc}]/gu, " ").trim() || "Gantry" }],
      subkeys: [],
      date: new Date(createTimeMs),
      format: "armored",
    });
    const fingerprint = (await readKey({ armoredKey: made.publicKey })).getFingerprint().toUpperCase();
    const privateKeySealed = vault.seal(documentKeyPurpose, made.privateKey, documentKeyBinding(fingerprint));
    const isOurs = await store.write((rows) => insertDocumentKey(rows, { fingerprint, publicKey: made.publicKey, privateKeySealed, createTimeMs }));
    if (isOurs) log("csaf.key.made", { fingerprint });
  };

  const keysNow = async (): Promise<readonly [DocumentKey, ...DocumentKey[]]> => {
    for (let tries = 0; tries < 2; tries++) {
      const keys = await listDocumentKeys(store.read);
      const current = keys.find(isCurrent);
      if (current) return [current, ...keys.filter((key) => key !== current)];
      await makeKey();
    }
    throw new Error("the store has no key for signing documents");
  };

  const openKey = ({ fingerprint, privateKeySealed }: DocumentKey): Promise<OpenedKey> => {
    if (opened?.fingerprint === fingerprint) return opened.key;
    const secret = vault.open(documentKeyPurpose, privateKeySealed, documentKeyBinding(fingerprint));
    if (secret === undefined) {
      log("csaf.key.lost", { fingerprint });
      throw new Error("the key that signs documents cannot be opened: the secret key is not the one that it was sealed with");
    }
    const key = loadLibrary().then(({ readPrivateKey }) => readPrivateKey({ armoredKey: secret }));
    opened = { fingerprint, key };
    return key;
  };

  const makeSignature = async (key: DocumentKey, text: string, releasedMs: number): Promise<string> => {
    const [{ createMessage, sign }, signingKey] = await Promise.all([loadLibrary(), openKey(key)]);
    return sign({
      message: await createMessage({ binary: Buffer.from(text) }),
      signingKeys: signingKey,
      detached: true,
      format: "armored",
      // A signature cannot be older than its key.
      date: new Date(Math.max(releasedMs, key.createTimeMs)),
      config: { nonDeterministicSignaturesViaNotation: false },
    });
  };

  return {
    publicKeys: keysNow,
    async sign(text, releasedMs) {
      const [key] = await keysNow();
      const place = createHash("sha256").update(`${key.fingerprint} ${releasedMs} `).update(text).digest("base64url");
      const known = kept.get(place);
      const signature = known ?? makeSignature(key, text, releasedMs);
      kept.delete(place);
      kept.set(place, signature);
      signature.catch(() => kept.delete(place));
      for (const oldest of kept.keys()) {
        if (kept.size <= limits.documentSignaturesMax) break;
        kept.delete(oldest);
      }
      return signature;
    },
  };
};
