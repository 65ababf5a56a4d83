// Reads, lists and deletes manifests.

import { blocked } from "#base/fault.ts";
import { text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { boundOf, change, type Outcome, type ReadContext, type WriteContext } from "#kernel";
import {
  type RequestedManifest,
  deleteImageFacts,
  deleteManifest as deleteManifestRow,
  findManifestByDigest,
  findManifestByTag,
  findReferrers,
  findTagsOfDigest,
  lockManifest,
  recheckTagsOf,
  type Referrer,
  useManifests,
} from "#registry/store";
import { deletePushedReportsOf, findAttachedSbom, deleteVulnReportsOf, withdrawSbomsOf } from "#advisories/store";
import { lockNamed, type Write } from "#db";
import { requireMutableManifest } from "../tags/immutable-tags.ts";
import { conditionIn, isConditional, requireCondition } from "../tags/write-condition.ts";
import { isDigest, readDigest } from "./digest.ts";
import { manifestUnknown } from "./faults.ts";
import { pageSizeOf } from "./page-size.ts";
import { countPull } from "./pull-records.ts";
import { notePull } from "./pulls.ts";
import { holdRepo, requireRepo } from "./repo.ts";
import { listTagNames } from "./tag-lists.ts";

const indexType = "application/vnd.oci.image.index.v1+json";

/** Returns the ETags of a tag: those of its manifest, by either digest. Empty without a manifest, as a Get does not find it. */
export const etagsOfTag = async (rows: Write, repo: string, digest: string): Promise<string[]> => {
  const manifest = digest === "" ? undefined : await lockManifest(rows, repo, digest, "key share");
  return manifest ? [`"${manifest.sha256}"`, `"${manifest.sha512}"`] : [];
};

/** Records the use from time to time, before the response; false if the manifest was collected meanwhile. */
const noteUse = async ({ services }: ReadContext, repo: string, { sha256, usedMs }: RequestedManifest): Promise<boolean> => {
  const nowMs = services.clock();
  if (nowMs - usedMs < limits.manifestUseMs) return true;
  return (await services.store.write((rows) => useManifests(rows, repo, [sha256], nowMs))) > 0;
};

export const getManifest = async (context: ReadContext): Promise<Outcome> => {
  const { request, rows } = context;
  const repo = text(request, "repo");
  const reference = text(request, "reference");
  const digest = reference.includes(":") ? readDigest(reference).text : undefined;
  const found = await (digest === undefined ? findManifestByTag(rows, repo, reference) : findManifestByDigest(rows, repo, digest));
  if (!found || !(await noteUse(context, repo, found))) throw manifestUnknown();
  const shown = digest ?? (found.algorithm === "sha512" ? found.sha512 : found.sha256);
  const tag = digest === undefined ? reference : "";
  notePull(context, { repo, tag, digest: shown, type: "manifest" });
  countPull(context, { repo, tag, sha256: found.sha256 });
  return { reply: { digest: shown }, content: { type: found.mediaType, sizeBytes: found.sizeBytes, open: async () => found.content } };
};

/**
 * Deletes the tags of the manifest as ordinary changes, then the manifest. Permanently: content can be pushed again, and its tags
 * would point to nothing.
 */
export const deleteManifest = async (context: WriteContext): Promise<Outcome> => {
  const { rows, request } = context;
  const digest = readDigest(text(request, "digest"));
  const repo = await holdRepo(context);
  const found = await lockManifest(rows, repo.uid, digest.text);
  if (!found) throw manifestUnknown();
  requireCondition(conditionIn(request), [`"${digest.text}"`]);
  await requireMutableManifest(rows, repo.uid, found.sha256);
  const tags = await findTagsOfDigest(rows, repo.uid, found.sha256, limits.deletedRowsMax + 1);
  if (tags.length > limits.deletedRowsMax)
    throw blocked("DELETION_TOO_LARGE", repo.uid, [`more than ${limits.deletedRowsMax} tags point at the manifest; delete some of them first`]);
  const resource = boundOf(context, "chainguard.platform.registry.v2.Tag");
  for (const uid of tags) await change(context, resource, { kind: "delete", uid, isForGood: true }, "row");
  await deleteImageFacts(rows, repo.uid, found.sha256);
  await withdrawSbomsOf(rows, repo.uid, found.sha256);
  await deletePushedReportsOf(rows, repo.uid, found.sha256);
  await deleteVulnReportsOf(rows, repo.uid, found.sha256, context.nowMs);
  await recheckTagsOf(rows, repo.uid);
  // The SBOM that the server attached to the image goes with it.
  const attached = await findAttachedSbom(rows, repo.uid, found.sha256);
  await deleteManifestRow(rows, repo.uid, found.sha256);
  if (attached !== undefined) await deleteManifestRow(rows, repo.uid, attached);
  return { reply: {} };
};

export const deleteRepoTag = async (context: WriteContext): Promise<Outcome> => {
  const repo = await holdRepo(context);
  const resource = boundOf(context, "chainguard.platform.registry.v2.Tag");
  const row = await lockNamed(context.rows, resource.shape.table, repo.uid, text(context.request, "tag"));
  if (!row) throw manifestUnknown();
  const tag = resource.shape.read(row, 0);
  const condition = conditionIn(context.request);
  if (isConditional(condition)) requireCondition(condition, await etagsOfTag(context.rows, repo.uid, text(tag, "digest")));
  await change(context, resource, { kind: "delete", uid: text(tag, "uid") }, "row");
  return { reply: {} };
};

export const listRepoTags = async (context: ReadContext): Promise<Outcome> => {
  const { request, rows } = context;
  const count = pageSizeOf(text(request, "n"), limits.tagNamesMax);
  const repo = text(request, "repo");
  const { tags, next } = count === 0 ? { tags: [], next: "" } : await listTagNames(rows, repo, text(request, "last"), count);
  if (tags.length === 0) await requireRepo(context);
  return { reply: { tags, ...(next === "" ? {} : { next }) } };
};

const descriptorOf = ({ mediaType, sha256, sizeBytes, artifactType, annotations }: Referrer) => ({
  mediaType,
  digest: sha256,
  size: sizeBytes,
  ...(artifactType === "" ? {} : { artifactType }),
  ...(annotations ? { annotations } : {}),
});

export const listReferrers = async (context: ReadContext): Promise<Outcome> => {
  const { request, rows } = context;
  const digest = readDigest(text(request, "digest"));
  const artifactType = text(request, "artifactType");
  const last = text(request, "last");
  const found = await findReferrers(rows, text(request, "repo"), digest.text, artifactType, isDigest(last) ? last : "", limits.referrersMax + 1);
  const shown = found.slice(0, limits.referrersMax);
  const content = JSON.stringify({ schemaVersion: 2, mediaType: indexType, manifests: shown.map(descriptorOf) });
  return {
    reply: {
      ...(found.length > shown.length ? { next: shown.at(-1)?.sha256 ?? "" } : {}),
      ...(artifactType === "" ? {} : { filters: ["artifactType"] }),
    },
    content: { type: indexType, sizeBytes: Buffer.byteLength(content), open: async () => content },
  };
};
