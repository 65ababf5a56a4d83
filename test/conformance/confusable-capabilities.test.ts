// Capabilities that an operation could confuse: a caller with a similar capability in place of the required one is refused.
// test/conformance/access.test.ts covers a caller with every capability except one. An owner of the organization creates roles, identities and
// bindings.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { globSync, readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { codes } from "#base/fault.ts";
import { type JsonObject, objectList, text } from "#base/json.ts";
import { capabilities } from "#contract/capabilities.ts";
import { methods } from "#contract/catalog.ts";
import type { MethodFact } from "#contract/facts.ts";
import { builtInRoleUid } from "#authz";
import { builtInRoles } from "../../server/authz/roles.ts";
import type { Answer } from "../client.ts";
import { oneOrAll, shareOf, shortOrLong } from "../length.ts";
import { openRegistry } from "../registry.ts";
import { nonEmpty } from "../samples.ts";
import { runImport } from "../story/import.ts";
import { everyCapabilityBut, folder, hidesRows, isBesideOpen, isList, isScim, openStage, protocolsOf, rowsOf, symbolsOf, uidsOf } from "./stage.ts";

const stage = await openStage();
const { world } = stage;
after(() => stage.close());

const place = await folder(stage);
const owner = await stage.stranger(world.organization);
await stage.bind(world.organization, owner.uid, builtInRoleUid("owner"));

const ownerHolds = new Set(builtInRoles.owner);
const grantable = everyCapabilityBut("");

const roles = new Map<string, Promise<string>>();
/** Creates a custom role as the organization's owner, or as the operator if only the operator can grant its capabilities. */
const roleOf = (names: readonly string[]): Promise<string> => {
  const key = [...names].sort().join();
  const made =
    roles.get(key) ??
    (names.every((name) => ownerHolds.has(name))
      ? world
          .ok(
            "iam.RolesService/CreateRole",
            { parent: world.organization, role: { name: `role ${stage.next()}`, capabilities: symbolsOf(names) } },
            { token: owner.token },
          )
          .then((role) => text(role, "uid"))
      : stage
          .make("chainguard.platform.iam.v2.Role", { place: world.organization, capabilities: [...new Set([...names, "internal"])] })
          .then((role) => text(role, "uid")));
  roles.set(key, made);
  return made;
};

interface Held {
  readonly at: string;
  readonly names: readonly string[];
}

/** Creates an identity with exactly these capabilities on these groups; returns its token. */
const holder = async (...held: readonly Held[]): Promise<string> => {
  const identity = { name: `holder ${stage.next()}`, claimMatch: { issuer: "https://issuer.example.com", subject: randomBytes(8).toString("hex") } };
  const made = await world.ok("iam.IdentitiesService/CreateIdentity", { parent: world.organization, identity }, { token: owner.token });
  const identityUid = text(made, "uid");
  for (const { at, names } of held) {
    if (names.length === 0) continue;
    const isOwners = names.every((name) => ownerHolds.has(name));
    const roleBinding = { identityUid, roleUid: await roleOf(names) };
    await world.ok("iam.RoleBindingsService/CreateRoleBinding", { parent: at, roleBinding }, { token: isOwners ? owner.token : await stage.operator() });
  }
  return world.token(identityUid);
};

const areaOf = (capability: string): string => capability.split(".")[0] ?? "";
const verbOf = (capability: string): string => capability.split(".").at(-1) ?? "";

/**
 * Returns capabilities that could be confused with `needed`: those of the same resource, and of other operations of the service. For a
 * resource with a single capability, returns the same verb of other resources.
 */
const neighboursOf = ({ service, capabilities: own }: Pick<MethodFact, "service" | "capabilities">, needed: string): readonly string[] => {
  const beside = methods.filter((other) => other.service === service).flatMap((other) => other.capabilities);
  const near = new Set([...grantable.filter((name) => areaOf(name) === areaOf(needed)), ...beside]);
  for (const name of own) near.delete(name);
  near.delete(needed);
  return near.size > 0 ? [...near].sort() : grantable.filter((name) => name !== needed && verbOf(name) === verbOf(needed) && !own.includes(name));
};

