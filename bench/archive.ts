// Variants for a large archive of OSV records: memory of its import, and cost of a scanner's batch of a thousand packages.

import { createWriteStream } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { deflateRawSync } from "node:zlib";
import { zipPieces, type ZipEntry } from "../server/advisories/feeds/osv/zip.ts";
import type { Variant } from "./environment.ts";
import type { Fixture } from "./fixture.ts";
import { emptyImported, importInto } from "./imports.ts";
import { withClient } from "./seed.ts";

const recordCount = 200_000;
const packageCount = 50_000;
const batchSize = 1_000;
const batches = 20;
/** Ticks of 10 ms (`man 5 proc`). */
const tickMs = 10;

/** Records of a typical size that compress like real ones. */
const recordOf = (index: number): ZipEntry => {
  const id = `MADE-2024-${String(index).padStart(7, "0")}`;
  const content = Buffer.from(
    JSON.stringify({
      schema_version: "1.7.0",
      id,
      modified: new Date(Date.UTC(2024, 0, 1) + index * 60_000).toISOString(),
      published: "2024-01-01T00:00:00Z",
      aliases: [`CVE-2024-${100_000 + index}`],
      summary: `A made record ${index}`,
      details: `What is said of the record ${index}, at some length. `.repeat(15),
      affected: [
        {
          package: { ecosystem: "npm", name: `package-${index % packageCount}` },
          ranges: [{ type: "SEMVER", events: [{ introduced: "0" }, { fixed: `1.${index % 100}.${index % 7}` }] }],
          versions: Array.from({ length: index % 10 }, (_, version) => `0.${version}.0`),
        },
      ],
      references: [{ type: "WEB", url: `https://example.com/${index}` }],
    }),
  );
  return { name: `${id}.json`, content, deflated: deflateRawSync(content, { level: 1, chunkSize: 4096 }), modifiedMs: 0 };
};

async function* recordPages(): AsyncGenerator<ZipEntry[]> {
  for (let from = 0; from < recordCount; from += 1_000) yield Array.from({ length: 1_000 }, (_, index) => recordOf(from + index));
}

const writeArchive = (folder: string): Promise<void> => pipeline(zipPieces(recordPages()), createWriteStream(join(folder, "archive.zip")));

const importArchive = async (fixture: Fixture, folder: string): Promise<{ readonly mb: number }> => {
  await emptyImported(fixture);
  return importInto(fixture, join(folder, "archive.zip"), ["--public", "--licence", "CC0-1.0"]);
};

/** Returns the CPU time of a process and its descendants, including the database, in milliseconds (Linux). */
const processorMs = async (pid: number): Promise<number> => {
  const spentMs = new Map<number, number>();
  const below = new Map<number, number[]>();
  for (const name of (await readdir("/proc")).filter((each) => /^\d+$/.test(each))) {
    const text = await readFile(`/proc/${name}/stat`, "utf8").catch(() => "");
    const fields = text.replace(/^.*\) /s, "").split(" ");
    const [parent, each] = [Number(fields[1]), Number(name)];
    // Includes exited children.
    spentMs.set(each, [11, 12, 13, 14].reduce((sum, field) => sum + Number(fields[field]), 0) * tickMs);
    below.set(parent, [...(below.get(parent) ?? []), each]);
  }
  const sumOf = (each: number): number => (spentMs.get(each) ?? 0) + (below.get(each) ?? []).reduce((sum, child) => sum + sumOf(child), 0);
  return sumOf(pid);
};

const batchOf = (from: number): string =>
  JSON.stringify({
    queries: Array.from({ length: batchSize }, (_, index) => ({
      package: { ecosystem: "npm", name: `package-${(from + index * 37) % packageCount}` },
      version: `1.${index % 100}.0`,
    })),
  });

const ask = async ({ process: { url } }: Fixture, body: string): Promise<number> => {
  const answer = await fetch(`${url}/osv/v1/querybatch`, { method: "POST", body });
  const text = await answer.text();
  if (answer.status !== 200) throw new Error(`a batch is answered with ${answer.status}: ${text.slice(0, 200)}`);
  return text.split('"MADE-').length - 1;
};

const archiveRequests = 10;
const preparingTriesMax = 20;

const getArchive = ({ process: { url } }: Fixture): Promise<Response> => fetch(`${url}/osv/npm/all.zip`);

const drain = async ({ body }: Response): Promise<void> => {
  for await (const _ of body ?? []);
};

const untilPrepared = async (fixture: Fixture): Promise<void> => {
  for (let tries = 0; tries < preparingTriesMax; tries++) {
    const answer = await getArchive(fixture);
    await drain(answer);
    if (answer.headers.has("content-length")) return;
  }
  throw new Error("the archive is not prepared");
};

export const archiveVariants: Readonly<Record<string, Variant>> = {
  archiveImporting: {
    label: `gantry import advisories, an archive of ${recordCount} records, resident at its highest`,
    unit: "MB",
    async prepare({ blank, folder }) {
      const fixture = await blank();
      return async () => {
        await writeArchive(folder.path);
        return (await importArchive(fixture, folder.path)).mb;
      };
    },
  },
  archiveImportCost: {
    label: `gantry import advisories, an archive of ${recordCount} records, processor time of client, server and database for each 1,000`,
    unit: "ms",
    async prepare({ blank, folder }) {
      const fixture = await blank();
      return async () => {
        await writeArchive(folder.path);
        // Includes this process, which waits, and the exited client.
        const before = await processorMs(process.pid);
        await importArchive(fixture, folder.path);
        return ((await processorMs(process.pid)) - before) / (recordCount / 1_000);
      };
    },
  },
  archiveServed: {
    label: `the archive of an ecosystem of ${recordCount} records, once it is prepared, processor time of server and database`,
    unit: "ms",
    async prepare({ blank, folder }) {
      const fixture = await blank();
      await writeArchive(folder.path);
      await importArchive(fixture, folder.path);
      await untilPrepared(fixture);
      return async () => {
        const before = await processorMs(fixture.process.pid);
        for (let request = 0; request < archiveRequests; request++) await drain(await getArchive(fixture));
        return ((await processorMs(fixture.process.pid)) - before) / archiveRequests;
      };
    },
  },
  archiveBatch: {
    label: `a batch of ${batchSize} packages at ${recordCount} records, processor time of server and database`,
    unit: "ms",
    async prepare({ blank, folder }) {
      const fixture = await blank();
      await writeArchive(folder.path);
      await importArchive(fixture, folder.path);
      await withClient(fixture.database, (client) => client.query("vacuum analyze affected_packages, source_documents, advisories"));
      const found = await ask(fixture, batchOf(0));
      if (found < batchSize) throw new Error(`a batch finds ${found} records only`);
      return async () => {
        const before = await processorMs(fixture.process.pid);
        for (let batch = 1; batch <= batches; batch++) await ask(fixture, batchOf(batch * 101));
        return ((await processorMs(fixture.process.pid)) - before) / batches;
      };
    },
  },
};
