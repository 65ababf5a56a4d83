// The API on the command line: gantry DOMAIN RESOURCE VERB against a running server, verb by verb, with every kind of failure.

import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { objectList, type JsonObject, text } from "#base/json.ts";
import { type Run, runGantry, type RunOptions } from "../command-line.ts";
import { freePort } from "../free-port.ts";
import { openWorld, type World } from "../world.ts";
import { gantry, gantryFile, start, stopAll } from "./processes.ts";

let world: World;
let folder: string;
let environment: Record<string, string>;
let organization: string;
let delivering: NodeJS.Timeout;
let finishing: Promise<unknown> = Promise.resolve();

before(async () => {
  world = await openWorld();
  // The server's background work, unless a test runs it itself.
  delivering = setInterval(() => {
    finishing = finishing.then(() => world.server.delivery.finish());
  }, 100);
  folder = await mkdtemp(join(tmpdir(), "gantry-operations-"));
  environment = { GANTRY_SERVER: world.url, GANTRY_TOKEN: await world.token(), XDG_CONFIG_HOME: folder };
  organization = text(await world.ok("iam.GroupsService/CreateGroup", { group: { name: "acme" } }), "uid");
});
after(async () => {
  await stopAll();
  clearInterval(delivering);
  await finishing;
  await world.close();
  await rm(folder, { recursive: true, force: true });
});

const run = (args: readonly string[], options: RunOptions = {}): Promise<Run> =>
  runGantry(args, { ...options, environment: { ...environment, ...options.environment } });

const done = async (args: readonly string[], options: RunOptions = {}): Promise<string> => {
  const { status, out, err } = await run(args, options);
  assert.equal(status, 0, `gantry ${args.join(" ")}: ${err}`);
  return out;
};

const json = async (args: readonly string[], options: RunOptions = {}): Promise<JsonObject> =>
  JSON.parse(await done([...args, "-o", "json"], options)) as JsonObject;

const makeGroup = async (name: string, parent = organization): Promise<string> =>
  text(await world.ok("iam.GroupsService/CreateGroup", { parent, group: { name } }), "uid");

test("a group is created, listed, read, updated and deleted by its path of names", async () => {
  const made = await json(["iam", "groups", "create", "--parent", "acme", "--name", "shop", "--description", "all of it"]);
  assert.deepEqual([made.name, made.description, text(made, "uid").startsWith(`${organization}/`)], ["shop", "all of it", true]);
  assert.deepEqual(await json(["iam", "groups", "get", "acme/shop"]), made);
  const { groups, totalCount } = await json(["iam", "groups", "list", "--children-of", "acme", "--name", "shop"]);
  assert.deepEqual([groups, totalCount], [[made], "1"]);
  const changed = await json(["iam", "groups", "update", "acme/shop", "--description", "half of it"]);
  assert.deepEqual([changed.name, changed.description], ["shop", "half of it"]);
  const { out, err, status } = await run(["iam", "groups", "delete", "acme/shop", "--yes"]);
  assert.deepEqual([status, out, err], [0, "", `deleted: acme/shop (${text(made, "uid")})\n`]);
  assert.equal((await run(["iam", "groups", "get", text(made, "uid")])).status, 6);
});

test("the aliases (singulars, ls, rm, describe, orgs, folders) work like the full words", async () => {
  const uid = await makeGroup("words");
  const [full, singular, folders] = await Promise.all([
    json(["iam", "groups", "list", "--children-of", "acme"]),
    json(["iam", "group", "ls", "--children-of", "acme"]),
    json(["iam", "folders", "ls", "--children-of", "acme"]),
  ]);
  assert.deepEqual([singular, folders], [full, full]);
  assert.equal((await json(["iam", "org", "describe", uid])).uid, uid);
  assert.equal((await run(["iam", "group", "rm", uid, "--yes"])).status, 0);
});

