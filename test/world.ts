// A running server for a test file: its own database, settable clock, real sockets, and callers.

import { randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { operatorUid } from "#base/operator.ts";
import { codes } from "#base/fault.ts";
import { isObject, type JsonObject, text } from "#base/json.ts";
import { type Log, silent } from "#base/log.ts";
import { signedInType } from "#outbox";
import { readSettings, type Server, startServer } from "#application";
import { type Answer, type CallOptions, callOver, disconnect, type Protocol } from "./client.ts";
import { freshDatabase } from "./database.ts";
import { freePort } from "./free-port.ts";

/** Expands short package names such as "iam.GroupsService/GetGroup". Full names stay unchanged. */
export const full = (name: string): string => (/^(?:chainguard|gantry)\./.test(name) ? name : `chainguard.platform.${name.replace(/^([a-z]+)\./, "$1.v2.")}`);

export interface World {
  readonly url: string;
  readonly server: Server;
  /** For the server's role. */
  readonly databaseUrl: string;
  /** The organization created at the start. */
  readonly organization: string;
  /** The server's clock in milliseconds since 1970; settable. */
  readonly clock: { now: number };
  /** Returns a token for an identity; by default the operator's. */
  token(identity?: string, narrowing?: { readonly capabilities?: readonly string[]; readonly scopes?: readonly string[] }): Promise<string>;
  /** Calls an operation, by default as the operator. `name` omits package and version. */
  call(name: string, request: JsonObject, options?: CallOptions & { readonly protocol?: Protocol }): Promise<Answer>;
  /**
   * Calls an operation and returns its reply; throws on failure. A new group with a taken name gets a number, because tests use
   * descriptive names; tests of names use `call`.
   */
  ok(name: string, request: JsonObject, options?: CallOptions & { readonly protocol?: Protocol }): Promise<JsonObject>;
  /** Returns all events so far, oldest first, without sign-ins, which only the audit log records. */
  events(): Promise<{ type: string; subject: string; group: string; actor: string | null; body: JsonObject }[]>;
  close(): Promise<void>;
}

/** Starts a server. `environment` adds or replaces settings; its clock starts at `nowMs`. */
export const openWorld = async (environment: Readonly<Record<string, string>> = {}, log: Log = silent, nowMs = Date.now()): Promise<World> => {
  const database = environment.DATABASE_URL ? undefined : await freshDatabase();
  const folder = await mkdtemp(join(tmpdir(), "gantry-world-"));
  const port = await freePort();
  const settings = readSettings({
    GANTRY_LISTEN: `127.0.0.1:${port}`,
    GANTRY_DATA: folder,
    GANTRY_SECRET_KEY_FILE: join(folder, "secret.key"),
    GANTRY_EGRESS_ALLOW: "127.0.0.0/8",
    GANTRY_SERVICE_DOMAIN: "example.test",
    ...(database ? { DATABASE_URL: database.url } : {}),
    ...environment,
  });
  if (!environment.GANTRY_SECRET_KEY_FILE) await writeFile(join(folder, "secret.key"), randomBytes(32).toString("base64"), { mode: 0o600 });
  const clock = { now: nowMs };
  const remove = async (): Promise<void> => {
    await database?.drop();
    await rm(folder, { recursive: true, force: true });
  };
  const server = await startServer(settings, { log, clock: () => clock.now, deliversByHand: true }).catch(async (thrown: unknown) => {
    await remove();
    throw thrown;
  });
  const url = `http://127.0.0.1:${port}`;
  const { authn, store } = server.application.services;
  // Tokens are reused until the settable clock has moved away.
  let held = { token: "", fromMs: Number.NEGATIVE_INFINITY };
  const operatorToken = async (): Promise<string> => {
    if (Math.abs(clock.now - held.fromMs) > 60_000) held = { token: await authn.mint({ uid: operatorUid, audience: [settings.publicUrl] }), fromMs: clock.now };
    return held.token;
  };
  const call: World["call"] = async (name, request, { protocol = "rest", ...options } = {}) =>
    callOver(protocol, url, full(name), request, "token" in options ? options : { ...options, token: await operatorToken() });
  const { groups } = (await call("iam.GroupsService/ListGroups", { uidp: { inRoot: true } })).reply;
  const organization = Array.isArray(groups) ? String((groups[0] as JsonObject).uid) : "";
  // The last number of each name, so that earlier ones are not tried again.
  const lastNumbers = new Map<string, number>();
  const numberedName = (name: string): string => {
    const number = (lastNumbers.get(name) ?? 1) + 1;
    lastNumbers.set(name, number);
    return `${name}-${number}`;
  };
  return {
    url,
    server,
    databaseUrl: settings.databaseUrl ?? "",
    organization,
    clock,
    call,
    token: (identity, narrowing = {}) => authn.mint({ uid: identity ?? operatorUid, audience: [settings.publicUrl], ...narrowing }),
    async ok(name, request, options) {
      let answer = await call(name, request, options);
      const { group } = request;
      while (name === "iam.GroupsService/CreateGroup" && answer.code === codes.ALREADY_EXISTS && isObject(group))
        answer = await call(name, { ...request, group: { ...group, name: numberedName(text(group, "name")) } }, options);
      if (answer.code !== 0) throw new Error(`${name}: ${answer.code} ${answer.message}`);
      return answer.reply;
    },
    async events() {
      const rows = await store.read.query(
        "select type, subject, group_uid, data::jsonb #>> '{actor,subject}', data::jsonb -> 'body' from outbox where type <> $1 order by id",
        [signedInType],
      );
      return rows.map(([type, subject, group, actor, body]) => ({
        type: type ?? "",
        subject: subject ?? "",
        group: group ?? "",
        actor: actor ?? null,
        body: JSON.parse(body ?? "{}") as JsonObject,
      }));
    },
    async close() {
      disconnect(url);
      await server.close();
      await remove();
    },
  };
};
