// uidp.descendants_of and uidp.children_of are parameters of every List (requirement: List query parameters). list.test.ts and
// grown-lists.test.ts cover rows of organizations. Rows outside organizations are the same for all callers. A list of them with a group needs
// its capabilities in that group, and is empty without them (attack 73).

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { codes } from "#base/fault.ts";
import type { JsonObject } from "#base/json.ts";
import { methods } from "#contract/catalog.ts";
import type { MethodFact } from "#contract/facts.ts";
import { callHttp, restRequest } from "../client.ts";
import { nonEmpty } from "../samples.ts";
import { grown, requestsOfGrown } from "./grown.ts";
import { everyCapabilityBut, folder, isList, neighbour, openStage, protocols, rowMessage, rowsOf, violationsOf } from "./stage.ts";

const stage = await openStage();
const { world } = stage;
after(() => stage.close());

const lists = nonEmpty(
  methods.filter((method) => isList(method) && stage.answers(method)),
  "list",
);
const place = await folder(stage);
const inner = await folder(stage, place);
const owner = await stage.owner();
const other = await neighbour(stage);

const requestOf = async (method: MethodFact): Promise<JsonObject> => {
  const message = rowMessage(method)?.name ?? "";
  await grown[message]?.(world, place);
  return { ...(await stage.request(method, { place })), ...requestsOfGrown[message] };
};

for (const method of lists) {
  test(`${method.rpc} accepts a group in uidp.descendants_of and uidp.children_of, in either spelling, over both protocols`, async () => {
    const request = await requestOf(method);
    for (const name of ["descendantsOf", "childrenOf"]) {
      for (const protocol of protocols) {
        const answer = await stage.call(protocol, method, { ...request, uidp: { [name]: place } }, { token: owner });
        assert.equal(answer.code, 0, `${name} over ${protocol}: ${answer.message}`);
        const wrong = await stage.call(protocol, method, { ...request, uidp: { [name]: "x" } }, { token: owner });
        assert.equal(wrong.code, codes.INVALID_ARGUMENT, wrong.message);
        const snake = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
        assert.deepEqual(
          violationsOf(wrong).map(({ field }) => field),
          [`uidp.${snake}`],
        );
      }
      const { verb, path } = restRequest(method, request);
      const snake = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
      const answer = await callHttp(world.url, verb, `${path}${path.includes("?") ? "&" : "?"}uidp.${snake}=${place}`, { token: owner });
      assert.equal(answer.code, 0, answer.message);
    }
  });
}

for (const method of nonEmpty(
  lists.filter(({ groupFilter }) => groupFilter !== undefined),
  "list of what lies in no organization",
)) {
  test(`attack 73: ${method.rpc} with a group lists its members' rows to a caller with its capabilities there, and nothing to others`, async () => {
    const request = await requestOf(method);
    const holder = await stage.holder(method.capabilities, place);
    const lacking = await stage.holder(everyCapabilityBut(method.capabilities[0] ?? ""), place);
    for (const protocol of protocols) {
      const all = rowsOf(method, (await stage.call(protocol, method, request, { token: owner })).reply);
      assert.ok(all.length > 0);
      for (const uidp of [{ descendantsOf: place }, { childrenOf: place }, { descendantsOf: inner }, { descendantsOf: place, childrenOf: inner }]) {
        const allowed = await stage.call(protocol, method, { ...request, uidp }, { token: holder.token });
        assert.equal(allowed.code, 0, allowed.message);
        assert.deepEqual(rowsOf(method, allowed.reply), all, JSON.stringify(uidp));
        for (const { token } of [lacking, other.owner]) {
          const refused = await stage.call(protocol, method, { ...request, uidp }, { token });
          assert.equal(refused.code, codes.PERMISSION_DENIED, `${JSON.stringify(uidp)}: ${refused.message}`);
        }
        const nobody = await stage.call(protocol, method, { ...request, uidp });
        assert.equal(nobody.code, codes.UNAUTHENTICATED, nobody.message);
      }
      // Permission in one of two groups is not enough, nor in the parent.
      for (const uidp of [{ descendantsOf: world.organization }, { descendantsOf: place, childrenOf: other.organization }]) {
        const refused = await stage.call(protocol, method, { ...request, uidp }, { token: holder.token });
        assert.equal(refused.code, codes.PERMISSION_DENIED, `${JSON.stringify(uidp)}: ${refused.message}`);
      }
      if (method.open) assert.equal((await stage.call(protocol, method, request)).code, 0, "without a group it is open");
    }
  });

  test(`${method.rpc} refuses filter fields that do not apply to its rows`, async () => {
    const { verb, path } = restRequest(method, await requestOf(method));
    const answer = await callHttp(world.url, verb, `${path}${path.includes("?") ? "&" : "?"}uidp.in_root=true`, { token: owner });
    assert.equal(answer.code, codes.INVALID_ARGUMENT);
    assert.deepEqual(
      violationsOf(answer).map(({ field }) => field),
      ["uidp.in_root"],
    );
  });
}
