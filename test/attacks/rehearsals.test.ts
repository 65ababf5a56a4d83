// Attack 43: validateOnly as a way to try tokens and codes without using them up or triggering reuse detection.

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { codes } from "#base/fault.ts";
import { type JsonObject, part, text } from "#base/json.ts";
import { methods } from "#contract/catalog.ts";
import type { MethodFact } from "#contract/facts.ts";
import type { Answer, Protocol } from "../client.ts";
import { openStage, protocols, violationsOf } from "../conformance/stage.ts";
import { nonEmpty } from "../samples.ts";

const stage = await openStage();
const { world } = stage;
after(() => stage.close());

const operator = { uid: "", token: await stage.operator() };
const answered = nonEmpty(methods.filter(stage.answers), "operation with an answer");
const guarded = nonEmpty(
  answered.filter(({ credentials }) => credentials),
  "operation that no one rehearses",
);

test("attack 43: no public operation supports a dry run if it writes, shows or accepts a secret, or belongs to the issuer", () => {
  const issuers = ["chainguard.platform.oidc.SecurityTokenService", "chainguard.platform.auth.Auth"];
  const secretive = ({ input, output }: MethodFact): boolean => [...input.fields, ...output.fields].some(({ redacted, shownOnce }) => redacted || shownOnce);
  const open = methods.filter((method) => method.open && (method.writes || secretive(method) || issuers.includes(method.service)));
  assert.deepEqual(
    guarded.map(({ rpc }) => rpc),
    open.map(({ rpc }) => rpc),
  );
  assert.deepEqual(guarded.map(({ rpc }) => rpc).sort(), ["Exchange", "ExchangeRefreshToken", "GetHeadlessSession", "Register"]);
});

const refused = (answer: Answer): void => {
  assert.equal(answer.code, codes.INVALID_ARGUMENT, answer.message);
  assert.deepEqual(
    violationsOf(answer).map(({ field }) => field),
    ["validate_only"],
  );
};

for (const method of guarded)
  for (const protocol of protocols)
    test(`${method.rpc} over ${protocol} has no dry run: good and bad tokens get the same response, and nothing changes`, async () => {
      const request = await stage.request(method);
      const { token } = await stage.callerOf(method, operator);
      const untouched = await stage.fingerprint();
      const good = await stage.call(protocol, method, request, { token, validateOnly: true });
      refused(good);
      for (const other of ["garbage", `${token.slice(0, -4)}AAAA`, undefined]) {
        const bad = await stage.call(protocol, method, request, { token: other, validateOnly: true });
        assert.deepEqual([bad.code, bad.message, bad.details], [good.code, good.message, good.details]);
      }
      assert.equal(await stage.fingerprint(), untouched);
      const done = await stage.call(protocol, method, request, { token });
      assert.equal(done.code, 0, `what was not rehearsed is still good: ${done.message}`);
    });

const exchangeRefreshToken = guarded.find(({ rpc }) => rpc === "ExchangeRefreshToken") ?? assert.fail();

for (const protocol of protocols)
  test(`over ${protocol}, a dry run never accepts a used refresh token, and a real use revokes its family`, async () => {
    const ask = (token: string, validateOnly = false, over: Protocol = protocol): Promise<Answer> =>
      stage.call(over, exchangeRefreshToken, {}, { token, validateOnly });
    const nextOf = ({ reply }: { readonly reply: JsonObject }): string => text(part(reply, "refreshToken"), "token");
    const { token: first } = await stage.callerOf(exchangeRefreshToken, operator);
    const second = nextOf(await ask(first));
    refused(await ask(first, true));
    refused(await ask(second, true));
    const third = nextOf(await ask(second));
    assert.notEqual(third, "", "a rehearsal has ended nothing");
    assert.equal((await ask(first)).code, codes.UNAUTHENTICATED);
    assert.equal((await ask(third)).code, codes.UNAUTHENTICATED);
  });

test("over REST, validateOnly in the query is refused with 400", async () => {
  const { token } = await stage.callerOf(exchangeRefreshToken, operator);
  for (const name of ["validateOnly", "validate_only"]) {
    const answer = await fetch(`${world.url}/sts/exchange_refresh_token?${name}=true`, { method: "POST", headers: { authorization: `Bearer ${token}` } });
    assert.equal(answer.status, 400);
    await answer.text();
  }
});