/** Returns a sample of neighbours in a short run, all in a long one. */
const someNeighbours = (method: Pick<MethodFact, "service" | "capabilities">, needed: string): readonly string[] =>
  oneOrAll(nonEmpty(neighboursOf(method, needed), `capability that could be taken for ${needed}`));

const assertRefused = (answer: Answer, method: MethodFact, what: string): void => {
  const said = `${method.name} ${what}: ${answer.code} ${answer.message}`;
  if (hidesRows(method)) {
    assert.equal(answer.code, 0, said);
    const shown = isList(method) ? uidsOf(method, answer.reply).filter((uid) => uid.startsWith(world.organization)) : rowsOf(method, answer.reply);
    assert.deepEqual(shown, [], said);
  } else if (method.rpc === "ListCatalog") assert.deepEqual([answer.code, answer.reply.repositories], [0, []], said);
  else if (method.distribution && method.rpc === "ListReferrers" && answer.code === 0) assert.doesNotMatch(answer.raw, /sha256:/, said);
  else assert.ok(answer.code === codes.PERMISSION_DENIED || answer.code === codes.NOT_FOUND, said);
};

const assertAllowed = (answer: Answer, method: MethodFact): void => {
  // Only an import creates an image's data; NOT_FOUND proves permission.
  const isAbsent = answer.code === codes.NOT_FOUND && !method.writes && method.input.byName.has("digest");
  if (!isAbsent) assert.equal(answer.code, 0, `${method.name}: ${answer.message} ${JSON.stringify(answer.details)}`);
};

const checkExact = async (method: MethodFact): Promise<void> => {
  const besides = method.delegates?.rights === "deletion" ? ["repo.create"] : [];
  const token = await holder({ at: stage.needsAt(method, place), names: [...method.capabilities, ...besides] });
  for (const protocol of oneOrAll(protocolsOf(method)))
    assertAllowed(await stage.call(protocol, method, await stage.request(method, { place, capabilities: method.capabilities }), { token }), method);
};

const checkNeighbours = async (method: MethodFact, neighbours = someNeighbours): Promise<void> => {
  const request = await stage.request(method, { place, capabilities: ["groups.list"] });
  for (const needed of method.capabilities) {
    for (const neighbour of neighbours(method, needed)) {
      const names = [...method.capabilities.filter((name) => name !== needed), neighbour];
      const token = await holder({ at: stage.needsAt(method, place), names });
      for (const protocol of oneOrAll(protocolsOf(method)))
        assertRefused(await stage.call(protocol, method, request, { token }), method, `with ${neighbour} in place of ${needed}`);
    }
  }
};

const needing = nonEmpty(
  methods.filter(
    (method) => !method.open && !isScim(method) && !isBesideOpen(method) && method.capabilities.length > 0 && stage.answers(method) && !method.view,
  ),
  "operation with capabilities",
);
assert.ok(
  needing.some(({ distribution }) => distribution),
  "operations of the registry are among them",
);

for (const method of shareOf(needing, 3)) {
  test(`${method.name} accepts no similar capability in place of ${method.capabilities.join(" or ")}`, () => checkNeighbours(method));
}

