// Every table whose rows are kept for a time only, in the order in which their rows are deleted: with an event go its
// deliveries.

import { deliveriesRetention } from "./deliveries.ts";
import { signInRetentions } from "./expired-sign-ins.ts";
import { idempotencyKeysRetention } from "./idempotency-keys.ts";
import { outboxRetention } from "./outbox.ts";
import type { Retention } from "./retention.ts";

/** The audit log's months are not among them: what is dropped of a chain is sealed with the secret key (server/audit). */
export const retentions: readonly Retention[] = [idempotencyKeysRetention, ...signInRetentions, outboxRetention, deliveriesRetention];
