// Signing keys: rows of signing_keys, sealed by the vault, shared by all servers.
//
// A rotation publishes the new key at once and signs with it after `overlapMs`, when every server knows it. The old key stays
// published until its last token expires. So no valid token is ever refused (decisions: Tokens).

import type { CryptoKey, JWK } from "jose";
import { calculateJwkThumbprint } from "jose/jwk/thumbprint";
import { exportJWK } from "jose/key/export";
import { generateKeyPair } from "jose/key/generate/keypair";
import { importJWK } from "jose/key/import";
import { Fault, unauthenticated } from "#base/fault.ts";
import { isObject, text, type JsonObject } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import type { Log } from "#base/log.ts";
import type { Clock } from "#base/time.ts";
import {
  areSigningKeysOlder,
  deleteRetiredSigningKeys,
  hasUnretiredSigningKey,
  insertSigningKey,
  listSigningKeys,
  lockSigningKeys,
  retireSigningKeys,
  signingKeyBinding,
  signingKeyPurpose,
} from "#iam/store";
import type { Read, Store, Vault } from "#db";

interface Key {
  readonly kid: string;
  /** Time at which it stops signing. */
  readonly retireMs: number;
  readonly published: JsonObject;
  readonly verifying: CryptoKey;
  readonly sealed: string;
}

export interface Keys {
  signingKey(): Promise<{ readonly kid: string; readonly key: CryptoKey }>;
  /** Returns the public key with this ID; throws UNAUTHENTICATED if unknown. */
  verifyingKey(kid: string | undefined): Promise<CryptoKey>;
  /** As a JSON Web Key Set. */
  publicKeySet(): Promise<JsonObject>;
  rotate(): Promise<void>;
  /** Begins a rotation if the newest key is older than limits.signingKeyLifetimeMs. */
  rotateIfDue(): Promise<void>;
}

const algorithm = "RS256";
const modulusLength = 2048;

// A server reloads keys at most every issuerRetryMs, and clocks differ by up to clockSkewMs. After both, all servers know a new key.
const overlapMs = limits.issuerRetryMs + limits.clockSkewMs;
const afterlifeMs = limits.accessTokenLifetimeMs + limits.clockSkewMs;

/** Lists members by name, so that a private one cannot be published. */
const publicJwkOf = (jwk: JsonObject): JsonObject => ({
  kty: "RSA",
  use: "sig",
  alg: algorithm,
  kid: text(jwk, "kid"),
  n: text(jwk, "n"),
  e: text(jwk, "e"),
});

const makeSigningKey = async (): Promise<{ kid: string; published: JsonObject; secret: string }> => {
  const pair = await generateKeyPair(algorithm, { modulusLength, extractable: true });
  const jwk: JWK = await exportJWK(pair.privateKey);
  const kid = await calculateJwkThumbprint(jwk);
  const published = publicJwkOf({ kid, n: jwk.n ?? "", e: jwk.e ?? "" });
  return { kid, published, secret: JSON.stringify({ ...jwk, kid, alg: algorithm }) };
};

const importSigningKey = async (jwk: JWK): Promise<CryptoKey> => {
  const key = await importJWK(jwk, algorithm);
  if (key instanceof Uint8Array) throw new Error("a signing key is not an RSA key");
  return key;
};

const loadKeys = async (rows: Read): Promise<Key[]> => {
  const keys: Key[] = [];
  for (const { kid, publicJwk, privateJwkSealed, retireTimeMs } of await listSigningKeys(rows)) {
    if (!isObject(publicJwk)) continue;
    const published = publicJwkOf({ ...publicJwk, kid });
    keys.push({
      kid,
      retireMs: retireTimeMs ?? Number.POSITIVE_INFINITY,
      published,
      verifying: await importSigningKey(published),
      sealed: privateJwkSealed,
    });
  }
  return keys;
};

/** Loads the keys from the store, and creates the first one. */
export const openKeys = async (store: Store, vault: Vault, clock: Clock, log: Log): Promise<Keys> => {
  let keys: ReadonlyMap<string, Key> = new Map();
  let loadedMs = Number.NEGATIVE_INFINITY;
  let loading: Promise<void> | undefined;
  let signer: { readonly kid: string; readonly key: CryptoKey } | undefined;

  const load = (): Promise<void> => {
    loading ??= loadKeys(store.read)
      .then((found) => {
        keys = new Map(found.map((key) => [key.kid, key]));
        loadedMs = clock();
      })
      .finally(() => {
        loading = undefined;
      });
    return loading;
  };
  const reloadIfStale = async (): Promise<void> => {
    if (Math.abs(clock() - loadedMs) >= limits.issuerRetryMs) await load();
  };
  const publishedKeys = (): Key[] => [...keys.values()].filter((key) => key.retireMs + afterlifeMs > clock());

  // The one that retires first; its successor waits.
  const currentKey = (): Key | undefined => {
    let next: Key | undefined;
    for (const key of keys.values()) if (key.retireMs > clock() && (next === undefined || key.retireMs < next.retireMs)) next = key;
    return next;
  };

  /** The key signs once earlier ones retire at `retireMs`; if undefined, it is added only if no key signs. */
  const addKey = async (retireMs: number | undefined): Promise<void> => {
    const made = await makeSigningKey();
    const sealed = vault.seal(signingKeyPurpose, made.secret, signingKeyBinding(made.kid));
    const added = await store.write(async (rows) => {
      await lockSigningKeys(rows);
      if (retireMs === undefined && (await hasUnretiredSigningKey(rows))) return false;
      if (retireMs !== undefined) {
        await retireSigningKeys(rows, retireMs);
        await deleteRetiredSigningKeys(rows, clock() - afterlifeMs);
      }
      await insertSigningKey(rows, { kid: made.kid, publicJwk: made.published, privateJwkSealed: sealed, createTimeMs: clock() });
      return true;
    });
    if (added) log("authn.key.made", { kid: made.kid });
    // A load that started earlier may have missed it.
    await loading?.catch(() => {});
    await load();
  };

  const signingKey = async (): Promise<{ readonly kid: string; readonly key: CryptoKey }> => {
    await reloadIfStale();
    const key = currentKey();
    if (key === undefined) throw new Error("the store has no key for signing tokens");
    if (signer?.kid === key.kid) return signer;
    const secret = vault.open(signingKeyPurpose, key.sealed, signingKeyBinding(key.kid));
    if (secret === undefined)
      throw new Fault(
        "FAILED_PRECONDITION",
        `the signing keys cannot be opened: GANTRY_SECRET_KEY_FILE (or secret.key in GANTRY_DATA) is not the key that they were sealed with`,
      );
    signer = { kid: key.kid, key: await importSigningKey(JSON.parse(secret) as JWK) };
    return signer;
  };

  await load();
  if (currentKey() === undefined) await addKey(undefined);
  // Fails at the start, rather than at the first token, if the secret key is wrong.
  await signingKey();

  return {
    signingKey,
    verifyingKey: async (kid) => {
      const find = (): Key | undefined => publishedKeys().find((key) => key.kid === kid);
      if (kid !== undefined && find() === undefined) await reloadIfStale();
      const key = find();
      if (key === undefined) throw unauthenticated("the token's key is not among this server's keys");
      return key.verifying;
    },
    publicKeySet: async () => {
      await reloadIfStale();
      return { keys: publishedKeys().map((key) => key.published) };
    },
    rotate: () => addKey(clock() + overlapMs),
    rotateIfDue: async () => {
      if (await areSigningKeysOlder(store.read, clock() - limits.signingKeyLifetimeMs)) await addKey(clock() + overlapMs);
    },
  };
};
