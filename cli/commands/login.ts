// `gantry login`: signs a person in at any server, or an identity with a token of somebody else's.

import { text as readStream } from "node:stream/consumers";
import { type Command, Option } from "commander";
import { readPublicUrl } from "#application";
import { changeContexts, checkContextName, type ContextList, readContexts, readServer, readTokenFile, renewSignIn, type StoredContext } from "#contexts";
import { Fault } from "#base/fault.ts";
import { limits } from "#base/limits.ts";
import { isUid, rootOf } from "#base/uid.ts";
import type { OfferedProvider, SignInMethod } from "#login";
import { resolve } from "node:path";
import { newCommand } from "../command.ts";
import { findContext } from "../context.ts";
import { declined, exitStatusText, wrongUsage } from "../exit-status.ts";
import { askChoice, canAsk } from "../prompt.ts";
import type { Terminal } from "../terminal.ts";

interface Options {
  readonly server?: string;
  readonly issuer?: string;
  readonly context?: string;
  readonly idp?: string;
  readonly orgName?: string;
  readonly inviteCode?: string;
  readonly audience?: string;
  readonly browser?: boolean;
  readonly headless?: boolean;
  readonly identity?: string;
  readonly identityToken?: string;
  readonly refresh?: boolean;
  readonly docker?: boolean;
  readonly dockerHelper?: boolean;
  readonly input: boolean;
}

/** Pairs of options that mean different things. */
const exclusive: readonly (readonly (keyof Options)[])[] = [
  ["browser", "headless"],
  ["docker", "dockerHelper"],
  ["idp", "orgName"],
  ["server", "issuer"],
  ["identity", "idp"],
  ["identity", "orgName"],
  ["identity", "browser"],
  ["identity", "headless"],
  ["identity", "inviteCode"],
  // The helper renews with a refresh token, which an identity has none of.
  ["identity", "dockerHelper"],
  ["refresh", "identity"],
  ["refresh", "browser"],
  ["refresh", "headless"],
  ["refresh", "idp"],
  ["refresh", "orgName"],
  ["refresh", "inviteCode"],
  ["refresh", "docker"],
  ["refresh", "dockerHelper"],
];

