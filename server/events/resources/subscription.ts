// A subscription: sends the events of a group and its descendants to a webhook endpoint.

import type { Violation } from "#base/fault.ts";
import { type JsonObject, part, text } from "#base/json.ts";
import { newChild } from "#base/uid.ts";
import { newSecret } from "#events/delivery";
import { boundOf, change, holdParent, type Outcome, resource, type RuleContext, type WriteContext } from "#kernel";
import { subscriptionSecretBinding, subscriptionSecretPurpose } from "#events/store";
import { notHttps } from "#base/not-https.ts";

/**
 * events, 1. A host name may resolve to a private address, which each connection checks. Plain HTTP requires that the operator
 * allows private addresses.
 */
const sinkProblem = (sink: string, plain: boolean): string | undefined => {
  // URL.parse accepts too much: blanks, line ends and missing hosts (attack 28).
  const url = /^https?:\/\/[^/\\]/i.test(sink) && !/[\s\p{Cc}]/u.test(sink) ? URL.parse(sink) : null;
  if (!url || url.hostname === "" || !(url.protocol === "https:" || (plain && url.protocol === "http:"))) return notHttps(url);
  if (url.username || url.password) return "must not carry a user name or password";
  if (url.hash) return "must not have a fragment";
  return undefined;
};

const rules = (draft: JsonObject, { services, before }: RuleContext): Violation[] => {
  // An accepted sink stays valid, even if the operator's list of private addresses changes.
  if (before && draft.sink === before.sink) return [];
  const description = sinkProblem(String(draft.sink), services.plainIssuers);
  return description ? [{ field: "sink", description }] : [];
};

/** Creates the secret with the subscription, and returns it once. */
const create = async (context: WriteContext): Promise<Outcome> => {
  const { request, caller, services } = context;
  const found = boundOf(context, "chainguard.platform.events.v2.Subscription");
  const parent = text(request, "parent");
  holdParent(context, found, parent);
  const [uid, secret] = [newChild(parent), newSecret()];
  const body = { ...part(request, "subscription"), enabled: true };
  const columns = { creator: caller?.uid ?? "", secret_sealed: services.seal.seal(subscriptionSecretPurpose, secret, subscriptionSecretBinding(uid)) };
  const { record } = await change(context, found, { kind: "create", parent, uid, body, columns }, "cause");
  return { reply: { ...record, secret } };
};

export const subscription = resource({
  service: "chainguard.platform.events.v2.SubscriptionsService",
  message: "chainguard.platform.events.v2.Subscription",
  table: "subscriptions",
  rules,
  methods: { CreateSubscription: { writes: create } },
});
