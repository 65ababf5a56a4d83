// Sign-in with a code that the user confirms in any browser (RFC 8628). The default: it needs only a terminal.

import { setTimeout as sleep } from "node:timers/promises";
import { Fault } from "#base/fault.ts";
import { type JsonObject, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { startCountdown } from "./countdown.ts";
import { type Issuer, type JsonResponse, printable, refusalText, requestJson } from "./issuer-client.ts";
import type { MethodOptions, Tokens } from "./method.ts";

const grantType = "urn:ietf:params:oauth:grant-type:device_code";

const positiveSeconds = (body: JsonObject, key: string, otherwise: number): number => {
  const value = body[key];
  return typeof value === "number" && value > 0 ? value : otherwise;
};

/** Polls once; returns undefined if there is no response, because the network may be interrupted. */
const pollOnce = async (issuer: Issuer, form: URLSearchParams, stop: AbortSignal): Promise<JsonResponse | undefined> => {
  try {
    const response = await requestJson(issuer.tokenEndpoint, stop, { form });
    return response.status >= 500 ? undefined : response;
  } catch (thrown) {
    if (thrown instanceof Fault && thrown.code === "UNAVAILABLE") return undefined;
    throw thrown;
  }
};

const waitForTokens = async (issuer: Issuer, started: JsonObject, stop: AbortSignal): Promise<Tokens> => {
  const form = new URLSearchParams({ grant_type: grantType, device_code: text(started, "device_code"), client_id: "gantry" });
  const untilMs = performance.now() + positiveSeconds(started, "expires_in", 0) * 1000;
  let intervalMs = positiveSeconds(started, "interval", limits.devicePollIntervalMs / 1000) * 1000;
  while (performance.now() < untilMs) {
    await sleep(intervalMs, undefined, { signal: stop });
    const response = await pollOnce(issuer, form, stop);
    const error = response && text(response.body, "error");
    // RFC 8628 §3.5: slow down if the server asks for it or does not respond.
    if (error === undefined || error === "slow_down") intervalMs += limits.devicePollSlowerMs;
    else if (error === "") return { access: text(response?.body ?? {}, "access_token"), refresh: text(response?.body ?? {}, "refresh_token") || undefined };
    else if (error === "expired_token") break;
    else if (error !== "authorization_pending") throw new Fault("PERMISSION_DENIED", `sign-in failed: ${response ? refusalText(response) : error}`);
  }
  throw new Fault("DEADLINE_EXCEEDED", "the code was not confirmed in time. Run gantry login for a new code");
};

export const signInByDevice = async ({ issuer, audience, idp, err, stop }: MethodOptions): Promise<Tokens> => {
  if (issuer.deviceEndpoint === "") throw new Fault("FAILED_PRECONDITION", `${issuer.url} does not support sign-in with a code. Run gantry login --browser`);
  const form = new URLSearchParams({ client_id: "gantry", audience, scope: "offline_access" });
  if (idp !== undefined) form.set("idp_id", idp);
  const started = await requestJson(issuer.deviceEndpoint, stop, { form });
  if (started.status !== 200) throw new Fault("FAILED_PRECONDITION", `${issuer.url} refused to start a sign-in: ${refusalText(started)}`);
  const { body } = started;
  err.write(`To sign in to ${issuer.url}, open this address in any browser:

    ${printable(text(body, "verification_uri_complete") || text(body, "verification_uri"))}

and confirm that it shows this code:

    ${printable(text(body, "user_code"))}

`);
  const countdown = startCountdown(err, positiveSeconds(body, "expires_in", 0) * 1000);
  try {
    return await waitForTokens(issuer, body, stop);
  } finally {
    countdown.end();
  }
};
