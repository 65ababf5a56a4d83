// Promotion of an image to another repo, in one transaction: the blobs are mounted, and manifests, referrers and tags copied, so that
// either nothing or everything is visible. No content is read or written.

import { missingCapability } from "#authz";
import { blocked, Fault, invalid, missing } from "#base/fault.ts";
import { type JsonObject, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { isUid } from "#base/uid.ts";
import { boundOf, change, type FindPlace, type Outcome, resource, type WriteContext } from "#kernel";
import {
  copyImageFacts,
  copyManifests,
  findIndexesOf,
  findManifestByDigest,
  findManifestByTag,
  findManifestsAround,
  findRepoByName,
  findTagDigests,
  holdManifests,
  mountManifestBlobs,
  type StoredManifest,
  useManifests,
} from "#registry/store";
import { noteDocuments } from "./distribution/carried-sboms.ts";
import { readDigest } from "./distribution/digest.ts";
import { tellIndexesOf } from "./distribution/image-facts.ts";
import { readManifest } from "./distribution/manifest.ts";
import { etagsOfTag } from "./distribution/manifests.ts";
import { findRepoPlace } from "./distribution/place.ts";
import { type KnownRepo, repoForManifest } from "./distribution/repo.ts";
import { namingStorageQuota } from "./distribution/storage-quota.ts";
import { requireCondition } from "./tags/write-condition.ts";
import { writeTag } from "./tags/write-tag.ts";

/** The permissions of a pull, in the source. */
const pullCapabilities = ["manifest.list", "repo.blobs.get", "referrers.list"];

/** Returns the words of the API for a fault of the distribution protocol. */
const inApiWords = (fault: Fault, field: string, name: string): Fault => {
  if (fault.code === "NOT_FOUND") return missing("registry", "Repo", name);
  return fault.code === "INVALID_ARGUMENT" ? invalid([{ field, description: fault.message }]) : fault;
};

/** Returns the uid of the source. A repo that the caller may not see is like an absent one. */
const findSource = async ({ request, rights, rows }: Parameters<FindPlace>[0]): Promise<string | Fault> => {
  const name = text(request, "sourceRepo");
  if (isUid(name)) return name;
  const found = await findRepoByName(rows, name);
  const isSeen = found && [["repo.list"], pullCapabilities].some((each) => missingCapability(rights, each, found.uid) === undefined);
  return isSeen ? found.uid : missing("registry", "Repo", name);
};

const findPlaces: FindPlace = async (asked) => {
  const name = text(asked.request, "repo");
  // The permission for a uid is decided without a look at what exists.
  const target = isUid(name) ? { path: name, request: asked.request } : await findRepoPlace(asked);
  if (target instanceof Fault) return inApiWords(target, "repo", name);
  // Without a permission in the target, nothing is said of the source.
  const isDenied = missingCapability(asked.rights, asked.method.capabilities, target.path) !== undefined;
  const source = text(asked.request, "sourceRepo");
  // A longer one is refused by validation.
  const isTooLong = source.length > (asked.method.input.byName.get("source_repo")?.maxLength ?? 0);
  if (isDenied || isTooLong || source === "") return target;
  const sourceRepo = await findSource(asked);
  return sourceRepo instanceof Fault ? sourceRepo : { ...target, request: { ...target.request, sourceRepo } };
};

/** Tags by which older clients store signatures, SBOMs, attestations and referrers of a digest. */
const tagsAbout = (sha256: string): string[] => {
  const base = sha256.replace(":", "-");
  return [base, `${base}.sig`, `${base}.att`, `${base}.sbom`];
};

interface Promoted {
  /** In the order in which they were found: the image first. */
  readonly digests: readonly string[];
  /** Tags about them, by name. */
  readonly tags: ReadonlyMap<string, string>;
}

/** Returns everything that belongs to the image, in the source. Throws FAILED_PRECONDITION if it is too much. */
const collect = async ({ rows }: WriteContext, source: string, image: string): Promise<Promoted> => {
  const digests = new Set([image]);
  const tags = new Map<string, string>();
  for (let fresh = [image]; fresh.length > 0; ) {
    const about = await findTagDigests(rows, source, fresh.flatMap(tagsAbout));
    for (const [name, digest] of about) tags.set(name, digest);
    const found = [...about.values(), ...(await findManifestsAround(rows, source, fresh, limits.promotedManifestsMax + 1))];
    fresh = [...new Set(found)].filter((each) => !digests.has(each));
    for (const each of fresh) digests.add(each);
    if (digests.size > limits.promotedManifestsMax)
      throw blocked("PROMOTION_TOO_LARGE", source, [`cannot promote an image with more than ${limits.promotedManifestsMax} manifests and referrers`]);
  }
  return { digests: [...digests], tags };
};

const findImage = async ({ rows }: WriteContext, source: string, reference: string): Promise<StoredManifest> => {
  const isByDigest = reference.includes(":");
  const found = isByDigest ? await findManifestByDigest(rows, source, readDigest(reference).text) : await findManifestByTag(rows, source, reference);
  if (!found) throw missing("registry", isByDigest ? "Manifest" : "Tag", reference);
  return found;
};

const targetOf = async (context: WriteContext): Promise<KnownRepo> => {
  try {
    return await repoForManifest(context);
  } catch (thrown) {
    throw thrown instanceof Fault ? inApiWords(thrown, "repo", text(context.request, "repo")) : thrown;
  }
};

const notCopied = (source: string, digests: readonly string[]): Fault =>
  blocked("BLOB_CORRUPT", source, [`cannot promote: the content of ${digests.join(", ")} is corrupt in the source; push it again`]);

/** Copies manifests with their blobs; returns the new ones. */
const copy = async (context: WriteContext, target: string, source: string, { digests, tags }: Promoted): Promise<ReadonlySet<string>> => {
  const { rows, nowMs } = context;
  const held = await holdManifests(rows, source, digests);
  // Deleted since they were found: the caller may try again.
  if (held.length < digests.length) throw new Fault("ABORTED", "the image has changed during the promotion. Try again");
  const hidden = await namingStorageQuota(target, mountManifestBlobs(rows, target, source, digests, nowMs, nowMs + limits.blobLeaseMs));
  if (hidden.length > 0) throw notCopied(source, hidden);
  const made = new Set(await copyManifests(rows, target, source, digests, nowMs));
  await useManifests(rows, target, digests, nowMs);
  const fresh = held.filter(({ sha256 }) => made.has(sha256));
  await copyImageFacts(rows, target, source, [...made]);
  const listed = fresh.flatMap(({ sha256, sha512 }) => [sha256, sha512]);
  const indexes = listed.length === 0 ? [] : await findIndexesOf(rows, target, listed);
  if (indexes.some((index) => !made.has(index))) for (const each of fresh) await tellIndexesOf(rows, target, each);
  for (const { sha256, content, mediaType } of fresh) {
    const names = [...tags].flatMap(([name, digest]) => (digest === sha256 ? [name] : []));
    await noteDocuments(rows, target, readManifest(Buffer.from(content), mediaType), names, nowMs);
  }
  return made;
};

/** Creates the tags about the copied digests. Returns their number, and the names that already had another digest. */
const copyTags = async (context: WriteContext, target: string, tags: ReadonlyMap<string, string>): Promise<{ made: number; kept: string[] }> => {
  const resource = boundOf(context, "chainguard.platform.registry.v2.Tag");
  const existing = tags.size === 0 ? new Map<string, string>() : await findTagDigests(context.rows, target, [...tags.keys()]);
  const kept: string[] = [];
  let made = 0;
  for (const [name, digest] of tags) {
    if (existing.get(name) === digest) continue;
    const { changed } = await change(context, resource, { kind: "create", parent: target, body: { name, digest }, unlessTaken: true }, "cause");
    if (changed) made++;
    else kept.push(name);
  }
  return { made, kept };
};

const promote = async (context: WriteContext): Promise<Outcome> => {
  const { request, rows, call } = context;
  const [source, reference] = [text(request, "sourceRepo"), text(request, "sourceReference")];
  context.require(pullCapabilities, source);
  const sourceTag = reference.includes(":") ? "" : reference;
  const tag = text(request, "tag") || sourceTag;
  const image = await findImage(context, source, reference);
  const promoted = await collect(context, source, image.sha256);
  const target = await targetOf(context);
  context.require(context.method.capabilities, target.uid);
  const made = await copy(context, target.uid, source, promoted);
  const about = await copyTags(context, target.uid, promoted.tags);
  const condition = { ifMatch: call.ifMatch, ifNoneMatch: call.ifNoneMatch };
  const check = async (before: JsonObject | undefined): Promise<void> =>
    requireCondition(condition, await etagsOfTag(rows, target.uid, text(before ?? {}, "digest")));
  const tags = boundOf(context, "chainguard.platform.registry.v2.Tag");
  const written = tag === "" ? undefined : await writeTag(context, tags, target.uid, { name: tag, digest: image.sha256 }, "cause", { keeping: true, check });
  const previous = text(written?.before ?? {}, "digest");
  return {
    reply: {
      repoUid: target.uid,
      ...(tag === "" ? {} : { tag }),
      digest: image.sha256,
      ...(previous === "" || previous === image.sha256 ? {} : { previousDigest: previous }),
      sourceRepoUid: source,
      ...(sourceTag === "" ? {} : { sourceTag }),
      ...(made.size === 0 ? {} : { manifestCount: made.size }),
      ...(about.kept.length === 0 ? {} : { keptTags: about.kept }),
    },
    unchanged: made.size === 0 && about.made === 0 && written?.changed !== true,
    headers: { etag: `"${image.sha256}"` },
  };
};

export const promotion = resource({
  service: "gantry.registry.v1.PromotionsService",
  message: "gantry.registry.v1.Promotion",
  findPlace: findPlaces,
  methods: { PromoteImage: { writes: promote } },
});
