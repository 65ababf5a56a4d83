import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { operatorUid } from "#base/operator.ts";
import { Fault } from "#base/fault.ts";
import { limits, requestRates } from "#base/limits.ts";
import { silent } from "#base/log.ts";
import { alone } from "#base/siblings.ts";
import { newChild, newRoot, rootOf } from "#base/uid.ts";
import { openStore, type Store } from "#db";
import { asOwner, freshDatabase, type TestDatabase } from "../../test/database.ts";
import { openRates, type Rates } from "./rates.ts";

let database: TestDatabase;
let store: Store;
let nowMs = Date.UTC(2030, 0, 1);

const open = (): Promise<Rates> => openRates({ store, clock: () => nowMs, log: silent, siblings: alone });

before(async () => {
  database = await freshDatabase();
  store = await openStore({ databaseUrl: database.url, log: silent });
});
after(async () => {
  await store.close();
  await database.drop();
});
beforeEach(() => asOwner(database.url, "delete from quotas"));

const set = (name: string, value: number, organization = ""): Promise<unknown> =>
  asOwner(database.url, "insert into quotas (organization, name, value) values ($1, $2, $3)", [organization, name, value]);

/** Returns how many requests of these identities pass in turn, and the error of the next one. */
const takeAll = (rates: Rates, identities: readonly string[]): { readonly taken: number; readonly told: string } => {
  for (let taken = 0; taken < 1_000_000; taken++) {
    try {
      const identity = identities[taken % identities.length] ?? "";
      rates.take({ organization: rootOf(identity), identity });
    } catch (thrown) {
      assert.ok(thrown instanceof Fault);
      return { taken, told: thrown.message.replace(/;.*/, "") };
    }
  }
  return { taken: Number.POSITIVE_INFINITY, told: "" };
};

const identitiesOf = (organization: string, count: number): string[] => Array.from({ length: count }, () => newChild(organization));

test("rates: by default, each identity and organization has the limits of base/limits.ts, with a burst of ten seconds", async () => {
  const rates = await open();
  const organization = newRoot();
  assert.deepEqual(takeAll(rates, identitiesOf(organization, 1)), {
    taken: requestRates["identity-requests"] * limits.requestBurstSeconds,
    told: `this identity may send ${requestRates["identity-requests"]} requests a second (identity-requests)`,
  });
  const { taken, told } = takeAll(rates, identitiesOf(newRoot(), 100));
  assert.equal(told, `this organization may send ${requestRates["organization-requests"]} requests a second (organization-requests)`);
  // A fifth of a millisecond each is inexact in numbers that count milliseconds since 1970.
  const expected = requestRates["organization-requests"] * limits.requestBurstSeconds;
  assert.ok(Math.abs(taken - expected) < expected / 1_000, `${taken}`);
});

test("rates: the server-wide setting applies to all, an organization's setting to that organization only", async () => {
  const [own, other] = [newRoot(), newRoot()];
  await set("identity-requests", 3);
  await set("identity-requests", 1, own);
  await set("organization-requests", 2, own);
  const rates = await open();
  assert.equal(takeAll(rates, identitiesOf(other, 1)).taken, 30);
  assert.equal(takeAll(rates, identitiesOf(own, 1)).taken, 10);
  assert.equal(takeAll(rates, identitiesOf(own, 5)).taken, 10, "what one of them has used is missing to the others");
});

test("rates: a user is limited as an identity without an organization; the operator is not limited", async () => {
  await set("identity-requests", 1);
  await set("organization-requests", 1);
  const rates = await open();
  assert.equal(takeAll(rates, [newRoot(), newRoot()]).taken, 20);
  assert.equal(takeAll(rates, [operatorUid]).taken, Number.POSITIVE_INFINITY);
});

test("rates: if the settings cannot be read, the previous ones apply and the failure is logged", async () => {
  const closing = await openStore({ databaseUrl: database.url, log: silent });
  await set("identity-requests", 1);
  const { promise: told, resolve } = Promise.withResolvers<string>();
  const rates = await openRates({ store: closing, clock: () => nowMs, log: resolve, siblings: alone });
  await closing.close();
  assert.equal(takeAll(rates, identitiesOf(newRoot(), 1)).taken, 10);
  nowMs += limits.ratesReadMs;
  assert.equal(takeAll(rates, identitiesOf(newRoot(), 1)).taken, 10);
  assert.equal(await told, "rates.failed");
  assert.equal(takeAll(rates, identitiesOf(newRoot(), 1)).taken, 10);
});
