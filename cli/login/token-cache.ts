// The token cache of the platform's clients (authentication.md: 8): one file per kind in a folder per audience. The Go SDK and
// its users, such as the Terraform provider, read it.

import { readdirSync, readFileSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import { Fault } from "#base/fault.ts";
import { writePrivateFile } from "./private-file.ts";

export type TokenKind = "oidc-token" | "refresh-token";
type Environment = Readonly<Record<string, string | undefined>>;

/** Returns the same folder as Go's os.UserCacheDir. */
const userCacheFolder = (environment: Environment): string => {
  if (process.platform === "darwin") return join(environment.HOME || homedir(), "Library", "Caches");
  if (process.platform === "win32") return environment.LocalAppData || join(homedir(), "AppData", "Local");
  const configured = environment.XDG_CACHE_HOME;
  if (!configured) return join(environment.HOME || homedir(), ".cache");
  if (!isAbsolute(configured)) throw new Fault("FAILED_PRECONDITION", `XDG_CACHE_HOME must be an absolute path, not ${JSON.stringify(configured)}`);
  return configured;
};

/** Audience of the tokens, and an alias if there are several sign-ins (the SDK's WithAlias). */
export interface TokenPlace {
  readonly audience: string;
  readonly alias?: string | undefined;
}

const aliasPattern = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;

const audienceFolder = (environment: Environment, place: string | TokenPlace): string => {
  const { audience, alias }: TokenPlace = typeof place === "string" ? { audience: place } : place;
  if (alias !== undefined && (!aliasPattern.test(alias) || alias === "oidc-token" || alias === "refresh-token"))
    throw new Fault("INVALID_ARGUMENT", `tokens cannot be stored as ${JSON.stringify(alias)}`);
  const slashed = audience.replaceAll("/", "-");
  const name = process.platform === "win32" ? slashed.replaceAll(/[:\\]/g, "-") : slashed;
  // An audience must not escape the folder.
  if (name === "" || name === "." || name === ".." || name.includes("\0"))
    throw new Fault("INVALID_ARGUMENT", `--audience cannot be ${JSON.stringify(audience)}`);
  return join(userCacheFolder(environment), "chainguard", name, alias ?? "");
};

export const tokenFile = (environment: Environment, place: string | TokenPlace, kind: TokenKind): string => join(audienceFolder(environment, place), kind);

const cacheFault = (failure: string, error: unknown): Fault =>
  new Fault("FAILED_PRECONDITION", `${failure}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });

/** Stores a token for its owner only; undefined removes it. Returns the file. */
export const storeToken = (environment: Environment, place: string | TokenPlace, kind: TokenKind, token: string | undefined): string => {
  const file = tokenFile(environment, place, kind);
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

/** Returns the token, or undefined if there is none or it cannot be read. */
export const readStoredToken = (environment: Environment, place: string | TokenPlace, kind: TokenKind): string | undefined => {
  try {
    return readFileSync(tokenFile(environment, place, kind), "utf8").trim();
  } catch {
    return undefined;
  }
};

/** Returns every access token in the cache with its file. */
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

/** Removes the tokens for this audience. Returns false if there were none. */
export const removeTokens = (environment: Environment, place: string | TokenPlace): boolean => {
  let found = false;
  for (const kind of ["oidc-token", "refresh-token"] as const) {
    try {
      rmSync(tokenFile(environment, place, kind));
      found = true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw cacheFault("the token cannot be removed", error);
    }
  }
  return found;
};
