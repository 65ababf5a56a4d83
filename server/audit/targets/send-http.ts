// Posts each batch to an HTTP endpoint; any 2xx confirms it. Redirects are not followed: the log goes only to the configured URL.

import { readFile } from "node:fs/promises";
import { Fault } from "#base/fault.ts";
import { limits } from "#base/limits.ts";
import type { Outbound } from "#authn";
import type { Send } from "./send.ts";

export interface HttpEndpoint {
  readonly url: string;
  readonly body: "lines" | "array";
  readonly authorizationFile: string | undefined;
}

const headerForm = /^[\x20-\x7e]{1,8192}$/;

const readAuthorization = async (path: string): Promise<string> => {
  const value = (await readFile(path, "utf8")).trim();
  if (!headerForm.test(value)) throw new Error(`${path} must contain the value of the Authorization header, for example: Bearer TOKEN`);
  return value;
};

/** The guarded client keeps the cause for the log. */
const causeOf = (thrown: unknown): unknown => (thrown instanceof Fault && thrown.cause instanceof Error ? thrown.cause : thrown);

export const sendToHttp =
  (outbound: Pick<Outbound, "fetch">, { url, body, authorizationFile }: HttpEndpoint, userAgent: string): Send =>
  async (lines, signal) => {
    const headers: Record<string, string> = { "content-type": body === "lines" ? "application/x-ndjson" : "application/json", "user-agent": userAgent };
    if (authorizationFile !== undefined) headers.authorization = await readAuthorization(authorizationFile);
    const reply = await outbound
      .fetch("audit", url, {
        tenant: "operator",
        method: "POST",
        headers,
        body: body === "lines" ? `${lines.join("\n")}\n` : `[${lines.join(",")}]`,
        timeoutMs: limits.auditSendMs,
        discard: true,
        signal,
      })
      .catch((thrown: unknown) => {
        throw causeOf(thrown);
      });
    if (reply.status < 200 || reply.status > 299) throw new Error(`it answered ${reply.status}`);
  };
