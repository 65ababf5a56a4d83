// PostgreSQL's catalog as plain values, for the kernel's check of the contract (kernel/schema.ts).

import type { Json } from "#base/json.ts";
import { columns, flag, json, number, text } from "./columns.ts";
import type { Read } from "./handle.ts";

export interface CatalogueColumn {
  readonly name: string;
  /** Such as "timestamp(3) with time zone". */
  readonly type: string;
  /** "default" for the database's collation; empty if none. */
  readonly collation: string;
  readonly nullable: boolean;
  /** An insert may omit it: default, identity or generated. */
  readonly filledByItself: boolean;
}

export interface CatalogueIndexKey {
  /** A column or an SQL expression, such as "left(uid, 40)". */
  readonly expression: string;
  readonly collation: string;
  readonly descending: boolean;
}

export interface CatalogueIndex {
  readonly name: string;
  /** Such as "btree" or "gin". */
  readonly method: string;
  readonly unique: boolean;
  /** False while `create index concurrently` runs, and after it fails. */
  readonly valid: boolean;
  readonly keys: readonly CatalogueIndexKey[];
  /** From INCLUDE. */
  readonly included: readonly string[];
  /** Such as "length(uid) = 40"; empty for all rows. */
  readonly predicate: string;
}

export interface CatalogueTrigger {
  readonly name: string;
  readonly calls: string;
  readonly after: "insert" | "delete" | "other";
}

export interface CatalogueTable {
  readonly name: string;
  /** Every unique index then contains the partition key. */
  readonly partitioned: boolean;
  readonly columns: ReadonlyMap<string, CatalogueColumn>;
  readonly indexes: readonly CatalogueIndex[];
  /** Enabled ones only. */
  readonly triggers: readonly CatalogueTrigger[];
}

export type Catalogue = ReadonlyMap<string, CatalogueTable>;

const attributes = columns({ tableName: text, isPartitioned: flag, name: text, type: text, collationName: text, isNullable: flag, isFilledByItself: flag });

// Partitions match their table.
const attributeStatement = `
  select ${attributes.list} from (
    select relname as table_name, relkind = 'p' as is_partitioned, attname as name, format_type(atttypid, atttypmod) as type,
      coalesce(collname, '') as collation_name, not attnotnull as is_nullable, atthasdef or attidentity <> '' as is_filled_by_itself, attnum
    from pg_attribute
    join pg_class on pg_class.oid = attrelid
    left join pg_collation on pg_collation.oid = attcollation
    where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p') and not relispartition and attnum > 0 and not attisdropped
  ) as attributes
  order by table_name, attnum`;

const definitions = columns({ tableName: text, name: text, method: text, isUnique: flag, isValid: flag, keyCount: number, keys: json, predicate: text });

const indexStatement = `
  select ${definitions.list} from (
    select tables.relname as table_name, indexes.relname as name, amname as method, indisunique as is_unique, indisvalid as is_valid, indnkeyatts as key_count,
      (
        select jsonb_agg(
          jsonb_build_array(pg_get_indexdef(indexrelid, position, true), coalesce(collname, ''), coalesce(indoption[position - 1] & 1, 0) = 1) order by position
        )
        from generate_series(1, indnatts) as position
        left join pg_collation on pg_collation.oid = indcollation[position - 1]
      ) as keys,
      coalesce(pg_get_expr(indpred, indrelid, true), '') as predicate
    from pg_index
    join pg_class as indexes on indexes.oid = indexrelid
    join pg_class as tables on tables.oid = indrelid
    join pg_am on pg_am.oid = indexes.relam
    where tables.relnamespace = current_schema()::regnamespace and tables.relkind in ('r', 'p') and not tables.relispartition
  ) as definitions
  order by table_name, name`;

const triggers = columns({ tableName: text, name: text, calls: text, isAfterInsert: flag, isAfterDelete: flag });

// Bits of tgtype: 1 for each row, 2 before, 4 insert, 8 delete, 16 update, 64 instead of.
const triggerStatement = `
  select ${triggers.list} from (
    select relname as table_name, tgname as name, proname as calls, tgtype::int & 70 = 4 as is_after_insert, tgtype::int & 74 = 8 as is_after_delete
    from pg_trigger
    join pg_class on pg_class.oid = tgrelid
    join pg_proc on pg_proc.oid = tgfoid
    where relnamespace = current_schema()::regnamespace and not relispartition and not tgisinternal and tgenabled in ('O', 'A')
  ) as triggers
  order by table_name, name`;

/** PostgreSQL writes "left"(uid, '-17'::integer) where a migration says left(uid, -17), and "position" for position. */
const asMigrationsWrite = (expression: string): string => expression.replace(/"([a-z_][a-z0-9_]*)"/g, "$1").replace(/'(-?\d+)'::integer/g, "$1");

const indexKeysOf = (keys: Json): CatalogueIndexKey[] =>
  Array.isArray(keys)
    ? keys.flatMap((key) =>
        Array.isArray(key) ? [{ expression: asMigrationsWrite(String(key[0])), collation: String(key[1]), descending: key[2] === true }] : [],
      )
    : [];

export const readCatalogue = async (rows: Read): Promise<Catalogue> => {
  const [foundColumns, foundIndexes, foundTriggers] = await Promise.all([
    attributes.find(rows, attributeStatement),
    definitions.find(rows, indexStatement),
    triggers.find(rows, triggerStatement),
  ]);
  const tables = new Map<
    string,
    { name: string; partitioned: boolean; columns: Map<string, CatalogueColumn>; indexes: CatalogueIndex[]; triggers: CatalogueTrigger[] }
  >();
  for (const { tableName, isPartitioned, name, type, collationName, isNullable, isFilledByItself } of foundColumns) {
    const table = tables.get(tableName) ?? { name: tableName, partitioned: isPartitioned, columns: new Map(), indexes: [], triggers: [] };
    tables.set(tableName, table);
    table.columns.set(name, { name, type, collation: collationName, nullable: isNullable, filledByItself: isFilledByItself });
  }
  for (const { tableName, name, method, isUnique, isValid, keyCount, keys, predicate } of foundIndexes) {
    const all = indexKeysOf(keys);
    tables.get(tableName)?.indexes.push({
      name,
      method,
      unique: isUnique,
      valid: isValid,
      keys: all.slice(0, keyCount),
      included: all.slice(keyCount).map(({ expression }) => expression),
      predicate: asMigrationsWrite(predicate),
    });
  }
  for (const { tableName, name, calls, isAfterInsert, isAfterDelete } of foundTriggers)
    tables.get(tableName)?.triggers.push({ name, calls, after: isAfterInsert ? "insert" : isAfterDelete ? "delete" : "other" });
  return tables;
};
