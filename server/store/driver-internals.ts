// Everything here that leans on parts of `pg` which its documentation does not promise; driver-internals.test.ts names
// each of them, and fails with a sentence when an update of `pg` has changed one.
//
// A prepared statement on a pipelined connection, without what the driver does for everybody and we do not need: the
// description of the columns is neither requested nor parsed (we know our columns), rows stay texts, and what one tick
// of the event loop sends is written at once. Measured with 16 reads in flight: 12 instead of 18 µs of ours for each,
// and less for PostgreSQL. The first statement of a transaction opens it in the same message: PostgreSQL passes over
// everything up to Sync once something fails, so that it never runs outside of it.

import type { Writable } from "node:stream";
import { countStatement, currentCall } from "#calls";
import pg from "pg";
import type { Param, Row } from "./handle.ts";
import { beginExchange, endExchange } from "./exchange.ts";
import { atEndOfTick } from "./tick.ts";

/** The parts of the driver's connection that a query writes to. */
interface ConnectionInternals {
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
const parameterText = (value: unknown): unknown => {
  if (typeof value === "string" || value === null) return value;
  return Array.isArray(value) ? `{${value.map((entry) => `"${String(entry).replace(/[\\"]/g, "\\$&")}"`).join(",")}}` : String(value);
};

/** What the driver calls on a query. A subclass of its own query, so that its queue takes it in pipeline mode. */
class PreparedStatement extends pg.Query {
  readonly #name: string;
  /** The driver keeps account of named statements by it. */
  name: string;
  readonly #text: string;
  readonly #values: readonly Param[];
  readonly #rows: Row[] = [];
  /** The driver reports an error here; success comes with the connection's readiness. */
  readonly callback: (error: unknown) => void;
  readonly #resolve: (rows: Row[]) => void;
  readonly #begins: boolean;

  /** @param name under which the connection keeps it; "" is not kept */
  constructor(name: string, text: string, values: readonly Param[], begins: boolean, resolve: (rows: Row[]) => void, reject: (error: unknown) => void) {
    // A text, because the driver copies an object; its name is set after the copy.
    super(text);
    this.name = name;
    this.#name = name;
    this.#text = text;
    this.#values = values;
    this.#begins = begins;
    this.#resolve = resolve;
    this.callback = reject;
  }

  prepare(connection: ConnectionInternals): void {
    if (this.#begins) {
      connection.bind({ portal: "", statement: beginName, values: [], valueMapper: parameterText });
      connection.stream.write(execute);
    }
    if (this.#name === "") connection.parse({ text: this.#text, name: "" });
    else if (connection.parsedStatements[this.#name] === undefined && connection.submittedNamedStatements[this.#name] === undefined) {
      connection.parse({ text: this.#text, name: this.#name });
      connection.submittedNamedStatements[this.#name] = this.#text;
    }
    connection.bind({ portal: "", statement: this.#name, values: this.#values, valueMapper: parameterText });
    connection.stream.write(executeAndSync);
  }

  /** Always: without a name the driver would send the text alone. */
  requiresPreparation(): boolean {
    return true;
  }

  handleRowDescription(): void {}

  handleDataRow(message: { readonly fields: Row }): void {
    this.#rows.push(message.fields);
  }

  handleCommandComplete(): void {}

  handleReadyForQuery(): void {
    this.#resolve(this.#rows);
  }
}

/** Sends a statement. `name`: as the connection keeps it, undefined for not at all. `begins`: it is the first of a transaction. */
export const sendStatement = (client: pg.ClientBase, name: string | undefined, text: string, values: readonly Param[], begins = false): Promise<Row[]> =>
  new Promise((resolve, reject) => {
    beginExchange(client);
    const call = currentCall();
    const sentMs = performance.now();
    const answered = (rows: Row[]): void => {
      countStatement(call, { text, sentMs, turnMs: endExchange(client), failed: false });
      resolve(rows);
    };
    const failed = (error: unknown): void => {
      countStatement(call, { text, sentMs, turnMs: endExchange(client), failed: true });
      reject(error);
    };
    // A text with a trace's id comes once: it has no name, so that the plans which a connection keeps are those of the texts without it.
    const traceparent = call?.trace?.traceparent;
    const sent = traceparent === undefined ? text : `${text} /*traceparent='${traceparent}'*/`;
    client.query(new PreparedStatement(traceparent === undefined ? (name ?? "") : "", sent, values, begins, answered, failed));
  });

/** The process of PostgreSQL that serves the connection, as it was announced when the connection was made. */
export const announcedBackend = (client: pg.Client): unknown => Reflect.get(client, "processID");

const corked = new WeakSet<Writable>();

/** Holds back what is written to a connection until the tick ends, and then writes it at once. */
export const corkUntilEndOfTick = ({ connection: { stream } }: pg.Client): void => {
  if (corked.has(stream)) return;
  corked.add(stream);
  stream.cork();
  atEndOfTick(() => {
    corked.delete(stream);
    stream.uncork();
  });
};