test("these checks detect an operation that checks another capability than its facts declare", async () => {
  // A list hides rows instead of refusing, which proves little if there is nothing to show; a blob of a hidden repo looks like a missing one.
  const isHidden = (method: MethodFact): boolean => method.distribution !== undefined && (method.input.byName.has("digest") || method.rpc === "ListCatalog");
  const isSwappable = (method: MethodFact): boolean =>
    method.capabilities.length === 1 && !method.writes && !isList(method) && !isHidden(method) && ownerHolds.has(method.capabilities[0] ?? "");
  const swappable = needing.filter(isSwappable);
  for (const method of shareOf(swappable, shortOrLong(12, 4))) {
    const [own = ""] = method.capabilities;
    const [another = ""] = neighboursOf(method, own);
    const swapped: MethodFact = { ...method, capabilities: [another] };
    await assert.rejects(
      checkNeighbours(swapped, () => [own]),
      assert.AssertionError,
      `${method.name} with ${another}`,
    );
    await assert.rejects(checkExact(swapped), assert.AssertionError, `${method.name} with ${another}`);
    await checkExact(method);
  }
});

const repoWithBlob = async (at: string): Promise<{ readonly uid: string; readonly digest: string }> => {
  const uid = text(await stage.make("chainguard.platform.registry.v2.Repo", { place: at }), "uid");
  return { uid, digest: await openRegistry(world.url, `Bearer ${await stage.owner()}`).pushBlob(uid, randomBytes(40)) };
};

const manifest = JSON.stringify({ schemaVersion: 2, mediaType: "application/vnd.oci.image.index.v1+json", manifests: [] });
const manifestHeaders = { "content-type": "application/vnd.oci.image.index.v1+json" };
const registryOf = (token: string) => openRegistry(world.url, `Bearer ${token}`);
const isDone = async (name: string, request: JsonObject, token: string): Promise<boolean> => {
  const { code, message } = await world.call(name, request, { token });
  assert.ok(code === 0 || code === codes.PERMISSION_DENIED || code === codes.NOT_FOUND, `${name}: ${code} ${message}`);
  return code === 0;
};

/** Returns the names that lead to a group of the organization. */
const pathOf = async (group: string): Promise<string> => {
  const nameOf = async (uid: string): Promise<string> => text(await world.ok("iam.GroupsService/GetGroup", { uid }), "name");
  return `${(await nameOf(world.organization)).toLowerCase()}/${(await nameOf(group)).toLowerCase()}`;
};

/** Binds an identity at the organization; returns how a caller sees that it can delete repos in a group below. */
const holderAbove = async (below: string): Promise<(token: string) => Promise<JsonObject>> => {
  const { uid } = await stage.stranger(world.organization);
  await stage.bind(world.organization, uid, await roleOf(["repo.delete"]));
  return async (token) => {
    const shown = await world.ok("gantry.access.v1.AccessService/WhoCan", { place: below, capability: "repo.delete", pageSize: 200 }, { token });
    return objectList(shown, "holders").find((each) => text(each, "identityUid") === uid) ?? assert.fail("it is not shown at all");
  };
};

interface InCode {
  readonly title: string;
  /** The group where the code checks: the operation's own target, or another one. */
  readonly where: "target" | "folder" | "organization";
  /** Capabilities that the contract requires, held at `target`. */
  readonly needs: readonly string[];
  /** Capabilities that the code checks in addition, at `source`. */
  readonly asks: readonly string[];
  /** Prepares the resources; returns the attempt, which resolves to true if it had an effect. */
  readonly prepare: (target: string, source: string) => Promise<(token: string) => Promise<boolean>>;
}

