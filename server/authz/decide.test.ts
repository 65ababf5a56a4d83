import assert from "node:assert/strict";
import { test } from "node:test";
import { ancestry, EVERYWHERE } from "#base/uid.ts";
import { missingCapability, shortestRight, visiblePaths } from "./decide.ts";
import { type Grant, downscope, type Rights } from "./rights.ts";
import { fc, runs } from "../../test/property.ts";

const names = ["repo.list", "repo.create", "groups.list", "tag.list"];

// A small world, so that paths overlap: two organizations, three levels of groups.
const universe: string[] = [];
const grow = (at: string, levels: number): void => {
  universe.push(at);
  if (levels > 0) for (const digit of ["0", "1"]) grow(`${at}/${digit.repeat(16)}`, levels - 1);
};
for (const root of ["a", "b"]) grow(root.repeat(40), 3);

const anyPath = fc.constantFrom(...universe);
const capabilities = fc.uniqueArray(fc.constantFrom(...names), { maxLength: names.length });
const grant: fc.Arbitrary<Grant> = fc
  .tuple(fc.oneof({ weight: 9, arbitrary: anyPath }, { weight: 1, arbitrary: fc.constant(EVERYWHERE) }), capabilities)
  .map(([at, held]) => ({ path: at, capabilities: new Set(held) }));
const rights: fc.Arbitrary<Rights> = fc
  .array(grant, { maxLength: 6 })
  .map((grants) => ({ uid: "u", grants, accessVersion: { root: "", version: "" }, untilMs: Number.POSITIVE_INFINITY }));

/** A slow reference: each level from the path upwards, against each grant. */
const holds = ({ grants }: Rights, name: string, at: string): boolean => {
  for (const level of [...ancestry(at), EVERYWHERE]) for (const each of grants) if (each.path === level && [...each.capabilities].includes(name)) return true;
  return false;
};

test("attack 12: a capability is missing exactly if neither the path nor an ancestor grants it", () => {
  fc.assert(
    fc.property(rights, capabilities, fc.oneof(anyPath, fc.constant(EVERYWHERE)), (held, needed, at) => {
      const missing = needed.filter(
        (name) => !(at === EVERYWHERE ? held.grants.some((each) => each.path === EVERYWHERE && each.capabilities.has(name)) : holds(held, name, at)),
      );
      const answer = missingCapability(held, needed, at);
      assert.equal(answer, missing[0]);
    }),
    { numRuns: runs(500) },
  );
});

test("a path is visible exactly if the caller has every capability there, and visible paths are disjoint", () => {
  fc.assert(
    fc.property(
      rights,
      capabilities.filter((needed) => needed.length > 0),
      (held, needed) => {
        const branches = visiblePaths(held, needed);
        for (const at of universe) {
          const within = branches.filter((branch) => branch === EVERYWHERE || ancestry(at).includes(branch));
          assert.equal(within.length, needed.every((name) => holds(held, name, at)) ? 1 : 0, at);
        }
        assert.deepEqual(branches, [...branches].sort());
      },
    ),
    { numRuns: runs(500) },
  );
});

test("without grants there are no capabilities, and an empty requirement is met", () => {
  const none: Rights = { uid: "u", grants: [], accessVersion: { root: "", version: "" }, untilMs: Number.POSITIVE_INFINITY };
  for (const at of universe) assert.equal(missingCapability(none, ["repo.list"], at), "repo.list");
  assert.deepEqual(visiblePaths(none, ["repo.list"]), []);
  assert.equal(missingCapability(none, [], universe[0] ?? ""), undefined);
});

const downscoping = fc
  .record({
    capabilities: fc.option(capabilities, { nil: undefined }),
    scopes: fc.option(fc.uniqueArray(anyPath, { minLength: 1, maxLength: 3 }), { nil: undefined }),
  })
  .map((each) => ({ uid: "u", ...each }));

test("a downscoped token has exactly its identity's permissions within its capabilities and scopes", () => {
  fc.assert(
    fc.property(rights, downscoping, (held, token) => {
      const less = downscope(held, token);
      for (const at of universe) {
        for (const name of names) {
          const allowed = (token.capabilities?.includes(name) ?? true) && (token.scopes?.some((scope) => ancestry(at).includes(scope)) ?? true);
          assert.equal(missingCapability(less, [name], at) === undefined, allowed && holds(held, name, at), `${name} at ${at}`);
        }
      }
      assert.equal(less.accessVersion, held.accessVersion, "it is proved by the same version");
    }),
    { numRuns: runs(500) },
  );
});

test("downscoping twice never adds permissions", () => {
  fc.assert(
    fc.property(rights, downscoping, downscoping, (held, one, other) => {
      const [once, twice] = [downscope(held, one), downscope(downscope(held, one), other)];
      for (const at of universe)
        for (const name of names) if (missingCapability(twice, [name], at) === undefined) assert.equal(missingCapability(once, [name], at), undefined);
    }),
    { numRuns: runs(200) },
  );
});

test("a permission can be granted until its last binding expires, and from sign-in groups only if allowed; the earliest expiry is named", () => {
  const ends = fc.constantFrom<Partial<Grant>>({}, { endMs: 10 }, { endMs: 20 }, { isFromSession: true });
  const held = fc.array(fc.tuple(grant, ends), { maxLength: 6 }).map((grants) => grants.map(([each, end]) => ({ ...each, ...end })));
  fc.assert(
    fc.property(
      rights,
      held,
      capabilities,
      anyPath,
      fc.constantFrom(10, 11, 20, Number.POSITIVE_INFINITY),
      fc.boolean(),
      (some, grants, given, at, untilMs, counts) => {
        const own = { ...some, grants };
        const lasting = { ...own, grants: grants.filter(({ endMs = Number.POSITIVE_INFINITY, isFromSession }) => (isFromSession ? counts : endMs >= untilMs)) };
        const short = given.filter((name) => !holds(lasting, name, at));
        const answer = shortestRight(own, [{ capabilities: given, path: at }], untilMs, counts);
        assert.equal(answer === undefined, short.length === 0);
        if (!answer) return;
        assert.ok(short.includes(answer.capability));
        const endOf = (name: string): number =>
          Math.max(
            0,
            ...grants.filter((each) => !each.isFromSession && holds({ ...own, grants: [each] }, name, at)).map(({ endMs = Number.POSITIVE_INFINITY }) => endMs),
          );
        assert.equal(answer.endMs ?? 0, Math.min(...short.map(endOf)));
      },
    ),
    { numRuns: runs(500) },
  );
});
