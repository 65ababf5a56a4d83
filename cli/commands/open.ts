// `gantry open`: open the server's pages in a browser.

import type { Command } from "commander";
import { newCommand } from "../command.ts";
import { addServerOptions, findContext } from "../context.ts";
import { openInBrowser } from "#login";
import type { Terminal } from "../terminal.ts";

interface Options {
  readonly server?: string;
  readonly context?: string;
  /** False with --no-browser. */
  readonly browser: boolean;
}

export const openCommand = (terminal: Terminal): Command =>
  addServerOptions(
    newCommand({
      name: "open",
      usage: "[--no-browser] [--server URL] [--context NAME]",
      description: "Open the server's pages in the browser of this machine, and print their address.",
      notes: "Examples:  gantry open\n           gantry open --no-browser",
    }).option("--no-browser", "Print the address without opening a browser"),
  ).action(({ server: address, context, browser }: Options) => {
    const { server } = findContext(terminal, { server: address, context });
    terminal.out.write(`${server}/\n`);
    if (browser) openInBrowser(`${server}/`);
  });
