// Authorization of every operation of the contract, for every kind of caller, over both protocols.

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { builtInRoleUids } from "#authz";
import { codes } from "#base/fault.ts";
import { type JsonObject, text } from "#base/json.ts";
import { methods } from "#contract/catalog.ts";
import type { MethodFact } from "#contract/facts.ts";
import type { Answer } from "../client.ts";
import { errorCodesOf } from "../distribution.ts";
import { oneOrAll } from "../length.ts";
import { nonEmpty, valueAt } from "../samples.ts";
import { grown } from "./grown.ts";
import {
  everyCapabilityBut,
  protocols,
  protocolsOf,
  folder,
  isBesideOpen,
  isScim,
  isCatalogue,
  isForEverybody,
  hidesRows,
  isList,
  unusedUid,
  withoutUid,
  neighbour,
  openStage,
  rowMessage,
  comparableAnswer,
  rowsOf,
  uidsOf,
  violationsOf,
} from "./stage.ts";

const stage = await openStage();
const { world } = stage;
after(() => stage.close());

const place = await folder(stage);
const other = await neighbour(stage);
const nobody = await stage.stranger(world.organization);

const guarded = nonEmpty(
  methods.filter((method) => !method.open && !isScim(method)),
  "operation that asks for a token",
);
const answered = nonEmpty(
  guarded.filter((method) => stage.answers(method) && !isBesideOpen(method)),
  "operation with an answer",
);
const scoped = nonEmpty(
  answered.filter(({ scope }) => scope),
  "operation with a place",
);
const needing = nonEmpty(
  answered.filter(({ capabilities }) => capabilities.length > 0),
  "operation with capabilities",
);
const lists = nonEmpty(
  answered.filter((method) => isList(method) && method.unscoped && !isCatalogue(method)),
  "list",
);

const done = 0;

const assertUnauthenticated = (answer: Answer, method: MethodFact): void => {
  assert.equal(answer.code, codes.UNAUTHENTICATED, `${method.name}: ${answer.message}`);
  if (answer.status !== undefined) assert.equal(answer.status, 401);
  if (method.distribution) {
    assert.match(answer.headers["www-authenticate"] ?? "", /^Bearer realm="[^"]+\/v2\/token",service="[^"]+"/);
    assert.deepEqual(errorCodesOf(answer), ["UNAUTHORIZED"]);
    return;
  }
  assert.equal(answer.headers["www-authenticate"], "Bearer");
  assert.deepEqual(answer.details[0], {
    "@type": "type.googleapis.com/google.rpc.ErrorInfo",
    reason: "UNAUTHENTICATED",
    domain: `${method.domain}.example.test`,
  });
};

/** Asserts success, or UNIMPLEMENTED. */
const assertAllowed = (answer: Answer, method: MethodFact): void =>
  assert.equal(answer.code, stage.answers(method) ? done : codes.UNIMPLEMENTED, `${method.name}: ${answer.message} ${JSON.stringify(answer.details)}`);

/** Returns the uids that a caller sees in a list, without built-in roles, which are public; the rows of a list without uids. */
const seenIn = (method: MethodFact, answer: Answer): string[] => {
  assert.equal(answer.code, done, answer.message);
  if (!isList(method)) return rowsOf(method, answer.reply).map((row) => JSON.stringify(row));
  return uidsOf(method, answer.reply).filter((uid) => !builtInRoleUids.includes(uid));
};

/** Asserts that an unscoped list hides its rows, an unscoped get returns NOT_FOUND, and any other method denies. */
const assertRefused = (answer: Answer, method: MethodFact): void => {
  if (method.rpc === "ListCatalog") assert.deepEqual([answer.code, answer.reply.repositories], [done, []]);
  else if (isCatalogue(method)) assert.equal(answer.code, codes.PERMISSION_DENIED, `${method.name}: ${answer.message}`);
  else if (hidesRows(method)) assert.deepEqual(seenIn(method, answer), []);
  else assert.equal(answer.code, method.unscoped && !method.writes ? codes.NOT_FOUND : codes.PERMISSION_DENIED, `${method.name}: ${answer.message}`);
};

/** Returns the listed message, if the stage can create one; undefined for a list without a capability, which shows the caller's own rows. */
const shownBy = (list: MethodFact): string | undefined => {
  const maker = methods.find((method) => method.service === list.service && method.rpc.startsWith("Create") && stage.answers(method));
  const grows = rowMessage(list)?.name ?? "";
  return maker?.output.name ?? (list.capabilities.length > 0 && Object.hasOwn(grown, grows) ? grows : undefined);
};

/**
 * Returns the error code for a caller who can see nothing in a group. The OCI protocol reports a missing repo (oci: 4), and a list of
 * referrers is always empty.
 */
