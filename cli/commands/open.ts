// `gantry open`: open a page of the server in a browser.

import type { Command } from "commander";
import { type FoundContext, explainRefusal } from "#contexts";
import { openInBrowser } from "#login";
import { newCommand } from "../command.ts";
import { addServerOptions, findContext } from "../context.ts";
import { exitStatusText, wrongUsage } from "../exit-status.ts";
import type { Terminal } from "../terminal.ts";

interface Options {
  readonly server?: string;
  readonly context?: string;
  /** False with --no-browser. */
  readonly browser: boolean;
}

/** Returns the path of the page, with a uid but never with a token. Words of a command need no request. */
const pageOf = async ({ server, credential }: FoundContext, words: readonly string[]): Promise<string> => {
  if (words.length === 0) return "/";
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
      usage: "[RESOURCE] [--no-browser] [--server URL] [--context NAME]",
      description: `Open a page of the server in the browser of this machine, and print its address. Without RESOURCE, the page is the server's home.
RESOURCE is a resource by its uid or its path of names, or the words of a command. The page of a resource is the operation that reads it, with
its uid filled in: sign in there to send it. The address never has a token.`,
      notes: `${exitStatusText}

Examples:  gantry open
           gantry open acme/team/app
           gantry open iam groups create --no-browser`,
    })
      .argument("[RESOURCE...]")
      .option("--no-browser", "Print the address without opening a browser"),
  ).action(async (words: readonly string[], { server: address, context, browser }: Options) => {
    const found = findContext(terminal, { server: address, context });
    const page = `${found.server}${await pageOf(found, words)}`;
    terminal.out.write(`${page}\n`);
    if (browser) openInBrowser(page);
  });
