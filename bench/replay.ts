// The statements that a request sends, word for word and with their parameters, as a script for pgbench: caught on
// the way from the kernel to the store, so that pgbench always runs what the server runs.

import { writeFile } from "node:fs/promises";
import type { JsonObject } from "#base/json.ts";
import { ownOrigin } from "#base/origin.ts";
import { readingOf, unreadCall } from "#contract/call.ts";
import { methodByName } from "#contract/catalog.ts";
import type { Application } from "#application";
import { makeServe, type UnreadCall } from "#kernel";
import type { Param, Read } from "#store";
import type { Script } from "./load.ts";

export interface Statement {
  readonly text: string;
  readonly values: readonly Param[];
}

/** A call as a protocol would make it. */
export const callOf = (name: string, request: JsonObject, authorization: string): UnreadCall => {
  const method = methodByName(name);
  if (!method) throw new Error(`no operation ${name}`);
  return unreadCall(method, { authorization, requestId: "bench", origin: () => ownOrigin }, () => readingOf(request));
};

/** What a call asks the store for once everything that is remembered is remembered. */
export const statementsOf = async (open: Application, call: UnreadCall): Promise<Statement[]> => {
  const { kernel } = open;
  let heard: Statement[] = [];
  const { store } = kernel.services;
  const read: Read = {
    query(text, values = []) {
      heard.push({ text, values });
      return store.read.query(text, values);
    },
  };
  const serve = makeServe({ ...kernel, services: { ...kernel.services, store: { ...store, read } } });
  await serve(call);
  heard = [];
  await serve(call);
  return heard;
};

/** How the server has set its reading connections, as "name=value". */
export const sessionSettings = async ({ services }: Application): Promise<string[]> => {
  const rows = await services.store.read.query(
    "select name || '=' || setting from pg_settings where source = 'session' and name not in ('application_name', 'client_encoding')",
  );
  return rows.flatMap(([setting]) => setting ?? []);
};

/** A list as PostgreSQL writes it. */
export const arrayText = (list: readonly string[]): string => `{${list.map((entry) => `"${entry.replace(/["\\]/g, "\\$&")}"`).join(",")}}`;

const plain = (value: string | number | boolean | readonly string[]): string => (typeof value === "object" ? arrayText(value) : String(value));

/** Writes the statements as one pgbench script; parameters stay parameters. */
export const writeScript = async (file: string, statements: readonly Statement[]): Promise<Pick<Script, "file" | "variables">> => {
  const variables: Record<string, string> = {};
  const lines = statements.map(({ text, values }, index) => {
    for (const [place, value] of values.entries()) if (value !== null) variables[`s${index}p${place + 1}`] = plain(value);
    // pgbench's variables are texts: it has no word for NULL.
    const written = text.replace(/\$(\d+)/g, (_, place: string) => (values[Number(place) - 1] === null ? "null" : `:s${index}p${place}`));
    return `${written.replace(/\s+/g, " ")};`;
  });
  await writeFile(file, `${lines.join("\n")}\n`);
  return { file, variables };
};
