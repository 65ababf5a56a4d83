// The generated table of operations (client/gen/operations.ts). Rows name path fields in JSON, so that requests need no message
// types.

import type { FieldShape, OperationShape } from "./operation.ts";

/** An operation in the generated table. An absent field is false or none. */
export interface OperationRow {
  readonly name: string;
  readonly verb: string;
  readonly path: string;
  readonly body?: string;
  /** True if the body is a list. */
  readonly listBody?: true;
  readonly writes?: true;
  readonly open?: true;
  readonly givesFile?: true;
  /** The field of a paged list that holds its items. */
  readonly items?: string;
  /** The message of the response, if the client adds its defaults. */
  readonly reply?: string;
  /** The response has no fields. */
  readonly isEmpty?: true;
  /** The field of the update mask. */
  readonly mask?: string;
  /** `parent` is short for `uidp.childrenOf`. */
  readonly parent?: true;
}

const fieldOf = (json: string, shape: "one" | "list" = "one"): FieldShape => ({ json, shape, message: undefined });

const shapes = new WeakMap<OperationRow, OperationShape>();

const newShape = ({ name, verb, path, body = "", listBody, writes, open, givesFile, items }: OperationRow): OperationShape => ({
  name,
  rpc: name.slice(name.lastIndexOf("/") + 1),
  http: [{ verb, template: path, body }],
  input: {
    fields: [],
    byName: new Map([...(items ? [["page_token", fieldOf("pageToken")] as const] : []), ...(listBody ? [[body, fieldOf(body, "list")] as const] : [])]),
  },
  output: {
    fields: items ? [{ ...fieldOf(items, "list"), message: { fields: [], byName: new Map() } }] : [],
    byName: new Map(items ? [["next_page_token", fieldOf("nextPageToken")]] : []),
  },
  writes: writes === true,
  open: open === true,
  givesFile: givesFile === true,
  distribution: undefined,
  scim: undefined,
});

/** Returns the row in the client's internal form. */
export const shapeOfRow = (row: OperationRow): OperationShape => {
  const known = shapes.get(row);
  if (known) return known;
  const shape = newShape(row);
  shapes.set(row, shape);
  return shape;
};
