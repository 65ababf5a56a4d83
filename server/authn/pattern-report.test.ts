// The report at the start about identities stored before patterns had limits.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { asOwner, freshDatabase, type TestDatabase } from "../../test/database.ts";
import { openWorld, type World } from "../../test/world.ts";

const uidOf = (number: number): string => `${"a".repeat(40)}/${number.toString(16).padStart(16, "0")}`;
const tooLarge = "((a{100}){100})";
const manyTogether = Object.fromEntries(Array.from({ length: 10 }, (_, index) => [`claim${index}`, `[a-z]{${900 + index}}`]));

let database: TestDatabase;
let world: World;
const logged: { event: string; facts: Readonly<Record<string, unknown>> | undefined }[] = [];
const ended = Promise.withResolvers<void>();

/** Inserts identities with these numbers, as an earlier version stored them. */
const leave = (numbers: readonly number[], match: object, column: "claim_match" | "aws_identity" = "claim_match"): Promise<unknown> =>
  asOwner(
    database.url,
    `insert into identities (uid, name, ${column}, create_time, update_time)
     select uid, 'ci', '${JSON.stringify(match)}'::jsonb, now(), now() from unnest('{${numbers.map(uidOf).join(",")}}'::text[]) as old(uid)`,
  );

before(async () => {
  database = await freshDatabase({ planted: true });
  const claims = { issuer: "https://ci.example.com", subject: "job" };
  // More than one page of valid ones around the invalid ones.
  await leave(
    Array.from({ length: 600 }, (_, index) => 1_000 + index),
    { ...claims, subjectPattern: "job-[0-9]+" },
  );
  await leave([1], { ...claims, subjectPattern: tooLarge });
  await leave([2], { ...claims, claimPatterns: { ref: "main", 'a "b"': tooLarge } });
  await leave([3], { ...claims, claimPatterns: manyTogether });
  await leave([4], { arn: "arn:aws:sts::1:x", userIdPattern: tooLarge }, "aws_identity");
  await leave(
    Array.from({ length: 120 }, (_, index) => 5_000 + index),
    { ...claims, audiencePattern: tooLarge },
  );
  world = await openWorld({ DATABASE_URL: database.url }, (event, facts) => {
    logged.push({ event, facts });
    if (event === "authn.patterns.oversized") ended.resolve();
  });
});
after(async () => {
  await world?.close();
  await database?.drop();
});

test("identities with oversized patterns are logged at the start: the first hundred with their field, and the total", async () => {
  await ended.promise;
  const each = logged.filter(({ event }) => event === "authn.pattern.oversized").map(({ facts }) => facts ?? {});
  assert.equal(each.length, 100);
  const [alone, together] = [/^is too large: the pattern/, /^is too large together with the identity's other patterns/];
  for (const [index, [field, problem]] of (
    [
      ["claimMatch.subjectPattern", alone],
      ['claimMatch.claimPatterns["a \\"b\\""]', alone],
      [/^claimMatch\.claimPatterns\["claim\d"\]$/, together],
      ["awsIdentity.userIdPattern", alone],
      ["claimMatch.audiencePattern", alone],
    ] as const
  ).entries()) {
    const { identity, ...told } = each[index] ?? {};
    assert.equal(identity, uidOf(index < 4 ? index + 1 : 5_000));
    if (typeof field === "string") assert.equal(told.field, field);
    else assert.match(String(told.field), field);
    assert.match(String(told.problem), problem);
  }
  assert.deepEqual(
    logged.filter(({ event }) => event === "authn.patterns.oversized").map(({ facts }) => facts?.identities),
    [124],
  );
});