const flagOf = (name: string): string => `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

const checkOptions = (options: Options): void => {
  for (const [one = "server", other = "server"] of exclusive)
    if (options[one] !== undefined && options[other] !== undefined) throw wrongUsage(`choose one of ${flagOf(one)} and ${flagOf(other)}`);
  if (options.audience !== undefined && (options.docker || options.dockerHelper))
    throw wrongUsage("the registry takes tokens for the server itself: leave --audience out");
  if (options.identityToken !== undefined && options.identity === undefined) throw wrongUsage("--identity-token needs --identity: whom the token acts as");
  if (options.identity !== undefined && !isUid(options.identity))
    throw wrongUsage(`--identity must be the uid of an identity, not ${JSON.stringify(options.identity)}`);
  if (options.context !== undefined) checkContextName(options.context);
};

/** Where a sign-in goes and under which name it is remembered. */
interface Target {
  readonly server: string;
  /** The context that is made or updated. */
  readonly name: string;
  readonly stored: StoredContext | undefined;
  readonly alias: string | undefined;
}

/** A name for a context of this server that no other has: "gantry.example.com", or with the number of a further one. */
const newName = (contexts: ContextList["contexts"], server: string): string => {
  const { host } = new URL(server);
  const base =
    host
      .replaceAll(/[^A-Za-z0-9.-]+/g, "-")
      .replace(/^[^A-Za-z0-9]+/, "")
      .slice(0, 50) || "server";
  for (let number = 1; ; number++) {
    const name = number === 1 ? base : `${base}-${number}`;
    if (!contexts.has(name)) return name;
  }
};

const findTarget = (environment: Terminal["environment"], { server: flag, issuer, context, identity }: Options): Target => {
  const { current, contexts } = readContexts(environment);
  const named = context ?? (environment.GANTRY_CONTEXT || undefined);
  const mentioned = named === undefined ? undefined : contexts.get(checkContextName(named));
  const given = flag ?? issuer;
  const otherwise = (): string => environment.GANTRY_SERVER || (current && contexts.get(current)?.server) || readPublicUrl(environment);
  const server = given === undefined ? (mentioned?.server ?? readServer("GANTRY_SERVER", otherwise())) : readServer("--server", given);
  if (mentioned !== undefined && mentioned.server !== server)
    throw new Fault(
      "FAILED_PRECONDITION",
      `the context ${named} is for ${mentioned.server}; sign in under another name with --context, or gantry context set ${named} --server ${server} first`,
    );
  const isSame = (name: string): boolean => contexts.get(name)?.server === server && contexts.get(name)?.identity === identity;
  const name = named ?? [...(current === undefined ? [] : [current]), ...contexts.keys()].find(isSame) ?? newName(contexts, server);
  const stored = contexts.get(name);
  if (stored !== undefined) return { server, name, stored, alias: stored.alias };
  // The first sign-in at a server is the one that the platform's other clients find; a further one lies beside it.
  const isFirst = [...contexts.values()].every((each) => each.server !== server || each.alias !== undefined);
  return { server, name, stored, alias: isFirst ? undefined : name };
};

/** The identity token, and its file where it lies in one: then it can be exchanged again. */
const readIdentityToken = async (
  environment: Terminal["environment"],
  value: string | undefined,
): Promise<{ readonly token: string; readonly file?: string }> => {
  const { GANTRY_IDENTITY_TOKEN: token, GANTRY_IDENTITY_TOKEN_FILE: file } = environment;
  if (value === undefined && token) return { token: token.trim() };
  const named = value === undefined ? file : value.startsWith("@") ? value.slice(1) : undefined;
  if (named) {
    const path = resolve(named);
    return { token: readTokenFile(value === undefined ? "GANTRY_IDENTITY_TOKEN_FILE" : "--identity-token", path), file: path };
  }
  if (value === undefined) throw wrongUsage("--identity needs --identity-token: a token of the identity's issuer, @FILE with it, or - for standard input");
  if (value !== "-") return { token: value };
  if (process.stdin.isTTY) throw declined("--identity-token - reads a token from standard input, and nothing is there to read");
  return { token: (await readStream(process.stdin)).trim().slice(0, limits.identityTokenBytesMax) };
};

const lineOf = ({ name, host, uid }: OfferedProvider): string => `${name} at ${host} (${uid})`;

/** Asks the person at the terminal; without one, says what there is. */
const chooserOf =
  (terminal: Terminal, { input }: Options) =>
  async (offered: readonly OfferedProvider[], stop: AbortSignal): Promise<string> => {
    if (!canAsk(terminal, input))
      throw declined(`there are several identity providers to sign in with; name one with --idp:\n${offered.map((each) => `  ${lineOf(each)}`).join("\n")}`);
    return offered[await askChoice(terminal, "Sign in with:", offered.map(lineOf), stop)]?.uid ?? "";
  };

/** Remembers the sign-in under its name, and makes that the current one. Without a place to write it, the sign-in stands all the same. */
const saveContext = async ({ environment, out, err }: Terminal, target: Target, context: Partial<StoredContext>): Promise<void> => {
  const { name, server, alias, stored } = target;
  try {
    let before: string | undefined;
    await changeContexts(environment, ({ current, contexts }) => {
      before = current;
      return { current: name, contexts: new Map(contexts).set(name, { ...stored, ...context, server, alias }) };
    });
    const since = before === undefined || before === name ? "" : ` (before: ${before}; gantry context use ${before} goes back)`;
    out.write(`Commands mean it from now on, as the context ${name}${since}\n`);
  } catch (thrown) {
    if (!(thrown instanceof Fault)) throw thrown;
    err.write(`No context remembers it: ${thrown.message}\nName the server with --server or GANTRY_SERVER.\n`);
  }
};

const refresh = async (terminal: Terminal, { server: flag, issuer, context }: Options): Promise<void> => {
  const { environment, out } = terminal;
  const { server, name, stored } = findContext(terminal, { server: flag ?? issuer, context });
  const own = name === undefined || stored === undefined ? undefined : { name, stored };
  const token = await renewSignIn(environment, server, own, AbortSignal.timeout(limits.callsOfCommandMs));
  const { tokenEndMs } = await import("#login");
  out.write(`The sign-in at ${server} is renewed, good until ${new Date(tokenEndMs(token)).toISOString()}\n`);
};

const runLogin = async (terminal: Terminal, options: Options): Promise<void> => {
  checkOptions(options);
  if (options.refresh) return refresh(terminal, options);
  const { environment, out, err } = terminal;
  const { audience, docker, dockerHelper, browser, headless, identity, inviteCode } = options;
  const target = findTarget(environment, options);
  if (dockerHelper && target.alias !== undefined)
    throw new Fault(
      "FAILED_PRECONDITION",
      `docker-credential-gantry knows the first sign-in at ${target.server} alone, and the context ${target.name} is a further one`,
    );
  const presented = identity === undefined ? undefined : await readIdentityToken(environment, options.identityToken);
  const method: SignInMethod =
    presented === undefined
      ? {
          // The device flow has no parameter for an invite.
          by: browser ? "browser" : headless || inviteCode !== undefined ? "headless" : "device",
          idp: options.idp ?? options.orgName,
          invite: inviteCode,
          choose: chooserOf(terminal, options),
        }
      : { by: "exchange", identity, token: presented.token };
  const { signIn } = await import("#login");
  const registry = docker ? "token" : dockerHelper ? "helper" : undefined;
  const signedIn = await signIn({ issuer: target.server, audience, method, registry, alias: target.alias, environment, out, err });
  if (signedIn === undefined) {
    terminal.status = 130;
    return;
  }
  // A token for somebody else is none that commands could use.
  if (audience !== undefined && audience !== target.server) return;
  const [only, ...others] = signedIn.organizations;
  const organization = target.stored?.organization ?? options.orgName ?? (identity === undefined ? (others.length === 0 ? only : undefined) : rootOf(identity));
  await saveContext(terminal, target, { organization, identity, identityTokenFile: presented?.file });
};

export const loginCommand = (terminal: Terminal): Command =>
  newCommand({
    name: "login",
    usage: [
      "[--server URL] [--context NAME] [--idp ID | --org-name NAME] [--invite-code CODE] [--audience AUDIENCE] [--browser | --headless]",
      "[--identity UID] [--identity-token TOKEN] [--refresh] [--docker | --docker-helper] [--no-input]",
    ].join(" "),
    description: `Signs you in and keeps the token where the platform's clients look for it: its Go SDK and Terraform provider find
