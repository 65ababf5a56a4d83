// A repository of VEX documents (vex-repo-spec 0.1) for Trivy: a manifest, and an archive with an index. Clients cache the
// manifest, so the archive's URL is stable and its ETag shows changes. They read one document for each package
// (docs/decisions/0027).
//
//   /.well-known/vex-repository.json     the manifest
//   /vex/vex-repository.tar.gz           index.json, own/<package>.json, others/<number>.json
//   /vex/all.json                        the packages, and omitted documents with reasons

import { isObject, type Json, type JsonObject, objectList, part, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { findDocumentsOfForm, findSourceDocuments, type PublicDocument } from "#advisories/store";
import { byNumber } from "../documents/entries.ts";
import { documentAddress, type DocumentRequest, type DocumentResponse, type Feed, jsonList, respond, respondInPieces } from "../documents/index.ts";
import { openVexDocument } from "../documents/openvex.ts";
import { ownPackages } from "../documents/own-packages.ts";
import { choosePresent } from "../documents/published.ts";
import type { OsvEndpoint } from "../osv/index.ts";
import { textOfStored } from "../stored-document.ts";
import { fileLocation, packageIds } from "./location.ts";
import { type TarFile, tarGzPieces } from "./tar.ts";

interface IndexEntry {
  readonly location: string;
  /** At /advisory/v2/openvex. */
  readonly name: string;
  readonly modifiedMs: number;
  readonly isOwn: boolean;
}

interface LeftOut {
  readonly id: string;
  readonly modifiedMs: number;
  readonly leftOut: string;
}

/** Some hundred bytes for each package. */
interface RepositoryIndex {
  readonly packages: Map<string, IndexEntry>;
  readonly leftOut: LeftOut[];
}

const secondDocument = "of several documents on one package a reader takes one: our own, or else the one that was modified last";

/** Prefers our documents, then the latest. */
const isBetter = (one: IndexEntry, other: IndexEntry): boolean => (one.isOwn === other.isOwn ? one.modifiedMs > other.modifiedMs : one.isOwn);

const addDocument = (index: RepositoryIndex, ids: readonly string[], entry: IndexEntry): void => {
  for (const id of ids) {
    const known = index.packages.get(id);
    const kept = !known || isBetter(entry, known) ? entry : known;
    index.packages.set(id, kept);
    const dropped = kept === known ? entry : known;
    if (dropped && dropped.name !== kept.name)
      index.leftOut.push({ id: dropped.name, modifiedMs: dropped.modifiedMs, leftOut: `for ${id}: ${secondDocument}` });
  }
};

const productPurl = (product: JsonObject): string => text(part(product, "identifiers"), "purl") || text(product, "@id");

const idsOf = (document: JsonObject): string[] => [
  ...new Set(
    objectList(document, "statements").flatMap((statement) => objectList(statement, "products").flatMap((product) => packageIds(productPurl(product)))),
  ),
];

async function* ownFiles(feed: Feed, index: RepositoryIndex): AsyncGenerator<TarFile[]> {
  for await (const page of ownPackages(feed.reader)) {
    yield page.flatMap((found): TarFile[] => {
      const document = openVexDocument(documentAddress(feed, "openvex", found.origin), found);
      if (!document) return [];
      const [name, modifiedMs] = [fileLocation("own", found.origin), Date.parse(found.changeTime)];
      addDocument(index, idsOf(document), { location: name, name: found.origin, modifiedMs, isOwn: true });
      return [{ name, modifiedMs, content: Buffer.from(JSON.stringify(document)) }];
    });
  }
}

const isList = (value: Json | undefined): value is Json[] => Array.isArray(value);

/** Returns undefined if clients of OpenVEX 0.2.0 read the document. */
const whyNotRead = (document: JsonObject): string | undefined => {
  if ("predicate" in document) return "it is signed in an attestation, which readers do not open";
  const { statements, version } = document;
  const isRead =
    text(document, "@context").startsWith("https://openvex.dev/ns") &&
    typeof version === "number" &&
    Number.isInteger(version) &&
    isList(statements) &&
    statements.every(
      (statement) =>
        isObject(statement) && isObject(statement.vulnerability) && isList(statement.products) && statement.products.every((each) => isObject(each)),
    );
  return isRead ? undefined : "it is not in the form of OpenVEX 0.2.0, which is all that readers take";
};

const otherFile = (document: PublicDocument, content: string, index: RepositoryIndex): TarFile[] => {
  const { originId, modifiedMs = 0 } = document;
  const value = JSON.parse(content) as Json;
  const ids = isObject(value) ? idsOf(value) : [];
  const reason = isObject(value) ? whyNotRead(value) : "it is not an object";
  if (reason !== undefined || ids.length === 0) {
    index.leftOut.push({ id: originId, modifiedMs, leftOut: reason ?? "it names no product by a package URL" });
    return [];
  }
  const name = fileLocation("others", originId);
  addDocument(index, ids, { location: name, name: originId, modifiedMs, isOwn: false });
  return [{ name, modifiedMs, content: Buffer.from(content) }];
};

async function* otherFiles({ reader }: Feed, index: RepositoryIndex): AsyncGenerator<TarFile[]> {
  const size = limits.documentPageRows;
  for (let after = ""; ; ) {
    const found = await findDocumentsOfForm(reader, "openvex", after, size);
    const numbers = byNumber(found, found.length >= size);
    for (const documents of numbers) {
      const document = choosePresent("openvex", documents);
      const [stored] = document ? await findSourceDocuments(reader.read, [document.id]) : [];
      // They may be large.
      if (document && stored) yield otherFile(document, textOfStored(stored.body), index);
    }
    const last = numbers.at(-1);
    if (!last || found.length < size) return;
    after = last[0].originId;
  }
}

const timeOf = (modifiedMs: number): string => new Date(modifiedMs).toISOString();

async function* documentFiles(feed: Feed, index: RepositoryIndex): AsyncGenerator<TarFile[]> {
  yield* ownFiles(feed, index);
  yield* otherFiles(feed, index);
}

/** Yields documents, then the index. An empty index makes clients drop old documents. */
async function* archivedFiles(feed: Feed): AsyncGenerator<TarFile[]> {
  const index: RepositoryIndex = { packages: new Map(), leftOut: [] };
  yield* documentFiles(feed, index);
  const modifiedMs = [...index.packages.values()].reduce((last, each) => Math.max(last, each.modifiedMs), 0);
  const packages = [...index.packages].sort(([one], [other]) => (one < other ? -1 : 1)).map(([id, { location }]) => ({ id, location, format: "openvex" }));
  yield [{ name: "index.json", modifiedMs, content: Buffer.from(JSON.stringify({ updated_at: timeOf(modifiedMs), packages })) }];
}

interface RepositoryEntry {
  readonly id: string;
  readonly modified: string;
  readonly document?: string;
  readonly leftOut?: string;
}

async function* repositoryEntries(feed: Feed): AsyncGenerator<RepositoryEntry[]> {
  const index: RepositoryIndex = { packages: new Map(), leftOut: [] };
  for await (const _ of documentFiles(feed, index));
  yield [...index.packages].map(([id, { name, modifiedMs }]) => ({ id, modified: timeOf(modifiedMs), document: documentAddress(feed, "openvex", name) }));
  yield index.leftOut.map(({ id, modifiedMs, leftOut }) => ({ id, modified: timeOf(modifiedMs), leftOut }));
}

const manifest = ({ publicUrl }: Feed): string =>
  JSON.stringify({
    name: new URL(publicUrl).host,
    description: `OpenVEX documents that are published at ${publicUrl}`,
    // A check is cheap, and withdrawals take effect within the hour.
    versions: [{ spec_version: "0.1", locations: [{ url: `${publicUrl.replace(/\/$/, "")}/vex/vex-repository.tar.gz` }], update_interval: "1h" }],
  });

/** Part of the ETag; change it with the archive's format. */
const archiveForm = "1";

const endpoint = (requests: number, handle: (request: DocumentRequest) => Promise<DocumentResponse>): OsvEndpoint => ({
  GET: handle,
  requests,
  yieldsToToken: true,
});

/** Returns the endpoint for a path; undefined for other paths. */
export const openVexRepository =
  (feed: Feed) =>
  (path: string): OsvEndpoint | undefined => {
    switch (path) {
      case "/.well-known/vex-repository.json":
        // The same for all callers.
        return { ...endpoint(1, async (request) => respond(request, "application/json", manifest(feed))), yieldsToToken: false };
      case "/vex/vex-repository.tar.gz":
        return endpoint(limits.osvArchiveRequests, (request) =>
          respondInPieces(feed, request, "application/gzip", tarGzPieces(archivedFiles(feed)), [archiveForm, feed.publicUrl]),
        );
      case "/vex/all.json":
        return endpoint(limits.osvArchiveRequests, (request) => respondInPieces(feed, request, "application/json", jsonList(repositoryEntries(feed))));
      default:
        return undefined;
    }
  };
