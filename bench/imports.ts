// Variants for imports: a folder of advisories by `gantry import`, and the same rows by COPY.

import { access, mkdir, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { compareVersions } from "#base/versions/ecosystem.ts";
import type { Variant } from "./environment.ts";
import type { Fixture } from "./fixture.ts";
import { highestMb } from "./memory.ts";
import { runGantry } from "./processes.ts";
import { withClient } from "./seed.ts";

const wolfiDocuments = join(import.meta.dirname, "../../shared/data/advisories/wolfi");

const importedTables = [
  "advisories",
  "advisory_facets",
  "feeds",
  "feed_files",
  "feed_validators",
  "source_documents",
  "csaf_documents",
  "document_records",
  "affected_packages",
  "known_exploits",
  "exploit_predictions",
];

export const emptyImported = (fixture: Fixture): Promise<unknown> =>
  // With the tables that refer to these, such as the days of each source.
  withClient(fixture.database, (client) => client.query(`truncate ${importedTables.join(", ")} cascade`));

export const importInto = async ({ site, of }: Fixture, source: string, options: readonly string[] = []): Promise<{ seconds: number; mb: number }> => {
  const began = performance.now();
  const { pid, ended } = runGantry(site, ["import", "advisories", source, "--group", of(0).uid, ...options]);
  const mb = await highestMb(pid, ended);
  await ended;
  return { seconds: (performance.now() - began) / 1000, mb };
};

const countImported = (fixture: Fixture): Promise<number> =>
  withClient(fixture.database, async (client) => {
    const { rows } = await client.query<{ count: string }>(`select ${importedTables.map((table) => `(select count(*) from ${table})`).join(" + ")} as count`);
    return Number(rows[0]?.count);
  });

/** Throws if the documents, which are not part of the project, are missing. */
export const wolfiFolder = async (): Promise<string> => {
  await access(wolfiDocuments).catch(() => {
    throw new Error(`missing: the Wolfi advisories at ${wolfiDocuments}; name other figures with --only`);
  });
  return wolfiDocuments;
};

interface Imported {
  readonly rate: number;
  readonly mb: number;
}

const importWolfi = async (fixture: Fixture, folder: string): Promise<Imported> => {
  await emptyImported(fixture);
  const { seconds, mb } = await importInto(fixture, folder);
  const rows = await countImported(fixture);
  if (rows === 0) throw new Error("the import wrote nothing");
  return { rate: rows / seconds, mb };
};

let lastImport: { readonly takenBy: keyof Imported; readonly run: Imported } | undefined;

/** One run yields both numbers; the second variant of a round uses the first one's run. */
const importVariant = (label: string, unit: Variant["unit"], by: keyof Imported): Variant => ({
  label,
  unit,
  async prepare({ blank }) {
    const [fixture, folder] = [await blank(), await wolfiFolder()];
    return async () => {
      const earlier = lastImport && lastImport.takenBy !== by ? lastImport.run : undefined;
      const run = earlier ?? (await importWolfi(fixture, folder));
      lastImport = earlier ? undefined : { takenBy: by, run };
      return run[by];
    };
  },
});

/** Copies the last import's rows from files next to the database, without client or network. */
const copyVariant: Variant = {
  label: "PostgreSQL, COPY of the same rows",
  unit: "1/s",
  async prepare({ blank }) {
    const fixture = await blank();
    return () =>
      withClient(fixture.database, async (client) => {
        const {
          rows: [setting],
        } = await client.query<{ data_directory: string }>("show data_directory");
        const fileOf = (table: string): string => `'${join(setting?.data_directory ?? "", `bench-${table}`)}'`;
        const rows = await countImported(fixture);
        for (const table of importedTables) await client.query(`copy ${table} to ${fileOf(table)}`);
        await emptyImported(fixture);
        const began = performance.now();
        for (const table of importedTables) await client.query(`copy ${table} from ${fileOf(table)}`);
        return rows / ((performance.now() - began) / 1000);
      });
  },
};

const storedDocuments: Variant = {
  label: "source documents in the database, for each advisory",
  unit: "KiB",
  async prepare({ blank }) {
    const [fixture, folder] = [await blank(), await wolfiFolder()];
    return async () => {
      await emptyImported(fixture);
      await importInto(fixture, folder);
      return withClient(fixture.database, async (client) => {
        const { rows } = await client.query<{ bytes: string; records: string }>(
          `select pg_total_relation_size('source_documents') + pg_total_relation_size('document_records') as bytes,
             (select count(*) from advisories) as records`,
        );
        return Number(rows[0]?.bytes) / Number(rows[0]?.records) / 1024;
      });
    };
  },
};

/** Images with two architectures and a typical number of packages, some with unfixed advisories. */
const [imageCount, packagesEach, openEach] = [1000, 80, 5];
/** Packages with more advisories have many unfixed ones: hundreds per image are not typical. */
const advisoriesMax = 5;

interface FixedPackage {
  readonly name: string;
  /** Newest first. */
  readonly fixes: readonly string[];
  /** Has an unfixed advisory. */
  readonly isOpen: boolean;
}

const endOfAdvisory = /type: (?:fixed|false-positive-determination)/;

const fixedPackages = async (folder: string): Promise<FixedPackage[]> => {
  const found: FixedPackage[] = [];
  for (const file of (await readdir(folder)).filter((name) => name.endsWith(".yaml")).sort()) {
    const text = await readFile(join(folder, file), "utf8");
    const [, name] = /^ +name: (\S+)/m.exec(text) ?? [];
    const fixes = [...new Set([...text.matchAll(/fixed-version: "?([^"\s]+)/g)].map(([, version = ""]) => version))];
    fixes.sort((one, other) => compareVersions("Wolfi", other, one) ?? 0);
    const [, ...advisories] = text.split(/^ {2}- id:/m);
    if (name === undefined || fixes.length === 0 || advisories.length > advisoriesMax) continue;
    found.push({ name, fixes, isOpen: !advisories.every((advisory) => endOfAdvisory.test(advisory)) });
  }
  return found;
};

