// What was published goes out again as documents of three kinds, at addresses that stay. All of them are open, as are the
// operations of the feed (docs/decisions).
//
//   /advisory/v2/osv/<advisory>.json             one OSV record for each number
//   /advisory/v2/openvex/<package>.json          one OpenVEX document for each origin package
//   /advisory/v2/csaf/<package>.json             one CSAF document (VEX profile) for each origin package
//   /advisory/v2/<kind>/all.json                 what there is and when it was changed, the longest ago first:
//                                                ?since=<time> leaves out the older; Link: rel="next" goes on
//   /advisory/v2/csaf/provider-metadata.json     what CSAF's readers begin with; index.txt, changes.csv: what there is

import { createHash } from "node:crypto";
import { Fault, invalid } from "#base/fault.ts";
import type { JsonObject } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { readTimestamp, timestamp } from "#base/time.ts";
import { rootOf } from "#base/uid.ts";
import {
  type AdvisoryRow,
  findChangedAdvisories,
  findChangedDocuments,
  findPublished,
  findPublishedById,
  readSeverities,
  severitiesOf,
  type Store,
} from "#store";
import { vulnerabilityNumbers, type Published, publishedOf } from "./advisory.ts";
import { csafDocument } from "./csaf.ts";
import { openVexDocument } from "./openvex.ts";
import { osvRecord } from "./osv.ts";

/** A request to one of these addresses, free of its protocol. */
export interface DocumentRequest {
  readonly query: URLSearchParams;
  readonly headers: { readonly ifNoneMatch?: string | undefined };
}

export interface DocumentResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const base = "/advisory/v2/";
const kinds = ["osv", "openvex", "csaf"] as const;
type Kind = (typeof kinds)[number];

interface Feed {
  readonly store: Store;
  readonly publicUrl: string;
}

const withSeverityRecords = async ({ store }: Feed, rows: readonly AdvisoryRow[]): Promise<Published[]> => {
  const roots = rows.map(({ uid }) => rootOf(uid));
  const known = await readSeverities(store.read, roots, rows.flatMap(vulnerabilityNumbers));
  return rows.map((row) => publishedOf(row, severitiesOf(known, rootOf(row.uid), vulnerabilityNumbers(row))));
};

const documentAddress = ({ publicUrl }: Feed, kind: Kind, name: string): string =>
  `${publicUrl.replace(/\/$/, "")}${base}${kind}/${encodeURIComponent(name)}.json`;

const buildDocument = async (feed: Feed, kind: Kind, name: string): Promise<JsonObject | undefined> => {
  const rows = kind === "osv" ? await findPublishedById(feed.store.read, name) : await findPublished(feed.store.read, [name]);
  const [first, ...others] = await withSeverityRecords(feed, rows);
  if (!first) return undefined;
  const advisories: [Published, ...Published[]] = [first, ...others];
  const address = documentAddress(feed, kind, name);
  switch (kind) {
    case "osv":
      return osvRecord(advisories);
    case "openvex":
      return openVexDocument(address, advisories);
    case "csaf":
      return csafDocument(name, address, feed.publicUrl, advisories);
  }
};

interface Entry {
  readonly id: string;
  readonly modified: string;
}

/** The names of one kind's documents in the order of their changes, behind the entry before. */
const listEntries = ({ store }: Feed, kind: Kind, since: string, after: string): Promise<Entry[]> =>
  (kind === "osv" ? findChangedAdvisories : findChangedDocuments)(store.read, since, after, limits.documentEntriesMax);

/** Where a page of a listing begins. */
const readPageStart = (query: URLSearchParams): { since: string; after: string } => {
  const since = query.get("since") ?? "";
  const sinceMs = since === "" ? 0 : readTimestamp(since);
  if (sinceMs === undefined) throw invalid([{ field: "since", description: "must be a time such as 2026-01-31T08:00:00Z" }]);
  const after = query.get("after") ?? "";
  if (after.includes("\0") || !after.isWellFormed()) throw invalid([{ field: "after", description: "must be a name that the page before ended with" }]);
  return { since: since === "" ? "" : timestamp(sinceMs), after };
};

