// Documents that an organization has accepted. Acceptance is permanent and applies to all its groups.

import { invalid, missing } from "#base/fault.ts";
import { part, text, texts } from "#base/json.ts";
import { ancestry, rootOf } from "#base/uid.ts";
import { boundOf, change, list, type Outcome, type ReadContext, resource, type WriteContext } from "#kernel";
import { findAcceptancesOf, findRow, lockRow } from "#db";

const accept = async (context: WriteContext): Promise<Outcome> => {
  const { services, request, rows, caller } = context;
  const group = text(request, "group");
  const ids = texts(request, "documentIds");
  const unknown = ids.flatMap((id, index) =>
    services.terms.documents.has(id) ? [] : [{ field: `documentIds[${index}]`, description: "is not a document that can be accepted here" }],
  );
  if (unknown.length > 0) throw invalid(unknown);
  if (!(await lockRow(rows, boundOf(context, "chainguard.platform.iam.v2.Group").shape.table, group, "key share"))) throw missing("iam", "Group", group);
  let changed = false;
  // Sorted, so that concurrent acceptances cannot deadlock.
  for (const id of [...new Set(ids)].sort()) {
    const wanted = { kind: "create", parent: group, body: { docId: id, acceptedBy: caller?.uid ?? "", orgUid: group }, unlessTaken: true } as const;
    if ((await change(context, boundOf(context, "chainguard.platform.iam.v2.TermsAcceptance"), wanted, "cause")).changed) changed = true;
  }
  return { reply: { group, documentIds: ids }, unchanged: !changed };
};

const listAcceptances = async (context: ReadContext): Promise<Outcome> => {
  const group = text(context.request, "group");
  if (!(await findRow(context.rows, boundOf(context, "chainguard.platform.iam.v2.Group").shape.table, group))) throw missing("iam", "Group", group);
  const found = boundOf(context, "chainguard.platform.iam.v2.TermsAcceptance");
  // Acceptances of ancestors apply here, so they are visible even without access there; the rest of the organization is not.
  if (Object.keys(part(context.request, "uidp")).length === 0) {
    const request = { ...context.request, uidp: { ancestorsOf: group } };
    return list(found)({ ...context, request, visiblePaths: [rootOf(group)] });
  }
  // A filter selects among these and acceptances of groups below.
  const above = await findAcceptancesOf(context.rows, ancestry(group).slice(1));
  return list({ ...found, alsoVisible: async () => above })({ ...context, visiblePaths: [group] });
};

export const terms = resource({
  service: "chainguard.platform.iam.v2.TermsService",
  message: "chainguard.platform.iam.v2.TermsAcceptance",
  table: "terms_acceptances",
  methods: { AcceptTerms: { writes: accept }, ListTermsAcceptances: { reads: listAcceptances } },
});
