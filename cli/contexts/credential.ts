// The credential of a client command and its source: a token in the environment takes precedence over the sign-in, and errors say
// so.

import { readFileSync, statSync } from "node:fs";
import { Fault } from "#base/fault.ts";
import { type JsonObject, text, texts } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { ownAudiences } from "#base/own-audiences.ts";
import type { TokenSource } from "#contract-client";
import { exchangeToken, readStoredToken, type SessionOptions, sessionToken, tokenFile, unverifiedClaims } from "#login";
import type { Environment, StoredContext } from "./context-file.ts";

export interface Credential {
  /** Returns a valid token, before each call and again after a rejection. */
  readonly token: TokenSource;
  /** Source for error messages: "the token in GANTRY_TOKEN". */
  readonly origin: string;
  /** True if it comes from the environment instead of a sign-in. */
  readonly isFromEnvironment: boolean;
  /** Returns the stored token without a request, or undefined. */
  readonly held: () => string | undefined;
  /** Returns whether it can be renewed after it expires. */
  readonly canRenew: () => boolean;
  readonly file?: string;
}

export interface CredentialOptions {
  readonly environment: Environment;
  readonly server: string;
  /** True if the environment or the command line named the server, not the context file. */
  readonly isServerNamed: boolean;
  /** The selected context, if it is of this server. */
  readonly context: { readonly name: string; readonly stored: StoredContext } | undefined;
}

/** Returns the token in a file. Throws if it cannot be read; `what` describes the file. */
export const readTokenFile = (what: string, path: string): string => {
  let token: string;
  try {
    // Excludes directories, devices and large files.
    if (!statSync(path).isFile() || statSync(path).size > limits.identityTokenBytesMax) throw new Error("it is not a regular file, or too large for a token");
    token = readFileSync(path, "utf8").trim();
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new Fault("FAILED_PRECONDITION", `${what} must name a readable file: ${JSON.stringify(path)} (${why})`, { cause });
  }
  if (token === "") throw new Fault("FAILED_PRECONDITION", `${what} must name a non-empty file: ${JSON.stringify(path)}`);
  return token;
};

const audiencesOf = (claims: JsonObject): readonly string[] => (text(claims, "aud") === "" ? texts(claims, "aud") : [text(claims, "aud")]);

/**
 * Throws if a token of the environment was not meant for this server. It may go to a server named explicitly or by the token
 * itself, never to that of whichever context is current.
 */
const checkDestination = (token: string, origin: string, { server, isServerNamed, context }: CredentialOptions): string => {
  if (isServerNamed) return token;
  const claims = unverifiedClaims(token);
  if (text(claims, "iss") === server || audiencesOf(claims).some((audience) => ownAudiences(server).includes(audience))) return token;
  const where = context === undefined ? server : `${server}, the server of the context ${context.name}`;
  throw new Fault("UNAUTHENTICATED", `${origin} is not for ${where} and was not sent there. Set GANTRY_SERVER too, or pass --server`);
};

const given = (environment: Environment, name: string): string | undefined => environment[name] || undefined;

/** Exchanges an identity token and renews the result, in memory. */
const exchanging = (server: string, identity: string | undefined, readPresented: () => string): TokenSource => {
  let source: TokenSource | undefined;
  return async (wanted) => {
    source ??= (await import("#contract-client")).exchangedToken({ server, subjectToken: readPresented, ...(identity === undefined ? {} : { identity }) });
    return source(wanted);
  };
};

const ofEnvironment = { isFromEnvironment: true, held: () => undefined, canRenew: () => false };

