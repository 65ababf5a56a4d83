// What a Gantry of its own publishes of a folder of records: it imports them as the command does, for all to see, and fetches
// every document over HTTP.

import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { FeedSummary } from "#feeds";
import { isObject, type Json, text } from "#base/json.ts";
import { runImport } from "../story/import.ts";
import { openWorld, type World } from "../world.ts";

const kinds = ["osv", "openvex", "csaf"] as const;

const fetchJson = async (world: World, address: string): Promise<{ status: number; body: Json; link: string }> => {
  let response = await fetch(address);
  for (; response.status === 429; response = await fetch(address)) {
    await response.arrayBuffer();
    // Who asks without a token may ask so often in a minute: it passes at once.
    world.clock.now += 60_000;
  }
  if (response.status !== 200 && response.status !== 404) throw new Error(`${address}: ${response.status} ${await response.text()}`);
  return { status: response.status, body: (await response.json()) as Json, link: response.headers.get("link") ?? "" };
};

/** The names of all documents of a kind, page after page. */
const listNames = async (world: World, folder: string): Promise<string[]> => {
  const names: string[] = [];
  for (let next: string | undefined = `${folder}all.json`; next !== undefined; ) {
    const { body, link } = await fetchJson(world, next);
    const entries = Array.isArray(body) ? body.filter(isObject) : [];
    names.push(...entries.map((entry) => text(entry, "id")));
    const target = /<([^>]*)>; rel="next"/.exec(link)?.[1];
    next = target === undefined ? undefined : new URL(target, next).href;
  }
  return names;
};

interface Publication {
  readonly summary: FeedSummary;
  /** Documents that are named and not published, each with the reason. */
  readonly leftOut: readonly string[];
}

/** Writes osv/, openvex/ and csaf/ with a file for each document into the folder; names as addresses have them. */
export const publish = async (sources: readonly string[], folder: string): Promise<Publication> => {
  const world = await openWorld();
  try {
    const summary = await runImport(world, "advisories", sources, { public: true });
    const leftOut: string[] = [];
    for (const kind of kinds) {
      await mkdir(join(folder, kind), { recursive: true });
      const address = `${world.url}/advisory/v2/${kind}/`;
      const names = await listNames(world, address);
      // A few at a time: the server has its own work to do.
      const fetchNext = async (): Promise<void> => {
        for (let name = names.pop(); name !== undefined; name = names.pop()) {
          const file = encodeURIComponent(name);
          const { status, body } = await fetchJson(world, `${address}${file}.json`);
          // What a form cannot say is left out of it, and the list names it nevertheless.
          if (status === 404) {
            leftOut.push(`${kind} ${isObject(body) ? text(body, "message") : name}`);
            continue;
          }
          await writeFile(join(folder, kind, `${kind === "osv" ? name.replaceAll("/", "%2F") : file}.json`), JSON.stringify(body));
        }
      };
      await Promise.all(Array.from({ length: 4 }, fetchNext));
    }
    return { summary, leftOut };
  } finally {
    await world.close();
  }
};
