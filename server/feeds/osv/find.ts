// Which published records a question is about: found by package in an index of the store, and judged by version as the schema
// says. No document is opened for it. Our own advisories come with the first page: they are few, and made when they are asked
// for.

import { Fault } from "#base/fault.ts";
import { isObject, type Json, type JsonObject, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { judgeVersion, type Package } from "#base/versions/affected.ts";
import { packageNameForms } from "#base/versions/package-name.ts";
import {
  findNamedPackages,
  findPackageDocuments,
  findPackageEntries,
  findPrivateNamedPackages,
  findPrivatePackageDocuments,
  type PackageDocument,
} from "#store";
import { choosePresent } from "../documents/published.ts";
import { type Reader, readDocumentsOfAll, readOwnByArtifacts, readOwnByIds } from "../documents/reader.ts";
import { isOwnEcosystem } from "../documents/osv.ts";
import { isPublishable } from "../licenses.ts";
import { nameKey } from "./ecosystems.ts";
import { coversRelease } from "../formats/distribution.ts";
import { ownRecordsOf } from "../documents/own-records.ts";
import { type Question, type QuestionPackage, writeToken } from "./question.ts";

/** A published record that a question is about. */
export interface FoundRecord {
  readonly id: string;
  readonly modified: string;
  /** Others' as it is stored; undefined where it is our own. */
  readonly documentId: string | undefined;
}

export interface Answer {
  readonly found: readonly FoundRecord[];
  /** "" where there is no more. */
  readonly nextPageToken: string;
}

/** A package that is looked up for questions. */
interface LookUp extends QuestionPackage {
  readonly question: number;
  readonly after: string;
}

const entriesOf = (json: string): JsonObject[] => {
  const read = JSON.parse(json) as Json;
  return Array.isArray(read) ? read.filter(isObject) : [];
};

/** Whether one of the entries about the release that is asked for affects the version; without a version each such entry counts. */
const isAffected = ({ ecosystem: asked, name, version, distribution }: LookUp, entries: readonly JsonObject[]): boolean =>
  entries.some((entry) => {
    const ecosystem = text(entry, "ecosystem") || asked;
    if (distribution && !coversRelease(ecosystem, distribution)) return false;
    return version === "" || judgeVersion({ affected: [{ ...entry, package: { ecosystem, name } }] }, { ecosystem, name }, version).verdict === "affected";
  });

const isToJudge = ({ version, distribution }: LookUp): boolean => version !== "" || distribution !== undefined;

/** Look-ups of one package that have the same verdicts. */
const verdictKey = ({ version, distribution }: LookUp): string => JSON.stringify([version, distribution?.family, distribution?.release]);

const findNamed = async ({ read, privateRecords }: Reader, names: readonly string[]): Promise<{ readonly name: string; readonly ecosystem: string }[]> => {
  const found = await findNamedPackages(read, names, limits.osvCandidatesMax);
  if (!privateRecords) return found;
  const both = [...found, ...(await findPrivateNamedPackages(read, privateRecords.feeds, names, limits.osvCandidatesMax))];
  return [...new Map(both.map((each) => [JSON.stringify([each.name, each.ecosystem]), each])).values()];
};

/** A question without an ecosystem is about all that have the name. */
const lookUpsOf = async (reader: Reader, questions: readonly Question[]): Promise<LookUp[]> => {
  const anywhere = questions.flatMap(({ packages }) => packages.flatMap(({ ecosystem, name }) => (ecosystem === "" ? packageNameForms(name) : [])));
  const named = anywhere.length === 0 ? [] : await findNamed(reader, [...new Set(anywhere)]);
  const ecosystems = new Map<string, string[]>();
  for (const { name, ecosystem } of named) ecosystems.set(name, [...(ecosystems.get(name) ?? []), ecosystem].slice(0, limits.osvEcosystemsMax));
  return questions.flatMap(({ packages, after }, question): LookUp[] =>
    packages.flatMap((asked): LookUp[] => {
      if (asked.ecosystem !== "") return [{ ...asked, question, after }];
      return packageNameForms(asked.name).flatMap((name) =>
        (ecosystems.get(name) ?? [])
          .filter((ecosystem) => nameKey(ecosystem, asked.name) === name)
          .map((ecosystem) => ({ ...asked, ecosystem, name, question, after })),
      );
    }),
  );
};

/** Long entries are read a bounded number of bytes at a time, judged, and let go. */
const judgeLong = async (reader: Reader, candidates: readonly { readonly row: PackageDocument; readonly of: LookUp }[]) => {
  const affected = new Set<PackageDocument>();
  for (let from = 0; from < candidates.length; ) {
    let bytes = 0;
    let to = from;
    for (; to < candidates.length && (to === from || bytes < limits.osvAnswerBytes); to++) bytes += candidates[to]?.row.entryBytes ?? 0;
    const chunk = candidates.slice(from, to);
    const keyOf = (documentId: string, { ecosystem, name }: Package): string => JSON.stringify([documentId, ecosystem, name]);
    const asked = new Map(chunk.map(({ row: { documentId }, of }) => [keyOf(documentId, of), { documentId, ecosystem: of.ecosystem, name: of.name }]));
    const read = await findPackageEntries(reader.read, [...asked.values()]);
    const entries = new Map(read.map((each) => [keyOf(each.documentId, each), entriesOf(each.entries)]));
    for (const { row, of } of chunk) if (isAffected(of, entries.get(keyOf(row.documentId, of)) ?? [])) affected.add(row);
    from = to;
  }
  return affected;
};

/** Of documents that others share their number with, those that are published. */
const findPublished = async (reader: Reader, originIds: readonly string[]): Promise<Set<string>> => {
  const published = new Set<string>();
  for (let from = 0; from < originIds.length; from += limits.osvRecordsMax) {
    const found = await readDocumentsOfAll(reader, originIds.slice(from, from + limits.osvRecordsMax), limits.osvCandidatesMax);
    const byNumber = Map.groupBy(found, ({ originId }) => originId);
    for (const documents of byNumber.values()) {
      const document = choosePresent("osv", documents);
      if (document) published.add(document.id);
    }
  }
  return published;
};

/** Of a page that is full the last number may have more: it comes with the next one. */
const wholeNumbers = (rows: readonly PackageDocument[], isFull: boolean): readonly PackageDocument[] => {
  const last = rows.at(-1)?.originId;
  const whole = isFull ? rows.filter(({ originId }) => originId !== last) : rows;
  return whole.length > 0 ? whole : rows;
};

/** What was read for a look-up, and up to which number that is all; undefined where it is all there is. */
interface LookedUp {
  readonly rows: readonly PackageDocument[];
  readonly readTo: string | undefined;
}

const lookUp = async ({ read }: Reader, lookUps: readonly LookUp[], perPackage: number): Promise<LookedUp[]> => {
  if (lookUps.length === 0) return [];
  const limit = limits.osvCandidatesMax;
  return splitLookUps(lookUps, await findPackageDocuments(read, lookUps, perPackage, limit), perPackage, limit);
};

/** The same of what is not public. */
const lookUpPrivately = async ({ read, privateRecords }: Reader, lookUps: readonly LookUp[]): Promise<LookedUp[]> => {
  if (!privateRecords || privateRecords.feeds.length === 0 || lookUps.length === 0) return [];
  const limit = limits.osvCandidatesMax;
  return splitLookUps(lookUps, await findPrivatePackageDocuments(read, privateRecords.feeds, lookUps, limit), limit, limit);
};

/** What was found for each, of `perPackage` rows at most for one and `limit` in all. */
const splitLookUps = (lookUps: readonly LookUp[], rows: readonly PackageDocument[], perPackage: number, limit: number): LookedUp[] => {
  const isCut = rows.length >= limit;
  const lastRead = isCut ? (rows.at(-1)?.ordinal ?? 0) : lookUps.length + 1;
  const byOrdinal = new Map<number, PackageDocument[]>();
  for (const row of rows) {
    const known = byOrdinal.get(row.ordinal);
    if (known) known.push(row);
    else byOrdinal.set(row.ordinal, [row]);
  }
  return lookUps.map(({ after }, index) => {
    const ordinal = index + 1;
    // The answer was full before it came to this one.
    if (ordinal > lastRead) return { rows: [], readTo: after };
    const found = byOrdinal.get(ordinal) ?? [];
    const isFull = found.length >= perPackage || ordinal === lastRead;
    const whole = wholeNumbers(found, isFull);
    return { rows: whole, readTo: isFull ? whole.at(-1)?.originId : undefined };
  });
};

const findOwn = async (
  reader: Reader,
  questions: readonly Question[],
): Promise<{ own: ReadonlyMap<string, JsonObject>; numbersOf: (asked: Package) => readonly string[] }> => {
  const isPrivate = reader.privateRecords !== undefined;
  const names = new Set(
    questions.flatMap(({ packages, after }) =>
      after === "" ? packages.flatMap(({ ecosystem, name }) => (isOwnEcosystem(ecosystem, isPrivate) ? [name] : [])) : [],
    ),
  );
  const none = new Map<string, JsonObject>();
  if (names.size === 0) return { own: none, numbersOf: () => [] };
  const limit = limits.osvCandidatesMax;
  const rows = await readOwnByArtifacts(reader, [...names], limit);
  const numbers = new Map<string, Set<string>>();
  for (const { artifactName, advisoryId } of rows) numbers.set(artifactName, (numbers.get(artifactName) ?? new Set()).add(advisoryId));
  const ids = [...new Set(rows.map(({ advisoryId }) => advisoryId))];
  const all = ids.length === 0 ? [] : await readOwnByIds(reader, ids, limit);
  if (rows.length >= limit || all.length >= limit) throw new Fault("INVALID_ARGUMENT", "too many records match these packages. Query fewer packages at once");
  return { own: await ownRecordsOf(reader, all), numbersOf: ({ name }) => [...(numbers.get(name) ?? [])] };
};

const judgeOwn = (own: ReadonlyMap<string, JsonObject>, numbers: readonly string[], { ecosystem, name }: Package, version: string): FoundRecord[] =>
  numbers.flatMap((number): FoundRecord[] => {
    const record = own.get(number);
    if (!record) return [];
    const entries = (Array.isArray(record.affected) ? record.affected : []).filter(isObject);
    const about = entries.filter(({ package: of }) => isObject(of) && text(of, "ecosystem") === ecosystem && text(of, "name") === name);
    if (about.length === 0 || (version !== "" && judgeVersion(record, { ecosystem, name }, version).verdict !== "affected")) return [];
    return [{ id: text(record, "id"), modified: text(record, "modified"), documentId: undefined }];
  });

/** An answer for each question, in their order. `perPackage`: records that are judged of a package. */
export const findAnswers = async (reader: Reader, questions: readonly Question[], perPackage: number): Promise<Answer[]> => {
  const { own, numbersOf } = await findOwn(reader, questions);
  const all = await lookUpsOf(reader, questions);
  // The same package behind several numbers is read once: for the others their own number says where to go on.
  const first = new Map<string, LookUp>();
  for (const each of all) {
    const key = JSON.stringify([each.ecosystem, each.name]);
    if (!first.has(key)) first.set(key, each);
  }
  const distinct = [...first.values()];
  const kinds = [await lookUp(reader, distinct, perPackage), await lookUpPrivately(reader, distinct)];
  const looked = new Map(distinct.map((each, index) => [each, kinds.flatMap((kind) => kind[index] ?? [])]));
  const byQuestion = questions.map((): { of: LookUp; looked: LookedUp }[] => []);
  for (const each of all) {
    const of = first.get(JSON.stringify([each.ecosystem, each.name]));
    const read = of?.after === each.after ? looked.get(of) : undefined;
    for (const kind of read ?? [{ rows: [], readTo: each.after }]) byQuestion[each.question]?.push({ of: each, looked: kind });
  }
  const long = byQuestion.flatMap((read) =>
    read.flatMap(({ of, looked: { rows } }) => (isToJudge(of) ? rows.flatMap((row) => (row.entries === undefined && isShown(row) ? [{ row, of }] : [])) : [])),
  );
  const chosen: { row: PackageDocument; of: LookUp }[][] = [];
  // One row may stand for several questions.
  const longAffected = new Map<string, Set<PackageDocument>>();
  for (const [key, candidates] of Map.groupBy(long, ({ of }) => verdictKey(of))) longAffected.set(key, await judgeLong(reader, candidates));
  for (const read of byQuestion) {
    const hits = read.flatMap(({ of, looked: { rows } }) =>
      rows
        .filter((row) => {
          if (!isShown(row)) return false;
          if (!isToJudge(of)) return true;
          return row.entries === undefined ? longAffected.get(verdictKey(of))?.has(row) === true : isAffected(of, entriesOf(row.entries));
        })
        .map((row) => ({ row, of })),
    );
    chosen.push(hits);
  }
  // What somebody sees besides may have the number of what is public, in another package.
  const isContested = (row: PackageDocument): boolean => row.contested || reader.privateRecords !== undefined;
  const contested = new Set(chosen.flatMap((hits) => hits.flatMap(({ row }) => (isContested(row) ? [row.originId] : []))));
  const published = await findPublished(reader, [...contested]);
  return questions.map(({ packages, after }, index) => {
    const others = new Map<string, FoundRecord>();
    for (const { row } of chosen[index] ?? []) {
      if (isContested(row) && !published.has(row.documentId)) continue;
      others.set(row.originId, { id: row.originId, modified: row.modified, documentId: row.documentId });
    }
    const readTo = (byQuestion[index] ?? []).map(({ looked: read }) => read.readTo).filter((each) => each !== undefined);
    // Of several packages the one that was read least far: what lies behind comes with the next page.
    const end = readTo.length === 0 ? undefined : readTo.reduce((least, each) => (each < least ? each : least));
    const sorted = [...others.values()].filter(({ id }) => end === undefined || id <= end).sort((one, other) => (one.id < other.id ? -1 : 1));
    const page = sorted.slice(0, limits.osvRecordsMax);
    const next = sorted.length > page.length ? page.at(-1)?.id : end;
    const mine = after === "" ? packages.flatMap((asked) => judgeOwn(own, numbersOf(asked), asked, asked.version)) : [];
    return { found: [...new Map(mine.map((each) => [each.id, each])).values(), ...page], nextPageToken: next === undefined ? "" : writeToken(next) };
  });
};

const isShown = ({ owned, license }: PackageDocument): boolean => owned && isPublishable(license);
