// Every table whose rows are kept for a time only, in the order in which their rows are deleted: with an event go its
// deliveries.

import { awsRequestsRetention } from "./aws-requests.ts";
import { deliveriesRetention } from "./deliveries.ts";
import { deviceCodesRetention } from "./device-codes.ts";
import { groupInvitesRetention } from "./group-invites.ts";
import { headlessSessionsRetention } from "./headless-sessions.ts";
import { idempotencyKeysRetention } from "./idempotency-keys.ts";
import { outboxRetention } from "./outbox.ts";
import { refreshTokensRetention } from "./refresh-tokens.ts";
import type { Retention } from "./retention.ts";
import { sessionsRetention } from "./sessions.ts";
import { signInsRetention } from "./sign-ins.ts";
import { userCodeGuessesRetention } from "./user-code-guesses.ts";

/**
 * The audit log's months are not among them: what is dropped of a chain is sealed with the secret key (server/audit).
 * Invites are a resource's rows: their deletion is to be recorded as an event of each.
 */
export const retentions: readonly Retention[] = [
  idempotencyKeysRetention,
  awsRequestsRetention,
  signInsRetention,
  sessionsRetention,
  refreshTokensRetention,
  deviceCodesRetention,
  headlessSessionsRetention,
  userCodeGuessesRetention,
  groupInvitesRetention,
  outboxRetention,
  deliveriesRetention,
];
