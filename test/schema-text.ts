// Describes the database for review: each resource's table with its contract, then all other tables.

import type { BoundResource } from "#kernel";
import type { Catalogue, CatalogueColumn, CatalogueIndex, CatalogueTable } from "#db";
import { requiredIndexes } from "../server/kernel/schema.ts";

type Line = readonly [head: string, ...cells: string[]];

const schemaLineOf = ([head, ...cells]: Line): string => `  ${head.padEnd(11)} ${cells.join("  ")}`.trimEnd();

const columnTextOf = ({ type, collation, nullable }: CatalogueColumn): string =>
  [type.replace("timestamp(3) with time zone", "timestamptz(3)"), collation === "C" ? 'collate "C"' : "", nullable ? "" : "not null"]
    .filter((word) => word !== "")
    .join(" ");

const withoutCasts = (expression: string): string => expression.replaceAll("::text", "");

const indexTextOf = ({ unique, method, keys, included, predicate }: CatalogueIndex): string =>
  [
    unique ? "unique" : "",
    method === "btree" ? "" : method,
    `(${keys.map(({ expression, descending }) => `${withoutCasts(expression)}${descending ? " desc" : ""}`).join(", ")})`,
    included.length > 0 ? `include (${included.join(", ")})` : "",
    predicate === "" ? "" : `where ${withoutCasts(predicate)}`,
  ]
    .filter((word) => word !== "")
    .join(" ");

const linesUnder = (head: string, entries: readonly (readonly string[])[]): Line[] =>
  entries.length === 0 ? [[head, "-"]] : entries.map((cells, index) => [index === 0 ? head : "", ...cells]);

const widthMax = 64;

const aligned = (rows: readonly (readonly string[])[]): string[][] => {
  const widthOf = (column: number): number => Math.min(widthMax, Math.max(...rows.map((cells) => cells[column]?.length ?? 0)));
  return rows.map((cells) => cells.map((cell, column) => cell.padEnd(widthOf(column))));
};

const tableLines = (table: CatalogueTable, isField: (column: string) => boolean, purposeOf: (index: CatalogueIndex) => string): Line[] => [
  ...linesUnder("columns", aligned([...table.columns.values()].map((column) => [column.name, columnTextOf(column), isField(column.name) ? "" : "no field"]))),
  ...linesUnder("indexes", aligned(table.indexes.map((index) => [index.name.replace(table.name, "…"), indexTextOf(index), purposeOf(index)]))),
];

const resourceLines = (resource: BoundResource, table: CatalogueTable): Line[] => {
  const { fact, parent, children, cascades, blocks, sideTables = [] } = resource;
  const required = requiredIndexes(resource, table);
  const purposesOf = (index: CatalogueIndex): string[] => required.filter(({ serves }) => serves(index)).map(({ purpose }) => purpose);
  return [
    ["parent", parent ? parent.fact.short : "-"],
    ["unique by", (fact.resource?.unique ?? []).join(", ") || "-"],
    ...linesUnder("takes along", [
      ...children.filter(({ deletedWithParent }) => deletedWithParent).map((child) => [`${child.table} below it`]),
      ...cascades.map((reference) => [`${reference.resource.table} by ${reference.column}`]),
      ...sideTables.map((side) => [`rows of ${side.table} by ${side.column}`]),
    ]),
    ...linesUnder("blocked by", [
      ...children.filter(({ deletedWithParent }) => !deletedWithParent).map((child) => [`${child.table} below it`]),
      ...blocks.map((reference) => [`${reference.resource.table} by ${reference.column}: ${reference.inUseAs}`]),
    ]),
    ...tableLines(
      table,
      (column) => fact.byName.has(column),
      (index) => purposesOf(index).join("; ") || "of its own",
    ),
  ];
};

/** Describes resource tables in message order, then other tables by name. */
export const describeSchema = (resources: ReadonlyMap<string, BoundResource>, catalogue: Catalogue): string => {
  const ofResources = [...resources.values()].flatMap((resource) => {
    const table = catalogue.get(resource.shape.table.name);
    return table ? [{ table, head: `${table.name}: ${resource.fact.name}`, lines: resourceLines(resource, table) }] : [];
  });
  ofResources.sort((one, other) => (one.head < other.head ? -1 : 1));
  const taken = new Set(ofResources.map(({ table }) => table.name));
  const others = [...catalogue.values()].filter(({ name }) => !taken.has(name));
  others.sort((one, other) => (one.name < other.name ? -1 : 1));
  return [
    "What the database has. Of a resource's table: what follows from the contract, which index serves what, and which is there for reasons of its own.",
    ...ofResources.map(({ head, lines }) => [head, ...lines.map(schemaLineOf)].join("\n")),
    "Tables of no resource.",
    ...others.map((table) =>
      [
        table.name,
        ...tableLines(
          table,
          () => true,
          () => "",
        ).map(schemaLineOf),
      ].join("\n"),
    ),
  ]
    .join("\n\n")
    .concat("\n");
};