const refusalCodeOf = (method: MethodFact): number => {
  if (!method.distribution) return codes.PERMISSION_DENIED;
  return method.rpc === "ListReferrers" ? done : codes.NOT_FOUND;
};

const about = (request: JsonObject, uid: string, otherUid: string): JsonObject => JSON.parse(JSON.stringify(request).replaceAll(uid, otherUid)) as JsonObject;

// A token of this server with a changed signature, and one of another server's key.
const genuine = await world.token(nobody.uid);
const flipped = `${genuine.slice(0, -10)}${genuine.at(-10) === "A" ? "B" : "A"}${genuine.slice(-9)}`;
const unsigned = `${Buffer.from('{"alg":"none","typ":"JWT"}').toString("base64url")}.${genuine.split(".")[1]}.`;

for (const method of guarded) {
  test(`${method.name} authenticates the caller: a missing, wrong or forged token is UNAUTHENTICATED on both protocols`, async () => {
    const request = await stage.request(method, { place, uid: unusedUid(place) });
    for (const protocol of oneOrAll(protocolsOf(method))) {
      const absent = isBesideOpen(method) && protocol === "rest" ? [] : [undefined];
      for (const token of [...absent, "garbage", flipped, unsigned]) assertUnauthenticated(await stage.call(protocol, method, request, { token }), method);
      assertUnauthenticated(await stage.call(protocol, method, request, { headers: { authorization: "Basic b3BlcmF0b3I6b3BlcmF0b3I=" } }), method);
    }
  });
}

for (const method of scoped) {
  test(`${method.name}: neither a stranger nor another organization's owner can detect what exists`, async () => {
    const real = await stage.request(method, { place });
    const path = method.scope ?? [];
    const uid = String(valueAt(real, path));
    const absentUid = unusedUid(uid);
    const absent = about(real, uid, absentUid);
    assert.equal(valueAt(absent, path), absentUid);
    for (const protocol of oneOrAll(protocolsOf(method))) {
      for (const { token } of [nobody, other.owner]) {
        const refusal = await stage.call(protocol, method, real, { token });
        assert.equal(refusal.code, refusalCodeOf(method), `${method.name}: ${refusal.message}`);
        assert.equal(comparableAnswer(refusal, uid), comparableAnswer(await stage.call(protocol, method, absent, { token }), absentUid));
      }
    }
  });

  test(`${method.name}: another organization and a missing one get the same error`, async () => {
    const request = await stage.request(method, { place, uid: other.organization });
    const absentUid = unusedUid(other.organization);
    const absent = about(request, other.organization, absentUid);
    for (const protocol of oneOrAll(protocolsOf(method))) {
      const refusal = await stage.call(protocol, method, request, { token: nobody.token });
      assert.equal(refusal.code, refusalCodeOf(method), refusal.message);
      assert.equal(
        comparableAnswer(refusal, other.organization),
        comparableAnswer(await stage.call(protocol, method, absent, { token: nobody.token }), absentUid),
      );
    }
  });
}

for (const method of lists) {
  test(`${method.name}: a stranger's list is empty, and another owner's list and total contain nothing of ours`, async () => {
    const shown = shownBy(method);
    if (shown !== undefined) await stage.make(shown, { place });
    for (const protocol of oneOrAll(protocolsOf(method))) {
      const asked = { pageSize: 200, uidp: { descendantsOf: world.organization } };
      const visible = await stage.call(protocol, method, asked, { token: await stage.owner() });
      assert.ok(shown === undefined || visible.reply.totalCount !== "0", "there is something to be hidden");
      for (const { token } of [nobody, other.owner]) {
        assert.deepEqual(
          seenIn(method, await stage.call(protocol, method, { pageSize: 200 }, { token })).filter((uid) => !uid.startsWith(other.organization)),
          [],
        );
        const { reply } = await stage.call(protocol, method, asked, { token });
        assert.deepEqual(uidsOf(method, reply), []);
        assert.equal(reply.totalCount, "0");
      }
    }
  });
}

for (const method of answered.filter((each) => each.unscoped && each.capabilities.length > 0 && !hidesRows(each) && !isCatalogue(each))) {
  test(`${method.name} has no parent, and still hides from strangers and other owners what exists`, async () => {
    const real = await stage.request(method, { place });
    const path = method.input.byName.has("uid") ? ["uid"] : ["parent"];
    const uid = String(valueAt(real, path));
    const absentUid = unusedUid(uid);
    const absent = about(real, uid, absentUid);
    for (const protocol of oneOrAll(protocolsOf(method))) {
      for (const { token } of [nobody, other.owner]) {
        const refusal = await stage.call(protocol, method, real, { token });
        assert.equal(refusal.code, method.writes ? codes.PERMISSION_DENIED : codes.NOT_FOUND, refusal.message);
        assert.equal(comparableAnswer(refusal, uid), comparableAnswer(await stage.call(protocol, method, absent, { token }), absentUid));
      }
    }
  });
}

