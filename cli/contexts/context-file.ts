// The user's contexts: which server, organization and identity a command means, under a name. They lie in the user's configuration
// folder and nowhere else: what lies in the working directory may be a stranger's clone, and must not choose who gets the token.
//
//   {"current": "acme", "contexts": {"acme": {"server": "https://gantry.example.com", "organization": "acme"}}}
//
// JSON rather than YAML: commands write it, and no parser is loaded at each start of a client.

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
  /** The server's address, without a slash at its end. */
  readonly server: string;
  /** The organization that is meant where a command names none: its uid or name. */
  readonly organization?: string | undefined;
  /** The assumable identity that its tokens act as. */
  readonly identity?: string | undefined;
  /** The form of output where a command names none. */
  readonly output?: string | undefined;
  /** Where several sign-ins at one server are kept: which of them is this one's (cli/login/token-cache.ts). */
  readonly alias?: string | undefined;
  /** The file with the identity token that is exchanged when the access token is about to end. */
  readonly identityTokenFile?: string | undefined;
}

export interface ContextList {
  readonly current: string | undefined;
  readonly contexts: ReadonlyMap<string, StoredContext>;
}

const members = ["server", "organization", "identity", "output", "alias", "identityTokenFile"] as const;

/** Names are typed, completed, and part of a folder's name. */
const namePattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/;

/** Throws where this is no name for a context. */
export const checkContextName = (name: string): string => {
  if (!namePattern.test(name) || name === "oidc-token" || name === "refresh-token")
    throw new Fault("INVALID_ARGUMENT", `a context name must consist of letters, digits, ".", "_" and "-", not ${JSON.stringify(name)}`);
  return name;
};

/** The address of a server as contexts hold it. Throws where it is none; `option` is what gave it. */
export const readServer = (option: string, value: string): string => {
  const url = URL.parse(value);
  const isServer = (url?.protocol === "https:" || url?.protocol === "http:") && url.username === "" && url.password === "" && url.search + url.hash === "";
  if (!isServer)
    throw new Fault("INVALID_ARGUMENT", `${option} must be the server's address, such as https://gantry.example.com, not ${JSON.stringify(value)}`);
  return withoutTrailing(value, "/");
};

/** The file; GANTRY_CONFIG names another one. */
export const contextFilePath = (environment: Environment): string => {
  const { GANTRY_CONFIG: named, XDG_CONFIG_HOME: folder, HOME: home } = environment;
  for (const [name, path] of Object.entries({ GANTRY_CONFIG: named, XDG_CONFIG_HOME: folder }))
    if (path && !isAbsolute(path)) throw new Fault("FAILED_PRECONDITION", `${name} must be an absolute path, not ${JSON.stringify(path)}`);
  return named || join(folder || join(home || homedir(), ".config"), "gantry", "contexts.json");
};

const fileFault = (path: string, reason: string, cause?: unknown): Fault => new Fault("FAILED_PRECONDITION", `${path} ${reason}`, { cause });

/** Throws where somebody else could have written it, or put it in its place: the server that it names is given the token. */
const checkWriters = (path: string): void => {
  for (const each of [path, dirname(path)]) {
    const { mode, uid } = statSync(each);
    const own = process.getuid?.() ?? uid;
    if (uid !== own && uid !== 0) throw fileFault(path, `is not trusted: ${each} belongs to another user`);
    // In a folder like /tmp nobody replaces another's file.
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

/** All contexts; none where there is no file. Throws where the file is not to be trusted or not to be read. */
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

/** Changes the contexts, one program of this machine at a time; the file is replaced whole. Returns what stands there now. */
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
