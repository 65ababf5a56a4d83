// What a Gantry of its own publishes of a folder of records: it imports them as the command does, for all to see, and fetches
// every document over HTTP.

import { spawnSync } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { FeedSummary } from "#advisories/feeds";
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

/** The addresses that a listing links to. */
const readLinks = async (address: string): Promise<string[]> =>
  [...(await (await fetch(address)).text()).matchAll(/<a href="([^"]+)"/g)].map(([, name = ""]) => name);

/** The files that builders of scanners' databases read, below secdb/. */
const fetchSecdbs = async (world: World, folder: string): Promise<void> => {
  const files = ["wolfi/security.json"];
  for (const release of await readLinks(`${world.url}/secdb/alpine/`))
    files.push(...(await readLinks(`${world.url}/secdb/alpine/${release}`)).map((file) => `alpine/${release}${file}`));
  for (const file of files) {
    const response = await fetch(`${world.url}/secdb/${file}`);
    if (response.status !== 200) continue;
    await mkdir(dirname(join(folder, "secdb", file)), { recursive: true });
    await writeFile(join(folder, "secdb", file), await response.text());
  }
};

/** The repository of VEX documents, unpacked by another program, below vex/. */
const fetchVexRepository = async (world: World, folder: string): Promise<void> => {
  const manifest = (await fetchJson(world, `${world.url}/.well-known/vex-repository.json`)).body;
  const [, location = ""] = /"url":"([^"]+)"/.exec(JSON.stringify(manifest)) ?? [];
  const packed = Buffer.from(await (await fetch(location)).arrayBuffer());
  await mkdir(join(folder, "vex"), { recursive: true });
  const { status, stderr } = spawnSync("tar", ["-xzf", "-", "-C", join(folder, "vex")], { input: packed });
  if (status !== 0) throw new Error(`the repository cannot be unpacked: ${String(stderr)}`);
};

interface Publication {
  readonly summary: FeedSummary;
  /** Documents that are named and not published, each with the reason. */
  readonly leftOut: readonly string[];
}

/**
 * Writes osv/, openvex/ and csaf/ with a file for each document into the folder, names as addresses have them; and secdb/ and
 * vex/ with the files that scanners read.
 */
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
    // What was fetched before counts for the address, too.
    world.clock.now += 60_000;
    await fetchSecdbs(world, folder);
    await fetchVexRepository(world, folder);
    return { summary, leftOut };
  } finally {
    await world.close();
  }
};
