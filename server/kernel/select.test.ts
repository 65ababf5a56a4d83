import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "#base/json.ts";
import { covers, EVERYWHERE, parentOf } from "#base/uid.ts";
import { methods } from "#contract/catalog.ts";
import type { Condition } from "#db";
import { type Resource, resource } from "./resource.ts";
import { filtersOf, type Scope, scopeOf } from "./select.ts";
import { fc, runs } from "../../test/property.ts";

const group = resource({ service: "chainguard.platform.iam.v2.GroupsService", message: "chainguard.platform.iam.v2.Group", table: "groups" });
const repo = resource({ service: "chainguard.platform.registry.v2.ReposService", message: "chainguard.platform.registry.v2.Repo", table: "repos" });
const tag = resource({ service: "chainguard.platform.registry.v2.TagsService", message: "chainguard.platform.registry.v2.Tag", table: "tags" });

// A small world: two organizations with nested groups, and a row at each level.
const segment = (digit: string): string => digit.repeat(16);
const universe: string[] = [];
const grow = (at: string, levels: number): void => {
  universe.push(at);
  if (levels > 0) for (const digit of ["0", "1", "f"]) grow(`${at}/${segment(digit)}`, levels - 1);
};
for (const root of ["a", "b"]) grow(root.repeat(40), 3);
// Users and built-in roles have no children.
const single = ["c", "d"].map((digit) => digit.repeat(40));
universe.push(...single);
const uid = fc.constantFrom(...universe);

const meets = (at: string, { column, comparison, value }: Condition): boolean => {
  const held = column === "parent" ? parentOf(at) : column === "depth" ? (at.length - 40) / 17 : at;
  return comparison === "any" ? Array.isArray(value) && value.includes(String(held)) : held === value;
};

/** Whether the selection includes the row. */
const selected = ({ branches, conditions }: Scope, at: string): boolean =>
  branches.some(({ low, high }) => at >= low && at < high) && conditions.every((condition) => meets(at, condition));

/** The number of branches with the row: in two it would appear twice. */
const times = ({ branches }: Scope, at: string): number => branches.filter(({ low, high }) => at >= low && at < high).length;

const reach = fc.oneof(
  fc.constant([EVERYWHERE]),
  // As authz returns them: no path below another.
  fc.uniqueArray(uid, { maxLength: 4 }).map((places) => places.filter((place) => !places.some((above) => above !== place && covers(above, place)))),
);
const also = fc.uniqueArray(fc.constantFrom(...single), { maxLength: 2 });
const uidp: fc.Arbitrary<JsonObject> = fc.record(
  { descendantsOf: uid, childrenOf: uid, ancestorsOf: uid, inRoot: fc.boolean(), ids: fc.uniqueArray(uid, { maxLength: 4 }) },
  { requiredKeys: [], noNullPrototype: true },
);

const naive = (kind: Resource, places: readonly string[], visible: readonly string[], filter: JsonObject, at: string): boolean => {
  const is = (key: string): string | undefined => (typeof filter[key] === "string" ? filter[key] : undefined);
  const [descendants, children, ancestors] = [is("descendantsOf"), is("childrenOf"), is("ancestorsOf")];
  const ids = Array.isArray(filter.ids) ? filter.ids : [];
  const line = (value: string): boolean => (kind === group ? covers(at, value) && at !== value : parentOf(at) !== EVERYWHERE && covers(parentOf(at), value));
  return (
    (places.some((place) => covers(place, at)) || visible.includes(at)) &&
    (descendants === undefined || (covers(descendants, at) && at !== descendants)) &&
    (children === undefined || parentOf(at) === children) &&
    (ancestors === undefined || line(ancestors)) &&
    (filter.inRoot !== true || at.length === 40) &&
    (ids.length === 0 || ids.includes(at))
  );
};

for (const kind of [group, repo, tag]) {
  test(`${kind.fact.short}: branches and conditions select exactly the rows of a plain filter, each once`, () => {
    fc.assert(
      fc.property(reach, also, uidp, fc.boolean(), (places, visible, filter, byName) => {
        const scope = scopeOf(kind, places, visible, { uidp: filter }, byName);
        for (const at of universe) {
          assert.equal(selected(scope, at), naive(kind, places, visible, filter, at), `${at} by ${JSON.stringify(filter)} of ${JSON.stringify(places)}`);
          assert.ok(times(scope, at) <= 1);
        }
      }),
      { numRuns: runs(300) },
    );
  });
}

test("without a filter, a list selects everything that the caller can see, and nothing if that is empty", () => {
  assert.deepEqual(scopeOf(repo, [], [], {}, false), { branches: [], conditions: [] });
  assert.deepEqual(scopeOf(repo, [universe[0] ?? ""], [], {}, false).conditions, []);
});

const listTags = methods.find(({ rpc }) => rpc === "ListTags") ?? assert.fail();
const listRepos = methods.find(({ rpc }) => rpc === "ListRepos") ?? assert.fail();
const listIdentities = methods.find(({ rpc }) => rpc === "ListIdentities") ?? assert.fail();

test("a declared filter becomes its condition: equal, after, included on request, or ignored next to another", () => {
  const families = ["is_referrer", "is_date", "is_epoch"];
  assert.deepEqual(
    filtersOf(listTags, tag, {}).map(({ column, comparison }) => [column, comparison]),
    families.map((column) => [column, "false"]),
  );
  assert.deepEqual(
    filtersOf(listTags, tag, { includeDates: true }).map(({ column }) => column),
    ["is_referrer", "is_epoch"],
  );
  assert.deepEqual(filtersOf(listTags, tag, { name: "latest" }), [{ column: "name", comparison: "equal", value: "latest", indexed: true }]);
  assert.deepEqual(filtersOf(listTags, tag, { name: "" }).length, 3, "an empty text is no filter");
  assert.deepEqual(
    filtersOf(listTags, tag, { name: "x", updatedSince: "2026-01-01T00:00:00.000Z" }).map(({ comparison }) => comparison),
    ["equal", "after"],
  );
  assert.deepEqual(
    filtersOf(listRepos, repo, { name: "" }).map(({ value }) => value),
    [""],
    "unless the contract tells it from absence",
  );
  assert.deepEqual(filtersOf(listIdentities, repo, { relationshipType: "RELATIONSHIP_TYPE_UNSPECIFIED" }), []);
  assert.deepEqual(
    filtersOf(listIdentities, repo, { relationshipType: "RELATIONSHIP_TYPE_STATIC" }).map(({ column }) => column),
    ["relationship_type"],
  );
});