const inCode: readonly InCode[] = [
  {
    title: "a mount from a repo by its uid",
    where: "folder",
    needs: ["manifest.create", "repo.list"],
    asks: ["repo.blobs.get"],
    prepare: async (target, source) => {
      const [from, to] = [await repoWithBlob(source), await repoWithBlob(target)];
      return async (token) =>
        (await registryOf(token).send("POST", `${to.uid}/blobs/uploads/?mount=${from.digest}&from=${encodeURIComponent(from.uid)}`)).status === 201;
    },
  },
  {
    title: "a mount without a source",
    where: "folder",
    needs: ["manifest.create", "repo.list"],
    asks: ["repo.blobs.get"],
    prepare: async (target, source) => {
      const [from, to] = [await repoWithBlob(source), await repoWithBlob(target)];
      return async (token) => (await registryOf(token).send("POST", `${to.uid}/blobs/uploads/?mount=${from.digest}`)).status === 201;
    },
  },
  {
    title: "a push by a tag",
    where: "target",
    needs: ["manifest.create", "repo.list"],
    asks: ["tag.create"],
    prepare: async (target) => {
      const { uid } = await repoWithBlob(target);
      return async (token) => (await registryOf(token).send("PUT", `${uid}/manifests/tagged`, { body: manifest, headers: manifestHeaders })).status === 201;
    },
  },
  {
    title: "creating a public repo",
    where: "target",
    needs: ["repo.create"],
    asks: ["repo.update", "role_bindings.create"],
    prepare: async (target) => (token) =>
      isDone("registry.ReposService/CreateRepo", { parent: target, repo: { name: `open-${stage.next()}`, anonymousPull: true } }, token),
  },
  {
    title: "making a repo public",
    where: "target",
    needs: ["repo.update"],
    asks: ["role_bindings.create"],
    prepare: async (target) => {
      const { uid } = await repoWithBlob(target);
      return (token) => isDone("registry.ReposService/UpdateRepo", { repo: { uid, anonymousPull: true }, updateMask: "anonymousPull" }, token);
    },
  },
  {
    title: "copying a repo elsewhere",
    where: "folder",
    needs: ["repo.create"],
    asks: ["repo.list"],
    prepare: async (target, source) => {
      const { uid } = await repoWithBlob(source);
      return (token) =>
        isDone("registry.ReposService/CreateRepo", { parent: target, repo: { name: `copy-${stage.next()}`, syncConfig: { source: uid } } }, token);
    },
  },
  {
    title: "a push that creates its repo",
    where: "target",
    needs: ["manifest.create", "repo.list", "groups.list"],
    asks: ["repo.create"],
    prepare: async (target) => {
      const path = await pathOf(target);
      return async (token) => (await registryOf(token).send("POST", `${path}/new-${stage.next()}/blobs/uploads/`)).status === 202;
    },
  },
  {
    title: "a push that creates its repo's group",
    where: "target",
    needs: ["manifest.create", "repo.list", "repo.create"],
    asks: ["groups.create"],
    prepare: async (target) => {
      const path = await pathOf(target);
      return async (token) => (await registryOf(token).send("POST", `${path}/group-${stage.next()}/new/blobs/uploads/`)).status === 202;
    },
  },
  {
    title: "the name of a holder bound above",
    where: "organization",
    needs: ["identity.list", "role_bindings.list", "roles.list"],
    asks: ["identity.list"],
    prepare: async (target) => {
      const shown = await holderAbove(target);
      return async (token) => text(await shown(token), "name") !== "";
    },
  },
  {
    title: "the binding above that gives a holder a capability",
    where: "organization",
    needs: ["identity.list", "role_bindings.list", "roles.list"],
    asks: ["role_bindings.list"],
    prepare: async (target) => {
      const shown = await holderAbove(target);
      return async (token) => objectList(await shown(token), "grants").some((grant) => text(grant, "bindingUid") !== "");
    },
  },
  {
    title: "looking up an identity by its issuer and subject",
    where: "target",
    needs: [],
    asks: ["identity.list"],
    prepare: async (target) => {
      const claimMatch = { issuer: "https://issuer.example.com", subject: randomBytes(8).toString("hex") };
      await world.ok("iam.IdentitiesService/CreateIdentity", { parent: target, identity: { name: "looked up", claimMatch } }, { token: owner.token });
      return (token) => isDone("chainguard.platform.iam.Identities/Lookup", claimMatch, token);
    },
  },
];

