// Where documents, lists and metadata of CSAF lie. Pure.

import type { AdvisoryRow } from "#advisories/store";
import { earliestTime, latestTime } from "../documents/advisory.ts";
import { fileNameOfTracking } from "./names.ts";

export const csafBase = "/.well-known/csaf/";
export const aggregatorBase = "/.well-known/csaf-aggregator/";

export const addressOf = (publicUrl: string, path: string): string => `${publicUrl.replace(/\/$/, "")}${path}`;

/** When a document was first released, and last: the store's lists say the same (findOwnDocuments). */
export const releaseTimes = (advisories: readonly AdvisoryRow[]): [initial: string, current: string] => {
  const [first, last] = [earliestTime(advisories), latestTime(advisories)];
  return [first < last ? first : last, last];
};

/** CSAF 2.0, 7.1.11: a folder for the year in which a document was first released. */
export const documentPath = (initialReleaseTime: string, fileName: string): string => `${initialReleaseTime.slice(0, 4)}/${fileName}.json`;

/** What everybody may read lies below "white"; nothing else does. */
export const ownFolder = `${csafBase}white/`;

/** What some alone may read, each of them a part of it (CSAF 2.0, 7.1.5: under a path of its own). */
export const privateFolder = `${csafBase}amber/`;

export const ownDocumentAddress = (publicUrl: string, folder: string, number: string, advisories: readonly AdvisoryRow[]): string =>
  addressOf(publicUrl, `${folder}${documentPath(releaseTimes(advisories)[0], fileNameOfTracking(number))}`);
