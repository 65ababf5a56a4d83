// Table image_sboms: pushed SBOMs, first waiting to be read, then with their packages. Deleted with the repo or the manifest.

import { columns, expression, number, type Read, type RowOf, text, time, type Write } from "#db";
import { columnOf, uidSegmentOf } from "./feed-rows.ts";

export interface PushedSbom {
  /** Of the image. */
  readonly digest: string;
  readonly manifestDigest: string;
  readonly documentDigest: string;
}

/** Queues SBOMs in the push's transaction. Returns the number of new ones. */
export const insertSboms = async (rows: Write, repoUid: string, pushed: readonly PushedSbom[], nowMs: number): Promise<number> => {
  const made = await rows.query(
    `insert into image_sboms (uid, repo_uid, digest, manifest_digest, document_digest, state, create_time, update_time, try_time)
     select uid, $1, digest, manifest_digest, document_digest, 'IMAGE_SBOM_STATE_WAITING', $6::timestamptz, $6::timestamptz, $6::timestamptz
     from unnest($2::text[], $3::text[], $4::text[], $5::text[]) as pushed(uid, digest, manifest_digest, document_digest)
     on conflict (uid) do update set state = excluded.state, try_time = excluded.try_time, tries = 0, matched = false, gone = false
       where image_sboms.gone
     returning 1`,
    [
      repoUid,
      columnOf(pushed, ({ digest, manifestDigest, documentDigest }) => `${repoUid}/${uidSegmentOf(digest, manifestDigest, documentDigest)}`),
      columnOf(pushed, ({ digest }) => digest),
      columnOf(pushed, ({ manifestDigest }) => manifestDigest),
      columnOf(pushed, ({ documentDigest }) => documentDigest),
      new Date(nowMs).toISOString(),
    ],
  );
  return made.length;
};

/** Withdraws a deleted manifest's SBOMs. Their rows are deleted once images are matched without them. */
export const withdrawSbomsOf = async (rows: Write, repoUid: string, manifestDigest: string): Promise<void> => {
  await rows.query(
    `update image_sboms set state = 'IMAGE_SBOM_STATE_UNREADABLE', problem = 'was deleted', packages = '{}', package_count = 0, unnamed_count = 0,
       matched = false, gone = true where repo_uid = $1 and manifest_digest = $2`,
    [repoUid, manifestDigest],
  );
};

/** The number of tries identifies the claim. */
export type WaitingSbom = RowOf<typeof waitingSbom>;

const waitingSbom = columns({
  uid: expression("held.uid", text),
  repoUid: expression("held.repo_uid", text),
  digest: expression("held.digest", text),
  documentDigest: expression("held.document_digest", text),
  tries: expression("held.tries", number),
});

/** Claims a due SBOM until `untilMs`. `served` has organizations by last service; the least recently served is next. */
export const claimSbom = (rows: Write, served: readonly string[], nowMs: number, untilMs: number): Promise<WaitingSbom | undefined> =>
  waitingSbom.findOne(
    rows,
    `update image_sboms as held set try_time = $3, tries = held.tries + 1
     where held.uid = (
       select uid from image_sboms where state = 'IMAGE_SBOM_STATE_WAITING' and try_time <= $2
       order by coalesce(array_position($1::text[], left(uid, 40)), 0), try_time, uid limit 1 for update skip locked)
     returning ${waitingSbom.list}`,
    [served, new Date(nowMs).toISOString(), new Date(untilMs).toISOString()],
  );

export const isSbomDue = async (rows: Read, nowMs: number): Promise<boolean> => {
  const [row] = await rows.query("select exists (select from image_sboms where state = 'IMAGE_SBOM_STATE_WAITING' and try_time <= $1)", [
    new Date(nowMs).toISOString(),
  ]);
  return row?.[0] === "t";
};

/** A document that is not an SBOM loses its row. */
export type SbomResult =
  | { readonly format: string; readonly packages: string; readonly count: number; readonly unnamed: number }
  | { readonly problem: string }
  | { readonly isOther: true };

/** Stores the result unless another server has claimed the SBOM since. */
export const completeSbom = async (rows: Write, { uid, tries }: WaitingSbom, result: SbomResult, nowMs: number): Promise<void> => {
  if ("isOther" in result) {
    await rows.query("delete from image_sboms where uid = $1 and tries = $2 and state = 'IMAGE_SBOM_STATE_WAITING'", [uid, tries]);
    return;
  }
  const read = "problem" in result ? { format: "", packages: "{}", count: 0, unnamed: 0 } : result;
  await rows.query(
    `update image_sboms set state = $3, format = $4, problem = $5, package_count = $6, unnamed_count = $7, packages = $8::jsonb,
       update_time = greatest($9::timestamptz, update_time + interval '1 ms'), matched = false
     where uid = $1 and tries = $2 and state = 'IMAGE_SBOM_STATE_WAITING'`,
    [
      uid,
      tries,
      "problem" in result ? "IMAGE_SBOM_STATE_UNREADABLE" : "IMAGE_SBOM_STATE_READ",
      read.format,
      "problem" in result ? result.problem : "",
      read.count,
      read.unnamed,
      read.packages,
      new Date(nowMs).toISOString(),
    ],
  );
};

