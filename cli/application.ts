// The application as a command works in it: beside a running server, whose embedded database it shares, or without one.

import { type Application, openApplication, readSettings } from "#application";
import type { Terminal } from "./terminal.ts";

/** Opens the application for `work`, and closes it whatever becomes of that. */
export const withApplication = async <T>({ environment, log, err }: Terminal, work: (application: Application) => Promise<T>): Promise<T> => {
  const application = await openApplication({ settings: readSettings(environment), log, join: true, progress: (line) => err.write(`${line}\n`) });
  try {
    return await work(application);
  } finally {
    await application.close();
  }
};
