// Entry points of CSAF: provider metadata (CSAF 2.0, 7.1.7), the list of aggregated issuers (7.1.21), and security.txt (RFC
// 9116).

import { Fault } from "#base/fault.ts";
import { isObject, type Json, type JsonObject } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { labelReasons } from "./labels.ts";
import { timestamp } from "#base/time.ts";
import { type CsafIssuer, findCsafIssuers, findOwnDocuments, findOwnPrivateDocuments, type Reader } from "#advisories/store";
import { publisherObject } from "../documents/csaf.ts";
import type { Feed } from "../documents/index.ts";
import { isPublishable } from "../licenses.ts";
import { sourceLabel } from "../source.ts";
import { addressOf, aggregatorBase, csafBase } from "./addresses.ts";
import { type CsafCollection, issuerCollection, labelsFor, ownCollection, ownPrivateCollection } from "./collection.ts";
import { categoryNameOf, feedNameOf, noTime } from "./lists.ts";
import type { PublishedKey } from "./signing.ts";

/** GANTRY_SECURITY_CONTACT and GANTRY_SECURITY_EXPIRES. */
export interface SecurityContact {
  /** URLs (mailto, https or tel), the preferred one first. If empty, security.txt is not served. */
  readonly contacts: readonly string[];
  readonly expiresMs: number | undefined;
}

export const providerMetadataPath = `${csafBase}provider-metadata.json`;
export const servicePath = `${csafBase}service.json`;

const keyPath = (fingerprint: string): string => `${csafBase}openpgp/${fingerprint}.asc`;

const keyObjects = (publicUrl: string, keys: readonly PublishedKey[]): JsonObject[] =>
  keys.map(({ fingerprint }) => ({ fingerprint, url: addressOf(publicUrl, keyPath(fingerprint)) }));

/** A trusted provider uses TLS (7.1.3), is served at the root of its host (7.1.9), and signs (7.1.18 to 7.1.20). */
const roleOf = (publicUrl: string): string => {
  const { protocol, pathname } = new URL(publicUrl);
  return protocol === "https:" && pathname === "/" ? "csaf_trusted_provider" : "csaf_provider";
};

const distributionsOf = (
  publicUrl: string,
  collections: readonly CsafCollection[],
  titled: (collection: CsafCollection) => string,
  services: readonly string[],
): JsonObject[] => {
  const addresses = collections.map((collection) => ({ collection, folder: addressOf(publicUrl, collection.folder) }));
  const feeds = addresses.map(({ collection, folder }) => ({
    summary: titled(collection),
    tlp_label: collection.label,
    url: `${folder}${feedNameOf(collection)}`,
  }));
  const categories = addresses.map(({ collection, folder }) => `${folder}${categoryNameOf(collection)}`);
  return [
    { rolie: { categories, feeds, ...(services.length === 0 ? {} : { services: [...services] }) } },
    ...addresses.map(({ folder }) => ({ directory_url: folder })),
  ];
};

const laterOf = (one: string, other: string): string => (one > other ? one : other);

const ownChangeTime = async (reader: Reader, keys: readonly PublishedKey[]): Promise<string> => {
  const newest = [...(await findOwnDocuments(reader.read, "", undefined, 1)), ...(await findOwnPrivateDocuments(reader, "", undefined, 1))];
  const released = newest.reduce((last, { currentReleaseTime }) => laterOf(last, currentReleaseTime), noTime);
  return keys.reduce((last, { createTimeMs }) => laterOf(last, timestamp(createTimeMs)), released);
};

export const ownTitle = "Public advisories";
export const privateTitle = "Advisories for members of a group";

const ownCollections = (feed: Feed): CsafCollection[] => [ownCollection(feed), ...(feed.reader.visibility === "public" ? [] : [ownPrivateCollection(feed)])];

export const ownFeedAddresses = (feed: Feed): string[] =>
  ownCollections(feed).map((collection) => addressOf(feed.publicUrl, `${collection.folder}${feedNameOf(collection)}`));

const titleOf = ({ label }: CsafCollection): string => (label === "WHITE" ? ownTitle : privateTitle);

export const providerMetadata = async (feed: Feed, keys: readonly PublishedKey[]): Promise<JsonObject> => ({
  canonical_url: addressOf(feed.publicUrl, providerMetadataPath),
  distributions: distributionsOf(feed.publicUrl, ownCollections(feed), titleOf, [addressOf(feed.publicUrl, servicePath)]),
  last_updated: await ownChangeTime(feed.reader, keys),
  // Gantry cannot grant permission to copy.
  list_on_CSAF_aggregators: false,
  metadata_version: "2.0",
  mirror_on_CSAF_aggregators: false,
  public_openpgp_keys: keyObjects(feed.publicUrl, keys),
  publisher: publisherObject(feed.publisher),
  role: roleOf(feed.publicUrl),
});

interface Issuer {
  readonly folder: string;
  readonly publisher: JsonObject;
  readonly labels: ReadonlySet<string>;
  readonly changeTime: string;
  readonly source: string;
}

