// Every table whose rows are kept for a time only, in the order in which their rows are deleted: with an event go its
// deliveries.

import { affectedImagesRetention, feedReversalsRetention, sourceDocumentsRetention, vulnReportsRetention } from "#advisories/store";
import {
  authorizationCodesRetention,
  awsRequestsRetention,
  deviceCodesRetention,
  headlessSessionsRetention,
  refreshTokensRetention,
  revokedGrantsRetention,
  sessionsRetention,
  signInSessionsRetention,
  signInsRetention,
  userCodeGuessesRetention,
} from "#iam/store";
import { deadDeliveriesRetention, deliveriesRetention, undeliverableRetention } from "#events/store";
import { deletionsRetention, idempotencyKeysRetention, outboxRetention, type Retention } from "#db";
import { tagHistoryRetention } from "#registry/store";

/**
 * The audit log's months are not among them: what is dropped of a chain is sealed with the secret key (server/audit).
 * Nor are invites: they are a resource's rows, and each that is deleted has its event (signin/expired-invites.ts).
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
