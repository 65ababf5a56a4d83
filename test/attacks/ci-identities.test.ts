// Attack 150: jobs that resemble the one an identity trusts. Each identity is created with the commands of its CI guide. It is tried with the
// guide's token, the tokens that the guide says are refused, and small changes of each matched claim. Errors must match the guide's text.

import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { after, before, test } from "node:test";
import { isObject, type JsonObject, objectList, part, text } from "#base/json.ts";
import { blocksOf, jobPages, jobSectionsOf, readGuide, sectionsOf, shownPattern } from "../guides/page.ts";
import { missingPrograms, runLines } from "../guides/shell.ts";
import { makeReaderHome } from "../guides/walk.ts";
import { type Issuer, startIssuer } from "../story/processes.ts";
import { openWorld, type World } from "../world.ts";

const missing = missingPrograms(["bash", "curl", "jq"]);
const skip = missing.length === 0 ? false : `NOT TESTED: ${missing.join(", ")} not installed`;

const address = "https://gantry.example.com";

let world: World;
let issuer: Issuer;
let stranger: Issuer;
let folder: string;
let home: string;

before(async () => {
  [world, issuer, stranger, folder] = await Promise.all([
    openWorld({ GANTRY_PUBLIC_URL: address }),
    startIssuer(),
    startIssuer(),
    mkdtemp(join(tmpdir(), "gantry-ci-")),
  ]);
  home = await makeReaderHome();
  await writeFile(join(folder, "kubectl"), `#!/bin/sh\n[ "$*" = "get --raw /openid/v1/jwks" ] && exec curl -sS ${issuer.url}/keys\nexit 1\n`, { mode: 0o755 });
});
after(async () => {
  await Promise.all([world?.close(), issuer?.close(), stranger?.close()]);
  await Promise.all([folder, home].map((each) => rm(each, { recursive: true, force: true })));
});