const issuersOf = (found: readonly CsafIssuer[]): Issuer[] => {
  const byFolder = Map.groupBy(
    found.filter(({ license }) => isPublishable(license)),
    ({ folder }) => folder,
  );
  return [...byFolder].flatMap(([folder, groups]) => {
    const publisher = JSON.parse(groups[0]?.publisher ?? "null") as Json;
    if (!isObject(publisher)) return [];
    return {
      folder,
      publisher,
      labels: new Set(groups.map(({ label }) => label)),
      changeTime: groups.reduce((last, { currentReleaseTime }) => laterOf(last, currentReleaseTime), noTime),
      source: groups.reduce((last, { source }) => laterOf(last, source), ""),
    };
  });
};

/** CSAF 2.0, 7.1.22: at least two, not counting the aggregator. */
const issuersMin = 2;

const findIssuers = async (reader: Reader): Promise<Issuer[]> => {
  const issuers = issuersOf(await findCsafIssuers(reader, labelReasons, limits.csafIssuersMax));
  if (issuers.length < issuersMin) {
    const known = issuers.length === 0 ? "none" : "one";
    throw new Fault(
      "NOT_FOUND",
      `aggregator not found: an aggregator needs public CSAF documents of two other issuers, and this server has documents of ${known}`,
    );
  }
  return issuers;
};

const issuerMetadataAddress = ({ publicUrl }: Feed, folder: string): string => addressOf(publicUrl, `${aggregatorBase}${folder}/provider-metadata.json`);

export const aggregatorDocument = async (feed: Feed, keys: readonly PublishedKey[]): Promise<JsonObject> => {
  const issuers = await findIssuers(feed.reader);
  const own = await ownChangeTime(feed.reader, keys);
  const mirrored = ({ folder, publisher, changeTime, source }: Issuer): JsonObject => {
    const mirror = issuerMetadataAddress(feed, folder);
    const role = source === "" ? "csaf_publisher" : "csaf_provider";
    return { metadata: { last_updated: changeTime, publisher, role, url: source === "" ? mirror : sourceLabel(source) }, mirrors: [mirror] };
  };
  const providers = issuers.filter(({ source }) => source !== "").map(mirrored);
  const publishers = issuers
    .filter(({ source }) => source === "")
    .map((issuer) => ({ ...mirrored(issuer), update_interval: "when its documents are imported" }));
  const { category: _, ...aggregator } = publisherObject(feed.publisher);
  return {
    aggregator: { category: "aggregator", ...aggregator },
    aggregator_version: "2.0",
    canonical_url: addressOf(feed.publicUrl, `${aggregatorBase}aggregator.json`),
    csaf_providers: [
      {
        metadata: {
          last_updated: own,
          publisher: publisherObject(feed.publisher),
          role: roleOf(feed.publicUrl),
          url: addressOf(feed.publicUrl, providerMetadataPath),
        },
      },
      ...providers,
    ],
    ...(publishers.length === 0 ? {} : { csaf_publishers: publishers }),
    last_updated: issuers.reduce((last, { changeTime }) => laterOf(last, changeTime), own),
  };
};

/** Returns undefined if none of the issuer's documents is served. */
export const issuerMetadata = async (feed: Feed, folder: string, keys: readonly PublishedKey[]): Promise<JsonObject | undefined> => {
  const issuer = (await findIssuers(feed.reader)).find((each) => each.folder === folder);
  if (!issuer) return undefined;
  const collections = labelsFor(feed.reader)
    .filter((label) => issuer.labels.has(label))
    .map((label) => issuerCollection(feed, folder, label));
  const title = `Documents of ${String(issuer.publisher.name)}`;
  return {
    canonical_url: issuerMetadataAddress(feed, folder),
    distributions: distributionsOf(feed.publicUrl, collections, () => title, []),
    last_updated: issuer.changeTime,
    list_on_CSAF_aggregators: false,
    metadata_version: "2.0",
    mirror_on_CSAF_aggregators: false,
    public_openpgp_keys: keyObjects(feed.publicUrl, keys),
    publisher: issuer.publisher,
    role: "csaf_publisher",
  };
};

/** RFC 9116. Throws NOT_FOUND without a contact, or after the configured expiry. */
export const securityText = ({ publicUrl }: Feed, { contacts, expiresMs }: SecurityContact, nowMs: number): string => {
  if (contacts.length === 0) throw new Fault("NOT_FOUND", "security.txt not found: GANTRY_SECURITY_CONTACT is not set");
  if (expiresMs !== undefined && expiresMs <= nowMs) throw new Fault("NOT_FOUND", "security.txt not found: GANTRY_SECURITY_EXPIRES is in the past");
  // 180 days from today, constant for the day.
  const expires = expiresMs ?? Math.floor(nowMs / 86_400_000 + 180) * 86_400_000;
  const isSecure = publicUrl.startsWith("https:");
  return [
    ...contacts.map((contact) => `Contact: ${contact}`),
    `Expires: ${timestamp(expires)}`,
    // These require https URLs (2.5.2).
    ...(isSecure ? [`Canonical: ${addressOf(publicUrl, "/.well-known/security.txt")}`, `CSAF: ${addressOf(publicUrl, providerMetadataPath)}`] : []),
    "",
  ].join("\n");
};
