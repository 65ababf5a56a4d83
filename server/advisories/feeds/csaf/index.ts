// Serves CSAF (CSAF 2.0, 7): our own documents as a provider, those of others as an aggregator. Anonymous callers get public
// documents (docs/decisions/0027); a token adds what its caller may read (docs/decisions/0043).
//
//   /.well-known/csaf/provider-metadata.json, service.json         entry points
//   /.well-known/csaf/openpgp/<fingerprint>.asc                    signing keys
//   /.well-known/csaf/white/                                       the directory, with index.txt, changes.csv, a ROLIE feed
//   /.well-known/csaf/white/<year>/<name>.json                     a document, with .sha256, .sha512, .asc
//   /.well-known/csaf/amber/                                       the same for a token: packages with private advisories
//   /.well-known/csaf-aggregator/aggregator.json                   issuers of mirrored documents
//   /.well-known/csaf-aggregator/<issuer>/provider-metadata.json   and below it the same, in white/ and unlabeled/
//   /.well-known/security.txt
//   /advisory/v2/csaf/provider-metadata.json, index.txt, changes.csv, <year>/…   the former addresses

import { createHash } from "node:crypto";
import type { Endpoint, EndpointAnswer, EndpointRequest } from "#base/endpoint.ts";
import { Fault } from "#base/fault.ts";
import { limits } from "#base/limits.ts";
import type { Log } from "#base/log.ts";
import type { Clock } from "#base/time.ts";
import type { Store } from "#db";
import { type Feed, respond, respondInPieces, withdrawalHeaders } from "../documents/index.ts";
import { aggregatorBase, csafBase } from "./addresses.ts";
import { type CsafCollection, issuerCollection, labelsFor, ownCollection, ownPrivateCollection } from "./collection.ts";
import { categoryDocument, categoryNameOf, changesPieces, feedNameOf, feedPieces, folderPieces, indexPieces, serviceDocument, yearPieces } from "./lists.ts";
import {
  aggregatorDocument,
  issuerMetadata,
  ownFeedAddresses,
  ownTitle,
  privateTitle,
  providerMetadata,
  providerMetadataPath,
  type SecurityContact,
  securityText,
  servicePath,
} from "./metadata.ts";
import { openSigning, type Signing, type SigningDependencies } from "./signing.ts";

export interface CsafOptions {
  readonly feed: Feed;
  readonly store: Store;
  readonly vault: SigningDependencies["vault"];
  readonly clock: Clock;
  readonly log: Log;
  readonly security: SecurityContact;
}

interface CsafDependencies {
  readonly feed: Feed;
  readonly signing: Signing;
}

/** `requests` is the endpoint's weight in the rate limit. */
interface CsafEndpoint extends Endpoint {
  readonly requests: number;
}

const get = (handle: (request: EndpointRequest) => Promise<EndpointAnswer>, requests = 1): CsafEndpoint => ({
  GET: handle,
  requests,
  yieldsToToken: true,
});
const listEndpoint = (handle: (request: EndpointRequest) => Promise<EndpointAnswer>): CsafEndpoint => get(handle, limits.csafListRequests);

const plain = "text/plain; charset=utf-8";
const html = "text/html; charset=utf-8";

const metadataEndpoint = (build: () => Promise<object | undefined>): CsafEndpoint =>
  get(async (request) => {
    const body = await build();
    if (body === undefined) throw new Fault("NOT_FOUND", "issuer not found");
    return respond(request, "application/json", JSON.stringify(body));
  });

const keyEndpoint = ({ signing }: CsafDependencies, file: string): CsafEndpoint =>
  get(async (request) => {
    const key = (await signing.publicKeys()).find(({ fingerprint }) => file === `${fingerprint}.asc`);
    if (!key) throw new Fault("NOT_FOUND", "key not found");
    return respond(request, "application/pgp-keys", key.publicKey);
  });

const fileEndpoint = ({ feed, signing }: CsafDependencies, collection: CsafCollection, year: string, file: string): CsafEndpoint | undefined => {
  const [, fileName, ending] = /^([-+a-z0-9_]+)\.json(|\.sha256|\.sha512|\.asc)$/.exec(file) ?? [];
  if (fileName === undefined) return undefined;
  return get(async (request) => {
    const found = await collection.find(fileName);
    if (found?.initialReleaseTime.slice(0, 4) !== year) throw new Fault("NOT_FOUND", `document not found: ${year}/${file}`);
    // After a restore, clients may hold a later document and must get this one.
    const restoredMs = Math.ceil((feed.restoredMs ?? 0) / 1000) * 1000;
    const times = { "last-modified": new Date(Math.max(Date.parse(found.currentReleaseTime), restoredMs)).toUTCString() };
    if (ending === "") return respond(request, "application/json", found.text, { ...times, ...withdrawalHeaders(found) });
    if (ending === ".asc") {
      const signature = await signing.sign(found.text, Date.parse(found.currentReleaseTime));
      return respond(request, "application/pgp-signature", signature);
    }
    const digest = createHash(ending === ".sha256" ? "sha256" : "sha512")
      .update(found.text)
      .digest("hex");
    return respond(request, plain, `${digest}  ${fileName}.json\n`, times);
  });
};

