// Stores a manifest: reads it completely, checks it against the repo, and writes, in one transaction, its row, references, image
// facts, and tags as ordinary changes.

import { type JsonObject, text, texts } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { isUid } from "#base/uid.ts";
import { boundOf, type CallContent, type Outcome, type ReadContext, type Services, type WriteContext, type Writes } from "#kernel";
import { findPendingRepos, findRepoBlob, holdRepoBlobs, insertManifest, type RepoBlob, useManifests } from "#registry/store";
import { conditionIn, isConditional, requireCondition } from "../tags/write-condition.ts";
import { startTagReads, writeTag } from "../tags/write-tag.ts";
import { noteDocuments } from "./carried-sboms.ts";
import { isDigest, readDigest } from "./digest.ts";
import { blobsUnknown, digestInvalid, manifestInvalid, tagInvalid, tooManyTags } from "./faults.ts";
import { writeImageFacts } from "./image-facts.ts";
import { etagsOfTag } from "./manifests.ts";
import { type Platform, type ReadManifest, readManifest, readPlatform } from "./manifest.ts";
import { pushFacts } from "./push.ts";
import { repoForManifest } from "./repo.ts";

const tagForm = /^[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}$/;

const tooLarge = () => manifestInvalid(`has more than ${limits.manifestBytesMax} bytes`, 413);

const readContent = async (content: CallContent | undefined): Promise<Buffer> => {
  if (!content) throw manifestInvalid("is empty");
  if ((content.lengthBytes ?? 0) > limits.manifestBytesMax) throw tooLarge();
  const chunks: Uint8Array[] = [];
  let received = 0;
  for await (const chunk of content.bytes) {
    received += chunk.length;
    if (received > limits.manifestBytesMax) throw tooLarge();
    chunks.push(Uint8Array.from(chunk));
  }
  return Buffer.concat(chunks, received);
};

/** Manifests of requests that may be handled once more: their content arrives only once. */
const received = new WeakMap<CallContent, Buffer>();

const readOnce = async ({ call: { content }, isAssumed }: ReadContext): Promise<Buffer> => {
  const bytes = (content && received.get(content)) ?? (await readContent(content));
  if (content && isAssumed) received.set(content, bytes);
  return bytes;
};

const findPushedBlob = async ({ rows, request, permitted }: ReadContext, digest: string): Promise<RepoBlob | undefined> => {
  const repo = text(request, "repo");
  const places = isUid(repo) ? [repo] : (await findPendingRepos(rows, repo, permitted[0]?.path ?? "")).map(({ uid }) => uid);
  for (const place of places) {
    const found = await findRepoBlob(rows, place, digest);
    if (found) return found;
  }
  return undefined;
};

/** By the digest of the image's config, whose bytes never change. Whether the repo has it is checked with the other blobs. */
const platforms = new Map<string, Platform>();

const platformOf = async (context: ReadContext, { config }: ReadManifest): Promise<Platform | undefined> => {
  if (!config || config.sizeBytes > limits.imageConfigBytesMax) return undefined;
  const known = platforms.get(config.digest);
  if (known) return known;
  const blob = await findPushedBlob(context, config.digest);
  const platform = blob && blob.sizeBytes <= limits.imageConfigBytesMax ? await readPlatformOf(context.services, blob.key) : undefined;
  if (!platform || Object.values(platform).join("").length > limits.platformLengthMax) return platform;
  if (platforms.size >= limits.platformsKept) platforms.clear();
  platforms.set(config.digest, platform);
  return platform;
};

const readPlatformOf = async ({ blobs }: Services, key: string): Promise<Platform | undefined> => {
  const content = await blobs.read(key);
  if (!content) return undefined;
  const chunks: Uint8Array[] = [];
  for await (const chunk of content) chunks.push(Uint8Array.from(chunk));
  return readPlatform(Buffer.concat(chunks));
};

const namesOf = (request: JsonObject, { manifest }: ReadManifest): { readonly digest: string; readonly pathTag: string; readonly tags: readonly string[] } => {
  const reference = text(request, "reference");
  const more = texts(request, "tag");
  if (more.length > limits.pushedTagsMax) throw tooManyTags(limits.pushedTagsMax);
  if (!reference.includes(":")) {
    if (!tagForm.test(reference)) throw tagInvalid();
    return { digest: manifest.sha256, pathTag: reference, tags: [...new Set([reference, ...more])] };
  }
  const { algorithm, text: digest } = readDigest(reference);
  if (manifest[algorithm] !== digest) throw digestInvalid("is not that of the manifest");
  return { digest, pathTag: "", tags: [...new Set(more)] };
};

