// The catalogue of libraries as it is listed: artifacts by name, a library's versions in the order of its ecosystem.

import { limits } from "#base/limits.ts";
import type { Param, Read } from "./handle.ts";
import { timeText } from "./time-text.ts";

export interface LibraryAsk {
  readonly column: string;
  readonly descending: boolean;
  /** The order's values of the last record of the page before. */
  readonly after: readonly string[] | undefined;
  readonly skip: number;
  readonly limit: number;
}

export interface LibraryFilter {
  readonly ecosystems: readonly string[];
  /** Part of the name; "" for any. */
  readonly query: string;
  readonly cudaVersion: string;
  readonly remediated: boolean;
}

export interface ArtifactRow {
  /** What places it in the order. */
  readonly key: readonly string[];
  readonly uid: string;
  readonly name: string;
  readonly description: string;
  readonly ecosystem: string;
  readonly latestVersion: string;
  readonly versionCount: number;
  readonly createTime: string;
  readonly updateTime: string;
}

class Terms {
  readonly values: Param[] = [];
  readonly terms: string[] = [];
  place(value: Param): string {
    return `$${this.values.push(value)}`;
  }
}

/** Behind the last record, and the order. */
const ordered = (terms: Terms, columns: readonly string[], { descending, after }: LibraryAsk): string => {
  if (after) terms.terms.push(`(${columns.join(", ")}) ${descending ? "<" : ">"} (${after.map((value) => terms.place(value)).join(", ")})`);
  return `order by ${columns.map((column) => `${column} ${descending ? "desc" : "asc"}`).join(", ")}`;
};

const cut = (terms: Terms, { limit, skip }: LibraryAsk): string => `limit ${terms.place(limit)} offset ${terms.place(skip)}`;

const filtered = ({ ecosystems, query, cudaVersion, remediated }: LibraryFilter): Terms => {
  const terms = new Terms();
  terms.terms.push("delete_time is null", `ecosystem = any(${terms.place(ecosystems)})`);
  const like = `search like ${query === "" ? "" : terms.place(`%${query.toLowerCase().replace(/[\\%_]/g, "\\$&")}%`)}`;
  // Of less than a trigram its index would be read whole.
  if (query !== "") terms.terms.push(query.length < limits.trigramLength ? `(${like}) is true` : like);
  if (cudaVersion !== "") terms.terms.push(`cuda_versions ? ${terms.place(cudaVersion)}`);
  if (remediated) terms.terms.push("remediated");
  return terms;
};

const keyColumn = (column: string): string => (column.endsWith("_time") ? timeText(column) : column);

/** One page of artifacts. */
export const findArtifacts = async (rows: Read, filter: LibraryFilter, ask: LibraryAsk): Promise<ArtifactRow[]> => {
  const terms = filtered(filter);
  const order = ordered(terms, [ask.column, "uid"], ask);
  const found = await rows.query(
    `select uid, name, description, ecosystem, latest_version, version_count, ${timeText("create_time")}, ${timeText("update_time")}, ${keyColumn(ask.column)}
     from library_artifacts where ${terms.terms.join(" and ")} ${order} ${cut(terms, ask)}`,
    terms.values,
  );
  return found.map(([uid, name, description, ecosystem, latestVersion, versionCount, createTime, updateTime, key]) => ({
    key: [key ?? "", uid ?? ""],
    uid: uid ?? "",
    name: name ?? "",
    description: description ?? "",
    ecosystem: ecosystem ?? "",
    latestVersion: latestVersion ?? "",
    versionCount: Number(versionCount),
    createTime: createTime ?? "",
    updateTime: updateTime ?? "",
  }));
};

/** How many artifacts there are by ecosystem, of those that are asked for. */
export const countArtifacts = async (rows: Read, filter: LibraryFilter): Promise<Map<string, number>> => {
  const terms = filtered(filter);
  const found = await rows.query(`select ecosystem, count(*) from library_artifacts where ${terms.terms.join(" and ")} group by ecosystem`, terms.values);
  return new Map(found.map(([ecosystem, count]) => [ecosystem ?? "", Number(count)]));
};

export interface VersionRow {
  readonly key: readonly string[];
  readonly uid: string;
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly createTime: string;
  readonly updateTime: string;
  /** 64 bits. */
  readonly sizeBytes: string;
}

/** Equal versions ("1.0" and "1.0.0" of Python) by when they were published. */
const versionOrders: Readonly<Record<string, readonly string[]>> = {
  version: ["sort_key", "create_time", "version"],
  create_time: ["create_time", "version"],
  update_time: ["update_time", "version"],
};

/** One page of a library's versions; undefined where there is no such library. */
export const findArtifactVersions = async (rows: Read, artifact: string, ask: LibraryAsk): Promise<VersionRow[] | undefined> => {
  const [held] = await rows.query("select name from library_artifacts where uid = $1 and delete_time is null", [artifact]);
  if (!held) return undefined;
  const columns = versionOrders[ask.column] ?? [];
  const terms = new Terms();
  terms.terms.push(`artifact_uid = ${terms.place(artifact)}`, "delete_time is null");
  const order = ordered(terms, columns, ask);
  const found = await rows.query(
    `select uid, version, description, ${timeText("create_time")}, ${timeText("update_time")}, size_bytes, ${columns.map(keyColumn).join(", ")}
     from library_versions where ${terms.terms.join(" and ")} ${order} ${cut(terms, ask)}`,
    terms.values,
  );
  return found.map(([uid, version, description, createTime, updateTime, sizeBytes, ...key]) => ({
    key: key.map((value) => value ?? ""),
    uid: uid ?? "",
    name: held[0] ?? "",
    version: version ?? "",
    description: description ?? "",
    createTime: createTime ?? "",
    updateTime: updateTime ?? "",
    sizeBytes: sizeBytes ?? "0",
  }));
};

export const countVersions = async (rows: Read, artifact: string): Promise<number> => {
  const [row] = await rows.query("select count(*) from library_versions where artifact_uid = $1 and delete_time is null", [artifact]);
  return Number(row?.[0] ?? 0);
};
