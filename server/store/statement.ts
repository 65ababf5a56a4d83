// One prepared statement on a pipelined connection, without what the driver does for everybody and we do not need:
// the description of the columns is neither asked for nor parsed (we know our columns), rows stay texts, and what one
// turn of the event loop asks for is written at once. Measured with 16 reads in flight: 12 instead of 18 µs of ours
// for each, and less for PostgreSQL. The first of a transaction opens it in the same message: PostgreSQL passes over
// everything up to Sync once something fails, so that it never runs outside of it.

import pg from "pg";
import type { Param, Row } from "./handle.ts";

/** The parts of the driver's connection that a query speaks to. */
interface Wire {
  readonly parsedStatements: Readonly<Record<string, string | undefined>>;
  readonly submittedNamedStatements: Record<string, string | undefined>;
  parse(message: { readonly text: string; readonly name: string }): void;
  bind(message: {
    readonly portal: string;
    readonly statement: string;
    readonly values: readonly unknown[];
    readonly valueMapper: (value: unknown) => unknown;
  }): void;
  readonly stream: { write(bytes: Uint8Array): unknown };
}

/** Execute (the unnamed portal, all rows) and Sync, which are the same for every statement: PostgreSQL's protocol, version 3. */
const executeAndSync = Buffer.from([0x45, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0x53, 0, 0, 0, 4]);

/** Execute alone. */
const execute = executeAndSync.subarray(0, 10);

/** The name under which a connection that writes has `begin` prepared (pool.ts). */
export const beginName = "begin";

/** PostgreSQL's text form of a parameter: the driver's own rules for lists. */
const valueMapper = (value: unknown): unknown => {
  if (typeof value === "string" || value === null) return value;
  return Array.isArray(value) ? `{${value.map((entry) => `"${String(entry).replace(/[\\"]/g, "\\$&")}"`).join(",")}}` : String(value);
};

/** What the driver calls on a query. Its own class otherwise, so that its queue takes it in pipeline mode. */
export class Statement extends pg.Query {
  readonly #name: string;
  /** Named statements are prepared; so says the driver. */
  name: string;
  readonly #text: string;
  readonly #values: readonly Param[];
  readonly #found: Row[] = [];
  /** The driver reports an error here; an answer comes with the connection's readiness. */
  readonly callback: (error: unknown) => void;
  readonly #resolve: (rows: Row[]) => void;
  readonly #begins: boolean;

  /** @param name under which the connection keeps it; "" is not kept */
  constructor(name: string, text: string, values: readonly Param[], begins: boolean, resolve: (rows: Row[]) => void, reject: (error: unknown) => void) {
    // A text, because the driver copies an object; its name is set behind the copy.
    super(text);
    this.name = name;
    this.#name = name;
    this.#text = text;
    this.#values = values;
    this.#begins = begins;
    this.#resolve = resolve;
    this.callback = reject;
  }

  prepare(wire: Wire): void {
    if (this.#begins) {
      wire.bind({ portal: "", statement: beginName, values: [], valueMapper });
      wire.stream.write(execute);
    }
    if (this.#name === "") wire.parse({ text: this.#text, name: "" });
    else if (wire.parsedStatements[this.#name] === undefined && wire.submittedNamedStatements[this.#name] === undefined) {
      wire.parse({ text: this.#text, name: this.#name });
      wire.submittedNamedStatements[this.#name] = this.#text;
    }
    wire.bind({ portal: "", statement: this.#name, values: this.#values, valueMapper });
    wire.stream.write(executeAndSync);
  }

  /** Always: without a name the driver would send the text alone. */
  requiresPreparation(): boolean {
    return true;
  }

  handleRowDescription(): void {}

  handleDataRow(message: { readonly fields: Row }): void {
    this.#found.push(message.fields);
  }

  handleCommandComplete(): void {}

  handleReadyForQuery(): void {
    this.#resolve(this.#found);
  }
}
