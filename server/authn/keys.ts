// The keys that sign our tokens: rows of signing_keys, the private halves sealed with the vault. Any number of
// servers share them.
//
// A rotation publishes the new key at once and signs with it a little later (`overlapMs`), so that every server
// has seen it before the first token of it arrives; the old one signs until then, and is published until the last
// of its tokens has expired. Nobody is ever refused in between (decisions: Tokens).

import { calculateJwkThumbprint, exportJWK, generateKeyPair, importJWK, type CryptoKey, type JWK } from "jose";
import { Fault, unauthenticated } from "#base/fault.ts";
import { isObject, text, type Json, type JsonObject } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import type { Log } from "#base/log.ts";
import { timestamp, type Clock } from "#base/time.ts";
import { areSigningKeysOlder, type Read, type Store, type Vault } from "#store";

interface Key {
  readonly kid: string;
  /** From then on it signs nothing. */
  readonly retireMs: number;
  readonly published: JsonObject;
  readonly verify: CryptoKey;
  readonly sealed: string;
}

export interface Keys {
  /** The key that signs now. */
  signing(): Promise<{ readonly kid: string; readonly key: CryptoKey }>;
  /** The public key of that name; throws UNAUTHENTICATED where we have none. */
  verifying(kid: string | undefined): Promise<CryptoKey>;
  /** The public keys as a JSON Web Key Set. */
  published(): Promise<JsonObject>;
  /** Begins to replace the key that signs. */
  rotate(): Promise<void>;
  /** The same where the newest key is older than limits.signingKeyLifetimeMs. */
  rotateIfDue(): Promise<void>;
}

const algorithm = "RS256";
const modulusLength = 2048;
const purpose = "signing-key";

// A server looks for new keys at most every issuerRetryMs, whatever tokens it is shown; clocks differ by
// clockSkewMs. After both, all servers know a key that was published at the beginning.
const overlapMs = limits.issuerRetryMs + limits.clockSkewMs;
/** How long after its retirement a key's last token may live. */
const afterlifeMs = limits.accessTokenLifetimeMs + limits.clockSkewMs;

const everyKey = `
  select kid, public_jwk, private_jwk_sealed,
    (extract(epoch from retire_time) * 1000)::bigint
  from signing_keys order by create_time, kid`;

/** Only what a verifier needs, by name: a private member can never slip into the published set. */
const publicPart = (jwk: JsonObject): JsonObject => ({
  kty: "RSA",
  use: "sig",
  alg: algorithm,
  kid: text(jwk, "kid"),
  n: text(jwk, "n"),
  e: text(jwk, "e"),
});

const newKey = async (): Promise<{ kid: string; published: JsonObject; secret: string }> => {
  const pair = await generateKeyPair(algorithm, { modulusLength, extractable: true });
  const jwk: JWK = await exportJWK(pair.privateKey);
  const kid = await calculateJwkThumbprint(jwk);
  const published = publicPart({ kid, n: jwk.n ?? "", e: jwk.e ?? "" });
  return { kid, published, secret: JSON.stringify({ ...jwk, kid, alg: algorithm }) };
};

const imported = async (jwk: JWK): Promise<CryptoKey> => {
  const key = await importJWK(jwk, algorithm);
  if (key instanceof Uint8Array) throw new Error("a signing key is not an RSA key");
  return key;
};

const readKeys = async (rows: Read): Promise<Key[]> => {
  const keys: Key[] = [];
  for (const [kid, jwk, sealed, retireMs] of await rows.query(everyKey)) {
    const stored = JSON.parse(jwk ?? "null") as Json;
    if (!kid || !sealed || !isObject(stored)) continue;
    const published = publicPart({ ...stored, kid });
    keys.push({
      kid,
      retireMs: retireMs == null ? Number.POSITIVE_INFINITY : Number(retireMs),
      published,
      verify: await imported(published),
      sealed,
    });
  }
  return keys;
};

