// Runs guides as a user would: several on one server, with every command in order, comparing the output with the guide.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { cp, mkdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import { freshDatabase } from "../database.ts";
import { gantryFile, start, stopAll } from "../story/processes.ts";
import { freePort } from "../free-port.ts";
import { readGuide, sectionsOf } from "./page.ts";
import { missingPrograms } from "./shell.ts";
import { makeReaderHome, type Step, stepsOf, walk } from "./walk.ts";

const root = join(import.meta.dirname, "..", "..");

/** Returns the setup of the first steps, which the other guides start with. */
export const readPreparation = async (): Promise<Step[]> => {
  const section = sectionsOf(await readGuide("first-steps.md")).find(({ title }) => title === "A token, and something to call with");
  return stepsOf(section?.content ?? "").map(({ commands }) => ({ commands, shown: undefined }));
};

/** Returns the README's first five minutes. */
const readReadme = async (): Promise<Step[]> => {
  const [, section = ""] = /^## Five minutes$([\s\S]*?)^## /m.exec(await readFile(join(root, "README.md"), "utf8")) ?? [];
  assert.ok(section.includes("docker://") && section.includes("CVE-"), "the five minutes end with a CVE in a pushed image");
  return stepsOf(section);
};

/** Returns the steps of a guide, without those that start the server. */
const readSteps = async (guide: string): Promise<Step[]> => {
  if (guide === "README.md") return readReadme();
  const steps = stepsOf(await readGuide(guide)).filter(({ commands }) => !commands.includes("npm start"));
  assert.ok(steps.length >= 3, `${guide} has hardly any steps`);
  for (const { commands, shown } of steps) assert.notEqual(shown?.trim(), "?", commands);
  return guide === "first-steps.md" ? steps : [...(await readPreparation()), ...steps];
};

export interface ReaderServer {
  /** Runs steps in a new shell. */
  readonly follow: (steps: readonly Step[]) => Promise<void>;
  readonly close: () => Promise<void>;
}

/** Starts a new server, and makes a directory with the files that a reader has. */
export const openReaderServer = async (): Promise<ReaderServer> => {
  const [database, home, port, sinkPort] = await Promise.all([freshDatabase(), makeReaderHome(), freePort(), freePort()]);
  const cwd = join(home, "gantry");
  await mkdir(cwd);
  await symlink(join(root, "node_modules"), join(cwd, "node_modules"));
  await Promise.all([cp(join(root, "package.json"), join(cwd, "package.json")), symlink(join(root, "test"), join(cwd, "test"))]);
  await writeFile(join(home, "secret.key"), randomBytes(32).toString("base64"), { mode: 0o600 });
  const environment = {
    DATABASE_URL: database.url,
    GANTRY_SECRET_KEY_FILE: join(home, "secret.key"),
    GANTRY_DATA: join(home, "data"),
    GANTRY_LISTEN: `127.0.0.1:${port}`,
    GANTRY_EGRESS_ALLOW: `sink=127.0.0.1/32:${sinkPort}`,
    REGISTRY_AUTH_FILE: join(home, "auth.json"),
  };
  const server = start(gantryFile, ["serve"], { env: environment });
  await server.says(/npx gantry token/);
  return {
    follow: (steps) => {
      const own = steps.map(({ commands, shown }) => ({ commands: commands.replaceAll("9090", String(sinkPort)), shown }));
      return walk(own, { port: String(port), home, environment, cwd });
    },
    close: async () => {
      server.signal("SIGTERM");
      await server.ended;
      await database.drop();
      await rm(home, { recursive: true, force: true });
    },
  };
};

export const skipped = (programs: readonly string[]): string | false => {
  const missing = missingPrograms(["curl", ...programs]);
  return missing.length > 0 && `NOT TESTED: ${missing.join(", ")} not installed`;
};

/** Guides that work on one server in any order, in the order of the contents. */
export const sharedGuides: readonly string[] = [
  "README.md",
  "first-steps.md",
  "registry.md",
  "advisories.md",
  "events.md",
  "audit.md",
  "../how-to/migrate-images.md",
  "../how-to/grant-roles.md",
  "../how-to/permission-denied.md",
  "../how-to/author-advisories.md",
  "../how-to/migrate-from-version-1.md",
];

/** Programs that these guides need, apart from curl. */
export const programs: readonly string[] = ["skopeo", "tar"];

/** Declares the tests of guides that run one after another on one server, in this order, and need these programs and curl. */
export const testGuides = (guides: readonly string[], programs: readonly string[] = []): void => {
  const skip = skipped(programs);
  suite(`guides on one server, in the order ${guides.join(", ")}`, { skip }, () => {
    let reader: ReaderServer;
    before(async () => {
      reader = await openReaderServer();
    });
    after(async () => {
      await reader?.close();
      await stopAll();
    });
    for (const guide of guides)
      test(`every command of the guide ${guide} runs, and prints what the guide shows`, async () => reader.follow(await readSteps(guide)));
  });
};
