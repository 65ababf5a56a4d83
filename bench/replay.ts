// Captures the statements of a request between kernel and store, with their parameters, as a pgbench script.

import { writeFile } from "node:fs/promises";
import type { JsonObject } from "#base/json.ts";
import { ownOrigin } from "#base/origin.ts";
import { readingOf, unreadCall } from "#contract/call.ts";
import { methodByName } from "#contract/catalog.ts";
import type { Application } from "#application";
import { makeServe, type UnreadCall } from "#kernel";
import type { Param, Read, Store } from "#db";
import type { Script } from "./load.ts";

export interface Statement {
  readonly text: string;
  readonly values: readonly Param[];
}

/** Creates a call as a protocol would. */
export const callOf = (name: string, request: JsonObject, authorization: string): UnreadCall => {
  const method = methodByName(name);
  if (!method) throw new Error(`no operation ${name}`);
  return unreadCall(method, { authorization, requestId: "bench", origin: () => ownOrigin }, () => readingOf(request));
};

/** Returns the statements of a call with warm caches. */
export const statementsOf = async (application: Application, call: UnreadCall): Promise<Statement[]> => {
  const { kernel } = application;
  let caught: Statement[] = [];
  const catching = (rows: Pick<Store, "read">): Read => ({
    query(text, values = []) {
      caught.push({ text, values });
      return rows.read.query(text, values);
    },
  });
  const { store } = kernel.services;
  const forParty: Store["forParty"] = (fairnessKey) => {
    const rows = store.forParty(fairnessKey);
    return { ...rows, read: catching(rows) };
  };
  const serve = makeServe({ ...kernel, services: { ...kernel.services, store: { ...store, read: catching(store), forParty } } });
  await serve(call);
  caught = [];
  await serve(call);
  if (caught.length === 0) throw new Error(`${call.method.name} reads nothing, or past what catches its statements`);
  return caught;
};

/** Returns the settings of the server's reading connections, as "name=value". */
export const sessionSettings = async ({ services }: Application): Promise<string[]> => {
  const rows = await services.store.read.query(
    "select name || '=' || setting from pg_settings where source = 'session' and name not in ('application_name', 'client_encoding')",
  );
  return rows.flatMap(([setting]) => setting ?? []);
};

export const arrayText = (list: readonly (string | Uint8Array)[]): string => `{${list.map((entry) => `"${entryText(entry)}"`).join(",")}}`;

const entryText = (entry: string | Uint8Array): string =>
  typeof entry === "string" ? entry.replace(/["\\]/g, "\\$&") : `\\\\x${Buffer.from(entry).toString("hex")}`;

const variableText = (value: NonNullable<Param>): string => (typeof value === "object" ? arrayText(value) : String(value));

export const writeScript = async (file: string, statements: readonly Statement[]): Promise<Pick<Script, "file" | "variables">> => {
  const variables: Record<string, string> = {};
  const lines = statements.map(({ text, values }, index) => {
    for (const [position, value] of values.entries()) if (value !== null) variables[`s${index}p${position + 1}`] = variableText(value);
    // pgbench variables are texts and cannot be NULL.
    const written = text.replace(/\$(\d+)/g, (_, parameter: string) => (values[Number(parameter) - 1] === null ? "null" : `:s${index}p${parameter}`));
    return `${written.replace(/\s+/g, " ")};`;
  });
  await writeFile(file, `${lines.join("\n")}\n`);
  return { file, variables };
};