/** Locks the needed blobs. Throws MANIFEST_BLOB_UNKNOWN with an entry per missing blob, MANIFEST_INVALID if a size differs. */
const holdNeeded = async ({ rows }: WriteContext, repo: string, { needed }: ReadManifest): Promise<string[]> => {
  const digests = [...new Set(needed.map(({ digest }) => digest))];
  const held = digests.length === 0 ? new Map<string, { sha256: string; sizeBytes: number }>() : await holdRepoBlobs(rows, repo, digests);
  const missing = digests.filter((digest) => !held.has(digest));
  if (missing.length > 0) throw blobsUnknown(missing);
  for (const { digest, sizeBytes } of needed) {
    const stored = held.get(digest)?.sizeBytes;
    if (stored !== sizeBytes) throw manifestInvalid(`gives the blob ${digest} ${sizeBytes} bytes, and it has ${stored}`);
  }
  return [...held.values()].map(({ sha256 }) => sha256);
};

const store = async (context: WriteContext, read: ReadManifest, platform: Platform | undefined): Promise<Outcome> => {
  const { rows, nowMs, request, call } = context;
  const { digest, pathTag, tags } = namesOf(request, read);
  const repo = await repoForManifest(context);
  if (tags.length > 0) context.require(["tag.create"], repo.uid);
  // Awaited with the insertion of the manifest, in one message.
  const blobs = holdNeeded(context, repo.uid, read);
  blobs.catch(() => {});
  const { manifest } = read;
  // Marks referenced manifests as used; one that is collected now counts as missing, which the specification permits.
  await useManifests(rows, repo.uid, manifest.subject === "" ? manifest.children : [...manifest.children, manifest.subject], nowMs);
  const inserted = insertManifest(rows, repo.uid, { ...manifest, blobs }, pathTag === "" ? readDigest(digest).algorithm : undefined, nowMs);
  // In the same message. Another attempt does not assume that a missing tag stays missing.
  const resource = boundOf(context, "chainguard.platform.registry.v2.Tag");
  const reads = context.isAssumed ? startTagReads(context, resource, repo.uid, tags) : undefined;
  const isNew = await inserted;
  const condition = conditionIn(request);
  if (pathTag === "") requireCondition(condition, isNew ? [] : [`"${digest}"`]);
  if (isNew) await writeImageFacts(rows, repo.uid, manifest, read, platform, nowMs);
  await noteDocuments(rows, repo.uid, read, tags, nowMs);
  let previous = "";
  for (const name of tags) {
    const { before } = await writeTag(context, resource, repo.uid, { name, digest: manifest.sha256 }, "row", {
      keeping: true,
      reads: reads?.get(name),
      ...(name === pathTag && isConditional(condition)
        ? { check: async (tag) => requireCondition(condition, await etagsOfTag(rows, repo.uid, text(tag ?? {}, "digest"))) }
        : {}),
    });
    if (name === (pathTag || tags[0]) && before && before.digest !== manifest.sha256) previous = text(before, "digest");
  }
  return {
    reply: {
      ...pushFacts(repo, nowMs, call),
      tag: pathTag || (tags[0] ?? ""),
      ...(previous === "" ? {} : { tag_previous_digest: previous }),
      digest,
      type: "manifest",
      ...(manifest.subject === "" ? {} : { subject: manifest.subject }),
      ...(tags.length > (pathTag === "" ? 0 : 1) ? { tags: tags.filter((tag) => tag !== pathTag) } : {}),
    },
  };
};

export const putManifest = async (context: ReadContext): Promise<Writes> => {
  const { request } = context;
  const reference = text(request, "reference");
  // Checks that are possible before the content arrives.
  if (reference.includes(":") ? !isDigest(reference) : !tagForm.test(reference)) {
    if (reference.includes(":")) readDigest(reference);
    throw tagInvalid();
  }
  const read = readManifest(await readOnce(context), text(request, "contentType"));
  const platform = await platformOf(context, read);
  return { writes: (write) => store(write, read, platform) };
};
