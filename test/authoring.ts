// Fixture for authored advisories: organizations with images and imported advisories, and owners who write and review.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type JsonObject, objectList, text } from "#base/json.ts";
import { runImport } from "./story/import.ts";
import { bind, createIdentity } from "./story/installation.ts";
import { openWorld, type World } from "./world.ts";

const authored = "gantry.vulnerabilities.v1.AuthoredAdvisoriesService";
const authoredEvents = "gantry.vulnerabilities.v1.AuthoredAdvisoryEventsService";
export const v1 = "chainguard.platform.vulnerabilities.v1.Advisories";

export interface Tenant {
  readonly group: string;
  /** Tokens of two owners with different upstream subjects. */
  readonly author: string;
  readonly approver: string;
  readonly authorUid: string;
  readonly approverUid: string;
}

export const falsePositive: JsonObject = {
  falsePositiveDetermination: { type: "TYPE_VULNERABLE_CODE_NOT_INCLUDED_IN_PACKAGE", note: "The parser is not built." },
};

export interface Authoring {
  readonly world: World;
  newTenant(name: string): Promise<Tenant>;
  newOwner(group: string, subject: string, role?: string): Promise<{ readonly uid: string; readonly token: string }>;
  importImage(group: string, repo: string, packages: readonly string[]): Promise<unknown>;
  /** Imports an advisory on an apk package, fixed from a version on. */
  importAdvisory(
    group: string,
    name: string,
    id: string,
    alias: string,
    options?: { readonly version?: string; readonly isPublic?: boolean; readonly isWithdrawn?: boolean },
  ): Promise<unknown>;
  createAdvisory(tenant: Tenant, advisory?: JsonObject, token?: string): Promise<JsonObject>;
  createEvent(tenant: Tenant, advisory: string, event?: JsonObject, token?: string): Promise<JsonObject>;
  review(tenant: Tenant, event: string, state?: string, token?: string): Promise<JsonObject>;
  /** Creates an advisory with an approved false positive. */
  suppress(tenant: Tenant, advisory?: JsonObject): Promise<{ readonly advisory: JsonObject; readonly event: JsonObject }>;
  /** Runs the matching that the server runs in the background. */
  match(): Promise<void>;
  affected(tenant: Tenant, token?: string): Promise<JsonObject[]>;
  /** Returns "ADVISORY repo state" for each. */
  states(tenant: Tenant): Promise<string[]>;
  file(token: string, path: string): Promise<{ readonly status: number; readonly body: string }>;
  close(): Promise<void>;
}

export const openAuthoring = async (): Promise<Authoring> => {
  const world = await openWorld();
  const scratch = mkdtempSync(join(tmpdir(), "gantry-authored-"));
  let made = 0;
  const write = (name: string, value: JsonObject): string => {
    const path = join(scratch, name);
    writeFileSync(path, `${JSON.stringify(value)}\n`);
    return path;
  };
  const newOwner: Authoring["newOwner"] = async (group, subject, role = "owner") => {
    const uid = await createIdentity(world, group, `identity-${++made}`, { issuer: "https://issuer.example.com", subject: `${subject}-${made}` });
    await bind(world, group, uid, role);
    return { uid, token: await world.token(uid) };
  };
  const createAdvisory: Authoring["createAdvisory"] = ({ group, author }, advisory = {}, token = author) =>
    world.ok(
      `${authored}/CreateAuthoredAdvisory`,
      { parent: group, authoredAdvisory: { artifactName: "openssl", artifactType: "apk", aliases: ["CVE-2026-1"], ...advisory } },
      { token },
    );
  const createEvent: Authoring["createEvent"] = ({ author }, advisory, event = falsePositive, token = author) =>
    world.ok(
      `${authoredEvents}/CreateAuthoredAdvisoryEvent`,
      { parent: advisory, authoredAdvisoryEvent: { reviewState: "REVIEW_STATE_PENDING", ...event } },
      { token },
    );
  const review: Authoring["review"] = ({ approver }, uid, reviewState = "REVIEW_STATE_APPROVED", token = approver) =>
    world.ok(`${authoredEvents}/UpdateAuthoredAdvisoryEvent`, { authoredAdvisoryEvent: { uid, reviewState }, updateMask: "review_state" }, { token });
  const affected: Authoring["affected"] = async ({ group, author }, token = author) => {
    const reply = await world.ok("gantry.images.v1.AffectedImagesService/ListAffectedImages", { uidp: { descendantsOf: group } }, { token });
    return objectList(reply, "affectedImages");
  };
  return {
    world,
    newOwner,
    createAdvisory,
    createEvent,
    review,
    affected,
    newTenant: async (name) => {
      const group = text(await world.ok("iam.GroupsService/CreateGroup", { group: { name } }), "uid");
      const [author, approver] = [await newOwner(group, "author"), await newOwner(group, "approver")];
      return { group, author: author.token, approver: approver.token, authorUid: author.uid, approverUid: approver.uid };
    },
    importImage: (group, repo, packages) =>
      runImport(world, "images", [write(`${repo}.jsonl`, { repo, tags: ["latest"], configs: { amd64: { packages: [...packages] } } })], { group }),
    importAdvisory: (group, name, id, alias, { version = "3.0.9-r2", isPublic, isWithdrawn = false } = {}) =>
      runImport(
        world,
        "advisories",
        [
          write(`${id}.json`, {
            "schema-version": "2.0.2",
            package: { name },
            advisories: isWithdrawn
              ? []
              : [{ id, aliases: [alias], events: [{ timestamp: "2026-01-01T00:00:00Z", type: "fixed", data: { "fixed-version": version } }] }],
          }),
        ],
        { group, public: isPublic, allowWithdrawals: true },
      ),
    suppress: async (tenant, given) => {
      const advisory = await createAdvisory(tenant, given);
      const event = await createEvent(tenant, text(advisory, "uid"));
      return { advisory, event: await review(tenant, text(event, "uid")) };
    },
    match: () => world.server.sboms.turn(),
    states: async (tenant) =>
      (await affected(tenant))
        .map((row) => `${text(row, "advisoryId")} ${text(row, "repo")} ${text(row, "state").replace("AFFECTED_IMAGE_STATE_", "").toLowerCase()}`)
        .sort(),
    file: async (token, path) => {
      const response = await fetch(`${world.url}${path}`, { headers: token === "" ? {} : { authorization: `Bearer ${token}` } });
      return { status: response.status, body: await response.text() };
    },
    close: async () => {
      await world.close();
      rmSync(scratch, { recursive: true });
    },
  };
};
