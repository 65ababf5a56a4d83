// Fixture for exports of decisions: organizations with pushed images, imported advisories and decisions.

import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type JsonObject, objectList, part, text } from "#base/json.ts";
import { npm, pushImage } from "./image-layers.ts";
import { openOwners } from "./owner.ts";
import { openPusher } from "./pusher.ts";
import { openWorld, type World } from "./world.ts";
import { runImport } from "./story/import.ts";

export const decisionsService = "gantry.decisions.v1.DecisionsService";

export const notAffected = {
  state: "FINDING_DECISION_STATE_NOT_AFFECTED",
  justification: "FINDING_DECISION_JUSTIFICATION_VULNERABLE_CODE_NOT_PRESENT",
};

export interface Organization {
  readonly name: string;
  readonly group: string;
  /** Of an owner. */
  readonly token: () => Promise<string>;
}

export interface DecisionsStage {
  readonly world: World;
  readonly folder: string;
  newOrganization(): Promise<Organization>;
  newGroup(organization: Organization, parent: string, name: string): Promise<string>;
  /** Imports a record of the organization, in the form of OSV. */
  importOsv(organization: Organization, record: JsonObject): Promise<void>;
  /** Imports an advisory on npm packages. */
  importRecord(organization: Organization, id: string, aliases: readonly string[], ...names: readonly string[]): Promise<void>;
  /** Pushes an image with these npm packages in version 1.0.0, and returns its digest. */
  push(organization: Organization, path: string, ...names: readonly string[]): Promise<string>;
  /** Reads pushed images, and matches them. */
  turn(): Promise<void>;
  decide(organization: Organization, decision: JsonObject, parent?: string): Promise<JsonObject>;
  exported(organization: Organization, request?: JsonObject): Promise<JsonObject>;
  /** Returns the code of an export in the name of the owner. */
  exportCode(organization: Organization): Promise<number>;
  close(): Promise<void>;
}

export const documentOf = (reply: JsonObject): JsonObject => JSON.parse(text(reply, "document")) as JsonObject;

/** Returns "NAME STATUS IMAGE PACKAGE" for each package of each image. */
export const stated = (document: JsonObject): string[] =>
  objectList(document, "statements")
    .flatMap((statement) =>
      objectList(statement, "products").flatMap((product) =>
        objectList(product, "subcomponents").map((each) => {
          const repository = new URL(text(part(product, "identifiers"), "purl")).searchParams.get("repository_url") ?? "";
          const path = repository.slice(repository.indexOf("/") + 1);
          return `${text(part(statement, "vulnerability"), "name")} ${text(statement, "status")} ${path} ${text(each, "@id")}`;
        }),
      ),
    )
    .sort();

export const openDecisionsStage = async (): Promise<DecisionsStage> => {
  const folder = await mkdtemp(join(tmpdir(), "gantry-decisions-"));
  const world = await openWorld({ GANTRY_BLOBS: join(folder, "blobs") });
  const owners = openOwners(world);
  let made = 0;
  const turn = async (): Promise<void> => {
    await world.server.contents.turn();
    await world.server.sboms.turn();
  };
  const importOsv: DecisionsStage["importOsv"] = async ({ group }, record) => {
    const file = join(folder, `${++made}.json`);
    await writeFile(file, JSON.stringify({ schema_version: "1.7.0", modified: "2026-01-01T00:00:00Z", ...record }));
    assert.deepEqual((await runImport(world, "advisories", [file], { group, public: false, allowWithdrawals: true })).refused, []);
  };
  return {
    world,
    folder,
    turn,
    importOsv,
    newOrganization: async () => {
      const name = `org${++made}`;
      const group = text(await world.ok("iam.GroupsService/CreateGroup", { group: { name } }), "uid");
      return { name, group, token: () => owners.token(group) };
    },
    newGroup: async ({ token }, parent, name) =>
      text(await world.ok("iam.GroupsService/CreateGroup", { parent, group: { name } }, { token: await token() }), "uid"),
    importRecord: (organization, id, aliases, ...names) => {
      const affected = names.map((name) => ({ package: { ecosystem: "npm", name }, ranges: [{ type: "SEMVER", events: [{ introduced: "0" }] }] }));
      return importOsv(organization, { id, aliases: [...aliases], affected });
    },
    push: async ({ token }, path, ...names) => {
      const layer = names.map((name) => npm(name, "1.0.0"));
      const { digest } = await pushImage(openPusher(world, path, token), "1", layer);
      await turn();
      return digest;
    },
    decide: async ({ token, group }, decision, parent = group) => {
      const findingDecision = { state: "FINDING_DECISION_STATE_FALSE_POSITIVE", reason: "Another package.", ...decision };
      const reply = await world.ok(`${decisionsService}/CreateFindingDecision`, { parent, findingDecision }, { token: await token() });
      await turn();
      return reply;
    },
    exported: async ({ token, group }, request = {}) =>
      world.ok(`${decisionsService}/ExportFindingDecisions`, { parent: group, ...request }, { token: await token() }),
    exportCode: async ({ token, group }) => (await world.call(`${decisionsService}/ExportFindingDecisions`, { parent: group }, { token: await token() })).code,
    close: async () => {
      await world.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
};