test("an update changes only the fields of its flags; an empty value clears, and a no- flag sets false", async () => {
  const uid = text(await json(["registry", "repos", "create", "--parent", "acme", "--name", "fields", "--description", "kept", "--anonymous-pull"]), "uid");
  assert.equal((await json(["registry", "repos", "get", uid])).anonymousPull, true);
  const renamed = await json(["registry", "repos", "update", uid, "--name", "fields-2"]);
  assert.deepEqual([renamed.name, renamed.description, renamed.anonymousPull], ["fields-2", "kept", true]);
  const emptied = await json(["registry", "repos", "update", uid, "--description", "", "--no-anonymous-pull"]);
  assert.deepEqual([emptied.name, emptied.description, emptied.anonymousPull ?? false], ["fields-2", undefined, false]);
  const nothing = await run(["registry", "repos", "update", uid]);
  assert.deepEqual([nothing.status, nothing.out], [64, ""]);
  assert.match(nothing.err, /no changes given/);
});

test("entries are added to and removed from a list, and the other entries remain", async () => {
  const uid = text(await json(["iam", "roles", "create", "--parent", "acme", "--name", "adding", "--capabilities", "repo.list,groups.list"]), "uid");
  await done(["iam", "roles", "update", uid, "--add-capabilities", "tag.list", "--remove-capabilities", "groups.list"]);
  assert.deepEqual([...((await json(["iam", "roles", "get", "acme/adding"])).capabilities as string[])].sort(), ["CAP_REPO_LIST", "CAP_TAG_LIST"]);
});

test("--dry-run shows the changes without making them", async () => {
  const uid = await makeGroup("rehearsed");
  const shown = await run(["iam", "groups", "update", uid, "--name", "renamed", "--description", "new", "--dry-run"]);
  assert.deepEqual([shown.status, shown.err], [0, "dry run: nothing was changed\n"]);
  assert.equal(shown.out, '- name: "rehearsed"\n+ name: "renamed"\n+ description: "new"\n');
  assert.equal((await json(["iam", "groups", "create", "--parent", uid, "--name", "never", "--dry-run"])).name, "never");
  assert.deepEqual((await json(["iam", "groups", "list", "--children-of", uid])).groups, []);
  assert.equal((await run(["iam", "groups", "delete", uid, "--dry-run"])).status, 0);
  assert.equal((await json(["iam", "groups", "get", uid])).name, "rehearsed");
});

test("create and update accept the YAML or JSON of get, from a file or standard input, and flags override it", async () => {
  await done(["iam", "roles", "create", "--parent", "acme", "--name", "written", "--description", "a role", "--capabilities", "repo.list"]);
  for (const format of ["yaml", "json"] as const) {
    const content = await done(["iam", "roles", "get", "acme/written", "-o", format]);
    const file = join(folder, `role.${format}`);
    await writeFile(file, content);
    const copied = await json(["iam", "roles", "create", "--parent", "acme", "-f", file, "--name", `copied-${format}`]);
    assert.deepEqual([copied.name, copied.description, copied.capabilities], [`copied-${format}`, "a role", ["CAP_REPO_LIST"]]);
    const piped = await json(["iam", "roles", "update", "-f", "-"], { input: content.replace("a role", "another") });
    assert.deepEqual([piped.name, piped.description], ["written", "another"]);
    await done(["iam", "roles", "update", "acme/written", "--description", "a role"]);
  }
});

test("a file with an unknown field, without an object or in an unknown format is refused, and nothing is sent", async () => {
  const cases: readonly (readonly [content: string, says: RegExp])[] = [
    ["name: x\ncapabilites: []\n", /unknown field capabilites \(did you mean capabilities\?\)/],
    ["- name: x\n", /must contain one object/],
    ["{", /is not valid JSON or YAML/],
    ["name: x\nname: y\n", /is not valid JSON or YAML/],
    ["a: &a [1]\nb: *a\n", /is not valid JSON or YAML|unknown field/],
  ];
  for (const [input, says] of cases) {
    const { status, out, err } = await run(["iam", "roles", "create", "--parent", "acme", "-f", "-"], { input });
    assert.deepEqual([status, out], [8, ""], input);
    assert.match(err, says);
  }
  const absent = await run(["iam", "roles", "create", "--parent", "acme", "-f", join(folder, "absent.yaml")]);
  assert.equal(absent.out, "");
  assert.match(absent.err, /absent\.yaml cannot be read/);
});

