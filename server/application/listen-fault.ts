// Explains why the server cannot listen, naming the setting.

import { Fault } from "#base/fault.ts";
import type { SettingName } from "./setting-names.ts";
import type { Settings } from "./settings.ts";

const listenFailures: Readonly<Record<string, string>> = {
  EADDRINUSE: "another program listens there already",
  EADDRNOTAVAIL: "it is not an address of this machine",
  EACCES: "this user lacks the permission to listen there",
  ENOTFOUND: "unknown host",
  EAI_AGAIN: "the host's name cannot be looked up",
};

/** Returns FAILED_PRECONDITION for an error of listening; any other error unchanged. */
export const listenFault = ({ host, port }: Pick<Settings, "host" | "port">, thrown: unknown, variable: SettingName = "GANTRY_LISTEN"): unknown => {
  const code = thrown instanceof Error && "code" in thrown ? String(thrown.code) : "";
  const reason = listenFailures[code];
  return reason === undefined ? thrown : new Fault("FAILED_PRECONDITION", `${variable}: cannot listen on ${host}:${port}: ${reason}`, { cause: thrown });
};
