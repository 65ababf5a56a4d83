import assert from "node:assert/strict";
import { test } from "node:test";
import { Fault } from "#base/fault.ts";
import { methods } from "#contract/catalog.ts";
import { makeRouter } from "./paths.ts";
import { fc, runs } from "../../test/property.ts";

const route = makeRouter(methods);
const root = "a".repeat(40);
const child = `${root}/${"b".repeat(16)}`;

/** "GetGroup uid=…", the verbs of a 405, or "none". */
const found = (verb: string, path: string): string => {
  const finding = route(verb, path);
  if (!finding) return "none";
  if ("allow" in finding) return `405 ${[...finding.allow].sort().join(" ")}`;
  return [finding.method.rpc, ...finding.fields.map(([field, value]) => `${field}=${value}`)].join(" ");
};

const table: [verb: string, path: string, expected: string][] = [
  ["GET", "/iam/v2/groups", "ListGroups"],
  ["GET", "/iam/v2/groups/", "ListGroups"],
  ["GET", `/iam/v2/groups/${root}`, `GetGroup uid=${root}`],
  ["GET", `/iam/v2/groups/${child}`, `GetGroup uid=${child}`],
  ["GET", `/iam/v2/groups/${child.replaceAll("/", "%2F")}`, `GetGroup uid=${child}`],
  ["GET", `/iam/v2/groups/${child.replaceAll("/", "%2f")}/`, `GetGroup uid=${child}`],
  ["POST", "/iam/v2/groups", "CreateGroup parent="],
  ["POST", "/iam/v2/groups/", "CreateGroup parent="],
  ["POST", `/iam/v2/groups/${child}`, `CreateGroup parent=${child}`],
  ["PATCH", `/iam/v2/groups/${child}`, `UpdateGroup group.uid=${child}`],
  ["PUT", `/iam/v2/groups/${child}`, "405 DELETE GET PATCH POST"],
  ["GET", "/iam/v2/groups:lookupGroup", "LookupGroup"],
  ["POST", "/iam/v2/groups:lookupGroup", "405 GET"],
  ["POST", `/iam/v2/groups/${child}:requestGroupAccess`, `RequestGroupAccess group_uid=${child}`],
  ["GET", `/iam/v2/groups/${child}:requestGroupAccess`, "405 POST"],
  ["POST", "/iam/v2/roleBindings:batchCreate", "BatchCreateRoleBindings"],
  ["PATCH", "/iam/v2/identities:updateIdentityMetadata", "UpdateIdentityMetadata"],
  ["GET", "/iam/v2/roles:batchCreate", "none"],
  ["GET", `/registry/v2/repos/${child}/readme`, `GetRepoReadme uid=${child}`],
  ["PATCH", `/registry/v2/repos/${child}/readme`, `UpdateRepoReadme repo_readme.uid=${child}`],
  ["DELETE", `/registry/v2/repos/${child}/readme`, "405 GET PATCH"],
  ["GET", `/registry/v2/repos/${child}/digests/sha256:0f/size`, `GetSize repo_uid=${child} digest=sha256:0f`],
  ["GET", `/registry/v2/repos/${root}/digests/sha256:0f/architectures`, `GetArchitectures repo_uid=${root} digest=sha256:0f`],
  ["GET", `/registry/v2/repos/${child.replaceAll("/", "%2F")}/digests/sha256%3A0f/size`, `GetSize repo_uid=${child} digest=sha256:0f`],
  ["GET", "/libraries/v2/artifacts/count", "GetArtifactCount"],
  ["GET", "/libraries/v2/artifacts/maven:org.x%2Fy/versions", "ListArtifactVersions artifact_id=maven:org.x/y"],
  ["GET", "/libraries/v2/artifacts/a/b/versions", "none"],
  ["GET", "/libraries/v2/artifacts//versions", "none"],
  ["GET", `/iam/v2/terms/${root}`, `ListTermsAcceptances group=${root}`],
  ["GET", "/ping/v2/ping", "Ping"],
  ["GET", "/ping/v2/ping/pong", "none"],
  ["GET", "/", "none"],
  ["GET", "", "none"],
  ["GET", "*", "none"],
  ["GET", "/iam/v2", "none"],
  ["GET", "/__proto__/constructor", "none"],
];

for (const [verb, path, expected] of table) {
  test(`${verb} ${path || "(nothing)"} routes to ${expected}`, () => assert.equal(found(verb, path), expected));
}

test("invalid percent-encoding in a path is INVALID_ARGUMENT on the path", () => {
  for (const broken of ["%", "%2", "%zz", "%ff", "%c3%28"]) {
    assert.throws(
      () => route("GET", `/iam/v2/groups/${broken}`),
      (thrown) => thrown instanceof Fault && thrown.code === "INVALID_ARGUMENT" && thrown.details[0]?.kind === "fields",
      broken,
    );
  }
});

test("two operations cannot have the same verb and path", () => {
  const method = methods.find((candidate) => candidate.rpc === "GetGroup");
  assert.ok(method);
  assert.throws(() => makeRouter([method, { ...method, name: "other" }]), /share GET/);
});

// Values that a template's variable can have without matching other parts of the path.
const uid = fc
  .tuple(fc.stringMatching(/^[0-9a-f]{40}$/), fc.array(fc.stringMatching(/^[0-9a-f]{16}$/), { maxLength: 4 }))
  .map(([first, below]) => [first, ...below].join("/"));
const segment = fc
  .oneof(fc.stringMatching(/^[0-9a-f]{40}$/), fc.stringMatching(/^sha256:[0-9a-f]{64}$/), fc.string({ unit: "grapheme", minLength: 1, maxLength: 12 }))
  .filter((value) => value.isWellFormed());

const bindings = methods.flatMap((method) => method.http.map((http) => ({ method, http })));

test("every template of the contract, filled with values, routes back to these values", () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...bindings),
      fc.infiniteStream(uid),
      fc.infiniteStream(segment),
      fc.boolean(),
      ({ method, http }, uids, segments, encodeSlashes) => {
        const fields: [string, string][] = [];
        const path = http.template.replace(/\{([a-z0-9_.]+)(?:=(\*\*?))?\}/g, (_whole, field: string, pattern: string | undefined) => {
          const value = String((pattern === "**" ? uids : segments).next().value);
          fields.push([field, value]);
          return pattern === "**" && !encodeSlashes ? value : encodeURIComponent(value).replaceAll("'", "%27");
        });
        const finding = route(http.verb, path);
        assert.ok(finding && "method" in finding, path);
        assert.equal(finding.method.name, method.name, path);
        assert.deepEqual(finding.fields, fields, path);
      },
    ),
    { numRuns: runs(2000) },
  );
});

test("every path is routed, rejected or not found", () => {
  const piece = fc.oneof(
    fc.constantFrom("iam", "v2", "groups", "registry", "repos", "readme", "digests", "size", ":", "%2F", "", "**", "{uid}"),
    fc.string({ maxLength: 8 }),
  );
  fc.assert(
    fc.property(fc.constantFrom("GET", "POST", "PATCH", "DELETE", "PUT", "constructor"), fc.array(piece, { maxLength: 12 }), (verb, pieces) => {
      try {
        route(verb, `/${pieces.join("/")}`);
      } catch (thrown) {
        assert.ok(thrown instanceof Fault && thrown.code === "INVALID_ARGUMENT");
      }
    }),
    { numRuns: runs(2000) },
  );
});
