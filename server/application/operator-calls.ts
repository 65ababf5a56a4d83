// In-process API calls as the operator, through the request pipeline without a socket, for commands and the server's start.

import { operatorUid } from "#base/operator.ts";
import type { JsonObject } from "#base/json.ts";
import type { Origin } from "#base/origin.ts";
import { type CallContent, readingOf, unreadCall } from "#contract/call.ts";
import { methodByName } from "#contract/catalog.ts";
import type { Serve, Services, UnreadCall } from "#kernel";
import type { RegistryCall } from "#registry/collection";

/** Calls an operation by its full name and returns the response. Throws the operation's Fault. */
export type OperatorCall = (method: string, request: JsonObject, options?: { readonly idempotencyKey?: string }) => Promise<JsonObject>;

/** The token is renewed after half of this. */
const tokenLifetimeMs = 10 * 60 * 1000;

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

/** The same for registry operations with content, by their short names. */
export const operatorRegistryCalls = (serve: Serve, services: Pick<Services, "authn" | "clock" | "publicUrl">): RegistryCall => {
  const authorization = operatorAuthorization(services);
  return async (operation, request, content) => {
    const { message, content: given } = await serve(
      operatorCall(`gantry.registry.v1.DistributionService/${operation}`, request, await authorization(), { content }),
    );
    return { message, ...(given ? { content: given } : {}) };
  };
};
