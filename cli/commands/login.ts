// `gantry login`: sign in a user, or an identity with a token of an external issuer.

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
  /** False with --no-browser. */
  readonly browser?: boolean;
  readonly headless?: boolean;
  readonly identity?: string;
  readonly identityToken?: string;
  readonly refresh?: boolean;
  readonly docker?: boolean;
  readonly dockerHelper?: boolean;
  readonly input: boolean;
}

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
  // The helper renews with a refresh token, which identities lack.
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
  // --no-browser is false and combines with every option.
  const isGiven = (name: keyof Options): boolean => options[name] !== undefined && options[name] !== false;
  for (const [one = "server", other = "server"] of exclusive)
    if (isGiven(one) && isGiven(other)) throw wrongUsage(`${flagOf(one)} and ${flagOf(other)} cannot be used together`);
  if (options.audience !== undefined && (options.docker || options.dockerHelper))
    throw wrongUsage("--audience cannot be used with --docker or --docker-helper: the registry requires the server as audience");
  if (options.identityToken !== undefined && options.identity === undefined) throw wrongUsage("--identity-token requires --identity");
  if (options.identity !== undefined && !isUid(options.identity))
    throw wrongUsage(`--identity must be the uid of an identity, not ${JSON.stringify(options.identity)}`);
  if (options.context !== undefined) checkContextName(options.context);
};

/** The server to sign in at, and the context in which to save the sign-in. */
interface Target {
  readonly server: string;
  /** The context to create or update. */
  readonly name: string;
  readonly stored: StoredContext | undefined;
  readonly alias: string | undefined;
}

/** Returns an unused context name for the server: its host, with a number if needed. */
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
      `the context ${named} is for ${mentioned.server}. Pass another --context, or run gantry context set ${named} --server ${server} first`,
    );
  const isSame = (name: string): boolean => contexts.get(name)?.server === server && contexts.get(name)?.identity === identity;
  const name = named ?? [...(current === undefined ? [] : [current]), ...contexts.keys()].find(isSame) ?? newName(contexts, server);
  const stored = contexts.get(name);
  if (stored !== undefined) return { server, name, stored, alias: stored.alias };
  // The first sign-in at a server is stored where the platform's other clients look; further ones get an alias.
  const isFirst = [...contexts.values()].every((each) => each.server !== server || each.alias !== undefined);
  return { server, name, stored, alias: isFirst ? undefined : name };
};

/** Returns the identity token, and its file if it comes from one and can be exchanged again. */
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
  if (value === undefined) throw wrongUsage("--identity requires --identity-token: a token of the identity's issuer, @FILE, or - for standard input");
  if (value !== "-") return { token: value };
  if (process.stdin.isTTY) throw declined("--identity-token - requires a token on standard input, which is a terminal");
  return { token: (await readStream(process.stdin)).trim().slice(0, limits.identityTokenBytesMax) };
};

const lineOf = ({ name, host, uid }: OfferedProvider): string => `${name} at ${host} (${uid})`;

/** Returns a function that prompts for a provider; without a terminal it throws with the choices. */
const chooserOf =
  (terminal: Terminal, { input }: Options) =>
  async (offered: readonly OfferedProvider[], stop: AbortSignal): Promise<string> => {
    if (!canAsk(terminal, input))
      throw declined(`several identity providers are available. Choose one with --idp:\n${offered.map((each) => `  ${lineOf(each)}`).join("\n")}`);
    return offered[await askChoice(terminal, "Sign in with:", offered.map(lineOf), stop)]?.uid ?? "";
  };

/** Saves the sign-in as the current context. If the file cannot be written, the sign-in still succeeds. */
const saveContext = async ({ environment, out, err }: Terminal, target: Target, context: Partial<StoredContext>): Promise<void> => {
  const { name, server, alias, stored } = target;
  try {
    let before: string | undefined;
    await changeContexts(environment, ({ current, contexts }) => {
      before = current;
      return { current: name, contexts: new Map(contexts).set(name, { ...stored, ...context, server, alias }) };
    });
    const since = before === undefined || before === name ? "" : ` (previous: ${before}; to go back: gantry context use ${before})`;
    out.write(`Current context: ${name}${since}\n`);
  } catch (thrown) {
    if (!(thrown instanceof Fault)) throw thrown;
    err.write(`No context was saved: ${thrown.message}\nPass --server or set GANTRY_SERVER with other commands.\n`);
  }
};

