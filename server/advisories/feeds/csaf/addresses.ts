// URLs and paths of CSAF documents, lists and metadata. Pure.

import type { AdvisoryRow } from "#advisories/store";
import { earliestTime, latestTime } from "../documents/advisory.ts";
import { fileNameOfTracking } from "./names.ts";

export const csafBase = "/.well-known/csaf/";
export const aggregatorBase = "/.well-known/csaf-aggregator/";

export const addressOf = (publicUrl: string, path: string): string => `${publicUrl.replace(/\/$/, "")}${path}`;

/** Returns the first and last release time, as findOwnDocuments does in SQL. */
export const releaseTimes = (advisories: readonly AdvisoryRow[]): [initial: string, current: string] => {
  const [first, last] = [earliestTime(advisories), latestTime(advisories)];
  return [first < last ? first : last, last];
};

/** Returns the path in the directory for the year of first release (CSAF 2.0, 7.1.11). */
export const documentPath = (initialReleaseTime: string, fileName: string): string => `${initialReleaseTime.slice(0, 4)}/${fileName}.json`;

export const ownFolder = `${csafBase}white/`;

/** Restricted documents have a separate path (CSAF 2.0, 7.1.5). */
export const privateFolder = `${csafBase}amber/`;

export const ownDocumentAddress = (publicUrl: string, folder: string, number: string, advisories: readonly AdvisoryRow[]): string =>
  addressOf(publicUrl, `${folder}${documentPath(releaseTimes(advisories)[0], fileNameOfTracking(number))}`);
