// Decides which document a record is taken from (docs/decisions/0022). Of all documents that assert it, the latest modified wins,
// among equally old ones the first. A record that no document asserts is withdrawn, and restored when one asserts it again.
// Callers pass the records of added and removed documents, and rows are written from the winning documents.

import { limits } from "#base/limits.ts";
import {
  addAdvisoriesToMatch,
  addCounts,
  addOwnedCounts,
  deleteSuccessors,
  deleteVulnerabilities,
  type DocumentDraft,
  type DocumentPart,
  type DocumentStep,
  type FeedRecord,
  findDroppedAdvisories,
  findDroppedVulnerabilities,
  findSourceDocuments,
  findPublicNumbers,
  findPublicVulnerabilities,
  findAssertions,
  findAssertionsOfNumbers,
  findAssertedAdvisories,
  findAssertedOrigins,
  findAssertedVulnerabilities,
  type GoneRecord,
  type HeldRecord,
  isFact,
  markAdvisoriesPublic,
  markDocumentsPublic,
  noCounts,
  noOwnedCounts,
  type OwnedCounts,
  recordKey,
  type RecordAssertion,
  type Successor,
  type Assertion,
  type AssertedRow,
  vulnerabilityKey,
  withdrawAdvisories,
  withdrawVulnerabilities,
  type WriteCounts,
  type WrittenDocuments,
  writeDocuments,
  writeFacts,
  writeSuccessors,
} from "#advisories/store";
import type { Write } from "#db";
import { writeRecords } from "./write-records.ts";
import type { ReadDocument } from "./document.ts";
import { osvForms } from "./documents/osv-value.ts";
import { Field } from "./field.ts";
import { type AppearedRecord, findRenamed } from "./find-renamed.ts";
import { FieldError } from "./invalid.ts";
import { isPublishable } from "./licenses.ts";
import { formats } from "./recognise.ts";
import { valueOfStored } from "./stored-document.ts";

/** Kinds with stored documents. */
export type AssertedKind = "advisories" | "vulnerabilities";

export const isAssertedKind = (kind: string): kind is AssertedKind => kind === "advisories" || kind === "vulnerabilities";

export interface TellContext {
  readonly kind: AssertedKind;
  readonly group: string;
  /** The imported source's row, key and license. */
  readonly feed: string;
  readonly source: string;
  readonly license: string;
  /** Undefined keeps the visibility. */
  readonly public: boolean | undefined;
  readonly run: number;
  readonly allowOlder: boolean;
  readonly nowMs: number;
}

export interface AssertedParts {
  readonly counts: OwnedCounts;
  /** Records that did not replace newer ones. */
  readonly older: readonly HeldRecord[];
  /** Read again next time. */
  readonly olderParts: readonly { readonly name: string; readonly part: number }[];
}

/** Advisories belong to their group; vulnerability records are public or belong to a group. */
interface Scope {
  readonly owner: "group" | "everybody";
  /** The record has moved to the other owner, so it is deleted, not shown as withdrawn. */
  readonly hasMoved?: boolean;
}

/** Record keys, with the IDs of the asserting documents. */
type Keys = ReadonlyMap<string, string>;

type Drafts = ReadonlyMap<string, readonly FeedRecord[]>;

/** Assertions of documents that did not exist before, which need not be looked up. */
interface NewAssertions {
  /** The least ID of these documents. All later ones are among them, since the feeds of the kind and group are locked. */
  readonly first: string | undefined;
  /** Oldest first. */
  readonly assertions: readonly Assertion[];
}

const noNewAssertions: NewAssertions = { first: undefined, assertions: [] };

const isShown = ({ public: wanted, license }: Pick<Assertion, "public" | "license">): boolean => wanted && isPublishable(license);

/** A public record is not replaced by one with a license that forbids publication. */
const chooseAssertion = (assertions: readonly Assertion[], row: AssertedRow | undefined): Assertion | undefined => {
  const allowed = row?.isPublic ? assertions.filter(({ license }) => isPublishable(license)) : [];
  let best: Assertion | undefined;
  for (const each of allowed.length > 0 ? allowed : assertions) {
    if (!best || (each.modifiedMs ?? Number.NEGATIVE_INFINITY) > (best.modifiedMs ?? Number.NEGATIVE_INFINITY)) best = each;
  }
  return best;
};

