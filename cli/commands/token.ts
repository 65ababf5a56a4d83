// `gantry token`: create an operator's test token; with --login, print the token of the current sign-in.

import { readdir } from "node:fs/promises";
import { resolve } from "node:path";
import type { Command } from "commander";
import { mintOperatorToken, mintToken, readSettings } from "#application";
import { Fault } from "#base/fault.ts";
import { limits } from "#base/limits.ts";
import { isUid } from "#base/uid.ts";
import { withApplication } from "../application.ts";
import { newCommand } from "../command.ts";
import { exitStatusText, wrongUsage } from "../exit-status.ts";
import type { Terminal } from "../terminal.ts";

interface Options {
  readonly identity?: string;
  readonly audience?: string;
  readonly login?: boolean;
  readonly capabilities?: readonly string[];
  readonly scope?: readonly string[];
  readonly server?: string;
  readonly context?: string;
}

const withListed = (value: string, before: readonly string[] = []): readonly string[] => [...before, ...value.split(",").filter((each) => each !== "")];

/** Throws FAILED_PRECONDITION if the data directory is empty or absent: no server would accept the token. */
const requireDatabase = async ({ environment }: Terminal): Promise<void> => {
  const { databaseUrl, dataDirectory } = readSettings(environment);
  if (databaseUrl !== undefined) return;
  const entries = await readdir(dataDirectory).catch((thrown: unknown) => {
    if (thrown instanceof Error && "code" in thrown && thrown.code === "ENOENT") return [];
    throw thrown;
  });
  if (entries.length > 0) return;
  throw new Fault(
    "FAILED_PRECONDITION",
    `no server found: searched ${resolve(dataDirectory)}. Run this in the server's directory, or set GANTRY_DATA or DATABASE_URL as the server does`,
  );
};

export const operatorToken = async (terminal: Terminal, audience?: string): Promise<string> => {
  await requireDatabase(terminal);
  const { environment, log, err } = terminal;
  return mintOperatorToken({ settings: readSettings(environment), log, join: true, progress: (line) => err.write(`${line}\n`) }, audience);
};

const mint = async (terminal: Terminal, { identity, audience }: Options): Promise<string> => {
  if (identity === undefined) return operatorToken(terminal, audience);
  if (!isUid(identity)) throw new Fault("INVALID_ARGUMENT", `--identity must be a uid, not ${JSON.stringify(identity)}`);
  await requireDatabase(terminal);
  return withApplication(terminal, async ({ services, call }) => {
    await call("chainguard.platform.iam.v2.IdentitiesService/GetIdentity", { uid: identity });
    return mintToken(services, identity, audience);
  });
};

/** Returns the token that commands use, or a narrower one exchanged for it. */
const signedInToken = async (terminal: Terminal, { audience, capabilities = [], scope = [], server: named, context }: Options): Promise<string> => {
  const [{ findContext }, { describeCredential }] = await Promise.all([import("../context.ts"), import("#contexts")]);
  const { server, credential } = findContext(terminal, { server: named, context });
  const signal = AbortSignal.timeout(limits.callsOfCommandMs);
  const token = await credential.token({ signal });
  if (credential.isFromEnvironment) terminal.err.write(`Using ${describeCredential(credential)}.\n`);
  if (audience === undefined && capabilities.length === 0 && scope.length === 0) return token;
  const { exchangeToken } = await import("#login");
  return exchangeToken(server, { token, audience: audience === undefined ? [] : [audience], capabilities, scopes: scope }, signal).catch((thrown: unknown) => {
    if (!(thrown instanceof Fault) || thrown.code !== "UNAUTHENTICATED") throw thrown;
    throw new Fault(thrown.code, `${thrown.message}. Rejected: ${describeCredential(credential)}`, { cause: thrown });
  });
};

const ofLogin = ["capabilities", "scope", "server", "context"] as const;

export const tokenCommand = (terminal: Terminal): Command =>
  newCommand({
    name: "token",
    usage: "[--identity UID] [--audience AUDIENCE] [--login] [--capabilities LIST] [--scope LIST] [--server URL] [--context NAME]",
    description: `Print an access token that is valid for one hour. By default it is a token of the operator, who has all permissions. Run
the command on the server's machine or with its database. The server can be running or stopped.

With --login, print the token of your sign-in with gantry login, at any server. --capabilities, --scope and --audience
exchange it for a token that is restricted to them. Such a token expires with the original one.`,
    notes: `${exitStatusText.replace("status", "status with --login")}

Examples:  curl -H "Authorization: Bearer $(gantry token)" http://127.0.0.1:8080/iam/v2/groups
           gantry token --login --capabilities repo.list,tag.list --scope UID`,
  })
    .option("--identity <UID>", "Identity of the token (default: the operator)")
    .option("--audience <AUDIENCE>", "Audience of the token (default: the server)")
    .option("--login", "Print the token of your sign-in, not the operator's")
    .option("--capabilities <LIST>", "With --login: only these capabilities, separated by commas", withListed)
    .option("--scope <LIST>", "With --login: only these groups, as uids separated by commas", withListed)
    .option("--server <URL>", "With --login: server address (default: GANTRY_SERVER, or the current context's)")
    .option("--context <NAME>", "With --login: context to use (default: GANTRY_CONTEXT, or the current context)")
    .action(async (options: Options) => {
      const stray = options.login ? undefined : ofLogin.find((name) => options[name] !== undefined);
      if (stray !== undefined) throw wrongUsage(`--${stray} requires --login`);
      if (options.login && options.identity !== undefined) throw wrongUsage("--login and --identity cannot be used together");
      terminal.out.write(`${await (options.login ? signedInToken : mint)(terminal, options)}\n`);
    });
