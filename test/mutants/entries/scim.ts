// SCIM: provisioning by identity providers.

import type { Mutant } from "../mutant.ts";

const names = "server/iam/resources/scim/documents/names.ts";
const document = "server/iam/resources/scim/documents/document.ts";
const patch = "server/iam/resources/scim/documents/patch.ts";
const tokens = "server/authn/scim-tokens.ts";
const provisioning = "server/iam/signin/provisioning.ts";

export const scim: readonly Mutant[] = [
  {
    attack: 164,
    file: tokens,
    find: "if (!access || endMs === undefined || endMs <= clock()) throw refusedScimToken();",
    replace: "if (!access || endMs === undefined) throw refusedScimToken();",
  },
  {
    attack: 164,
    file: tokens,
    find: "return hash === previousTokenHash ? previousExpireTimeMs : undefined;",
    replace: "return previousExpireTimeMs ?? expireTimeMs;",
  },
  { attack: 169, file: patch, find: "if (operations.length > limits.scimOperationsMax) throw", replace: "if (false) throw" },
  { attack: 169, file: document, find: 'if (key === "__proto__") throw invalidAttribute(`${at}__proto__`, "is not an attribute");', replace: "" },
  { attack: 171, file: tokens, find: "isClosed: access.organizationStatus === suspended };", replace: "isClosed: access.organizationStatus === undefined };" },
  {
    attack: 172,
    file: document,
    find: 'withNames(withoutPasswords(Object.fromEntries(own)), names, "")',
    replace: 'withNames(Object.fromEntries(own), names, "")',
  },
  {
    attack: 173,
    file: provisioning,
    find: "if (bindings.length > 0 && !(await hasOwnersBeside(rows, { ...owner, identityUid, provider: provider.uid, people })))",
    replace: "if (bindings.length < 0 && !(await hasOwnersBeside(rows, { ...owner, identityUid, provider: provider.uid, people })))",
  },
  { attack: 174, file: provisioning, find: 'if (standing === "inactive" || standing === "removed") throw', replace: "if (false) throw" },
  { attack: 175, file: provisioning, find: "  await deleteSessionsThrough(rows, provider.uid, identityUid);\n", replace: "" },
  { attack: 199, file: names, find: "if (keys.length > limits.scimNamesMax) throw", replace: "if (false) throw" },
  { attack: 199, file: document, find: "if (Buffer.byteLength(JSON.stringify(json)) > limits.scimDocumentBytesMax)", replace: "if (false)" },
  {
    attack: 201,
    file: provisioning,
    find: "const bindings = await listBindingsBelow(rows, provider.parent, identityUid);",
    replace: "const bindings: string[] = [];",
  },
  {
    attack: 202,
    file: "server/iam/resources/scim/rules/held-provider.ts",
    find: "requireNotSuspended(services.authn.confirmScim(caller, access).isClosed);",
    replace: "requireNotSuspended(access === undefined || caller === undefined || services === undefined);",
  },
  { attack: 203, file: provisioning, find: "if (known?.before !== undefined) await endProvisionedAccess(context, provider, known.before);", replace: "" },
  { attack: 220, file: names, find: "  if (isObject(value)) return Object.entries(value);\n", replace: "  if (isObject(value)) return [[key, value]];\n" },
  {
    attack: 221,
    file: "server/iam/resources/scim/scim-group.ts",
    find: "if (filter === undefined && (value ?? null) === null) return",
    replace: "if (filter === undefined && value === undefined) return",
  },
  { attack: 222, file: provisioning, find: "  await lockScimPerson(rows, provider.uid, externalId);\n", replace: "" },
];
