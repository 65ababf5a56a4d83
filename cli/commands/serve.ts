// `gantry serve`: run the server until it is stopped.

import type { Command } from "commander";
import { extname, join } from "node:path";
import { readSettings, type Server, settingNames, type SettingText, settingTexts, startServer, startWorkers } from "#application";
import { sampleLog } from "#base/sampled-log.ts";
import { newCommand } from "../command.ts";
import { openServiceNotices } from "../service-notices.ts";
import { stopSignal } from "../stop-signal.ts";
import type { Terminal } from "../terminal.ts";

const settingLines = settingNames.map((name) => {
  const { says, byDefault }: SettingText = settingTexts[name];
  return `  ${name.padEnd(22)}  ${says}${byDefault === undefined ? "" : ` (default: ${byDefault})`}`;
});

const description = `Run the server until it is stopped. Settings come from the environment:

${settingLines.join("\n")}

gantry config shows the current settings. gantry doctor checks the installation.`;

/** npm runs the command in a checkout. An installed one is called by name, because npx would fetch any package of that name. */
const called = import.meta.filename.endsWith(".ts") ? "npx gantry" : "gantry";

/** TypeScript in a checkout, JavaScript in an installation. */
const workerProgram = [
  join(import.meta.dirname, "..", "..", "bin", "node.js"),
  join(import.meta.dirname, "..", `worker${extname(import.meta.filename)}`),
] as const;

export const serveCommand = ({ environment, log: everything, err }: Terminal): Command =>
  newCommand({
    name: "serve",
    description,
    notes: "Example:  GANTRY_LISTEN=0.0.0.0:8080 GANTRY_PUBLIC_URL=https://gantry.example.com gantry serve",
  }).action(async () => {
    const settings = readSettings(environment);
    const { log, close: closeLog } = sampleLog(everything, settings.logLevel);
    const notices = openServiceNotices(environment, log);
    let server: Pick<Server, "firstOrganization" | "reload" | "close"> | undefined;
    const reload = async (): Promise<void> => {
      // The start reads all settings anyway.
      if (server === undefined) return;
      await notices.reloading();
      await server.reload();
      await notices.ready();
    };
    // From here on, a signal during the start stops the server right after it.
    const stopped = stopSignal(() => void reload());
    const options = { log, progress: (line: string) => err.write(`${line}\n`) };
    server = settings.workers === 1 ? await startServer(settings, options) : await startWorkers(settings, { ...options, program: workerProgram });
    const lines = [`Gantry serves ${settings.publicUrl}`];
    if (server.firstOrganization) lines.push(`Created a first organization: ${server.firstOrganization}`);
    lines.push("In another terminal:");
    if (settings.servesConsole) lines.push(`  ${called} open --operator   opens the console`);
    lines.push(`  ${called} token             prints an access token`);
    err.write(`${lines.join("\n")}\n`);
    await notices.ready();
    await stopped;
    err.write("Stopping: finishing requests in flight\n");
    await notices.stopping();
    await server.close();
    closeLog();
  });
