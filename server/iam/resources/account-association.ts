// Accounts at cloud providers and code hosts of a group: one association per group, with its uid.

import { missing } from "#base/fault.ts";
import { type JsonObject, part, text } from "#base/json.ts";
import { boundOf, change, holdParent, type Outcome, type ReadContext, resource, type WriteContext } from "#kernel";
import { findRow } from "#db";

const createAssociation = async (context: WriteContext): Promise<Outcome> => {
  const found = boundOf(context, "chainguard.platform.iam.v2.AccountAssociation");
  const group = text(context.request, "parent");
  holdParent(context, found, group);
  const body = part(context.request, "accountAssociation");
  const { record } = await change(context, found, { kind: "create", parent: group, uid: group, body }, "cause");
  return { reply: record };
};

const parts: Readonly<Record<string, string>> = {
  ACCOUNT_PROVIDER_TYPE_AMAZON: "amazon",
  ACCOUNT_PROVIDER_TYPE_AZURE: "azure",
  ACCOUNT_PROVIDER_TYPE_GOOGLE: "google",
};

const notReady = (reason: string, message: string): Outcome => ({ reply: { status: "CHECK_STATUS_NOT_READY", reason, message } satisfies JsonObject });

// resources: AccountAssociations. This server has no cloud credentials, so the check only finds whether a configuration exists.
const checkAssociation = async (context: ReadContext): Promise<Outcome> => {
  const found = boundOf(context, "chainguard.platform.iam.v2.AccountAssociation");
  const uid = text(context.request, "uid");
  const held = await findRow(context.rows, found.shape.table, uid);
  if (!held) throw missing(found.domain, found.fact.short, uid);
  const provider = parts[text(context.request, "providerType")] ?? "";
  if (found.shape.read(held.row, held.offset)[provider] === undefined) return notReady("not configured", `the association has no ${provider}`);
  return notReady("error exchanging credentials", `this server has no credentials that ${provider} would accept`);
};

export const accountAssociation = resource({
  service: "chainguard.platform.iam.v2.AccountAssociationsService",
  message: "chainguard.platform.iam.v2.AccountAssociation",
  table: "account_associations",
  methods: { CreateAccountAssociation: { writes: createAssociation }, CheckAccountAssociation: { reads: checkAssociation } },
});