const findRowsOfOwner = (rows: Write, { kind, group }: Pick<TellContext, "kind" | "group">, { owner }: Scope, keys: Keys): Promise<AssertedRow[]> =>
  kind === "advisories"
    ? findAssertedAdvisories(rows, group, [...keys.keys()])
    : findAssertedVulnerabilities(rows, owner === "everybody" ? "" : group, [...new Set(keys.values())]);

const findRowsOf = async (rows: Write, context: Pick<TellContext, "kind" | "group">, keys: Keys): Promise<AssertedRow[]> => [
  ...(await findRowsOfOwner(rows, context, { owner: "group" }, keys)),
  ...(context.kind === "vulnerabilities" ? await findRowsOfOwner(rows, context, { owner: "everybody" }, keys) : []),
];

const findAssertionsOf = async (
  rows: Write,
  { kind, group }: TellContext,
  { owner }: Scope,
  keys: Keys,
  { first, assertions }: NewAssertions,
): Promise<Map<string, Assertion[]>> => {
  const found = await findAssertions(rows, kind, owner === "everybody" ? undefined : group, [...keys.keys()], first);
  const byKey = new Map<string, Assertion[]>();
  for (const each of [...found, ...assertions.filter(({ key }) => keys.has(key))]) {
    if (kind === "vulnerabilities" && isShown(each) !== (owner === "everybody")) continue;
    const known = byKey.get(each.key);
    if (known) known.push(each);
    else byKey.set(each.key, [each]);
  }
  return byKey;
};

/** Returns none if the format now refuses the document. */
const readAgain = (kind: AssertedKind, { form, author, body }: { readonly form: string; readonly author: string; readonly body: string }): FeedRecord[] => {
  try {
    const format = formats.find(({ name }) => name === form);
    return format?.read(new Field(valueOfStored(body)), { kind, author: author === "" ? undefined : author }) ?? [];
  } catch (thrown) {
    if (thrown instanceof FieldError) return [];
    throw thrown;
  }
};

const withdraw = (rows: Write, { kind, group, nowMs }: TellContext, { owner, hasMoved = false }: Scope, keys: Keys): Promise<number> => {
  if (kind === "advisories") {
    const uids = [...keys.keys()].map((key) => `${group}/${key}`);
    return withdrawAdvisories(rows, uids, nowMs);
  }
  const ids = [...new Set(keys.values())];
  const place = owner === "everybody" ? "" : group;
  return hasMoved ? deleteVulnerabilities(rows, place, ids) : withdrawVulnerabilities(rows, place, ids, nowMs);
};

const inChunks = function* (assertions: Iterable<Assertion>): Generator<string[]> {
  const sizes = new Map([...assertions].map(({ id, storedBytes }) => [id, storedBytes]));
  let chunk: string[] = [];
  let bytes = 0;
  for (const [id, size] of sizes) {
    if (chunk.length > 0 && (bytes + size > limits.feedAgainBytes || chunk.length >= limits.feedBatchRecords)) {
      yield chunk;
      [chunk, bytes] = [[], 0];
    }
    chunk.push(id);
    bytes += size;
  }
  if (chunk.length > 0) yield chunk;
};

/** Documents of one ID from several sources, in formats available as OSV. One wins for the ID, with all its packages. */
interface Rivals {
  readonly keys: Keys;
  readonly assertions: readonly Assertion[];
}

/** Finds rivals; for removed documents these are the remaining ones. */
const findRivals = async (rows: Write, { kind, group }: TellContext, numbers: readonly string[], least: number): Promise<Rivals> => {
  const assertions = kind === "advisories" ? await findAssertionsOfNumbers(rows, { kind, group, forms: osvForms, least }, [...new Set(numbers)]) : [];
  return { keys: new Map(assertions.map(({ key, originId }) => [key, originId])), assertions };
};

