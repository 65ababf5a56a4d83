// Dumps a database's rows as readable SQL for an empty database of the same schema, with triggers disabled because their results
// are included: one column per line, long texts split.

import pg from "pg";

const pieceLength = 100;

/** Returns a literal; a long one as several that SQL concatenates. */
const literalOf = (value: string): string => {
  const pieces = value.match(new RegExp(`[^]{1,${pieceLength}}`, "gu")) ?? [""];
  return pieces.map((piece) => `'${piece.replaceAll("'", "''")}'`).join("\n    ");
};

interface Column {
  readonly name: string;
  readonly identity: boolean;
}

const findTables = async (client: pg.Client): Promise<string[]> => {
  // Referenced tables come first; a partition's rows are included in its parent.
  const { rows } = await client.query<{ name: string }>(`
    with recursive tables as (
      select c.oid, c.relname as name from pg_class c
      where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') and not c.relispartition and c.relname <> 'schema_migrations'
    ), depths as (
      select oid, 0 as depth from tables
      union
      select conrelid, depth + 1 from depths join pg_constraint on confrelid = depths.oid and contype = 'f' and conrelid <> confrelid and depth < 20
    )
    select name from tables join depths using (oid) group by name order by max(depth), name`);
  return rows.map(({ name }) => name);
};

const findColumns = async (client: pg.Client, table: string): Promise<Column[]> => {
  const { rows } = await client.query<Column>(
    `select attname as name, attidentity <> '' as identity from pg_attribute
     where attrelid = $1::regclass and attnum > 0 and not attisdropped and attgenerated = '' order by attnum`,
    [table],
  );
  return rows;
};

/** As server/audit creates them. */
const dumpPartitions = async (client: pg.Client): Promise<string[]> => {
  const { rows } = await client.query<{ name: string; parent: string; bound: string }>(`
    select c.relname as name, inhparent::regclass::text as parent, pg_get_expr(c.relpartbound, c.oid) as bound
    from pg_inherits join pg_class c on c.oid = inhrelid where c.relispartition and c.relkind = 'r' order by 1`);
  return rows.map(
    ({ name, parent, bound }) =>
      `create table ${name} (like ${parent} including all);\nalter table ${parent} attach partition ${name}\n  ${bound.toLowerCase()};`,
  );
};

const dumpTable = async (client: pg.Client, table: string, rewrite: (value: string) => string): Promise<string[]> => {
  const columns = await findColumns(client, table);
  const identity = columns.find((column) => column.identity)?.name;
  const { rows } = await client.query<(string | null)[]>({
    text: `select ${columns.map(({ name }) => `${name}::text`).join(", ")} from ${table} order by ${identity ?? `${table}::text collate "C"`}`,
    rowMode: "array",
  });
  const names = columns
    .map(({ name }) => name)
    .join(", ")
    .replaceAll(/(.{100,}?,) /g, "$1\n  ");
  const into = `insert into ${table}\n  (${names})${identity === undefined ? "" : " overriding system value"} values`;
  const values = rows.map((row) => `(\n  ${row.map((value) => (value === null ? "null" : literalOf(rewrite(value)))).join(",\n  ")}\n)`);
  return [
    `alter table ${table} disable trigger user;`,
    `delete from ${table};`,
    ...(values.length > 0 ? [`${into}\n${values.join(", ")};`] : []),
    ...(identity === undefined ? [] : [`select setval(pg_get_serial_sequence('${table}', '${identity}'), (select max(${identity}) from ${table}));`]),
    `alter table ${table} enable trigger user;`,
  ];
};

/** Dumps all rows. `rewrite` replaces machine-specific values. */
export const dumpRows = async (databaseUrl: string, rewrite: (value: string) => string): Promise<string> => {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    await client.query("set timezone = 'UTC'; set datestyle = 'ISO'");
    const tables = await findTables(client);
    const statements = [...(await dumpPartitions(client))];
    for (const table of tables) statements.push((await dumpTable(client, table, rewrite)).join("\n"));
    return `${statements.join("\n\n")}\n`;
  } finally {
    await client.end();
  }
};
