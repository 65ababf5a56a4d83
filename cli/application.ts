// Opens the application for commands, standalone or next to a running server whose embedded database it shares.

import { type Application, openApplication, readSettings } from "#application";
import type { Terminal } from "./terminal.ts";

export const withApplication = async <T>({ environment, log, err }: Terminal, work: (application: Application) => Promise<T>): Promise<T> => {
  const application = await openApplication({ settings: readSettings(environment), log, join: true, progress: (line) => err.write(`${line}\n`) });
  try {
    return await work(application);
  } finally {
    await application.close();
  }
};
