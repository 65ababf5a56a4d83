// Which credential a client command uses, and whence it came: a token in the environment comes before the sign-in, and a refusal
// says so (cli: a token in the environment beats the login unseen).

import { readFileSync, statSync } from "node:fs";
import { Fault } from "#base/fault.ts";
import { type JsonObject, text, texts } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { ownAudiences } from "#base/own-audiences.ts";
import type { TokenSource } from "#contract-client";
import { exchangeToken, readStoredToken, type SessionOptions, sessionToken, tokenFile, unverifiedClaims } from "#login";
import type { Environment, StoredContext } from "./context-file.ts";

export interface Credential {
  /** A token that is good for a while, as the client asks for it: before each call, and once more where one was refused. */
  readonly token: TokenSource;
  /** Whence it came, for a refusal: "the token in GANTRY_TOKEN". */
  readonly origin: string;
  /** The environment holds it, and not a sign-in. */
  readonly isFromEnvironment: boolean;
  /** The token as it is, without asking anybody; undefined where none is held. */
  readonly held: () => string | undefined;
  /** Whether another one comes where this one has ended. */
  readonly canRenew: () => boolean;
  /** Where it lies. */
  readonly file?: string;
}

export interface CredentialOptions {
  readonly environment: Environment;
  readonly server: string;
  /** The server was named by the environment or the command line, and not by the context file. */
  readonly isServerNamed: boolean;
  /** The context of this server that is meant. */
  readonly context: { readonly name: string; readonly stored: StoredContext } | undefined;
}

/** The text of a file that holds a token. Throws where it cannot be read; `what` says which file it is. */
export const readTokenFile = (what: string, path: string): string => {
  let token: string;
  try {
    // A directory, a device or a disk image is no token.
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
 * Throws where a token of the environment was not meant for this server: it goes to the server that is named beside it, or that it
 * names itself, and to no server of a context that happens to be the current one.
 */
const checkDestination = (token: string, origin: string, { server, isServerNamed, context }: CredentialOptions): string => {
  if (isServerNamed) return token;
  const claims = unverifiedClaims(token);
  if (text(claims, "iss") === server || audiencesOf(claims).some((audience) => ownAudiences(server).includes(audience))) return token;
  const where = context === undefined ? server : `${server}, the server of the context ${context.name}`;
  throw new Fault("UNAUTHENTICATED", `${origin} is not for ${where} and was not sent there. Set GANTRY_SERVER too, or pass --server`);
};

/** A variable that is set and not empty. */
const given = (environment: Environment, name: string): string | undefined => environment[name] || undefined;

/** The token that an identity token is exchanged for, kept in this process and renewed. */
const exchanging = (server: string, identity: string | undefined, readPresented: () => string): TokenSource => {
  let source: TokenSource | undefined;
  return async (wanted) => {
    source ??= (await import("#contract-client")).exchangedToken({ server, subjectToken: readPresented, ...(identity === undefined ? {} : { identity }) });
    return source(wanted);
  };
};

const ofEnvironment = { isFromEnvironment: true, held: () => undefined, canRenew: () => false };

/** What the environment holds; undefined where it holds none. */
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

/** How the sign-in at a server is renewed: that of a context as the context says, which may be by an identity token. */
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

/** Renews the sign-in of a context, or the first one at the server, and gives the new token. Throws where it cannot be. */
export const renewSignIn = async (environment: Environment, server: string, context: CredentialOptions["context"], stop: AbortSignal): Promise<string> =>
  sessionToken(environment, server, Number.POSITIVE_INFINITY, stop, sessionOptions(server, context));

/** The sign-in that gantry login keeps, renewed when it is about to end, or when the server does not take it any more. */
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
      // What cannot be renewed is what was refused.
      return token === refused ? sessionFor(Number.POSITIVE_INFINITY, signal).catch(() => token) : token;
    },
  };
};

export const findCredential = (options: CredentialOptions): Credential => environmentCredential(options) ?? signInCredential(options);

/** Whence it came, and what it comes before: a token in the environment beats the sign-in, and nobody shall wonder. */
export const describeCredential = ({ origin, isFromEnvironment }: Credential): string =>
  `${origin}${isFromEnvironment ? ", which takes precedence over gantry login" : ""}`;

/** What a call threw, with whence the refused credential came where that is what was wrong (`name`: this module knows the client by its types). */
export const explainRefusal = (credential: Credential, thrown: unknown): unknown => {
  if (!(thrown instanceof Error) || thrown.name !== "ApiError" || !("code" in thrown) || thrown.code !== "UNAUTHENTICATED") return thrown;
  // The error stays what it is, with its details and the request's id.
  thrown.message += `. Rejected: ${describeCredential(credential)}`;
  return thrown;
};
