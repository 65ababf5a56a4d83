// Parsers of setting values. Errors are one line that names the variable (decisions: Command line).

import { readFileSync } from "node:fs";
import { Fault } from "#base/fault.ts";
import { refusedAddress } from "#base/refused-address.ts";
import { type Environment, refuseUnknownNames, type SettingName, settingNames, settingTexts } from "./setting-names.ts";

/** Set variables; an empty value counts as unset. */
export type Given = Readonly<Partial<Record<SettingName, string>>>;

export const readGiven = (environment: Environment): Given => {
  refuseUnknownNames(environment);
  return Object.fromEntries(settingNames.flatMap((name) => (environment[name] ? [[name, environment[name]]] : [])));
};

export const settingFault = (variable: SettingName, reason: string): Fault => new Fault("FAILED_PRECONDITION", `${variable} ${reason}`);

export const splitList = (value: string | undefined): string[] =>
  (value ?? "")
    .split(",")
    .map((entry) => entry.trim())
    .filter((entry) => entry !== "");

/** Reads a whole number from `min` to `max`; undefined if unset. @param of the unit, for errors */
export const readWholeNumber = (given: Given, variable: SettingName, min: number, max: number, of = ""): number | undefined => {
  const value = given[variable];
  if (value === undefined) return undefined;
  if (!/^\d{1,15}$/.test(value) || Number(value) < min || Number(value) > max)
    throw settingFault(variable, `must be a number ${of === "" ? "" : `of ${of} `}from ${min} to ${max}, not ${JSON.stringify(value)}`);
  return Number(value);
};

export const readListen = (
  value: string = settingTexts.GANTRY_LISTEN.byDefault,
  variable: "GANTRY_LISTEN" | "GANTRY_METRICS_LISTEN" = "GANTRY_LISTEN",
): { host: string; port: number } => {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^:]*)):(\d{1,5})$/.exec(value);
  const port = Number(match?.[3]);
  // Port 0 would change on every start, unknown to the public URL.
  if (!match || port < 1 || port > 65535) throw settingFault(variable, `must be HOST:PORT, such as 127.0.0.1:8080 or [::]:8080, not ${JSON.stringify(value)}`);
  const host = match[1] ?? match[2] ?? "";
  // The interface must be explicit.
  if (host === "")
    throw settingFault(variable, `names no host: 127.0.0.1:${port} for local connections only, [::]:${port} or 0.0.0.0:${port} for all interfaces`);
  return { host, port };
};

export const readHttpUrl = (variable: SettingName, value: string): string => {
  const url = URL.parse(value);
  if (!url || !["http:", "https:"].includes(url.protocol) || url.search || url.hash || url.username || url.password) {
    throw settingFault(variable, `must be an http or https address without user, query and fragment${refusedAddress(value)}`);
  }
  return value;
};

export const readFlag = (variable: SettingName, value: string | undefined): boolean => {
  if (value === undefined || value === "" || value === "false" || value === "0") return false;
  if (value === "true" || value === "1") return true;
  throw settingFault(variable, `must be true or false, not ${JSON.stringify(value)}`);
};

export const readSettingFile = (variable: SettingName, path: string): string => {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw settingFault(variable, `must name a readable file: ${error instanceof Error ? error.message : path}`);
  }
};
