// The user's contexts: named combinations of server, organization and identity. They are read only from the user's configuration
// folder: the working directory may be an untrusted clone and must not choose where a token goes.
//
//   {"current": "acme", "contexts": {"acme": {"server": "https://gantry.example.com", "organization": "acme"}}}
//
// JSON instead of YAML: commands write it, and clients start without a YAML parser.

import { readFileSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, isAbsolute, join } from "node:path";
import { Fault } from "#base/fault.ts";
import { isObject, type Json, type JsonObject, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { withoutTrailing } from "#base/trailing.ts";
import { withLock, writePrivateFile } from "#login";

export type Environment = Readonly<Record<string, string | undefined>>;

export interface StoredContext {
  /** URL of the server, without a trailing slash. */
  readonly server: string;
  /** Default organization: uid or name. */
  readonly organization?: string | undefined;
  /** The assumable identity of its tokens. */
  readonly identity?: string | undefined;
  /** Default output format. */
  readonly output?: string | undefined;
  /** Distinguishes several sign-ins at one server (cli/login/token-cache.ts). */
  readonly alias?: string | undefined;
  /** File with the identity token to exchange again before the access token expires. */
  readonly identityTokenFile?: string | undefined;
}

export interface ContextList {
  readonly current: string | undefined;
  readonly contexts: ReadonlyMap<string, StoredContext>;
}

const members = ["server", "organization", "identity", "output", "alias", "identityTokenFile"] as const;

/** Names are typed, completed, and part of a folder name. */
const namePattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/;

/** Throws if the name is invalid. */
export const checkContextName = (name: string): string => {
  if (!namePattern.test(name) || name === "oidc-token" || name === "refresh-token")
    throw new Fault("INVALID_ARGUMENT", `a context name must consist of letters, digits, ".", "_" and "-", not ${JSON.stringify(name)}`);
  return name;
};

/** Returns the normalized server URL. Throws if it is invalid; `option` is named in the error. */
export const readServer = (option: string, value: string): string => {
  const url = URL.parse(value);
  const isServer = (url?.protocol === "https:" || url?.protocol === "http:") && url.username === "" && url.password === "" && url.search + url.hash === "";
  if (!isServer)
    throw new Fault("INVALID_ARGUMENT", `${option} must be the server's address, such as https://gantry.example.com, not ${JSON.stringify(value)}`);
  return withoutTrailing(value, "/");
};

/** Returns the path of the file; GANTRY_CONFIG overrides it. */
export const contextFilePath = (environment: Environment): string => {
  const { GANTRY_CONFIG: named, XDG_CONFIG_HOME: folder, HOME: home } = environment;
  for (const [name, path] of Object.entries({ GANTRY_CONFIG: named, XDG_CONFIG_HOME: folder }))
    if (path && !isAbsolute(path)) throw new Fault("FAILED_PRECONDITION", `${name} must be an absolute path, not ${JSON.stringify(path)}`);
  return named || join(folder || join(home || homedir(), ".config"), "gantry", "contexts.json");
};

const fileFault = (path: string, reason: string, cause?: unknown): Fault => new Fault("FAILED_PRECONDITION", `${path} ${reason}`, { cause });

/** Throws if another user could write or replace the file, which decides where tokens go. */
const checkWriters = (path: string): void => {
  for (const each of [path, dirname(path)]) {
    const { mode, uid } = statSync(each);
    const own = process.getuid?.() ?? uid;
    if (uid !== own && uid !== 0) throw fileFault(path, `is not trusted: ${each} belongs to another user`);
    // In a sticky folder such as /tmp, users cannot replace each other's files.
    const isSticky = each !== path && (mode & 0o1000) !== 0;
    if ((mode & 0o022) !== 0 && !isSticky)
      throw fileFault(path, `is not trusted: other users can write ${each} and redirect your token. Run chmod go-w ${each}`);
  }
};

const readContextFile = (path: string): string | undefined => {
  try {
    checkWriters(path);
    if (statSync(path).size > limits.contextFileBytesMax) throw fileFault(path, `must be at most ${limits.contextFileBytesMax} bytes`);
    return readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    if (error instanceof Fault) throw error;
    throw fileFault(path, `cannot be read: ${error instanceof Error ? error.message : String(error)}`, error);
  }
};

const readContext = (path: string, name: string, value: Json): StoredContext => {
  if (!isObject(value)) throw fileFault(path, `is not a list of contexts: ${JSON.stringify(name)} must be an object`);
  for (const [key, entry] of Object.entries(value)) {
    if (!members.some((member) => member === key))
      throw fileFault(path, `has the unknown field ${JSON.stringify(key)} in the context ${name}. A newer version may have written it`);
    if (typeof entry !== "string" || /\p{Cc}/u.test(entry)) throw fileFault(path, `has an invalid ${key} in the context ${name}: it must be text`);
  }
  const { identityTokenFile } = value;
  if (typeof identityTokenFile === "string" && !isAbsolute(identityTokenFile))
    throw fileFault(path, `has an invalid identityTokenFile in the context ${name}: it must be an absolute path`);
  const stored = Object.fromEntries(members.flatMap((key) => (text(value, key) === "" ? [] : [[key, text(value, key)]])));
  return { ...stored, server: readServer(`${path}: the server of ${name}`, text(value, "server")) };
};

const parseContexts = (path: string, content: string): ContextList => {
  let document: Json;
  try {
    document = JSON.parse(content) as Json;
  } catch (error) {
    throw fileFault(path, "is not JSON", error);
  }
  const listed: Json | undefined = isObject(document) ? document.contexts : undefined;
  if (!isObject(document) || !isObject(listed)) throw fileFault(path, "is not a list of contexts");
  const contexts = new Map(Object.entries(listed).map(([name, value]) => [checkContextName(name), readContext(path, name, value)]));
  const current = text(document, "current");
  return { current: contexts.has(current) ? current : undefined, contexts };
};

/** Returns all contexts; none if the file is absent. Throws if it is untrusted or unreadable. */
export const readContexts = (environment: Environment): ContextList => {
  const path = contextFilePath(environment);
  const content = readContextFile(path);
  return content === undefined || content.trim() === "" ? { current: undefined, contexts: new Map() } : parseContexts(path, content);
};

const fileContent = ({ current, contexts }: ContextList): JsonObject => ({
  ...(current === undefined ? {} : { current }),
  contexts: Object.fromEntries(
    [...contexts].map(([name, context]) => [
      name,
      Object.fromEntries(members.flatMap((key) => (context[key] === undefined || context[key] === "" ? [] : [[key, context[key]]]))),
    ]),
  ),
});

/** Changes the contexts under a lock and replaces the file atomically. Returns the new contexts. */
export const changeContexts = async (environment: Environment, change: (before: ContextList) => ContextList): Promise<ContextList> => {
  const path = contextFilePath(environment);
  return withLock(`${path}.lock`, AbortSignal.timeout(limits.contextFileLockMs), async () => {
    const after = change(readContexts(environment));
    try {
      writePrivateFile(path, `${JSON.stringify(fileContent(after), undefined, 2)}\n`);
    } catch (error) {
      throw fileFault(path, `cannot be written: ${error instanceof Error ? error.message : String(error)}`, error);
    }
    return after;
  });
};