for (const { title, where, needs, asks, prepare } of inCode) {
  test(`${title} needs ${asks.join(" and ")}: every other capability together, and each neighbour alone, is refused`, async () => {
    const [target, source] = [await folder(stage), await folder(stage)];
    const at = { target, folder: source, organization: world.organization }[where];
    for (const needed of asks) {
      const kept = asks.filter((name) => name !== needed);
      const attempt = await prepare(target, source);
      const others = grantable.filter((name) => name !== needed && (ownerHolds.has(name) || !ownerHolds.has(needed)));
      assert.equal(await attempt(await holder({ at: target, names: needs }, { at, names: others })), false, `everything but ${needed}`);
      for (const neighbour of someNeighbours({ service: "", capabilities: [...needs, ...asks] }, needed))
        assert.equal(
          await attempt(await holder({ at: target, names: needs }, { at, names: [...kept, neighbour] })),
          false,
          `${neighbour} in place of ${needed}`,
        );
      assert.equal(
        await (await prepare(target, source))(await holder({ at: target, names: needs }, { at, names: asks })),
        true,
        `exactly ${asks.join(" and ")}`,
      );
    }
  });
}

/** Each capability that code checks beyond the contract, and the test that distinguishes it from others. */
const namedInCode: Readonly<Record<string, string>> = {
  "server/authz/rights.ts groups.list": "test/story/registry-token-scopes.test.ts",
  "server/authz/rights.ts repo.list": "test/story/registry-token-scopes.test.ts",
  "server/events/delivery/attempt.ts subscriptions.create": "test/attacks/sinks.test.ts",
  "server/kernel/permit.ts groups.list": "test/conformance/access.test.ts",
  "server/kernel/terms.ts terms.accept": "test/story/terms.test.ts",
  "server/iam/resources/access.ts identity.list": "here",
  "server/iam/resources/shown/grant.ts role_bindings.list": "here",
  "server/iam/resources/group.ts advisories.approve": "test/attacks/authored-advisories.test.ts",
  "server/iam/resources/group.ts groups.create": "test/conformance/access.test.ts",
  "server/iam/resources/identity-lookup.ts identity.list": "here",
  "server/libraries/resources/requests/change-items.ts libraries.request_groups.delete_submitted": "test/story/request-groups.test.ts",
  "server/registry/resources/chart.ts repo.list": "test/attacks/charts.test.ts",
  "server/registry/resources/chart.ts tag.list": "test/attacks/charts.test.ts",
  "server/registry/resources/distribution/place.ts groups.create": "here",
  "server/registry/resources/distribution/place.ts repo.create": "here",
  "server/registry/resources/distribution/place.ts repo.list": "test/attacks/registry.test.ts",
  "server/registry/resources/distribution/put-manifest.ts tag.create": "here",
  "server/registry/resources/distribution/token-scope.ts groups.create": "test/story/registry-token-scopes.test.ts",
  "server/registry/resources/distribution/token-scope.ts repo.create": "test/story/registry-token-scopes.test.ts",
  "server/registry/resources/distribution/uploads.ts repo.blobs.get": "here",
  "server/registry/resources/image-contents.ts manifest.metadata.list": "test/registry/image-packages.test.ts",
  "server/registry/resources/promotion.ts manifest.list": "test/attacks/promotion.test.ts",
  "server/registry/resources/promotion.ts referrers.list": "test/attacks/promotion.test.ts",
  "server/registry/resources/promotion.ts repo.blobs.get": "test/attacks/promotion.test.ts",
  "server/registry/resources/promotion.ts repo.list": "test/attacks/promotion.test.ts",
  "server/registry/resources/repo.ts manifest.create": "test/attacks/undelete.test.ts",
  "server/registry/resources/repo.ts repo.list": "here",
  "server/registry/resources/repo.ts repo.update": "here",
  "server/registry/resources/repo.ts role_bindings.create": "here",
  "server/registry/resources/storage.ts repo.list": "test/attacks/retention.test.ts",
  "server/registry/resources/tags-summary.ts repo.list": "test/attacks/version-1-registry.test.ts",
  "server/advisories/resources/vex-source.ts gantry.findings.require_approval": "test/attacks/trusted-vex.test.ts",
  "server/advisories/resources/authored-advisory-event.ts advisories.approve": "test/attacks/authored-advisories.test.ts",
  "server/iam/signin/registration.ts role_bindings.create": "test/attacks/invites.test.ts",
};