it by themselves. It prints an address and a code; open the address in any browser, on this machine or another,
and confirm the code there. Needs nothing of the server's machine. Where several identity providers are to choose from, it asks.
The server is remembered as a context (gantry help context), and commands mean it from then on.

With --identity it acts as an identity of an organization, in exchange for a token of that identity's issuer: in a CI job, for
example. A token that lies in a file (--identity-token @FILE) is read and exchanged again whenever the one that it gave ends.

With --docker, docker, podman, skopeo, crane, oras, helm and cosign push and pull at that server in your name: the token,
which is good for an hour, is written into docker's config.json and podman's auth.json, and nothing else there is changed.
With --docker-helper these files name docker-credential-gantry instead, which must be on the PATH: it gives them a fresh
token of this sign-in each time, and no token lies there.`,
    notes: `${exitStatusText}

Examples:  gantry login --server https://gantry.example.com
           gantry login --server https://gantry.example.com --org-name example.org --browser
           gantry login --server https://gantry.example.com --docker && docker pull gantry.example.com/acme/app
           gantry login --server https://gantry.example.com --docker-helper
           gantry login --server https://gantry.example.com --identity UID --identity-token @/var/run/secrets/gantry/token
           gantry login --refresh`,
  })
    .option("--server <URL>", "the server's address (GANTRY_SERVER, the current context's, GANTRY_PUBLIC_URL, or this machine's own server)")
    .option("--context <NAME>", "the name under which the server is remembered (one of this server's, or the server's own name)")
    .option("--idp <ID>", "the identity provider to sign in with: its uid, or the name of a verified organization")
    .option("--org-name <NAME>", "the verified organization whose identity provider you sign in with")
    .option("--invite-code <CODE>", "the code of an invite; the browser asks whether you accept it. Implies --headless unless you pass --browser")
    .option("--audience <NAME>", "what the token is for (the server itself)")
    .option("--browser", "opens the browser of this machine, which brings the token back by itself")
    .option("--headless", "prints an address only; the token comes back encrypted for this terminal")
    .option("--identity <UID>", "the identity to act as")
    .option(
      "--identity-token <TOKEN>",
      "a token of the identity's issuer, @FILE with it, or - for standard input\n(GANTRY_IDENTITY_TOKEN, or the file of GANTRY_IDENTITY_TOKEN_FILE)",
    )
    .option("--refresh", "renews the sign-in that is there, and asks nobody")
    .option("--docker", "signs docker, podman and their like in: writes the token into their files")
    .option("--docker-helper", "the same without a token in their files: they ask docker-credential-gantry")
    .option("--no-input", "asks nothing at the terminal")
    // What --server was called.
    .addOption(new Option("--issuer <URL>").hideHelp())
    .action((options: Options) => runLogin(terminal, options));