/** Returns the setup commands of the index page with this test's values. */
const readPreparation = async (): Promise<string> => {
  const section = sectionsOf(await readGuide("ci-identities.md")).find(({ title }) => title === "Set up your shell");
  const [block] = blocksOf(section?.content ?? "");
  const lines = (block?.content ?? "").split("\n");
  assert.deepEqual(
    lines.map((line) => line.split(/[=(]/)[0]),
    ["BASE", "TOKEN", "export GANTRY_SERVER", "api", "GROUP", ""],
  );
  return [`BASE=${world.url}`, `TOKEN=${await world.token()}`, lines[2], lines[3], `GROUP=${world.organization}`, ""].join("\n");
};

/** Swaps the documented issuer address and the test issuer's address. */
const localize = (documented: string, words: string): string => words.replaceAll(`"${documented}"`, `"${issuer.url}"`);
const documentedWords = (documented: string, words: string): string => words.replaceAll(issuer.url, documented);

const makeIdentity = async (documented: string, create: string): Promise<string> => {
  const lines = `${await readPreparation()}${localize(documented, create)}\nprintf '\\n=====%s' "$IDENTITY"\n`;
  const path = [folder, join(home, "bin"), process.env.PATH ?? ""].join(delimiter);
  const done = await runLines(lines, { PATH: path, HOME: home }, folder);
  const [said = "", uid = ""] = done.stdout.split("=====");
  assert.match(uid, /^[0-9a-f]{40}\/[0-9a-f]{16}$/, `${done.stderr}\n${done.stdout}`);
  assert.doesNotMatch(said, /"code":/, "a line of the page was refused");
  return uid;
};

interface Answer {
  readonly ok: boolean;
  readonly says: string;
}

const present = async (identity: string, token: string): Promise<Answer> => {
  const { code, message } = await world.call("chainguard.platform.oidc.SecurityTokenService/Exchange", { identity }, { token });
  return { ok: code === 0, says: message };
};

const upperFirstLetter = (word: string): string =>
  word.replace(/[a-z]/i, (letter) => (letter === letter.toUpperCase() ? letter.toLowerCase() : letter.toUpperCase()));

/** Returns near misses of a matched text that an attacker could try. */
const nearMisses = (value: string): readonly (string | null)[] =>
  [upperFirstLetter(value), value.toUpperCase(), `${value}2`, `x${value}`, value.slice(0, -1), `${value} `, `${value}/`, `.*`, `${value}|x`, null].filter(
    (other) => other !== value,
  );

for (const page of jobPages)
  test(`attack 150: identities from page ${page} accept the documented job and refuse every other with the documented error`, {
    skip,
  }, async () => {
    const sections = jobSectionsOf(await readGuide(`ci-identities/${page}.md`));
    assert.ok(sections.length > 0);
    for (const section of sections) {
      const documented = text(section.token, "iss");
      const identity = await makeIdentity(documented, section.create);
      const claims = { ...section.token, iss: issuer.url };
      const tell = (what: string): string => `${page}, ${section.title}: ${what}`;

      const right = await present(identity, await issuer.token(claims));
      assert.ok(right.ok, tell(right.says));

      assert.ok(section.refusals.length >= 4, tell("too few refusals are explained"));
      for (const { claims: other, answer } of section.refusals) {
        const got = await present(identity, await issuer.token({ ...claims, ...other }));
        assert.ok(!got.ok, tell(`${JSON.stringify(other)} is taken`));
        assert.match(documentedWords(documented, got.says), shownPattern(answer), tell(JSON.stringify(other)));
      }

      const row = await world.ok("iam.IdentitiesService/GetIdentity", { uid: identity });
      const match = isObject(row.claimMatch) ? row.claimMatch : part(row, "staticKeys");
      const matched: [string, string][] = [
        ["sub", text(match, "subject")],
        ...Object.entries(part(match, "claims")).map(([name, value]): [string, string] => [name, String(value)]),
      ];
      for (const [name, value] of matched) {
        assert.equal(String(claims[name as keyof typeof claims]), value, tell(`${name} is matched and not in the token that the page shows`));
        for (const near of nearMisses(value)) {
          const got = await present(identity, await issuer.token({ ...claims, [name]: near }));
          assert.ok(!got.ok, tell(`${name} ${JSON.stringify(near)} is taken`));
        }
      }
      for (const aud of ["https://gantry.example.com.mallory.example", "GANTRY.EXAMPLE.COM", "sts.amazonaws.com", [], null])
        assert.ok(!(await present(identity, await issuer.token({ ...claims, aud }))).ok, tell(`the audience ${JSON.stringify(aud)} is taken`));

      // Another issuer with the same claims, in its own name and in the trusted issuer's.
      const elsewhere = await present(identity, await stranger.token({ ...claims, iss: stranger.url }));
      assert.match(elsewhere.says, /invalid "iss": no identity of this uid takes tokens of the issuer/, tell("another issuer"));
      const forged = await present(identity, await stranger.token(claims));
      assert.match(forged.says, /^the token's signature is wrong$/, tell("another issuer's key"));
    }
  });

/** Also accepted by the command's match: the other subject format of the same repository. */
const otherForm = ['{"sub":"repo:acme/shop:ref:refs/heads/main"}'];

test("attack 150: identities from the guides' commands accept the same jobs and refuse the same others", { skip }, async () => {
  let count = 0;
  for (const page of jobPages)
    for (const section of jobSectionsOf(await readGuide(`ci-identities/${page}.md`))) {
      if (section.command === undefined) continue;
      count++;
      const documented = text(section.token, "iss");
      const identity = await makeIdentity(documented, section.command.replace(" -o uid", ` --claim-match-issuer ${issuer.url} -o uid`));
      const claims = { ...section.token, iss: issuer.url };
      const tell = (what: string): string => `${page}, ${section.title}: ${what}`;
      const right = await present(identity, await issuer.token(claims));
      assert.ok(right.ok, tell(right.says));
      for (const { claims: other } of section.refusals) {
        const got = await present(identity, await issuer.token({ ...claims, ...other }));
        assert.equal(got.ok, otherForm.includes(JSON.stringify(other)), tell(JSON.stringify(other)));
      }
      const bindings = objectList(await world.ok("iam.RoleBindingsService/ListRoleBindings", { pageSize: 200 }), "roleBindings");
      assert.ok(
        bindings.some((binding) => text(binding, "identityUid") === identity),
        tell("the command has not bound it"),
      );
    }
  assert.equal(count, 7);
});

test("attack 150: an identity for one repository of a shared service accepts no job of another page", { skip }, async () => {
  const made: { readonly identity: string; readonly claims: JsonObject; readonly title: string }[] = [];
  for (const page of jobPages)
    for (const section of jobSectionsOf(await readGuide(`ci-identities/${page}.md`)))
      made.push({
        identity: await makeIdentity(text(section.token, "iss"), section.create),
        claims: { ...section.token, iss: issuer.url },
        title: `${page}, ${section.title}`,
      });
  const taken: string[] = [];
  for (const { identity, title } of made)
    for (const other of made) if ((await present(identity, await issuer.token(other.claims))).ok) taken.push(`${title} < ${other.title}`);
  // In GitLab the environment does not replace the branch, so the branch's identity accepts its job too, as the page says.
  const expected = made.map(({ title }) => `${title} < ${title}`);
  assert.deepEqual(taken.toSorted(), [...expected, ...alike].toSorted());
});

/** Tokens that are identical in the claims that the other section matches. */
const alike = [
  "gitlab-ci, Match a branch < gitlab-ci, Match an environment",
  "kubernetes, Match a cluster with a reachable issuer < kubernetes, Match a cluster with an unreachable issuer",
  "kubernetes, Match a cluster with an unreachable issuer < kubernetes, Match a cluster with a reachable issuer",
];
