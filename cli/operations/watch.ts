// Watches a list through events. Each changed resource is read with the list's own operation and filters, so that lines have the
// same form.

import { setTimeout as sleep } from "node:timers/promises";
import { type JsonObject, objectList, part, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { messageByName, methodByName, methods } from "#contract/catalog.ts";
import type { MessageFact, MethodFact } from "#contract/facts.ts";
import { wrongUsage } from "../exit-status.ts";
import { onOneLine } from "../output/escape.ts";
import { openListPrinter } from "../output/print.ts";
import { listByUids } from "./list-by-uids.ts";
import type { Session } from "./session.ts";
import type { CommandShape } from "./shape.ts";

const listEvents = "gantry.events.v1.EventsService/ListEvents";

const typesAbout = (message: MessageFact): Map<string, MethodFact> =>
  new Map(
    methods.flatMap((method) => {
      const isAbout = method.output === message || method.rpc === `Delete${message.short}` || method.rpc === `Update${message.short}`;
      return isAbout && method.event !== undefined && method.domain === messageDomain(message) ? [[method.event.type, method] as const] : [];
    }),
  );

const messageDomain = ({ name }: MessageFact): string => /^chainguard\.platform\.([a-z]+)\./.exec(name)?.[1] ?? "gantry";

export interface Changes {
  /** Writes changes until the signal aborts. */
  readonly follow: (message: MessageFact) => Promise<void>;
}

/** Throws if the resource has no events, or the list cannot be filtered by uid. */
export const watchChanges = async (session: Session, shape: CommandShape, request: JsonObject): Promise<Changes> => {
  const { client, signal, output, note, findPaths } = session;
  const { method, listed } = shape;
  const types = listed?.message === undefined ? new Map<string, MethodFact>() : typesAbout(listed.message);
  const events = methodByName(listEvents);
  const takesUids = method.input.byName.get("uidp")?.message?.byName.has("ids") === true;
  const isEventList = listed?.message === messageByName("gantry.events.v1.Event");
  if (events === undefined || (!isEventList && (types.size === 0 || !takesUids)))
    throw wrongUsage("--watch does not apply to this list: its resources have no events");
  const filter: JsonObject = isEventList ? request : { types: [...types.keys()] };
  const place = text(part(request, "uidp"), "descendantsOf");
  const asked: JsonObject = place === "" || isEventList ? filter : { ...filter, uidp: { descendantsOf: place } };
  const readEvents = async (page: JsonObject): Promise<JsonObject[]> => objectList(await client.call(events, { ...asked, ...page }, { signal }), "events");
  const latest = await readEvents({ orderBy: "position desc", pageSize: 1 });
  let position = text(latest[0] ?? {}, "position") || "0";

  const resourcesOf = async (uids: readonly string[]): Promise<JsonObject[]> =>
    listed === undefined ? [] : listByUids(client, { method, list: listed, uids, request, signal });

  return {
    async follow(message) {
      const printer = (): ReturnType<typeof openListPrinter> =>
        openListPrinter({ ...output, format: output.format === "jsonl" ? "jsonl" : output.format }, message, listed?.json ?? "", { findPaths, sorted: false });
      const print = async (resources: readonly JsonObject[]): Promise<void> => {
        if (resources.length === 0) return;
        const lines = printer();
        await lines.add(resources);
        await lines.end({});
      };
      while (!signal.aborted) {
        const page = await readEvents({ orderBy: "position", afterPosition: position, pageSize: limits.pageSizeMax });
        position = text(page.at(-1) ?? {}, "position") || position;
        if (isEventList) await print(page);
        else if (page.length > 0) {
          const isDeletion = (event: JsonObject): boolean => types.get(text(event, "type"))?.http[0]?.verb === "DELETE";
          const subjects = [...new Set(page.map((event) => text(event, "subject")))];
          const gone = new Set(subjects.filter((subject) => page.findLast((event) => text(event, "subject") === subject && isDeletion(event))));
          await print(await resourcesOf(subjects.filter((subject) => !gone.has(subject))));
          for (const subject of gone) {
            if (output.format === "jsonl") await output.write(`${JSON.stringify({ uid: subject, deleted: true })}\n`);
            else note(`deleted: ${onOneLine(subject)}`);
          }
        }
        if (page.length < limits.pageSizeMax) await sleep(limits.tailPollMs, undefined, { signal });
      }
    },
  };
};
