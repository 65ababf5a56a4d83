// Everything that depends on undocumented parts of `pg`; driver-internals.test.ts pins each of them.
//
// Sends prepared statements on a pipelined connection without the driver's general overhead. Column descriptions are
// neither requested nor parsed, and values stay text. Measured with 16 reads in flight: 12 instead of 18 µs of our own
// CPU each, and less for PostgreSQL.
//
// Statements sent together form one message with one Sync. After an error PostgreSQL skips everything up to Sync. So no
// statement runs outside its transaction after a failed `begin`, and a commit after a failed statement commits nothing.

import type { Writable } from "node:stream";
import { type CallRecord, countStatement, currentCall } from "#calls";
import pg from "pg";
import type { Param, Row } from "./handle.ts";
import { beginExchange, endExchange } from "./exchange.ts";
import { atEndOfTick } from "./tick.ts";

interface ConnectionInternals {
  readonly parsedStatements: Readonly<Record<string, string | undefined>>;
  readonly submittedNamedStatements: Record<string, string | undefined>;
  readonly stream: { write(bytes: Uint8Array): unknown };
}

// ---- messages (PostgreSQL protocol, version 3) ------------------------------------------------------------------

const messageType = (letter: string): number => letter.charCodeAt(0);
const parseType = messageType("P");
const bindType = messageType("B");

/** Execute: the unnamed portal, all rows. */
const execute = Buffer.from([messageType("E"), 0, 0, 0, 9, 0, 0, 0, 0, 0]);
const sync = Buffer.from([messageType("S"), 0, 0, 0, 4]);

// One shared buffer, since building a message is synchronous; a copy is sent.
const initialBytes = 16 * 1024;
let buffer = Buffer.allocUnsafe(initialBytes);
let position = 0;

const ensureBytes = (bytes: number): void => {
  if (position + bytes <= buffer.length) return;
  const larger = Buffer.allocUnsafe(Math.max(buffer.length * 2, position + bytes));
  buffer.copy(larger, 0, 0, position);
  buffer = larger;
};

const addBytes = (bytes: Buffer): void => {
  ensureBytes(bytes.length);
  position += bytes.copy(buffer, position);
};

const addInt16 = (value: number): void => {
  ensureBytes(2);
  position = buffer.writeInt16BE(value, position);
};

/** Adds a zero-terminated text. */
const addName = (text: string): void => {
  ensureBytes(text.length * 3 + 1);
  position += buffer.write(text, position, "utf8");
  buffer[position++] = 0;
};

/** Adds a message. Its length includes itself and is filled in last. */
const addMessage = (type: number, content: () => void): void => {
  ensureBytes(5);
  buffer[position++] = type;
  const start = position;
  position += 4;
  content();
  buffer.writeInt32BE(position - start, start);
};

/** Formats a parameter as PostgreSQL text, with the driver's rules for lists. */
const parameterText = (value: Param): string => {
  if (typeof value === "string") return value;
  return Array.isArray(value) ? `{${value.map((entry) => `"${String(entry).replace(/[\\"]/g, "\\$&")}"`).join(",")}}` : String(value);
};

const addParameter = (value: Param): void => {
  if (value === null) {
    ensureBytes(4);
    position = buffer.writeInt32BE(-1, position);
    return;
  }
  const text = parameterText(value);
  ensureBytes(text.length * 3 + 4);
  const length = buffer.write(text, position + 4, "utf8");
  buffer.writeInt32BE(length, position);
  position += 4 + length;
};

/** A traced text is used once. It is unnamed, so that the connection keeps plans only for untraced texts. */
const addParse = ({ name, text, call }: OutgoingStatement): void =>
  addMessage(parseType, () => {
    addName(name);
    addName(name === "" && call?.trace ? `${text} /*traceparent='${call.trace.traceparent}'*/` : text);
    // No parameter types: PostgreSQL infers them.
    addInt16(0);
  });

const addBind = ({ name, values }: OutgoingStatement): void =>
  addMessage(bindType, () => {
    // The unnamed portal, then the statement; parameters and columns are text.
    addName("");
    addName(name);
    addInt16(0);
    addInt16(values.length);
    for (const value of values) addParameter(value);
    addInt16(0);
  });

/** Returns a copy of the buffer's content and empties it. */
const takeMessages = (): Buffer => {
  const messages = Buffer.from(buffer.subarray(0, position));
  position = 0;
  // Releases the memory of a huge statement.
  if (buffer.length > initialBytes * 16) buffer = Buffer.allocUnsafe(initialBytes);
  return messages;
};

// ---- statements -------------------------------------------------------------------------------------------------

/** A statement in flight, with its callbacks. */
export interface OutgoingStatement {
  /** Name of the prepared statement; empty if not kept. */
  readonly name: string;
  readonly text: string;
  readonly values: readonly Param[];
  /** The request whose statistics count it. */
  readonly call: CallRecord | undefined;
  /** `command` is PostgreSQL's tag, such as COMMIT. Must not throw, nor may `failed`. */
  readonly answered: (rows: Row[], command: string) => void;
  readonly failed: (error: unknown) => void;
}

