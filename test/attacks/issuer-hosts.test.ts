// Attack 39: an issuer pattern that matches strangers' hosts, so that a forged token makes the server contact them.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { codes } from "#base/fault.ts";
import type { JsonObject } from "#base/json.ts";
import pg from "pg";
import { freshDatabase } from "../database.ts";
import { openWorld, type World } from "../world.ts";

const protocols = ["rest", "grpc"] as const;

let database: Awaited<ReturnType<typeof freshDatabase>>;
let world: World;
const logged: { event: string; facts: Readonly<Record<string, unknown>> | undefined }[] = [];
/** From before the rule. */
const old = `${"a".repeat(40)}/00000000000000aa`;
const bounded = `${"a".repeat(40)}/00000000000000bb`;

before(async () => {
  database = await freshDatabase({ planted: true });
  // A row of an earlier version.
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  await client.query(
    `insert into identities (uid, name, claim_match, create_time, update_time)
     select uid, 'ci', jsonb_build_object('issuerPattern', pattern, 'subject', 'job'), now(), now()
     from (values ($1, 'https://.*'), ($2, 'https://ci\\.example\\.com/.*')) as planted(uid, pattern)`,
    [old, bounded],
  );
  await client.end();
  world = await openWorld({ DATABASE_URL: database.url, GANTRY_ISSUER_HOSTS: "*.github.io" }, (event, facts) => void logged.push({ event, facts }));
});
after(async () => {
  await world?.close();
  await database?.drop();
});

const identity = (issuerPattern: string): JsonObject => ({
  parent: world.organization,
  identity: { name: "ci", claimMatch: { issuerPattern, subject: "job" } },
});

test("startup reports the identities with a pattern that is now invalid, and no others", () => {
  const told = logged.filter(({ event }) => event === "authn.issuer_patterns.unfit");
  assert.deepEqual(
    told.map(({ facts }) => facts?.identities),
    [[old]],
  );
});

for (const protocol of protocols) {
  test(`over ${protocol} a pattern without a literal host is INVALID_ARGUMENT on create and update`, async () => {
    const { uid } = await world.ok("iam.IdentitiesService/CreateIdentity", identity("https://ci\\.example\\.com/.*"), { protocol });
    for (const pattern of [".*", "https://.+", "https://token\\.actions\\..*", "https://ci.example.com", "https://[a-z]+\\.co\\.uk"]) {
      const created = await world.call("iam.IdentitiesService/CreateIdentity", identity(pattern), { protocol });
      const changed = await world.call(
        "iam.IdentitiesService/UpdateIdentity",
        { identity: { uid: String(uid), claimMatch: { issuerPattern: pattern } }, updateMask: "claim_match.issuer_pattern" },
        { protocol },
      );
      for (const answer of [created, changed]) {
        assert.equal(answer.code, codes.INVALID_ARGUMENT, pattern);
        assert.match(answer.message, /claimMatch\.issuerPattern: must name the host of its issuers, .*GANTRY_ISSUER_HOSTS$/);
      }
    }
  });

  test(`over ${protocol} a pattern with a literal registrable domain, or for operator-listed hosts, is accepted`, async () => {
    for (const pattern of ["https://[a-z]+\\.example\\.com", "https://oidc\\.eks\\..*\\.amazonaws\\.com/id/.*", "https://[a-z]+\\.github\\.io/.*"])
      await world.ok("iam.IdentitiesService/CreateIdentity", identity(pattern), { protocol });
  });
}