/** Returns the losing documents. Their packages do not count, as in responses to scanners (documents/published.ts). */
const findOutvoted = ({ assertions }: Rivals, stored: ReadonlyMap<string, AssertedRow>): Set<string> => {
  const outvoted = new Set<string>();
  for (const same of Map.groupBy(assertions, ({ originId }) => originId).values()) {
    const row = same.map(({ key }) => stored.get(key)).find((each) => each?.isPublic);
    const best = chooseAssertion(same, row);
    for (const { id } of same) if (id !== best?.id) outvoted.add(id);
  }
  return outvoted;
};

/** Writes rows from winning documents, and withdraws those without a document. */
const reassignScope = async (rows: Write, context: TellContext, scope: Scope, given: Keys, drafts: Drafts, added: NewAssertions): Promise<WriteCounts> => {
  if (given.size === 0) return noCounts;
  const rivals = await findRivals(rows, context, [...given.values()], drafts.size > 0 ? 2 : 1);
  const keys: Keys = new Map([...rivals.keys, ...given]);
  const stored = new Map((await findRowsOfOwner(rows, context, scope, keys)).map((row) => [row.key, row]));
  const outvoted = findOutvoted(rivals, stored);
  const assertions = new Map(
    [...(await findAssertionsOf(rows, context, scope, keys, added))].map(([key, some]) => [
      key,
      outvoted.size === 0 ? some : some.filter(({ id }) => !outvoted.has(id)),
    ]),
  );
  let counts = noCounts;
  const chosen = new Map<string, Assertion>();
  const again = new Map<string, Assertion>();
  const gone = new Map<string, string>();
  for (const [key, number] of keys) {
    const row = stored.get(key);
    const best = chooseAssertion(assertions.get(key) ?? [], row);
    if (best && drafts.has(best.id)) chosen.set(key, best);
    else if (best && !(row?.isAsserted && row.documentId === best.id)) again.set(key, best);
    else if (best) counts = addCounts(counts, { ...noCounts, unchanged: 1 });
    // Records written by the previous version have no document.
    else if (row?.documentId !== undefined && (row.isAsserted || scope.hasMoved)) gone.set(key, number);
  }
  const write = async (by: ReadonlyMap<string, Assertion>, records: readonly FeedRecord[], said: boolean | undefined): Promise<void> => {
    // Each row names its asserting source.
    for (const source of new Set([...by.values()].map(({ feed }) => feed))) {
      const mine = records.filter((record) => by.get(recordKey(record))?.feed === source);
      const target = {
        group: context.group,
        public: context.kind === "advisories" ? said : scope.owner === "everybody",
        feed: source,
        nowMs: context.nowMs,
        assertions: new Map([...by].map(([key, each]): [string, RecordAssertion] => [key, assertionOf(each)])),
      };
      const written = await writeRecords(rows, target, mine);
      counts = addCounts(counts, addCounts(written.group, written.everybody));
    }
  };
  await write(chosen, recordsOf(chosen, drafts), context.public);
  for (const ids of inChunks(again.values())) {
    const found = await findSourceDocuments(rows, ids);
    const read = new Map(found.map((document) => [document.id, readAgain(context.kind, document)]));
    await write(again, recordsOf(new Map([...again].filter(([, { id }]) => read.has(id))), read), undefined);
  }
  if (gone.size > 0) counts = addCounts(counts, { ...noCounts, withdrawn: await withdraw(rows, context, scope, gone) });
  return counts;
};

/** One document of these formats has several IDs, each with separate visibility. */
const collections = new Set(["wolfi", "secdb", "debian"]);

const assertionOf = ({ id, form, public: wanted, license }: Assertion): RecordAssertion => ({
  id,
  form,
  public: wanted && !collections.has(form),
  isPublishable: isPublishable(license),
});

/** Returns each record from the document chosen for it. */
const recordsOf = (chosen: ReadonlyMap<string, Assertion>, drafts: Drafts): FeedRecord[] => {
  const wanted = new Set([...chosen.values()].map(({ id }) => id));
  return [...wanted].flatMap((id) => (drafts.get(id) ?? []).filter((record) => chosen.get(recordKey(record))?.id === id));
};

