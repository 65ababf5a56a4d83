// Calls every operation as its OpenAPI document describes it: the document allows each valid request and describes every response, including
// errors, with every field, header, status and type. One suite per version: test/conformance/openapi-answers.test.ts,
// openapi-version-1.test.ts.

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { isObject, type JsonObject } from "#base/json.ts";
import { isViewed, type MethodFact } from "#contract/facts.ts";
import { requestInView } from "#contract/views.ts";
import { restRequest } from "../client.ts";
import { type DescribedRequest, fetchDocument, judgeOf, sendDescribed } from "./document.ts";
import { fillStage } from "./filled.ts";
import { nonEmpty } from "../samples.ts";
import { requestsOfGrown } from "../conformance/grown.ts";
import { answerableRequest, folder, openStage, rowMessage, unusedUid } from "../conformance/stage.ts";

const bearer = (token: string | undefined): Record<string, string> => (token === undefined ? {} : { authorization: `Bearer ${token}` });

const isRehearsed = ({ writes, credentials }: MethodFact): boolean => writes && !credentials;

/** Opens a world, and declares two tests for each operation of the document at this address. */
export const judgeEveryOperation = async (methods: readonly MethodFact[], address: string): Promise<void> => {
  const stage = await openStage();
  const { world } = stage;
  after(() => stage.close());

  const place = await folder(stage);
  const owner = await stage.owner();
  const filled = await fillStage(stage);
  const stranger = await stage.stranger(world.organization);
  const judge = judgeOf(await fetchDocument(world.url, address));

  /** Returns a valid request as the document describes it. */
  const requestOf = async (method: MethodFact, whole: boolean): Promise<{ readonly request: JsonObject; readonly described: DescribedRequest }> => {
    const of = isViewed(method) ? method.view.of : method;
    const asked = { ...(await answerableRequest(stage, of, place, whole)), ...requestsOfGrown[rowMessage(of)?.name ?? ""] };
    const request = { ...(isViewed(method) ? requestInView(method, asked) : asked), ...(await filled.requestOf(method)) };
    const { verb, path: target, body } = restRequest(method, request);
    // If the path ends before its field, the created resource is at the root.
    const path = target.replace(/\/(?=$|\?)/, "");
    await stage.putBack(of, asked);
    return { request, described: judge.describe(verb, path, body) };
  };

  for (const method of nonEmpty(
    methods.filter((each) => each.http.length > 0 && stage.answers(each)),
    "operation",
  )) {
    const name = `${method.version || method.domain} ${method.service.split(".").at(-1)}/${method.rpc}`;

    const judged = async (described: DescribedRequest, headers: Readonly<Record<string, string>>, what: string): Promise<number> => {
      const answer = await sendDescribed(world.url, described, headers);
      assert.deepEqual(judge.judgeAnswer(described.operation, answer), [], `${what}: ${answer.status} ${answer.raw.slice(0, 400)}`);
      return answer.status;
    };

    test(`${name}: its document allows a valid request and describes the response`, async () => {
      for (const whole of [false, true]) {
        const { request, described } = await requestOf(method, whole);
        assert.deepEqual(judge.judgeRequest(described), [], JSON.stringify(described.body));
        const token = (await filled.tokenFor(method)) ?? (await stage.callerOf(method, { uid: "", token: await stage.tokenFor(method, request) })).token;
        if (isRehearsed(method)) {
          const tried: DescribedRequest = { ...described, inQuery: [...described.inQuery, ["validateOnly", "true"]] };
          assert.deepEqual(judge.judgeRequest(tried), []);
          assert.equal(await judged(tried, bearer(token), "tried"), 200);
        }
        assert.equal(await judged(described, bearer(token), "valid"), 200);
      }
    });

    test(`${name}: its document describes every error: without a token, for strangers, missing, malformed and unknown values`, async () => {
      const { request, described } = await requestOf(method, true);
      await judged(described, {}, "nobody");
      await judged(described, bearer("garbage"), "a wrong token");
      await judged(described, bearer(stranger.token), "a stranger");
      await judged({ ...described, inQuery: [...described.inQuery, ["nonsense", "1"]] }, bearer(owner), "an unknown parameter");
      if (isObject(described.body)) await judged({ ...described, body: { ...described.body, nonsense: 1 } }, bearer(owner), "an unknown field");
      for (const [key, value] of Object.entries(described.inPath)) {
        const others = /^[0-9a-f]{40}/.test(value) ? [unusedUid(value), "x", `${value}0`] : ["x", "%"];
        for (const other of others) await judged({ ...described, inPath: { ...described.inPath, [key]: other } }, bearer(owner), `${key} = ${other}`);
      }
      if (isRehearsed(method)) {
        const key = { "idempotency-key": `k${String(stage.next())}` };
        await judged(described, { ...bearer(owner), ...key, "if-match": '"other"' }, "another state");
      }
      assert.ok(request);
    });
  }
};
