// A reader of published data: anonymous, or with private records of some groups as well. Both share all code, so that records are
// matched, chosen and written alike (docs/decisions/0043).

import {
  type AdvisoryRow,
  type ArchivedDocument,
  type ChangedAdvisory,
  type CsafDocument,
  type CsafIssuer,
  type ChangedDocument,
  findArchivedDocuments,
  findChangedAdvisories,
  findChangedDocuments,
  findChangedPrivateAdvisories,
  findChangedPrivateDocuments,
  findCsafDocuments,
  findCsafDocumentsNamed,
  findCsafIssuers,
  findModifiedDocuments,
  findOwnArtifacts,
  findOwnPrivateArtifacts,
  findOwnPrivateByArtifacts,
  findOwnPrivateByIds,
  findOwnPublishedByArtifacts,
  findOwnPublishedById,
  findOwnPublishedByIds,
  findOwnPast,
  findOwnPrivateByOrigins,
  findOwnPrivateDocuments,
  findOwnPrivateNumbers,
  findOwnPrivateOrigins,
  findPrivateDocumentsOfAll,
  findPrivateEcosystems,
  findPrivateRecords,
  findPublicDocuments,
  findPublicDocumentsOf,
  findPublicDocumentsOfAll,
  findPublicDocumentsOfForm,
  findPublicEcosystems,
  findReadableArchivedDocuments,
  findReadableCsafDocuments,
  findReadableCsafDocumentsNamed,
  findReadableCsafIssuers,
  findReadableDocuments,
  findReadableDocumentsOfForm,
  findReadableModifiedDocuments,
  findReadableWithdrawnDocuments,
  findWithdrawnDocuments,
  type ModifiedPosition,
  type OwnArtifact,
  type OwnDocument,
  type PrivateDocument,
  type PrivateRecords,
  type PublicDocument,
  type WithdrawnDocument,
} from "#advisories/store";
import type { Read } from "#db";
import { limits } from "#base/limits.ts";
import { parentOf } from "#base/uid.ts";
import { closedLabels, labelReason } from "../csaf/labels.ts";

export interface Reader {
  readonly read: Read;
  /** Undefined for public records only. */
  readonly privateRecords?: PrivateRecords | undefined;
}

/** Returns a reader of the records at and below these paths, none of which contains another. */
export const openReader = async (read: Read, paths: readonly string[]): Promise<Reader> => ({ read, privateRecords: await findPrivateRecords(read, paths) });

export const readDocumentsOf = async ({ read, privateRecords }: Reader, originId: string): Promise<PublicDocument[]> => {
  const found = await findPublicDocumentsOf(read, originId);
  if (!privateRecords) return found;
  return [...found, ...(await findPrivateDocumentsOfAll(read, privateRecords.feeds, [originId], limits.osvRecordsMax))];
};

/** Returns up to `limit` public and `limit` private documents. */
export const readDocumentsOfAll = async ({ read, privateRecords }: Reader, originIds: readonly string[], limit: number): Promise<PublicDocument[]> => {
  const found = await findPublicDocumentsOfAll(read, originIds, limit);
  if (!privateRecords) return found;
  return [...found, ...(await findPrivateDocumentsOfAll(read, privateRecords.feeds, originIds, limit))];
};

/** Withdrawn ones last. */
const listedFirst = (rows: readonly AdvisoryRow[]): AdvisoryRow[] => [
  ...rows.filter(({ deleteTime }) => deleteTime === undefined),
  ...rows.filter(({ deleteTime }) => deleteTime !== undefined),
];

/** Returns our advisories with this ID, withdrawn or not. */
export const readOwnById = async ({ read, privateRecords }: Reader, advisoryId: string): Promise<AdvisoryRow[]> => {
  const found = await findOwnPublishedById(read, advisoryId);
  if (!privateRecords) return found;
  return listedFirst([...found, ...(await findOwnPrivateByIds(read, privateRecords.places, [advisoryId], limits.osvRecordsMax))]);
};

