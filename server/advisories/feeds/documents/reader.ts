// Whoever reads what goes out: everybody, who sees what is public, or somebody who sees the records of some groups besides.
// Both go one way, so that they are judged, chosen and written alike (docs/decisions/0036).

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

/** What kinds of artifacts our own advisories are about. */
export const readOwnArtifacts = async ({ read, privateRecords }: Reader): Promise<OwnArtifact[]> => {
  const found = await findOwnArtifacts(read);
  return privateRecords ? [...found, ...(await findOwnPrivateArtifacts(read, privateRecords.places))] : found;
};

/** Our own advisories about these origin packages that are not public, withdrawn or not. */
export const readOwnPrivate = async ({ read, privateRecords }: Reader, origins: readonly string[]): Promise<AdvisoryRow[]> =>
  privateRecords ? findOwnPrivateByOrigins(read, privateRecords.places, origins) : [];

/** Reads names behind `after`, in order. */
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

/** The numbers of our own advisories that are not public, in order, a bounded number at a time. */
export const ownPrivateNumbers = (reader: Reader): AsyncGenerator<string[]> =>
  privateNames(reader, (places, after, limit) => findOwnPrivateNumbers(reader.read, places, after, limit));

/** The same of the origin packages that they are about. */
export const ownPrivateOrigins = (reader: Reader): AsyncGenerator<string[]> =>
  privateNames(reader, (places, after, limit) => findOwnPrivateOrigins(reader.read, places, after, limit));

/** OSV's ecosystems that documents are about. */
export const readEcosystems = async ({ read, privateRecords }: Reader): Promise<string[]> => {
  const found = await findPublicEcosystems(read);
  return privateRecords ? [...found, ...(await findPrivateEcosystems(read, privateRecords.feeds))] : found;
};

/** Documents that OSV has, of the next numbers behind `after`, and of each number all. */
export const readArchivedDocuments = ({ read, privateRecords }: Reader, ecosystem: string, after: string, limit: number): Promise<ArchivedDocument[]> =>
  privateRecords ? findReadableArchivedDocuments(read, privateRecords.feeds, ecosystem, after, limit) : findArchivedDocuments(read, ecosystem, after, limit);

/** The same, the last modified first. */
export const readModifiedDocuments = (
  { read, privateRecords }: Reader,
  ecosystem: string,
  behind: ModifiedPosition | undefined,
  limit: number,
): Promise<ArchivedDocument[]> =>
  privateRecords ? findReadableModifiedDocuments(read, privateRecords.feeds, ecosystem, behind, limit) : findModifiedDocuments(read, ecosystem, behind, limit);

/** Documents that OSV has and their source no longer has, the last withdrawn first. */
export const readWithdrawnDocuments = (
  { read, privateRecords }: Reader,
  ecosystem: string,
  behind: WithdrawnDocument | undefined,
  limit: number,
): Promise<WithdrawnDocument[]> =>
  privateRecords
    ? findReadableWithdrawnDocuments(read, privateRecords.feeds, ecosystem, behind, limit)
    : findWithdrawnDocuments(read, ecosystem, behind, limit);

/** Documents in the order of their numbers, behind `after`; with a time those of numbers that something has changed of since. */
export const readDocuments = ({ read, privateRecords }: Reader, since: string, after: string, limit: number): Promise<PublicDocument[]> =>
  privateRecords ? findReadableDocuments(read, privateRecords.feeds, since, after, limit) : findPublicDocuments(read, since, after, limit);

/** Documents of a form in the order of their numbers, behind `after`. */
export const readDocumentsOfForm = ({ read, privateRecords }: Reader, form: string, after: string, limit: number): Promise<PublicDocument[]> =>
  privateRecords ? findReadableDocumentsOfForm(read, privateRecords.feeds, form, after, limit) : findPublicDocumentsOfForm(read, form, after, limit);

/** Reads a page behind (since, after). */
export type ReadChanges<Changed> = (since: string, after: string, limit: number) => Promise<Changed[]>;

/** Our own advisories in the order of their changes, a page behind (since, after): of what is public, and of what is not. */
export const changesOfAdvisories = ({ read, privateRecords }: Reader): ReadChanges<ChangedAdvisory>[] => [
  (since, after, limit) => findChangedAdvisories(read, since, after, limit),
  ...(privateRecords ? [(since: string, after: string, limit: number) => findChangedPrivateAdvisories(read, privateRecords.places, since, after, limit)] : []),
];

/** The same of the documents about packages. */
export const changesOfDocuments = ({ read, privateRecords }: Reader): [ReadChanges<ChangedDocument>, ...ReadChanges<ChangedDocument>[]] => [
  (since, after, limit) => findChangedDocuments(read, since, after, limit),
  ...(privateRecords ? [(since: string, after: string, limit: number) => findChangedPrivateDocuments(read, privateRecords.places, since, after, limit)] : []),
];

/** A package with private advisories as one reader sees it. */
interface PrivateHistory {
  /** Withdrawn or not. */
  readonly advisories: readonly AdvisoryRow[];
  /** Of the private ones. */
  readonly groups: readonly string[];
}

/** Undefined where the reader sees no private advisory on the package, or where nothing of it holds any longer. */
export const readOwnPrivateHistory = async (reader: Reader, origin: string): Promise<PrivateHistory | undefined> => {
  const rows = await readOwnPrivate(reader, [origin]);
  if (rows.length === 0) return undefined;
  const advisories = [...(await findOwnPast(reader.read, origin)), ...rows];
  if (advisories.every(({ deleteTime }) => deleteTime !== undefined)) return undefined;
  return { advisories, groups: rows.map(({ uid }) => parentOf(uid)) };
};

/** Packages with a private advisory, the last changed first, with a year those first released in it. */
export const readOwnPrivateDocuments = async (
  { read, privateRecords }: Reader,
  year: string,
  behind: OwnDocument | undefined,
  limit: number,
): Promise<PrivateDocument[]> => (privateRecords ? findOwnPrivateDocuments(read, privateRecords.places, year, behind, limit) : []);

const labelReasons = closedLabels.map(labelReason);

/** Others' documents of CSAF in a folder with a label, the last released first. */
export const readCsafDocuments = (
  { read, privateRecords }: Reader,
  which: { readonly folder: string; readonly label: string; readonly year: string },
  behind: CsafDocument | undefined,
  limit: number,
): Promise<CsafDocument[]> =>
  privateRecords
    ? findReadableCsafDocuments(read, { feeds: privateRecords.feeds, reasons: labelReasons }, which, behind, limit)
    : findCsafDocuments(read, which, behind, limit);

/** Those of a folder that have one of these names, the first that came first. */
export const readCsafDocumentsNamed = (
  { read, privateRecords }: Reader,
  folder: string,
  fileNames: readonly string[],
  limit: number,
): Promise<CsafDocument[]> =>
  privateRecords
    ? findReadableCsafDocumentsNamed(read, { feeds: privateRecords.feeds, reasons: labelReasons }, folder, fileNames, limit)
    : findCsafDocumentsNamed(read, folder, fileNames, limit);

/** Whose documents there are. */
export const readCsafIssuers = ({ read, privateRecords }: Reader, limit: number): Promise<CsafIssuer[]> =>
  privateRecords ? findReadableCsafIssuers(read, { feeds: privateRecords.feeds, reasons: labelReasons }, limit) : findCsafIssuers(read, "", limit);