for (const method of nonEmpty(
  guarded.filter((method) => method.capabilities.length > 0 && !isBesideOpen(method)),
  "operation with capabilities",
)) {
  test(`${method.name} requires exactly ${method.capabilities.join(" and ")} on the resource, on both protocols`, async () => {
    // What comes back in these suites is a repo: an undelete asks for what making it does, too.
    const besides = method.delegates?.rights === "deletion" ? ["repo.create"] : [];
    const { token } = await stage.holder([...method.capabilities, ...besides], stage.needsAt(method, place));
    for (const protocol of oneOrAll(protocolsOf(method))) {
      const answer = await stage.call(protocol, method, await stage.request(method, { place, capabilities: method.capabilities }), { token });
      // Only an import creates an image's data; NOT_FOUND proves permission.
      const absent = answer.code === codes.NOT_FOUND && !method.writes && method.input.byName.has("digest");
      if (!absent) assertAllowed(answer, method);
      if (hidesRows(method) && stage.answers(method)) {
        const seen = seenIn(method, answer);
        assert.ok(
          seen.every((uid) => !isList(method) || uid.startsWith(place)),
          "its place alone is seen",
        );
        assert.ok(seen.length > 0, "something is seen");
      }
    }
  });
}

for (const method of needing) {
  for (const missing of method.capabilities) {
    test(`${method.name} is refused with every capability except ${missing}`, async () => {
      const { token } = await stage.holder(everyCapabilityBut(missing), place);
      for (const protocol of oneOrAll(protocolsOf(method))) {
        const answer = await stage.call(protocol, method, await stage.request(method, { place, capabilities: ["groups.list"] }), { token });
        assertRefused(answer, method);
        if (answer.code === codes.PERMISSION_DENIED && missing !== "groups.list")
          assert.match(answer.message, new RegExp(`\\b${missing.replaceAll(".", "\\.")}\\b`));
      }
    });
  }
}

for (const method of nonEmpty(answered.filter(isForEverybody), "operation for every caller")) {
  test(`${method.name} requires a token and no capability`, async () => {
    for (const protocol of oneOrAll(protocolsOf(method))) {
      const { token } = await stage.callerOf(method, nobody);
      assertAllowed(await stage.call(protocol, method, await stage.request(method), { token }), method);
    }
  });
}

for (const method of nonEmpty(
  methods.filter(({ open }) => open),
  "open operation",
)) {
  test(`${method.name} is public: it needs no token and ignores one that is sent`, async () => {
    for (const protocol of oneOrAll(protocolsOf(method))) {
      const request = await stage.request(method);
      const answers: Answer[] = [];
      for (const token of [undefined, "garbage", nobody.token]) {
        await stage.putBack(method, request);
        answers.push(await stage.call(protocol, method, request, { token }));
      }
      if ((method.service.endsWith("SecurityTokenService") || method.rpc === "Register") && stage.answers(method)) {
        // Here the Authorization header is the token to exchange or the user to register.
        assert.deepEqual(answers.map(({ code }) => code).slice(0, 2), [codes.UNAUTHENTICATED, codes.UNAUTHENTICATED]);
        continue;
      }
      for (const answer of answers) {
        assertAllowed(answer, method);
        assert.equal(comparableAnswer(answer, "-"), comparableAnswer(answers[0] ?? answer, "-"));
      }
    }
  });
}