/** Reassigns records: of advisories the group's, of vulnerability records both owners'. */
const reassign = async (
  rows: Write,
  context: TellContext,
  keys: { readonly group: Keys; readonly everybody: Keys; readonly hasMoved?: boolean },
  drafts: Drafts = new Map(),
  added = noNewAssertions,
): Promise<OwnedCounts> => {
  const reassignOwner = (owner: Scope["owner"]): Promise<WriteCounts> =>
    reassignScope(rows, context, { owner, ...(keys.hasMoved ? { hasMoved: true } : {}) }, keys[owner], drafts, added);
  // Removals first, then additions.
  return { group: await reassignOwner("group"), everybody: await reassignOwner("everybody") };
};

const ownerOf = ({ kind }: TellContext, document: Pick<Assertion, "public" | "license">): Scope["owner"] =>
  kind === "vulnerabilities" && isShown(document) ? "everybody" : "group";

const noDocument = { id: "", isOlder: true, keptModifiedMs: undefined, isPending: false, public: false, wasPublic: undefined };

const appearedOf = (records: readonly FeedRecord[]): (AppearedRecord & { readonly key: string })[] =>
  records.flatMap((record) => {
    if (record.kind === "vulnerability") return [{ key: recordKey(record), id: record.id, aliases: record.aliases, artifact: "" }];
    if (record.kind !== "advisory") return [];
    const { advisoryId, aliases, artifactType, artifactName } = record;
    return [{ key: recordKey(record), id: advisoryId, aliases, artifact: `${artifactType}/${artifactName}` }];
  });

interface GivenDocument {
  readonly draft: DocumentDraft;
  readonly records: readonly FeedRecord[];
}

/** Stores new IDs of renamed records, before the old rows change. A first import renames nothing. */
const noteRenamed = async (
  rows: Write,
  { kind, group, feed, run }: TellContext,
  parts: readonly Pick<DocumentPart, "name" | "part">[],
  given: readonly (GivenDocument & Pick<DocumentPart, "name" | "part">)[],
  { documents, dropped, singles }: WrittenDocuments,
): Promise<void> => {
  if (run === 1) return;
  // Documents with several IDs may gain single records.
  const mayAppear = given.filter(({ draft }, index) => documents[index]?.isOlder === false && (documents[index].isNew || collections.has(draft.form)));
  const candidates = new Map(mayAppear.map((each) => [each, appearedOf(each.records)]));
  const keys = [...candidates.values()].flat();
  if (keys.length === 0) return;
  const before = await findRowsOf(rows, { kind, group }, new Map(keys.map(({ key, id }) => [key, id])));
  const known = new Set(before.filter(({ isAsserted }) => isAsserted).map(({ key }) => key));
  const appeared = new Map([...candidates].map(([each, records]) => [each, records.filter(({ key }) => !known.has(key))]));
  const all = [...appeared.values()].flat();
  // A record that reappeared was not renamed.
  const back = [...candidates].flatMap(([{ draft }, records]) => (collections.has(draft.form) ? [] : records));
  await deleteSuccessors(rows, feed, [...new Set([...back, ...all].map(({ id }) => id))]);
  const aliases = [...new Set(all.flatMap((each) => each.aliases))];
  const named = await findAssertedOrigins(rows, feed, aliases);
  const renamed = all.flatMap(({ id, aliases: own }) => own.flatMap((oldId): Successor[] => (named.has(oldId) ? [{ oldId, newId: id }] : [])));
  if (dropped.length > 0) {
    const ids = new Map(dropped.map(({ key, originId }) => [key, originId]));
    const facts = kind === "advisories" ? await findDroppedAdvisories(rows, group, [...ids.keys()]) : await findDroppedVulnerabilities(rows, ["", group], ids);
    const present = new Set(given.flatMap(({ records }) => appearedOf(records).map(({ id }) => id)));
    for (const { name, part } of parts) {
      const here = new Set(dropped.filter((each) => each.file === name && each.part === part).map(({ key }) => key));
      if (here.size === 0) continue;
      renamed.push(
        ...findRenamed({
          // A record with a remaining ID only lost packages.
          dropped: facts.filter(({ key, id }) => here.has(key) && !present.has(id)),
          appeared: [...appeared].flatMap(([each, records]) => (each.name === name && each.part === part ? records : [])),
          isOneDocument: singles.some((each) => each.file === name && each.part === part),
        }),
      );
    }
  }
  await writeSuccessors(rows, feed, renamed);
};