const readListing = async (feed: Feed, kind: Kind, query: URLSearchParams): Promise<{ entries: Entry[]; link: Record<string, string> }> => {
  const { since, after } = readPageStart(query);
  const entries = await listEntries(feed, kind, since, after);
  const last = entries.at(-1);
  if (entries.length < limits.documentEntriesMax || !last) return { entries, link: {} };
  const next = new URLSearchParams({ since: last.modified, after: last.id });
  return { entries, link: { link: `<?${next.toString()}>; rel="next"` } };
};

/** CSAF 2.0, 7.1.11 to 7.1.13. */
const csafIndex = async (
  feed: Feed,
  name: string,
  query: URLSearchParams,
): Promise<{ type: string; text: string; link?: Record<string, string> } | undefined> => {
  const folder = `${feed.publicUrl.replace(/\/$/, "")}${base}csaf/`;
  if (name === "provider-metadata.json") {
    const [newest] = await findChangedDocuments(feed.store.read, "", "", 1, true);
    const body = {
      canonical_url: `${folder}provider-metadata.json`,
      distributions: [{ directory_url: folder }],
      last_updated: newest?.modified ?? "1970-01-01T00:00:00.000Z",
      list_on_CSAF_aggregators: false,
      metadata_version: "2.0",
      mirror_on_CSAF_aggregators: false,
      publisher: { category: "other", name: new URL(feed.publicUrl).host, namespace: feed.publicUrl },
      role: "csaf_publisher",
    };
    return { type: "application/json", text: JSON.stringify(body) };
  }
  if (name !== "index.txt" && name !== "changes.csv") return undefined;
  const { entries, link } = await readListing(feed, "csaf", query);
  const file = ({ id }: Entry): string => `${encodeURIComponent(id)}.json`;
  if (name === "index.txt") return { type: "text/plain; charset=utf-8", text: entries.map((entry) => `${file(entry)}\n`).join(""), link };
  // The newest first.
  return {
    type: "text/csv; charset=utf-8",
    text: entries
      .toReversed()
      .map((entry) => `"${file(entry)}","${entry.modified}"\n`)
      .join(""),
    link,
  };
};

const respond = (request: DocumentRequest, type: string, text: string, more: Record<string, string> = {}): DocumentResponse => {
  const etag = `"${createHash("sha256").update(text).digest("base64url").slice(0, 27)}"`;
  const headers = { etag, "cache-control": "public, max-age=60", "x-content-type-options": "nosniff", ...more };
  const known = request.headers.ifNoneMatch?.split(",").map((each) => each.trim().replace(/^W\//, "")) ?? [];
  if (known.includes(etag) || known.includes("*")) return { status: 304, headers, body: "" };
  return { status: 200, headers: { "content-type": type, ...headers }, body: text };
};

const documentAt = (path: string): { kind: Kind; name: string } | undefined => {
  const kind = kinds.find((each) => path.startsWith(`${base}${each}/`));
  if (!kind) return undefined;
  try {
    const name = decodeURIComponent(path.slice(base.length + kind.length + 1));
    return name === "" || name.includes("\0") ? undefined : { kind, name };
  } catch {
    return undefined;
  }
};

/** The documents of a server, by path; undefined for paths of something else. */
export const openDocuments =
  (feed: Feed) =>
  (path: string): { GET: (request: DocumentRequest) => Promise<DocumentResponse> } | undefined => {
    const file = documentAt(path);
    if (!file) return undefined;
    const { kind, name } = file;
    return {
      async GET(request) {
        if (name === "all.json") {
          const { entries, link } = await readListing(feed, kind, request.query);
          return respond(request, "application/json", JSON.stringify(entries), link);
        }
        const index = kind === "csaf" ? await csafIndex(feed, name, request.query) : undefined;
        if (index) return respond(request, index.type, index.text, index.link);
        const document = name.endsWith(".json") ? await buildDocument(feed, kind, name.slice(0, -".json".length)) : undefined;
        if (!document) throw new Fault("NOT_FOUND", `no such document: ${name}`);
        return respond(request, "application/json", JSON.stringify(document));
      },
    };
  };
