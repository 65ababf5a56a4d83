// Calls of the API made inside this process, as the operator: the same request pipeline as any other call, without a
// socket. Commands and the start of the server use it.

import { operatorUid } from "#authz";
import type { JsonObject } from "#base/json.ts";
import type { Origin } from "#base/origin.ts";
import { type CallContent, readingOf, unreadCall } from "#contract/call.ts";
import { methodByName } from "#contract/catalog.ts";
import type { Serve, Services, UnreadCall } from "#kernel";
import type { RegistryCall } from "#registry/collection";

/** Makes a call by the operation's full name and returns its answer. Throws the Fault that the operation answers. */
export type OperatorCall = (method: string, request: JsonObject, options?: { readonly idempotencyKey?: string }) => Promise<JsonObject>;

/** A command that runs longer than half of it gets another token. */
const tokenLifetimeMs = 10 * 60 * 1000;

/** The operator's Authorization header, minted when one is needed and kept while it is fresh. */
const operatorAuthorization = ({ authn, clock, publicUrl }: Pick<Services, "authn" | "clock" | "publicUrl">): (() => Promise<string>) => {
  let token = { text: "", untilMs: 0 };
  return async () => {
    if (token.untilMs - clock() < tokenLifetimeMs / 2) {
      const text = await authn.mint({ uid: operatorUid, audience: [publicUrl], lifetimeMs: tokenLifetimeMs });
      token = { text, untilMs: clock() + tokenLifetimeMs };
    }
    return `Bearer ${token.text}`;
  };
};

const operatorOrigin: Origin = { address: "", userAgent: "gantry" };

interface CallParts {
  readonly idempotencyKey?: string | undefined;
  readonly content?: CallContent | undefined;
}

const operatorCall = (name: string, request: JsonObject, authorization: string, { idempotencyKey, content }: CallParts): UnreadCall => {
  const method = methodByName(name);
  if (!method) throw new Error(`no operation ${name}`);
  const headers = { authorization, idempotencyKey, requestId: crypto.randomUUID(), origin: () => operatorOrigin, ...(content ? { content } : {}) };
  return unreadCall(method, headers, () => readingOf(request));
};

export const operatorCalls = (serve: Serve, services: Pick<Services, "authn" | "clock" | "publicUrl">): OperatorCall => {
  const authorization = operatorAuthorization(services);
  return async (name, request, { idempotencyKey } = {}) => {
    const { message } = await serve(operatorCall(name, request, await authorization(), { idempotencyKey }));
    return message;
  };
};

/** The same for the registry's operations, which take and give content. By their short names. */
export const operatorRegistryCalls = (serve: Serve, services: Pick<Services, "authn" | "clock" | "publicUrl">): RegistryCall => {
  const authorization = operatorAuthorization(services);
  return async (operation, request, content) => {
    const { message, content: given } = await serve(
      operatorCall(`gantry.registry.v1.DistributionService/${operation}`, request, await authorization(), { content }),
    );
    return { message, ...(given ? { content: given } : {}) };
  };
};