interface Answered {
  readonly rows: Row[];
  readonly command: string;
  readonly endedMs: number;
}

/**
 * Implements the methods that the driver calls on a query. Has the prototype of Query, which pipeline mode requires,
 * but not its constructor, which creates an event emitter and a result for each.
 */
class StatementBatch {
  /** Name and text of the statement whose response is next; the driver tracks prepared statements by them. */
  name: string;
  text: string;
  declare readonly submit: pg.Submittable["submit"];
  readonly #statements: readonly OutgoingStatement[];
  readonly #done: (answers: readonly Answered[], error?: unknown) => void;
  readonly #answers: Answered[] = [];
  #rows: Row[] = [];
  /** Names that this batch prepares. */
  #parsed: string[] | undefined;
  #connection: ConnectionInternals | undefined;

  constructor(statements: readonly OutgoingStatement[], done: (answers: readonly Answered[], error?: unknown) => void) {
    this.name = statements[0]?.name ?? "";
    this.text = statements[0]?.text ?? "";
    this.#statements = statements;
    this.#done = done;
  }

  /** Called on failure; success arrives as handleReadyForQuery. */
  handleError(error: unknown): void {
    // The driver does not forget the names of skipped statements itself.
    for (const name of this.#parsed ?? []) delete this.#connection?.submittedNamedStatements[name];
    this.#done(this.#answers, error);
  }

  prepare(connection: ConnectionInternals): void {
    this.#connection = connection;
    for (const statement of this.#statements) {
      const { name, text } = statement;
      if (name === "") addParse(statement);
      else if (connection.parsedStatements[name] === undefined && connection.submittedNamedStatements[name] === undefined) {
        addParse(statement);
        connection.submittedNamedStatements[name] = text;
        (this.#parsed ??= []).push(name);
      }
      addBind(statement);
      addBytes(execute);
    }
    addBytes(sync);
    connection.stream.write(takeMessages());
  }

  /** Always true: the driver would send an unnamed statement as text only. */
  requiresPreparation(): boolean {
    return true;
  }

  handleRowDescription(): void {}

  handleDataRow(message: { readonly fields: Row }): void {
    this.#rows.push(message.fields);
  }

  handleCommandComplete(message: { readonly text: string }): void {
    this.#answers.push({ rows: this.#rows, command: message.text, endedMs: performance.now() });
    const next = this.#statements[this.#answers.length];
    if (next === undefined) return;
    this.#rows = [];
    this.name = next.name;
    this.text = next.text;
  }

  handleReadyForQuery(): void {
    this.#done(this.#answers);
  }
}
Object.setPrototypeOf(StatementBatch.prototype, pg.Query.prototype);

/**
 * Sends statements together. After a failure PostgreSQL skips the rest, which fail with the same error. All results
 * arrive together, and the first statement is charged for the whole time.
 */
export const sendStatements = (client: pg.ClientBase, statements: readonly OutgoingStatement[]): void => {
  beginExchange(client);
  const sentMs = performance.now();
  const done = (answers: readonly Answered[], error?: unknown): void => {
    let turnMs = endExchange(client);
    for (const [index, { text, call, answered, failed }] of statements.entries()) {
      const answer = answers[index];
      const endedMs = answer?.endedMs ?? performance.now();
      countStatement(call, { text, sentMs, turnMs, endedMs, failed: answer === undefined });
      // A statement without a request leaves its time to the next.
      if (call) turnMs = endedMs;
      if (answer) answered(answer.rows, answer.command);
      else failed(error);
    }
  };
  client.query(new StatementBatch(statements, done));
};

/** Returns a statement charged to the current request; without `name` the connection does not keep it. */
export const outgoing = (
  name: string | undefined,
  text: string,
  values: readonly Param[],
  answered: OutgoingStatement["answered"],
  failed: OutgoingStatement["failed"],
): OutgoingStatement => {
  const call = currentCall();
  return { name: (call?.trace ? undefined : name) ?? "", text, values, call, answered, failed };
};

/** Sends one statement; without `name` the connection does not keep it. */
export const sendStatement = (client: pg.ClientBase, name: string | undefined, text: string, values: readonly Param[]): Promise<Row[]> =>
  new Promise((resolve, reject) => sendStatements(client, [outgoing(name, text, values, resolve, reject)]));

/** Returns the PostgreSQL process ID that was announced when the connection opened. */
export const announcedBackend = (client: pg.Client): unknown => Reflect.get(client, "processID");

const corked = new WeakSet<Writable>();

/** Buffers writes to a connection until the tick ends, then sends them at once. */
export const corkUntilEndOfTick = ({ connection: { stream } }: pg.Client): void => {
  if (corked.has(stream)) return;
  corked.add(stream);
  stream.cork();
  atEndOfTick(() => {
    corked.delete(stream);
    stream.uncork();
  });
};