export const postponeSbom = async (rows: Write, { uid, tries }: WaitingSbom, untilMs: number): Promise<void> => {
  await rows.query("update image_sboms set try_time = $3 where uid = $1 and tries = $2 and state = 'IMAGE_SBOM_STATE_WAITING'", [
    uid,
    tries,
    new Date(untilMs).toISOString(),
  ]);
};

const unmatchedRoot = columns({ root: expression("left(uid, 40)", text) });

export const findUnmatchedRoots = async (rows: Read): Promise<string[]> => {
  const found = await unmatchedRoot.find(
    rows,
    `select distinct ${unmatchedRoot.list} from image_sboms where not matched and state <> 'IMAGE_SBOM_STATE_WAITING' order by 1`,
  );
  return found.map(({ root }) => root);
};

/** Marks the SBOMs of an organization as matched. Call it in the matching transaction, before reading. */
export const markMatched = async (rows: Write, root: string): Promise<void> => {
  await rows.query("delete from image_sboms where left(uid, 40) = $1 and gone and not matched", [root]);
  await rows.query("update image_sboms set matched = true where left(uid, 40) = $1 and not matched and state <> 'IMAGE_SBOM_STATE_WAITING'", [root]);
};

export type ReadSbomRow = RowOf<typeof readSbomRow>;

const readSbomRow = columns({ uid: text, digest: text, manifestDigest: text, documentDigest: text, packageCount: number, updateTime: time("update_time") });

/** Returns the SBOMs of these images, most recently pushed first. */
export const findReadSboms = (rows: Read, repoUid: string, digests: readonly string[]): Promise<ReadSbomRow[]> =>
  readSbomRow.find(
    rows,
    `select ${readSbomRow.list} from image_sboms where left(uid, 40) = left($1, 40) and repo_uid = $1 and digest = any($2)
       and state = 'IMAGE_SBOM_STATE_READ' and not gone order by create_time desc, uid`,
    [repoUid, digests],
  );

const packageOfSbom = columns({
  sbom: expression("sbom.uid", text),
  name: expression("package.name", text),
  version: expression("installed.version", text),
});

/** Returns one row for each version. `names` are lower-case prefixes of the last segment of the name. */
export const findSbomPackages = (
  rows: Read,
  uids: readonly string[],
  names: readonly string[] | undefined,
  count: number,
): Promise<{ readonly sbom: string; readonly name: string; readonly version: string }[]> =>
  packageOfSbom.find(
    rows,
    `select ${packageOfSbom.list} from image_sboms as sbom cross join lateral jsonb_each(sbom.packages) as package(name, versions)
     cross join lateral jsonb_array_elements_text(case jsonb_typeof(package.versions) when 'array' then package.versions
       else jsonb_build_array(package.versions) end) as installed(version)
     where sbom.uid = any($1) and ($2::text[] is null or exists (
       select from unnest($2::text[]) as given(name) where starts_with(lower(regexp_replace(package.name, '^[^?]*/|[?].*$', '', 'g')), given.name)))
     order by sbom.uid, package.name, installed.version limit $3`,
    [uids, names ?? null, count],
    { rows: count, wide: true },
  );

const taggedSbom = columns({ repoUid: expression("given.repo_uid", text), tagDigest: expression("given.digest", text), uid: expression("sbom.uid", text) });

/** Returns the SBOMs of these digests and of their platforms. */
export const findSbomsBehind = (
  rows: Read,
  images: readonly { readonly repoUid: string; readonly digest: string }[],
): Promise<{ readonly repoUid: string; readonly tagDigest: string; readonly uid: string }[]> =>
  taggedSbom.find(
    rows,
    `select distinct ${taggedSbom.list} from unnest($1::text[], $2::text[]) as given(repo_uid, digest)
     join image_sboms as sbom on left(sbom.uid, 40) = left(given.repo_uid, 40) and sbom.repo_uid = given.repo_uid and sbom.digest in (
       select given.digest union all select digest from manifests as manifest where manifest.repo_uid = given.repo_uid and manifest.index_digest = given.digest)
     where sbom.state = 'IMAGE_SBOM_STATE_READ' and not sbom.gone order by 1, 2, 3`,
    [columnOf(images, ({ repoUid }) => repoUid), columnOf(images, ({ digest }) => digest)],
  );
