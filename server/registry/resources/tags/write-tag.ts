// Creates or moves tags, for CreateTag and pushes; UpdateTag changes one by uid.

import { missing } from "#base/fault.ts";
import { type JsonObject, part, text } from "#base/json.ts";
import { parentOf } from "#base/uid.ts";
import { type BoundResource, boundOf, change, lockResource, type Outcome, type ReportedBy, update, type WriteContext } from "#kernel";
import { fitsTagPolicy } from "#base/tag-policy.ts";
import { timestamp } from "#base/time.ts";
import { findDuePatterns, holdManifest, insertEndedTag, recheckTag } from "#registry/store";
import { lockNamed, type Row, StaleAccess } from "#db";

type DuePatterns = Awaited<ReturnType<typeof findDuePatterns>>;

const findDue = ({ rows, services }: WriteContext, repo: string): Promise<DuePatterns> => findDuePatterns(rows, repo, timestamp(services.clock()).slice(0, 10));

const isEnded = ({ patterns, repoName }: DuePatterns, name: string): boolean => fitsTagPolicy(patterns, repoName, name);

/** What writing a tag depends on, read together with what else a push reads. */
export interface TagReads {
  readonly due: Promise<DuePatterns>;
  /** The locked row; undefined if there is none. */
  readonly row: Promise<Row | undefined>;
}

/** Locks the tags of these names. */
export const startTagReads = (context: WriteContext, tags: BoundResource, repo: string, names: readonly string[]): ReadonlyMap<string, TagReads> => {
  if (names.length === 0) return new Map();
  const due = findDue(context, repo);
  due.catch(() => {});
  return new Map(
    names.map((name) => {
      const row = lockNamed(context.rows, tags.shape.table, repo, name);
      row.catch(() => {});
      return [name, { due, row }];
    }),
  );
};

export interface WrittenTag {
  readonly record: JsonObject;
  readonly changed: boolean;
  readonly before: JsonObject | undefined;
}

interface WriteTagOptions {
  /** Keeps fields that are missing in the body; otherwise they are cleared. */
  readonly keeping?: boolean;
  /** Throws if the condition of the request does not hold. The tag is locked, or undefined if it did not exist. */
  readonly check?: (before: JsonObject | undefined) => Promise<void> | void;
  /** From a transaction that has locked the manifest. It fails with StaleAccess if another one has created the tag meanwhile. */
  readonly reads?: TagReads | undefined;
}

/** Writes the tag of this name in a repo, which the caller has locked. */
export const writeTag = async (
  context: WriteContext,
  tags: BoundResource,
  repo: string,
  body: JsonObject,
  reportedBy: ReportedBy,
  { keeping = false, check, reads }: WriteTagOptions = {},
): Promise<WrittenTag> => {
  // Locks the manifest against collection until the tag exists.
  if (!reads) holdManifest(context.rows, repo, text(body, "digest"));
  const ended = isEnded(await (reads?.due ?? findDue(context, repo)), text(body, "name"));
  const end = ended ? { deprecated: true } : {};
  const found = await reads?.row;
  if (!found) {
    const create = { kind: "create", parent: repo, body: { ...body, ...end } } as const;
    const made = await change(context, tags, { ...create, ...(reads ? { takenFault: () => new StaleAccess() } : { unlessTaken: true }) }, reportedBy);
    if (made.changed) {
      await check?.(undefined);
      if (ended) await insertEndedTag(context.rows, text(made.record, "uid"));
      return { record: made.record, changed: true, before: undefined };
    }
  }
  const row = found ?? (await lockNamed(context.rows, tags.shape.table, repo, text(body, "name")));
  // Deleted between the two statements: retry.
  if (!row) return writeTag(context, tags, repo, body, reportedBy, { keeping, ...(check ? { check } : {}) });
  const before = tags.shape.read(row, 0);
  await check?.(before);
  const common = { uid: text(before, "uid"), createTime: text(before, "createTime"), updateTime: text(before, "updateTime") };
  // Version 1 may omit the digest, which then stays.
  const draft = { ...(keeping ? before : { digest: before.digest ?? "" }), ...body, ...end, ...common };
  const { record, changed } = await change(context, tags, { kind: "update", before, draft, isUpsert: true }, reportedBy);
  if (ended && before.deprecated !== true) await insertEndedTag(context.rows, text(before, "uid"));
  if (changed && before.digest !== record.digest) await recheckTag(context.rows, text(before, "uid"));
  return { record, changed, before };
};

/** Updates a tag by uid and mask. A policy that has ended its name keeps it deprecated. */
export const updateTag = async (context: WriteContext): Promise<Outcome> => {
  const tags = boundOf(context, "chainguard.platform.registry.v2.Tag");
  const body = part(context.request, "tag");
  const uid = text(body, "uid");
  const before = await lockResource(context, tags, uid);
  if (!before) throw missing(tags.domain, tags.fact.short, uid);
  const repo = parentOf(uid);
  const { mask } = context;
  const isRenamed = mask?.paths.some(([field]) => field === "name") ?? false;
  const ended = isEnded(await findDue(context, repo), text(isRenamed ? body : before, "name"));
  const asked = ended && mask ? { request: { tag: { ...body, deprecated: true } }, mask: { ...mask, paths: [...mask.paths, ["deprecated"]] } } : {};
  const outcome = await update(tags)({ ...context, ...asked });
  if (outcome.unchanged) return outcome;
  if (ended && before.deprecated !== true) await insertEndedTag(context.rows, uid);
  if (before.digest !== outcome.reply.digest) await recheckTag(context.rows, uid);
  return outcome;
};
