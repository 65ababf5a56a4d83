// The protocol of docker-credential-gantry. It returns a token of the `gantry login` sign-in, renewed before it expires, so that
// clients store no token.
//
// The action is the argument, the input is on standard input (oci.md: 5). Errors are a line on standard output; clients compare
// the exact words of two of them.

import { Fault } from "#base/fault.ts";
import { isObject, type Json, type JsonObject, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { printable } from "./issuer-client.ts";
import { tokenUser } from "./registry-files.ts";
import { listSessionIssuers, sessionToken } from "./session.ts";
import { removeTokens } from "./token-cache.ts";

type Environment = Readonly<Record<string, string | undefined>>;

export interface CredentialRequest {
  /** get, store, erase or list. */
  readonly action: string;
  readonly input: string;
  readonly environment: Environment;
}

export interface CredentialAnswer {
  readonly status: 0 | 1;
  readonly out: string;
  /** For the user, if the client shows it. */
  readonly err: string;
}

const notFound = "credentials not found in native keychain";
const noServer = "no credentials server URL";
const noUser = "no credentials username";

const done = (out = ""): CredentialAnswer => ({ status: 0, out, err: "" });
const refused = (out: string, err = ""): CredentialAnswer => ({ status: 1, out: `${out}\n`, err: err === "" ? "" : `docker-credential-gantry: ${err}\n` });

/** Returns host and port of "gantry.example.com" or "https://gantry.example.com/v2/". */
const hostOf = (server: string): string => URL.parse(`https://${server.trim().replace(/^https?:\/\//i, "")}`)?.host ?? "";

/** Returns the issuer of a sign-in at this host; https if there are both. */
const issuerAt = (environment: Environment, server: string): string | undefined => {
  const host = hostOf(server);
  const issuers = listSessionIssuers(environment).filter((issuer) => new URL(issuer).host === host);
  return issuers.find((issuer) => issuer.startsWith("https:")) ?? issuers[0];
};

const getCredentials = async ({ input, environment }: CredentialRequest): Promise<CredentialAnswer> => {
  const server = input.trim();
  if (server === "") return refused(noServer);
  const issuer = issuerAt(environment, server);
  if (issuer === undefined) return refused(notFound);
  try {
    const secret = await sessionToken(environment, issuer, limits.registryTokenLeftMs, AbortSignal.timeout(limits.credentialHelperMs));
    return done(`${JSON.stringify({ ServerURL: server, Username: tokenUser, Secret: secret })}\n`);
  } catch (thrown) {
    // Any other message would also fail anonymous pulls.
    return refused(notFound, thrown instanceof Fault ? thrown.message : String(thrown));
  }
};

const readCredentials = (input: string): JsonObject | undefined => {
  try {
    const value = JSON.parse(input) as Json;
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
};

/** `docker login` stores the result of `get`, which needs no action. Passwords are refused. */
const storeCredentials = ({ input }: CredentialRequest): CredentialAnswer => {
  const given = readCredentials(input);
  if (given === undefined) return refused("the credentials must be JSON");
  if (text(given, "ServerURL") === "") return refused(noServer);
  if (text(given, "Username") === "") return refused(noUser);
  if (text(given, "Username") === tokenUser) return done();
  const host = printable(hostOf(text(given, "ServerURL")));
  return refused(`docker-credential-gantry does not store passwords. Sign in with gantry login, or remove ${host} from credHelpers to use a password`);
};

const eraseSession = ({ input, environment }: CredentialRequest): CredentialAnswer => {
  if (input.trim() === "") return refused(noServer);
  const issuer = issuerAt(environment, input);
  if (issuer === undefined) return refused(notFound);
  removeTokens(environment, issuer);
  return done();
};

const listSessions = ({ environment }: CredentialRequest): CredentialAnswer =>
  done(`${JSON.stringify(Object.fromEntries(listSessionIssuers(environment).map((issuer) => [new URL(issuer).host, tokenUser])))}\n`);

export const answerCredentialRequest = async (request: CredentialRequest): Promise<CredentialAnswer> => {
  switch (request.action) {
    case "get":
      return getCredentials(request);
    case "store":
      return storeCredentials(request);
    case "erase":
      return eraseSession(request);
    case "list":
      return listSessions(request);
    default:
      return refused(`docker-credential-gantry: unknown action: ${printable(request.action)}`);
  }
};