/** Generates images of packages in their last fixed version, a few with unfixed advisories, and one older package per image. */
const imageLines = (packages: readonly FixedPackage[]): string => {
  const [open, closed] = [packages.filter(({ isOpen }) => isOpen), packages.filter(({ isOpen }) => !isOpen)];
  const lines = Array.from({ length: imageCount }, (_, image) => {
    const installed = new Map<string, string>();
    for (let index = 0; index < packagesEach; index++) {
      const from = index < openEach ? open : closed;
      const chosen = from[(image * 7 + index * 13) % from.length];
      if (chosen) installed.set(chosen.name, `${chosen.name}=${chosen.fixes[index === openEach ? chosen.fixes.length - 1 : 0]}`);
    }
    const made = { packages: [...installed.values()] };
    return JSON.stringify({ repo: `repo-${image % 200}`, tags: [`tag-${image}`], configs: { amd64: made, arm64: made } });
  });
  return `${lines.join("\n")}\n`;
};

const lookMs = 10;

/**
 * Measures the first import into an organization with images, from the last check with missing advisories to the end, when images
 * are matched. Another figure covers the import itself.
 */
const matchedImport: Variant = {
  label: "gantry import advisories beside 1,000 images, from the last advisory to the answer",
  unit: "s",
  async prepare({ blank, folder: files }) {
    const [fixture, folder] = [await blank(), await wolfiFolder()];
    const images = await files.write("images.jsonl", imageLines(await fixedPackages(folder)));
    await emptyImported(fixture);
    await importInto(fixture, folder);
    return () =>
      withClient(fixture.database, async (client) => {
        const count = async (table: string): Promise<number> => {
          const { rows } = await client.query<{ count: string }>(`select count(*) from ${table}`);
          return Number(rows[0]?.count);
        };
        const advisories = await count("advisories");
        await emptyImported(fixture);
        await client.query("truncate image_packages, affected_images, changes_to_match");
        await runGantry(fixture.site, ["import", "images", images, "--group", fixture.of(0).uid]).ended;
        const ended = importInto(fixture, folder);
        let lookedAt: number;
        do {
          await sleep(lookMs);
          lookedAt = performance.now();
        } while ((await count("advisories")) < advisories);
        await ended;
        const seconds = (performance.now() - lookedAt) / 1000;
        if ((await count("affected_images")) === 0) throw new Error("no image is affected");
        return seconds;
      });
  },
};

const idleImport: Variant = {
  label: "gantry import advisories, the same of an empty folder",
  unit: "MB",
  async prepare({ blank, folder }) {
    const [fixture, empty] = [await blank(), join(folder.path, "empty")];
    await mkdir(empty, { recursive: true });
    return async () => (await importInto(fixture, empty)).mb;
  },
};

export const importVariants: Readonly<Record<string, Variant>> = {
  imported: importVariant("gantry import advisories, rows written", "1/s", "rate"),
  importing: importVariant("gantry import advisories, resident at its highest", "MB", "mb"),
  importIdle: idleImport,
  importStored: storedDocuments,
  importMatched: matchedImport,
  copied: copyVariant,
};
