// Attacks 51 to 54: one organization requests as much as it can over many connections, and another is still served. Database locks prolong the
// greedy organization's work, so no test depends on a clock.

import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { after, before, test } from "node:test";
import { isObject, type JsonObject } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { networkOf } from "#base/origin.ts";
import pg from "pg";
import { asOwner, freshDatabase, type TestDatabase } from "../database.ts";
import { bind, createIdentity } from "../story/installation.ts";
import { http, items, type RestAnswer } from "../story/protocols.ts";
import { openWorld, type World } from "../world.ts";

interface Organization {
  readonly uid: string;
  readonly member: string;
  readonly token: string;
  readonly repo: string;
}

let database: TestDatabase;
let world: World;
let owner: pg.Client;
let quiet: Organization;
let greedy: Organization;

const makeOrganization = async (name: string): Promise<Organization> => {
  const uid = String((await world.ok("iam.GroupsService/CreateGroup", { group: { name } })).uid);
  const member = await createIdentity(world, uid, "member", { issuer: "https://issuer.example.com", subject: name });
  await bind(world, uid, member, "editor");
  const repo = await world.ok("registry.ReposService/CreateRepo", { parent: uid, repo: { name: "first" } });
  return { uid, member, token: await world.token(member), repo: String(repo.uid) };
};

before(async () => {
  database = await freshDatabase();
  world = await openWorld({ DATABASE_URL: database.url });
  owner = new pg.Client({ connectionString: database.ownerUrl });
  await owner.connect();
  [quiet, greedy] = [await makeOrganization("quiet"), await makeOrganization("greedy")];
});
after(async () => {
  await owner?.end();
  await world?.close();
  await database?.drop();
});

const get = ({ token, repo }: Organization): Promise<RestAnswer> => http(world.url, "GET", `/registry/v2/repos/${repo}`, { token });
const list = ({ token }: Organization, query = ""): Promise<RestAnswer> => http(world.url, "GET", `/registry/v2/repos${query}`, { token });
/** Lists with a different skip each time, since a list that was fast before counts as a cheap read. */
const listTags = ({ token }: Organization, skip: number): Promise<RestAnswer> => http(world.url, "GET", `/registry/v2/tags?skip=${skip}`, { token });
const create = ({ uid, token }: Organization, name: string): Promise<RestAnswer> =>
  http(world.url, "POST", `/registry/v2/repos/${uid}`, { token, body: JSON.stringify({ name }) });
const describe = ({ token, repo }: Organization, description: string): Promise<RestAnswer> =>
  http(world.url, "PATCH", `/registry/v2/repos/${repo}?update_mask=description`, { token, body: JSON.stringify({ description }) });

/** Runs `work` while the greedy organization's statements wait for what `statement` locks. */
const holding = async (statement: string, work: () => Promise<void>): Promise<void> => {
  await owner.query("begin");
  try {
    await owner.query(statement);
    await work();
  } finally {
    await owner.query("rollback");
  }
};

const waiting = async (): Promise<number> =>
  Number((await asOwner(database.url, "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"))[0]?.[0]);

const untilWaiting = async (count: number): Promise<void> => {
  while ((await waiting()) < count);
};

const requireOk = async (answers: readonly Promise<RestAnswer>[]): Promise<void> => {
  for (const { status, text } of await Promise.all(answers)) assert.equal(status, 200, text);
};

const detail = (body: JsonObject, type: string): JsonObject | undefined =>
  items(body, "details").find((each): each is JsonObject => isObject(each) && String(each["@type"]).endsWith(type));

test("attack 51: a flood of lists and counts by one organization delays no other's requests, nor its own gets and writes", async () => {
  let asked: Promise<RestAnswer>[] = [];
  await holding("lock table tags in access exclusive mode", async () => {
    asked = Array.from({ length: 60 }, (_, index) => listTags(greedy, 1 + index));
    await untilWaiting(limits.wideReadsEach);
    await requireOk([get(quiet), list(quiet), list(quiet, "?skip=1&order_by=name"), describe(quiet, "meanwhile"), get(greedy), describe(greedy, "meanwhile")]);
    assert.ok((await waiting()) <= limits.wideReadsAlone);
  });
  await requireOk(asked);
});

