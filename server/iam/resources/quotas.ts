// Quotas and rates of an organization. The operator sets them (server/application/quotas.ts); triggers count and enforce them.

import { missingCapability } from "#authz";
import { missing } from "#base/fault.ts";
import { text } from "#base/json.ts";
import { organizationQuotas, requestRates, rowQuotas, storageQuotas } from "#base/limits.ts";
import { rootOf } from "#base/uid.ts";
import { findQuotasOf, findResourceCounts, findRow, quotaNameOf } from "#db";
import { type Outcome, type ReadContext, resource } from "#kernel";

const counted: Readonly<Record<string, number>> = { ...organizationQuotas, ...rowQuotas, ...storageQuotas };

/** Of what has no List for callers: the table of the resources that it belongs to. */
const tablesOfOthers: Readonly<Record<string, string>> = {
  "blob-bytes": "repos",
  "pending-memberships": "role_bindings",
  "scim-groups": "identity_providers",
  "scim-members": "identity_providers",
  "scim-users": "identity_providers",
};

/** Returns the names of the quotas whose resources the caller can list in the whole organization. */
const visibleQuotas = ({ resources, rights }: ReadContext, organization: string): ReadonlySet<string> => {
  const visible = new Set<string>();
  for (const { fact, operations, shape } of resources.values()) {
    const list = operations.find(({ rpc, output }) => rpc.startsWith("List") && output.fields.some(({ message }) => message === fact));
    if (list && list.capabilities.length > 0 && missingCapability(rights, list.capabilities, organization) === undefined) visible.add(shape.table.name);
  }
  return new Set(Object.keys(counted).filter((name) => visible.has(tablesOfOthers[name] ?? name.replaceAll("-", "_"))));
};

const getQuotas = async (context: ReadContext): Promise<Outcome> => {
  const { request, rows } = context;
  const uid = text(request, "uid");
  if (!(await findRow(rows, { name: "groups", columns: ["uid"] }, uid))) throw missing("iam", "Group", uid);
  const organization = rootOf(uid);
  const [set, counts] = await Promise.all([findQuotasOf(rows, organization), findResourceCounts(rows, organization)]);
  const used = new Map([...counts].map(([table, count]) => [quotaNameOf(table), count]));
  const visible = visibleQuotas(context, organization);
  const quotas = Object.entries({ ...counted, ...requestRates }).map(([name, byDefault]) => {
    const valueOf = (whose: string): number | undefined => set.find((each) => each.name === name && each.organization === whose)?.value;
    const limit = valueOf(organization) ?? valueOf("") ?? byDefault;
    return { name, limit: String(limit), rate: name in requestRates, ...(visible.has(name) ? { used: String(used.get(name) ?? 0) } : {}) };
  });
  quotas.sort((one, other) => (one.name < other.name ? -1 : 1));
  return { reply: { quotas } };
};

export const quotas = resource({
  service: "gantry.organizations.v1.QuotasService",
  message: "gantry.organizations.v1.Quotas",
  methods: { GetQuotas: { reads: getQuotas } },
});