const newAssertionsOf = ({ source, license }: TellContext, given: readonly GivenDocument[], { documents }: WrittenDocuments): NewAssertions => {
  const added = given.flatMap(({ draft }, index) => {
    const document = documents[index];
    return document && document.wasPublic === undefined && !document.isOlder ? [{ draft, id: document.id, public: document.public }] : [];
  });
  // Of a repeated document the last counts, as it is stored.
  const byId = [...new Map(added.map((each) => [each.id, each])).values()].sort((one, other) => Number(one.id) - Number(other.id));
  const assertions = byId.flatMap(({ draft, id, public: isPublic }) =>
    [...draft.records].map(([key, modified]): Assertion => {
      const { form, originId, body } = draft;
      const modifiedMs = modified === "" ? undefined : Date.parse(modified);
      return { key, id, form, originId, feed: source, public: isPublic, license: draft.license || license, modifiedMs, storedBytes: body.length };
    }),
  );
  return { first: byId[0]?.id, assertions };
};

/** Writes documents and the records that they assert. */
export const tellParts = async (
  rows: Write,
  context: TellContext,
  parts: readonly (Omit<DocumentPart, "documents"> & { readonly documents: readonly ReadDocument[] })[],
): Promise<AssertedParts> => {
  const { kind, group, feed, source, license, run, allowOlder, nowMs } = context;
  const given = parts.flatMap(({ name, part, documents: read }) => read.flatMap(({ draft, records }) => (draft ? [{ name, part, draft, records }] : [])));
  const written = await writeDocuments(
    rows,
    { feed, public: context.public, run, allowOlder, nowMs },
    parts.map((part) => ({ ...part, documents: part.documents.flatMap(({ draft }) => draft ?? []) })),
    (numbers) => (kind === "advisories" ? findPublicNumbers(rows, group, numbers) : findPublicVulnerabilities(rows, source, numbers)),
  );
  const { documents } = written;
  await noteRenamed(rows, context, parts, given, written);
  const keys = { group: new Map<string, string>(), everybody: new Map<string, string>() };
  const left = { group: new Map<string, string>(), everybody: new Map<string, string>(), hasMoved: true };
  const drafts = new Map<string, readonly FeedRecord[]>();
  for (const [index, { draft, records }] of given.entries()) {
    const { id, isOlder, isPending, public: isPublic, wasPublic } = documents[index] ?? noDocument;
    if (isOlder || isPending) continue;
    drafts.set(id, records);
    const owner = ownerOf(context, { license: draft.license || license, public: isPublic });
    const other = owner === "group" ? "everybody" : "group";
    for (const key of draft.records.keys()) {
      keys[owner].set(key, draft.originId);
      // The record may have had the other owner, by visibility or license.
      if (kind === "vulnerabilities" && wasPublic !== undefined) left[other].set(key, draft.originId);
    }
  }
  await reassign(rows, context, left);
  const counts = await reassign(rows, context, keys, drafts, newAssertionsOf(context, given, written));
  // Affected versions may change even if the row does not.
  const rewritten = given.flatMap(({ draft }, index) =>
    documents[index]?.wasPublic === undefined || documents[index].isOlder || documents[index].isPending ? [] : [...draft.records.keys()],
  );
  if (kind === "advisories") {
    await addAdvisoriesToMatch(
      rows,
      rewritten.map((key) => `${group}/${key}`),
    );
  }
  // Lists of source packages are not stored.
  const untold = parts.flatMap(({ documents }) => documents).flatMap(({ draft, records }) => (draft ? [] : records));
  const others = untold.filter((record) => !isFact(record));
  const target = { feed, group, public: factsPublic(context), run, allowOlder };
  const facts = await writeFacts(rows, target, untold.filter(isFact));
  const other = others.length === 0 ? noOwnedCounts : await writeRecords(rows, { group, public: context.public, feed: source, nowMs }, others);
  const older = given.flatMap(({ draft }, index): HeldRecord[] => {
    const { id, isOlder, keptModifiedMs } = documents[index] ?? noDocument;
    if (!isOlder) return [];
    const modifyTime = keptModifiedMs === undefined ? "" : new Date(keptModifiedMs).toISOString();
    return [{ kind: "OLDER", key: id, recordId: draft.originId, packageName: "", modifyTime, sourceModifyTime: draft.modifyTime }];
  });
  let first = 0;
  const olderParts = parts.filter((each) => {
    const count = each.documents.filter(({ draft }) => draft !== undefined).length;
    first += count;
    return facts.older.length > 0 || documents.slice(first - count, first).some(({ isOlder }) => isOlder);
  });
  return {
    counts: [facts.counts, other].reduce<OwnedCounts>(
      addOwnedCounts,
      addOwnedCounts(counts, { ...noOwnedCounts, group: { ...noCounts, unchanged: older.length } }),
    ),
    older: [...older, ...facts.older],
    olderParts,
  };
};