test("a secret is read from a file or standard input, without its final line break", async () => {
  const file = join(folder, "secret");
  await writeFile(file, "s3cret\n");
  const shared = ["--name", "sso", "--oidc-issuer", "https://issuer.example.com", "--oidc-client-id", "id", "--default-role", "viewer"];
  const make = ["iam", "identity-providers", "create", "--parent", "acme", ...shared, "--oidc-client-secret"];
  const [tried, piped] = [await run([...make, `@${file}`, "--dry-run"]), await run([...make, "-", "--dry-run"], { input: "s3cret\n" })];
  // An unresponsive issuer is refused only after the secret has been sent.
  for (const { status, out, err } of [tried, piped]) assert.ok(!out.includes("s3cret") && !err.includes("s3cret"), `${status} ${err}`);
  const missing = await run([...make, "@/no/such/file", "--dry-run"]);
  assert.match(missing.err, /--oidc-client-secret: \/no\/such\/file cannot be read/);
});

test("a list is read to its last page; --limit stops and prints the total to standard error", async () => {
  const parent = await makeGroup("many");
  await Promise.all(Array.from({ length: 205 }, (_, index) => makeGroup(`member-${index}`, parent)));
  const all = await done(["iam", "groups", "list", "--children-of", parent, "-o", "uid"]);
  assert.equal(new Set(all.trim().split("\n")).size, 205);
  const some = await run(["iam", "groups", "list", "--children-of", parent, "-o", "uid", "--limit", "201"]);
  assert.deepEqual([some.status, some.err, some.out.trim().split("\n").length], [0, "201 of 205\n", 201]);
  const whole = await run(["iam", "groups", "list", "--children-of", parent, "-o", "json", "--limit", "205"]);
  const document = JSON.parse(whole.out) as JsonObject;
  assert.deepEqual([whole.err, objectList(document, "groups").length, document.totalCount, document.nextPageToken], ["", 205, "205", undefined]);
  for (const format of ["csv", "jsonl"]) {
    const lines = (await done(["iam", "groups", "list", "--children-of", parent, "-o", format])).trim().split(/\r?\n/);
    assert.deepEqual([lines.length, new Set(lines).size], format === "csv" ? [206, 206] : [205, 205], format);
  }
  for (const wrong of ["0", "-1", "many"]) assert.equal((await run(["iam", "groups", "list", "--limit", wrong])).status, 64);
});

