// Attacks by texts alone: a readme that runs in a browser, and texts and patterns with disproportionate cost.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { RE2JS } from "re2js";
import type { Json, JsonObject } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { violationsOf } from "../conformance/stage.ts";
import { growthMax, growthOf } from "../growth.ts";
import { openWorld, type World } from "../world.ts";

let world: World;
let repo: string;

before(async () => {
  world = await openWorld();
  repo = String((await world.ok("registry.ReposService/CreateRepo", { parent: world.organization, repo: { name: "nginx" } })).uid);
});
after(() => world?.close());

const updateReadme = "registry.ReposService/UpdateRepoReadme";
const readme = (content: string): JsonObject => ({ repoReadme: { uid: repo, content } });
const held = async (): Promise<Json | undefined> => (await world.ok("registry.ReposService/GetRepoReadme", { uid: repo })).content;

test("attack 35: a readme that would run in a browser is refused over both protocols, and the previous one stays", async () => {
  const kept = "# nginx\n\n```html\n<script>alert(1)</script>\n```\n";
  await world.ok(updateReadme, readme(kept));
  for (const content of [
    "<script>alert(1)</script>",
    "[x](&#106;avascript:alert(1))",
    "\\`<script>alert(1)</script>`",
    "<!--> <script>alert(1)</script> -->",
    "[x][y]\n\n[y]: javascript:alert(1)",
    "<img src=x onerror=alert(1)>",
    "<svg onload=alert(1)>",
    "text\n    <div>\n[x](javascript:alert(1))",
  ])
    for (const protocol of ["rest", "grpc"] as const) {
      const answer = await world.call(updateReadme, readme(content), { protocol });
      assert.equal(answer.code, 3, content);
      assert.deepEqual(
        violationsOf(answer).map(({ field, description }) => [field, description]),
        [["content", "readme contained unsafe html content"]],
        content,
      );
      assert.equal(await held(), kept);
    }
});

test("attack 36: checking a readme takes time proportional to its length, even for blanks", async () => {
  for (const part of [" ", "`", "![", "<a ", "[](", "&", "* a\n", "<!--"])
    for (const end of ["", "!"]) {
      const { growth, longestMs } = await growthOf(
        (content) => world.call(updateReadme, readme(content), { validateOnly: true }),
        (length) => (part.repeat(length).slice(0, length - end.length) + end).slice(0, length),
        262_144,
      );
      assert.ok(growth <= growthMax, `${JSON.stringify(part)} grows ${growth.toFixed(1)} times, to ${longestMs.toFixed(0)} ms`);
    }
});

test("attack 36: other requests are served while a readme is checked", async () => {
  const judged = world.call(updateReadme, readme("<b>x|\n".repeat(19_000)), { validateOnly: true }).then(() => "judged");
  const answered = world.ok("iam.GroupsService/GetGroup", { uid: world.organization }).then(() => "answered");
  assert.equal(await Promise.race([judged, answered]), "answered");
  await judged;
});

const createIdentity = "iam.IdentitiesService/CreateIdentity";
const identityWith = (claimPatterns: JsonObject): JsonObject => ({
  parent: world.organization,
  identity: { name: "ci", claimMatch: { issuer: "https://issuer.example", subject: "x", claimPatterns } },
});
const fill = (part: string): string => part.repeat(Math.floor(limits.patternLengthMax / part.length));

test("attack 37: an identity with patterns that are expensive to compile is refused before compilation, in a dry run too", async (t) => {
  const engine = t.mock.method(RE2JS, "compile");
  for (const pattern of [`(?i)${"[Ā-￿]".repeat(200)}`, fill("\\pL"), fill("a{1000}"), fill("((a{30}){30})"), `${"(".repeat(500)}a${")".repeat(500)}`]) {
    const patterns = Object.fromEntries(Array.from({ length: 64 }, (_, index) => [`claim${index}`, pattern]));
    for (const validateOnly of [true, false])
      for (const protocol of ["rest", "grpc"] as const) {
        const answer = await world.call(createIdentity, identityWith(patterns), { validateOnly, protocol });
        assert.equal(answer.code, 3);
        assert.deepEqual(
          violationsOf(answer).map(({ field }) => field),
          ['claimMatch.claimPatterns["claim0"]'],
        );
      }
  }
  assert.equal(engine.mock.callCount(), 0);
});

test("attack 37: patterns below the limit each are refused if they exceed it together", async (t) => {
  const engine = t.mock.method(RE2JS, "compile");
  const patterns = Object.fromEntries(Array.from({ length: 64 }, (_, index) => [`claim${index}`, `${index}${"a".repeat(1_000)}`]));
  const answer = await world.call(createIdentity, identityWith(patterns), { validateOnly: true });
  assert.equal(answer.code, 3);
  const [violation] = violationsOf(answer);
  assert.match(String(violation?.field), /^claimMatch\.claimPatterns/);
  assert.match(String(violation?.description), /together/);
  assert.equal(engine.mock.callCount(), 0);
  const few = Object.fromEntries(Object.entries(patterns).slice(0, 5));
  assert.equal((await world.call(createIdentity, identityWith(few), { validateOnly: true })).code, 0);
});