/** Returns the visibility of facts, which have no documents: their source's license decides. */
export const factsPublic = ({ public: said, license }: TellContext): boolean | undefined => (isPublishable(license) ? said : false);

/** Reassigns records that a document no longer asserts. */
export const reassignGone = async (rows: Write, context: TellContext, gone: readonly GoneRecord[]): Promise<OwnedCounts> => {
  const all = new Map(gone.map(({ key, originId }) => [key, originId]));
  // The former owner is not always known; an asserted row stays unchanged.
  return withoutUnchanged(await reassign(rows, context, { group: all, everybody: context.kind === "vulnerabilities" ? all : new Map() }));
};

/** Changes the visibility of a step's documents. */
export const markStep = async (rows: Write, context: TellContext, isPublic: boolean, { originIds, keys, licenses }: DocumentStep): Promise<OwnedCounts> => {
  const { kind, group, feed, license, nowMs } = context;
  const other = await markDocumentsPublic(rows, feed, originIds, isPublic, nowMs);
  if (kind === "vulnerabilities") return reassignMoved(rows, context, new Map(other.map((id) => [vulnerabilityKey(id), id])));
  // If the step's own documents may be published, no other one needs to be looked up.
  const isAllowed = [...licenses].every((each) => isPublishable(each || license));
  const allowed = isPublic ? (isAllowed ? new Set(keys) : await findPublishableKeys(rows, context, keys)) : new Set<string>();
  const changed =
    (await markAdvisoriesPublic(rows, group, [...allowed], true, nowMs)) +
    (await markAdvisoriesPublic(
      rows,
      group,
      keys.filter((key) => !allowed.has(key)),
      false,
      nowMs,
    ));
  return { group: { ...noCounts, changed }, everybody: noCounts };
};

/** Reassigns records after a change of visibility, which changes the owner of vulnerability records. */
const reassignMoved = async (rows: Write, context: TellContext, keys: Keys): Promise<OwnedCounts> =>
  withoutUnchanged(await reassign(rows, context, { group: keys, everybody: keys, hasMoved: true }));

const withoutUnchanged = ({ group, everybody }: OwnedCounts): OwnedCounts => ({
  group: { ...group, unchanged: 0 },
  everybody: { ...everybody, unchanged: 0 },
});

/** Returns the advisories asserted by a document with a license for publication. */
const findPublishableKeys = async (rows: Write, context: TellContext, keys: readonly string[]): Promise<Set<string>> => {
  const assertions = await findAssertions(rows, context.kind, context.group, keys);
  return new Set(assertions.filter(({ license }) => isPublishable(license)).map(({ key }) => key));
};
