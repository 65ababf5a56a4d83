// Operations that write: create, update, delete with confirmation, and others.

import { type Json, type JsonObject, text, texts } from "#base/json.ts";
import type { MessageFact, MethodFact } from "#contract/facts.ts";
import { methods } from "#contract/catalog.ts";
import { declined, exitStatus, exitStatusOf, wrongUsage } from "../exit-status.ts";
import { isForPrograms } from "../output/format.ts";
import { onOneLine, printableJson } from "../output/escape.ts";
import { printResource } from "../output/print.ts";
import { askLine } from "./ask.ts";
import { changeReport } from "./change-report.ts";
import { failureText } from "./failure.ts";
import { nounOf, parentMessageOf } from "./references.ts";
import { type BuiltRequest, maskField, setAt } from "./request.ts";
import type { Session } from "./session.ts";
import { type CommandShape, type FieldFlag, readerOf, resourceOf } from "./shape.ts";

export interface WriteOptions {
  readonly dryRun: boolean;
  readonly ifMatch: string | undefined;
  readonly idempotencyKey: string | undefined;
}

const emptyMessage = "google.protobuf.Empty";

const answersNothing = (method: MethodFact): boolean => method.output.name === emptyMessage;

/** The response is a document with facts about it. */
const isDocument = ({ output }: MethodFact): boolean => output.byName.get("document")?.kind === "string";

/** Writes the document alone, for a redirect to a file, and the counts beside it to standard error. */
const printDocument = async ({ output, note }: Session, { output: message }: MethodFact, reply: JsonObject): Promise<void> => {
  const counts = message.fields.filter(({ kind, json }) => kind === "int32" && reply[json] !== undefined);
  if (counts.length > 0) note(counts.map(({ name, json }) => `${name.replaceAll("_", " ")}: ${String(reply[json])}`).join(", "));
  await output.write(`${printableJson(text(reply, "document"))}\n`);
};

/** Calls the operation, writes its response and returns it. */
export const runCall = async (session: Session, shape: CommandShape, { request }: BuiltRequest, options: WriteOptions): Promise<JsonObject> => {
  const { client, signal, output, note, terminal } = session;
  const { method } = shape;
  const { dryRun, ...rest } = options;
  const { ifMatch, idempotencyKey } = rest;
  const reply = await client.call(method, request, { signal, ifMatch, idempotencyKey, ...(dryRun ? { validateOnly: true } : {}) });
  if (dryRun) note("dry run: nothing was changed");
  if (answersNothing(method) && !isForPrograms(output.format)) {
    if (!dryRun && terminal.err.isTTY) note("done");
    return reply;
  }
  if (isDocument(method) && output.format === "table" && output.columns === undefined) {
    await printDocument(session, method, reply);
    return reply;
  }
  await printResource(output, method.output, reply);
  return reply;
};

/** Returns the lists of an update that support adding and removing entries. */
export const listFlags = ({ kind, flags, body }: CommandShape): FieldFlag[] =>
  kind === "update" && body !== undefined ? flags.filter(({ field, path }) => field.shape === "list" && field.kind !== "message" && path[0] === body.json) : [];

export interface ListEdit {
  readonly flag: FieldFlag;
  readonly add: readonly Json[];
  readonly remove: readonly Json[];
}

const valueAt = (object: JsonObject, path: readonly string[]): JsonObject =>
  path
    .slice(0, -1)
    .reduce<JsonObject>((held, key) => (typeof held[key] === "object" && held[key] !== null && !Array.isArray(held[key]) ? held[key] : {}), object);

/** Updates only what flags and file name. If the resource was read first, the update applies to that version. */
export const runUpdate = async (
  session: Session,
  shape: CommandShape,
  { request, paths }: BuiltRequest,
  edits: readonly ListEdit[],
  options: WriteOptions & { readonly fromFile: boolean },
): Promise<void> => {
  const { client, signal, output, note } = session;
  const { method, body, positionals } = shape;
  if (paths.length === 0 && edits.length === 0) throw wrongUsage("no changes given. Pass the flag of a field, or --file");
  const message = body?.message;
  const reader = message === undefined ? undefined : readerOf(message);
  const uid = positionals[0] === undefined ? "" : text(valueAt(request, positionals[0].path), positionals[0].path.at(-1) ?? "");
  const readsBefore = reader !== undefined && uid !== "" && (options.dryRun || options.fromFile || edits.length > 0);
  const before = readsBefore ? await client.answer(reader, { [reader.input.fields[0]?.json ?? "uid"]: uid }, { signal }) : undefined;
  const mask = [...paths];
  for (const { flag, add, remove } of edits) {
    const own = flag.path.slice(1);
    const held = texts(valueAt(before?.reply ?? {}, own), own.at(-1) ?? "");
    const kept = [...new Set<Json>([...held, ...add])].filter((entry) => !remove.includes(entry));
    setAt(request, flag.path, kept);
    mask.push(own.join("."));
  }
  const masked = maskField(shape);
  const full: JsonObject = masked === undefined ? request : { ...request, [masked.json]: [...new Set(mask)].join(",") };
  const { dryRun, idempotencyKey } = options;
  const ifMatch = options.ifMatch ?? before?.etag;
  const reply = await client.call(method, full, { signal, ifMatch, idempotencyKey, ...(dryRun ? { validateOnly: true } : {}) });
  if (!dryRun) return printResource(output, method.output, reply);
  const isForPeople = output.format === "table" || output.format === "wide";
  if (before === undefined || !isForPeople) await printResource(output, method.output, reply);
  else await output.write(changeReport(before.reply, reply) || "");
  note("dry run: nothing was changed");
};