test("each capability that code checks beyond the contract has a test that distinguishes it", () => {
  const root = join(import.meta.dirname, "../..");
  const known = new Set(capabilities.map(({ name }) => name));
  const named = globSync("server/**/*.ts", { cwd: root, exclude: ["**/*.test.ts", "**/testing.ts", "server/authz/roles.ts"] }).flatMap((path) => {
    const source = readFileSync(join(root, path), "utf8").replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, "");
    return [...source.matchAll(/"([a-z_]+(?:\.[a-z_]+)+)"/g)].flatMap(([, name = ""]) => (known.has(name) ? [`${path} ${name}`] : []));
  });
  assert.deepEqual([...new Set(named)].sort(), Object.keys(namedInCode).sort());
  for (const path of Object.values(namedInCode)) if (path !== "here") assert.ok(readFileSync(join(root, path), "utf8").includes("test("));
});

test("feed files show private records with advisories.list, and with no similar capability", async () => {
  const scratch = await mkdtemp(join(tmpdir(), "gantry-confusable-"));
  try {
    const marker = "confusable-secret";
    const documents: JsonObject[] = [
      {
        id: "SECRET-2025-1",
        modified: "2025-01-01T00:00:00Z",
        affected: [{ package: { ecosystem: "npm", name: marker }, ranges: [{ type: "SEMVER", events: [{ introduced: "0" }] }] }],
      },
      {
        "@context": "https://openvex.dev/ns/v0.2.0",
        "@id": "https://example.com/vex/secret",
        author: marker,
        timestamp: "2025-01-01T00:00:00Z",
        version: 1,
        statements: [{ vulnerability: { name: "CVE-2025-1" }, products: [{ "@id": `pkg:npm/${marker}` }], status: "fixed" }],
      },
    ];
    const files = documents.map((_, index) => join(scratch, `${index}.json`));
    for (const [index, each] of documents.entries()) await writeFile(files[index] ?? "", JSON.stringify(each));
    const done = await runImport(world, "advisories", files, { group: world.organization, author: "Wolfi" });
    assert.deepEqual([done.failed, done.refused], [[], []]);
    const read = async (path: string, token?: string): Promise<string> => {
      // Resets the public rate limit of this address.
      world.clock.now += 20_000;
      const response = await fetch(`${world.url}${path}`, { headers: token === undefined ? {} : { authorization: `Bearer ${token}` } });
      assert.equal(response.status, 200, path);
      return Buffer.from(await response.arrayBuffer()).toString("latin1");
    };
    const paths = ["/advisory/v2/osv/all.json", "/osv/modified_id.csv", "/advisory/v2/openvex/all.json", "/vex/all.json"];
    const at = world.organization;
    const neighbours = [...new Set(["advisories.create", ...neighboursOf({ service: "", capabilities: [] }, "advisories.list")])];
    for (const path of paths) {
      const exact = await holder({ at, names: ["advisories.list"] });
      const open = await read(path);
      const shown = await read(path, exact);
      assert.notEqual(shown, open, `${path}: there is something to be hidden`);
      const others = grantable.filter((name) => name !== "advisories.list");
      for (const names of [others, ...oneOrAll(neighbours).map((name) => [name])])
        assert.equal(await read(path, await holder({ at, names })), open, `${path} with ${names.length > 1 ? "everything else" : names.join()}`);
    }
    assert.ok(methods.filter(isBesideOpen).every(({ capabilities: own }) => own.join() === "advisories.list"));
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
});
