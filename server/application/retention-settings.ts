// Retention settings: name, default and minimum of each period.

import { limits } from "#base/limits.ts";
import { defaultPeriods, type RetentionPeriods } from "#base/retention-periods.ts";
import type { SettingName } from "./setting-names.ts";
import { type Given, settingFault } from "./setting-values.ts";

const dayMs = 24 * 60 * 60 * 1000;

export interface PeriodSetting {
  readonly name: SettingName;
  readonly period: keyof RetentionPeriods;
  readonly daysMin: number;
  readonly because: string;
}

export const periodSettings: readonly PeriodSetting[] = [
  {
    name: "GANTRY_EVENT_DAYS",
    period: "eventMs",
    daysMin: 7,
    because: `a failing webhook endpoint is disabled after ${limits.sinkFailureMs / dayMs} days, and its pending deliveries must still exist then`,
  },
  { name: "GANTRY_DELIVERY_DAYS", period: "deliveryMs", daysMin: 1, because: "deliveries of the previous day would be gone" },
  { name: "GANTRY_TAG_HISTORY_DAYS", period: "tagHistoryMs", daysMin: 1, because: "the tag history of the previous day would be gone" },
  { name: "GANTRY_REPORT_DAYS", period: "reportMs", daysMin: 7, because: "daily counts and resolved vulnerabilities are compared with the previous week" },
  { name: "GANTRY_DOCUMENT_DAYS", period: "documentMs", daysMin: 30, because: "clients that read changes must find withdrawn records" },
];

const daysMax = 3650;

const readDays = (given: Given, { name, period, daysMin, because }: PeriodSetting): number | undefined => {
  const value = given[name];
  if (value === undefined) return defaultPeriods[period];
  if (!/^\d{1,9}$/.test(value) || Number(value) > daysMax)
    throw settingFault(name, `must be a number of days from ${daysMin} to ${daysMax}, not ${JSON.stringify(value)}`);
  if (Number(value) < daysMin) throw settingFault(name, `must be ${daysMin} days or more: ${because}`);
  return Number(value) * dayMs;
};

const inDays = (ms: number): string => `${(ms / dayMs).toFixed(1).replace(".0", "")} days`;

/** Includes jitter and the receiver's Retry-After (server/events/delivery/schedule.ts). */
const longestTriesMs = (delaysSeconds: readonly number[]): number => {
  const [first = 0, ...others] = delaysSeconds;
  const longest = Math.max(...delaysSeconds);
  return (first * 1.2 + others.reduce((sum, seconds) => sum + Math.max(seconds * 1.2, longest), 0)) * 1000;
};

/** @param delaysSeconds GANTRY_DELIVERY_DELAYS */
export const readPeriods = (given: Given, delaysSeconds: readonly number[]): RetentionPeriods => {
  const read = Object.fromEntries(periodSettings.map((setting) => [setting.period, readDays(given, setting)])) as Partial<RetentionPeriods>;
  const periods: RetentionPeriods = { ...defaultPeriods, ...read };
  const { eventMs, deliveryMs } = periods;
  if (deliveryMs > eventMs)
    throw settingFault(
      "GANTRY_DELIVERY_DAYS",
      `is ${inDays(deliveryMs)}, and GANTRY_EVENT_DAYS ${inDays(eventMs)}: a delivery cannot be kept longer than its event`,
    );
  const triesMs = longestTriesMs(delaysSeconds);
  if (triesMs > eventMs)
    throw settingFault(
      "GANTRY_DELIVERY_DELAYS",
      `may take ${inDays(triesMs)} until the last attempt, and events are kept for ${inDays(eventMs)} (GANTRY_EVENT_DAYS): they would be deleted before`,
    );
  return periods;
};