/** Returns the resources deleted with this one, according to the contract. */
const goingAlong = (message: MessageFact): string[] =>
  methods.flatMap(({ rpc, output }) =>
    rpc === `Create${output.short}` && output.resource?.deletedWithParent === true && parentMessageOf(output) === message ? [`${nounOf(output)}s`] : [],
  );

export interface DeleteOptions extends WriteOptions {
  readonly yes: boolean;
  readonly allowMissing: boolean;
}

const isGroup = ({ short }: MessageFact): boolean => short === "Group";

const shownName = (resource: JsonObject): string => onOneLine(text(resource, "name"));

/** Prompts for confirmation of a deletion; throws DECLINED if the user declines. */
const confirm = async (session: Session, message: MessageFact, uid: string, resource: JsonObject): Promise<void> => {
  const { context, terminal, signal } = session;
  const noun = nounOf(message);
  const along = goingAlong(message);
  const name = shownName(resource);
  const where = `${context.server}${context.name === undefined ? "" : ` (context ${context.name})`}`;
  const what = `Delete the ${noun} ${name === "" ? onOneLine(uid) : `${name} (${onOneLine(uid)})`} at ${where}`;
  const question = `${what}?${along.length > 0 ? `\n  This also deletes its ${along.join(", ")}.` : ""}`;
  // Deleting an organization requires its name, not just one letter.
  if (isGroup(message) && name !== "") {
    const typed = await askLine(terminal, `${question}\nType its name to confirm: `, signal);
    if (typed !== text(resource, "name")) throw declined("the name does not match. Nothing was deleted");
    return;
  }
  const typed = await askLine(terminal, `${question}\n[y/N] `, signal);
  if (!/^y(?:es)?$/i.test(typed)) throw declined("deletion declined. Nothing was deleted");
};

/** Deletes each resource. If some fail, the status is "partly". */
export const runDelete = async (
  session: Session,
  shape: CommandShape,
  values: readonly string[],
  build: (value: string) => Promise<JsonObject>,
  options: DeleteOptions,
): Promise<void> => {
  const { client, signal, output, note, asks } = session;
  const { method, positionals } = shape;
  const message = resourceOf(shape);
  const reader = readerOf(message);
  if (!options.yes && !options.dryRun && !asks) throw declined("confirmation required. Re-run with --yes");
  const deleteOne = async (value: string): Promise<void> => {
    try {
      const request = await build(value);
      const [positional] = positionals;
      const uid = positional === undefined ? value : text(valueAt(request, positional.path), positional.path.at(-1) ?? "");
      if (!options.yes && !options.dryRun) {
        const resource = reader === undefined ? {} : await client.call(reader, { [reader.input.fields[0]?.json ?? "uid"]: uid }, { signal });
        await confirm(session, message, uid, resource);
      }
      const { dryRun, ifMatch, idempotencyKey } = options;
      const reply = await client.call(method, request, { signal, ifMatch, idempotencyKey, ...(dryRun ? { validateOnly: true } : {}) });
      if (isForPrograms(output.format)) await printResource(output, method.output, reply);
      else note(`${dryRun ? "would be deleted" : "deleted"}: ${onOneLine(value === uid ? uid : `${value} (${uid})`)}`);
    } catch (thrown) {
      if (!options.allowMissing || exitStatusOf(thrown) !== exitStatus.notFound) throw thrown;
      note(`not found: ${onOneLine(value)}`);
    }
  };
  let failure: unknown;
  let [failed, done] = [0, 0];
  for (const value of values) {
    try {
      signal.throwIfAborted();
      await deleteOne(value);
      done++;
    } catch (thrown) {
      if (signal.aborted || values.length === 1) throw thrown;
      failed++;
      failure = thrown;
      const { context, terminal } = session;
      terminal.err.write(
        failureText(thrown, {
          asJson: isForPrograms(output.format),
          colored: false,
          flags: positionals,
          bodyPath: undefined,
          credential: context.credential.origin,
          server: context.server,
          serverOrigin: context.serverOrigin,
        }),
      );
    }
  }
  if (failed > 0) session.terminal.status = done > 0 ? exitStatus.partly : exitStatusOf(failure);
};

export const runFile = async (session: Session, { method }: CommandShape, request: JsonObject): Promise<void> => {
  const { client, signal, output } = session;
  const file = await client.file(method, request, { signal });
  if (output.out.isTTY && !/^text\/|json|xml/.test(file.type)) throw wrongUsage(`a terminal cannot show a file of type ${file.type}. Redirect it with > FILE`);
  for await (const bytes of file.bytes) await output.write(bytes);
};