/** The keys of the store; makes the first one where there is none. */
export const openKeys = async (store: Store, vault: Vault, clock: Clock, log: Log): Promise<Keys> => {
  let keys: ReadonlyMap<string, Key> = new Map();
  let loadedMs = Number.NEGATIVE_INFINITY;
  let loading: Promise<void> | undefined;
  let signer: { readonly kid: string; readonly key: CryptoKey } | undefined;

  const load = (): Promise<void> => {
    loading ??= readKeys(store.read)
      .then((found) => {
        keys = new Map(found.map((key) => [key.kid, key]));
        loadedMs = clock();
      })
      .finally(() => {
        loading = undefined;
      });
    return loading;
  };
  /** Never more than one question to the store per interval, whoever asks. */
  const fresh = async (): Promise<void> => {
    if (Math.abs(clock() - loadedMs) >= limits.issuerRetryMs) await load();
  };
  const alive = (): Key[] => [...keys.values()].filter((key) => key.retireMs + afterlifeMs > clock());

  // The one that retires first: its successor waits until then.
  const signingKey = (): Key | undefined => {
    let next: Key | undefined;
    for (const key of keys.values()) if (key.retireMs > clock() && (next === undefined || key.retireMs < next.retireMs)) next = key;
    return next;
  };

  /** Adds a key that signs once those before it retire at `retireMs`; without one, only where none signs. */
  const add = async (retireMs: number | undefined): Promise<void> => {
    const made = await newKey();
    const sealed = vault.seal(purpose, made.secret);
    const added = await store.write(async (rows) => {
      // The lock comes before the first look at the table: of two servers that start at once, or two operators
      // that rotate at once, the second sees what the first one did.
      await rows.query("lock table signing_keys in share row exclusive mode");
      const waiting = await rows.query("select kid from signing_keys where retire_time is null");
      if (retireMs === undefined && waiting.length > 0) return false;
      if (retireMs !== undefined) {
        await rows.query("update signing_keys set retire_time = $1 where retire_time is null", [timestamp(retireMs)]);
        await rows.query("delete from signing_keys where retire_time <= $1", [timestamp(clock() - afterlifeMs)]);
      }
      await rows.query("insert into signing_keys (kid, public_jwk, private_jwk_sealed, create_time) values ($1, $2, $3, $4)", [
        made.kid,
        JSON.stringify(made.published),
        sealed,
        timestamp(clock()),
      ]);
      return true;
    });
    if (added) log("authn.key.made", { kid: made.kid });
    // A look at the table that began before may have missed it.
    await loading?.catch(() => {});
    await load();
  };

  const signing = async (): Promise<{ readonly kid: string; readonly key: CryptoKey }> => {
    await fresh();
    const key = signingKey();
    if (key === undefined) throw new Error("the store holds no key that signs tokens");
    if (signer?.kid === key.kid) return signer;
    const secret = vault.open(purpose, key.sealed);
    if (secret === undefined)
      throw new Fault(
        "FAILED_PRECONDITION",
        `the signing keys cannot be opened: GANTRY_SECRET_KEY_FILE (or secret.key in GANTRY_DATA) is not the key that they were sealed with`,
      );
    signer = { kid: key.kid, key: await imported(JSON.parse(secret) as JWK) };
    return signer;
  };

  const rotate = (): Promise<void> => add(clock() + overlapMs);

  await load();
  if (signingKey() === undefined) await add(undefined);
  // A wrong secret key shows at the start, in one line, and not at the first token.
  await signing();

  return {
    signing,
    verifying: async (kid) => {
      const live = (): Key | undefined => alive().find((key) => key.kid === kid);
      if (kid !== undefined && live() === undefined) await fresh();
      const key = live();
      if (key === undefined) throw unauthenticated("the token's key is not among this server's keys");
      return key.verify;
    },
    published: async () => {
      await fresh();
      return { keys: alive().map((key) => key.published) };
    },
    rotate,
    rotateIfDue: async () => {
      if (await areSigningKeysOlder(store.read, clock() - limits.signingKeyLifetimeMs)) await rotate();
    },
  };
};