/** Returns up to `limit` public and `limit` private advisories, withdrawn or not. */
export const readOwnByIds = async ({ read, privateRecords }: Reader, advisoryIds: readonly string[], limit: number): Promise<AdvisoryRow[]> => {
  const found = await findOwnPublishedByIds(read, advisoryIds, limit);
  if (!privateRecords) return found;
  return listedFirst([...found, ...(await findOwnPrivateByIds(read, privateRecords.places, advisoryIds, limit))]);
};

/** Names of packages: `published` ones may have public advisories, `visible` ones also private advisories. */
interface OwnNames {
  readonly published: readonly string[];
  readonly visible: readonly string[];
}

/** Returns up to `limit` public and `limit` private advisories on these packages. */
export const readOwnByArtifacts = async ({ read, privateRecords }: Reader, { published, visible }: OwnNames, limit: number): Promise<AdvisoryRow[]> => {
  const found = published.length === 0 ? [] : await findOwnPublishedByArtifacts(read, published, limit);
  if (!privateRecords) return found;
  return [...found, ...(await findOwnPrivateByArtifacts(read, privateRecords.places, visible, limit))];
};

/** Returns the kinds of artifacts of our advisories. */
export const readOwnArtifacts = async ({ read, privateRecords }: Reader): Promise<OwnArtifact[]> => {
  const found = await findOwnArtifacts(read);
  return privateRecords ? [...found, ...(await findOwnPrivateArtifacts(read, privateRecords.places))] : found;
};

/** Returns our private advisories on these origin packages, withdrawn or not. */
export const readOwnPrivate = async ({ read, privateRecords }: Reader, origins: readonly string[]): Promise<AdvisoryRow[]> =>
  privateRecords ? findOwnPrivateByOrigins(read, privateRecords.places, origins) : [];

type FindNames = (places: PrivateRecords["places"], after: string, limit: number) => Promise<string[]>;

async function* privateNames({ privateRecords }: Reader, find: FindNames): AsyncGenerator<string[]> {
  if (!privateRecords) return;
  for (let after = ""; ; ) {
    const found = await find(privateRecords.places, after, limits.osvRecordsMax);
    const last = found.at(-1);
    if (last === undefined) return;
    yield found;
    after = last;
  }
}

/** Yields IDs in order, in batches. */
export const ownPrivateNumbers = (reader: Reader): AsyncGenerator<string[]> =>
  privateNames(reader, (places, after, limit) => findOwnPrivateNumbers(reader.read, places, after, limit));

export const ownPrivateOrigins = (reader: Reader): AsyncGenerator<string[]> =>
  privateNames(reader, (places, after, limit) => findOwnPrivateOrigins(reader.read, places, after, limit));

export const readEcosystems = async ({ read, privateRecords }: Reader): Promise<string[]> => {
  const found = await findPublicEcosystems(read);
  return privateRecords ? [...found, ...(await findPrivateEcosystems(read, privateRecords.feeds))] : found;
};

/** Returns documents available as OSV: all of the next IDs after `after`. */
export const readArchivedDocuments = ({ read, privateRecords }: Reader, ecosystem: string, after: string, limit: number): Promise<ArchivedDocument[]> =>
  privateRecords ? findReadableArchivedDocuments(read, privateRecords.feeds, ecosystem, after, limit) : findArchivedDocuments(read, ecosystem, after, limit);

/** Returns documents available as OSV, the last modified first. */
export const readModifiedDocuments = (
  { read, privateRecords }: Reader,
  ecosystem: string,
  behind: ModifiedPosition | undefined,
  limit: number,
): Promise<ArchivedDocument[]> =>
  privateRecords ? findReadableModifiedDocuments(read, privateRecords.feeds, ecosystem, behind, limit) : findModifiedDocuments(read, ecosystem, behind, limit);

/** Returns documents that were removed from their source, the last withdrawn first. */
export const readWithdrawnDocuments = (
  { read, privateRecords }: Reader,
  ecosystem: string,
  behind: WithdrawnDocument | undefined,
  limit: number,
): Promise<WithdrawnDocument[]> =>
  privateRecords
    ? findReadableWithdrawnDocuments(read, privateRecords.feeds, ecosystem, behind, limit)
    : findWithdrawnDocuments(read, ecosystem, behind, limit);

