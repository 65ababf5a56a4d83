// Finds the records for a query: by package in a database index, then by version. No document is opened. Our advisories, few and
// built on demand, are on the first page.

import { Fault } from "#base/fault.ts";
import { isObject, type Json, type JsonObject, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { judgeVersion, type Package } from "#base/versions/affected.ts";
import { packageNameForms } from "#base/versions/package-name.ts";
import {
  findDocumentsOf,
  findNamedPackages,
  findOwnByArtifacts,
  findOwnByIds,
  findPackageDocuments,
  findPackageEntries,
  findPrivatePackageDocuments,
  type PackageDocument,
  type Reader,
} from "#advisories/store";
import { choosePresent } from "../documents/published.ts";
import { isOwnEcosystem } from "../documents/osv.ts";
import { isPublishable } from "../licenses.ts";
import { nameKey } from "./ecosystems.ts";
import { coversRelease } from "../formats/distribution.ts";
import { ownRecordsOf } from "../documents/own-records.ts";
import { type Question, type QuestionPackage, writeToken } from "./question.ts";

export interface FoundRecord {
  readonly id: string;
  readonly modified: string;
  /** The stored document; undefined for our advisories. */
  readonly documentId: string | undefined;
}

export interface Answer {
  readonly found: readonly FoundRecord[];
  /** "" on the last page. */
  readonly nextPageToken: string;
}

interface LookUp extends QuestionPackage {
  readonly question: number;
  readonly after: string;
}

const entriesOf = (json: string): JsonObject[] => {
  const read = JSON.parse(json) as Json;
  return Array.isArray(read) ? read.filter(isObject) : [];
};

/** Without a version, each entry of the release counts as affected. */
const isAffected = ({ ecosystem: asked, name, version, distribution }: LookUp, entries: readonly JsonObject[]): boolean =>
  entries.some((entry) => {
    const ecosystem = text(entry, "ecosystem") || asked;
    if (distribution && !coversRelease(ecosystem, distribution)) return false;
    return version === "" || judgeVersion({ affected: [{ ...entry, package: { ecosystem, name } }] }, { ecosystem, name }, version).verdict === "affected";
  });

const isToJudge = ({ version, distribution }: LookUp): boolean => version !== "" || distribution !== undefined;

const verdictKey = ({ version, distribution }: LookUp): string => JSON.stringify([version, distribution?.family, distribution?.release]);

/** Without an ecosystem, the name matches in all. */
const lookUpsOf = async (reader: Reader, questions: readonly Question[]): Promise<LookUp[]> => {
  const anywhere = questions.flatMap(({ packages }) => packages.flatMap(({ ecosystem, name }) => (ecosystem === "" ? packageNameForms(name) : [])));
  const named = anywhere.length === 0 ? [] : await findNamedPackages(reader, [...new Set(anywhere)], limits.osvCandidatesMax);
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

/** Evaluates large entries in batches. */
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

/** Returns the published ones among documents that share an ID. */
const findPublished = async (reader: Reader, originIds: readonly string[]): Promise<Set<string>> => {
  const published = new Set<string>();
  for (let from = 0; from < originIds.length; from += limits.osvRecordsMax) {
    const found = await findDocumentsOf(reader, originIds.slice(from, from + limits.osvRecordsMax), limits.osvCandidatesMax);
    const byNumber = Map.groupBy(found, ({ originId }) => originId);
    for (const documents of byNumber.values()) {
      const document = choosePresent("osv", documents);
      if (document) published.add(document.id);
    }
  }
  return published;
};

/** Drops the last ID of a full page, which may continue. */
const wholeNumbers = (rows: readonly PackageDocument[], isFull: boolean): readonly PackageDocument[] => {
  const last = rows.at(-1)?.originId;
  const whole = isFull ? rows.filter(({ originId }) => originId !== last) : rows;
  return whole.length > 0 ? whole : rows;
};

/** Rows that are complete up to the ID `readTo`, or entirely if it is undefined. */
interface LookedUp {
  readonly rows: readonly PackageDocument[];
  readonly readTo: string | undefined;
}

const lookUp = async ({ read }: Reader, lookUps: readonly LookUp[], perPackage: number): Promise<LookedUp[]> => {
  if (lookUps.length === 0) return [];
  const limit = limits.osvCandidatesMax;
  return splitLookUps(lookUps, await findPackageDocuments(read, lookUps, perPackage, limit), perPackage, limit);
};

/** Looks up private records. */
const lookUpPrivately = async ({ read, visibility }: Reader, lookUps: readonly LookUp[]): Promise<LookedUp[]> => {
  if (visibility === "public" || visibility.feeds.length === 0 || lookUps.length === 0) return [];
  const limit = limits.osvCandidatesMax;
  return splitLookUps(lookUps, await findPrivatePackageDocuments(read, visibility.feeds, lookUps, limit), limit, limit);
};

/** Splits the rows of a joint read, of at most `perPackage` for one lookup and `limit` overall. */
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
    // The overall limit was reached before.
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
  const packages = questions.flatMap((question) => (question.after === "" ? question.packages : []));
  const namesIn = (isWanted: (ecosystem: string) => boolean): string[] => [
    ...new Set(packages.flatMap(({ ecosystem, name }) => (isWanted(ecosystem) ? [name] : []))),
  ];
  const published = namesIn((ecosystem) => isOwnEcosystem(ecosystem));
  const visible = reader.visibility === "public" ? published : namesIn((ecosystem) => isOwnEcosystem(ecosystem, true));
  const none = new Map<string, JsonObject>();
  if (visible.length === 0) return { own: none, numbersOf: () => [] };
  const limit = limits.osvCandidatesMax;
  const rows = await findOwnByArtifacts(reader, { published, visible }, limit);
  const numbers = new Map<string, Set<string>>();
  for (const { artifactName, advisoryId } of rows) numbers.set(artifactName, (numbers.get(artifactName) ?? new Set()).add(advisoryId));
  const ids = [...new Set(rows.map(({ advisoryId }) => advisoryId))];
  const all = ids.length === 0 ? [] : await findOwnByIds(reader, ids, limit);
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

/** Answers queries in order. `perPackage` bounds the records evaluated for a package. */
export const findAnswers = async (reader: Reader, questions: readonly Question[], perPackage: number): Promise<Answer[]> => {
  const { own, numbersOf } = await findOwn(reader, questions);
  const all = await lookUpsOf(reader, questions);
  // Each package is read once; queries at other positions continue from there.
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
  // A private record may share an ID with a public one on another package.
  const isContested = (row: PackageDocument): boolean => row.contested || reader.visibility !== "public";
  const contested = new Set(chosen.flatMap((hits) => hits.flatMap(({ row }) => (isContested(row) ? [row.originId] : []))));
  const published = await findPublished(reader, [...contested]);
  return questions.map(({ packages, after }, index) => {
    const others = new Map<string, FoundRecord>();
    for (const { row } of chosen[index] ?? []) {
      if (isContested(row) && !published.has(row.documentId)) continue;
      others.set(row.originId, { id: row.originId, modified: row.modified, documentId: row.documentId });
    }
    const readTo = (byQuestion[index] ?? []).map(({ looked: read }) => read.readTo).filter((each) => each !== undefined);
    // The page ends where the least advanced lookup ended.
    const end = readTo.length === 0 ? undefined : readTo.reduce((least, each) => (each < least ? each : least));
    const sorted = [...others.values()].filter(({ id }) => end === undefined || id <= end).sort((one, other) => (one.id < other.id ? -1 : 1));
    const page = sorted.slice(0, limits.osvRecordsMax);
    const next = sorted.length > page.length ? page.at(-1)?.id : end;
    const mine = after === "" ? packages.flatMap((asked) => judgeOwn(own, numbersOf(asked), asked, asked.version)) : [];
    return { found: [...new Map(mine.map((each) => [each.id, each])).values(), ...page], nextPageToken: next === undefined ? "" : writeToken(next) };
  });
};

const isShown = ({ owned, license }: PackageDocument): boolean => owned && isPublishable(license);