for (const method of methods.filter((candidate) => !stage.answers(candidate) && !isScim(candidate))) {
  test(`${method.name} is not implemented and returns UNIMPLEMENTED with a typed body to every caller on both protocols`, async () => {
    const request = await stage.request(method, { place, uid: unusedUid(place) });
    for (const protocol of oneOrAll(protocolsOf(method))) {
      for (const token of [await stage.owner(), nobody.token]) {
        const answer = await stage.call(protocol, method, request, { token });
        assert.equal(answer.code, codes.UNIMPLEMENTED, answer.message);
        assert.equal(answer.message, `${method.name} is not implemented`);
        if (protocol === "rest") assert.equal(answer.status, 501);
        assert.deepEqual(answer.details, [
          { "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "UNIMPLEMENTED", domain: `${method.domain}.example.test` },
        ]);
      }
    }
  });
}

const branchA = await folder(stage);
const branchB = await folder(stage);
const inA = await stage.stranger(branchA);
const allOfA = text(await stage.make("chainguard.platform.iam.v2.Role", { place: branchA, parent: branchA, capabilities: everyCapabilityBut("") }), "uid");
await stage.bind(branchA, inA.uid, allOfA);

for (const method of lists) {
  test(`${method.name}: an identity of a subgroup sees only its own branch`, async () => {
    const shown = shownBy(method);
    const mine = shown === undefined ? undefined : text(await stage.make(shown, { place: branchA }), "uid");
    for (const place of [branchB, world.organization, other.organization]) if (shown !== undefined) await stage.make(shown, { place });
    for (const protocol of oneOrAll(protocolsOf(method))) {
      const answer = await stage.call(protocol, method, { pageSize: 200 }, { token: inA.token });
      const seen = seenIn(method, answer);
      assert.ok(mine === undefined || seen.includes(mine));
      assert.deepEqual(
        seen.filter((uid) => !uid.startsWith(branchA)),
        [],
      );
      assert.equal(answer.reply.totalCount, String(uidsOf(method, answer.reply).length));
    }
  });
}

for (const method of nonEmpty(
  answered.filter(({ rpc, scope }) => scope && rpc.startsWith("Get")),
  "get",
)) {
  test(`${method.name}: an identity of a subgroup is refused outside its branch, and does not inherit an ancestor's permissions`, async () => {
    for (const place of [branchB, world.organization]) {
      const request = await stage.request(method, { place });
      for (const protocol of oneOrAll(protocolsOf(method)))
        assert.equal((await stage.call(protocol, method, request, { token: inA.token })).code, refusalCodeOf(method));
    }
  });
}

// As the operator, who has every permission, so that no missing permission causes the error.
test("an identity of a subgroup cannot be bound outside its branch, not even by the operator", async () => {
  const create = methods.find(({ rpc }) => rpc === "CreateRoleBinding");
  assert.ok(create);
  const before = await stage.fingerprint();
  for (const group of [world.organization, branchB, other.organization]) {
    for (const protocol of protocols) {
      const answer = await stage.call(
        protocol,
        create,
        { parent: group, roleBinding: { identityUid: inA.uid, roleUid: builtInRoleUids[0] ?? "" } },
        { token: await stage.operator() },
      );
      assert.equal(answer.code, codes.INVALID_ARGUMENT);
      assert.deepEqual(
        violationsOf(answer).map(({ field }) => field),
        ["identityUid"],
      );
    }
  }
  assert.equal(await stage.fingerprint(), before);
});

test("an error names the missing capability, and the group only if the caller can see groups there", async () => {
  const get = methods.find(({ rpc }) => rpc === "GetRepo");
  assert.ok(get);
  const sees = await stage.holder(["groups.list"], place);
  const blind = await stage.holder(["tag.list"], place);
  const request = await stage.request(get, { place });
  const uid = text(request, "uid");
  for (const protocol of protocols) {
    const told = await stage.call(protocol, get, request, { token: sees.token });
    assert.equal(withoutUid(told.message, uid), '"Permission denied: repo.list is required at <uid>"');
    assert.equal((await stage.call(protocol, get, request, { token: blind.token })).message, "Permission denied");
  }
});

test("a token narrowed to capabilities and scopes has only these", async () => {
  const list = lists.find(({ rpc }) => rpc === "ListRepos");
  const get = methods.find(({ rpc }) => rpc === "GetRepo");
  const remove = methods.find(({ rpc }) => rpc === "DeleteRepo");
  assert.ok(list && get && remove);
  const [inPlace, beside] = await Promise.all([place, branchB].map((each) => stage.make("chainguard.platform.registry.v2.Repo", { place: each })));
  const owner = await stage.holder(everyCapabilityBut(""), world.organization);
  const narrow = await world.token(owner.uid, { capabilities: ["repo.list"], scopes: [place] });
  for (const protocol of protocols) {
    assert.ok(seenIn(list, await stage.call(protocol, list, { pageSize: 200 }, { token: narrow })).every((uid) => uid.startsWith(place)));
    assert.equal((await stage.call(protocol, get, { uid: text(inPlace ?? {}, "uid") }, { token: narrow })).code, 0);
    assert.equal((await stage.call(protocol, get, { uid: text(beside ?? {}, "uid") }, { token: narrow })).code, codes.PERMISSION_DENIED);
    assert.equal((await stage.call(protocol, remove, { uid: text(inPlace ?? {}, "uid") }, { token: narrow })).code, codes.PERMISSION_DENIED);
    assert.equal((await stage.call(protocol, get, { uid: text(beside ?? {}, "uid") }, { token: owner.token })).code, 0);
  }
});

test("an operation refuses a malformed uid without querying the store", async () => {
  for (const method of scoped) {
    // In the OCI protocol, a repo also has a name.
    if (method.distribution || method.http[0]?.template.includes(`{${method.scope?.join(".")}=`)) continue;
    const request = await stage.request(method, { place, uid: "not a uid" });
    const answer = await stage.call("grpc", method, request, { token: await stage.owner() });
    assert.equal(answer.code, codes.INVALID_ARGUMENT, `${method.name}: ${answer.message}`);
  }
});
