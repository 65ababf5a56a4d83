// The command line and the client.

import type { Mutant } from "../mutant.ts";

export const client: readonly Mutant[] = [
  { attack: 320, file: "client/webhook.ts", find: "if (!(Math.abs(clock() - sentMs) <= toleranceMs))", replace: "if (Number.isNaN(sentMs))" },
  { attack: 321, file: "client/webhook.ts", find: "if (bytes === undefined || bytes.length === 0)", replace: "if (bytes === undefined)" },
  {
    attack: 322,
    file: "client/webhook.ts",
    find: 'throw new WebhookError("SIGNATURE_MISMATCH", "no signature matches the secret and the body");',
    replace: "void 0;",
  },
  {
    attack: 142,
    file: "cli/output/escape.ts",
    find: "withUnseenAs(text, escapeOf).replace(/[\\n\\r\\t]/g, escapeOf);",
    replace: "withUnseenAs(text, escapeOf);",
  },
  { attack: 378, file: "cli/output/csv.ts", find: "    .map(inert)\n", replace: "" },
  { attack: 231, file: "base/unseen.ts", find: "\\p{Default_Ignorable_Code_Point}\\u2800]/gu", replace: "]/gu" },
  { attack: 209, file: "base/unseen.ts", find: "\\p{Default_Ignorable_Code_Point}\\u2800]/gu", replace: "]/gu" },
  { attack: 162, file: "server/mcp/result.ts", find: "return attempt.left < 0 ? null : seenText(cut);", replace: "return attempt.left < 0 ? null : cut;" },
  { attack: 210, file: "server/mcp/result.ts", find: "return { at: `${at}{${index}}`, message:", replace: "return { at: `${at}.${key}`, message:" },
  { attack: 159, file: "server/mcp/endpoint.ts", find: "if (name === undefined || !(isAddressOrLocal(name) || names.has(name)))", replace: "if (false)" },
  { attack: 159, file: "server/mcp/endpoint.ts", find: "if (origin !== undefined && !origins.has(origin))\n", replace: "if (false)\n" },
  { attack: 204, file: "base/refused-address.ts", find: "/[@?#]/.test(address)", replace: "/[#]/.test(address)" },
  { attack: 241, file: "cli/audit-report.ts", find: "return verdicts.length > 0 && verdicts.every(", replace: "return verdicts.every(" },
  { attack: 240, file: "base/refused-address.ts", find: '`${address.replace(/[?#].*$/s, "")} cannot be reached`', replace: "`${address} cannot be reached`" },
  {
    attack: 143,
    file: "cli/operations/references.ts",
    find: "if (others.length > 0) throw await ambiguous(option, messages, value, found);",
    replace: "",
  },
  {
    attack: 143,
    file: "cli/operations/references.ts",
    find: 'if (value === "" || isUid(value) || messages.every(',
    replace: 'if (value === "" || messages.every(',
  },
  {
    attack: 144,
    file: "cli/contexts/credential.ts",
    find: "  if (isServerNamed) return token;\n",
    replace: "  if (isServerNamed || token !== undefined) return token;\n",
  },
  { attack: 146, file: "client/rest.ts", find: 'redirect: "manual",', replace: 'redirect: "follow",' },
  {
    attack: 147,
    file: "client/rest-request.ts",
    find: 'if (segments.some((segment) => segment === "." || segment === "..") || !value.isWellFormed()) throw',
    replace: "if (!value.isWellFormed()) throw",
  },
];
