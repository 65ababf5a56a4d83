// Every operation of the contract is a command: it has one name, its help builds, its flags set the fields they name, and its lists print the
// API's responses. New operations are covered automatically.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { JsonObject } from "#base/json.ts";
import { methods, version1 } from "#contract/catalog.ts";
import { listCommandNames } from "#contract/command-names.ts";
import type { MethodFact } from "#contract/facts.ts";
import { commands } from "#contract/gen/commands.ts";
import { domainNames, domainSummaries } from "../../cli/operations/branch.ts";
import { narrow } from "../../cli/narrow.ts";
import { ownFlags, shapeOf } from "../../cli/operations/shape.ts";
import { runGantry } from "../command-line.ts";
import { nonEmpty } from "../samples.ts";
import { openOwners } from "../owner.ts";
import { openWorld, type World } from "../world.ts";

const names = nonEmpty(listCommandNames(), "command");

const wordsOf = ({ domain, resource, verb }: { readonly domain: string; readonly resource: string; readonly verb: string }): string[] =>
  [domain, resource, verb].filter((word) => word !== "");

let world: World;
let environment: Record<string, string>;

before(async () => {
  const owners = openOwners(await openWorld());
  world = owners.world();
  environment = { GANTRY_SERVER: world.url, GANTRY_TOKEN: await owners.token(), XDG_CONFIG_HOME: "/nowhere" };
});
after(() => world.close());

test("every operation is one command, except alternative forms and those for registry clients and identity providers", () => {
  const commanded = new Set(names.map(({ method }) => method.name));
  const without = [...methods, ...version1].filter((method) => !commanded.has(method.name));
  for (const { name, view, distribution, scim } of without)
    assert.ok(view !== undefined || distribution !== undefined || scim !== undefined, `${name} is no command`);
  const words = names.map((name) => wordsOf(name).join(" "));
  assert.equal(new Set(words).size, words.length, "two operations have one name");
  assert.deepEqual(
    commands.map(([domain, resource, verb, operation]) => [domain, resource, verb, operation]),
    names.map(({ domain, resource, verb, method }) => [domain, resource, verb, method.name]),
  );
  for (const name of words) assert.match(name, /^[a-z0-9]+(?: [a-z0-9-]+){0,2}$/);
});

test("the list of all commands has every domain and nothing else", () => {
  assert.deepEqual([...domainNames].sort(), Object.keys(domainSummaries).sort());
});

test("no field's flag hides a global flag or another field's", () => {
  for (const { method } of names) {
    const { flags, positionals } = shapeOf(method);
    const all = flags.map(({ name }) => name);
    assert.equal(new Set(all).size, all.length, method.name);
    for (const name of all) {
      assert.ok(!ownFlags.has(name), `${method.name}: --${name} is the command line's own`);
      assert.match(name, /^[a-z][a-z0-9-]*$/, method.name);
    }
    const paths = [...flags, ...positionals].map(({ path }) => path.join("."));
    assert.equal(new Set(paths).size, paths.length, method.name);
  }
});

/** Returns the paths of all fields that a caller can set, to the leaves, as for flags. */
const settablePaths = (method: MethodFact): string[] => {
  const { flags, positionals } = shapeOf(method);
  return [...flags, ...positionals].map(({ path }) => path[0] ?? "");
};

test("every field of a request can be set by a flag, an argument, or the command itself", () => {
  for (const { method } of names) {
    const settable = new Set(settablePaths(method));
    for (const field of method.input.fields) {
      const byCommand = field.kind === "mask" || ["page_size", "page_token"].includes(field.name);
      assert.ok(byCommand || settable.has(field.json), `${method.name} has no flag for ${field.name}`);
    }
  }
});

test("the help of every command shows its usage, every option, exit statuses and an example that starts with it", async () => {
  for (const name of names) {
    const words = wordsOf(name);
    const { status, out, err } = await runGantry([...words, "--help"]);
    assert.deepEqual([status, err], [0, ""], words.join(" "));
    assert.ok(out.startsWith(`gantry ${words.join(" ")}`), out.slice(0, 200));
    for (const flag of shapeOf(name.method).flags)
      assert.match(out, new RegExp(`^ {4}--${flag.name}(?: \\S+)? {2,}\\S`, "m"), `${words.join(" ")} --${flag.name}`);
    assert.match(out, /Exit status: 0 success/);
    assert.match(out, new RegExp(`^ {4}gantry ${words.join(" ")}`, "m"));
    const longest = Math.max(...out.split("\n").map((line) => line.length));
    assert.ok(longest <= 160, `${words.join(" ")}: a line of ${longest} columns`);
    const [explained = ""] = narrow(out, 80).split(/^ *Examples?:/m);
    for (const line of explained.split("\n")) assert.ok(line.length <= 80 || !line.trim().includes(" "), `in a terminal of 80 columns: ${line}`);
  }
});

test("only non-secret values appear on the command line, and an example has what the resource requires", async () => {
  const helpOf = async (...words: string[]): Promise<string> => (await runGantry([...words, "--help"])).out;
  const invites = await helpOf("iam", "group-invites", "create");
  assert.match(invites, /^ {4}--email /m);
  assert.doesNotMatch(invites, /off the command line/);
  const secrets = [await helpOf("iam", "identity-providers", "create"), await helpOf("auth", "register")];
  for (const help of secrets) assert.equal(help.match(/off\s+the\s+command\s+line/g)?.length, 1, help);
  assert.match(await helpOf("iam", "role-bindings", "create"), /--parent acme[ \\\n]+--identity-uid acme\/identity[ \\\n]+--role-uid acme\/role/);
});

test("the example of a resource or domain is a runnable command: a list, or the help of a verb", async () => {
  const examples: string[] = [];
  for (const words of [
    ...domainNames.map((domain) => [domain]),
    ...names.filter(({ resource }) => resource !== "").map(({ domain, resource }) => [domain, resource]),
  ]) {
    const { out } = await runGantry([...words, "--help"]);
    const [, example = ""] = /^ {2}Example: {2}(gantry .*)$/m.exec(out) ?? [];
    if (example !== "") examples.push(example);
  }
  assert.ok(examples.length > 20);
  for (const example of examples) assert.match(example, / (?:list|--help)$/, example);
});

test("every list's JSON output equals the API's responses, with all pages in one document", async () => {
  let compared = 0;
  for (const name of names) {
    const { method } = name;
    const shape = shapeOf(method);
    if (shape.kind !== "list" || shape.positionals.length > 0 || method.input.fields.some(({ required }) => required)) continue;
    const words = wordsOf(name);
    const { status, out, err } = await runGantry([...words, "-o", "json"], { environment });
    const answer = await world.call(method.name, { ...(method.input.byName.has("page_size") ? { pageSize: 200 } : {}) });
    if (answer.code !== 0) {
      assert.notEqual(status, 0, words.join(" "));
      assert.match(err, /^\{"error":\{/, words.join(" "));
      assert.equal(out, "");
      continue;
    }
    assert.equal(status, 0, `${words.join(" ")}: ${err}`);
    const { nextPageToken: _, ...expected } = answer.reply;
    if (answer.reply.nextPageToken === undefined)
      assert.deepEqual(JSON.parse(out) as JsonObject, { [shape.listed?.json ?? ""]: [], ...expected }, words.join(" "));
    compared++;
  }
  assert.ok(compared > 20, `only ${compared} lists were compared`);
});
