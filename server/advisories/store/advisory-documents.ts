// Table advisory_documents: the open feed's documents, one per origin package, maintained by triggers
//. Rows are never deleted; an empty document is not listed.

import type { PageRequest } from "#base/page.ts";
import { addParameter, columns, expression, number, orderValue, pageClause, type PageTerms, type Read, text, time, wideCount } from "#db";

export interface DocumentFilter {
  readonly id: string | undefined;
  /** Vulnerability IDs; any may match. */
  readonly aliases: readonly string[];
}

export interface DocumentRow {
  /** The position in the order. */
  readonly key: readonly string[];
  readonly origin: string;
  readonly createTime: string;
  readonly updateTime: string;
}

const documentOrders: Readonly<Record<string, readonly string[]>> = {
  id: ["origin"],
  create_time: ["create_time", "origin"],
  update_time: ["update_time", "origin"],
};

const filterTerms = ({ id, aliases }: DocumentFilter): PageTerms => {
  const page: PageTerms = { values: [], terms: ["listed > 0"] };
  if (id !== undefined) page.terms.push(`origin = ${addParameter(page, id)}`);
  if (aliases.length > 0) {
    const numbers = addParameter(page, aliases);
    // Few of many rows, so separate indexes find them before sorting.
    page.terms.push(
      `origin = any(array(select origin from advisories where public and delete_time is null and (aliases ?| ${numbers} or advisory_id = any(${numbers}))))`,
    );
  }
  return page;
};

const documentRow = columns<Omit<DocumentRow, "key">>({ origin: text, createTime: time("create_time"), updateTime: time("update_time") });
const documentCount = columns({ documents: expression("count(*)", number) });

export const findDocuments = async (rows: Read, filter: DocumentFilter, page: PageRequest): Promise<DocumentRow[]> => {
  const order = documentOrders[page.order.column] ?? [];
  const terms = filterTerms(filter);
  const clause = pageClause(terms, order, page);
  const found = await rows.query(`select ${documentRow.list}, ${order.map(orderValue).join(", ")} from advisory_documents ${clause}`, terms.values, {
    rows: page.limit,
    wide: true,
  });
  return found.map((row) => ({ ...documentRow.read(row), key: row.slice(-order.length).map((value) => value ?? "") }));
};

const documentChange = columns({ origin: text, updateTime: time("update_time") });

/** Returns the times of the last change or withdrawal; they never decrease. */
export const findDocumentChanges = async (rows: Read, origins: readonly string[]): Promise<Map<string, string>> => {
  const found = await documentChange.find(rows, `select ${documentChange.list} from advisory_documents where origin = any($1)`, [origins], {
    rows: origins.length,
    wide: true,
  });
  return new Map(found.map(({ origin, updateTime }) => [origin, updateTime]));
};

export const countDocuments = async (rows: Read, filter: DocumentFilter): Promise<number> => {
  const { terms, values } = filterTerms(filter);
  const found = await documentCount.findOne(rows, `select ${documentCount.list} from advisory_documents where ${terms.join(" and ")}`, values, wideCount);
  return found?.documents ?? 0;
};

const documentOrigin = columns({ origin: text });

/** Returns packages with one of these CSAF file names (CSAF 2.0, 5.1). */
export const findOriginsByFileName = async (rows: Read, fileNames: readonly string[], limit: number): Promise<string[]> => {
  const found = await documentOrigin.find(
    rows,
    `select ${documentOrigin.list} from advisory_documents where regexp_replace(lower(origin), '[^-+a-z0-9]+', '_', 'g') = any($1) order by origin limit $2`,
    [fileNames, limit],
  );
  return found.map(({ origin }) => origin);
};