const refresh = async (terminal: Terminal, { server: flag, issuer, context }: Options): Promise<void> => {
  const { environment, out } = terminal;
  const { server, name, stored } = findContext(terminal, { server: flag ?? issuer, context });
  const own = name === undefined || stored === undefined ? undefined : { name, stored };
  const token = await renewSignIn(environment, server, own, AbortSignal.timeout(limits.callsOfCommandMs));
  const { tokenEndMs } = await import("#login");
  out.write(`Renewed the sign-in at ${server}, valid until ${new Date(tokenEndMs(token)).toISOString()}\n`);
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
      `docker-credential-gantry uses only the first sign-in at ${target.server}, and the context ${target.name} is another one`,
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
  // Commands cannot use a token for another audience.
  if (audience !== undefined && audience !== target.server) return;
  const [only, ...others] = signedIn.organizations;
  const organization = target.stored?.organization ?? options.orgName ?? (identity === undefined ? (others.length === 0 ? only : undefined) : rootOf(identity));
  await saveContext(terminal, target, { organization, identity, identityTokenFile: presented?.file });
};

export const loginCommand = (terminal: Terminal): Command =>
  newCommand({
    name: "login",
    usage: [
      "[--server URL] [--context NAME] [--idp ID | --org-name NAME] [--invite-code CODE] [--audience AUDIENCE] [--browser | --no-browser | --headless]",
      "[--identity UID] [--identity-token TOKEN] [--refresh] [--docker | --docker-helper] [--no-input]",
    ].join(" "),
    description: `Sign in to a server from any machine. The command prints an address and a code: open the address in any browser, on this
machine or another, and confirm the code. If several identity providers are available, it asks for one. It stores the token
where the platform's clients find it, such as the Go SDK and the Terraform provider. The server becomes the current context
(gantry help context).

With --identity, sign in as an identity of an organization, for example in a CI job, in exchange for a token of its issuer. A
token in a file (--identity-token @FILE) is read and exchanged again each time the sign-in expires.

With --docker, also sign in docker, podman, skopeo, crane, oras, helm and cosign: the token, valid for an hour, is added to
docker's config.json and podman's auth.json. Nothing else in these files changes. With --docker-helper, they refer to
docker-credential-gantry instead, which must be on the PATH and provides a fresh token each time.`,
    notes: `${exitStatusText}

Examples:  gantry login --server https://gantry.example.com
           gantry login --server https://gantry.example.com --org-name example.org --browser
           gantry login --server https://gantry.example.com --docker && docker pull gantry.example.com/acme/app
           gantry login --server https://gantry.example.com --docker-helper
           gantry login --server https://gantry.example.com --identity UID --identity-token @/var/run/secrets/gantry/token
           gantry login --refresh`,
  })
    .option("--server <URL>", "Server address (default: GANTRY_SERVER, the current context's, GANTRY_PUBLIC_URL, or the local server)")
    .option("--context <NAME>", "Context to create or update (default: an existing one of the server, or the server's name)")
    .option("--idp <ID>", "Identity provider: its uid, or the name of a verified organization")
    .option("--org-name <NAME>", "Verified organization with the identity provider")
    .option("--invite-code <CODE>", "Invite code; the browser asks you to accept the invite. Implies --headless unless you pass --browser")
    .option("--audience <NAME>", "Audience of the token (default: the server)")
    .option("--browser", "Open the browser of this machine, which returns the token")
    .option("--no-browser", "Print the address without opening a browser (default)")
    .option("--headless", "Print only an address; the token returns encrypted for this terminal")
    .option("--identity <UID>", "Identity to sign in as")
    .option(
      "--identity-token <TOKEN>",
      "Token of the identity's issuer, @FILE, or - for standard input\n(default: GANTRY_IDENTITY_TOKEN, or the file GANTRY_IDENTITY_TOKEN_FILE)",
    )
    .option("--refresh", "Renew the current sign-in without prompting")
    .option("--docker", "Also sign in docker, podman and similar tools: write the token to their files")
    .option("--docker-helper", "Also sign them in, through docker-credential-gantry instead of a token in their files")
    .option("--no-input", "Never prompt")
    // The earlier name of --server.
    .addOption(new Option("--issuer <URL>").hideHelp())
    .action((options: Options) => runLogin(terminal, options));
