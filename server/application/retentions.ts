// Lists the tables with a retention period, in the order of deletion. Deleting an event deletes its deliveries.

import { affectedImagesRetention, feedReversalsRetention, findingDaysRetention, sourceDocumentsRetention, vulnReportsRetention } from "#advisories/store";
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
import { imagesInUseRetention, lastPullsRetention, pullDaysRetention, tagHistoryRetention } from "#registry/store";

/**
 * Excludes the audit log's months, because dropping part of a chain is sealed with the secret key (server/audit). Excludes invites
 * too: they are a resource, and each deletion has an event (server/iam/signin/expired-invites.ts).
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
  lastPullsRetention,
  pullDaysRetention,
  imagesInUseRetention,
  outboxRetention,
  deliveriesRetention,
  deadDeliveriesRetention,
  undeliverableRetention,
  vulnReportsRetention,
  affectedImagesRetention,
  findingDaysRetention,
  sourceDocumentsRetention,
  feedReversalsRetention,
  deletionsRetention,
];
