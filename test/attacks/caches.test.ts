// Attack 11: a cache key that lacks an input, and the "new enemy" problem. Two servers on one database decide from memory, and both must agree
// with a slow evaluation of the bindings after every change.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { capabilityBySymbol } from "#contract/capabilities.ts";
import { http } from "../story/protocols.ts";
import { openInstallation, type Installation } from "../story/installation.ts";
import { openWorld, type World } from "../world.ts";

let installation: Installation;
let replica: World;
let operator: string;

before(async () => {
  installation = await openInstallation();
  const { DATABASE_URL = "", GANTRY_SECRET_KEY_FILE = "", GANTRY_PUBLIC_URL = "" } = installation.environment;
  replica = await openWorld({ DATABASE_URL, GANTRY_SECRET_KEY_FILE, GANTRY_PUBLIC_URL });
  operator = await installation.world.token();
});
after(async () => {
  await replica?.close();
  await installation?.close();
});

/** Returns a seeded random generator, so that a failure can be reproduced. */
const random = (seed: number): ((below: number) => number) => {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
};

/** The input of the slow evaluation: the changes that the operator has made so far. */
interface Book {
  /** Binding uid: identity, group, role. */
  readonly bindings: Map<string, { identity: string; group: string; role: string }>;
  /** Role uid: capability symbols. */
  readonly roles: Map<string, readonly string[]>;
  readonly identities: Set<string>;
}

const may = ({ bindings, roles, identities }: Book, identity: string, capability: string, at: string): boolean =>
  identities.has(identity) &&
  [...bindings.values()].some(
    (binding) =>
      binding.identity === identity &&
      (binding.group === at || at.startsWith(`${binding.group}/`)) &&
      (roles.get(binding.role) ?? []).some((symbol) => capabilityBySymbol(symbol)?.name === capability),
  );

const choices = [["CAP_REPO_LIST"], ["CAP_TAG_LIST"], ["CAP_REPO_LIST", "CAP_TAG_LIST"], ["CAP_IAM_GROUPS_LIST"]];

