// Signing in with a code that is confirmed in any browser, on this machine or another (RFC 8628). The default: it
// needs nothing but a terminal.

import { setTimeout as sleep } from "node:timers/promises";
import { Fault } from "#base/fault.ts";
import { type JsonObject, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { ask, clean, type Issuer, reasonOf, type Reply } from "./issuer.ts";
import type { SignIn, Tokens } from "./sign-in.ts";
import { waiting } from "./waiting.ts";

const grantType = "urn:ietf:params:oauth:grant-type:device_code";

const secondsAt = (body: JsonObject, key: string, otherwise: number): number => {
  const value = body[key];
  return typeof value === "number" && value > 0 ? value : otherwise;
};

/** Asks once whether it is confirmed; undefined while nobody can say. The network may come and go meanwhile. */
const poll = async (issuer: Issuer, form: URLSearchParams, stop: AbortSignal): Promise<Reply | undefined> => {
  try {
    const reply = await ask(issuer.tokenEndpoint, stop, { form });
    return reply.status >= 500 ? undefined : reply;
  } catch (thrown) {
    if (thrown instanceof Fault && thrown.code === "UNAVAILABLE") return undefined;
    throw thrown;
  }
};

const waitForTokens = async (issuer: Issuer, started: JsonObject, stop: AbortSignal): Promise<Tokens> => {
  const form = new URLSearchParams({ grant_type: grantType, device_code: text(started, "device_code"), client_id: "gantry" });
  const untilMs = performance.now() + secondsAt(started, "expires_in", 0) * 1000;
  let intervalMs = secondsAt(started, "interval", limits.devicePollIntervalMs / 1000) * 1000;
  while (performance.now() < untilMs) {
    await sleep(intervalMs, undefined, { signal: stop });
    const reply = await poll(issuer, form, stop);
    const error = reply && text(reply.body, "error");
    // RFC 8628, 3.5: slower from now on where it is asked for, and where no answer comes.
    if (error === undefined || error === "slow_down") intervalMs += limits.devicePollSlowerMs;
    else if (error === "") return { access: text(reply?.body ?? {}, "access_token"), refresh: text(reply?.body ?? {}, "refresh_token") || undefined };
    else if (error === "expired_token") break;
    else if (error !== "authorization_pending") throw new Fault("PERMISSION_DENIED", `not signed in: ${reply ? reasonOf(reply) : error}`);
  }
  throw new Fault("DEADLINE_EXCEEDED", "the code was not confirmed in time; gantry login makes a new one");
};

export const byDevice = async ({ issuer, audience, idp, err, stop }: SignIn): Promise<Tokens> => {
  if (issuer.deviceEndpoint === "") throw new Fault("FAILED_PRECONDITION", `${issuer.url} offers no sign-in with a code; try gantry login --browser`);
  const form = new URLSearchParams({ client_id: "gantry", audience, scope: "offline_access" });
  if (idp !== undefined) form.set("idp_id", idp);
  const started = await ask(issuer.deviceEndpoint, stop, { form });
  if (started.status !== 200) throw new Fault("FAILED_PRECONDITION", `${issuer.url} does not start a sign-in: ${reasonOf(started)}`);
  const { body } = started;
  err.write(`To sign in to ${issuer.url}, open this address in any browser:

    ${clean(text(body, "verification_uri_complete") || text(body, "verification_uri"))}

and confirm there that it shows this code:

    ${clean(text(body, "user_code"))}

`);
  const line = waiting(err, secondsAt(body, "expires_in", 0) * 1000);
  try {
    return await waitForTokens(issuer, body, stop);
  } finally {
    line.end();
  }
};
