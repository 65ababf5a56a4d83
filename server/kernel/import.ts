// Calls made by an import: the operations, checks and events of requests, several in one transaction, with the time of the source.

import { operatorUid } from "#base/operator.ts";
import { internal, unimplemented } from "#base/fault.ts";
import type { JsonObject } from "#base/json.ts";
import { ownOrigin } from "#base/origin.ts";
import { EVERYWHERE } from "#base/uid.ts";
import { capabilities } from "#contract/capabilities.ts";
import { type CallContent, callOf } from "#contract/call.ts";
import { methodByName } from "#contract/catalog.ts";
import type { Caller } from "#authn";
import type { Write } from "#db";
import { validate } from "./validate.ts";
import type { Outcome } from "./context.ts";
import type { Kernel } from "./kernel.ts";
import { requireAt } from "./permit.ts";
import { perform } from "./perform.ts";

/** @param content for operations that take content */
export type ImportCall = (method: string, request: JsonObject, asOfMs: number, content?: Uint8Array) => Promise<Outcome>;

const contentOf = (content: Uint8Array): CallContent => ({
  lengthBytes: content.length,
  bytes: (async function* () {
    yield content;
  })(),
});

const operator: Caller = Object.freeze({
  uid: operatorUid,
  expireTimeMs: Number.MAX_SAFE_INTEGER,
  issueTimeMs: 0,
  issuer: "",
  subject: operatorUid,
  audience: [],
  act: undefined,
  capabilities: undefined,
  scopes: undefined,
});

const everything = {
  uid: operatorUid,
  grants: [{ path: EVERYWHERE, capabilities: new Set(capabilities.map(({ name }) => name)) }],
  accessVersion: { root: operatorUid, version: "" },
  untilMs: Number.POSITIVE_INFINITY,
};

/** Runs one transaction of an import as the operator. An error thrown by `work` rolls it back. */
export const runImport = <T>(kernel: Kernel, requestId: string, work: (call: ImportCall, rows: Write) => Promise<T>): Promise<T> =>
  kernel.services.store.write((rows) =>
    work(async (name, request, asOfMs, content) => {
      const method = methodByName(name);
      const answer = method && kernel.answers.get(method.name);
      if (!method || !answer) throw unimplemented(name);
      if ("reads" in answer) throw internal(`${name} does not write`);
      const carried = content && { content: contentOf(content), requestInUrl: () => request };
      const call = callOf(method, request, { requestId, origin: () => ownOrigin, ...carried });
      const context = {
        services: kernel.services,
        method,
        call,
        ...validate(call),
        caller: operator,
        rights: everything,
        visiblePaths: [EVERYWHERE],
        nowMs: asOfMs,
        resources: kernel.resources,
        permitted: [],
        require: (needed: Iterable<string>, path: string) => requireAt(everything, needed, path),
        delegate: () => {},
      };
      // Checks that usually precede a transaction (such as of a readme) run inside the transaction; imports have no other stage for them.
      return perform("asks" in answer ? await answer.asks({ ...context, rows }) : answer, context, rows);
    }, rows),
  );