const collectionEndpoint = (own: CsafDependencies, collection: CsafCollection, path: string, feedId: string, title: string): CsafEndpoint | undefined => {
  const { feed } = own;
  if (path === "index.txt") return listEndpoint((request) => respondInPieces(feed, request, plain, indexPieces(collection)));
  if (path === "changes.csv") return listEndpoint((request) => respondInPieces(feed, request, "text/csv; charset=utf-8", changesPieces(collection)));
  if (path === feedNameOf(collection))
    return listEndpoint((request) =>
      respondInPieces(feed, request, "application/json", feedPieces(collection, feed.publicUrl, feedId, title), [feed.publicUrl]),
    );
  if (path === categoryNameOf(collection)) return get(async (request) => respond(request, "application/json", categoryDocument));
  if (path === "") return listEndpoint((request) => respondInPieces(feed, request, html, folderPieces(collection)));
  const [, year, file] = /^(\d{4})\/([^/]*)$/.exec(path) ?? [];
  if (year === undefined || file === undefined) return undefined;
  if (file === "") return listEndpoint((request) => respondInPieces(feed, request, html, yearPieces(collection, year)));
  return fileEndpoint(own, collection, year, file);
};

const aggregatorEndpoint = (own: CsafDependencies, path: string): CsafEndpoint | undefined => {
  const { feed, signing } = own;
  if (path === "aggregator.json") return metadataEndpoint(async () => aggregatorDocument(feed, await signing.publicKeys()));
  const [, folder, rest] = /^([-+a-z0-9_]+)\/(.*)$/.exec(path) ?? [];
  if (folder === undefined || rest === undefined) return undefined;
  if (rest === "provider-metadata.json") return metadataEndpoint(async () => issuerMetadata(feed, folder, await signing.publicKeys()));
  for (const label of labelsFor(feed.reader)) {
    const collection = issuerCollection(feed, folder, label);
    const start = `${aggregatorBase}${folder}/`;
    const below = collection.folder.slice(start.length);
    if (rest.startsWith(below))
      return collectionEndpoint(own, collection, rest.slice(below.length), `${folder}-tlp-${label.toLowerCase()}`, `Documents of ${folder}`);
  }
  return undefined;
};

const documentsBase = "/advisory/v2/csaf/";
const formerPaths = /^(?:index\.txt|changes\.csv|\d{4}\/.*)$/;

export const openCsaf = ({ feed, store, vault, clock, log, security }: CsafOptions): ((path: string) => CsafEndpoint | undefined) => {
  const signing = openSigning({ store, vault, clock, log, name: feed.publisher.name });
  const own = { feed, signing };
  const documents = ownCollection(feed);
  const keys = `${csafBase}openpgp/`;
  const metadata = metadataEndpoint(async () => providerMetadata(feed, await signing.publicKeys()));
  return (path) => {
    if (path.startsWith(documentsBase)) {
      const rest = path.slice(documentsBase.length);
      if (rest === "provider-metadata.json") return metadata;
      return formerPaths.test(rest) ? collectionEndpoint(own, documents, rest, "csaf-tlp-white", ownTitle) : undefined;
    }
    // It lists no documents, so it is the same for all callers.
    if (path === "/.well-known/security.txt")
      return { ...get(async (request) => respond(request, plain, securityText(feed, security, clock()))), yieldsToToken: false };
    if (path.startsWith(aggregatorBase)) return aggregatorEndpoint(own, path.slice(aggregatorBase.length));
    if (!path.startsWith(csafBase)) return undefined;
    if (path === providerMetadataPath) return metadata;
    if (path === servicePath) {
      const service = serviceDocument(ownTitle, ownFeedAddresses(feed));
      return get(async (request) => respond(request, "application/json", service));
    }
    if (path.startsWith(keys)) return keyEndpoint(own, path.slice(keys.length));
    const closed = feed.reader.visibility === "public" ? undefined : ownPrivateCollection(feed);
    if (closed && path.startsWith(closed.folder)) return collectionEndpoint(own, closed, path.slice(closed.folder.length), "csaf-tlp-amber", privateTitle);
    if (!path.startsWith(documents.folder)) return undefined;
    return collectionEndpoint(own, documents, path.slice(documents.folder.length), "csaf-tlp-white", ownTitle);
  };
};
