// Finds documents in a pushed manifest that may be SBOMs, scanner reports or VEX, and their image; server/advisories/feeds reads them later. The image
// is the manifest's subject, in cosign's older tags (sha256-….sbom, .att) their name, and for BuildKit's attestations an entry of the
// index.

import { isObject, type Json, type JsonObject, objectList, part, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { attachedSbomAnnotation } from "#registry/contents";
import { findManifestByDigest } from "#registry/store";
import { insertPushedReports, insertSboms, insertVexDocuments, type PushedSbom } from "#advisories/store";
import type { Write } from "#db";
import type { ReadManifest } from "./manifest.ts";

// Plain documents, and possible wrappers (oci: 3).
const sbomTypes = new Set(["application/spdx+json", "text/spdx+json", "application/vnd.spdx+json", "application/vnd.cyclonedx+json"]);
const wrapperTypes = new Set(["application/vnd.in-toto+json", "application/vnd.dsse.envelope.v1+json"]);
const bundleForm = /^application\/vnd\.dev\.sigstore\.bundle(?:\.v[0-9.]+)?\+json$/;

const olderTagForm = /^sha256-([0-9a-f]{64})\.(?:sbom|att)$/;

/** Annotations with the type of a statement, so that readers need not fetch it. */
const predicateNames = ["in-toto.io/predicate-type", "predicateType", "dev.sigstore.bundle.predicateType"];

const mediaTypeOf = (layer: JsonObject): string => {
  const [type = ""] = text(layer, "mediaType").toLowerCase().split(";", 1);
  return type.trim().replace(/\+(?:gzip|zstd)$/, "");
};

const predicateOf = (layer: JsonObject, manifest: JsonObject): string =>
  [part(layer, "annotations"), part(manifest, "annotations")]
    .flatMap((annotations) => predicateNames.map((name) => text(annotations, name)))
    .find((each) => each !== "") ?? "";

const isWrapper = (mediaType: string): boolean => wrapperTypes.has(mediaType) || bundleForm.test(mediaType);

type IsWanted = (layer: JsonObject, manifest: JsonObject) => boolean;

const mayBeSbom: IsWanted = (layer, manifest) => {
  // Attached by a server to what it read in the layers, and at most copied since.
  if (text(part(manifest, "annotations"), attachedSbomAnnotation) !== "") return false;
  const [mediaType, predicate] = [mediaTypeOf(layer), predicateOf(layer, manifest)];
  if (!sbomTypes.has(mediaType) && !isWrapper(mediaType)) return false;
  return predicate === "" || /^https:\/\/(?:spdx\.dev|cyclonedx\.org)\//.test(predicate);
};

const namesReport = (word: string): boolean => /sarif|grype|trivy|vuln/i.test(word);

/** Scanners share no media types: selects layers that name one, and JSON in artifacts that do. */
const mayBeReport: IsWanted = (layer, manifest) => {
  const [mediaType, predicate] = [mediaTypeOf(layer), predicateOf(layer, manifest)];
  if (isWrapper(mediaType)) return predicate === "" || namesReport(predicate);
  if (!/[/+.]json$/.test(mediaType)) return false;
  return (
    namesReport(mediaType) || (mediaType === "application/json" && namesReport(`${text(manifest, "artifactType")} ${mediaTypeOf(part(manifest, "config"))}`))
  );
};

const vexTypes = new Set(["application/openvex+json", "application/vnd.openvex+json", "text/openvex+json"]);

const namesOpenVex = (word: string): boolean => /openvex/i.test(word);

const mayBeVex: IsWanted = (layer, manifest) => {
  const [mediaType, predicate] = [mediaTypeOf(layer), predicateOf(layer, manifest)];
  if (isWrapper(mediaType)) return predicate === "" || namesOpenVex(predicate);
  return vexTypes.has(mediaType) || (mediaType === "application/json" && namesOpenVex(`${text(manifest, "artifactType")} ${predicate}`));
};

const parse = (content: string): JsonObject => {
  const value = JSON.parse(content) as Json;
  return isObject(value) ? value : {};
};

const documentsOf = (manifest: JsonObject, manifestDigest: string, digest: string, isWanted: IsWanted): PushedSbom[] =>
  objectList(manifest, "layers")
    .filter((layer) => isWanted(layer, manifest))
    .slice(0, limits.sbomsOfManifestMax)
    .map((layer) => ({ digest, manifestDigest, documentDigest: text(layer, "digest") }));

/** Returns the image's sha256, whichever digest names it. */
const imageDigest = async (rows: Write, repo: string, digest: string): Promise<string> =>
  digest.startsWith("sha512:") ? ((await findManifestByDigest(rows, repo, digest))?.sha256 ?? digest) : digest;

interface Carrier {
  readonly content: JsonObject;
  readonly manifestDigest: string;
  readonly digest: string;
}

/** BuildKit: an index lists each image, and a manifest of attestations about it. */
const attestationsOf = async (rows: Write, repo: string, index: JsonObject): Promise<Carrier[]> => {
  const found: Carrier[] = [];
  for (const descriptor of objectList(index, "manifests").slice(0, limits.sbomsOfManifestMax)) {
    const annotations = part(descriptor, "annotations");
    const about = text(annotations, "vnd.docker.reference.digest");
    if (text(annotations, "vnd.docker.reference.type") !== "attestation-manifest" || about === "") continue;
    const stored = await findManifestByDigest(rows, repo, text(descriptor, "digest"));
    if (stored) found.push({ content: parse(stored.content), manifestDigest: stored.sha256, digest: await imageDigest(rows, repo, about) });
  }
  return found;
};

/** Records the documents of a stored manifest for later reading, in the push's transaction. */
export const noteDocuments = async (rows: Write, repo: string, { manifest }: ReadManifest, tags: readonly string[], nowMs: number): Promise<void> => {
  const tagged = tags.flatMap((tag) => olderTagForm.exec(tag)?.slice(1, 2) ?? []).map((hex) => `sha256:${hex}`);
  const subjects = [...(manifest.subject === "" ? [] : [await imageDigest(rows, repo, manifest.subject)]), ...tagged];
  const mayAttest = manifest.children.length > 0 && manifest.content.includes("attestation-manifest");
  if (subjects.length === 0 && !mayAttest) return;
  const content = parse(manifest.content);
  const carriers: Carrier[] = [
    ...new Set(subjects).values().map((digest) => ({ content, manifestDigest: manifest.sha256, digest })),
    ...(mayAttest ? await attestationsOf(rows, repo, content) : []),
  ];
  const carried = (isWanted: IsWanted): PushedSbom[] => carriers.flatMap((each) => documentsOf(each.content, each.manifestDigest, each.digest, isWanted));
  const [sboms, reports, vex] = [carried(mayBeSbom), carried(mayBeReport), carried(mayBeVex)];
  if (sboms.length > 0) await insertSboms(rows, repo, sboms, nowMs);
  if (reports.length > 0) await insertPushedReports(rows, repo, reports, nowMs);
  if (vex.length > 0) await insertVexDocuments(rows, repo, vex, nowMs);
};
