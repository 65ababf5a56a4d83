// Effective settings and their origin for `gantry config`, without secrets.

import { tuningText } from "./postgres-tuning.ts";
import type { Settings } from "./settings.ts";
import { type Environment, settingNames, type SettingName, type SettingText, settingTexts } from "./setting-names.ts";

export interface SettingInForce {
  readonly name: SettingName;
  /** "" if none. */
  readonly value: string;
  readonly from: "environment" | "default";
}

const derivedDefaults: Readonly<Partial<Record<SettingName, (settings: Settings) => string>>> = {
  GANTRY_DATA: ({ dataDirectory }) => dataDirectory,
  GANTRY_MIGRATE_URL: ({ databaseUrl = "" }) => databaseUrl,
  GANTRY_PUBLIC_URL: ({ publicUrl }) => publicUrl,
  GANTRY_SECRET_KEY_FILE: ({ dataDirectory }) => `${dataDirectory}/secret.key`,
  GANTRY_BLOBS: ({ blobs }) => (blobs.kind === "file" ? blobs.folder : ""),
  GANTRY_PUBLISHER_NAME: ({ publisher }) => publisher.name,
  GANTRY_PUBLISHER_NAMESPACE: ({ publisher }) => publisher.namespace,
  GANTRY_SECURITY_EXPIRES: ({ securityContact }) => (securityContact.contacts.length > 0 ? settingTexts.GANTRY_SECURITY_EXPIRES.byDefault : ""),
};

/** Settings that can be set in part. */
const completed: typeof derivedDefaults = {
  GANTRY_WORKERS: ({ workers }) => String(workers),
  GANTRY_POSTGRES_SETTINGS: ({ databaseUrl, tuning }) => (databaseUrl === undefined && tuning ? tuningText(tuning) : ""),
};

const withoutPassword = (value: string): string =>
  value.replace(/^([a-z]+:\/\/[^:@/?]*:).*@/, "$1***@").replaceAll(/([?&](?:password|sslpassword)=)[^&]*/g, "$1***");

/** @param settings result of readSettings for the same environment */
export const settingsInForce = (settings: Settings, environment: Environment): SettingInForce[] =>
  settingNames.map((name) => {
    const set = environment[name];
    const { byDefault = "" }: SettingText = settingTexts[name];
    const value = completed[name]?.(settings) ?? (set || (derivedDefaults[name]?.(settings) ?? (byDefault === "none" ? "" : byDefault)));
    return { name, value: withoutPassword(value), from: set ? "environment" : "default" };
  });
