// Publishes a directory of records through its own Gantry: imports them publicly as the command does, and fetches every document over HTTP.

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
    // Resets the public rate limit per minute.
    world.clock.now += 60_000;
  }
  if (response.status !== 200 && response.status !== 404) throw new Error(`${address}: ${response.status} ${await response.text()}`);
  return { status: response.status, body: (await response.json()) as Json, link: response.headers.get("link") ?? "" };
};

/** Returns the names of all documents of a kind, page by page. */
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

/** Returns the addresses that a listing links to. */
const readLinks = async (address: string): Promise<string[]> =>
  [...(await (await fetch(address)).text()).matchAll(/<a href="([^"]+)"/g)].map(([, name = ""]) => name);

/** Fetches the files for scanner databases into secdb/. */
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

/** Fetches the repository of VEX documents and unpacks it with another program into vex/. */
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
  /** Documents that are listed but not published, each with the reason. */
  readonly leftOut: readonly string[];
}

/** Writes each document into osv/, openvex/ and csaf/ of the directory under its published name, and scanners' files into secdb/ and vex/. */
export const publish = async (sources: readonly string[], folder: string): Promise<Publication> => {
  const world = await openWorld();
  try {
    const summary = await runImport(world, "advisories", sources, { public: true });
    const leftOut: string[] = [];
    for (const kind of kinds) {
      await mkdir(join(folder, kind), { recursive: true });
      const address = `${world.url}/advisory/v2/${kind}/`;
      const names = await listNames(world, address);
      // A few at a time, since the server has other work.
      const fetchNext = async (): Promise<void> => {
        for (let name = names.pop(); name !== undefined; name = names.pop()) {
          const file = encodeURIComponent(name);
          const { status, body } = await fetchJson(world, `${address}${file}.json`);
          // A format omits what it cannot express, but the list still names it.
          if (status === 404) {
            leftOut.push(`${kind} ${isObject(body) ? text(body, "message") : name}`);
            continue;
          }
          await writeFile(join(folder, kind, `${kind === "osv" ? name.replaceAll("/", "%2F") : file}.json`), JSON.stringify(body));
        }
      };
      await Promise.all(Array.from({ length: 4 }, fetchNext));
    }
    // Earlier fetches count for the address, too.
    world.clock.now += 60_000;
    await fetchSecdbs(world, folder);
    await fetchVexRepository(world, folder);
    return { summary, leftOut };
  } finally {
    await world.close();
  }
};