const environmentCredential = (options: CredentialOptions): Credential | undefined => {
  const { environment, server } = options;
  const [token, file] = [given(environment, "GANTRY_TOKEN"), given(environment, "GANTRY_TOKEN_FILE")];
  if (token !== undefined) {
    const origin = "the token in GANTRY_TOKEN";
    const read = (): string => checkDestination(token.trim(), origin, options);
    return { ...ofEnvironment, origin, token: read, held: read };
  }
  if (file !== undefined) {
    const origin = "the token in the file GANTRY_TOKEN_FILE";
    const read = (): string => checkDestination(readTokenFile("GANTRY_TOKEN_FILE", file), origin, options);
    return { ...ofEnvironment, origin, token: read, held: read, file };
  }
  const identity = given(environment, "GANTRY_IDENTITY");
  const [presented, presentedFile] = [given(environment, "GANTRY_IDENTITY_TOKEN"), given(environment, "GANTRY_IDENTITY_TOKEN_FILE")];
  if (presented === undefined && presentedFile === undefined) return undefined;
  const name = presented === undefined ? "GANTRY_IDENTITY_TOKEN_FILE" : "GANTRY_IDENTITY_TOKEN";
  const origin = `the identity token in ${name}${identity === undefined ? "" : ` for the identity ${identity}`}`;
  const read = (): string => presented?.trim() ?? readTokenFile(name, presentedFile ?? "");
  return { ...ofEnvironment, origin, token: exchanging(server, identity, () => checkDestination(read(), origin, options)) };
};

const sessionOptions = (server: string, context: CredentialOptions["context"]): SessionOptions => {
  const { alias, identity, identityTokenFile } = context?.stored ?? {};
  const remedy = context === undefined ? `gantry login --server ${server}` : `gantry login --context ${context.name}`;
  if (identityTokenFile === undefined) return { alias, remedy };
  const read = (): string => readTokenFile(`the context ${context?.name}`, identityTokenFile);
  const renew = async (stop: AbortSignal): Promise<string> =>
    exchangeToken(server, { token: read(), identity }, stop).catch((thrown: unknown) => {
      if (!(thrown instanceof Fault)) throw thrown;
      throw new Fault(thrown.code, `the identity token in ${identityTokenFile} cannot be exchanged: ${thrown.message}`, { cause: thrown });
    });
  return { alias, remedy, renew };
};

/** Renews the sign-in of a context, or the default one of the server, and returns the new token. Throws if that fails. */
export const renewSignIn = async (environment: Environment, server: string, context: CredentialOptions["context"], stop: AbortSignal): Promise<string> =>
  sessionToken(environment, server, Number.POSITIVE_INFINITY, stop, sessionOptions(server, context));

/** The stored sign-in, renewed before it expires or after the server rejects it. */
const signInCredential = ({ environment, server, context }: CredentialOptions): Credential => {
  const options = sessionOptions(server, context);
  const place = { audience: server, alias: options.alias };
  const sessionFor = (leftMs: number, signal: AbortSignal): Promise<string> => sessionToken(environment, server, leftMs, signal, options);
  return {
    origin: `the sign-in of gantry login at ${server}${context === undefined ? "" : ` (context ${context.name})`}`,
    isFromEnvironment: false,
    held: () => readStoredToken(environment, place, "oidc-token"),
    canRenew: () => options.renew !== undefined || readStoredToken(environment, place, "refresh-token") !== undefined,
    file: tokenFile(environment, place, "oidc-token"),
    token: async ({ signal, refused }) => {
      const token = await sessionFor(limits.sessionTokenLeftMs, signal);
      // If it cannot be renewed, the rejected token stays.
      return token === refused ? sessionFor(Number.POSITIVE_INFINITY, signal).catch(() => token) : token;
    },
  };
};

export const findCredential = (options: CredentialOptions): Credential => environmentCredential(options) ?? signInCredential(options);

/** Returns the source of the credential and what it takes precedence over. */
export const describeCredential = ({ origin, isFromEnvironment }: Credential): string =>
  `${origin}${isFromEnvironment ? ", which takes precedence over gantry login" : ""}`;

/** Adds the credential's source to an UNAUTHENTICATED error. Checks `name`, because this module imports only types of the client. */
export const explainRefusal = (credential: Credential, thrown: unknown): unknown => {
  if (!(thrown instanceof Error) || thrown.name !== "ApiError" || !("code" in thrown) || thrown.code !== "UNAUTHENTICATED") return thrown;
  // Keeps the error with its details and request ID.
  thrown.message += `. Rejected: ${describeCredential(credential)}`;
  return thrown;
};
