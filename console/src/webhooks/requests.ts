// Requests about subscriptions.

import type { Subscription, SubscriptionInput, TestSubscriptionResponse } from "../../../client/package.ts";
import type { Question } from "../api.ts";

export const createSubscription = (parent: string, subscription: SubscriptionInput): Question<Subscription> => ({
  name: "events.subscriptions.create",
  request: { parent, subscription },
  send: (gantry, signal) => gantry.events.subscriptions.create({ parent, subscription }, { signal }),
});

export const testSubscription = (subscriptionUid: string): Question<TestSubscriptionResponse> => ({
  name: "events.subscriptions.test",
  request: { subscriptionUid },
  send: (gantry, signal) => gantry.events.subscriptions.test({ subscriptionUid }, { signal }),
});

export const deleteSubscription = (uid: string): Question<void> => ({
  name: "events.subscriptions.delete",
  request: { uid },
  send: (gantry, signal) => gantry.events.subscriptions.delete({ uid }, { signal }),
});