test("attack 51: a full queue of lists refuses early with a retry time, and the queued ones complete", async () => {
  let asked: Promise<RestAnswer>[] = [];
  await holding("lock table tags in access exclusive mode", async () => {
    const line = limits.wideReadsAlone + limits.wideReadsWaitingEach;
    asked = Array.from({ length: line + 8 }, (_, index) => listTags(greedy, 1_000 + index));
    const refused = await Promise.race(asked);
    assert.equal(refused.status, 429, refused.text);
    assert.equal(refused.headers.get("retry-after"), "1");
    assert.match(refused.headers.get("ratelimit-policy") ?? "", /^"organization-wide-reads";q=\d+;qu="concurrent-requests"$/);
    assert.equal(refused.headers.get("ratelimit"), '"organization-wide-reads";r=0;t=1');
    assert.equal(detail(refused.body, "RetryInfo")?.retryDelay, "1.000s");
    assert.equal(detail(refused.body, "ErrorInfo")?.reason, "RATE_LIMIT_EXCEEDED");
    await requireOk([list(quiet)]);
    const overGrpc = await world.call("registry.ReposService/ListRepos", {}, { token: quiet.token, protocol: "grpc" });
    assert.equal(overGrpc.code, 0);
  });
  const statuses = (await Promise.all(asked)).map(({ status }) => status);
  const refused = statuses.filter((status) => status === 429).length;
  assert.ok(refused >= 8 && refused <= 8 + limits.wideReadsAlone - limits.wideReadsEach, `${refused} were refused`);
  assert.equal(statuses.filter((status) => status === 200).length, asked.length - refused);
});

test("attack 52: a hundred updates of one row occupy one connection, and other rows and organizations stay writable", async () => {
  const other = String((await create(greedy, "other")).body.uid);
  let asked: Promise<RestAnswer>[] = [];
  await holding(`select 1 from repos where uid = '${greedy.repo}' for update`, async () => {
    asked = Array.from({ length: 100 }, (_, index) => describe(greedy, `change ${index}`));
    await untilWaiting(1);
    await requireOk([describe(quiet, "beside"), create(quiet, "beside"), describe({ ...greedy, repo: other }, "beside"), create(greedy, "beside")]);
    assert.equal(await waiting(), 1);
  });
  await requireOk(asked);
});

test("attack 52: a hundred blocked creates occupy only their organization's share of the connections", async () => {
  let asked: Promise<RestAnswer>[] = [];
  await holding(`select 1 from groups where uid = '${greedy.uid}' for update`, async () => {
    asked = Array.from({ length: 100 }, (_, index) => create(greedy, `many-${index}`));
    await untilWaiting(limits.writesEach);
    await requireOk([create(quiet, "meanwhile"), describe(quiet, "again"), get(greedy), list(greedy)]);
    assert.ok((await waiting()) <= limits.writesAlone);
  });
  await requireOk(asked);
});

test("attack 52: writes count for the organization they change, so the operator is throttled there only", async () => {
  const token = await world.token();
  let asked: Promise<RestAnswer>[] = [];
  await holding(`select 1 from groups where uid = '${greedy.uid}' for update`, async () => {
    asked = Array.from({ length: 100 }, (_, index) => create(index % 2 ? greedy : { ...greedy, token }, `both-${index}`));
    await untilWaiting(limits.writesEach);
    await requireOk([create({ ...quiet, token }, "by-the-operator"), create(quiet, "by-the-member")]);
    assert.ok((await waiting()) <= limits.writesAlone);
  });
  await requireOk(asked);
});

test("attack 53: callers of one organization take turns, so that a busy caller delays no other", async () => {
  const member = await createIdentity(world, greedy.uid, "colleague", { issuer: "https://issuer.example.com", subject: "colleague" });
  await bind(world, greedy.uid, member, "editor");
  const colleague = { ...greedy, token: await world.token(member) };
  const done: string[] = [];
  const noting = async (name: string, asked: Promise<RestAnswer>): Promise<RestAnswer> => {
    const answer = await asked;
    done.push(name);
    return answer;
  };
  let asked: Promise<RestAnswer>[] = [];
  const line = limits.writesAlone + 40;
  await holding(`select 1 from groups where uid = '${greedy.uid}' for update`, async () => {
    asked = Array.from({ length: line }, (_, index) => noting("many", create(greedy, `turn-${index}`)));
    await untilWaiting(limits.writesEach);
    asked.push(noting("one", create(colleague, "turn-colleague")));
    // It is queued once a later request of the same kind of caller has been answered.
    await requireOk([get(colleague)]);
  });
  await requireOk(asked);
  assert.ok(done.indexOf("one") < line - 10, `the colleague's was number ${done.indexOf("one")} of ${line}`);
});

