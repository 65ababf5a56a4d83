// All retentions, in the order of deletion: deliveries go with their event.

import { affectedImagesRetention } from "./affected-images.ts";
import { authorizationCodesRetention } from "./authorization-codes.ts";
import { awsRequestsRetention } from "./aws-requests.ts";
import { deadDeliveriesRetention, deliveriesRetention, undeliverableRetention } from "./deliveries.ts";
import { deletionsRetention } from "./deletions.ts";
import { deviceCodesRetention } from "./device-codes.ts";
import { feedReversalsRetention } from "./feed-reversals.ts";
import { headlessSessionsRetention } from "./headless-sessions.ts";
import { idempotencyKeysRetention } from "./idempotency-keys.ts";
import { outboxRetention } from "./outbox.ts";
import { refreshTokensRetention } from "./refresh-tokens.ts";
import type { Retention } from "./retention.ts";
import { revokedGrantsRetention } from "./revoked-grants.ts";
import { sessionsRetention } from "./sessions.ts";
import { signInSessionsRetention } from "./sign-in-sessions.ts";
import { signInsRetention } from "./sign-ins.ts";
import { sourceDocumentsRetention } from "./source-documents.ts";
import { tagHistoryRetention } from "./tag-history.ts";
import { userCodeGuessesRetention } from "./user-code-guesses.ts";
import { vulnReportsRetention } from "./vuln-reports.ts";

/**
 * Without the audit log: dropping part of a chain is sealed with the secret key (server/audit). Without invites: each deletion emits an
 * event (signin/expired-invites.ts).
 */
export const retentions: readonly Retention[] = [
  idempotencyKeysRetention,
  awsRequestsRetention,
  signInsRetention,
  sessionsRetention,
  signInSessionsRetention,
  refreshTokensRetention,
  deviceCodesRetention,
  headlessSessionsRetention,
  authorizationCodesRetention,
  revokedGrantsRetention,
  userCodeGuessesRetention,
  tagHistoryRetention,
  outboxRetention,
  deliveriesRetention,
  deadDeliveriesRetention,
  undeliverableRetention,
  vulnReportsRetention,
  affectedImagesRetention,
  sourceDocumentsRetention,
  feedReversalsRetention,
  deletionsRetention,
];
