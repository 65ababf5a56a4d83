// Where clients of the platform look for tokens (authentication.md: 8): a file for each kind below a folder for each
// audience, in the user's cache. The Go SDK and what is built on it, the Terraform provider among them, read it there.

import { readdirSync, readFileSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import { Fault } from "#base/fault.ts";
import { writePrivateFile } from "./private-file.ts";

export type TokenKind = "oidc-token" | "refresh-token";
type Environment = Readonly<Record<string, string | undefined>>;

/** The user's cache, found as Go's os.UserCacheDir finds it: both have to come to the same folder. */
const userCacheFolder = (environment: Environment): string => {
  if (process.platform === "darwin") return join(environment.HOME || homedir(), "Library", "Caches");
  if (process.platform === "win32") return environment.LocalAppData || join(homedir(), "AppData", "Local");
  const configured = environment.XDG_CACHE_HOME;
  if (!configured) return join(environment.HOME || homedir(), ".cache");
  if (!isAbsolute(configured)) throw new Fault("FAILED_PRECONDITION", `XDG_CACHE_HOME must be a whole path, not ${JSON.stringify(configured)}`);
  return configured;
};

const audienceFolder = (environment: Environment, audience: string): string => {
  const slashed = audience.replaceAll("/", "-");
  const name = process.platform === "win32" ? slashed.replaceAll(/[:\\]/g, "-") : slashed;
  // An audience is a name here and must not lead anywhere else.
  if (name === "" || name === "." || name === ".." || name.includes("\0"))
    throw new Fault("INVALID_ARGUMENT", `--audience cannot be ${JSON.stringify(audience)}`);
  return join(userCacheFolder(environment), "chainguard", name);
};

/** The file of this kind of token for this audience. */
export const tokenFile = (environment: Environment, audience: string, kind: TokenKind): string => join(audienceFolder(environment, audience), kind);

const cacheFault = (failure: string, error: unknown): Fault =>
  new Fault("FAILED_PRECONDITION", `${failure}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });

/** Stores a token for its owner's eyes alone; undefined removes the one that is there. Returns the file. */
export const storeToken = (environment: Environment, audience: string, kind: TokenKind, token: string | undefined): string => {
  const file = tokenFile(environment, audience, kind);
  if (token === undefined) {
    rmSync(file, { force: true });
    return file;
  }
  try {
    writePrivateFile(file, token);
  } catch (error) {
    throw cacheFault("the token cannot be stored", error);
  }
  return file;
};

/** The token of this kind for this audience; undefined where there is none that can be read. */
export const readStoredToken = (environment: Environment, audience: string, kind: TokenKind): string | undefined => {
  try {
    return readFileSync(tokenFile(environment, audience, kind), "utf8").trim();
  } catch {
    return undefined;
  }
};

/** Every access token of the cache, with its file. */
export const listStoredTokens = (environment: Environment): { readonly file: string; readonly token: string }[] => {
  const cache = join(userCacheFolder(environment), "chainguard");
  let names: string[];
  try {
    names = readdirSync(cache).sort();
  } catch {
    return [];
  }
  return names.flatMap((name) => {
    const file = join(cache, name, "oidc-token");
    try {
      return [{ file, token: readFileSync(file, "utf8").trim() }];
    } catch {
      return [];
    }
  });
};

/** Removes the tokens for this audience. False where there were none. */
export const removeTokens = (environment: Environment, audience: string): boolean => {
  let found = false;
  for (const kind of ["oidc-token", "refresh-token"] as const) {
    try {
      rmSync(tokenFile(environment, audience, kind));
      found = true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw cacheFault("the token cannot be removed", error);
    }
  }
  return found;
};