test("an ambiguous name is refused with its UIDs, an unknown one is not found, and a UID or path is unambiguous", async () => {
  const [one, other] = [await makeGroup("left"), await makeGroup("right")];
  const twins = [await makeGroup("twin", one), await makeGroup("twin", other)];
  const { status, err, out } = await run(["iam", "groups", "get", "twin"]);
  assert.deepEqual([status, out], [8, ""]);
  for (const uid of twins) assert.ok(err.includes(uid), err);
  assert.equal((await json(["iam", "groups", "get", "acme/left/twin"])).uid, twins[0]);
  assert.equal((await json(["iam", "groups", "get", twins[1] ?? ""])).uid, twins[1]);
  assert.equal((await json(["iam", "groups", "get", `uid:${twins[1]}`])).uid, twins[1]);
  const absent = await run(["iam", "groups", "get", "acme/centre"]);
  assert.deepEqual([absent.status, absent.out], [6, ""]);
  assert.match(absent.err, /group "acme\/centre" not found/);
  const asFlag = await run(["registry", "repos", "list", "--children-of", "twin", "-o", "json"]);
  assert.equal(asFlag.status, 8);
  assert.match(asFlag.err, /^\{"error":\{"code":3,.*--children-of: group \\"twin\\" is ambiguous: 2 have this name/);
});

test("identities, roles and repos are named the same way in flags and arguments", async () => {
  const uid = text(
    await json([
      ...["iam", "identities", "create", "--parent", "acme", "--name", "ci"],
      ...["--claim-match-issuer", "https://token.example.com", "--claim-match-subject", "job"],
    ]),
    "uid",
  );
  const binding = await json(["iam", "role-bindings", "create", "--parent", "acme", "--identity-uid", "acme/ci", "--role-uid", "viewer"]);
  assert.equal(binding.identityUid, uid);
  const { roleBindings } = await json(["iam", "role-bindings", "list", "--identity", "ci", "--role", "viewer"]);
  assert.deepEqual(roleBindings, [binding]);
  await done(["registry", "repos", "create", "--parent", "acme", "--name", "named"]);
  const tag = await json(["registry", "tags", "create", "--parent", "acme/named", "--name", "v1", "--digest", `sha256:${"a".repeat(64)}`]);
  assert.deepEqual(await json(["registry", "tags", "get", "acme/named/v1"]), tag);
});

test("a deletion prompts at a terminal and accepts a group by its bare name; without a terminal it is refused", async () => {
  const uid = await makeGroup("asked");
  const unasked = await run(["iam", "groups", "delete", uid]);
  assert.deepEqual([unasked.status, unasked.out], [3, ""]);
  assert.match(unasked.err, /confirmation required\. Re-run with --yes/);
  const silent = await run(["iam", "groups", "delete", uid, "--no-input"], { columns: 80, input: "asked\n" });
  assert.equal(silent.status, 3);
  const wrong = await run(["iam", "groups", "delete", uid], { columns: 80, input: "y\n" });
  assert.deepEqual([wrong.status, wrong.out], [3, ""]);
  assert.ok(wrong.err.includes(`Delete the group asked (${uid}) at ${world.url}`), wrong.err);
  const closed = await run(["iam", "groups", "delete", uid], { columns: 80 });
  assert.equal(closed.status, 3);
  assert.equal((await json(["iam", "groups", "get", uid])).name, "asked");
  assert.equal((await run(["iam", "groups", "delete", uid], { columns: 80, input: "asked\n" })).status, 0);
  const role = text(await json(["iam", "roles", "create", "--parent", "acme", "--name", "asked", "--capabilities", "repo.list"]), "uid");
  assert.equal((await run(["iam", "roles", "delete", role], { columns: 80, input: "n\n" })).status, 3);
  assert.equal((await run(["iam", "roles", "delete", role], { columns: 80, input: "y\n" })).status, 0);
});

test("of several deletions each is tried: partial success exits with 2, and --allow-missing ignores unknown resources", async () => {
  const [one, other] = [await makeGroup("first-of-two"), await makeGroup("second-of-two")];
  const gone = `${organization}/0000000000000000`;
  const partly = await run(["iam", "groups", "delete", one, gone, other, "--yes"]);
  assert.equal(partly.status, 2);
  for (const uid of [one, other]) assert.equal((await run(["iam", "groups", "get", uid])).status, 6);
  const allowed = await run(["iam", "groups", "delete", gone, "--yes", "--allow-missing"]);
  assert.deepEqual([allowed.status, allowed.err], [0, `not found: ${gone}\n`]);
});

test("each kind of failure has its own exit code and a sentence on standard error, with no standard output", async () => {
  const stranger = text(
    await world.ok("iam.IdentitiesService/CreateIdentity", {
      parent: await makeGroup("far"),
      identity: { name: "stranger", claimMatch: { issuer: "https://token.example.com", subject: "far" } },
    }),
    "uid",
  );
  await done(["registry", "repos", "create", "--parent", "acme", "--name", "once"]);
  const repo = text(await json(["registry", "repos", "get", "acme/once"]), "uid");
  const closedPort = await freePort();
  const cases: readonly (readonly [status: number, args: readonly string[], says: RegExp, environment?: Record<string, string>])[] = [
    [4, ["iam", "groups", "list"], /malformed.*\n.*sent to \S+ \(.*\) with the token in GANTRY_TOKEN/, { GANTRY_TOKEN: "x" }],
    [4, ["iam", "groups", "list"], /authentication required at \S+\. Run gantry login/, { GANTRY_TOKEN: "", XDG_CACHE_HOME: folder }],
    [5, ["iam", "groups", "get", organization], /sent to \S+ \(.*\) with the token in GANTRY_TOKEN/, { GANTRY_TOKEN: await world.token(stranger) }],
    [6, ["iam", "groups", "get", `${organization}/0000000000000000`], /not found/],
    [7, ["registry", "repos", "create", "--parent", "acme", "--name", "once"], /already exists/],
    [8, ["iam", "groups", "create"], /^gantry: --name is required\n {2}Usage: gantry iam groups create --name TEXT \[OPTIONS\]\n/],
    [8, ["iam", "role-bindings", "create", "--parent", "acme"], /^gantry: --identity-uid and --role-uid are required\n/],
    [8, ["registry", "tags", "create", "--parent", "acme/once", "--digest", "x"], /--digest: digest must match .*\n {2}--name is required\n {2}Usage: /],
    [8, ["iam", "groups", "create", "--name", "NO!"], /the server rejected these values\n {2}--name: /],
    [
      9,
      ["iam", "groups", "list", "--timeout", "1s"],
      /cannot be reached|has not answered|did not respond/,
      { GANTRY_SERVER: `http://127.0.0.1:${closedPort}` },
    ],
    [10, ["registry", "repos", "get-update-status", repo], /not implemented/],
    [64, ["iam", "groups", "list", "--in-rot"], /unknown option '--in-rot' \(did you mean --in-root\?\)/],
    [64, ["iam", "groups", "list", "-o", "tabel"], /--output must be one of .*did you mean table\?/],
    [64, ["iam", "groups", "list", "--columns", "nam"], /--columns: unknown field nam\. Known fields: uid, name|--columns requires/],
    [64, ["iam", "groups", "get"], /iam groups get takes GROUP/],
    [64, ["iam", "groups", "get", "a", "b"], /iam groups get takes GROUP/],
    [64, ["iam", "groups", "create", "--kind", "custmer"], /--kind must be one of .*did you mean customer\?/],
    [
      64,
      ["registry", "repos", "create", "--name", "x"],
      /^gantry: --parent is required\n {2}Usage: gantry registry repos create --parent GROUP --name TEXT \[OPTIONS\]\n$/,
    ],
    [64, ["registry", "tags", "list", "--updated-since", "yesterday"], /--updated-since must be a time/],
    [64, ["iam", "groups", "list", "--skip", "few"], /--skip must be a number/],
  ];
  for (const [status, args, says, besides] of cases) {
    const ended = await run(args, { environment: besides ?? {} });
    assert.deepEqual([ended.status, ended.out], [status, ""], `gantry ${args.join(" ")}: ${ended.err}`);
    assert.match(ended.err, says);
    if (args.includes("-o") || status === 9) continue;
    const asJson = await run([...args, "-o", "json"], { environment: besides ?? {} });
    if (asJson.status === 64 && !asJson.err.startsWith("{")) continue;
    assert.deepEqual([asJson.status, asJson.out, asJson.err.split("\n").length], [status, "", 2]);
    const { error } = JSON.parse(asJson.err) as { error: JsonObject };
    assert.equal(error.exitStatus, status);
  }
});

test("a typo gets a suggestion anywhere in the command tree", async () => {
  const cases: readonly (readonly [args: readonly string[], says: RegExp])[] = [
    [["groups", "list"], /unknown command "groups" \(did you mean iam groups\?\)/],
    [["iam", "grups", "list"], /unknown command "iam grups" \(did you mean groups\?\)/],
    [["iam", "groups", "lits"], /unknown command "iam groups lits" \(did you mean list\?\)|did you mean one of/],
    [["iam", "repos"], /unknown command "iam repos" \(did you mean .*repos\?\)/],
    [["iam", "groups"], /subcommand required: .*create, delete, get, list/],
    [["iam"], /subcommand required: .*groups.*gantry iam --help/],
    [["regsitry", "repos", "list"], /unknown command "regsitry" \(did you mean registry\?\)/],
  ];
  for (const [args, says] of cases) {
    const { status, out, err } = await run(args);
    assert.deepEqual([status, out], [64, ""], args.join(" "));
    assert.match(err, says);
  }
});

test("output is colored at a terminal only, unless configured otherwise", async () => {
  const list = ["iam", "groups", "list", "--in-root"];
  const colored = async (options: RunOptions, ...args: string[]): Promise<boolean> => (await done([...list, ...args], options)).includes("\u001b[");
  assert.equal(await colored({}), false);
  assert.equal(await colored({ columns: 200 }), true);
  assert.equal(await colored({ columns: 200, environment: { NO_COLOR: "1" } }), false);
  assert.equal(await colored({ columns: 200, environment: { TERM: "dumb" } }), false);
  assert.equal(await colored({ columns: 200 }, "--no-color"), false);
  assert.equal(await colored({ environment: { CLICOLOR_FORCE: "1" } }), true);
  assert.equal(await colored({}, "--color", "always"), true);
  assert.equal((await run([...list, "--color", "sometimes"])).status, 64);
});

test("a wide table is cut to its terminal, except UIDs, and is not cut in a pipe", async () => {
  await done(["iam", "groups", "create", "--parent", "acme", "--name", "a".repeat(120)]);
  const wide = ["iam", "groups", "list", "--children-of", "acme", "--columns", "name,uid"];
  assert.match(await done(wide, { columns: 80, environment: { NO_COLOR: "1" } }), /^a{4,}… +[0-9a-f]{40}\/[0-9a-f]{16}$/m);
  assert.match(await done(wide), /^a{120} /m);
});

test("a public operation needs no sign-in", async () => {
  assert.match(await done(["ping"], { environment: { GANTRY_TOKEN: "", XDG_CACHE_HOME: folder } }), /pong/);
});

test("--watch prints the current entries, then each change in the list's format, until Ctrl-C", async () => {
  const parent = await makeGroup("watched");
  const before = await makeGroup("before", parent);
  const program = start(gantryFile, ["iam", "groups", "list", "--descendants-of", parent, "--watch", "-o", "jsonl"], { env: environment });
  await program.says(new RegExp(before));
  const later = await makeGroup("later", parent);
  const [line = ""] = await program.says(new RegExp(`^.*${later}.*$`, "m"));
  assert.deepEqual(JSON.parse(line), await json(["iam", "groups", "get", later]));
  await makeGroup("elsewhere");
  await done(["iam", "groups", "delete", later, "--yes"]);
  await program.says(new RegExp(`^\\{"uid":"${later}","deleted":true\\}$`, "m"));
  program.signal("SIGINT");
  const { code, stderr, stdout } = await program.ended;
  assert.deepEqual([code, stderr, stdout.includes("elsewhere")], [130, "", false]);
});

test("a closed output pipe ends the command silently", async () => {
  const program = start(gantryFile, ["iam", "roles", "list", "-o", "jsonl"], { env: environment });
  program.child.stdout?.destroy();
  const { code, signal, stderr } = await program.ended;
  assert.deepEqual([code, signal, stderr], [0, null, ""]);
});

test("a separate process has the same output and exit codes as an in-process call", async () => {
  const [listed, absent, usage] = await Promise.all([
    gantry(["iam", "groups", "list", "--in-root", "-o", "json"], { env: environment }),
    gantry(["iam", "groups", "get", "acme/nowhere"], { env: environment }),
    gantry(["iam", "groups", "lsit"], { env: environment }),
  ]);
  assert.deepEqual([listed.code, listed.stderr, listed.stdout], [0, "", await done(["iam", "groups", "list", "--in-root", "-o", "json"])]);
  assert.deepEqual([absent.code, usage.code], [6, 64]);
  const asJson = await gantry(["iam", "groups", "list", "--in-rot", "-o", "json"], { env: environment });
  assert.deepEqual([asJson.code, asJson.stdout, asJson.stderr.split("\n").length], [64, "", 2]);
  assert.equal(((JSON.parse(asJson.stderr) as JsonObject).error as JsonObject).reason, "USAGE");
});
