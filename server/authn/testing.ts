// Test support: a real OIDC issuer on its own port, and authn over a real database.

import { unreported } from "#health";
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";
import { exportJWK, generateKeyPair, SignJWT, type CryptoKey, type JWK } from "jose";
import { Fault } from "#base/fault.ts";
import type { JsonObject } from "#base/json.ts";
import { newChild, newRoot } from "#base/uid.ts";
import { openStore, vaultOf, type Store, type Vault } from "#db";
import { freshDatabase } from "../../test/database.ts";
import type { ExchangeRequest } from "./exchange.ts";
import { openAuthn, type Authn, type AuthnOptions } from "./index.ts";

/** Starts a server on a loopback port, closed with the test. Returns its URL. */
export const startHttpServer = async (t: TestContext, listener: RequestListener): Promise<string> => {
  const server = createServer(listener);
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
};

export interface SigningKey {
  readonly kid: string;
  readonly alg: string;
  readonly private: CryptoKey;
  readonly public: JWK;
}

export const makeKey = async (kid: string, alg = "ES256"): Promise<SigningKey> => {
  const pair = await generateKeyPair(alg as "ES256", { extractable: true });
  return { kid, alg, private: pair.privateKey, public: { ...(await exportJWK(pair.publicKey)), kid, alg } };
};

export interface TestIssuer {
  readonly url: string;
  /** Requested paths, in order. */
  readonly requestedPaths: string[];
  /** Published keys. */
  keys: SigningKey[];
  /** Handles a request instead of the issuer if it returns true. */
  instead: ((request: IncomingMessage, response: ServerResponse) => boolean) | undefined;
  /** Returns a token signed with the first key. Undefined claims are omitted. */
  token(claims: Record<string, unknown>, header?: Record<string, unknown>): Promise<string>;
}

/** Returns the times of a token that is valid for an hour from `nowMs`. */
export const hour = (nowMs: number): { iat: number; exp: number } => ({
  iat: Math.floor(nowMs / 1000),
  exp: Math.floor(nowMs / 1000) + 3600,
});

export const startIssuer = async (t: TestContext, nowMs: () => number): Promise<TestIssuer> => {
  const issuer: { -readonly [K in keyof TestIssuer]: TestIssuer[K] } = {
    url: "",
    requestedPaths: [],
    keys: [await makeKey("one")],
    instead: undefined,
    token: async (claims, header) => {
      const key = issuer.keys[0] ?? (await makeKey("none"));
      const payload = { iss: issuer.url, ...hour(nowMs()), ...claims };
      return new SignJWT(payload).setProtectedHeader({ alg: key.alg, kid: key.kid, ...header }).sign(key.private);
    },
  };
  issuer.url = await startHttpServer(t, (request, response) => {
    issuer.requestedPaths.push(request.url ?? "");
    if (issuer.instead?.(request, response)) return;
    response.setHeader("content-type", "application/json");
    if (request.url === "/.well-known/openid-configuration") return void response.end(JSON.stringify({ issuer: issuer.url, jwks_uri: `${issuer.url}/keys` }));
    if (request.url === "/keys") return void response.end(JSON.stringify({ keys: issuer.keys.map((key) => key.public) }));
    response.writeHead(404).end("{}");
  });
  return issuer;
};

export const publicUrl = "https://gantry.example:8443";
export const capabilities: ReadonlySet<string> = new Set(["repo.list", "repo.create", "group.list"]);

export interface TestServices {
  readonly authn: Authn;
  readonly store: Store;
  readonly vault: Vault;
  /** Mutable clock. */
  readonly time: { nowMs: number };
  readonly logged: { readonly event: string; readonly facts: Readonly<Record<string, unknown>> }[];
  /** Opens another server on the same database, with its own `options`. */
  replica(options?: Partial<AuthnOptions>): Promise<Authn>;
  /** Stores an identity below `parent` (or a root one) and returns its UID. */
  identity(columns: Readonly<Record<string, string | object>>, uid?: string): Promise<string>;
  claimMatch(match: JsonObject): Promise<string>;
  person(issuer: string, subject: string): Promise<string>;
  exchange(token: string, request?: Partial<ExchangeRequest>): Promise<string>;
}

const base64Json = (part: string | undefined): JsonObject => JSON.parse(Buffer.from(part ?? "", "base64url").toString()) as JsonObject;

/** Decodes a token's claims, unverified. */
export const claimsOf = (token: string): JsonObject => base64Json(token.split(".")[1]);
export const headerOf = (token: string): JsonObject => base64Json(token.split(".")[0]);

export const openTestServices = async (t: TestContext, options: Partial<AuthnOptions> = {}): Promise<TestServices> => {
  const database = await freshDatabase({ planted: true });
  const time = { nowMs: Date.UTC(2026, 10, 20, 12) };
  const logged: TestServices["logged"] = [];
  const log = (event: string, facts = {}): void => void logged.push({ event, facts });
  const store = await openStore({ databaseUrl: database.url, log });
  const opened: Authn[] = [];
  t.after(async () => {
    await Promise.all(opened.map((authn) => authn.close()));
    await store.close();
    await database.drop();
  });
  const vault = vaultOf(new Uint8Array(32).fill(7));
  const replica = async (own: Partial<AuthnOptions> = {}): Promise<Authn> => {
    const authn = await openAuthn({
      health: unreported(),
      store,
      vault,
      log,
      clock: () => time.nowMs,
      issuer: publicUrl,
      audiences: [],
      egressAllow: "127.0.0.0/8",
      knownCapabilities: capabilities,
      ...options,
      ...own,
    });
    opened.push(authn);
    return authn;
  };
  const authn = await replica();
  const identity: TestServices["identity"] = async (columns, uid = newChild(newRoot())) => {
    const now = new Date(time.nowMs).toISOString();
    const row: [string, string][] = Object.entries(columns).map(([name, value]) => [name, typeof value === "string" ? value : JSON.stringify(value)]);
    const all: [string, string][] = [["uid", uid], ["name", "tester"], ["create_time", now], ["update_time", now], ...row];
    await store.write((rows) =>
      rows.query(
        `insert into identities (${all.map(([name]) => name).join(", ")}) values (${all.map((_, at) => `$${at + 1}`).join(", ")})`,
        all.map(([, value]) => value),
      ),
    );
    return uid;
  };
  return {
    authn,
    store,
    vault,
    time,
    logged,
    replica,
    identity,
    claimMatch: (match) => identity({ relationship_type: "RELATIONSHIP_TYPE_CLAIM_MATCH", claim_match: match }),
    person: (issuer, subject) => identity({ issuer, subject }, authn.personUid(issuer, subject)),
    exchange: async (token, request = {}) => {
      const defaults = { audience: [], identity: "", capabilities: [], scopes: [] };
      return (await authn.exchange({ authorization: `Bearer ${token}`, ...defaults, ...request })).token;
    },
  };
};

/** Returns the fault that `work` throws, as `CODE: text`. Anything else fails the test. */
export const refusalOf = async (work: () => unknown): Promise<string> => {
  try {
    await work();
  } catch (thrown) {
    if (thrown instanceof Fault) return `${thrown.code}: ${thrown.message}`;
    throw thrown;
  }
  throw new Error("it was not refused");
};