/** Runs `work` while this key has more refusals than are answered immediately. */
const whileRefused = async (key: string, work: () => Promise<void>): Promise<void> => {
  const { refusalPace } = world.server.application.kernel;
  // A full burst of refusals, then those that refill over time.
  for (let count = 0; count < limits.refusalsBurst; count++) void refusalPace(key);
  // A busy event loop runs the timer less often than refusals refill.
  let lastMs = performance.now();
  const more = setInterval(() => {
    const nowMs = performance.now();
    for (let count = 0; count < (4 * limits.refusalsPerSecond * (nowMs - lastMs)) / 1000; count++) void refusalPace(key);
    lastMs = nowMs;
  }, 1);
  try {
    await work();
  } finally {
    clearInterval(more);
  }
};

test("attack 51: an organization that ignores refusals gets delayed responses, and others do not", async () => {
  const hasty = await makeOrganization("hasty");
  const { rates } = world.server.application.kernel;
  // The clock is frozen, so its quota does not refill.
  for (let refused = false; !refused; ) {
    try {
      rates.take({ organization: hasty.uid, identity: hasty.member });
    } catch {
      refused = true;
    }
  }
  const askInTurn = async (): Promise<void> => {
    for (let count = 0; count < 5; count++) await requireOk([get(quiet), describe(quiet, `in turn ${count}`)]);
  };
  await whileRefused(hasty.uid, async () => {
    let first = "refused";
    // A refilled refusal may be this one.
    for (let tries = 0; first === "refused" && tries < 100; tries++) {
      const refused = get(hasty);
      const others = askInTurn();
      first = await Promise.race([refused.then(() => "refused"), others.then(() => "others")]);
      const { status, text } = await refused;
      assert.equal(status, 429, text);
      await others;
    }
    assert.equal(first, "others");
  });
});

test("attack 54: responses to many unauthenticated requests are delayed, and those to other callers are not", async () => {
  await whileRefused(networkOf("127.0.0.1"), async () => {
    let first = "refused";
    // A refilled refusal may be this one.
    for (let tries = 0; first === "refused" && tries < 100; tries++) {
      const refused = http(world.url, "POST", `/registry/v2/repos/${greedy.uid}`, { body: "{}" });
      const others = requireOk([get(quiet), describe(quiet, `not late ${tries}`), create(greedy, `not-late-${tries}`)]);
      first = await Promise.race([refused.then(() => "refused"), others.then(() => "others")]);
      assert.equal((await refused).status, 401);
      await others;
    }
    assert.equal(first, "others");
  });
});

test("attack 54: of an unauthenticated request's body, only the bytes that arrive with the headers are read", async () => {
  const { port, hostname } = new URL(world.url);
  const socket = connect(Number(port), hostname);
  await once(socket, "connect");
  const closed = new Promise<void>((resolve) => void socket.on("error", () => {}).on("close", () => resolve()));
  let answer = "";
  socket.setEncoding("latin1").on("data", (text: string) => (answer += text));
  const bytes = 512 * 1024 * 1024;
  socket.write(`POST /registry/v2/repos/${greedy.uid} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${bytes}\r\n\r\n`);
  const chunk = Buffer.alloc(1024 * 1024, 0x79);
  let sent = 0;
  const send = (): void => {
    while (!socket.destroyed && sent < bytes) {
      sent += chunk.length;
      if (!socket.write(chunk)) return;
    }
  };
  socket.on("drain", send);
  send();
  await closed;
  assert.match(answer, /^HTTP\/1\.1 401 /);
  assert.match(answer, /\r\nconnection: close\r\n/i);
  // The system's buffers on both sides take this much without the server reading it.
  assert.ok(sent < 64 * 1024 * 1024, `${sent} bytes were taken`);
  await requireOk([get(quiet)]);
});
