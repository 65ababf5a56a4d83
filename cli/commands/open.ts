// `gantry open`: open a page of the server in a browser.

import type { Command } from "commander";
import { Fault } from "#base/fault.ts";
import { limits } from "#base/limits.ts";
import { type FoundContext, explainRefusal } from "#contexts";
import { openInBrowser } from "#login";
import { newCommand } from "../command.ts";
import { addServerOptions, findContext } from "../context.ts";
import { exitStatusText, wrongUsage } from "../exit-status.ts";
import type { Terminal } from "../terminal.ts";

interface Options {
  readonly server?: string;
  readonly context?: string;
  readonly operator?: boolean;
  /** False with --no-browser. */
  readonly browser: boolean;
}

const consolePath = "/console";

/**
 * Returns the path of the console. If there is an access token, its fragment has a code, valid once and for a minute, with which the page
 * asks whether to continue as the same account.
 */
const consolePage = async ({ err }: Terminal, server: string, tokenOf: (signal: AbortSignal) => string | Promise<string>): Promise<string> => {
  const { offerToConsole } = await import("#login");
  const signal = AbortSignal.timeout(limits.callsOfCommandMs);
  try {
    const code = await offerToConsole(server, await tokenOf(signal), signal);
    return code === undefined ? "/" : `${consolePath}#open=${code}`;
  } catch (thrown) {
    if (!(thrown instanceof Fault)) throw thrown;
    err.write(`The page asks you to sign in: ${thrown.message}\n`);
    return consolePath;
  }
};

/** Returns the path of the page, with a uid but never with a token. Words of a command need no request. */
const pageOf = async ({ server, credential }: FoundContext, words: readonly string[]): Promise<string> => {
  const [{ pageOfWords, pageOfResource }, { createClient }, { httpFetch }] = await Promise.all([
    import("../operations/pages.ts"),
    import("#contract-client"),
    import("../http-fetch.ts"),
  ]);
  const page = pageOfWords(words);
  if (page !== undefined) return page;
  const [resource = "", ...others] = words;
  if (others.length > 0) throw wrongUsage(`unknown command ${JSON.stringify(words.join(" "))}. Run gantry --help for a list`);
  try {
    return await pageOfResource(createClient({ server, fetch: httpFetch, token: credential.token }), resource);
  } catch (thrown) {
    throw explainRefusal(credential, thrown);
  }
};

export const openCommand = (terminal: Terminal): Command =>
  addServerOptions(
    newCommand({
      name: "open",
      usage: "[RESOURCE] [--operator] [--no-browser] [--server URL] [--context NAME]",
      description: `Open a page of the server in the browser of this machine, and print its address. Without RESOURCE, the page is the console: it
asks whether to continue with your access token, or with the operator's if you give --operator on the server's machine. RESOURCE is a resource
by its uid or its path of names, or the words of a command. The page of a resource is the operation that reads it, with its uid filled in: sign
in there to send it. The address never has a token. That of the console has a code that is valid once, for a minute.`,
      notes: `${exitStatusText}

Examples:  gantry open
           gantry open --operator
           gantry open acme/team/app
           gantry open iam groups create --no-browser`,
    })
      .argument("[RESOURCE...]")
      .option("--operator", "Continue as the operator, on the server's machine")
      .option("--no-browser", "Print the address without opening a browser"),
  ).action(async (words: readonly string[], { server: address, context, operator = false, browser }: Options) => {
    const found = findContext(terminal, { server: address, context });
    const { server, credential } = found;
    if (operator && words.length > 0) throw wrongUsage("--operator opens the console, without a RESOURCE");
    const tokenOf = operator ? async () => (await import("./token.ts")).operatorToken(terminal) : (signal: AbortSignal) => credential.token({ signal });
    const page = `${server}${words.length === 0 ? await consolePage(terminal, server, tokenOf) : await pageOf(found, words)}`;
    terminal.out.write(`${page}\n`);
    if (browser) openInBrowser(page);
  });
