// Which documents of a pushed manifest may be SBOMs, and of which image: they are read later (server/feeds/sbom). A manifest says so by
// its subject; cosign's older tags (sha256-….sbom, .att) by their name; BuildKit's attestations by the index that lists them.

import { isObject, type Json, type JsonObject, objectList, part, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { findManifestByDigest, insertSboms, type PushedSbom, type Write } from "#store";
import type { ReadManifest } from "./manifest.ts";

// Documents by themselves, and what may be wrapped around them (oci: 3).
const documentTypes = new Set([
  "application/spdx+json",
  "text/spdx+json",
  "application/vnd.spdx+json",
  "application/vnd.cyclonedx+json",
  "application/vnd.in-toto+json",
  "application/vnd.dsse.envelope.v1+json",
]);
const bundleForm = /^application\/vnd\.dev\.sigstore\.bundle(?:\.v[0-9.]+)?\+json$/;

const olderTagForm = /^sha256-([0-9a-f]{64})\.(?:sbom|att)$/;

/** Tools note here what a statement says, so that nobody has to fetch it to know. */
const predicateNames = ["in-toto.io/predicate-type", "predicateType", "dev.sigstore.bundle.predicateType"];

const isPredicateOfSbom = (type: string): boolean => /^https:\/\/(?:spdx\.dev|cyclonedx\.org)\//.test(type);

const mayBeSbom = (layer: JsonObject, manifest: JsonObject): boolean => {
  const [type = ""] = text(layer, "mediaType").toLowerCase().split(";", 1);
  const mediaType = type.trim().replace(/\+(?:gzip|zstd)$/, "");
  if (!documentTypes.has(mediaType) && !bundleForm.test(mediaType)) return false;
  const said = [part(layer, "annotations"), part(manifest, "annotations")].flatMap((annotations) => predicateNames.map((name) => text(annotations, name)));
  const [predicate] = said.filter((each) => each !== "");
  return predicate === undefined || isPredicateOfSbom(predicate);
};

const parse = (content: string): JsonObject => {
  const value = JSON.parse(content) as Json;
  return isObject(value) ? value : {};
};

/** The documents of a manifest about an image. */
const documentsOf = (manifest: JsonObject, manifestDigest: string, digest: string): PushedSbom[] =>
  objectList(manifest, "layers")
    .filter((layer) => mayBeSbom(layer, manifest))
    .slice(0, limits.sbomsOfManifestMax)
    .map((layer) => ({ digest, manifestDigest, documentDigest: text(layer, "digest") }));

/** An image is known by its sha256, whichever digest names it. */
const imageDigest = async (rows: Write, repo: string, digest: string): Promise<string> =>
  digest.startsWith("sha512:") ? ((await findManifestByDigest(rows, repo, digest))?.sha256 ?? digest) : digest;

/** BuildKit: an index lists each image, and beside it a manifest of statements about it. */
const attestationsOf = async (rows: Write, repo: string, index: JsonObject): Promise<PushedSbom[]> => {
  const found: PushedSbom[] = [];
  for (const descriptor of objectList(index, "manifests").slice(0, limits.sbomsOfManifestMax)) {
    const annotations = part(descriptor, "annotations");
    const about = text(annotations, "vnd.docker.reference.digest");
    if (text(annotations, "vnd.docker.reference.type") !== "attestation-manifest" || about === "") continue;
    const stored = await findManifestByDigest(rows, repo, text(descriptor, "digest"));
    if (stored) found.push(...documentsOf(parse(stored.content), stored.sha256, await imageDigest(rows, repo, about)));
  }
  return found;
};

/** Notes the documents of a manifest that has been stored, to be read behind the answer. Part of the push's transaction. */
export const noteSboms = async (rows: Write, repo: string, { manifest }: ReadManifest, tags: readonly string[], nowMs: number): Promise<void> => {
  const tagged = tags.flatMap((tag) => olderTagForm.exec(tag)?.slice(1, 2) ?? []).map((hex) => `sha256:${hex}`);
  const subjects = [...(manifest.subject === "" ? [] : [await imageDigest(rows, repo, manifest.subject)]), ...tagged];
  const mayAttest = manifest.children.length > 0 && manifest.content.includes("attestation-manifest");
  if (subjects.length === 0 && !mayAttest) return;
  const content = parse(manifest.content);
  const pushed = [
    ...new Set(subjects).values().flatMap((digest) => documentsOf(content, manifest.sha256, digest)),
    ...(mayAttest ? await attestationsOf(rows, repo, content) : []),
  ];
  if (pushed.length > 0) await insertSboms(rows, repo, pushed, nowMs);
};
