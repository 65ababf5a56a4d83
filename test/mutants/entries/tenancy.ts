// Tenants, permissions, grants, page tokens, quotas.

import type { Mutant } from "../mutant.ts";

const serve = "server/kernel/serve.ts";
const admit = "server/kernel/admit.ts";
const permit = "server/kernel/permit.ts";
const page = "server/kernel/page.ts";
const safeWrite = "server/kernel/safe-write.ts";
const roleBinding = "server/iam/resources/role-binding.ts";
const provider = "server/iam/resources/identity-provider.ts";
const decide = "server/authz/decide.ts";

export const tenancy: readonly Mutant[] = [
  { attack: 1, file: serve, find: "    await authorize(kernel, call, rights, path, rows);\n", replace: "" },
  { attack: 2, file: serve, find: "    await authorize(kernel, call, rights, path, rows);\n", replace: "" },
  { attack: 4, file: roleBinding, find: 'if (text(request, "parent") !== "" && text(request, "parent") !== parent)', replace: "if (false)" },
  {
    attack: 5,
    file: permit,
    find: "for (const right of delegation.rights) requireAt(rights, right.capabilities, right.path);",
    replace: "if (delegation.rights.length >= 0) return;",
  },
  {
    attack: 9,
    file: page,
    find: 'if (madeFor !== query) throw refuse("belongs to another caller or another query; start again without it");',
    replace: "",
  },
  {
    attack: 9,
    file: safeWrite,
    find: "return caller === undefined ? undefined : { caller, key };",
    replace: 'return caller === undefined ? undefined : { caller: "", key };',
  },
  {
    attack: 12,
    file: decide,
    find: "if (!rights.grants.some((grant) => grant.capabilities.has(capability) && covers(grant.path, path))) return capability;",
    replace:
      "if (!(rights.grants.some((grant) => grant.capabilities.has(capability)) && rights.grants.some((grant) => covers(grant.path, path)))) return capability;",
  },
  { attack: 25, file: page, find: "JSON.stringify([caller, method, canonical(query)])", replace: "JSON.stringify([method, canonical(query)])" },
  {
    attack: 64,
    file: provider,
    find: "if (secret === null || secret !== held.sealed || isSame(held.boundTo, boundTo)) return;",
    replace: "if (secret === null || secret !== null) return;",
  },
  {
    attack: 65,
    file: "server/db/vault.ts",
    find: 'const associatedData = (boundTo: Binding): Buffer => Buffer.from(JSON.stringify(boundTo), "utf8");',
    replace: "const associatedData = (boundTo: Binding): Buffer => Buffer.from(String(boundTo.length > 0));",
  },
  { attack: 68, file: permit, find: "delegates.fromSessions && !toOneself && inTime", replace: "delegates.fromSessions && inTime" },
  { attack: 69, file: permit, find: "  if (!short) return;\n", replace: "  if (short || !short) return;\n" },
  {
    attack: 70,
    file: permit,
    find: "const given = [...(place === undefined ? [] : [{ capabilities, path: place }]), ...delegation.rights];",
    replace: "const given = [...delegation.rights];",
  },
  { attack: 73, file: permit, find: "for (const group of namedGroupsOf(call)) requireAt(rights, method.capabilities, group);", replace: "" },
  {
    attack: 102,
    file: serve,
    find: 'const unsure = thrown instanceof StaleAccess || (thrown instanceof Fault && thrown.code === "PERMISSION_DENIED");',
    replace: 'const unsure = thrown instanceof Fault && thrown.code === "PERMISSION_DENIED";',
  },
  {
    attack: 112,
    file: safeWrite,
    find: "Object.fromEntries(Object.entries(reply).filter(([key]) => message.byName.get(key)?.shownOnce !== true));",
    replace: 'Object.fromEntries(Object.entries(reply).filter(([key]) => message.byName.get(key) !== undefined || key !== ""));',
  },
  {
    attack: 170,
    file: admit,
    find: "if (caller.scim && unread.method.writes) kernel.rates.takeScimWrite(fairnessKey);",
    replace: "",
  },
  { attack: 56, file: admit, find: "if (!admitted) kernel.rates.take(fairnessKey);", replace: "" },
  { attack: 310, file: "base/buckets.ts", find: "if (refusal === undefined) tell(key, eachMs);", replace: "" },
  {
    attack: 310,
    file: "base/buckets.ts",
    find: "bucket.fullMs > nowMs + emptyMs * siblings.count + 1",
    replace: "bucket.fullMs > nowMs + emptyMs + 1",
    tests: ["base/buckets.test.ts"],
  },
  { attack: 311, file: "server/application/workers.ts", find: "addresses.enter(address);", replace: '"";' },
  { attack: 171, file: admit, find: "({ ...nobody, closed: isClosed });", replace: "({ ...nobody, closed: isClosed && false });" },
  {
    attack: 202,
    file: serve,
    find: "exchange.caller = caller = await authenticateAgain(kernel, unread, caller);\n        continue;",
    replace: "",
  },
  {
    attack: 212,
    file: roleBinding,
    find: "return isUndelete && (await isDismissedAt(rows, identity, parent)) ?",
    replace: "return isUndelete && false && (await isDismissedAt(rows, identity, parent)) ?",
  },
  {
    attack: 370,
    file: "server/kernel/verbs/list.ts",
    find: "    visiblePaths: visiblePaths(context.rights, method.capabilities),\n  });\n  return objectList",
    replace: '    visiblePaths: [""],\n  });\n  return objectList',
  },
];
