// Everything here that leans on parts of `pg` which its documentation does not promise; driver-internals.test.ts names
// each of them, and fails with a sentence when an update of `pg` has changed one.
//
// Prepared statements on a pipelined connection, without what the driver does for everybody and we do not need: the
// description of the columns is neither requested nor parsed (we know our columns), and rows stay texts. Measured with 16
// reads in flight: 12 instead of 18 µs of ours for each, and less for PostgreSQL.
//
// Statements that are sent together are one message with one Sync, and one answer. PostgreSQL passes over everything up to
// Sync once something fails: what comes behind `begin` never runs outside of its transaction, and a commit behind a
// statement that has failed commits nothing.

import type { Writable } from "node:stream";
import { type CallRecord, countStatement, currentCall } from "#calls";
import pg from "pg";
import type { Param, Row } from "./handle.ts";
import { beginExchange, endExchange } from "./exchange.ts";
import { atEndOfTick } from "./tick.ts";

/** The parts of the driver's connection that a query uses. */
interface ConnectionInternals {
  readonly parsedStatements: Readonly<Record<string, string | undefined>>;
  readonly submittedNamedStatements: Record<string, string | undefined>;
  readonly stream: { write(bytes: Uint8Array): unknown };
}

// ---- messages (PostgreSQL's protocol, version 3) ----------------------------------------------------------------

const messageType = (letter: string): number => letter.charCodeAt(0);
const parseType = messageType("P");
const bindType = messageType("B");

/** Execute: the unnamed portal, all rows. */
const execute = Buffer.from([messageType("E"), 0, 0, 0, 9, 0, 0, 0, 0, 0]);
const sync = Buffer.from([messageType("S"), 0, 0, 0, 4]);

// One buffer for all messages, as writing one never waits in the middle; what is sent is a copy.
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

/** A text up to its zero byte. */
const addName = (text: string): void => {
  ensureBytes(text.length * 3 + 1);
  position += buffer.write(text, position, "utf8");
  buffer[position++] = 0;
};

/** A message's length counts itself, and is known at its end. */
const addMessage = (type: number, content: () => void): void => {
  ensureBytes(5);
  buffer[position++] = type;
  const start = position;
  position += 4;
  content();
  buffer.writeInt32BE(position - start, start);
};

/** PostgreSQL's text form of a parameter: the driver's own rules for lists. */
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

/** A text with a trace's id comes once: it has no name, so that the plans which a connection keeps are those of the texts without it. */
const addParse = ({ name, text, call }: OutgoingStatement): void =>
  addMessage(parseType, () => {
    addName(name);
    addName(name === "" && call?.trace ? `${text} /*traceparent='${call.trace.traceparent}'*/` : text);
    // No types of parameters: PostgreSQL finds them.
    addInt16(0);
  });

const addBind = ({ name, values }: OutgoingStatement): void =>
  addMessage(bindType, () => {
    // The unnamed portal; then its statement. Parameters and columns are texts.
    addName("");
    addName(name);
    addInt16(0);
    addInt16(values.length);
    for (const value of values) addParameter(value);
    addInt16(0);
  });

/** What was added since the last time. */
const takeMessages = (): Buffer => {
  const messages = Buffer.from(buffer.subarray(0, position));
  position = 0;
  // One huge statement must not stay in memory for ever.
  if (buffer.length > initialBytes * 16) buffer = Buffer.allocUnsafe(initialBytes);
  return messages;
};

// ---- statements -------------------------------------------------------------------------------------------------

/** A statement on its way, and who is told what became of it. */
export interface OutgoingStatement {
  /** Under which the connection keeps it; "" is not kept. */
  readonly name: string;
  readonly text: string;
  readonly values: readonly Param[];
  /** For which it is counted. */
  readonly call: CallRecord | undefined;
  /** `command`: PostgreSQL's tag, such as COMMIT. Must not throw; nor may `failed`. */
  readonly answered: (rows: Row[], command: string) => void;
  readonly failed: (error: unknown) => void;
}

interface Answered {
  readonly rows: Row[];
  readonly command: string;
  readonly endedMs: number;
}

/**
 * What the driver calls on a query. It has its query's prototype, so that its queue takes it in pipeline mode, and not its
 * constructor, which makes an emitter of events and a result for each.
 */
class StatementBatch {
  /** The driver keeps account of named statements by it: that of the statement whose answer comes next; so with `text`. */
  name: string;
  text: string;
  declare readonly submit: pg.Submittable["submit"];
  readonly #statements: readonly OutgoingStatement[];
  readonly #done: (answers: readonly Answered[], error?: unknown) => void;
  readonly #answers: Answered[] = [];
  #rows: Row[] = [];
  /** The names that this batch asks PostgreSQL to keep. */
  #parsed: string[] | undefined;
  #connection: ConnectionInternals | undefined;

  constructor(statements: readonly OutgoingStatement[], done: (answers: readonly Answered[], error?: unknown) => void) {
    this.name = statements[0]?.name ?? "";
    this.text = statements[0]?.text ?? "";
    this.#statements = statements;
    this.#done = done;
  }

  /** The driver reports an error here; success comes with the connection's readiness. */
  handleError(error: unknown): void {
    // Nobody else forgets the names of those that PostgreSQL has passed over.
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

  /** Always: without a name the driver would send the text alone. */
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
 * Sends statements together. Where one fails, PostgreSQL passes over those behind it, and they fail with its error. Whoever
 * waits for one waits for all: they are answered together, and the first of them has the time of all.
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
      // What is counted for nobody leaves its time to the next.
      if (call) turnMs = endedMs;
      if (answer) answered(answer.rows, answer.command);
      else failed(error);
    }
  };
  client.query(new StatementBatch(statements, done));
};

/** A statement of the call for which this runs. `name`: as the connection keeps it, undefined for not at all. */
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

/** Sends a statement. `name`: as the connection keeps it, undefined for not at all. */
export const sendStatement = (client: pg.ClientBase, name: string | undefined, text: string, values: readonly Param[]): Promise<Row[]> =>
  new Promise((resolve, reject) => sendStatements(client, [outgoing(name, text, values, resolve, reject)]));

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
