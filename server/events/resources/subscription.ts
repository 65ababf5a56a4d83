// A subscription: the events of a group and of everything below it, sent to a web address.

import type { Violation } from "#base/fault.ts";
import { type JsonObject, part, text } from "#base/json.ts";
import { newChild } from "#base/uid.ts";
import { newSecret } from "#events/delivery";
import { boundOf, change, holdParent, type Outcome, resource, type RuleContext, type WriteContext } from "#kernel";
import { subscriptionSecretBinding, subscriptionSecretPurpose } from "#events/store";
import { notHttps } from "#base/not-https.ts";

/**
 * events, 1. A name that leads to a private address is no mistake yet: addresses are judged at each connection. Plain
 * http is for sinks that the operator lets be reached at private addresses.
 */
const sinkProblem = (sink: string, plain: boolean): string | undefined => {
  // The parser forgives more than it should: blanks, line ends and missing hosts (attack 28).
  const url = /^https?:\/\/[^/\\]/i.test(sink) && !/[\s\p{Cc}]/u.test(sink) ? URL.parse(sink) : null;
  if (!url || url.hostname === "" || !(url.protocol === "https:" || (plain && url.protocol === "http:"))) return notHttps(url);
  if (url.username || url.password) return "must not carry a user name or password";
  if (url.hash) return "must not have a fragment";
  return undefined;
};

const rules = (draft: JsonObject, { services, before }: RuleContext): Violation[] => {
  // What was taken once stays, also when the operator's list of private addresses has changed since.
  if (before && draft.sink === before.sink) return [];
  const description = sinkProblem(String(draft.sink), services.plainIssuers);
  return description ? [{ field: "sink", description }] : [];
};

/** Its secret is made with it, and shown this once. */
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