/** Returns documents by ID. With `since`, only IDs with changes after that time. */
export const readDocuments = ({ read, privateRecords }: Reader, since: string, after: string, limit: number): Promise<PublicDocument[]> =>
  privateRecords ? findReadableDocuments(read, privateRecords.feeds, since, after, limit) : findPublicDocuments(read, since, after, limit);

/** Returns documents of a format by ID. */
export const readDocumentsOfForm = ({ read, privateRecords }: Reader, form: string, after: string, limit: number): Promise<PublicDocument[]> =>
  privateRecords ? findReadableDocumentsOfForm(read, privateRecords.feeds, form, after, limit) : findPublicDocumentsOfForm(read, form, after, limit);

/** Reads a page after (since, after). */
export type ReadChanges<Changed> = (since: string, after: string, limit: number) => Promise<Changed[]>;

/** Returns one function for public advisories, and one for private ones. */
export const changesOfAdvisories = ({ read, privateRecords }: Reader): ReadChanges<ChangedAdvisory>[] => [
  (since, after, limit) => findChangedAdvisories(read, since, after, limit),
  ...(privateRecords ? [(since: string, after: string, limit: number) => findChangedPrivateAdvisories(read, privateRecords.places, since, after, limit)] : []),
];

export const changesOfDocuments = ({ read, privateRecords }: Reader): [ReadChanges<ChangedDocument>, ...ReadChanges<ChangedDocument>[]] => [
  (since, after, limit) => findChangedDocuments(read, since, after, limit),
  ...(privateRecords ? [(since: string, after: string, limit: number) => findChangedPrivateDocuments(read, privateRecords.places, since, after, limit)] : []),
];

/** A package with private advisories, withdrawn or not. */
interface PrivateHistory {
  readonly advisories: readonly AdvisoryRow[];
  readonly groups: readonly string[];
}

/** Returns undefined if the reader sees no private advisory, or if all are withdrawn. */
export const readOwnPrivateHistory = async (reader: Reader, origin: string): Promise<PrivateHistory | undefined> => {
  const rows = await readOwnPrivate(reader, [origin]);
  if (rows.length === 0) return undefined;
  const advisories = [...(await findOwnPast(reader.read, origin)), ...rows];
  if (advisories.every(({ deleteTime }) => deleteTime !== undefined)) return undefined;
  return { advisories, groups: rows.map(({ uid }) => parentOf(uid)) };
};

/** Returns packages with private advisories, the last changed first. `year` filters by first release. */
export const readOwnPrivateDocuments = async (
  { read, privateRecords }: Reader,
  year: string,
  behind: OwnDocument | undefined,
  limit: number,
): Promise<PrivateDocument[]> => (privateRecords ? findOwnPrivateDocuments(read, privateRecords.places, year, behind, limit) : []);

const labelReasons = closedLabels.map(labelReason);

/** Returns third-party documents, the last released first. */
export const readCsafDocuments = (
  { read, privateRecords }: Reader,
  which: { readonly folder: string; readonly label: string; readonly year: string },
  behind: CsafDocument | undefined,
  limit: number,
): Promise<CsafDocument[]> =>
  privateRecords
    ? findReadableCsafDocuments(read, { feeds: privateRecords.feeds, reasons: labelReasons }, which, behind, limit)
    : findCsafDocuments(read, which, behind, limit);

/** Returns documents by file name, the first imported first. */
export const readCsafDocumentsNamed = (
  { read, privateRecords }: Reader,
  folder: string,
  fileNames: readonly string[],
  limit: number,
): Promise<CsafDocument[]> =>
  privateRecords
    ? findReadableCsafDocumentsNamed(read, { feeds: privateRecords.feeds, reasons: labelReasons }, folder, fileNames, limit)
    : findCsafDocumentsNamed(read, folder, fileNames, limit);

export const readCsafIssuers = ({ read, privateRecords }: Reader, limit: number): Promise<CsafIssuer[]> =>
  privateRecords ? findReadableCsafIssuers(read, { feeds: privateRecords.feeds, reasons: labelReasons }, limit) : findCsafIssuers(read, "", limit);
