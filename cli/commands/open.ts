// `gantry open`: the server's pages in a browser.

import type { Command } from "commander";
import { newCommand } from "../command.ts";
import { findContext } from "../context.ts";
import { openInBrowser } from "#login";
import type { Terminal } from "../terminal.ts";

interface Options {
  readonly server?: string;
  readonly context?: string;
  /** False by --no-browser. */
  readonly browser: boolean;
}

export const openCommand = (terminal: Terminal): Command =>
  newCommand({
    name: "open",
    usage: "[--no-browser] [--server URL] [--context NAME]",
    description: "Opens the server's pages in the browser of this machine, and prints their address.",
    notes: "Examples:  gantry open\n           gantry open --no-browser",
  })
    .option("--no-browser", "print the address only")
    .option("--server <URL>", "the server's address (GANTRY_SERVER, or the current context's)")
    .option("--context <NAME>", "the context (GANTRY_CONTEXT, or the current one)")
    .action(({ server: address, context, browser }: Options) => {
      const { server } = findContext(terminal, { server: address, context });
      terminal.out.write(`${server}/\n`);
      if (browser) openInBrowser(`${server}/`);
    });
