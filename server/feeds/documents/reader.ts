// Whoever reads records of OSV: everybody, who sees what is public, or somebody who sees the records of some groups besides.
// Both go one way, so that they are judged, chosen and written alike (docs/decisions/0036).

import {
  type AdvisoryRow,
  findOwnPrivateByArtifacts,
  findOwnPrivateByIds,
  findOwnPublishedByArtifacts,
  findOwnPublishedById,
  findOwnPublishedByIds,
  findPrivateDocumentsOfAll,
  findPrivateRecords,
  findPublicDocumentsOf,
  findPublicDocumentsOfAll,
  type PrivateRecords,
  type PublicDocument,
  type Read,
} from "#store";
import { limits } from "#base/limits.ts";

export interface Reader {
  readonly read: Read;
  /** Undefined: what is public alone. */
  readonly privateRecords?: PrivateRecords | undefined;
}

/** A reader who sees the records at and below these paths; none of them lies below another. */
export const openReader = async (read: Read, paths: readonly string[]): Promise<Reader> => ({ read, privateRecords: await findPrivateRecords(read, paths) });

/** The documents of this number, of any form. */
export const readDocumentsOf = async ({ read, privateRecords }: Reader, originId: string): Promise<PublicDocument[]> => {
  const found = await findPublicDocumentsOf(read, originId);
  if (!privateRecords) return found;
  return [...found, ...(await findPrivateDocumentsOfAll(read, privateRecords.feeds, [originId], limits.osvRecordsMax))];
};

/** The documents of these numbers, `limit` of each kind. */
export const readDocumentsOfAll = async ({ read, privateRecords }: Reader, originIds: readonly string[], limit: number): Promise<PublicDocument[]> => {
  const found = await findPublicDocumentsOfAll(read, originIds, limit);
  if (!privateRecords) return found;
  return [...found, ...(await findPrivateDocumentsOfAll(read, privateRecords.feeds, originIds, limit))];
};

/** Those that are listed first, as the statements of each kind have them. */
const listedFirst = (rows: readonly AdvisoryRow[]): AdvisoryRow[] => [
  ...rows.filter(({ deleteTime }) => deleteTime === undefined),
  ...rows.filter(({ deleteTime }) => deleteTime !== undefined),
];

/** Our own advisories of this number, withdrawn or not. */
export const readOwnById = async ({ read, privateRecords }: Reader, advisoryId: string): Promise<AdvisoryRow[]> => {
  const found = await findOwnPublishedById(read, advisoryId);
  if (!privateRecords) return found;
  return listedFirst([...found, ...(await findOwnPrivateByIds(read, privateRecords.places, [advisoryId], limits.osvRecordsMax))]);
};

/** The same of several numbers, `limit` of each kind. */
export const readOwnByIds = async ({ read, privateRecords }: Reader, advisoryIds: readonly string[], limit: number): Promise<AdvisoryRow[]> => {
  const found = await findOwnPublishedByIds(read, advisoryIds, limit);
  if (!privateRecords) return found;
  return listedFirst([...found, ...(await findOwnPrivateByIds(read, privateRecords.places, advisoryIds, limit))]);
};

/** Our own advisories about packages of these names, `limit` of each kind. */
export const readOwnByArtifacts = async ({ read, privateRecords }: Reader, names: readonly string[], limit: number): Promise<AdvisoryRow[]> => {
  const found = await findOwnPublishedByArtifacts(read, names, limit);
  if (!privateRecords) return found;
  return [...found, ...(await findOwnPrivateByArtifacts(read, privateRecords.places, names, limit))];
};
