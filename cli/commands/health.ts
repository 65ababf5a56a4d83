// `gantry health`: check the running server's readiness, for container health checks.

import type { Command } from "commander";
import { readSettings, type Settings } from "#application";
import { newCommand } from "../command.ts";
import type { Terminal } from "../terminal.ts";

/** Returns the listener's URL without TLS; with TLS the public URL, which the certificate names. */
const probeUrl = ({ publicUrl, host, port, tls }: Settings): string => {
  if (tls) return publicUrl;
  const everyAddress = host === "0.0.0.0" || host === "::";
  return `http://${everyAddress ? "127.0.0.1" : host.includes(":") ? `[${host}]` : host}:${port}`;
};

export const healthCommand = (terminal: Terminal): Command =>
  newCommand({
    name: "health",
    description: "Check whether the server on this machine is ready, for container health checks.\n\nExit status: 0 ready, 1 not ready.",
    notes: "Example:  HEALTHCHECK CMD gantry health",
  }).action(async () => {
    const { environment, out } = terminal;
    const url = probeUrl(readSettings(environment));
    try {
      const response = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(5_000) });
      out.write(response.ok ? "ready\n" : `not ready: ${response.status}\n`);
      if (!response.ok) terminal.status = 1;
    } catch (error) {
      const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error);
      out.write(`no response from ${url}: ${cause}\n`);
      terminal.status = 1;
    }
  });