for (const seed of [1, 2, 3])
  test(`attack 11: after every change of a random history (${seed}) both servers decide as a slow evaluation does`, async () => {
    const pick = random(seed);
    const one = <T>(list: readonly T[]): T => list[pick(list.length)] as T;
    const post = async (path: string, body: object): Promise<string> =>
      String((await http(installation.world.url, "POST", path, { token: operator, body: JSON.stringify(body) })).body.uid);
    const root = installation.world.organization;
    const left = await post(`/iam/v2/groups/${root}`, { name: `left ${seed}` });
    const right = await post(`/iam/v2/groups/${root}`, { name: `right ${seed}` });
    const groups = [root, left, right];
    const repos = await Promise.all(groups.map((group) => post(`/registry/v2/repos/${group}`, { name: `repo ${seed}` })));
    const claimMatch = { issuer: "https://issuer.example.com", subject: "s" };
    const book: Book = { bindings: new Map(), roles: new Map(), identities: new Set() };
    for (const symbols of choices) book.roles.set(await post(`/iam/v2/roles/${root}`, { name: `role ${seed}`, capabilities: symbols }), symbols);
    const tokens = new Map<string, string>();
    for (let index = 0; index < 3; index++) {
      const uid = await post(`/iam/v2/identities/${root}`, { name: `bot ${seed}`, claimMatch });
      book.identities.add(uid);
      tokens.set(uid, await installation.world.token(uid));
    }

    const change = async (url: string): Promise<string> => {
      const turn = pick(10);
      if (turn < 5) {
        const [identity, group, role] = [one([...book.identities]), one(groups), one([...book.roles.keys()])];
        const made = await http(url, "POST", `/iam/v2/roleBindings/${group}`, {
          token: operator,
          body: JSON.stringify({ identityUid: identity, roleUid: role }),
        });
        assert.ok(made.status === 200 || made.status === 409, made.text);
        if (made.status === 200) book.bindings.set(String(made.body.uid), { identity, group, role });
        return "bind";
      }
      if (turn < 7 && book.bindings.size > 0) {
        const uid = one([...book.bindings.keys()]);
        assert.equal((await http(url, "DELETE", `/iam/v2/roleBindings/${uid}`, { token: operator })).status, 200);
        book.bindings.delete(uid);
        return "unbind";
      }
      if (turn < 8 && book.bindings.size > 0) {
        const [uid, binding] = one([...book.bindings]);
        const role = one([...book.roles.keys()]);
        const seen = await http(url, "PATCH", `/iam/v2/roleBindings/${uid}`, { token: operator, body: JSON.stringify({ roleUid: role }) });
        assert.ok(seen.status === 200 || seen.status === 409, seen.text);
        if (seen.status === 200) book.bindings.set(uid, { ...binding, role });
        return "rebind";
      }
      const role = one([...book.roles.keys()]);
      const symbols = one(choices);
      assert.equal((await http(url, "PATCH", `/iam/v2/roles/${role}`, { token: operator, body: JSON.stringify({ capabilities: symbols }) })).status, 200);
      book.roles.set(role, symbols);
      return "change a role";
    };

    const compare = async (after: string): Promise<void> => {
      await Promise.all(
        [installation.world.url, replica.url].flatMap((url) =>
          [...tokens].map(async ([identity, token]) => {
            const visible = repos.filter((repo, index) => may(book, identity, "repo.list", groups[index] ?? "") && repo !== "").sort();
            const list = await http(url, "GET", "/registry/v2/repos?page_size=200&order_by=uid", { token });
            if (!book.identities.has(identity)) {
              assert.equal(list.status, 401, after);
              return;
            }
            const uids = (list.body.repos as { uid: string }[]).map(({ uid }) => uid).filter((uid) => repos.includes(uid));
            assert.deepEqual(uids.sort(), visible, `${url} after ${after}`);
            const [at] = [pick(groups.length)];
            const get = await http(url, "GET", `/registry/v2/repos/${repos[at]}`, { token });
            assert.equal(get.status, may(book, identity, "repo.list", groups[at] ?? "") ? 200 : 403, `${url} after ${after}`);
            const group = await http(url, "GET", `/iam/v2/groups/${groups[at]}`, { token });
            assert.equal(group.status, may(book, identity, "groups.list", groups[at] ?? "") ? 200 : 403, `${url} after ${after}`);
          }),
        ),
      );
    };

    await compare("the beginning");
    for (let step = 0; step < 30; step++) await compare(`step ${step}, ${await change(step % 2 === 0 ? installation.world.url : replica.url)}`);
    const [gone = ""] = book.identities;
    assert.equal((await http(replica.url, "DELETE", `/iam/v2/identities/${gone}`, { token: operator })).status, 200);
    book.identities.delete(gone);
    await compare("the end of an identity");
  });

test("attack 11: two differently narrowed tokens of one identity do not share permissions", async () => {
  const { world } = installation;
  const { uid } = (
    await http(world.url, "POST", `/iam/v2/identities/${world.organization}`, {
      token: operator,
      body: JSON.stringify({ name: "narrowed", claimMatch: { issuer: "https://issuer.example.com", subject: "n" } }),
    })
  ).body;
  const roles = (await http(world.url, "GET", "/iam/v2/roles?name=owner", { token: operator })).body.roles as { uid: string }[];
  await world.ok("iam.RoleBindingsService/CreateRoleBinding", {
    parent: world.organization,
    roleBinding: { identityUid: String(uid), roleUid: roles[0]?.uid ?? "" },
  });
  const sub = String((await world.ok("iam.GroupsService/CreateGroup", { parent: world.organization, group: { name: "narrow" } })).uid);
  const whole = await world.token(String(uid));
  const byCapability = await world.token(String(uid), { capabilities: ["repo.list"] });
  const byScope = await world.token(String(uid), { scopes: [sub] });
  const status = async (token: string, path: string): Promise<number> => (await http(world.url, "GET", path, { token })).status;
  // Each before and after the other, so that cached decisions of one could affect the other.
  for (let round = 0; round < 3; round++) {
    assert.equal(await status(whole, `/iam/v2/groups/${world.organization}`), 200);
    assert.equal(await status(byCapability, `/iam/v2/groups/${world.organization}`), 403);
    assert.equal(await status(byScope, `/iam/v2/groups/${world.organization}`), 403);
    assert.equal(await status(byScope, `/iam/v2/groups/${sub}`), 200);
    assert.equal(await status(byCapability, `/iam/v2/groups/${sub}`), 403);
  }
});
