// Credential files of registry clients: docker's config.json, also read by crane, oras and helm, and auth.json of podman, skopeo
// and buildah (containers-auth.json(5)). Other entries are preserved.

import { readFileSync, realpathSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import { Fault } from "#base/fault.ts";
import { isObject, type Json, type JsonObject, part, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { writePrivateFile } from "./private-file.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** The user name for access tokens in Gantry's registry (authentication.md: 9). */
export const tokenUser = "_token";

/** Clients resolve it to docker-credential-gantry. */
const helperName = "gantry";

/** With the token in the files, or through the credential helper, which renews it. */
export type RegistryLogin = { readonly by: "token"; readonly token: string } | { readonly by: "helper" };

const homeOf = (environment: Environment): string => environment.HOME || homedir();

const dockerFile = (environment: Environment): string => join(environment.DOCKER_CONFIG || join(homeOf(environment), ".docker"), "config.json");

const podmanFile = (environment: Environment): string => {
  if (environment.REGISTRY_AUTH_FILE) return environment.REGISTRY_AUTH_FILE;
  // podman's default, deleted when the user logs out of the machine.
  const runtime = process.platform === "linux" ? environment.XDG_RUNTIME_DIR : undefined;
  const configured = [runtime, environment.XDG_CONFIG_HOME].find((folder) => folder !== undefined && isAbsolute(folder));
  return join(configured ?? join(homeOf(environment), ".config"), "containers", "auth.json");
};

/** Follows symbolic links, as in managed dotfiles. */
const realPath = (file: string): string => {
  try {
    return realpathSync(file);
  } catch {
    return file;
  }
};

interface RegistryFile {
  readonly path: string;
  /** Only docker knows `credsStore`. */
  readonly isDockers: boolean;
  readonly document: JsonObject;
}

const fileFault = (path: string, reason: string, cause?: unknown): Fault => new Fault("FAILED_PRECONDITION", `${path} ${reason}`, { cause });

const readDocument = (path: string): JsonObject => {
  let content: string;
  try {
    if (statSync(path).size > limits.registryFileBytesMax) throw fileFault(path, `was not changed: it has more than ${limits.registryFileBytesMax} bytes`);
    content = readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return {};
    if (error instanceof Fault) throw error;
    throw fileFault(path, `cannot be read: ${error instanceof Error ? error.message : String(error)}`, error);
  }
  if (content.trim() === "") return {};
  let document: Json;
  try {
    document = JSON.parse(content) as Json;
  } catch (error) {
    throw fileFault(path, "was not changed: it is not valid JSON", error);
  }
  const parts = isObject(document) ? [document.auths, document.credHelpers] : [null];
  if (!isObject(document) || parts.some((each) => each !== undefined && !isObject(each)))
    throw fileFault(path, "was not changed: it is not in docker's format");
  return document;
};

const readRegistryFiles = (environment: Environment): RegistryFile[] => {
  const [docker, podman] = [realPath(dockerFile(environment)), realPath(podmanFile(environment))];
  return [...new Set([docker, podman])].map((path) => ({ path, isDockers: path === docker, document: readDocument(path) }));
};

const without = (object: JsonObject, key: string): JsonObject => Object.fromEntries(Object.entries(object).filter(([name]) => name !== key));

const withMember = (document: JsonObject, key: string, value: JsonObject): JsonObject =>
  Object.keys(value).length === 0 ? without(document, key) : { ...document, [key]: value };

const writeDocument = ({ path, document: before }: RegistryFile, document: JsonObject): boolean => {
  if (JSON.stringify(before) === JSON.stringify(document)) return false;
  try {
    writePrivateFile(path, `${JSON.stringify(document, null, "\t")}\n`);
  } catch (error) {
    throw fileFault(path, `cannot be written: ${error instanceof Error ? error.message : String(error)}`, error);
  }
  return true;
};

const otherHelper = ({ document, isDockers }: RegistryFile, host: string, by: RegistryLogin["by"]): string => {
  const ofHost = text(part(document, "credHelpers"), host);
  if (ofHost !== "") return ofHost === helperName ? "" : ofHost;
  return by === "token" && isDockers ? text(document, "credsStore") : "";
};

/** Throws a Fault if a file cannot take the login, before the user signs in. */
export const checkRegistryFiles = (environment: Environment, host: string, by: RegistryLogin["by"]): void => {
  for (const file of readRegistryFiles(environment)) {
    const other = otherHelper(file, host, by);
    if (other === "") continue;
    const way = by === "token" ? ". To use Gantry's helper for this host, run gantry login --docker-helper" : "";
    throw fileFault(file.path, `stores the credentials of ${host} with docker-credential-${other}${way}`);
  }
};

/** Writes the login for this host and port to both files. Returns their paths. */
export const writeRegistryLogin = (environment: Environment, host: string, login: RegistryLogin): string[] =>
  readRegistryFiles(environment).map((file) => {
    const [auths, helpers] = [part(file.document, "auths"), part(file.document, "credHelpers")];
    const auth = login.by === "token" ? { auth: Buffer.from(`${tokenUser}:${login.token}`, "utf8").toString("base64") } : undefined;
    const document = withMember(file.document, "auths", auth ? { ...auths, [host]: auth } : without(auths, host));
    // Clients ask a helper first.
    writeDocument(file, withMember(document, "credHelpers", auth ? without(helpers, host) : { ...helpers, [host]: helperName }));
    return file.path;
  });

const isOwnEntry = (entry: Json | undefined): boolean =>
  isObject(entry) && Buffer.from(text(entry, "auth"), "base64").toString("utf8").startsWith(`${tokenUser}:`);

/** Removes what writeRegistryLogin wrote for this host and nothing else. Returns the changed files. */
export const removeRegistryLogin = (environment: Environment, host: string): string[] =>
  readRegistryFiles(environment).flatMap((file) => {
    const [auths, helpers] = [part(file.document, "auths"), part(file.document, "credHelpers")];
    const withoutAuth = isOwnEntry(auths[host]) ? withMember(file.document, "auths", without(auths, host)) : file.document;
    const document = helpers[host] === helperName ? withMember(withoutAuth, "credHelpers", without(helpers, host)) : withoutAuth;
    return writeDocument(file, document) ? [file.path] : [];
  });
